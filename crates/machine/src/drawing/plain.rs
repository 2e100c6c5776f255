//! Rings as circles, meshes as grids, and nodes around a crossbar or an ideal network.

use std::f64::consts::TAU;

use super::canvas::{Canvas, Layer, Look, Point};
use super::cards;
use crate::graph::{LinkClass, Node, Router, RouterPlace};
use crate::topology::Topology;

/// From the middle of a mesh's router to that of its nodes: above it, aside if there are two.
const NODE: (f64, f64) = (38.0, 36.0);
/// The height of a mesh's router with its nodes.
const CARD_HEIGHT: f64 = 90.0;
/// Between neighbouring routers of a mesh with their nodes.
const GAP: f64 = 56.0;
/// Between the middles of neighbouring nodes on a circle, more than a node's diagonal.
pub(super) const NODE_PITCH: f64 = 84.0;
/// Between the middles of neighbouring routers on a circle, more than a router's diagonal.
pub(super) const ROUTER_PITCH: f64 = 100.0;
/// From what is in the middle, or from a circle of routers, to the circle of nodes.
pub(super) const BETWEEN_CIRCLES: f64 = 120.0;

/// Nodes of the router with the most.
fn most_on_router(topology: &Topology) -> usize {
    topology.nodes().iter().map(|node| usize::from(node.slot)).max().unwrap_or(0)
}

/// The point at this part of the way around a circle, clockwise from the top.
pub(super) fn around(radius: f64, part: f64) -> Point {
    let angle = TAU * part;
    Point { x: radius * angle.sin(), y: -radius * angle.cos() }
}

/// The radius of a circle of `count` parts at this distance from each other; 0 for a single one.
pub(super) fn radius(count: usize, pitch: f64) -> f64 {
    if count < 2 { 0.0 } else { pitch / (2.0 * (TAU / 2.0 / count as f64).sin()) }
}

/// Draws the routers of a ring clockwise from the top, and their nodes around them on links of class `class`.
pub(super) fn draw_ring(canvas: &mut Canvas, topology: &Topology, class: LinkClass) {
    let routers = topology.routers().len() as f64;
    let on_router = most_on_router(topology) as f64;
    let least = radius(topology.routers().len(), ROUTER_PITCH);
    let outer = radius(topology.routers().len() * on_router as usize, NODE_PITCH).max(least + BETWEEN_CIRCLES);
    let inner = if routers > 1.0 { outer - BETWEEN_CIRCLES } else { 0.0 };
    let place = |router: &Router| match router.place {
        RouterPlace::Ring { position } | RouterPlace::LinkInterface { position, .. } => {
            around(inner, f64::from(position) / routers)
        }
        _ => around(inner, 0.0),
    };
    for node in topology.nodes() {
        // The nodes of a router are centred on its direction.
        let aside = (f64::from(node.slot) - 0.5) / on_router - 0.5;
        let at = around(outer, (node.router.index() as f64 + aside) / routers);
        linked_node(canvas, topology, node, class, place(&topology.routers()[node.router.index()]), at);
    }
    for router in topology.routers() {
        cards::router_box(canvas, router, Look::Router, place(router));
    }
    draw_cables(canvas, topology, place);
}

/// Draws the routers of a mesh by column and row, the first above on the left, each below its one or two nodes.
pub(super) fn draw_grid(canvas: &mut Canvas, topology: &Topology) {
    let alone = most_on_router(topology) < 2;
    let width = if alone { 80.0 } else { 152.0 };
    let place = |router: &Router| match router.place {
        RouterPlace::Grid { column, row } => {
            Point { x: f64::from(column) * (width + GAP), y: f64::from(row) * (CARD_HEIGHT + GAP) }
        }
        _ => Point { x: 0.0, y: 0.0 },
    };
    for router in topology.routers() {
        let at = place(router);
        canvas.block(Layer::Ground, Look::Module, at.offset(0.0, -NODE.1 / 2.0), width, CARD_HEIGHT);
        for node in topology.nodes().iter().filter(|node| node.router == router.id) {
            let column = match (alone, node.slot) {
                (true, _) => 0.0,
                (false, 1) => -NODE.0,
                (false, _) => NODE.0,
            };
            let (from, to) = (at.offset(column / 2.0, 0.0), at.offset(column, -NODE.1));
            linked_node(canvas, topology, node, LinkClass::Node, from, to);
        }
        cards::router_box(canvas, router, Look::Router, at);
    }
    draw_cables(canvas, topology, place);
}

/// Draws the nodes around the part that they are all linked to.
pub(super) fn draw_star(canvas: &mut Canvas, topology: &Topology) {
    let nodes = topology.nodes().len();
    let (radius, centre) = (radius(nodes, NODE_PITCH).max(BETWEEN_CIRCLES), Point { x: 0.0, y: 0.0 });
    for node in topology.nodes() {
        let at = around(radius, node.id.index() as f64 / nodes as f64);
        linked_node(canvas, topology, node, LinkClass::Interface, centre, at);
    }
    for router in topology.routers() {
        cards::router_box(canvas, router, Look::Router, centre);
    }
}

/// Draws a node at `at` and its link, which comes from `from`.
pub(super) fn linked_node(
    canvas: &mut Canvas,
    topology: &Topology,
    node: &Node,
    class: LinkClass,
    from: Point,
    at: Point,
) {
    canvas.at_link(Some(node.link));
    canvas.wire(Layer::Wires, class, from, at);
    canvas.at_link(None);
    cards::node_box(canvas, topology, node, at);
}

/// Draws the links between routers.
pub(super) fn draw_cables(canvas: &mut Canvas, topology: &Topology, place: impl Fn(&Router) -> Point) {
    for link in topology.links() {
        let Some([first, second]) = cards::routers(topology, link) else { continue };
        canvas.at_link(Some(link.id));
        canvas.wire(Layer::Wires, link.class, place(first), place(second));
    }
    canvas.at_link(None);
}
