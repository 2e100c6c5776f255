//! Putting a topology together, part by part.

use units::{Duration, Length, LinkId, NodeId, Port, RouterId};

use super::{Endpoint, Link, LinkClass, Node, ROUTER_PORTS, Router, RouterPlace, Topology};
use crate::routing::{Routes, RoutingTable};

/// A topology in the making.
pub(crate) struct Builder {
    nodes: Vec<Node>,
    routers: Vec<Router>,
    links: Vec<Link>,
    propagation_per_m: Duration,
}

impl Builder {
    /// Nothing yet; links will delay signals by `propagation_per_m`.
    pub(crate) fn new(propagation_per_m: Duration) -> Self {
        Self { nodes: Vec::new(), routers: Vec::new(), links: Vec::new(), propagation_per_m }
    }

    /// Adds a router to the module and slot.
    pub(crate) fn router(&mut self, place: RouterPlace, module: u16, slot: u8) -> RouterId {
        let id = RouterId(self.routers.len() as u16);
        self.routers.push(Router { id, place, module, slot, links: [None; ROUTER_PORTS] });
        id
    }

    /// Adds a node to the module and slot, and links it to the port.
    pub(crate) fn node(&mut self, module: u16, slot: u8, router: RouterId, port: Port, length: Length) -> NodeId {
        let id = NodeId(self.nodes.len() as u16);
        let link = self.link(Endpoint::Node(id), Endpoint::Router(router, port), LinkClass::Node, length);
        self.nodes.push(Node { id, module, slot, router, port, link });
        id
    }

    /// Links two ends.
    pub(crate) fn link(&mut self, first: Endpoint, second: Endpoint, class: LinkClass, length: Length) -> LinkId {
        let id = LinkId(self.links.len() as u16);
        for end in [first, second] {
            if let Endpoint::Router(router, port) = end {
                let slot = &mut self.routers[router.index()].links[port.index() - 1];
                debug_assert!(slot.is_none(), "port {port} of router {router} is linked twice");
                *slot = Some(id);
            }
        }
        let delay = length.delay(self.propagation_per_m);
        self.links.push(Link { id, ends: [first, second], class, length, delay });
        id
    }

    /// The topology, with `exit` saying by which port a router sends a packet for a node.
    ///
    /// # Panics
    /// If `exit` does not lead every node to every other.
    pub(crate) fn finish(
        self,
        name: &str,
        processors_per_node: u32,
        exit: impl Fn(RouterId, NodeId) -> Port,
    ) -> Topology {
        let (nodes, routers) = (self.nodes.len(), self.routers.len());
        let table = RoutingTable::from_fn(routers, nodes, |router, node| Some(exit(router, node)));
        let mut topology = Topology {
            name: name.into(),
            processors_per_node,
            nodes: self.nodes,
            routers: self.routers,
            links: self.links,
            table,
            routes: Routes::default(),
        };
        topology.routes = match Routes::compile(&topology, &topology.table) {
            Ok(routes) => routes,
            Err(error) => panic!("the routing rule of {name} is wrong: {error}"),
        };
        topology
    }
}
