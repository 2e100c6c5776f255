//! Directory entry of one line at its home.

use units::CpuId;

use super::SharerVector;

/// Directory state (Prestor 2001, Table 3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DirectoryState {
    /// `UOWN`: memory has the only copy.
    #[default]
    Unowned,
    /// `POIS`: not cached; every access receives a bus error.
    Poisoned,
    /// `SHRD`: read-only copies at some of the nodes in the sharer vector, and at no others.
    Shared,
    /// `EXCL`: one processor owns the line; it may have dropped a clean copy silently.
    Exclusive,
    /// `BUSYS`: an intervention for a shared copy is outstanding.
    BusyShared,
    /// `BUSYE`: an intervention for an exclusive copy is outstanding.
    BusyExclusive,
    /// `WAIT`: the new owner has already written the line back; the former owner's revision is outstanding.
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

    /// Mnemonic used in Prestor 2001, Table 3.1.
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

    /// Description of the state.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Unowned => "memory has the only copy",
            Self::Poisoned => "not cached; an access gets a bus error",
            Self::Shared => "read-only copies at some nodes",
            Self::Exclusive => "owned by one processor, clean or modified or silently dropped",
            Self::BusyShared => "an intervention for a shared copy is outstanding",
            Self::BusyExclusive => "an intervention for an exclusive copy is outstanding",
            Self::Wait => "written back by the new owner before the former owner's revision arrived",
        }
    }
}

/// Purpose of the transaction that made the entry busy: it determines the state after the revision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Purpose {
    /// Cached access: the requester keeps a copy.
    #[default]
    Cached,
    /// Uncached access: the requester keeps no copy.
    Uncached,
    /// Poison read by the page copy engine: the line ends poisoned.
    Poison,
}

/// Directory entry of one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DirectoryEntry {
    /// Sharers (`SHRD` only).
    pub sharers: SharerVector,
    /// Owner (`EXCL`), or the requester that is to receive the line (`BUSYS`, `BUSYE`, `WAIT`).
    pub owner: CpuId,
    /// Former owner, to which the intervention goes (`BUSYS`, `BUSYE`).
    pub former: CpuId,
    /// Directory state.
    pub state: DirectoryState,
    /// Purpose of a busy state.
    pub purpose: Purpose,
    /// Least priority that is served: requests of lower priority are NACKed, so that a request NACKed by the busy entry
    /// is served first afterwards. NACKed requests raise it; the next request served clears it (Prestor 2001, Section
    /// 3.1.3).
    pub priority: u8,
}

impl DirectoryEntry {
    /// Entry of a line without cached copies.
    pub const UNOWNED: Self = Self {
        sharers: SharerVector::EMPTY,
        owner: CpuId(0),
        former: CpuId(0),
        state: DirectoryState::Unowned,
        purpose: Purpose::Cached,
        priority: 0,
    };
}
