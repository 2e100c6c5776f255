//! One line at one node: the copy, the outstanding request, and what the node's controller collects.

use units::NodeId;

use super::{Agent, MessageKind};
use crate::{CopyState, Rights, Version};

/// State of a line in a node's cache (FLASH dissertation, Section 5.2.1: MSI).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Msi {
    /// No copy.
    #[default]
    Invalid,
    /// Read-only copy; others may have one.
    Shared,
    /// The only copy.
    Dirty,
}

impl From<Msi> for CopyState {
    #[inline]
    fn from(state: Msi) -> Self {
        match state {
            Msi::Invalid => Self::INVALID,
            Msi::Shared => Self::SHARED,
            Msi::Dirty => Self::MODIFIED,
        }
    }
}

/// The protocol has no clean exclusive state: whoever may write is taken to have written.
impl From<CopyState> for Msi {
    #[inline]
    fn from(state: CopyState) -> Self {
        match state.rights() {
            Rights::None => Self::Invalid,
            Rights::Read => Self::Shared,
            Rights::Write => Self::Dirty,
        }
    }
}

/// Where a node keeps its copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Place {
    /// In the processor's secondary cache.
    #[default]
    Cache,
    /// In the remote access cache (RAC), a part of the node's memory that holds what the processor's cache has evicted of
    /// other nodes' lines (FLASH dissertation, Section 5.4).
    RemoteAccessCache,
}

/// What a processor wants of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// To read it, now or (prefetch) soon.
    Load,
    /// To write it.
    Store,
}

/// An outstanding request for one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Request {
    /// What it is for.
    pub access: Access,
    /// The message last sent to the home: `GET`, `GETX`, `UPGRADE` or `REFILL`.
    pub kind: MessageKind,
    /// An `INVAL` came while a `GET` was outstanding: a copy that arrives now may be older than the store it announced.
    pub invalidated: bool,
    /// Refused: nothing is in flight, and [`super::retry`] is due.
    pub refused: bool,
}

/// The line's row in the invalidation collection table (`/IR`). The table has 16 rows on FLASH (FLASH dissertation, Section
/// 5.2.3); a machine must not send `GETX` or `UPGRADE` while it has none free for the answer:
/// see [`CacheLine::has_collection_row`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Collection {
    /// Acknowledgements announced less those received: negative while they overtake the home's answer.
    pub balance: i16,
    /// Whether the home has said how many there will be.
    pub announced: bool,
}

impl Collection {
    /// The row is not in use.
    pub const IDLE: Self = Self { balance: 0, announced: false };
}

/// A clustered invalidation that the node has passed on (`/IC`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Relay {
    /// Acknowledgements still to come.
    pub acknowledgements: u16,
    /// Who gets the cluster's.
    pub collector: Agent,
    /// On whose behalf.
    pub requester: NodeId,
}

/// One line at one node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CacheLine {
    /// State of the copy.
    pub state: Msi,
    /// Where it is.
    pub place: Place,
    /// Contents; meaningless in [`Msi::Invalid`].
    pub version: Version,
    /// The outstanding request.
    pub request: Option<Request>,
    /// Acknowledgements being collected for this node's own store.
    pub collection: Collection,
    /// Acknowledgements being collected for somebody else's.
    pub relay: Option<Relay>,
}

impl CacheLine {
    /// No copy, nothing outstanding.
    pub const INVALID: Self = Self {
        state: Msi::Invalid,
        place: Place::Cache,
        version: Version(0),
        request: None,
        collection: Collection::IDLE,
        relay: None,
    };

    /// What an access asks the home for, if nothing is outstanding; nothing if the copy allows it.
    #[inline]
    pub const fn asks(&self, access: Access) -> Option<MessageKind> {
        match (self.state, access) {
            (Msi::Dirty, Access::Load | Access::Store) | (Msi::Shared, Access::Load) => None,
            (Msi::Invalid, Access::Load) => Some(MessageKind::Get),
            (Msi::Shared, Access::Store) => Some(MessageKind::Upgrade),
            (Msi::Invalid, Access::Store) => Some(MessageKind::GetExclusive),
        }
    }

    /// What a refused request asks for when it is tried again, which depends on what is left of the copy; nothing if none has
    /// been refused.
    #[inline]
    pub const fn asks_again(&self) -> Option<MessageKind> {
        match self.request {
            Some(Request { refused: true, kind: MessageKind::Refill, .. }) => Some(MessageKind::Refill),
            Some(Request { refused: true, access, .. }) => self.asks(access),
            Some(_) | None => None,
        }
    }

    /// Whether the line has a row of the invalidation collection table (`/IR`), or one must be kept free for it: from the
    /// moment its request for ownership is sent until that is refused, or the last acknowledgement is in. Where every row
    /// is taken, a request that [`MessageKind::takes_collection_row`] must wait.
    #[inline]
    pub fn has_collection_row(&self) -> bool {
        let asked = self.request.is_some_and(|request| !request.refused && request.kind.takes_collection_row());
        asked || self.collection != Collection::IDLE
    }

    /// Whether nothing is outstanding.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.request.is_none() && self.collection == Collection::IDLE && self.relay.is_none()
    }
}

impl Default for CacheLine {
    fn default() -> Self {
        Self::INVALID
    }
}
