//! The topology of a machine: its graph, built as its description says, and the routes through it.

mod build;
mod flash;
mod grid;
mod origin;
mod ring;
mod sci_ring;
mod sockets;
mod star;

use std::ops::Deref;

use units::{NodeId, Port};

use crate::description::{Description, TopologyKind};
use crate::graph::{Graph, VirtualNetwork};
use crate::routing::{Hop, Routes, RoutingTable};

use build::{Builder, Exit};

pub use crate::graph::{Endpoint, LinkClass};

/// The graph of one machine with its routes.
#[derive(Clone, Debug)]
pub struct Topology {
    graph: Graph,
    request: Routing,
    /// `None` if replies take the routes of requests.
    reply: Option<Routing>,
}

impl Deref for Topology {
    type Target = Graph;

    #[inline]
    fn deref(&self) -> &Graph {
        &self.graph
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
            TopologyKind::SciRing => sci_ring::build(description),
            TopologyKind::Crossbar | TopologyKind::Ideal => star::build(description),
            TopologyKind::Sockets => sockets::build(description),
        }
    }

    /// Number of routers between `from` and `to` for a request; zero from a node to itself.
    pub fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        self.request.routes.hops(from, to)
    }

    /// The routers that a packet of `network` passes between `from` and `to`, in order. Empty if both are the same node.
    pub fn path(&self, network: VirtualNetwork, from: NodeId, to: NodeId) -> Vec<Hop> {
        // The construction of the routes has followed the machine's own table for every pair.
        self.routing(network).table.path(&self.graph, from, to).unwrap_or_default()
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
