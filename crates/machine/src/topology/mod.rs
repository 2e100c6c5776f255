//! The graph of a machine: nodes, routers, and the links between them, with their names in the hardware graph.

mod build;
mod element;
mod flash;
mod grid;
mod name;
mod origin;
mod ring;
mod star;

use units::{ChannelId, CpuId, NodeId, Port, RouterId};

use crate::description::{Description, TopologyKind, TopologySpec};
use crate::routing::{Hop, Routes, RoutingTable, VirtualNetwork};

pub(crate) use build::{Builder, Exit};
pub use element::{Channel, Endpoint, Link, LinkClass, Node, Router, RouterPlace};
pub use flash::MOST_CLUSTERS;
pub use grid::mesh_sides;
pub use name::NameError;
pub(crate) use origin::ROUTER_PORTS;
pub use origin::{MOST_LEAF_ROUTERS, has_metarouters};

/// Routers with nodes.
pub fn routers_with_nodes(spec: &TopologySpec) -> u32 {
    spec.nodes().div_ceil(spec.nodes_per_router)
}

/// Classes of virtual channels that the routes of one virtual network need to be free of deadlock.
pub fn channel_classes(spec: &TopologySpec) -> u32 {
    match spec.kind {
        TopologyKind::Ring => ring::channel_classes(spec),
        _ => 1,
    }
}

/// The nodes, routers and links of one machine, and its routes.
#[derive(Clone, Debug)]
pub struct Topology {
    name: String,
    processors: Processors,
    channel_classes: u32,
    nodes: Vec<Node>,
    routers: Vec<Router>,
    links: Vec<Link>,
    request: Routing,
    /// `None` if replies take the routes of requests.
    reply: Option<Routing>,
}

/// The processors of a machine by node.
#[derive(Clone, Debug)]
struct Processors {
    /// By processor, its node.
    nodes: Vec<NodeId>,
    /// By node, its first processor; at the end, the number of processors.
    first: Vec<u16>,
}

impl Processors {
    fn new(spec: &TopologySpec) -> Self {
        let node_of = |cpu: u32| NodeId((cpu / spec.processors_per_node) as u16);
        let first = |node: u32| (node * spec.processors_per_node).min(spec.processors) as u16;
        Self { nodes: (0..spec.processors).map(node_of).collect(), first: (0..=spec.nodes()).map(first).collect() }
    }
}

/// The routes of one virtual network, in the hardware's form and in the simulator's.
#[derive(Clone, Debug)]
struct Routing {
    table: RoutingTable,
    routes: Routes,
}

impl Topology {
    /// Builds the machine of `description`.
    ///
    /// # Panics
    /// The description was changed in memory into one that [`crate::load`] would reject.
    pub fn new(description: &Description) -> Self {
        match description.topology.kind {
            TopologyKind::Origin => origin::build(description),
            TopologyKind::Flash => flash::build(description),
            TopologyKind::Ring => ring::build(description),
            TopologyKind::Mesh => grid::build(description),
            TopologyKind::Crossbar | TopologyKind::Ideal => star::build(description),
        }
    }

    /// The machine's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The nodes by [`NodeId`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The routers by [`RouterId`]: those with nodes first, then metarouters or mesh routers.
    pub fn routers(&self) -> &[Router] {
        &self.routers
    }

    /// The links by [`units::LinkId`].
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Number of processors.
    pub fn processors(&self) -> u32 {
        self.processors.nodes.len() as u32
    }

    /// Number of nodes with processors: the first ones.
    pub fn nodes_with_processors(&self) -> usize {
        self.processors.nodes.last().map_or(0, |node| node.index() + 1)
    }

    /// The node of `cpu`, if there is such a processor.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        self.processors.nodes.get(cpu.index()).copied()
    }

    /// The processors of `node`, in order of their slots `a` and `b`; none of a node with memory alone.
    pub fn cpus_of(&self, node: NodeId) -> impl ExactSizeIterator<Item = CpuId> + use<> {
        let first = |node: usize| self.processors.first[node];
        (first(node.index())..first(node.index() + 1)).map(CpuId)
    }

    /// The name of a processor in the hardware graph: `/hw/module/1/slot/n1/node/cpu/a`.
    pub fn cpu_path(&self, cpu: CpuId) -> Option<String> {
        let node = &self.nodes[self.node_of(cpu)?.index()];
        let slot = u32::from(cpu.0 - self.processors.first[node.id.index()]);
        let letter = |number: u32| char::from_digit(10 + number, 36).unwrap_or_default();
        // After z, a second letter: aa, ab.
        let before = (slot / 26).checked_sub(1).map(letter);
        let letters: String = before.into_iter().chain([letter(slot % 26)]).collect();
        Some(format!("{}/cpu/{letters}", node.path()))
    }

    /// The name of either end of a link in the hardware graph.
    pub fn path_of(&self, end: Endpoint) -> String {
        match end {
            Endpoint::Node(node) => self.nodes[node.index()].path(),
            Endpoint::Router(router, _) => self.routers[router.index()].path(),
        }
    }

    /// The channel that leaves `router` at `port`, and its far end.
    pub fn outgoing(&self, router: RouterId, port: Port) -> Option<(ChannelId, Endpoint)> {
        let link = self.routers.get(router.index())?.link(port)?;
        let [first, second] = self.links[link.index()].ends;
        let forward = first == Endpoint::Router(router, port);
        Some((ChannelId(link.0 * 2 + u16::from(!forward)), if forward { second } else { first }))
    }

    /// Both directions of every link, by [`ChannelId`].
    pub fn channels(&self) -> impl Iterator<Item = Channel> + '_ {
        self.links.iter().flat_map(|link| {
            let [first, second] = link.ends;
            let channel = |from, to| Channel { from, to, class: link.class, delay: link.delay };
            [channel(first, second), channel(second, first)]
        })
    }

    /// The channel by which packets of `node` enter the network.
    pub fn injection(&self, node: NodeId) -> ChannelId {
        // A node is the first end of its link, so its channel is the first of the two.
        ChannelId(self.nodes[node.index()].link.0 * 2)
    }

    /// The channel by which packets for `node` leave the network.
    pub fn ejection(&self, node: NodeId) -> ChannelId {
        ChannelId(self.nodes[node.index()].link.0 * 2 + 1)
    }

    /// Classes of virtual channels that the routes of one virtual network use; more than one where a cycle of links is
    /// broken by a dateline.
    #[inline]
    pub fn channel_classes(&self) -> u32 {
        self.channel_classes
    }

    /// Number of routers between `from` and `to` for a request; zero from a node to itself.
    pub fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        self.request.routes.hops(from, to)
    }

    /// The routers that a packet of `network` passes between `from` and `to`, in order. Empty if both are the same node.
    pub fn path(&self, network: VirtualNetwork, from: NodeId, to: NodeId) -> Vec<Hop> {
        // The construction of the routes has followed the machine's own table for every pair.
        self.routing(network).table.path(self, from, to).unwrap_or_default()
    }

    /// The vector (source) route of `network` from `from` to `to`: the exit port at each router.
    pub fn vector_route(&self, network: VirtualNetwork, from: NodeId, to: NodeId) -> Vec<Port> {
        self.path(network, from, to).iter().map(|hop| hop.out_port).collect()
    }

    /// The machine's routing table of `network`.
    pub fn routing_table(&self, network: VirtualNetwork) -> &RoutingTable {
        &self.routing(network).table
    }

    /// The machine's routes of `network` in the compact form that a simulator follows.
    #[inline]
    pub fn routes(&self, network: VirtualNetwork) -> &Routes {
        &self.routing(network).routes
    }

    /// Whether replies have routes of their own, rather than those of requests.
    pub fn separates_replies(&self) -> bool {
        self.reply.is_some()
    }

    #[inline]
    fn routing(&self, network: VirtualNetwork) -> &Routing {
        match network {
            VirtualNetwork::Request => &self.request,
            VirtualNetwork::Reply => self.reply.as_ref().unwrap_or(&self.request),
        }
    }
}

#[cfg(test)]
mod flash_tests;
#[cfg(test)]
mod simple_tests;
#[cfg(test)]
mod tests;
