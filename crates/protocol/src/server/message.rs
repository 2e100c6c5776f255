//! Messages between cores, caching agents and homes.
//!
//! Names between a core and its caching agent are those of CXL.cache, which Intel has published after the interface of
//! its own cores (CXL Specification 3.0, Section 3.2.4); names between caching agents and homes are those of QPI and UPI
//! ("An introduction to the Intel QuickPath Interconnect", 2009; intel/perfmon, uncore events).
//!
//! Order: for one line, messages between a core and its caching agent arrive in the order in which they were sent, in
//! either direction, and so do messages from a caching agent to the home (QPI keeps the order of its home class for each
//! address; a snoop of CXL.cache pushes the completions before it). Other messages overtake each other without limit.

use units::{CpuId, LineAddr, NodeId};

use crate::{Agent, Version};

/// Virtual network of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lane {
    /// Requests: an agent takes them in only while the line is not busy. Later messages of the sender pass one that waits.
    Request,
    /// Snoops: a caching agent puts one off only while it waits for its own cores; a core always answers.
    Snoop,
    /// Responses, data, completions, evictions and writebacks: always taken in.
    Response,
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
    // From a core to its caching agent.
    /// Load miss of a core: a shared copy, or the only one.
    CoreRead = "DRd", Request, false;
    /// Instruction fetch of a core: a shared copy.
    CoreReadCode = "CRd", Request, false;
    /// Read of the current contents, which leaves no copy.
    CoreReadCurrent = "RdCurr", Request, false;
    /// Store miss of a core: the only copy.
    CoreReadOwn = "RFO", Request, false;
    /// Store of a core to its shared copy: ownership without data.
    CoreUpgrade = "SpecItoM", Request, false;
    /// Victim of a core that is as new as the line below; a victim L3 takes it.
    CleanEvict = "CleanEvict", Response, true;
    /// Victim of a core that is newer than the line below.
    DirtyEvict = "DirtyEvict", Response, true;
    /// Response of a core to a snoop: it keeps nothing, and the L3's data are valid.
    CoreRspI = "IRspI", Response, false;
    /// Response of a core to a snoop: it keeps a shared copy, and the L3's data are valid.
    CoreRspS = "IRspS", Response, false;
    /// Response of a core to a snoop with the line; it keeps nothing.
    CoreRspIData = "IRspIData", Response, true;
    /// Response of a core to a snoop with the line; it keeps a shared copy.
    CoreRspSData = "IRspSData", Response, true;
    /// Response of a core to a snoop with the line; it keeps its copy as it is.
    CoreRspVData = "IRspVData", Response, true;

    // From a caching agent to a core of its cluster. These arrive in the order in which they were sent.
    /// Completion of a core's request with the line: global observation, with the state in `grant`.
    GoData = "GoData", Response, true;
    /// Completion of an upgrade, without data.
    Go = "Go", Response, false;
    /// Snoop of a core: supply the line, keep a shared copy.
    CoreSnoopData = "ISnpData", Snoop, false;
    /// Snoop of a core: supply the line if it is dirty or wanted, keep nothing.
    CoreSnoopInvalidate = "ISnpInv", Snoop, false;
    /// Snoop of a core: supply the line, keep the copy as it is.
    CoreSnoopCurrent = "ISnpCur", Snoop, false;

    // From a caching agent to the home.
    /// Read: a shared copy, or the only one.
    ReadData = "RdData", Request, false;
    /// Read: a shared copy.
    ReadCode = "RdCode", Request, false;
    /// Read of the current contents, which leaves no copy.
    ReadCurrent = "RdCur", Request, false;
    /// Read for ownership: the only copy.
    ReadOwn = "RdInvOwn", Request, false;
    /// Ownership without data.
    Upgrade = "InvItoE", Request, false;
    /// Writeback of a modified line of which the cluster keeps nothing.
    WritebackInvalid = "WbMtoI", Response, true;
    /// Writeback of a modified line of which cores of the cluster keep clean shared copies.
    WritebackKeep = "WbMtoS", Response, true;
    /// Requester's acknowledgement that it has what was granted: the home may serve the next request of the line.
    CompletionAck = "CmpAck", Response, false;

    // Snoops of a home, or with early snoop of the requester's caching agent, to a caching agent.
    /// Snoop for a read.
    SnoopData = "SnpData", Snoop, false;
    /// Snoop for a read of the current contents.
    SnoopCurrent = "SnpCur", Snoop, false;
    /// Snoop for a read for ownership.
    SnoopOwn = "SnpInvOwn", Snoop, false;
    /// Snoop that invalidates, for ownership without data: only dirty data are forwarded.
    SnoopInvalidate = "SnpInvItoE", Snoop, false;
    /// Snoop that invalidates, for an entry of a probe filter to be replaced: dirty data go to memory.
    SnoopFlush = "SnpFlush", Snoop, false;

    // Responses of a caching agent to the home, whoever has snooped.
    /// Nothing is kept.
    RspI = "RspI", Response, false;
    /// A shared copy is kept.
    RspS = "RspS", Response, false;
    /// Nothing is kept; the line has been forwarded to the requester.
    RspIFwd = "RspIFwd", Response, false;
    /// A shared copy is kept; the line has been forwarded to the requester.
    RspSFwd = "RspSFwd", Response, false;
    /// A shared copy is kept; the line has been forwarded to the requester, and comes with the response for memory.
    RspSFwdWb = "RspSFwdWb", Response, true;
    /// The copy is kept as it is, or as owner of dirty data; the line has been forwarded to the requester.
    RspFwd = "RspFwd", Response, false;
    /// Nothing is kept; the line comes with the response for memory.
    RspIWb = "RspIWb", Response, true;
    /// Conflict: the snoop of a requester has met a request of this caching agent, and nothing has changed.
    RspConflict = "RspCnflt", Response, false;

    // To the requester's caching agent.
    /// Line forwarded by another caching agent.
    ForwardedData = "DataC", Response, true;
    /// Completion of a request by the home, with the line from memory.
    Data = "Data", Response, true;
    /// Completion of a request by the home, without data; for ownership.
    Completion = "Cmp", Response, false;
}

/// State that a completion or forwarded data grant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Grant {
    /// None: the data are for one read.
    #[default]
    None,
    /// A shared copy.
    Shared,
    /// A shared copy whose holder forwards it (MESIF).
    Forward,
    /// The only copy.
    Exclusive,
    /// The only copy, newer than the line below: a store has been or will be performed on it.
    Modified,
}

/// A message. Fields that a type does not use keep their defaults, so that equal messages compare equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    /// Line of the message.
    pub line: LineAddr,
    /// Data, if the type carries any.
    pub version: Version,
    /// Destination: a core ([`Agent::Processor`]), the caching agent of a cluster ([`Agent::Interface`]) or a home.
    pub to: Agent,
    /// Sender.
    pub from: Agent,
    /// Cluster that has requested the line, in messages between caching agents and homes.
    pub requester: NodeId,
    /// State granted.
    pub grant: Grant,
    /// In responses of cores: whether the data are newer than the line below. In snoops of cores: whether clean data are
    /// wanted too. In completions without data: whether another caching agent has forwarded them.
    pub dirty: bool,
    /// In forwarded data and the responses that announce them, and in writebacks: whether no other cluster has a copy.
    /// The requester then completes with the data alone.
    pub sole: bool,
    /// Message type.
    pub kind: MessageKind,
}

impl Message {
    /// Creates a message with only the fields that every type uses.
    #[inline]
    pub const fn new(kind: MessageKind, line: LineAddr, from: Agent, to: Agent) -> Self {
        Self {
            line,
            version: Version(0),
            to,
            from,
            requester: NodeId(0),
            grant: Grant::None,
            dirty: false,
            sole: false,
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

    /// Sets the requesting cluster.
    #[inline]
    #[must_use]
    pub const fn for_cluster(mut self, requester: NodeId) -> Self {
        self.requester = requester;
        self
    }

    /// Sets the state granted.
    #[inline]
    #[must_use]
    pub const fn with_grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// Sets whether the data are dirty, wanted or forwarded.
    #[inline]
    #[must_use]
    pub const fn with_dirty(mut self, dirty: bool) -> Self {
        self.dirty = dirty;
        self
    }

    /// Sets whether no other cluster has a copy.
    #[inline]
    #[must_use]
    pub const fn with_sole(mut self, sole: bool) -> Self {
        self.sole = sole;
        self
    }

    /// Core that sent a message to its caching agent.
    #[inline]
    pub const fn core(&self) -> Option<CpuId> {
        if let Agent::Processor(core) = self.from { Some(core) } else { None }
    }

    /// Cluster whose caching agent sent a message.
    #[inline]
    pub const fn cluster(&self) -> Option<NodeId> {
        if let Agent::Interface(cluster) = self.from { Some(cluster) } else { None }
    }
}
