//! Messages of the MSI protocol, with the mnemonics of FLASH.

use units::{LineAddr, NodeId};

use crate::Version;

/// Destination of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Agent {
    /// Directory of a node.
    Home(NodeId),
    /// Cache side of a node: its processor, and the state that its controller keeps for it.
    Node(NodeId),
}

/// Virtual network of a message: requests and replies travel separately (FLASH dissertation, Appendix A).
///
/// Messages overtake each other without limit, with one exception: messages from one node to one home on the request
/// network arrive in order, because routes are fixed and a virtual channel is a queue. The protocol relies on this
/// order if a new request for a line follows a replacement hint; see [`super::SharingSet::replacement_hints`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lane {
    /// Request network: a message may have to wait until a reply has been sent.
    Request,
    /// Reply network: a message is always accepted.
    Reply,
}

macro_rules! message_kinds {
    ($( $(#[$doc:meta])* $name:ident = $mnemonic:literal, $lane:ident, $data:literal; )*) => {
        /// Message type.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum MessageKind { $( $(#[$doc])* #[doc = concat!(" Mnemonic `", $mnemonic, "`.")] $name, )* }

        impl MessageKind {
            /// Every type, in order.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// Mnemonic used in traces and tables: FLASH's, without `MSG_`.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Self::$name => $mnemonic, )* }
            }

            /// Virtual network of the message.
            #[inline]
            pub const fn lane(self) -> Lane {
                match self { $( Self::$name => Lane::$lane, )* }
            }

            /// Whether the message carries the line's data.
            #[inline]
            pub const fn carries_data(self) -> bool {
                match self { $( Self::$name => $data, )* }
            }
        }
    };
}

message_kinds! {
    /// Request to the home for a shared copy.
    Get = "GET", Request, false;
    /// Request to the home for an exclusive copy.
    GetExclusive = "GETX", Request, false;
    /// Request to the home for ownership of a line of which the requester has a shared copy.
    Upgrade = "UPGRADE", Request, false;
    /// Request to the home for the data of a granted upgrade whose copy has been invalidated in the meantime.
    Refill = "REFILL", Request, false;
    /// Replacement hint to the home: the node has dropped its shared copy.
    ReplacementHint = "RPL", Request, false;
    /// Writeback to the home of an evicted dirty line.
    Writeback = "WB", Reply, true;

    /// Reply to the requester with a shared copy.
    Put = "PUT", Reply, true;
    /// Reply to the requester with an exclusive copy; `acknowledgements` are to be collected.
    PutExclusive = "PUTX", Reply, true;
    /// Reply to the requester that makes its copy exclusive; `acknowledgements` are to be collected.
    UpgradeAcknowledge = "UPGRADE_ACK", Reply, false;
    /// NACK to the requester, which must retry. `NAK` is FLASH's name for it.
    Nack = "NAK", Reply, false;

    /// Forwarded request to the owner, which sends the requester a shared copy and keeps one.
    ForwardGet = "FWD_GET", Request, false;
    /// Forwarded request to the owner, which sends the requester the line and drops its copy.
    ForwardGetExclusive = "FWD_GETX", Request, false;
    /// Invalidation of a sharer, which acknowledges to the collector.
    Invalidate = "INVAL", Request, false;
    /// Invalidation of all `targets`, a cluster: the first one relays it to the others and acknowledges once for all.
    ClusterInvalidate = "CLUSTER_INVAL", Request, false;

    /// Sharing writeback of the former owner to the home: the requester has a shared copy, and memory receives the
    /// line.
    SharingWriteback = "SWB", Reply, true;
    /// Ownership transfer, reported by the former owner to the home: the requester has the line.
    OwnershipTransfer = "OWN", Reply, false;
    /// NACK of a forwarded request, reported to the home by a node without a dirty copy; the requester has received a
    /// `NAK`. `NAKC` is FLASH's name for it.
    ForwardNack = "NAKC", Reply, false;
    /// Acknowledgement of a sharer to the collector: its copy is gone.
    InvalidateAcknowledge = "INVAL_ACK", Reply, false;
    /// Acknowledgement of a cluster to the collector: all its copies are gone.
    ClusterInvalidateAcknowledge = "CLUSTER_INVAL_ACK", Reply, false;
    /// Report of the requester to the home: it has collected every acknowledgement.
    CollectDone = "INVAL_ACK_COLLECT_DONE", Reply, false;
}

impl MessageKind {
    /// Whether the answer to this request may announce acknowledgements for the requester to collect (`/IR`): true for
    /// `GETX` and `UPGRADE`.
    #[inline]
    pub const fn takes_collection_row(self) -> bool {
        matches!(self, Self::GetExclusive | Self::Upgrade)
    }
}

/// A message. Fields that a type does not use keep their defaults, so that equal messages compare equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    /// Line of the message.
    pub line: LineAddr,
    /// Nodes to invalidate, one bit each (`CLUSTER_INVAL`).
    pub targets: u64,
    /// Data, if the type carries any.
    pub version: Version,
    /// Destination.
    pub to: Agent,
    /// Collector of the acknowledgement (`INVAL`, `CLUSTER_INVAL`; otherwise as `to`).
    pub collector: Agent,
    /// Requester of the transaction; for a writeback, a hint or `INVAL_ACK_COLLECT_DONE`, the sender.
    pub requester: NodeId,
    /// Acknowledgements that the requester must collect (`PUTX`, `UPGRADE_ACK`).
    pub acknowledgements: u16,
    /// Message type.
    pub kind: MessageKind,
}

impl Message {
    /// Creates a message with only the fields that every type uses.
    #[inline]
    pub const fn new(kind: MessageKind, line: LineAddr, to: Agent, requester: NodeId) -> Self {
        Self { line, targets: 0, version: Version(0), to, collector: to, requester, acknowledgements: 0, kind }
    }

    /// Adds data.
    #[inline]
    #[must_use]
    pub const fn with_version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Sets the number of acknowledgements to collect.
    #[inline]
    #[must_use]
    pub const fn with_acknowledgements(mut self, acknowledgements: u16) -> Self {
        self.acknowledgements = acknowledgements;
        self
    }

    /// Sets the collector of an invalidation's acknowledgement.
    #[inline]
    #[must_use]
    pub const fn collected_by(mut self, collector: Agent) -> Self {
        self.collector = collector;
        self
    }

    /// Sets the targets of a clustered invalidation.
    #[inline]
    #[must_use]
    pub const fn with_targets(mut self, targets: u64) -> Self {
        self.targets = targets;
        self
    }
}
