//! The messages of the MSI protocol, under the names of FLASH.

use units::{LineAddr, NodeId};

use crate::Version;

/// Whom a message is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Agent {
    /// The directory of a node.
    Home(NodeId),
    /// The cache side of a node: its processor, and what its controller keeps for it.
    Node(NodeId),
}

/// The network that a message travels on: requests and replies have routes of their own (FLASH dissertation,
/// Appendix A).
///
/// Messages overtake each other without limit, but for one pair: what one node sends to one home on the request network
/// arrives in order, as routes are fixed and a virtual channel is a queue. The protocol relies on it where a replacement
/// hint is followed by a new request for the line; see [`super::SharingSet::replacement_hints`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lane {
    /// May have to wait for a reply to be sent.
    Request,
    /// Is always taken in.
    Reply,
}

macro_rules! message_kinds {
    ($( $(#[$doc:meta])* $name:ident = $mnemonic:literal, $lane:ident, $data:literal; )*) => {
        /// What a message says.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum MessageKind { $( $(#[$doc])* #[doc = concat!(" Mnemonic `", $mnemonic, "`.")] $name, )* }

        impl MessageKind {
            /// Every kind, in order.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// The name used in traces and tables; FLASH's, without `MSG_`.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Self::$name => $mnemonic, )* }
            }

            /// The network that it travels on.
            #[inline]
            pub const fn lane(self) -> Lane {
                match self { $( Self::$name => Lane::$lane, )* }
            }

            /// Whether it carries the line.
            #[inline]
            pub const fn carries_data(self) -> bool {
                match self { $( Self::$name => $data, )* }
            }
        }
    };
}

message_kinds! {
    /// To the home: a shared copy, please.
    Get = "GET", Request, false;
    /// To the home: an exclusive copy, please.
    GetExclusive = "GETX", Request, false;
    /// To the home: ownership for the shared copy that the requester has.
    Upgrade = "UPGRADE", Request, false;
    /// To the home: the upgrade was granted to a copy that had meanwhile been invalidated; the data too, please.
    Refill = "REFILL", Request, false;
    /// To the home: a replacement hint, the shared copy has been dropped.
    ReplacementHint = "RPL", Request, false;
    /// To the home: the dirty line, which has been evicted.
    Writeback = "WB", Reply, true;

    /// To the requester: a shared copy.
    Put = "PUT", Reply, true;
    /// To the requester: an exclusive copy; `acknowledgements` are to be collected.
    PutExclusive = "PUTX", Reply, true;
    /// To the requester: the copy is exclusive now; `acknowledgements` are to be collected.
    UpgradeAcknowledge = "UPGRADE_ACK", Reply, false;
    /// To the requester: try again.
    NegativeAcknowledge = "NAK", Reply, false;

    /// To the owner: give the requester a shared copy and keep one.
    ForwardGet = "FWD_GET", Request, false;
    /// To the owner: give the requester the line and drop it.
    ForwardGetExclusive = "FWD_GETX", Request, false;
    /// To a sharer: drop the line and acknowledge to the collector.
    Invalidate = "INVAL", Request, false;
    /// To a sharer: have the line dropped by all `targets`, yourself among them, and acknowledge once for all.
    ClusterInvalidate = "CLUSTER_INVAL", Request, false;

    /// To the home: the former owner has given the requester a shared copy; here is the line for memory.
    SharingWriteback = "SWB", Reply, true;
    /// To the home: the former owner has given the requester the line.
    OwnershipTransfer = "OWN", Reply, false;
    /// To the home: no dirty copy was there to answer the forwarded request; the requester knows.
    ForwardNegativeAcknowledge = "NAKC", Reply, false;
    /// To the collector: a sharer has dropped the line.
    InvalidateAcknowledge = "INVAL_ACK", Reply, false;
    /// To the collector: a cluster has dropped the line.
    ClusterInvalidateAcknowledge = "CLUSTER_INVAL_ACK", Reply, false;
    /// To the home: the requester has collected every acknowledgement.
    CollectDone = "INVAL_ACK_COLLECT_DONE", Reply, false;
}

impl MessageKind {
    /// Whether the answer may announce acknowledgements for the requester to collect (`/IR`): `GETX` and `UPGRADE`.
    #[inline]
    pub const fn takes_collection_row(self) -> bool {
        matches!(self, Self::GetExclusive | Self::Upgrade)
    }
}

/// One message. Fields that a kind does not use are at their defaults, so that equal messages compare equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    /// The line it is about.
    pub line: LineAddr,
    /// Nodes to invalidate, one bit each (`CLUSTER_INVAL`).
    pub targets: u64,
    /// The data, if the kind carries any.
    pub version: Version,
    /// Whom it is for.
    pub to: Agent,
    /// Who collects the acknowledgement (`INVAL`, `CLUSTER_INVAL`; otherwise as `to`).
    pub collector: Agent,
    /// On whose behalf it was sent: the requester, or whoever writes back, gives a hint or is done collecting.
    pub requester: NodeId,
    /// Acknowledgements that the requester must collect (`PUTX`, `UPGRADE_ACK`).
    pub acknowledgements: u16,
    /// What it says.
    pub kind: MessageKind,
}

impl Message {
    /// A message with only the fields that every kind uses.
    #[inline]
    pub const fn new(kind: MessageKind, line: LineAddr, to: Agent, requester: NodeId) -> Self {
        Self { line, targets: 0, version: Version(0), to, collector: to, requester, acknowledgements: 0, kind }
    }

    /// With data.
    #[inline]
    #[must_use]
    pub const fn with_version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// With a number of acknowledgements to collect.
    #[inline]
    #[must_use]
    pub const fn with_acknowledgements(mut self, acknowledgements: u16) -> Self {
        self.acknowledgements = acknowledgements;
        self
    }

    /// An invalidation whose acknowledgement goes to `collector`.
    #[inline]
    #[must_use]
    pub const fn collected_by(mut self, collector: Agent) -> Self {
        self.collector = collector;
        self
    }

    /// An invalidation for a cluster of nodes.
    #[inline]
    #[must_use]
    pub const fn with_targets(mut self, targets: u64) -> Self {
        self.targets = targets;
        self
    }
}
