//! Messages between nodes.

use units::{LineAddr, NodeId};

use crate::{Agent, Version};

/// Virtual network of a message.
///
/// A home takes in requests only while their lines are not busy. A device always takes in interventions, one a line, and
/// answers them when its bus allows. Replies are always taken in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lane {
    /// Requests to homes, writebacks included.
    Request,
    /// Interventions: forwarded requests, and invalidations.
    Intervention,
    /// Replies to requesters, and reports to homes.
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

            /// Mnemonic used in traces and tables.
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
    /// Request to the home for the right to read.
    Read = "READ", Request, false;
    /// Request to the home for the line and the right to write.
    ReadExclusive = "READX", Request, false;
    /// Request to the home for the right to write a line that the node may read.
    Upgrade = "UPGRADE", Request, false;
    /// Request of the home's own node for the line, the right to write it, and the line's poison bit.
    PoisonRead = "POISON_READ", Request, false;
    /// Writeback to the home of a line that the node owned.
    Writeback = "WB", Request, true;

    /// Forwarded request to the owner, which sends the requester the line and may go on reading it.
    ForwardRead = "FWD_READ", Intervention, false;
    /// Forwarded request to the owner, which sends the requester the line and keeps nothing.
    ForwardReadExclusive = "FWD_READX", Intervention, false;
    /// Invalidation of a sharer, which acknowledges to the requester.
    Invalidate = "INVAL", Intervention, false;

    /// Reply to the requester with the line and the right to read.
    Data = "DATA", Reply, true;
    /// Reply to the requester with the line and the right to write; `acknowledgements` are to be collected.
    DataExclusive = "DATAX", Reply, true;
    /// Reply to the requester with the right to write; `acknowledgements` are to be collected.
    UpgradeAcknowledge = "UPGRADE_ACK", Reply, false;
    /// Refusal of the home: the line is poisoned, and nothing has changed.
    Poison = "POISON", Reply, false;
    /// Acknowledgement of a sharer to the requester: the node's copies are gone.
    InvalidateAcknowledge = "INVAL_ACK", Reply, false;
    /// Acknowledgement of the home to the sender of a writeback, which may forget the line.
    WritebackAcknowledge = "WB_ACK", Reply, false;
    /// Sharing writeback of the former owner to the home: the requester may read the line, and memory receives it.
    SharingWriteback = "SWB", Reply, true;
    /// Ownership transfer, reported by the former owner to the home: the requester has the line.
    OwnershipTransfer = "OWN", Reply, false;
}

/// A message. Fields that a type does not use keep their defaults, so that equal messages compare equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    /// Line of the message.
    pub line: LineAddr,
    /// Data, if the type carries any.
    pub version: Version,
    /// Destination: the home, or the device of a node ([`Agent::Interface`]).
    pub to: Agent,
    /// Requester of the transaction; for a writeback, the sender.
    pub requester: NodeId,
    /// Acknowledgements that the requester must collect (`DATAX`, `UPGRADE_ACK`).
    pub acknowledgements: u16,
    /// Message type.
    pub kind: MessageKind,
}

impl Message {
    /// Creates a message with only the fields that every type uses.
    #[inline]
    pub const fn new(kind: MessageKind, line: LineAddr, to: Agent, requester: NodeId) -> Self {
        Self { line, version: Version(0), to, requester, acknowledgements: 0, kind }
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
}
