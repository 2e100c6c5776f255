//! A ring of SCI links, in one direction (Hexsel and Topham, appendix).
//!
//! **Parts.** Each node is a module with its link interface, which is drawn and named as a router: port 1 is the node,
//! port 2 the outgoing link, port 3 the incoming one. A ring of one node has no link of its own in this graph.
//!
//! **Routes.** Every packet goes onwards. Buffers of the channels form a cycle; packets never wait for them, because each
//! interface stores what passes by while it transmits (register insertion).

use units::{Duration, Length, NodeId, Port, RouterId};

use super::{Builder, Topology};
use crate::description::Description;
use crate::graph::{Endpoint, LinkClass, RouterPlace};

/// The ports of a link interface: to its node, out to the next interface, in from the previous one.
const NODE_PORT: Port = Port(1);
const OUT_PORT: Port = Port(2);
const IN_PORT: Port = Port(3);
const PORTS: usize = 3;

/// Builds the network of `description`.
///
/// # Panics
/// The description has no SCI ring, which [`crate::load`] rejects.
pub(super) fn build(description: &Description) -> Topology {
    let spec = &description.topology;
    let Some(ring) = &description.sci_ring else { panic!("{} has no [sci_ring]", description.name) };
    let nodes = spec.nodes() as u16;
    let mut builder = Builder::new(spec.propagation_per_m);
    for position in 0..nodes {
        builder.router_with(PORTS, RouterPlace::LinkInterface { position }, position + 1, 1);
    }
    for node in 0..nodes {
        builder.node_at(node + 1, 1, RouterId(node), NODE_PORT, LinkClass::Attachment, Duration::ZERO);
    }
    for position in (0..nodes).filter(|_| nodes > 1) {
        let ends = [(position, OUT_PORT), ((position + 1) % nodes, IN_PORT)];
        let [from, to] = ends.map(|(router, port)| Endpoint::Router(RouterId(router), port));
        let link = builder.link(from, to, LinkClass::Sci, Length::default());
        builder.set_delay(link, ring.wire);
    }
    let exit = |router: RouterId, node: NodeId| Some(if router.0 == node.0 { NODE_PORT } else { OUT_PORT });
    builder.finish(&description.name, spec, &exit, None)
}
