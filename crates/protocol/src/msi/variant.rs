//! Variants of the protocol: which way invalidations and their acknowledgements go.

use units::NodeId;

use super::Site;

/// Clustered invalidation (`/IC`): one message to a cluster, whose first member to be invalidated passes it on and
/// collects for the home (FLASH dissertation, Section 5.2.3, Figure 5.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clustering {
    /// Consecutive nodes that make up a cluster.
    pub nodes: u16,
    /// Sharers up to which they are invalidated one by one.
    pub least: u16,
}

impl Clustering {
    /// As on FLASH: clusters are the four nodes of a cluster router (Appendix A), and writes with more than 16 sharers use
    /// them (Section 5.3.3).
    pub const FLASH: Self = Self { nodes: 4, least: 16 };
}

/// A variant; the default is the base protocol: the home sends every invalidation and collects every acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Variant {
    /// Clustered invalidation (`/IC`).
    pub clustering: Option<Clustering>,
    /// Acknowledgement to requester (`/IR`): a requester that is not the home gets the line at once and collects. It relaxes
    /// the order of memory: the requester may go on while others still read the old contents (FLASH dissertation, Section
    /// 5.2.3, which calls the variant meaningless where requester and home are one node).
    pub acknowledge_requester: bool,
}

/// What the home needs to know besides the line's entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HomeContext {
    /// Where it is.
    pub site: Site,
    /// The variant.
    pub variant: Variant,
}

/// What a handler on the cache side needs to know besides the line's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeContext {
    /// The node itself.
    pub node: NodeId,
    /// The line's home.
    pub home: NodeId,
    /// Whether dropped shared copies are announced to the home ([`super::SharingSet::replacement_hints`]).
    pub replacement_hints: bool,
    /// Whether the node has a remote access cache for lines that it evicts.
    pub remote_access_cache: bool,
}
