//! A ring of routers with links in both directions.
//!
//! **Parts.** Each router has up to four nodes, at ports 1 to 4; port 5 goes to the next router, port 6 to the previous one.
//! Nodes fill routers in order. In the hardware graph a router and its nodes are a module. Two routers have one link.
//!
//! **Routes.** A packet takes the shorter way round, onwards if both are equally long.
//!
//! **Deadlock.** The channels of either direction form a cycle. As in Dally and Seitz 1987, each is split into two virtual
//! channels: a packet takes the first while the link between the last router and router 0, the dateline, is still before it, and the
//! second after that or if it never crosses. Neither set alone closes the cycle, and no packet returns from the second to
//! the first. A ring of up to three routers needs no second one, because no packet takes two links of it.

use units::{NodeId, Port, RouterId};

use super::{Builder, Topology};
use crate::description::{Description, LONG_RING};
use crate::graph::{Endpoint, LinkClass, RouterPlace};

/// The port to the next router of the ring.
const NEXT_PORT: Port = Port(5);
/// The port to the previous router of the ring.
const BEFORE_PORT: Port = Port(6);

/// The shape that determines wiring and routes.
#[derive(Clone, Copy, Debug)]
struct Shape {
    nodes_per_router: u16,
    routers: u16,
}

impl Shape {
    fn router_of(self, node: NodeId) -> u16 {
        node.0 / self.nodes_per_router
    }

    fn node_port(self, node: u16) -> Port {
        Port((node % self.nodes_per_router) + 1)
    }

    /// Whether packets go onwards from a router to another one.
    fn goes_onwards(self, from: u16, to: u16) -> bool {
        let distance = (to + self.routers - from) % self.routers;
        // The only link of two routers is the onward one of the first.
        if self.routers == 2 { from == 0 } else { 2 * distance <= self.routers }
    }

    /// The exit port of `router` for packets to `node`.
    fn exit(self, router: RouterId, node: NodeId) -> Port {
        let to = self.router_of(node);
        match router.0 {
            from if from == to => self.node_port(node.0),
            from if self.goes_onwards(from, to) => NEXT_PORT,
            _ => BEFORE_PORT,
        }
    }

    /// The class of the virtual channel on which `router` sends packets for `node`: 0 before the dateline, otherwise 1.
    fn class(self, router: RouterId, node: NodeId) -> u8 {
        let (from, to) = (router.0, self.router_of(node));
        let crosses = if self.goes_onwards(from, to) { to < from } else { to > from };
        u8::from(u32::from(self.routers) >= LONG_RING && from != to && !crosses)
    }
}

/// Builds the network of `description`.
///
/// # Panics
/// The description has no ring, which [`crate::load`] rejects.
pub(super) fn build(description: &Description) -> Topology {
    let spec = &description.topology;
    let Some(ring) = &description.ring else { panic!("{} has no [ring]", description.name) };
    let shape = Shape { nodes_per_router: spec.nodes_per_router as u16, routers: spec.routers_with_nodes() as u16 };
    let mut builder = Builder::new(spec.propagation_per_m);
    for position in 0..shape.routers {
        builder.router(RouterPlace::Ring { position }, position + 1, 1);
    }
    for node in 0..spec.nodes() as u16 {
        let (router, slot) = (shape.router_of(NodeId(node)), node % shape.nodes_per_router + 1);
        builder.node(router + 1, slot as u8, RouterId(router), shape.node_port(node), ring.node_link);
    }
    let links = if shape.routers > 2 { shape.routers } else { shape.routers - 1 };
    for position in 0..links {
        let next = (position + 1) % shape.routers;
        let ends = [(position, NEXT_PORT), (next, BEFORE_PORT)];
        let [first, second] = ends.map(|(router, port)| Endpoint::Router(RouterId(router), port));
        builder.link(first, second, LinkClass::Ring, ring.cable);
    }
    builder.set_classes(spec.channel_classes(), move |router, node| shape.class(router, node));
    let exit = |router, node| Some(shape.exit(router, node));
    builder.finish(description, &exit, None)
}
