//! Messages of the Origin protocol.

use units::{CpuId, LineAddr};

use super::{Geometry, SharerVector};
use crate::{Agent, Version};

/// Virtual channel of a message.
///
/// Requests and replies must not block each other. Forwarded requests (interventions, invalidations) are requests that
/// turn into backoff replies if they could block (Prestor 2001, Section 3.1.3); revisions are accepted unconditionally.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MessageClass {
    /// Request from a processor to a home.
    Request,
    /// Intervention or invalidation, forwarded to an owner or to sharers.
    Intervention,
    /// Reply to a requester.
    Reply,
    /// Revision from a former owner to the home.
    Revision,
}

macro_rules! message_kinds {
    ($( $(#[$doc:meta])* $name:ident = $mnemonic:literal, $class:ident, $data:literal; )*) => {
        /// Message type. Mnemonics are those of Prestor 2001, Section 4.1, if it defines one.
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

            /// Virtual channel of the message.
            #[inline]
            pub const fn class(self) -> MessageClass {
                match self { $( Self::$name => MessageClass::$class, )* }
            }

            /// Whether the message carries the line's data: nine 128-bit packets instead of one (Prestor 2001, Section
            /// 4.1.3).
            #[inline]
            pub const fn carries_data(self) -> bool {
                match self { $( Self::$name => $data, )* }
            }
        }
    };
}

message_kinds! {
    /// Load miss: a shared copy, or an exclusive one if no cache has the line (Table 4.2).
    Read = "READ", Request, false;
    /// Instruction fetch or read prefetch: a shared copy (Table 4.2).
    ReadShared = "RDSH", Request, false;
    /// Store miss or write prefetch: an exclusive copy (Table 4.2).
    ReadExclusive = "RDEX", Request, false;
    /// Store to a shared copy: ownership without data (Table 4.2).
    Upgrade = "UPGRD", Request, false;
    /// Eviction of a modified copy (Table 4.2).
    Writeback = "WB", Request, true;
    /// Coherent read that is not cached (block copy, direct memory access).
    UncachedRead = "RDUNC", Request, false;
    /// Poison read by the page copy engine: invalidates every copy and poisons the line (Section 3.2.1).
    PoisonRead = "RDPOIS", Request, false;

    /// Shared copy from memory.
    SharedReply = "SRPLY", Reply, true;
    /// Exclusive copy from memory; `acknowledgements` IVACKs are to be collected.
    ExclusiveReply = "ERPLY", Reply, true;
    /// Speculative shared copy from memory, valid only if the owner was clean.
    SharedSpeculative = "SSPEC", Reply, true;
    /// Speculative exclusive copy from memory, valid only if the owner was clean.
    ExclusiveSpeculative = "ESPEC", Reply, true;
    /// Ownership without data; `acknowledgements` IVACKs are to be collected.
    UpgradeAcknowledge = "UPACK", Reply, false;
    /// Data for an uncached read.
    UncachedReply = "URPLY", Reply, true;
    /// Data of a line now poisoned; `acknowledgements` IVACKs are to be collected.
    PoisonReply = "PRPLY", Reply, true;
    /// NACK: the requester must retry, with more priority.
    Nack = "NACK", Reply, false;
    /// Bus error: the line is poisoned.
    BusError = "BERR", Reply, false;
    /// Acknowledgement of a writeback that crossed no intervention: memory has the line.
    WritebackExclusiveAcknowledge = "WBEACK", Reply, false;
    /// Acknowledgement of a writeback that went to a requester: the writer must ignore the intervention that crossed
    /// it.
    WritebackBusyAcknowledge = "WBBACK", Reply, false;
    /// Backoff: the requester must send these invalidations.
    BackoffInvalidate = "BINV", Reply, false;
    /// Backoff: the requester must send the `IRDSH` to `owner`; carries the speculative data.
    BackoffReadShared = "BRDSH", Reply, true;
    /// Backoff: the requester must send the `IRDEX` to `owner`; carries the speculative data.
    BackoffReadExclusive = "BRDEX", Reply, true;

    /// Shared intervention: the owner sends the requester a shared copy, keeps one, and sends the home a revision.
    InterventionShared = "IRDSH", Intervention, false;
    /// Exclusive intervention: the owner sends the requester the line, drops its copy, and sends the home a revision.
    InterventionExclusive = "IRDEX", Intervention, false;
    /// Invalidation of sharers, which acknowledge to the requester.
    Invalidate = "INVAL", Intervention, false;

    /// Shared copy from a modified owner (or from its writeback).
    SharedResponse = "SRESP", Reply, true;
    /// Acknowledgement of a clean owner: the speculative data are valid, shared.
    SharedAcknowledge = "SACK", Reply, false;
    /// Exclusive copy from a modified owner (or from its writeback).
    ExclusiveResponse = "ERESP", Reply, true;
    /// Acknowledgement of a clean owner: the speculative data are valid, exclusive.
    ExclusiveAcknowledge = "EACK", Reply, false;
    /// Invalidation acknowledgement: one node has dropped its copies.
    InvalidateAcknowledge = "IVACK", Reply, false;

    /// Revision: ownership has passed to the requester.
    Transfer = "XFER", Revision, false;
    /// Revision: a modified owner has downgraded, and sends the line for memory.
    SharingWriteback = "SHWB", Revision, true;
    /// Revision: a clean owner has downgraded, and memory is up to date.
    SharingTransfer = "SHXFER", Revision, false;
}

/// A message. Fields that a type does not use keep their defaults, so that equal messages compare equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    /// Line of the message.
    pub line: LineAddr,
    /// Sharers to invalidate (`INVAL` before expansion, `BINV`).
    pub sharers: SharerVector,
    /// Data, if the type carries any.
    pub version: Version,
    /// Destination.
    pub to: Agent,
    /// Requester of the transaction (for `WB`: the writer).
    pub requester: CpuId,
    /// Owner to which the intervention goes (`BRDSH`, `BRDEX`).
    pub owner: CpuId,
    /// Invalidation acknowledgements to expect (`ERPLY`, `UPACK`, `PRPLY`).
    pub acknowledgements: u16,
    /// Priority of a retried request.
    pub priority: u8,
    /// Message type.
    pub kind: MessageKind,
}

impl Message {
    /// Creates a message with only the fields that every type uses.
    #[inline]
    pub const fn new(kind: MessageKind, line: LineAddr, to: Agent, requester: CpuId) -> Self {
        Self {
            line,
            sharers: SharerVector::EMPTY,
            version: Version(0),
            to,
            requester,
            owner: CpuId(0),
            acknowledgements: 0,
            priority: 0,
            kind,
        }
    }

    /// Adds data.
    #[inline]
    #[must_use]
    pub const fn with_version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Sets the number of invalidation acknowledgements to expect.
    #[inline]
    #[must_use]
    pub const fn with_acknowledgements(mut self, acknowledgements: u16) -> Self {
        self.acknowledgements = acknowledgements;
        self
    }

    /// Sets the sharer vector.
    #[inline]
    #[must_use]
    pub const fn with_sharers(mut self, sharers: SharerVector) -> Self {
        self.sharers = sharers;
        self
    }

    /// Sets the owner.
    #[inline]
    #[must_use]
    pub const fn with_owner(mut self, owner: CpuId) -> Self {
        self.owner = owner;
        self
    }

    /// Sets the priority.
    #[inline]
    #[must_use]
    pub const fn with_priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Messages into which the network interface expands a compact `INVAL` addressed to [`Agent::Sharers`]: one to the
    /// processor interface of each target, in descending node order. The network has no broadcast (Prestor 2001,
    /// Section 4.1.3).
    #[inline]
    pub fn expand(&self, geometry: Geometry) -> impl Iterator<Item = Message> + use<> {
        let compact = *self;
        self.sharers.targets(geometry, self.requester).map(move |node| Message {
            to: Agent::Interface(node),
            sharers: SharerVector::EMPTY,
            ..compact
        })
    }
}
