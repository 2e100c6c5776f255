//! Rings of SCI links, in one direction (Hexsel and Topham, appendix): one, or several that switches join.
//!
//! **Parts.** Each node is a module with its link interface, which is drawn and named as a router: port 1 is the node,
//! port 2 the outgoing link, port 3 the incoming one. A ring of one node has no link of its own in this graph. Several rings
//! have a switch each, behind their last node: ports 1 and 2 are the links out and in of their ring, 3 and 4 those of the ring
//! of all switches. Switches are modules numbered after those of the nodes.
//!
//! **Routes.** Every packet goes onwards, on the ring of its sender to its node or to the switch, and then by way of the ring of
//! the switches to the switch of the other ring. Buffers of the channels of a ring form a cycle; packets never wait for them,
//! because each interface stores what passes by while it transmits (register insertion). They wait in switches alone, in one
//! direction: up, to the ring of the switches, and down from there.

use units::{Duration, Length, NodeId, Port, RouterId};

use super::{Builder, Topology};
use crate::description::{Description, JoinedRings};
use crate::graph::{Endpoint, LinkClass, RouterPlace};

/// The ports of a link interface: to its node, out to the next interface, in from the previous one.
const NODE_PORT: Port = Port(1);
const OUT_PORT: Port = Port(2);
const IN_PORT: Port = Port(3);
const PORTS: usize = 3;

/// The ports of a switch: out to its ring of nodes and in from it, and the same for the ring of switches.
const DOWN_PORT: Port = Port(1);
const FROM_BELOW_PORT: Port = Port(2);
const ALONG_PORT: Port = Port(3);
const FROM_SWITCH_PORT: Port = Port(4);
const SWITCH_PORTS: usize = 4;

/// Builds the network of `description`.
///
/// # Panics
/// The description has no SCI ring, which [`crate::load`] rejects.
pub(super) fn build(description: &Description) -> Topology {
    let spec = &description.topology;
    let Some(ring) = &description.sci_ring else { panic!("{} has no [sci_ring]", description.name) };
    let joined = JoinedRings::new(ring, spec.nodes());
    let nodes = joined.rings * joined.nodes;
    let mut builder = Builder::new(spec.propagation_per_m);
    for node in 0..nodes {
        let place = RouterPlace::LinkInterface { ring: node / joined.nodes, position: node % joined.nodes };
        builder.router_with(PORTS, place, node + 1, 1);
    }
    let switches: Vec<RouterId> = (0..joined.rings)
        .filter(|_| joined.has_switches())
        .map(|ring| builder.router_with(SWITCH_PORTS, RouterPlace::Switch { ring }, nodes + ring + 1, 1))
        .collect();
    for node in 0..nodes {
        builder.node_at(node + 1, 1, RouterId(node), NODE_PORT, LinkClass::Attachment, Duration::ZERO);
    }
    for ring_number in 0..joined.rings {
        let interface = |node| (RouterId(node), OUT_PORT, IN_PORT);
        let on_it = (ring_number * joined.nodes..(ring_number + 1) * joined.nodes).map(interface);
        let switch = switches.get(usize::from(ring_number)).map(|&switch| (switch, DOWN_PORT, FROM_BELOW_PORT));
        close(&mut builder, &on_it.chain(switch).collect::<Vec<_>>(), LinkClass::Sci, ring.wire);
    }
    let between: Vec<_> = switches.iter().map(|&switch| (switch, ALONG_PORT, FROM_SWITCH_PORT)).collect();
    close(&mut builder, &between, LinkClass::SciBetweenSwitches, ring.wire);
    let exit = |router: RouterId, node: NodeId| {
        Some(match router.0.checked_sub(nodes) {
            None if router.0 == node.0 => NODE_PORT,
            None => OUT_PORT,
            Some(ring) if ring == joined.ring_of(node) => DOWN_PORT,
            Some(_) => ALONG_PORT,
        })
    };
    builder.finish(description, &exit, None)
}

/// Links the members of a ring, each with its ports out and in, one after another; one alone is not linked.
fn close(builder: &mut Builder, members: &[(RouterId, Port, Port)], class: LinkClass, wire: Duration) {
    for (index, &(from, out, _)) in members.iter().enumerate().filter(|_| members.len() > 1) {
        let (to, _, into) = members[(index + 1) % members.len()];
        let link = builder.link(Endpoint::Router(from, out), Endpoint::Router(to, into), class, Length::default());
        builder.set_delay(link, wire);
    }
}
