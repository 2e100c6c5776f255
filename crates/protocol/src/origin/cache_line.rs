//! One line at one processor: MESI state, contents, and its miss register (the coherent request buffer, CRB).

use units::{CpuId, LineAddr, NodeId};

use super::{Geometry, MessageKind};
use crate::{Access, CopyState, Rights, Version};

/// State of a line in the secondary cache (Prestor 2001, Sections 3.1 and 4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Mesi {
    /// No copy.
    #[default]
    Invalid,
    /// Read-only copy; other caches may have copies.
    Shared,
    /// The only copy, same as memory. It may be dropped silently.
    Exclusive,
    /// The only copy, newer than memory.
    Modified,
}

impl Mesi {
    /// State after an access that hits, by the hit rule of [`CopyState::after`]; `None` on a miss.
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

/// Conversion from a copy state: the protocol has no owned state, so a copy that is newer than memory is the only one.
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

/// Request message of a miss (Prestor 2001, Table 4.2); a store to a shared copy sends [`MessageKind::Upgrade`]
/// instead.
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
    /// Whether ownership moves (`IRDEX`) or the owner is downgraded (`IRDSH`).
    pub exclusive: bool,
    /// Requester, which receives the response.
    pub requester: CpuId,
}

/// The home's part of the answer to an outstanding request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum HomeAnswer {
    /// Not received yet; earlier tries may have been NACKed.
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
    /// `SSPEC` or `BRDSH`: speculative data, valid if the owner was clean.
    SpeculativeShared,
    /// `ESPEC` or `BRDEX`: speculative data, valid if the owner was clean.
    SpeculativeExclusive,
}

/// The owner's part of the answer to an outstanding request, which the owner's writeback can replace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum OwnerAnswer {
    /// None received.
    #[default]
    None,
    /// `SACK` or `EACK`: the speculative data are valid.
    Clean,
    /// `SRESP` or `ERESP`: the owner's data, which replace the speculative data.
    Data,
}

/// An outstanding request of a processor for one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Request {
    /// Access that caused the request.
    pub access: Access,
    /// Request message last sent to the home.
    pub kind: MessageKind,
    /// Priority of the last try: the number of tries before it, up to the limit.
    pub priority: u8,
    /// The home's part of the answer.
    pub home: HomeAnswer,
    /// The owner's part of the answer.
    pub owner: OwnerAnswer,
    /// Invalidation acknowledgements expected minus those received: negative while they overtake the home's answer.
    pub acknowledgements: i16,
    /// Whether an `INVAL` arrived during the request: a shared copy that arrives afterwards may be older than the
    /// invalidating store.
    pub invalidated: bool,
    /// Whether the request was NACKed: no message is in flight, and [`super::retry`] is due.
    pub nacked: bool,
    /// Intervention that arrived during the request: for the ownership being granted, or for a copy silently dropped
    /// before.
    pub deferred: Option<Intervention>,
}

/// Contents of a line's miss register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Pending {
    /// Nothing outstanding.
    #[default]
    None,
    /// An outstanding request.
    Request(Request),
    /// A writeback that the home has not acknowledged.
    Writeback {
        /// Whether the intervention that crossed the writeback has arrived (and was ignored).
        intervention_ignored: bool,
    },
    /// A writeback acknowledged by `WBBACK`, whose crossing intervention has not arrived yet. No request may start
    /// before it has.
    StaleIntervention,
    /// A completed request with a deferred intervention, which waits for [`super::serve_deferred`].
    Intervention(Intervention),
}

/// One line at one processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CacheLine {
    /// State in the secondary cache.
    pub state: Mesi,
    /// Contents; meaningless in [`Mesi::Invalid`], except that a pending request collects its data here.
    pub version: Version,
    /// The line's miss register.
    pub pending: Pending,
}

/// Context of a handler at a processor, besides the line's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheContext {
    /// The processor.
    pub cpu: CpuId,
    /// The line.
    pub line: LineAddr,
    /// The line's home.
    pub home: NodeId,
    /// Geometry of the machine.
    pub geometry: Geometry,
}
