//! Routes in the form a simulator follows: flat arrays, one look-up a hop.

use units::{ChannelId, NodeId, RouterId};

use super::{RoutingError, RoutingTable};
use crate::topology::{Channel, Topology};

/// A routing table joined with the links it leads over. For 512 processors less than 200 KiB.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    nodes: usize,
    /// The channel from each node to its router.
    injection: Vec<ChannelId>,
    /// By router and then destination, the channel to leave by.
    exits: Vec<ChannelId>,
    /// By source and then destination, the routers between.
    hops: Vec<u8>,
    channels: Vec<Channel>,
}

impl Routes {
    /// Follows `table` from every node to every other and keeps what was found.
    ///
    /// # Errors
    /// If the table does not lead from some node to another.
    pub fn compile(topology: &Topology, table: &RoutingTable) -> Result<Self, RoutingError> {
        let nodes = topology.nodes().len();
        // Entries that no path needs stay at an arbitrary channel; nothing ever reads them.
        let mut exits = vec![ChannelId(0); topology.routers().len() * nodes];
        let mut hops = Vec::with_capacity(nodes * nodes);
        for from in topology.nodes() {
            for to in topology.nodes() {
                let path = table.path(topology, from.id, to.id)?;
                hops.push(path.len() as u8);
                for hop in path {
                    exits[hop.router.index() * nodes + to.id.index()] = hop.channel;
                }
            }
        }
        let injection = topology.nodes().iter().map(|node| topology.injection(node.id)).collect();
        Ok(Self { nodes, injection, exits, hops, channels: topology.channels().collect() })
    }

    /// The channel by which packets of `node` enter the network.
    #[inline]
    pub fn injection(&self, node: NodeId) -> ChannelId {
        self.injection[node.index()]
    }

    /// The channel by which `router` sends packets for `to`.
    #[inline]
    pub fn exit(&self, router: RouterId, to: NodeId) -> ChannelId {
        self.exits[router.index() * self.nodes + to.index()]
    }

    /// Where a channel leads and how long a signal travels in it.
    #[inline]
    pub fn channel(&self, channel: ChannelId) -> &Channel {
        &self.channels[channel.index()]
    }

    /// All channels by [`ChannelId`].
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// How many routers a packet from `from` to `to` goes through; none to the node itself.
    #[inline]
    pub fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        u32::from(self.hops[from.index() * self.nodes + to.index()])
    }
}
