//! The design of a server's coherence: the parameters that all agents share, and the location of a line at each of them.

use std::fmt;

use units::{CpuId, LineAddr, NodeId};

/// Most caching agents of a line: directories have a bit for each.
pub const MAX_CLUSTERS: u16 = 64;
/// Most cores of a cluster: a caching agent has a bit for each.
pub const MAX_CORES: u16 = 64;
/// Most caching agents where requesters snoop: two. See [`HomeKind::EarlySnoop`].
pub const MAX_EARLY_CLUSTERS: u16 = 2;

/// Inclusion of cores' lines in the L3 of their cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum L3 {
    /// Inclusive, with core-valid bits (Haswell-EP): every line of a core is in the L3, cores drop clean lines silently,
    /// and a replacement in the L3 invalidates the cores' copies. A line that cores share is answered by the L3 itself.
    Inclusive,
    /// Victim cache, with the tags of cores' lines beside it: a snoop filter of a size of its own, whose replacements
    /// invalidate cores' copies (Skylake-SP), or shadow tags as large as the cores' caches (Zen). Cores' victims fill
    /// the L3, clean ones too, and a line that only cores have is supplied by one of them.
    Victim,
}

/// State of dirty data that another cluster reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sharing {
    /// MESIF: memory receives the data, and the newest reader becomes the forwarder (Goodman and Hum, "MESIF: a two-hop
    /// cache coherency protocol for point-to-point interconnects", 2004).
    Mesif,
    /// MOESI: the owner keeps the data, which memory does not receive, and supplies further readers (AMD64 Architecture
    /// Programmer's Manual, volume 2, Section 7.3).
    Moesi,
}

/// Directory of a home, and the agent that snoops.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HomeKind {
    /// Home snoop: no directory. The home snoops every caching agent but the requester.
    HomeSnoop,
    /// Early snoop: no directory. The requester's caching agent snoops the other one itself when it sends its request,
    /// and the home collects the response. Only with [`MAX_EARLY_CLUSTERS`]: of requests that cross, the response of
    /// one then always shows which the other agent has answered first.
    EarlySnoop,
    /// Two bits a line in memory, read with it, about the caching agents of other sockets ([`super::Bits`]). The home's
    /// own caching agent is the same box as the home, and is looked up without them.
    Directory {
        /// Whether the home has a directory cache (HitME): the exact holders of lines that moved between sockets.
        cached: bool,
    },
    /// Probe filter: an entry for every line that a caching agent has, with its owner and sharers. Its replacements
    /// invalidate the copies.
    ProbeFilter,
}

/// Parameters that all agents share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Design {
    /// Core clusters of the machine, each with a caching agent for every line.
    pub clusters: u16,
    /// Cores of a cluster, numbered cluster by cluster.
    pub cores: u16,
    /// Kind of L3.
    pub l3: L3,
    /// States between clusters.
    pub sharing: Sharing,
    /// Kind of home.
    pub home: HomeKind,
}

/// A design that the protocol does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DesignError {
    /// The parameter.
    pub what: &'static str,
    /// Its value.
    pub value: u16,
    /// Greatest value accepted; the least is 1.
    pub most: u16,
}

impl fmt::Display for DesignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: out of range; accepted: 1 to {}", self.what, self.value, self.most)
    }
}

impl std::error::Error for DesignError {}

impl Design {
    /// Checks the numbers of clusters and cores.
    ///
    /// # Errors
    /// [`DesignError`] with the parameter that is out of range.
    pub const fn check(&self) -> Result<(), DesignError> {
        let most = if matches!(self.home, HomeKind::EarlySnoop) { MAX_EARLY_CLUSTERS } else { MAX_CLUSTERS };
        if self.clusters == 0 || self.clusters > most {
            return Err(DesignError { what: "core clusters", value: self.clusters, most });
        }
        if self.cores == 0 || self.cores > MAX_CORES {
            return Err(DesignError { what: "cores of a cluster", value: self.cores, most: MAX_CORES });
        }
        Ok(())
    }

    /// Cluster of a core.
    #[inline]
    pub const fn cluster_of(&self, core: CpuId) -> NodeId {
        NodeId(core.0 / self.cores)
    }

    /// Bit of a core among those of its cluster.
    #[inline]
    pub const fn core_bit(&self, core: CpuId) -> u64 {
        1 << (core.0 % self.cores)
    }

    /// Every cluster, a bit each.
    #[inline]
    pub const fn all_clusters(&self) -> u64 {
        u64::MAX >> (MAX_CLUSTERS - self.clusters)
    }
}

/// Location of a line at a core.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CoreSite {
    /// The core.
    pub core: CpuId,
    /// The line.
    pub line: LineAddr,
}

/// Location of a line at the caching agent of a cluster: the slice of its L3 that the line's address selects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CachingSite {
    /// The cluster.
    pub cluster: NodeId,
    /// The line.
    pub line: LineAddr,
    /// The line's home.
    pub home: NodeId,
}

/// Location of a line at its home.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HomeSite {
    /// The home.
    pub home: NodeId,
    /// The line.
    pub line: LineAddr,
    /// Cluster whose caching agent is the same box as the home; `None` for a node that is only memory.
    pub local: Option<NodeId>,
}

/// Bit of a cluster.
#[inline]
pub(super) const fn bit(cluster: NodeId) -> u64 {
    1 << cluster.0
}
