//! Lost time by line and site: the results of the attribution.

use units::{CpuId, Duration};

use crate::account::{MissCause, Service};

/// The reason for lost time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Loss {
    /// A miss, for this cause.
    Miss(MissCause),
    /// Ownership of a line of which the processor already had a copy.
    Upgrade,
    /// A miss that was outstanding, or whose cause was undecided, when the program ended.
    Unsettled,
    /// A TLB refill.
    Translation,
    /// A wait for a lock, or for another word that another processor is to change.
    Lock,
    /// A wait at a barrier for the other threads.
    Barrier,
}

impl Loss {
    /// Number of losses.
    pub const COUNT: usize = MissCause::ALL.len() + 5;

    /// Every loss with its name, misses by cause first.
    pub const ALL: [(Self, &'static str); Self::COUNT] = [
        (Self::Miss(MissCause::Cold), "cold"),
        (Self::Miss(MissCause::Capacity), "capacity"),
        (Self::Miss(MissCause::Conflict), "conflict"),
        (Self::Miss(MissCause::TrueSharing), "true-sharing"),
        (Self::Miss(MissCause::FalseSharing), "false-sharing"),
        (Self::Upgrade, "upgrade"),
        (Self::Unsettled, "unsettled"),
        (Self::Translation, "translation"),
        (Self::Lock, "lock"),
        (Self::Barrier, "barrier"),
    ];

    /// Its index in [`Loss::ALL`].
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Miss(cause) => cause as usize,
            Self::Upgrade => 5,
            Self::Unsettled => 6,
            Self::Translation => 7,
            Self::Lock => 8,
            Self::Barrier => 9,
        }
    }
}

/// A set of words of a line, one bit each. Words have eight bytes; in lines of more than 32 words, words share bits.
pub type WordSet = u32;

/// Number of bits in a [`WordSet`].
pub const WORD_BITS: u32 = WordSet::BITS;

/// The time that one processor lost at one line and site, within the measured part of its program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineLoss {
    /// The processor.
    pub cpu: CpuId,
    /// The site in the program, as given to [`crate::Thread::at_site`]; zero if none was given.
    pub site: u64,
    /// The address of the line's first byte, as the program names it; `None` for waits without a line.
    pub line: Option<u64>,
    /// Number of occurrences of each loss, in the order of [`Loss::ALL`]. Locks and barriers count in `stalled` alone.
    pub count: [u64; Loss::COUNT],
    /// Time lost, in the order of [`Loss::ALL`].
    pub stalled: [Duration; Loss::COUNT],
    /// Completed misses and upgrades by how they were served, in the order of [`Service::all`].
    pub served: [u64; Service::COUNT],
    /// Words of the line that the processor loaded, at any site.
    pub read: WordSet,
    /// Words of the line that the processor stored to, at any site.
    pub written: WordSet,
}
