//! The construction of a topology, part by part.

use units::{Duration, Length, LinkId, NodeId, Port, RouterId};

use super::{Endpoint, Link, LinkClass, Node, ROUTER_PORTS, Router, RouterPlace, Routing, Topology};
use crate::routing::{Routes, RoutingTable};

/// A topology under construction.
pub(crate) struct Builder {
    nodes: Vec<Node>,
    routers: Vec<Router>,
    links: Vec<Link>,
    propagation_per_m: Duration,
}

impl Builder {
    /// An empty topology, whose links will have a delay of `propagation_per_m`.
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

    /// Completes the topology. `request` gives the exit port of a router for requests to a node, and `reply` that for
    /// replies; replies without it take the routes of requests. A router that packets of a network never pass needs no
    /// exit.
    ///
    /// # Panics
    /// The exits do not lead every node to every other.
    pub(crate) fn finish(self, name: &str, processors_per_node: u32, request: &Exit, reply: Option<&Exit>) -> Topology {
        let (nodes, routers) = (self.nodes.len(), self.routers.len());
        let table = |exit: &Exit| RoutingTable::from_fn(routers, nodes, exit);
        let mut topology = Topology {
            name: name.into(),
            processors_per_node,
            nodes: self.nodes,
            routers: self.routers,
            links: self.links,
            request: Routing { table: table(request), routes: Routes::default() },
            reply: reply.map(|exit| Routing { table: table(exit), routes: Routes::default() }),
        };
        let compiled = |routing: &Routing| match Routes::compile(&topology, &routing.table) {
            Ok(routes) => routes,
            Err(error) => panic!("the routing rule of {name} is wrong: {error}"),
        };
        let (request, reply) = (compiled(&topology.request), topology.reply.as_ref().map(compiled));
        topology.request.routes = request;
        if let (Some(routing), Some(routes)) = (&mut topology.reply, reply) {
            routing.routes = routes;
        }
        topology
    }
}

/// The exit port of a router for packets to a node, if packets for it ever pass the router.
pub(crate) type Exit<'r> = dyn Fn(RouterId, NodeId) -> Option<Port> + 'r;
