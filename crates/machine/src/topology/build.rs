//! The construction of a topology, part by part.

use units::{Duration, Length, LinkId, NodeId, Port, RouterId};

use super::{Routing, Topology};
use crate::description::Description;
use crate::graph::{Endpoint, Graph, Link, LinkClass, Node, Processors, Router, RouterPlace};
use crate::routing::{Routes, RoutingTable};

/// Ports of a router chip, numbered from 1 (Prestor 3.2.3, The Router ASIC).
const ROUTER_PORTS: usize = 6;

/// A topology under construction.
pub(super) struct Builder {
    nodes: Vec<Node>,
    routers: Vec<Router>,
    links: Vec<Link>,
    propagation_per_m: Duration,
    channel_classes: u32,
    class: Box<dyn Fn(RouterId, NodeId) -> u8>,
}

impl Builder {
    /// An empty topology, whose links will have a delay of `propagation_per_m`.
    pub(super) fn new(propagation_per_m: Duration) -> Self {
        let (nodes, routers, links) = Default::default();
        Self { nodes, routers, links, propagation_per_m, channel_classes: 1, class: Box::new(|_, _| 0) }
    }

    /// Gives each router a class of virtual channels for packets to a node, below `classes`; without it all are of class 0.
    pub(super) fn set_classes(&mut self, classes: u32, class: impl Fn(RouterId, NodeId) -> u8 + 'static) {
        (self.channel_classes, self.class) = (classes, Box::new(class));
    }

    /// Adds a router to the module and slot.
    pub(super) fn router(&mut self, place: RouterPlace, module: u16, slot: u8) -> RouterId {
        self.router_with(ROUTER_PORTS, place, module, slot)
    }

    /// As [`Self::router`], with another number of ports.
    pub(super) fn router_with(&mut self, ports: usize, place: RouterPlace, module: u16, slot: u8) -> RouterId {
        let id = RouterId(self.routers.len() as u16);
        self.routers.push(Router { id, place, module, slot, links: vec![None; ports] });
        id
    }

    /// Adds a node to the module and slot, and links it to the port.
    pub(super) fn node(&mut self, module: u16, slot: u8, router: RouterId, port: Port, length: Length) -> NodeId {
        let delay = length.delay(self.propagation_per_m);
        let id = self.node_at(module, slot, router, port, LinkClass::Node, delay);
        self.links[self.nodes[id.index()].link.index()].length = length;
        id
    }

    /// As [`Self::node`], by a link of this class whose delay does not follow from a length.
    pub(super) fn node_at(
        &mut self,
        module: u16,
        slot: u8,
        router: RouterId,
        port: Port,
        class: LinkClass,
        delay: Duration,
    ) -> NodeId {
        let id = NodeId(self.nodes.len() as u16);
        let link = self.link(Endpoint::Node(id), Endpoint::Router(router, port), class, Length::default());
        self.set_delay(link, delay);
        self.nodes.push(Node { id, module, slot, router, port, link });
        id
    }

    /// Gives a link a delay that does not follow from its length.
    pub(super) fn set_delay(&mut self, link: LinkId, delay: Duration) {
        self.links[link.index()].delay = delay;
    }

    /// Links two ends.
    pub(super) fn link(&mut self, first: Endpoint, second: Endpoint, class: LinkClass, length: Length) -> LinkId {
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
    pub(super) fn finish(self, description: &Description, request: &Exit, reply: Option<&Exit>) -> Topology {
        let (name, spec) = (&description.name, &description.topology);
        let graph = Graph {
            name: name.clone(),
            processors: Processors::new(
                spec.processors,
                description.processor.threads,
                spec.processors_per_node,
                spec.nodes(),
            ),
            channel_classes: self.channel_classes,
            nodes: self.nodes,
            routers: self.routers,
            links: self.links,
            package: None,
        };
        let routing = |exit: &Exit| {
            let table = RoutingTable::from_fn(graph.routers.len(), graph.nodes.len(), exit);
            let table = if graph.channel_classes > 1 { table.with_classes(&self.class) } else { table };
            match Routes::compile(&graph, &table) {
                Ok(routes) => Routing { table, routes },
                Err(error) => panic!("the routing rule of {name} is wrong: {error}"),
            }
        };
        let (request, reply) = (routing(request), reply.map(routing));
        Topology { graph, request, reply }
    }
}

/// The exit port of a router for packets to a node, if packets for it ever pass the router.
pub(super) type Exit<'r> = dyn Fn(RouterId, NodeId) -> Option<Port> + 'r;
