//! Routing as in the hardware: a table for each router, from destination node to exit port, and the paths that follow
//! from it.

pub mod deadlock;
mod routes;
mod text;
pub mod vector;

use thiserror::Error;
use units::{ChannelId, NodeId, Port, RouterId};

use crate::graph::{Endpoint, Graph};

pub use routes::Routes;
pub use text::TableSyntaxError;

/// One router on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The router.
    pub router: RouterId,
    /// The port at which a packet enters it.
    pub in_port: Port,
    /// The port at which it leaves.
    pub out_port: Port,
    /// The channel at that port: one direction of a link.
    pub channel: ChannelId,
}

/// The reason why a table does not lead from one node to another.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RoutingError {
    /// The table has no entry.
    #[error("{router} has no exit port for node {to} (on the way from node {from})")]
    Unrouted {
        /// The router's name in the hardware graph.
        router: String,
        /// The first node of the path.
        from: NodeId,
        /// Its destination.
        to: NodeId,
    },
    /// The table names a port with no link.
    #[error("{router} sends packets for node {to} by port {port}, which is not connected")]
    Unconnected {
        /// The router's name in the hardware graph.
        router: String,
        /// The destination.
        to: NodeId,
        /// The port.
        port: Port,
    },
    /// A packet arrives at the wrong node.
    #[error("a packet from node {from} for node {to} is delivered to node {delivered}")]
    Misdelivered {
        /// The first node of the path.
        from: NodeId,
        /// Its destination.
        to: NodeId,
        /// The node at which it arrives.
        delivered: NodeId,
    },
    /// A packet passes a router twice, and thus forever.
    #[error("a packet from node {from} to node {to} loops through {router}")]
    Endless {
        /// The first node of the path.
        from: NodeId,
        /// Its destination.
        to: NodeId,
        /// A router that it passes repeatedly.
        router: String,
    },
}

/// The exit port for every router and destination node.
///
/// The hardware looks an entry up one hop ahead (the packet's header carries the exit port that the previous router has
/// read, Prestor 3.2.3); the deciding entry is the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutingTable {
    nodes: usize,
    /// By router and node; 0 stands for no entry.
    exits: Vec<u16>,
    /// By router and node, the class of virtual channels; empty if all are of class 0.
    classes: Vec<u8>,
}

impl RoutingTable {
    /// The table with entries given by `exit`.
    pub fn from_fn(routers: usize, nodes: usize, exit: impl Fn(RouterId, NodeId) -> Option<Port>) -> Self {
        let pairs = (0..routers as u16).flat_map(|router| (0..nodes as u16).map(move |node| (router, node)));
        let exits = pairs.map(|(router, node)| exit(RouterId(router), NodeId(node)).map_or(0, |port| port.0));
        Self { nodes, exits: exits.collect(), classes: Vec::new() }
    }

    /// The table with the class of virtual channels that each router sends packets to each node on. A class is a set of
    /// virtual channels that no other class waits for, as before and after the dateline of a ring.
    pub fn with_classes(mut self, class: impl Fn(RouterId, NodeId) -> u8) -> Self {
        let nodes = self.nodes;
        let place = |entry: usize| (RouterId((entry / nodes) as u16), NodeId((entry % nodes) as u16));
        let classes = (0..self.exits.len()).map(place).map(|(router, node)| class(router, node));
        self.classes = classes.collect();
        self
    }

    /// The class of virtual channels on which `router` sends packets to `to`.
    #[inline]
    pub fn class(&self, router: RouterId, to: NodeId) -> u8 {
        self.classes.get(router.index() * self.nodes + to.index()).copied().unwrap_or(0)
    }

    /// The classes by router and node; empty if all are 0.
    fn all_classes(&self) -> &[u8] {
        &self.classes
    }

    /// The exit port of `router` for packets to `to`, if the table has an entry.
    pub fn exit(&self, router: RouterId, to: NodeId) -> Option<Port> {
        let entry = *self.exits.get(router.index() * self.nodes + to.index())?;
        (entry != 0 && to.index() < self.nodes).then_some(Port(entry))
    }

    /// The routers between two nodes of `graph`, in order. Empty if both are the same node.
    ///
    /// # Errors
    /// The table does not lead from one to the other.
    pub fn path(&self, graph: &Graph, from: NodeId, to: NodeId) -> Result<Vec<Hop>, RoutingError> {
        if from == to {
            return Ok(Vec::new());
        }
        self.untrodden(graph, from, to, &[]).map(|(hops, _)| hops)
    }

    /// The routers from `from` towards `to`, up to the first whose distance from `to` in routers is `known`, and that
    /// distance: 0 if the path leads to the end.
    fn untrodden(
        &self,
        graph: &Graph,
        from: NodeId,
        to: NodeId,
        known: &[Option<u16>],
    ) -> Result<(Vec<Hop>, u16), RoutingError> {
        let mut hops: Vec<Hop> = Vec::new();
        let source = graph.nodes()[from.index()];
        let (mut router, mut in_port) = (source.router, source.port);
        loop {
            if let Some(&Some(rest)) = known.get(router.index()) {
                return Ok((hops, rest));
            }
            if hops.len() >= graph.routers().len() {
                return Err(RoutingError::Endless { from, to, router: graph.routers()[router.index()].path() });
            }
            let (out_port, channel, end) = self.step(graph, router, from, to)?;
            hops.push(Hop { router, in_port, out_port, channel });
            match end {
                Endpoint::Node(_) => return Ok((hops, 0)),
                Endpoint::Router(next, port) => (router, in_port) = (next, port),
            }
        }
    }

    /// The step of a packet from `from` to `to` at `router`: the port, the channel, and the end that this leads to, a
    /// router or the destination.
    fn step(
        &self,
        graph: &Graph,
        router: RouterId,
        from: NodeId,
        to: NodeId,
    ) -> Result<(Port, ChannelId, Endpoint), RoutingError> {
        let name = || graph.routers()[router.index()].path();
        let port = self.exit(router, to).ok_or_else(|| RoutingError::Unrouted { router: name(), from, to })?;
        let unconnected = || RoutingError::Unconnected { router: name(), to, port };
        let (channel, end) = graph.outgoing(router, port).ok_or_else(unconnected)?;
        match end {
            Endpoint::Node(delivered) if delivered != to => Err(RoutingError::Misdelivered { from, to, delivered }),
            _ => Ok((port, channel, end)),
        }
    }
}

#[cfg(test)]
mod tests;
