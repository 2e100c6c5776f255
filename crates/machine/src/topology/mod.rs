//! The graph of a machine: nodes, routers, and the links between them, with their names in the hardware graph.

mod build;
mod element;
mod origin;

use units::{ChannelId, CpuId, NodeId, Port, RouterId};

use crate::description::{Description, TopologyKind};
use crate::routing::{Hop, Routes, RoutingTable};

pub(crate) use build::Builder;
pub use element::{Channel, Endpoint, Link, LinkClass, Node, Router, RouterPlace};
pub use origin::{MOST_LEAF_ROUTERS, ROUTER_PORTS};

/// The nodes, routers and links of one machine, and its routes.
#[derive(Clone, Debug)]
pub struct Topology {
    name: String,
    processors_per_node: u32,
    nodes: Vec<Node>,
    routers: Vec<Router>,
    links: Vec<Link>,
    table: RoutingTable,
    routes: Routes,
}

impl Topology {
    /// Builds the machine that `description` describes.
    ///
    /// # Panics
    /// If the description was changed by hand into one that [`crate::load`] would have refused.
    pub fn new(description: &Description) -> Self {
        match description.topology.kind {
            TopologyKind::Origin => origin::build(description),
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

    /// The routers by [`RouterId`]: those with nodes first, then metarouters.
    pub fn routers(&self) -> &[Router] {
        &self.routers
    }

    /// The links by [`units::LinkId`].
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// How many processors there are.
    pub fn processors(&self) -> u32 {
        self.nodes.len() as u32 * self.processors_per_node
    }

    /// The node on whose board `cpu` sits, if there is such a processor.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        (u32::from(cpu.0) < self.processors()).then(|| NodeId(cpu.0 / self.processors_per_node as u16))
    }

    /// The processors of `node`, in order of their slots `a` and `b`.
    pub fn cpus_of(&self, node: NodeId) -> impl ExactSizeIterator<Item = CpuId> + use<> {
        let per_node = self.processors_per_node as u16;
        (node.0 * per_node..(node.0 + 1) * per_node).map(CpuId)
    }

    /// The name of a processor in the hardware graph: `/hw/module/1/slot/n1/node/cpu/a`.
    pub fn cpu_path(&self, cpu: CpuId) -> Option<String> {
        let node = &self.nodes[self.node_of(cpu)?.index()];
        let letter = char::from(b'a' + (cpu.0 % self.processors_per_node as u16) as u8);
        Some(format!("{}/cpu/{letter}", node.path()))
    }

    /// The name of either end of a link in the hardware graph.
    pub fn path_of(&self, end: Endpoint) -> String {
        match end {
            Endpoint::Node(node) => self.nodes[node.index()].path(),
            Endpoint::Router(router, _) => self.routers[router.index()].path(),
        }
    }

    /// The channel that leaves `router` by `port`, and where it leads.
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

    /// How many routers a packet from `from` to `to` goes through; none to the node itself.
    pub fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        self.routes.hops(from, to)
    }

    /// The routers between `from` and `to`, in order. Empty if both are the same node.
    pub fn path(&self, from: NodeId, to: NodeId) -> Vec<Hop> {
        // The machine's own table has been followed for every pair when its routes were made.
        self.table.path(self, from, to).unwrap_or_default()
    }

    /// The vector (source) route from `from` to `to`: the exit port at each router.
    pub fn vector_route(&self, from: NodeId, to: NodeId) -> Vec<Port> {
        self.path(from, to).iter().map(|hop| hop.out_port).collect()
    }

    /// The routing table the machine is set up with.
    pub fn routing_table(&self) -> &RoutingTable {
        &self.table
    }

    /// The machine's routes in the compact form that a simulator follows.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }
}

#[cfg(test)]
mod tests;
