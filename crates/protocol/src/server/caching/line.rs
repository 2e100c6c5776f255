//! One line at the caching agent of a cluster: the cluster's state, the L3's copy, the cores that have copies, and the
//! work under way.

use units::{CpuId, NodeId};

use crate::Version;
use crate::server::{Lane, MessageKind};

/// State of a cluster's copies towards other clusters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum ClusterState {
    /// Neither the L3 nor a core has the line.
    #[default]
    Invalid,
    /// Other clusters may have the line, and one of them or memory supplies it.
    Shared,
    /// Other clusters may have the line; this one supplies it, and memory is up to date (MESIF).
    Forward,
    /// Other clusters may have the line; this one supplies it, and memory is older (MOESI).
    Owned,
    /// No other cluster has the line. Whether memory is older depends on the L3's copy and on the core that may write.
    Exclusive,
}

/// The L3's copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum L3Copy {
    /// None.
    #[default]
    None,
    /// A copy as new as memory, unless a core has written.
    Clean,
    /// A copy newer than memory.
    Dirty,
}

/// Data that cores' responses or another cluster have brought.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Found {
    /// None.
    #[default]
    None,
    /// Data that the level below has, too.
    Clean,
    /// Data newer than the level below.
    Dirty,
}

/// Stage of a core's request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// The home has this request.
    Home(MessageKind),
    /// The home has completed this request, and another caching agent's data are awaited.
    Data(MessageKind),
    /// Early snoop: another caching agent has supplied the core, and the home's completion of this request is awaited.
    Completion(MessageKind),
    /// Cores of the cluster have been snooped.
    Cores,
}

/// A core's request that is being served.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Request {
    /// The core.
    pub core: CpuId,
    /// Its request: `DRd`, `CRd`, `RdCurr`, `RFO` or `SpecItoM`.
    pub kind: MessageKind,
    /// Stage.
    pub stage: Stage,
}

/// Reason for which cores are snooped that is no request of the cluster's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum External {
    /// Snoop of another agent.
    Snoop {
        /// Snoop type.
        kind: MessageKind,
        /// Cluster that has requested the line.
        requester: NodeId,
    },
    /// Replacement of the line in an inclusive L3.
    ReplaceL3,
    /// Replacement of the line's entry in the snoop filter.
    ReplaceFilter,
}

/// One line at the caching agent of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CachingLine {
    /// Cores that may have copies, a bit each: core-valid bits, snoop filter entry or shadow tags. Exact beside a victim
    /// L3; a superset beside an inclusive one.
    pub cores: u64,
    /// Cores whose responses to a snoop are outstanding.
    pub awaited: u64,
    /// Request of a core.
    pub request: Option<Request>,
    /// Snoop or replacement.
    pub external: Option<External>,
    /// Contents of the L3's copy.
    pub contents: Version,
    /// Data on their way through the agent.
    pub transit: Version,
    /// Kind of the data on their way.
    pub found: Found,
    /// State of the cluster.
    pub state: ClusterState,
    /// The L3's copy.
    pub l3: L3Copy,
    /// Whether the one core in `cores` may write: it has an exclusive or modified copy.
    pub sole: bool,
}

impl CachingLine {
    /// Whether nothing is outstanding on the line.
    #[inline]
    pub const fn is_quiet(&self) -> bool {
        self.request.is_none() && self.external.is_none()
    }

    /// Whether a message of this lane can be handled now: a core's request if nothing is outstanding; a snoop if no other is under way,
    /// and no request waits for cores; a response at all times.
    #[inline]
    pub const fn takes(&self, lane: Lane) -> bool {
        match lane {
            Lane::Request => self.is_quiet(),
            Lane::Snoop => {
                self.external.is_none() && !matches!(self.request, Some(Request { stage: Stage::Cores, .. }))
            }
            Lane::Response => true,
        }
    }

    /// Whether cores have been snooped whose responses are outstanding.
    #[inline]
    pub const fn is_collecting(&self) -> bool {
        self.awaited != 0
    }

    /// Request that the home or another caching agent has, if there is one.
    #[inline]
    pub const fn asked(&self) -> Option<MessageKind> {
        match self.request {
            Some(Request { stage: Stage::Home(kind) | Stage::Data(kind), .. }) => Some(kind),
            _ => None,
        }
    }
}

/// Work done for one message or replacement at a caching agent, which a machine prices. Every message looks up the tags.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CachingWork {
    /// Whether the L3's data were read.
    pub l3_read: bool,
    /// Whether data were written into the L3. The line then has a copy there, for which a line may have to be replaced.
    pub l3_write: bool,
    /// Cores snooped.
    pub snoops: u16,
}

/// Outcome of a message at a caching agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CachingOutcome {
    /// The message was handled.
    Done(CachingWork),
    /// The line is busy, and nothing has changed: the message waits, and is offered again when another message of the
    /// line has been handled.
    Busy,
}

/// Outcome of a replacement at a caching agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replaced {
    /// The room is free.
    Done(CachingWork),
    /// Cores have been snooped: the room is free when the line has neither an L3 copy nor cores, whichever was to go.
    Started(CachingWork),
    /// Something is outstanding on the line: another one must be replaced.
    Busy,
}
