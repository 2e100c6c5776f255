//! The parts of suites: which series of measurements a plan belongs to.

use serde::{Deserialize, Serialize};

/// The part of a suite that a plan belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Series {
    /// No suite: asked for by itself.
    Single,
    /// All roles on one node, for the table of local results.
    Local,
    /// Both processors of a node read its memory at once: the bandwidth of their bus.
    SharedBus,
    /// Several nodes read the memory of one at once: its bandwidth.
    SharedMemory,
    /// Unowned lines at every distance; also the base line of the series below.
    Unowned,
    /// Requester, home and remote processor on one node: the first row of the three series below.
    SameNode,
    /// Requester and home on one node, the remote processor at every distance.
    XhopsZero,
    /// Home and remote processor on one node, the requester at every distance.
    YhopsZero,
    /// Requester and remote processor on one node, the home at every distance.
    ZhopsZero,
    /// Requester and home on one node, more and more sharers.
    Sharers,
    /// Requester and home on one node, random sets of sharers.
    RandomSharers,
    /// A point of a P3 diagram.
    P3,
    /// An area of the hierarchy.
    Hierarchy,
    /// A transaction with an owner of some nearness.
    Places,
    /// The same transaction with lines further and further apart.
    Spacing,
    /// A line passed between two processors.
    Cores,
    /// From the processors of one node to the memory of another.
    Nodes,
    /// A bandwidth.
    Bandwidth,
    /// A point of a curve of latency against load.
    Loaded,
    /// A map of memory.
    Regions,
    /// A line passed between the caches of one node, or of two, by its home.
    Transfers,
    /// A line passed between two processors of a class of pairs.
    Pairs,
}

impl Series {
    /// The name in records; none if it is no series.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Single => return None,
            Self::Local => "local",
            Self::SharedBus => "shared-bus",
            Self::SharedMemory => "shared-memory",
            Self::Unowned => "unowned",
            Self::SameNode => "same-node",
            Self::XhopsZero => "xhops-zero",
            Self::YhopsZero => "yhops-zero",
            Self::ZhopsZero => "zhops-zero",
            Self::Sharers => "sharers",
            Self::RandomSharers => "random-sharers",
            Self::P3 => "p3",
            Self::Hierarchy => "hierarchy",
            Self::Places => "places",
            Self::Spacing => "spacing",
            Self::Cores => "cores",
            Self::Nodes => "nodes",
            Self::Bandwidth => "bandwidth",
            Self::Loaded => "loaded",
            Self::Regions => "regions",
            Self::Transfers => "transfers",
            Self::Pairs => "pairs",
        })
    }
}
