//! The graph of a machine: nodes, routers, and the links between them, with their names in the hardware graph.

mod element;
mod name;
mod network;

use units::{ChannelId, CpuId, NodeId, Port, RouterId};

pub use element::{Channel, Endpoint, Link, LinkClass, Node, Router, RouterPlace};
pub use name::NameError;
pub use network::VirtualNetwork;

/// The nodes, routers and links of one machine.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) processors_per_node: u32,
    pub(crate) channel_classes: u32,
    pub(crate) nodes: Vec<Node>,
    pub(crate) routers: Vec<Router>,
    pub(crate) links: Vec<Link>,
}

impl Graph {
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
        self.nodes.len() as u32 * self.processors_per_node
    }

    /// The node of `cpu`, if there is such a processor.
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
}
