//! Routes in the form that a simulator follows: flat arrays, with one lookup for each hop.

use units::{ChannelId, NodeId, RouterId};

use super::{RoutingError, RoutingTable};
use crate::graph::{Channel, Graph};

/// A routing table joined with the links that it uses; less than 300 KiB for an Origin of 512 processors.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    nodes: usize,
    /// The channel from each node to its router.
    injection: Vec<ChannelId>,
    /// By router and destination, the exit channel.
    exits: Vec<ChannelId>,
    /// By router and destination, the class of virtual channels; empty if there is one class.
    classes: Vec<u8>,
    /// By source and destination, the number of routers between.
    hops: Vec<u16>,
    channels: Vec<Channel>,
}

impl Routes {
    /// Follows `table` from every node to every other and stores the paths.
    ///
    /// # Errors
    /// The table does not lead from some node to another.
    pub fn compile(graph: &Graph, table: &RoutingTable) -> Result<Self, RoutingError> {
        let nodes = graph.nodes().len();
        // Entries that no path needs keep an arbitrary channel and are never read.
        let mut exits = vec![ChannelId(0); graph.routers().len() * nodes];
        let mut hops = vec![0; nodes * nodes];
        for to in graph.nodes() {
            let mut known = vec![None; graph.routers().len()];
            for from in graph.nodes().iter().filter(|from| from.id != to.id) {
                let (steps, rest) = table.untrodden(graph, from.id, to.id, &known)?;
                for (before, step) in (1..).zip(steps.iter().rev()) {
                    exits[step.router.index() * nodes + to.id.index()] = step.channel;
                    known[step.router.index()] = Some(rest + before);
                }
                hops[from.id.index() * nodes + to.id.index()] = rest + steps.len() as u16;
            }
        }
        let classes = if graph.channel_classes() > 1 { table.all_classes().to_vec() } else { Vec::new() };
        let injection = graph.nodes().iter().map(|node| graph.injection(node.id)).collect();
        Ok(Self { nodes, injection, exits, classes, hops, channels: graph.channels().collect() })
    }

    /// The channel by which packets of `node` enter the network.
    #[inline]
    pub fn injection(&self, node: NodeId) -> ChannelId {
        self.injection[node.index()]
    }

    /// The exit channel of `router` for packets to `to`.
    #[inline]
    pub fn exit(&self, router: RouterId, to: NodeId) -> ChannelId {
        self.exits[router.index() * self.nodes + to.index()]
    }

    /// The class of virtual channels on which `router` sends packets to `to`.
    #[inline]
    pub fn class(&self, router: RouterId, to: NodeId) -> u8 {
        // Most machines have one class, and the table is empty.
        if self.classes.is_empty() { 0 } else { self.classes[router.index() * self.nodes + to.index()] }
    }

    /// The ends of a channel and its propagation time.
    #[inline]
    pub fn channel(&self, channel: ChannelId) -> &Channel {
        &self.channels[channel.index()]
    }

    /// All channels by [`ChannelId`].
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Number of routers between `from` and `to`; zero from a node to itself.
    #[inline]
    pub fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        u32::from(self.hops[from.index() * self.nodes + to.index()])
    }
}
