//! The graph of a machine: nodes, routers, and the links between them, with their names in the hardware graph.

mod element;
mod name;
mod network;

use units::{ChannelId, CpuId, NodeId, Port, RouterId};

use crate::server::Package;

pub use element::{Channel, Endpoint, Link, LinkClass, Node, Router, RouterPlace};
pub use name::NameError;
pub use network::VirtualNetwork;

/// The nodes, routers and links of one machine.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) processors: Processors,
    pub(crate) channel_classes: u32,
    pub(crate) nodes: Vec<Node>,
    pub(crate) routers: Vec<Router>,
    pub(crate) links: Vec<Link>,
    pub(crate) package: Option<Package>,
}

/// The processors of a machine by node.
#[derive(Clone, Debug)]
pub(crate) struct Processors {
    /// Hardware threads of each.
    threads: u32,
    /// By processor, its node.
    nodes: Vec<NodeId>,
    /// By node, its first processor; at the end, the number of processors.
    first: Vec<u16>,
}

impl Processors {
    /// So many processors of `threads` hardware threads on the first of `nodes` nodes, `per_node` on each of those.
    pub(crate) fn new(processors: u32, threads: u32, per_node: u32, nodes: u32) -> Self {
        let node_of = |cpu: u32| NodeId((cpu / per_node) as u16);
        let first = |node: u32| (node * per_node).min(processors) as u16;
        Self { threads, nodes: (0..processors).map(node_of).collect(), first: (0..=nodes).map(first).collect() }
    }
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

    /// The sockets of a server, all alike; `None` of other machines.
    pub fn package(&self) -> Option<&Package> {
        self.package.as_ref()
    }

    /// Number of processors, which are the cores of a server.
    pub fn processors(&self) -> u32 {
        self.processors.nodes.len() as u32
    }

    /// Number of hardware threads: the first of each processor, behind them the second of each, and so on.
    pub fn hardware_threads(&self) -> u32 {
        self.processors() * self.processors.threads
    }

    /// The processor of a hardware thread, which is named by its first one.
    pub fn core_of(&self, thread: CpuId) -> CpuId {
        CpuId(thread.0 % self.processors.nodes.len() as u16)
    }

    /// The hardware threads of a processor, its first one first.
    pub fn threads_of(&self, core: CpuId) -> impl Iterator<Item = CpuId> + use<> {
        let cores = self.processors.nodes.len() as u16;
        (0..self.processors.threads as u16).map(move |thread| CpuId(thread * cores + core.0))
    }

    /// Number of nodes with processors: the first ones.
    pub fn nodes_with_processors(&self) -> usize {
        self.processors.nodes.last().map_or(0, |node| node.index() + 1)
    }

    /// The hardware threads of the processors of a node, ascending.
    pub fn threads_on(&self, node: NodeId) -> Vec<CpuId> {
        let mut threads: Vec<CpuId> = self.cpus_of(node).flat_map(|core| self.threads_of(core)).collect();
        threads.sort_unstable();
        threads
    }

    /// The node of a processor or hardware thread, if there is one.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        let exists = u32::from(cpu.0) < self.hardware_threads();
        exists.then(|| self.processors.nodes[self.core_of(cpu).index()])
    }

    /// The processors of `node`, each by its first hardware thread, in order of their slots `a` and `b`; none of a node with memory alone.
    pub fn cpus_of(&self, node: NodeId) -> impl ExactSizeIterator<Item = CpuId> + use<> {
        let first = |node: usize| self.processors.first[node];
        (first(node.index())..first(node.index() + 1)).map(CpuId)
    }

    /// The name of a processor in the hardware graph: `/hw/module/1/slot/n1/node/cpu/a`.
    pub fn cpu_path(&self, cpu: CpuId) -> Option<String> {
        let node = &self.nodes[self.node_of(cpu)?.index()];
        let slot = u32::from(self.core_of(cpu).0 - self.processors.first[node.id.index()]);
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

    /// The node whose packets enter or leave the network by `channel`, which is a channel of its own link.
    ///
    /// # Panics
    /// The channel is not one of a node's link.
    pub fn entrance(&self, channel: ChannelId) -> NodeId {
        match self.links[usize::from(channel.0 / 2)].ends[0] {
            Endpoint::Node(node) => node,
            Endpoint::Router(..) => panic!("channel {channel} leads from one router to another"),
        }
    }

    /// Classes of virtual channels that the routes of one virtual network use; more than one where a cycle of links is
    /// broken by a dateline.
    #[inline]
    pub fn channel_classes(&self) -> u32 {
        self.channel_classes
    }
}
