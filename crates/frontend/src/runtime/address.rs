//! Which addresses of the program are simulated memory, and where: the data of the executable, and one arena for all else.
//!
//! The program's data are at their real addresses in the host's memory. What the simulator times are virtual addresses that follow
//! from those by a subtraction: first the data of the executable, then the first thread's own variables, then as much of the arena as
//! is in use.

use experiments::Relocation;
use sim::{SimError, Simulator};
use units::{Bytes, NodeId, VirtualAddr};

use super::divided::{self, divided};
use super::libraries;
use super::state::{HOT, Ranges, Single, current};

/// Where the arena begins: far above the executable, which is not position-independent, and far below all that the kernel maps. The
/// same in every run, so that equal runs have equal addresses.
pub const ARENA: usize = 0x10_0000_0000;

/// How far it may reach: as much as the largest machines have, if the host lets it be reserved.
const MOST: usize = 1 << 40;

/// The arena grows by at least so much at a time: every growth of simulated memory looks at all pages.
const STEP: usize = 64 << 20;

impl Ranges {
    /// Where a byte of the program is in simulated memory, if it is there.
    #[inline(always)]
    pub fn locate(&self, address: usize) -> Option<VirtualAddr> {
        let offset = address.wrapping_sub(ARENA);
        if offset < self.arena_length {
            return Some(VirtualAddr(self.arena_start + offset as u64));
        }
        let offset = address.wrapping_sub(self.globals);
        if offset < self.globals_length {
            return Some(VirtualAddr(offset as u64));
        }
        let offset = address.wrapping_sub(self.own);
        if offset < self.own_length {
            return Some(VirtualAddr(self.own_start + offset as u64));
        }
        if self.divided {
            return divided(address);
        }
        if self.libraries { libraries::locate(address) } else { None }
    }
}

/// Bytes of the arena that are reserved, and that are handed out.
struct Extent {
    reserved: usize,
    used: usize,
    /// Simulated pages begin at multiples of it.
    page: usize,
}

static EXTENT: Single<Extent> = Single::new(Extent { reserved: 0, used: 0, page: 4096 });

/// Where a byte of the program is in simulated memory, if it is there.
#[inline(always)]
pub fn locate(address: usize) -> Option<VirtualAddr> {
    // SAFETY: one thread of the host.
    unsafe { (*HOT.get()).ranges.locate(address) }
}

/// Ranges of simulated memory, whether or not words of some lines are apart.
fn ranges() -> &'static mut Ranges {
    // SAFETY: one thread of the host, and nobody keeps the reference.
    unsafe { divided::ranges().unwrap_or(&mut (*HOT.get()).ranges) }
}

/// Bytes of a simulated page.
pub fn page() -> usize {
    // SAFETY: one thread of the host.
    unsafe { (*EXTENT.get()).page }
}

/// The beginnings of all pages that the program uses.
pub fn pages() -> impl Iterator<Item = VirtualAddr> {
    // SAFETY: one thread of the host.
    let used = unsafe { (*EXTENT.get()).used } as u64;
    (0..ranges().arena_start + used).step_by(page()).map(VirtualAddr)
}

/// The program's own address for a simulated address.
pub fn named(at: u64) -> u64 {
    let ranges = ranges();
    match at.checked_sub(ranges.arena_start) {
        Some(offset) => ARENA as u64 + offset,
        None => libraries::named(at).unwrap_or(ranges.globals as u64 + at),
    }
}

/// Whether an address is in the arena.
#[inline]
pub fn is_ours(address: usize) -> bool {
    // SAFETY: one thread of the host.
    address.wrapping_sub(ARENA) < unsafe { (*EXTENT.get()).used }
}

/// Whether the program puts code on its stacks, as those of nested functions do whose addresses it takes.
fn stacks_have_code() -> bool {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> i32 {
        // SAFETY: the dynamic linker hands over a valid description of the executable, and the place below.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let runs =
                |header: &libc::Elf64_Phdr| header.p_type == libc::PT_GNU_STACK && header.p_flags & libc::PF_X != 0;
            *found.cast::<bool>() = headers.iter().any(runs);
        }
        // The first is the executable: no more are wanted.
        1
    }
    let mut found = false;
    // SAFETY: `note` takes what it is given.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

/// Reserves the arena, or as much of it as the host gives.
pub fn reserve() {
    let mut bytes = MOST;
    let code = if stacks_have_code() { libc::PROT_EXEC } else { 0 };
    let protection = libc::PROT_READ | libc::PROT_WRITE | code;
    while bytes >= STEP {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: nothing is replaced, and what is mapped is used by nobody else.
        let at = unsafe { libc::mmap(ARENA as *mut _, bytes, protection, flags, -1, 0) };
        if at as usize == ARENA {
            // SAFETY: one thread of the host.
            unsafe { (*EXTENT.get()).reserved = bytes };
            return;
        }
        bytes /= 2;
    }
}

/// Takes `bytes` of the arena, from a multiple of `align` (a power of two) on; zero at first. `None` if it is used up.
pub fn take(bytes: usize, align: usize) -> Option<usize> {
    // SAFETY: one thread of the host.
    let extent = unsafe { &mut *EXTENT.get() };
    let start = (ARENA + extent.used).next_multiple_of(align) - ARENA;
    let end = start.checked_add(bytes)?;
    if end > extent.reserved {
        return None;
    }
    extent.used = end;
    if let Some(thread) = current() {
        let (page, length) = (extent.page, ranges().arena_length);
        if end > length {
            let growth = (end - length).max(STEP).max(length / 2).next_multiple_of(page);
            let mapped = thread.map(planned(&super::state::run().request.relocation, ARENA + length, growth, page));
            if mapped.is_ok() {
                ranges().arena_length = length + growth;
            }
        }
    }
    super::numa::note_fresh(ARENA + start, bytes);
    Some(ARENA + start)
}

/// Data of the executable: from where on, and how many bytes.
fn globals() -> (usize, usize) {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> i32 {
        // SAFETY: the dynamic linker hands over a valid description of the executable, and the pair below.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let found = &mut *found.cast::<(usize, usize)>();
            for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
                let start = (*info).dlpi_addr as usize + header.p_vaddr as usize;
                *found = (found.0.min(start), found.1.max(start + header.p_memsz as usize));
            }
        }
        // The first is the executable: no more are wanted.
        1
    }
    let mut found = (usize::MAX, 0);
    // SAFETY: `note` takes what it is given.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found
}

/// The plan for `bytes` from the program's address `start` on, by pages of `page` bytes.
fn planned(relocation: &Relocation, start: usize, bytes: usize, page: usize) -> Vec<Option<NodeId>> {
    let mut planned = vec![None; bytes.div_ceil(page)];
    relocation.place(start as u64, Bytes(page as u64), &mut planned);
    planned
}

/// Says what is simulated memory, now that there is a machine with pages of `page` bytes and lines of `line`; some of it is elsewhere
/// as `relocation` says.
///
/// # Errors
/// When a node has too little memory for what is to be on it.
pub fn simulate(simulator: &mut Simulator, relocation: &Relocation, page: usize, line: usize) -> Result<(), SimError> {
    let (start, end) = globals();
    let first = start & !(page - 1);
    simulator.map(&planned(relocation, first, end - first, page))?;
    // SAFETY: one thread of the host.
    let extent = unsafe { &mut *EXTENT.get() };
    extent.page = page;
    let length = (extent.used + STEP).next_multiple_of(page);
    let (own, own_length) = super::tls::variables_of_first();
    let own_start = simulator.map(&vec![None; own_length.div_ceil(page)])?.0;
    let pool = libraries::pool(page);
    libraries::place(simulator.map(&planned(relocation, libraries::BASE, pool, page))?.0);
    let apart = relocation.lay_out(simulator, Bytes(line as u64), Bytes(page as u64))?;
    // The last, so that it can grow.
    let arena_start = simulator.map(&planned(relocation, ARENA, length, page))?.0;
    let ranges = Ranges {
        globals: first,
        globals_length: end - first,
        arena_length: length,
        arena_start,
        own,
        own_length,
        own_start,
        divided: false,
        libraries: pool > 0,
    };
    let ranges = if apart.is_empty() {
        ranges
    } else {
        divided::divide(ranges, &apart, line);
        Ranges { divided: true, ..Ranges::NONE }
    };
    // SAFETY: one thread of the host.
    unsafe { (*HOT.get()).ranges = ranges };
    Ok(())
}
