//! What tells a run from all others: its key, under which results are kept and found again.

use std::fmt;
use std::hash::Hasher;

use record::SimulationRow;
use twox_hash::XxHash64;

/// What the record of a program's run tells beside what all tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Detail {
    /// What each controller and processor did.
    pub parts: bool,
    /// Why processors missed.
    pub causes: bool,
}

impl Detail {
    /// What a record tells.
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
