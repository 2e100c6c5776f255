//! Lines of a program's memory whose words are apart: what padding a structure would do, tried without changing the program.

use diagnose::Apart;
use rustc_hash::FxHashMap;
use units::VirtualAddr;

use super::state::{Ranges, Single};

/// Bytes of a word.
const WORD: usize = 8;

/// Simulated memory, and what of it is apart.
struct Divided {
    ranges: Ranges,
    /// Bytes of a line.
    line: usize,
    /// By its first byte, where the words of a line are that are not with it.
    words: FxHashMap<usize, Vec<Option<VirtualAddr>>>,
}

static DIVIDED: Single<Option<Divided>> = Single::new(None);

/// The words of `apart` are in the lines that follow them, and all else is as `ranges` say.
pub fn divide(ranges: Ranges, apart: &[(Apart, VirtualAddr)], line: usize) {
    let mut words: FxHashMap<usize, Vec<Option<VirtualAddr>>> = FxHashMap::default();
    for (piece, at) in apart {
        let of_line = words.entry(piece.line as usize).or_insert_with(|| vec![None; line / WORD]);
        for (word, place) in of_line.iter_mut().enumerate().filter(|(word, _)| piece.words >> word & 1 != 0) {
            *place = Some(at.offset((word * WORD) as u64));
        }
    }
    // SAFETY: one thread of the host.
    unsafe { *DIVIDED.get() = Some(Divided { ranges, line, words }) };
}

/// Ranges of simulated memory, if words of it are apart.
pub fn ranges() -> Option<&'static mut Ranges> {
    // SAFETY: one thread of the host, and nobody keeps the reference.
    unsafe { (*DIVIDED.get()).as_mut().map(|divided| &mut divided.ranges) }
}

/// Where a byte of the program is in simulated memory, if it is there and words of some lines are apart.
#[cold]
pub fn divided(address: usize) -> Option<VirtualAddr> {
    // SAFETY: one thread of the host.
    let divided = unsafe { (*DIVIDED.get()).as_ref()? };
    let stable = super::libraries::stable(address);
    let offset = stable % divided.line;
    let apart = divided.words.get(&(stable - offset)).and_then(|words| words[offset / WORD]);
    match apart {
        Some(word) => Some(word.offset((offset % WORD) as u64)),
        None => divided.ranges.locate(address),
    }
}
