//! Operations of kernels at each element, and their costs in bytes and lines.

use std::fmt;

use units::Bytes;

/// The word that every kernel stores and every list carries beside its pointers: the double-precision number 1.0, so that
/// arithmetic on filled memory meets no denormal number, which some processors handle by slow microcode.
pub const MARK: u64 = 0x3FF0_0000_0000_0000;

/// The part of memory that the streaming kernels handle in one step, and that lines are counted in. It is the cache line
/// of x86-64 and of nearly all AArch64 processors.
pub const LINE: Bytes = Bytes(64);

/// Size of pointers, numbers and single stores.
pub const WORD: Bytes = Bytes(8);

/// Operation at each element. A step is one element unless it says otherwise.
///
/// Elements are `stride` apart. Word 0 of an element (8 bytes) holds the pointer of a list, stores of single words go to
/// word 1, so that a list survives all kernels but those that [destroy](Self::destroys_lists) it. "Dependent" means that
/// the processor cannot begin a step before the one before has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Load the pointer to the next element of a list, then `work` additions that take one cycle each and depend on one
    /// another: the back-to-back latency and the restart series of Prestor 2001, section 4.2.3.
    Walk {
        /// Additions, at most [`MAX_WORK`](Self::MAX_WORK).
        work: u32,
    },
    /// As `Walk`, but each element's word 1 is stored to first (Prestor 2001, Figure 4.3). A processor that executes out
    /// of order would load before it stores; where it has an instruction that prefetches for writing, that comes first
    /// of all, so that it is the request for ownership that misses.
    Modify {
        /// Additions, as in `Walk`.
        work: u32,
    },
    /// Compare word 1 of each element of a list with [`MARK`] and exchange it for the same, atomically, then load the
    /// pointer to the next. Dependent.
    CompareExchange,
    /// Add up word 0 of the elements of an array. Independent.
    Sum,
    /// As `Sum`, each element prefetched into all levels `ahead` elements before its load, none beyond the end.
    SumPrefetched {
        /// How many elements ahead.
        ahead: u32,
    },
    /// As `SumPrefetched`, but prefetched as data that will not be used again, past the outer levels where the processor
    /// can.
    SumNonTemporal {
        /// How many elements ahead.
        ahead: u32,
    },
    /// Store to word 1 of the elements of an array. Independent.
    Fill,
    /// Store all of a line at each element, past the caches. The stride is at least a line.
    FillNonTemporal,
    /// STREAM's `c = a`: from the first source; a step is a line of each array, the stride a line.
    Copy {
        /// How it stores.
        stores: Stores,
    },
    /// STREAM's `b = q c` in double precision: from the first source.
    Scale {
        /// How it stores.
        stores: Stores,
    },
    /// STREAM's `c = a + b` in double precision: from both sources.
    Add {
        /// How it stores.
        stores: Stores,
    },
    /// STREAM's `a = b + q c` in double precision: from both sources.
    Triad {
        /// How it stores.
        stores: Stores,
    },
    /// Load word 0 of the elements of an array, to own or share their lines.
    TouchLoad,
    /// Store to word 1 of the elements of an array, to own their lines modified.
    TouchStore,
    /// Prefetch each element for reading and load it, to share its line. No instruction of either architecture asks for a
    /// line shared when nobody else has it; the protocol decides.
    TouchShared,
    /// Write the line at each element back if it is modified, and drop it from every cache of the machine
    /// (CLFLUSHOPT or CLFLUSH; DC CIVAC), complete when the kernel ends.
    Flush,
    /// Saavedra's read-use kernel (Prestor 2001, section 2.1): `sum += a[i]`, one sum, in an unrolled loop. On integers, so that
    /// the time depends on no data and no floating-point latency.
    ReadUse,
    /// Saavedra's read-modify-write kernel: `a[i] = a[i] * a[i] - 1.0` on double-precision numbers, with the loop overhead
    /// of compiled code. Memory should have been filled before: pointers are denormal numbers.
    ReadModifyWrite,
    /// Seidl 1997's probe: at each step one of the `elements` windows of the array, drawn at random, of which each word is
    /// read and written back with its sign changed. The stride is the window.
    SignChange {
        /// Bytes of a window, a multiple of a line.
        window: Bytes,
    },
    /// Load on the memory system in a given mix, in order of address: a step is a round of `reads` loads from word 0 and
    /// `writes` stores to word 1, each of an element of its own, evenly mixed.
    Traffic {
        /// Elements read a round.
        reads: u32,
        /// Elements written a round. Reads and writes together are between 1 and [`MAX_ROUND`](Self::MAX_ROUND).
        writes: u32,
        /// Cycles between one access and the next at least: an addition each, dependent on one another but not on the
        /// accesses.
        pause: u32,
    },
    /// Hand a word back and forth with another thread: both spin with compare-and-exchange on it. A step is a round trip.
    /// Both run until their count, or until stopped. The word starts as zero for every run.
    PingPong {
        /// Which of the two threads this is.
        role: Role,
    },
    /// A chain of dependent register instructions, [`CHAIN`](Self::CHAIN) a step, without any memory: the processor's
    /// clock made visible.
    Chain {
        /// Which instruction.
        link: Link,
    },
}

/// How a streaming kernel stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stores {
    /// Through the caches; the line is read first unless the processor sees that it is overwritten as a whole.
    Plain,
    /// Past the caches (MOVNTDQ, STNP).
    NonTemporal,
}

/// Which side of a ping-pong a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Makes the first move.
    Leader,
    /// Answers.
    Follower,
}

/// An instruction that takes one cycle on every processor in use, of two registers: some execute an addition of a small
/// constant while renaming, in no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// Addition.
    Add,
    /// Exclusive or (XOR, EOR), to check the first with.
    Check,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Walk { work } => write!(f, "walk of a list with {work} additions a step"),
            Self::Modify { work } => write!(f, "stores to a list with {work} additions a step"),
            Self::CompareExchange => f.write_str("compare-and-exchange on a list"),
            Self::Sum => f.write_str("sum"),
            Self::SumPrefetched { ahead } => write!(f, "sum with prefetches of {ahead} elements ahead"),
            Self::SumNonTemporal { ahead } => write!(f, "sum with non-temporal prefetches of {ahead} elements ahead"),
            Self::Fill => f.write_str("stores"),
            Self::FillNonTemporal => f.write_str("stores past the caches"),
            Self::Copy { .. } => f.write_str("copy"),
            Self::Scale { .. } => f.write_str("scale"),
            Self::Add { .. } => f.write_str("add"),
            Self::Triad { .. } => f.write_str("triad"),
            Self::TouchLoad => f.write_str("loads that own or share lines"),
            Self::TouchStore => f.write_str("stores that own lines"),
            Self::TouchShared => f.write_str("loads that share lines"),
            Self::Flush => f.write_str("write-back of lines"),
            Self::ReadUse => f.write_str("read-use"),
            Self::ReadModifyWrite => f.write_str("read-modify-write"),
            Self::SignChange { window } => write!(f, "sign change in windows of {window}"),
            Self::Traffic { reads, writes, .. } => write!(f, "traffic of {reads} reads and {writes} writes a round"),
            Self::PingPong { .. } => f.write_str("ping-pong"),
            Self::Chain { .. } => f.write_str("chain of register instructions"),
        }
    }
}

impl Operation {
    /// Dependent additions that a kernel of a series can have at most.
    pub const MAX_WORK: u32 = 4096;
    /// Accesses in a round of [`Operation::Traffic`] at most.
    pub const MAX_ROUND: u32 = 64;
    /// Instructions in a step of [`Operation::Chain`].
    pub const CHAIN: u32 = 64;

    /// Whether the elements must have been linked into a circular list ([`super::list::link`]).
    pub fn needs_list(self) -> bool {
        matches!(self, Self::Walk { .. } | Self::Modify { .. } | Self::CompareExchange)
    }

    /// Whether it writes over word 0 of elements, so that a list is lost.
    pub fn destroys_lists(self) -> bool {
        matches!(
            self,
            Self::FillNonTemporal
                | Self::Copy { .. }
                | Self::Scale { .. }
                | Self::Add { .. }
                | Self::Triad { .. }
                | Self::ReadModifyWrite
                | Self::SignChange { .. }
                | Self::PingPong { .. }
        )
    }

    /// Whether it stores to memory at all.
    pub fn stores(self) -> bool {
        self.destroys_lists()
            || matches!(self, Self::Modify { .. } | Self::CompareExchange | Self::Fill | Self::TouchStore)
            || matches!(self, Self::Traffic { writes: 1.., .. })
    }

    /// Whether it streams over whole lines, with a stride of a line.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Copy { .. } | Self::Scale { .. } | Self::Add { .. } | Self::Triad { .. })
    }

    /// How many [sources](super::Course::sources) it reads beside the array at the start of the course.
    pub fn sources(self) -> usize {
        match self {
            Self::Copy { .. } | Self::Scale { .. } => 1,
            Self::Add { .. } | Self::Triad { .. } => 2,
            _ => 0,
        }
    }

    /// The array that it works on and those that it reads from, of the arrays that follow each other in memory: STREAM's a,
    /// b and c.
    pub fn arrays(self) -> (u64, &'static [u64]) {
        match self {
            Self::Copy { .. } => (2, &[0]),
            Self::Scale { .. } => (1, &[2]),
            Self::Add { .. } => (2, &[0, 1]),
            Self::Triad { .. } => (0, &[1, 2]),
            _ => (0, &[]),
        }
    }

    /// How many arrays that is.
    pub fn array_count(self) -> u64 {
        if self.is_wide() { 3 } else { 1 }
    }

    /// Elements that a step visits.
    pub fn elements_per_step(self) -> u64 {
        match self {
            Self::Traffic { reads, writes, .. } => u64::from(reads) + u64::from(writes),
            _ => 1,
        }
    }

    /// Alignment of its first element, and of those that it reads from.
    pub fn alignment(self) -> Bytes {
        if self.is_wide() || self == Self::FillNonTemporal { LINE } else { WORD }
    }
}
