//! Keys of runs: each tells its run from all others, and results are kept and found again under it.

use std::hash::Hasher;
use std::io::{self, Read};
use std::path::Path;
use std::{fmt, fs};

use record::SimulationRow;
use twox_hash::XxHash64;
use units::Bytes;

/// Detail of a program's record beside the fields that all records have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Detail {
    /// Statistics of each controller and processor.
    pub parts: bool,
    /// Why processors missed.
    pub causes: bool,
}

impl Detail {
    /// The detail of a record.
    pub const fn of(row: &SimulationRow) -> Self {
        Self { parts: row.processors.is_some(), causes: row.causes.is_some() }
    }
}

/// The key of a run: a hash of the software's version and commit, the machine's whole description, the work with all its
/// parameters, and the seed. Runs of one key have equal records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RunKey(u128);

/// Seeds of the two halves of a key: any two that differ.
const HALVES: [u64; 2] = [0, 0x9e37_79b9_7f4a_7c15];

impl RunKey {
    /// Hexadecimal digits of a key.
    pub const DIGITS: usize = 32;

    /// The key of `work`, in words that tell it from all others, by `software`, its version and commit.
    pub fn new(software: &str, work: &str) -> Self {
        let half = |seed: u64| {
            let mut hasher = XxHash64::with_seed(seed);
            // The length tells where one ends and the other begins.
            hasher.write_u64(software.len() as u64);
            hasher.write(software.as_bytes());
            hasher.write(work.as_bytes());
            u128::from(hasher.finish())
        };
        Self(half(HALVES[0]) << u64::BITS | half(HALVES[1]))
    }

    /// The key of a program's run, by its identity ([`SimulationRow::identity`], which has the machine and the seed in it).
    pub fn of_simulation(software: &str, detail: Detail, identity: &str) -> Self {
        Self::new(software, &format!("simulation {detail:?} {identity}"))
    }

    /// The key that `text` is, all its digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == Self::DIGITS && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        u128::from_str_radix(text, 16).ok().filter(|_| digits).map(Self)
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A hash of all that a file holds, or all files of a folder, in hexadecimal.
///
/// # Errors
/// When it cannot be read.
pub fn content_digest(path: &Path) -> io::Result<String> {
    fn add(path: &Path, hasher: &mut XxHash64) -> io::Result<()> {
        if path.is_dir() {
            let mut entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                hasher.write(entry.file_name().as_encoded_bytes());
                add(&entry.path(), hasher)?;
            }
            return Ok(());
        }
        let (mut file, mut bytes) = (fs::File::open(path)?, vec![0; Bytes::from_mib(1).0 as usize]);
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(()),
                read => hasher.write(&bytes[..read]),
            }
        }
    }
    let mut hasher = XxHash64::with_seed(0);
    add(path, &mut hasher)?;
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_software_and_work_apart_and_are_read_back() {
        let keys = [("1", "23"), ("12", "3"), ("1", "24"), ("", "123")].map(|(a, b)| RunKey::new(a, b));
        let all: std::collections::BTreeSet<_> = keys.into_iter().collect();
        assert_eq!(all.len(), keys.len());
        for key in keys {
            let text = key.to_string();
            assert_eq!((text.len(), RunKey::parse(&text)), (RunKey::DIGITS, Some(key)));
            assert_ne!(text[..16], text[16..], "two halves");
            assert_eq!(RunKey::parse(&text[1..]), None);
            assert_eq!(RunKey::parse(&format!("+{}", &text[1..])), None);
        }
    }

    #[test]
    fn what_a_record_tells_is_part_of_its_key() {
        let of = |parts, causes| RunKey::of_simulation("1.0 abc", Detail { parts, causes }, "fft on arctic");
        let all: std::collections::BTreeSet<_> = [of(false, false), of(true, false), of(false, true)].into();
        assert_eq!(all.len(), 3);
    }
}
