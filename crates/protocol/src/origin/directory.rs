//! One line at its home: the directory entry.

use units::CpuId;

use super::SharerVector;

/// Directory state (Prestor 2001, Table 3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DirectoryState {
    /// `UOWN`: memory has the only copy.
    #[default]
    Unowned,
    /// `POIS`: not cached; any access gets a bus error.
    Poisoned,
    /// `SHRD`: read-only copies at the nodes of the sharer vector, at most.
    Shared,
    /// `EXCL`: one processor owns the line; it may have dropped it if it was clean.
    Exclusive,
    /// `BUSYS`: tracking down a shared copy.
    BusyShared,
    /// `BUSYE`: tracking down an exclusive copy.
    BusyExclusive,
    /// `WAIT`: the new owner has already written the line back; the old owner's revision message is still to come.
    Wait,
}

impl DirectoryState {
    /// Every state, in the order of Prestor 2001, Table 3.1.
    pub const ALL: [Self; 7] = [
        Self::Unowned,
        Self::Poisoned,
        Self::Shared,
        Self::Exclusive,
        Self::BusyShared,
        Self::BusyExclusive,
        Self::Wait,
    ];

    /// The name used in Prestor 2001, Table 3.1.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Self::Unowned => "UOWN",
            Self::Poisoned => "POIS",
            Self::Shared => "SHRD",
            Self::Exclusive => "EXCL",
            Self::BusyShared => "BUSYS",
            Self::BusyExclusive => "BUSYE",
            Self::Wait => "WAIT",
        }
    }

    /// What it means.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Unowned => "memory has the only copy",
            Self::Poisoned => "not cached; an access gets a bus error",
            Self::Shared => "read-only copies at some nodes",
            Self::Exclusive => "owned by one processor, clean or modified or silently dropped",
            Self::BusyShared => "tracking down a shared copy",
            Self::BusyExclusive => "tracking down an exclusive copy",
            Self::Wait => "written back by the new owner before the old owner's revision message came",
        }
    }
}

/// What the transaction that made the entry busy is for: it decides the state after the revision message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Purpose {
    /// The requester caches the line.
    #[default]
    Cached,
    /// The requester caches nothing.
    Uncached,
    /// The page copy engine takes the line: it ends poisoned.
    Poison,
}

/// One line's entry in the directory memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DirectoryEntry {
    /// Sharers (`SHRD` only).
    pub sharers: SharerVector,
    /// The owner (`EXCL`), or the requester that is to get the line (`BUSYS`, `BUSYE`, `WAIT`).
    pub owner: CpuId,
    /// The owner being tracked down (`BUSYS`, `BUSYE`).
    pub former: CpuId,
    /// State.
    pub state: DirectoryState,
    /// What a busy state is for.
    pub purpose: Purpose,
    /// Requests of lower priority than this are refused, so that one refused while the entry was busy comes first
    /// when it is not. Raised by refused requests, cleared by the next one served (Prestor 2001, Section 3.1.3).
    pub priority: u8,
}

impl DirectoryEntry {
    /// The entry of a line that nobody has.
    pub const UNOWNED: Self = Self {
        sharers: SharerVector::EMPTY,
        owner: CpuId(0),
        former: CpuId(0),
        state: DirectoryState::Unowned,
        purpose: Purpose::Cached,
        priority: 0,
    };
}
