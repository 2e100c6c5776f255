//! Servers: NUMA nodes in sockets, and links between sockets.
//!
//! Each socket is a module, and its on-die network is drawn and named as a router: port 1 is its first node, then come its
//! other nodes, its memory nodes, and the other sockets by number. Nodes are numbered socket by socket, memory nodes after
//! all others and in turn among the sockets. The links between two sockets are one link of this graph. The stops within a socket are
//! those of [`Package`](crate::server::Package).

use units::{Duration, NodeId, Port, RouterId};

use super::{Builder, Topology};
use crate::description::Description;
use crate::graph::{Endpoint, LinkClass, RouterPlace};
use crate::server::{Package, Sockets};

/// The numbers that the ports of a socket follow from.
#[derive(Clone, Copy)]
struct Ports {
    sockets: u16,
    /// NUMA nodes with processors of each socket.
    nodes: u16,
    /// Memory nodes of all.
    memory_nodes: u16,
}

impl Ports {
    /// Places for memory nodes at a socket.
    const fn memory_places(self) -> u16 {
        self.memory_nodes.div_ceil(self.sockets)
    }

    /// The socket of a node, and its port there.
    const fn of_node(self, node: NodeId) -> (u16, Port) {
        match node.0.checked_sub(self.nodes * self.sockets) {
            None => (node.0 / self.nodes, Port(node.0 % self.nodes + 1)),
            Some(number) => (number % self.sockets, Port(self.nodes + number / self.sockets + 1)),
        }
    }

    /// The port to another socket.
    const fn to(self, socket: u16) -> Port {
        Port(self.nodes + self.memory_places() + socket + 1)
    }

    const fn count(self) -> usize {
        (self.nodes + self.memory_places() + self.sockets) as usize
    }
}

/// Builds the sockets of `description`.
///
/// # Panics
/// The description has no server, which [`crate::load`] rejects.
pub(super) fn build(description: &Description) -> Topology {
    let (Some(server), Some(link)) = (&description.server, &description.socket_link) else {
        panic!("{} has no [server]", description.name)
    };
    let Some(sockets) = Sockets::new(server.sockets, link.links) else {
        panic!("the links of {} do not join its sockets", description.name)
    };
    let spec = &description.topology;
    let ports =
        Ports { sockets: sockets.count, nodes: server.nodes_per_socket as u16, memory_nodes: spec.memory_nodes as u16 };
    let far = description.memory_link.as_ref().map_or(Duration::ZERO, |link| link.latency);
    let mut builder = Builder::new(spec.propagation_per_m);
    for socket in 0..sockets.count {
        builder.router_with(ports.count(), RouterPlace::Socket { socket }, socket + 1, 1);
    }
    for node in (0..spec.nodes() as u16).map(NodeId) {
        let (socket, port) = ports.of_node(node);
        let on_die = node.0 < ports.nodes * ports.sockets;
        let (class, delay) = if on_die { (LinkClass::OnDie, Duration::ZERO) } else { (LinkClass::MemoryNode, far) };
        builder.node_at(socket + 1, port.0 as u8, RouterId(socket), port, class, delay);
    }
    for socket in 0..sockets.count {
        for other in sockets.neighbours(socket).filter(|&other| other > socket) {
            let ends =
                [(socket, other), (other, socket)].map(|(from, to)| Endpoint::Router(RouterId(from), ports.to(to)));
            let joined = builder.link(ends[0], ends[1], LinkClass::BetweenSockets, Default::default());
            builder.set_delay(joined, link.latency);
        }
    }
    let exit = |router: RouterId, node: NodeId| {
        let (socket, port) = ports.of_node(node);
        Some(if router.0 == socket { port } else { ports.to(sockets.next(router.0, socket)) })
    };
    let mut topology = builder.finish(description, &exit, None);
    topology.graph.package = Package::new(server).ok();
    topology
}
