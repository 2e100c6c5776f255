//! The places of a server's agents: cores, slices, homes and memory controllers at the stops of sockets.

use machine::description::{Description, HomeKind as DescribedHome, ServerSpec};
use machine::server::{Package, StopId};
use protocol::server::{Design, HomeKind, L3, Sharing};
use units::{CpuId, LineAddr, NodeId};

use super::fabric::Place;
use crate::SimError;
use crate::map::LineMap;
use machine::description::{Forwarding, SliceKind};

/// The places of all agents, and the rules that select one for a line.
pub(super) struct Places {
    pub(super) design: Design,
    /// By core of a socket, its stop.
    cores: Vec<StopId>,
    /// By slice of a socket, its stop.
    slices: Vec<StopId>,
    /// By memory controller of a socket, its stop.
    memories: Vec<StopId>,
    /// By link to a memory node of a socket, its stop.
    memory_links: Vec<StopId>,
    clusters: u16,
    nodes: u16,
    sockets: u16,
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
        Ok(Self {
            design,
            cores: package.cores.clone(),
            slices: package.slices.clone(),
            memories: package.memories.clone(),
            memory_links: package.memory_links.clone(),
            clusters: package.clusters,
            nodes: package.nodes,
            sockets,
            slices_of_cluster: package.slices.len() as u16 / package.clusters,
            memories_of_node: package.memories.len() as u16 / package.nodes,
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
        let (memory, number) = self.lines.memory(line);
        (memory, number ^ number >> 7 ^ number >> 13 ^ number >> 19)
    }

    /// The stop of a core.
    #[inline]
    pub(super) fn core(&self, core: CpuId) -> Place {
        let cores = self.cores.len() as u16;
        Place::at(core.0 / cores, self.cores[usize::from(core.0 % cores)])
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
        let (socket, its) = (cluster.0 / self.clusters, cluster.0 % self.clusters);
        Place::at(socket, self.slices[usize::from(its * self.slices_of_cluster + slice)])
    }

    /// The stop of the memory controller of a line.
    #[inline]
    pub(super) fn memory_place(&self, line: LineAddr) -> Place {
        self.controller_place(self.home(line), self.memory(line).0)
    }

    /// The stop of a memory controller of a node.
    pub(super) fn controller_place(&self, node: NodeId, controller: usize) -> Place {
        match node.0.checked_sub(self.nodes * self.sockets) {
            None => {
                let (socket, its) = (node.0 / self.nodes, node.0 % self.nodes);
                Place::at(socket, self.memories[usize::from(its * self.memories_of_node) + controller])
            }
            Some(number) => {
                let stop = self.memory_links[usize::from(number / self.sockets) % self.memory_links.len()];
                Place { socket: number % self.sockets, stop, memory_node: Some(number) }
            }
        }
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
        let has = matches!(self.design.home, HomeKind::Directory { .. })
            && self.nodes == self.clusters
            && node.0 < self.nodes * self.sockets;
        has.then_some(node)
    }

    /// The node whose events those of a cluster's caching agents are.
    #[inline]
    pub(super) fn node_of_cluster(&self, cluster: NodeId) -> NodeId {
        let (socket, its) = (cluster.0 / self.clusters, cluster.0 % self.clusters);
        NodeId(socket * self.nodes + its * self.nodes / self.clusters)
    }

    /// The socket of a node; memory nodes are behind one, too.
    pub(super) fn socket_of_node(&self, node: NodeId) -> u16 {
        self.controller_place(node, 0).socket
    }
}
