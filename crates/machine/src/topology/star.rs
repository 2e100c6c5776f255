//! Interconnects without routers: one part that all nodes are linked to, a crossbar or an ideal network.
//!
//! The part is drawn and named as a router with a port for each node, so that a message passes one router between any two
//! nodes. Each node is a module; the part is in the module after them. The latency is a constant of the description; each
//! of the two links on the way is given half of it.

use units::{Duration, NodeId, Port, RouterId};

use super::{Builder, Topology};
use crate::description::{Description, TopologyKind};
use crate::graph::{LinkClass, RouterPlace};

/// The latency between any two nodes of a crossbar or an ideal interconnect; `None` of other kinds.
fn latency(description: &Description) -> Option<Duration> {
    let crossbar = description.crossbar.as_ref().map(|crossbar| crossbar.latency);
    crossbar.or(description.ideal_network.as_ref().map(|network| network.latency))
}

/// Builds the network of `description`.
///
/// # Panics
/// The description has neither a crossbar nor an ideal interconnect, which [`crate::load`] rejects.
pub(super) fn build(description: &Description) -> Topology {
    let spec = &description.topology;
    let Some(latency) = latency(description) else { panic!("{} has no latency of its network", description.name) };
    let place = if spec.kind == TopologyKind::Crossbar { RouterPlace::Crossbar } else { RouterPlace::Ideal };
    let nodes = spec.nodes() as u16;
    let port = |node: NodeId| Port(node.0 + 1);
    let mut builder = Builder::new(spec.propagation_per_m);
    let centre = builder.router_with(usize::from(nodes), place, nodes + 1, 1);
    for node in 0..nodes {
        builder.node_at(node + 1, 1, centre, port(NodeId(node)), LinkClass::Interface, latency / 2);
    }
    let exit = |_: RouterId, node| Some(port(node));
    builder.finish(description, &exit, None)
}
