//! The places of a server's agents: cores, slices, homes and memory controllers at the stops of sockets.

use machine::description::{Description, HomeKind as DescribedHome, ServerSpec};
use machine::server::{Package, StopId};
use protocol::server::{Design, HomeKind, L3, Sharing};
use units::{CpuId, LineAddr, NodeId};

use super::fabric::Place;
use crate::SimError;
use crate::map::LineMap;
use crate::part::spread;
use machine::description::{Forwarding, SliceKind};

/// The places of all agents, and the rules that select one for a line.
pub(super) struct Places {
    pub(super) design: Design,
    /// By core.
    cores: Vec<Place>,
    /// By cluster, then by slice of the cluster.
    slices: Vec<Place>,
    /// By node, then by memory controller of the node.
    memories: Vec<Place>,
    /// By cluster, the node whose events those of its caching agents are.
    nodes_of_clusters: Vec<NodeId>,
    /// By node, the cluster whose caching agent goes with it.
    locals: Vec<Option<NodeId>>,
    /// Slices of a cluster.
    pub(super) slices_of_cluster: u16,
    /// Memory controllers of a node.
    memories_of_node: u16,
    /// Whether homes are at slices.
    at_slice: bool,
    lines: LineMap,
}

impl Places {
    /// The places of the machine of `description`, with sockets like `package`.
    ///
    /// # Errors
    /// It has more clusters or cores than the protocol has bits for.
    pub(super) fn new(description: &Description, server: &ServerSpec, package: &Package) -> Result<Self, SimError> {
        let home = SimError::table(description.home.as_ref(), description, "server")?;
        let slice = SimError::table(description.l3_slice.as_ref(), description, "server")?;
        let sockets = server.sockets as u16;
        let design = Design {
            clusters: sockets * package.clusters,
            cores: package.cores.len() as u16 / package.clusters,
            l3: match slice.kind {
                SliceKind::Inclusive => L3::Inclusive,
                SliceKind::Victim | SliceKind::ShadowTags => L3::Victim,
            },
            sharing: match home.forwarding {
                Forwarding::Mesif => Sharing::Mesif,
                Forwarding::Moesi => Sharing::Moesi,
            },
            home: match home.kind {
                DescribedHome::HomeSnoop => HomeKind::HomeSnoop,
                DescribedHome::EarlySnoop => HomeKind::EarlySnoop,
                DescribedHome::Directory => HomeKind::Directory { cached: home.entries > 0 },
                DescribedHome::ProbeFilter => HomeKind::ProbeFilter,
            },
        };
        design.check().map_err(|error| SimError::Unsupported {
            key: "server.clusters_per_socket",
            value: error.value.to_string(),
            accepted: format!("at most {} {}", error.most, error.what).into(),
        })?;
        let memories_of_node = package.memories.len() as u16 / package.nodes;
        let all_nodes = sockets * package.nodes + description.topology.memory_nodes as u16;
        let on_all_sockets = |stops: &[StopId]| -> Vec<Place> {
            (0..sockets).flat_map(|socket| stops.iter().map(move |&stop| Place::at(socket, stop))).collect()
        };
        let controllers =
            |node| (0..memories_of_node).map(move |number| controller_place(package, sockets, node, number));
        let has_local = matches!(design.home, HomeKind::Directory { .. }) && package.nodes == package.clusters;
        let local = |node| (has_local && node < package.nodes * sockets).then_some(NodeId(node));
        Ok(Self {
            design,
            cores: on_all_sockets(&package.cores),
            slices: on_all_sockets(&package.slices),
            memories: (0..all_nodes).flat_map(controllers).collect(),
            nodes_of_clusters: (0..design.clusters).map(|cluster| node_of_cluster(package, cluster)).collect(),
            locals: (0..all_nodes).map(local).collect(),
            slices_of_cluster: package.slices.len() as u16 / package.clusters,
            memories_of_node,
            at_slice: home.at_slice,
            lines: LineMap::of(description),
        })
    }

    /// The home of a line.
    #[inline]
    pub(super) fn home(&self, line: LineAddr) -> NodeId {
        self.lines.home(line)
    }

    /// The memory controller of its home that a line lies in, and its number there as channels and banks see it: with the upper
    /// part of the address folded in, so that regions at multiples of large powers of two do not lie in the same banks.
    #[inline]
    pub(super) fn memory(&self, line: LineAddr) -> (usize, u64) {
        let (memory, number) = spread(self.lines.offset(line), self.memories_of_node.into());
        (memory, number ^ number >> 7 ^ number >> 13 ^ number >> 19)
    }

    /// The stop of a core.
    #[inline]
    pub(super) fn core(&self, core: CpuId) -> Place {
        self.cores[core.index()]
    }

    /// The slice of a cluster that a line's address selects: a hash spreads lines evenly, whatever their distance.
    #[inline]
    pub(super) fn slice(&self, line: LineAddr) -> u16 {
        let mixed = (line.0 ^ line.0 >> 17).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((mixed * u64::from(self.slices_of_cluster)) >> 32) as u16
    }

    /// The stop of the slice of a cluster for a line.
    #[inline]
    pub(super) fn caching_agent(&self, cluster: NodeId, line: LineAddr) -> Place {
        self.slice_place(cluster, self.slice(line))
    }

    /// The stop of a slice of a cluster.
    #[inline]
    pub(super) fn slice_place(&self, cluster: NodeId, slice: u16) -> Place {
        self.slices[cluster.index() * usize::from(self.slices_of_cluster) + usize::from(slice)]
    }

    /// The stop of the memory controller of a line.
    #[inline]
    pub(super) fn memory_place(&self, line: LineAddr) -> Place {
        self.controller_place(self.home(line), self.memory(line).0)
    }

    /// The stop of a memory controller of a node.
    #[inline]
    pub(super) fn controller_place(&self, node: NodeId, controller: usize) -> Place {
        self.memories[node.index() * usize::from(self.memories_of_node) + controller]
    }

    /// The stop of the home of a line.
    #[inline]
    pub(super) fn home_place(&self, line: LineAddr) -> Place {
        match self.local_of(self.home(line)) {
            Some(cluster) if self.at_slice => self.caching_agent(cluster, line),
            _ => self.memory_place(line),
        }
    }

    /// The cluster whose caching agent goes with the home `node`, in the protocol: that of a node that is one cluster, beside a
    /// directory in memory.
    #[inline]
    pub(super) fn local_of(&self, node: NodeId) -> Option<NodeId> {
        self.locals[node.index()]
    }

    /// The node whose events those of a cluster's caching agents are.
    #[inline]
    pub(super) fn node_of_cluster(&self, cluster: NodeId) -> NodeId {
        self.nodes_of_clusters[cluster.index()]
    }

    /// The socket of a node; memory nodes are behind one, too.
    pub(super) fn socket_of_node(&self, node: NodeId) -> u16 {
        self.controller_place(node, 0).socket
    }
}

/// The stop of a memory controller of a node: of a socket, or at the link of a socket to a memory node.
fn controller_place(package: &Package, sockets: u16, node: u16, controller: u16) -> Place {
    let memories_of_node = package.memories.len() as u16 / package.nodes;
    match node.checked_sub(package.nodes * sockets) {
        None => {
            let (socket, its) = (node / package.nodes, node % package.nodes);
            Place::at(socket, package.memories[usize::from(its * memories_of_node + controller)])
        }
        Some(number) => {
            let stop = package.memory_links[usize::from(number / sockets) % package.memory_links.len()];
            Place { socket: number % sockets, stop, memory_node: Some(number) }
        }
    }
}

/// The node that a cluster is part of.
fn node_of_cluster(package: &Package, cluster: u16) -> NodeId {
    let (socket, its) = (cluster / package.clusters, cluster % package.clusters);
    NodeId(socket * package.nodes + its * package.nodes / package.clusters)
}
