//! The kernels: what a processor does at each element of its list or array.

use serde::{Deserialize, Serialize};

/// Operation of one task at each of its elements, in order of address.
///
/// The latency and bandwidth kernels are those of Prestor 2001 Figures 4.2 and 4.3 and the series of section 4.2.3; the
/// strided kernels are those of section 2.1 (after Saavedra). How a kernel is realised is the platform's affair: a
/// simulated instruction stream, or generated machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Chase a circular linked list: load the next element's address, then `work` dependent one-cycle additions. READ
    /// requests.
    Walk {
        /// Additions that depend on the load and that the next load depends on.
        work: u32,
    },
    /// As `Walk`, but store to each element's line before the load from it. RDEX or UPGRD requests.
    Modify {
        /// Additions that depend on the load and that the next element's accesses depend on.
        work: u32,
    },
    /// As `Walk`, but replace a word of each element's line by an atomic compare-and-swap before the load from it.
    CompareExchange,
    /// Add up the elements: independent loads, as many in flight as the processor allows. READ requests.
    Sum,
    /// Add up the elements, each prefetched for reading ahead of its load. RDSH requests.
    SumPrefetch,
    /// Add up the elements, each prefetched so that it displaces as little as possible from the caches.
    SumNonTemporal,
    /// Write whole lines past the caches.
    FillNonTemporal,
    /// One of the loops of STREAM over three arrays that follow each other. A step is a whole line of each array involved.
    Stream(StreamOperation),
    /// Store to each element: independent stores. RDEX or UPGRD requests, and WB if dirty lines are displaced.
    Fill,
    /// Load from each element, in any order, to own or to share its line.
    TouchLoad,
    /// Store to each element, in any order, to own its line modified.
    TouchStore,
    /// Prefetch each element for reading and load it, to share its line even if nobody else does.
    TouchShared,
    /// Afterwards this processor's caches hold none of the elements' lines: clean lines were dropped without telling the
    /// home, dirty ones written back. A platform may drop more than the elements.
    DropCaches,
    /// As `DropCaches`, but of this processor's own caches: one that it shares with others may keep the lines, so that copies
    /// of others in it are not lost.
    DropOwnCaches,
    /// Afterwards no processor caches any of the elements' lines; modified ones were written back, and a home that can be
    /// told knows it. A platform may do the same to more than the elements.
    Flush,
    /// Load the background: `reads` independent loads, then `writes` stores, from and to consecutive elements, then `pause`
    /// dependent one-cycle instructions; and so on until another task of the phase ends. A step is one access.
    Traffic {
        /// Loads in a row.
        reads: u32,
        /// Stores in a row.
        writes: u32,
        /// Cycles of idling between rows.
        pause: u32,
    },
    /// Hand the first element's line back and forth with the other task of the phase, which does the same: wait until it is
    /// one's turn, then store that it is the other's. A step is a round trip; the earlier task of the phase begins.
    PingPong,
    /// Elements are windows, visited at random: each double word is read and written back with its sign changed (Seidl
    /// 1997, listing 1). A step is one window, as large as the stride.
    SignChange,
    /// Read-use: add up the elements in one sum (P3 diagram). A simulated loop has the overhead of compiled code at each element; that of
    /// this computer is unrolled, lest it measure branches.
    ReadUse,
    /// Read-modify-write: `a[i] = a[i] * a[i] - c` with the loop overhead of compiled code (P3 diagram).
    ReadModifyWrite,
}

/// The loops of STREAM (McCalpin), on arrays of double words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamOperation {
    /// `c[i] = a[i]`
    Copy,
    /// `b[i] = s * c[i]`
    Scale,
    /// `c[i] = a[i] + b[i]`
    Add,
    /// `a[i] = b[i] + s * c[i]`
    Triad,
}

impl StreamOperation {
    /// The arrays (0 to 2) that are read, and the one that is written.
    pub fn arrays(self) -> (&'static [u64], u64) {
        match self {
            Self::Copy => (&[0], 2),
            Self::Scale => (&[2], 1),
            Self::Add => (&[0, 1], 2),
            Self::Triad => (&[1, 2], 0),
        }
    }
}

impl Kernel {
    /// How many arrays it works on, one after the other in its region.
    pub fn arrays(self) -> u64 {
        if matches!(self, Self::Stream(_)) { 3 } else { 1 }
    }

    /// Whether its accesses pass the caches, for which a processor needs instructions of their own.
    pub fn passes_caches(self) -> bool {
        matches!(self, Self::SumNonTemporal | Self::FillNonTemporal)
    }

    /// Whether it follows the pointers of a linked list.
    pub fn walks_a_list(self) -> bool {
        matches!(self, Self::Walk { .. } | Self::Modify { .. } | Self::CompareExchange)
    }
}
