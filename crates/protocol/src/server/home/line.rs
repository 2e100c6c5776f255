//! One line at its home: memory, what the directory has about it, and the transaction under way.

use units::NodeId;

use crate::Version;
use crate::server::{Lane, MessageKind};

/// Directory bits in memory: copies in clusters other than the home's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Bits {
    /// `I`: none.
    #[default]
    Invalid,
    /// `S`: clean shared copies at most.
    Shared,
    /// `A`: any copies.
    Any,
}

/// Exact holders of a line: an entry of a probe filter, or of a directory cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Holders {
    /// Clusters with clean shared copies, a bit each. Copies are dropped silently, so it is a superset.
    pub sharers: u64,
    /// Cluster that supplies the line: it has the only copy, or owns dirty data (MOESI).
    pub owner: Option<NodeId>,
}

impl Holders {
    /// Every holder, a bit each.
    #[inline]
    pub const fn all(&self) -> u64 {
        match self.owner {
            Some(owner) => self.sharers | 1 << owner.0,
            None => self.sharers,
        }
    }
}

/// Cause of a transaction at the home.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// A cluster's request.
    Request {
        /// `RdData`, `RdCode`, `RdCur`, `RdInvOwn` or `InvItoE`.
        kind: MessageKind,
        /// The cluster.
        requester: NodeId,
    },
    /// Replacement of the line's entry in the probe filter.
    Replacement,
}

/// A transaction under way at the home. The line is busy until it ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Transaction {
    /// Caching agents whose responses are outstanding, a bit each.
    pub awaited: u64,
    /// Caching agents that have responded that they keep clean shared copies, a bit each.
    pub kept: u64,
    /// Caching agent that has responded that it stays the owner of dirty data.
    pub owner: Option<NodeId>,
    /// Caching agent that has forwarded the line to the requester.
    pub forwarder: Option<NodeId>,
    /// Cause.
    pub cause: Cause,
    /// Whether the data forwarded complete the request: no other cluster has a copy, or the request is a read.
    pub complete: bool,
    /// Whether clusters that have not been snooped may have clean shared copies.
    pub others: bool,
    /// Whether a writeback has arrived, so that memory is up to date.
    pub written: bool,
    /// Whether the requester, which had forwarded data already, has written the line back: older data of others that arrive
    /// now are ignored.
    pub superseded: bool,
    /// Whether every response has arrived and the request is granted.
    pub granted: bool,
    /// Whether the requester has acknowledged.
    pub acknowledged: bool,
}

impl Transaction {
    /// A transaction that nothing has been done for.
    #[inline]
    pub(in crate::server) const fn new(cause: Cause) -> Self {
        Self {
            awaited: 0,
            kept: 0,
            owner: None,
            forwarder: None,
            cause,
            complete: false,
            others: false,
            written: false,
            superseded: false,
            granted: false,
            acknowledged: false,
        }
    }
}

/// Early snoop: what the home has of a request whose turn has not come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Early {
    /// Response of the other caching agent to the requester's snoop.
    pub response: EarlyResponse,
    /// Request that was put back after a conflict: the other agent's comes first.
    pub request: Option<MessageKind>,
}

/// Response of the other caching agent to a requester's snoop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum EarlyResponse {
    /// Outstanding.
    #[default]
    Outstanding,
    /// It has answered from its copies: `RspI`, `RspS`, `RspIFwd`... The request comes first.
    Answered {
        /// Response type.
        kind: MessageKind,
        /// Whether the forwarder had the only copy.
        sole: bool,
    },
    /// It had a request of its own under way, and has changed nothing.
    Conflict,
    /// The other agent's conflicting request has been served first: the home must snoop.
    Overtaken,
}

/// One line at its home.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct HomeLine {
    /// Exact holders, if the probe filter or the directory cache has an entry.
    pub entry: Option<Holders>,
    /// The transaction under way.
    pub busy: Option<Transaction>,
    /// Early snoop: requests of the two clusters.
    pub early: [Early; 2],
    /// Contents of memory.
    pub memory: Version,
    /// Directory bits in memory.
    pub bits: Bits,
}

impl HomeLine {
    /// Whether nothing is under way.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.busy.is_none() && self.early == [Early::default(); 2]
    }

    /// Whether a message of this lane can be handled now: a request if none is being served, everything else at all times.
    #[inline]
    pub const fn takes(&self, lane: Lane) -> bool {
        self.busy.is_none() || !matches!(lane, Lane::Request)
    }
}

/// Time at which a message leaves a home.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Leaves {
    /// At once.
    AtOnce,
    /// When memory has been read: the message carries its data, or depends on the directory bits that come with them. The
    /// read was started by this message or by an earlier one of the same transaction ([`HomeWork::memory_read`]).
    AfterMemory,
}

/// Lookup of a directory cache or a probe filter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Lookup {
    /// None.
    #[default]
    None,
    /// The line has an entry.
    Hit,
    /// The line has no entry.
    Miss,
    /// The line has none and has been given one: another may have to be replaced.
    Allocated,
}

/// Work done for one message at a home, which a machine prices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HomeWork {
    /// Whether a read of memory, with its directory bits, starts now.
    pub memory_read: bool,
    /// Whether the line's data are written to memory.
    pub memory_write: bool,
    /// Whether the directory bits in memory are written.
    pub bits_write: bool,
    /// Directory cache or probe filter.
    pub lookup: Lookup,
    /// Snoops sent.
    pub snoops: u16,
    /// Whether the line ceases to be busy: messages that wait are offered again.
    pub ends: bool,
}

/// Outcome of a message at a home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HomeOutcome {
    /// The message was handled.
    Done(HomeWork),
    /// The line is busy, and nothing has changed: the message waits.
    Busy,
}
