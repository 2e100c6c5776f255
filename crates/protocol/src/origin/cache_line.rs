//! One line at one processor: MESI state, contents, and what the request buffer (CRB) holds about it.

use units::{CpuId, LineAddr, NodeId};

use super::{Geometry, MessageKind};
use crate::{Access, CopyState, Rights, Version};

/// State of a line in the secondary cache (Prestor 2001, Sections 3.1 and 4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Mesi {
    /// No copy.
    #[default]
    Invalid,
    /// Read-only copy; others may have one.
    Shared,
    /// The only copy, same as memory. May be dropped without telling anyone.
    Exclusive,
    /// The only copy, newer than memory.
    Modified,
}

impl Mesi {
    /// The state after an access that the cache satisfies by itself, by the hit rule of [`CopyState::after`].
    #[inline]
    pub fn after(self, access: Access) -> Option<Self> {
        CopyState::from(self).after(access).map(Self::from)
    }
}

impl From<Mesi> for CopyState {
    #[inline]
    fn from(state: Mesi) -> Self {
        match state {
            Mesi::Invalid => Self::INVALID,
            Mesi::Shared => Self::SHARED,
            Mesi::Exclusive => Self::EXCLUSIVE,
            Mesi::Modified => Self::MODIFIED,
        }
    }
}

/// The protocol has no owned state: a copy that is newer than memory is the only one.
impl From<CopyState> for Mesi {
    #[inline]
    fn from(state: CopyState) -> Self {
        match (state.rights(), state.is_dirty()) {
            (Rights::None, _) => Self::Invalid,
            (Rights::Read, _) => Self::Shared,
            (Rights::Write, false) => Self::Exclusive,
            (Rights::Write, true) => Self::Modified,
        }
    }
}

/// The request that a miss sends (Prestor 2001, Table 4.2); a store to a shared copy sends [`MessageKind::Upgrade`] instead.
#[inline]
pub const fn miss_request(access: Access) -> MessageKind {
    match access {
        Access::Load => MessageKind::Read,
        Access::InstructionFetch | Access::ReadPrefetch => MessageKind::ReadShared,
        Access::Store | Access::WritePrefetch => MessageKind::ReadExclusive,
        Access::UncachedRead => MessageKind::UncachedRead,
        Access::PoisonRead => MessageKind::PoisonRead,
    }
}

/// An intervention that an owner has received and not yet answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Intervention {
    /// Whether ownership moves (`IRDEX`) or the line is downgraded (`IRDSH`).
    pub exclusive: bool,
    /// Who gets the response.
    pub requester: CpuId,
}

/// What the home has answered to an outstanding request so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum HomeAnswer {
    /// Nothing, or a `NACK` to an earlier try.
    #[default]
    Awaited,
    /// `SRPLY`.
    Shared,
    /// `ERPLY`.
    Exclusive,
    /// `UPACK`.
    Upgraded,
    /// `URPLY`.
    Uncached,
    /// `PRPLY`.
    Poisoned,
    /// `SSPEC` or `BRDSH`: usable once the owner says that it was clean.
    SpeculativeShared,
    /// `ESPEC` or `BRDEX`: usable once the owner says that it was clean.
    SpeculativeExclusive,
}

/// What the owner (or its writeback) has answered to an outstanding request so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum OwnerAnswer {
    /// Nothing.
    #[default]
    None,
    /// `SACK` or `EACK`: the speculative data are good.
    Clean,
    /// `SRESP` or `ERESP`: these are the data; the speculative ones are not.
    Data,
}

/// An outstanding request of a processor for one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Request {
    /// What it is for.
    pub access: Access,
    /// The message last sent to the home.
    pub kind: MessageKind,
    /// Priority of the last try: the number of tries before it, up to the limit.
    pub priority: u8,
    /// The home's part of the answer.
    pub home: HomeAnswer,
    /// The owner's part of the answer.
    pub owner: OwnerAnswer,
    /// Invalidation acknowledgements expected less those received: negative while they overtake the home's answer.
    pub acknowledgements: i16,
    /// An `INVAL` came meanwhile: a shared copy that arrives now may be older than the store it announced.
    pub invalidated: bool,
    /// Refused: nothing is in flight, and [`super::retry`] is due.
    pub refused: bool,
    /// An intervention that came meanwhile: for the ownership just being granted, or for one silently dropped before.
    pub deferred: Option<Intervention>,
}

/// What the request buffer holds about a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Pending {
    /// Nothing: the line is only cached, or not even that.
    #[default]
    None,
    /// A request.
    Request(Request),
    /// A writeback that the home has not acknowledged.
    Writeback {
        /// The intervention that crossed the writeback has come (and was ignored).
        intervention_ignored: bool,
    },
    /// `WBBACK` has come, and the intervention that crossed the writeback has not. No request may start until it has.
    StaleIntervention,
    /// The request has completed; an intervention that came meanwhile waits for [`super::serve_deferred`].
    Intervention(Intervention),
}

/// One line at one processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CacheLine {
    /// State in the secondary cache.
    pub state: Mesi,
    /// Contents; meaningless in [`Mesi::Invalid`], except as the place where a pending request collects its data.
    pub version: Version,
    /// The request buffer's part.
    pub pending: Pending,
}

/// What a handler at a processor needs to know besides the line's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheContext {
    /// The processor itself.
    pub cpu: CpuId,
    /// The line.
    pub line: LineAddr,
    /// The line's home.
    pub home: NodeId,
    /// The machine.
    pub geometry: Geometry,
}
