//! The messages of the Origin protocol.

use units::{CpuId, LineAddr};

use super::{Geometry, SharerVector};
use crate::{Agent, Version};

/// The virtual channel that a message travels on.
///
/// Requests and replies must not block each other; forwarded requests (interventions, invalidations) are requests that
/// fall back to backoff replies when they could block (Prestor 2001, Section 3.1.3), revisions are sunk unconditionally.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MessageClass {
    /// From a processor to a home.
    Request,
    /// Forwarded to an owner or to sharers.
    Intervention,
    /// Back to a requester.
    Reply,
    /// From a former owner to the home.
    Revision,
}

macro_rules! message_kinds {
    ($( $(#[$doc:meta])* $name:ident = $mnemonic:literal, $class:ident, $data:literal; )*) => {
        /// What a message says. Mnemonics are those of Prestor 2001, Section 4.1, where it has one.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum MessageKind { $( $(#[$doc])* #[doc = concat!(" Mnemonic `", $mnemonic, "`.")] $name, )* }

        impl MessageKind {
            /// Every kind, in order.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// The short name used in traces and tables.
            pub const fn mnemonic(self) -> &'static str {
                match self { $( Self::$name => $mnemonic, )* }
            }

            /// The virtual channel it travels on.
            #[inline]
            pub const fn class(self) -> MessageClass {
                match self { $( Self::$name => MessageClass::$class, )* }
            }

            /// Whether it carries the line: nine 128-bit packets instead of one (Prestor 2001, Section 4.1.3).
            #[inline]
            pub const fn carries_data(self) -> bool {
                match self { $( Self::$name => $data, )* }
            }
        }
    };
}

message_kinds! {
    /// Load miss: a shared copy, or an exclusive one if nobody has the line (Table 4.2).
    Read = "READ", Request, false;
    /// Instruction fetch or read prefetch: a shared copy (Table 4.2).
    ReadShared = "RDSH", Request, false;
    /// Store miss or write prefetch: an exclusive copy (Table 4.2).
    ReadExclusive = "RDEX", Request, false;
    /// Store to a shared copy: ownership without data (Table 4.2).
    Upgrade = "UPGRD", Request, false;
    /// Eviction of a modified copy (Table 4.2).
    Writeback = "WB", Request, true;
    /// Coherent read that caches nothing (block copy, direct memory access).
    UncachedRead = "RDUNC", Request, false;
    /// Read by the page copy engine: invalidates every copy and poisons the line (Section 3.2.1).
    PoisonRead = "RDPOIS", Request, false;

    /// Shared copy from memory.
    SharedReply = "SRPLY", Reply, true;
    /// Exclusive copy from memory; `acknowledgements` IVACKs are to be collected.
    ExclusiveReply = "ERPLY", Reply, true;
    /// Shared copy from memory, good only if the owner turns out to be clean.
    SharedSpeculative = "SSPEC", Reply, true;
    /// Exclusive copy from memory, good only if the owner turns out to be clean.
    ExclusiveSpeculative = "ESPEC", Reply, true;
    /// Ownership without data; `acknowledgements` IVACKs are to be collected.
    UpgradeAcknowledge = "UPACK", Reply, false;
    /// Data that must not be cached.
    UncachedReply = "URPLY", Reply, true;
    /// Data of a line now poisoned; `acknowledgements` IVACKs are to be collected.
    PoisonReply = "PRPLY", Reply, true;
    /// Try again, with more priority.
    NegativeAcknowledge = "NACK", Reply, false;
    /// The line is poisoned: bus error.
    BusError = "BERR", Reply, false;
    /// The written line is in memory and nobody asked for it meanwhile.
    WritebackExclusiveAcknowledge = "WBEACK", Reply, false;
    /// The written line went to a requester: an intervention is on its way and must be ignored.
    WritebackBusyAcknowledge = "WBBACK", Reply, false;
    /// Backoff: send these invalidations yourself.
    BackoffInvalidate = "BINV", Reply, false;
    /// Backoff: send the IRDSH to `owner` yourself; carries the speculative data.
    BackoffReadShared = "BRDSH", Reply, true;
    /// Backoff: send the IRDEX to `owner` yourself; carries the speculative data.
    BackoffReadExclusive = "BRDEX", Reply, true;

    /// To the owner: give the requester a shared copy, keep one, tell the home.
    InterventionShared = "IRDSH", Intervention, false;
    /// To the owner: give the requester the line, drop it, tell the home.
    InterventionExclusive = "IRDEX", Intervention, false;
    /// To sharers: drop the line and acknowledge to the requester.
    Invalidate = "INVAL", Intervention, false;

    /// Shared copy from a modified owner (or from its writeback).
    SharedResponse = "SRESP", Reply, true;
    /// The owner was clean: the speculative data are good, shared.
    SharedAcknowledge = "SACK", Reply, false;
    /// The line from a modified owner (or from its writeback).
    ExclusiveResponse = "ERESP", Reply, true;
    /// The owner was clean: the speculative data are good, exclusive.
    ExclusiveAcknowledge = "EACK", Reply, false;
    /// One node has dropped its copies.
    InvalidateAcknowledge = "IVACK", Reply, false;

    /// Ownership has passed to the requester.
    Transfer = "XFER", Revision, false;
    /// The owner was modified and has downgraded: the line for memory.
    SharingWriteback = "SHWB", Revision, true;
    /// The owner was clean and has downgraded: memory is up to date.
    SharingTransfer = "SHXFER", Revision, false;
}

/// One message. Fields that a kind does not use are at their defaults, so that equal messages compare equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    /// The line it is about.
    pub line: LineAddr,
    /// Sharers to invalidate (`INVAL` before expansion, `BINV`).
    pub sharers: SharerVector,
    /// The data, if the kind carries any.
    pub version: Version,
    /// Whom it is for.
    pub to: Agent,
    /// On whose behalf it was sent (for `WB`: the writer).
    pub requester: CpuId,
    /// The owner to ask (`BRDSH`, `BRDEX`).
    pub owner: CpuId,
    /// Invalidation acknowledgements to expect (`ERPLY`, `UPACK`, `PRPLY`).
    pub acknowledgements: u16,
    /// Priority of a retried request.
    pub priority: u8,
    /// What it says.
    pub kind: MessageKind,
}

impl Message {
    /// A message with only the fields that every kind uses.
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

    /// With data.
    #[inline]
    #[must_use]
    pub const fn with_version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// With a number of invalidation acknowledgements to expect.
    #[inline]
    #[must_use]
    pub const fn with_acknowledgements(mut self, acknowledgements: u16) -> Self {
        self.acknowledgements = acknowledgements;
        self
    }

    /// With a sharer vector.
    #[inline]
    #[must_use]
    pub const fn with_sharers(mut self, sharers: SharerVector) -> Self {
        self.sharers = sharers;
        self
    }

    /// With an owner.
    #[inline]
    #[must_use]
    pub const fn with_owner(mut self, owner: CpuId) -> Self {
        self.owner = owner;
        self
    }

    /// With a priority.
    #[inline]
    #[must_use]
    pub const fn with_priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// The messages that leave the network interface for a compact `INVAL` addressed to [`Agent::Sharers`]: one to the
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
