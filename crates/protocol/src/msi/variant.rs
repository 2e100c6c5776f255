//! Variants of the protocol: the paths of invalidations and of their acknowledgements.

use units::NodeId;

use super::{Site, VECTOR_BITS};

/// Clustered invalidation (`/IC`): one message per cluster, whose first target relays it to the others and collects
/// their acknowledgements for the home (FLASH dissertation, Section 5.2.3, Figure 5.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clustering {
    /// Nodes per cluster, consecutive.
    pub nodes: u16,
    /// Number of sharers up to which each receives an invalidation of its own.
    pub threshold: u16,
}

impl Clustering {
    /// FLASH's parameters: clusters are the four nodes of a cluster router (Appendix A), and writes with more than 16
    /// sharers use them (Section 5.3.3).
    pub const FLASH: Self = Self { nodes: 4, threshold: 16 };
}

/// Variant of the protocol. The default is the base protocol: the home sends every invalidation and collects every
/// acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Variant {
    /// Clustered invalidation (`/IC`).
    pub clustering: Option<Clustering>,
    /// Acknowledgement to requester (`/IR`): a requester on another node than the home receives the line at once and
    /// collects the acknowledgements. The variant relaxes the order of memory: the requester may proceed while other
    /// nodes still read the old contents (FLASH dissertation, Section 5.2.3, which calls the variant meaningless if
    /// requester and home are one node).
    pub acknowledge_requester: bool,
}

impl Variant {
    /// Most nodes of a machine that the variant's messages can name: a clustered invalidation has a bit for each target.
    pub const fn most_nodes(&self) -> u16 {
        if self.clustering.is_some() { VECTOR_BITS } else { Site::MAX_NODES }
    }
}

/// Context of the home's handlers, besides the line's entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HomeContext {
    /// Location of the directory.
    pub site: Site,
    /// Variant of the protocol.
    pub variant: Variant,
}

/// Context of a handler on the cache side, besides the line's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeContext {
    /// The node.
    pub node: NodeId,
    /// The line's home.
    pub home: NodeId,
    /// Whether the node sends a replacement hint for a dropped shared copy ([`super::SharingSet::replacement_hints`]).
    pub replacement_hints: bool,
    /// Whether the node has a remote access cache for evicted lines of other nodes.
    pub remote_access_cache: bool,
}
