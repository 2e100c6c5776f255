//! One line at one node: the copy, the outstanding request, and the acknowledgements that the node's controller
//! collects.

use units::NodeId;

use super::{Agent, MessageKind};
use crate::{CopyState, Rights, Version};

/// State of a line in a node's cache (FLASH dissertation, Section 5.2.1: MSI).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Msi {
    /// No copy.
    #[default]
    Invalid,
    /// Read-only copy; other nodes may have copies.
    Shared,
    /// The only copy, owned by the node.
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

/// Conversion from rights: the protocol has no clean exclusive state, so a copy with the right to write counts as
/// dirty.
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

/// Location of a node's copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Place {
    /// The processor's secondary cache.
    #[default]
    Cache,
    /// The remote access cache (RAC): a part of the node's memory for lines of other nodes that the processor's cache
    /// has evicted (FLASH dissertation, Section 5.4).
    RemoteAccessCache,
}

/// Access of a processor, as the protocol distinguishes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// A load, or a prefetch of a shared copy.
    Load,
    /// A store.
    Store,
}

/// An outstanding request for one line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Request {
    /// Access that caused the request.
    pub access: Access,
    /// Request message last sent to the home: `GET`, `GETX`, `UPGRADE` or `REFILL`.
    pub kind: MessageKind,
    /// Whether an `INVAL` arrived while a `GET` was outstanding: the data of the answer may be older than the
    /// invalidating store.
    pub invalidated: bool,
    /// Whether the request was NACKed: no message is in flight, and [`super::retry`] is due.
    pub nacked: bool,
}

/// The line's row in the invalidation collection table (`/IR`).
///
/// FLASH's table has 16 rows (FLASH dissertation, Section 5.2.3). A machine must not send `GETX` or `UPGRADE` while no
/// row is free for the answer: see [`CacheLine::has_collection_row`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Collection {
    /// Acknowledgements announced minus acknowledgements received: negative while acknowledgements overtake the home's
    /// answer.
    pub balance: i16,
    /// Whether the home's answer with the number of acknowledgements has arrived.
    pub announced: bool,
}

impl Collection {
    /// An unused row.
    pub const IDLE: Self = Self { balance: 0, announced: false };
}

/// A clustered invalidation that the node has relayed to its cluster (`/IC`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Relay {
    /// Outstanding acknowledgements.
    pub acknowledgements: u16,
    /// Agent that receives the cluster's acknowledgement.
    pub collector: Agent,
    /// Requester of the invalidating transaction.
    pub requester: NodeId,
}

/// One line at one node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CacheLine {
    /// State of the copy.
    pub state: Msi,
    /// Location of the copy.
    pub place: Place,
    /// Contents of the copy; meaningless in [`Msi::Invalid`].
    pub version: Version,
    /// The outstanding request.
    pub request: Option<Request>,
    /// Collection of acknowledgements for this node's own store (`/IR`).
    pub collection: Collection,
    /// Collection of a cluster's acknowledgements for another node's store (`/IC`).
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

    /// Request message that an access needs if nothing is outstanding; `None` if the access hits.
    #[inline]
    pub const fn request_message(&self, access: Access) -> Option<MessageKind> {
        match (self.state, access) {
            (Msi::Dirty, Access::Load | Access::Store) | (Msi::Shared, Access::Load) => None,
            (Msi::Invalid, Access::Load) => Some(MessageKind::Get),
            (Msi::Shared, Access::Store) => Some(MessageKind::Upgrade),
            (Msi::Invalid, Access::Store) => Some(MessageKind::GetExclusive),
        }
    }

    /// Request message that a retry sends, which depends on the state of the copy; `None` if no request was NACKed.
    #[inline]
    pub const fn retry_message(&self) -> Option<MessageKind> {
        match self.request {
            Some(Request { nacked: true, kind: MessageKind::Refill, .. }) => Some(MessageKind::Refill),
            // A recall requests ownership without a store.
            Some(Request { nacked: true, kind: MessageKind::GetExclusive, access: Access::Load, .. }) => {
                Some(MessageKind::GetExclusive)
            }
            Some(Request { nacked: true, access, .. }) => self.request_message(access),
            Some(_) | None => None,
        }
    }

    /// Whether the line occupies a row of the invalidation collection table (`/IR`) or needs one to be kept free: from
    /// the moment its request for ownership is sent until the request is NACKed or the last acknowledgement arrives.
    /// While no row is free, a request that [`MessageKind::takes_collection_row`] must wait.
    #[inline]
    pub fn has_collection_row(&self) -> bool {
        let asked = self.request.is_some_and(|request| !request.nacked && request.kind.takes_collection_row());
        asked || self.collection != Collection::IDLE
    }

    /// Whether nothing is outstanding on the line.
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
