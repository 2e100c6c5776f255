//! Rings as circles, meshes as grids, and nodes around a crossbar or an ideal network.

use std::f64::consts::TAU;

use super::canvas::{Canvas, Layer, Look, Point};
use super::cards;
use crate::topology::{LinkClass, Router, RouterPlace, Topology};

/// From the middle of a router to that of its nodes: at its corners, or straight above it if it has one.
const NODE: (f64, f64) = (38.0, 36.0);
/// Between neighbouring cards of a grid.
const GAP: f64 = 56.0;
/// Between the middles of neighbouring nodes around a crossbar, more than a node's diagonal.
const NODE_PITCH: f64 = 84.0;
/// The least radius of nodes around a crossbar, which leaves it room.
const LEAST_RADIUS: f64 = 120.0;

/// Width and height of a card: a router and its nodes.
fn card_size(topology: &Topology) -> (f64, f64) {
    let on_router = |router: &Router| topology.nodes().iter().filter(|node| node.router == router.id).count();
    match topology.routers().iter().map(on_router).max().unwrap_or(0) {
        0 | 1 => (80.0, 90.0),
        2 => (152.0, 90.0),
        _ => (152.0, 116.0),
    }
}

/// The point at this part of the way around a circle, clockwise from the top.
fn around(radius: f64, part: f64) -> Point {
    let angle = TAU * part;
    Point { x: radius * angle.sin(), y: -radius * angle.cos() }
}

/// The radius of a circle of `count` parts at this distance from each other; 0 for a single one.
fn radius(count: usize, pitch: f64) -> f64 {
    if count < 2 { 0.0 } else { pitch / (2.0 * (TAU / 2.0 / count as f64).sin()) }
}

/// Draws the routers of a ring clockwise from the top.
pub(super) fn draw_ring(canvas: &mut Canvas, topology: &Topology) {
    let (width, height) = card_size(topology);
    let routers = topology.routers().len();
    // Cards at the distance of their diagonal do not touch in any direction.
    let radius = radius(routers, width.hypot(height) + GAP / 2.0);
    draw_cards(canvas, topology, |router| match router.place {
        RouterPlace::Ring { position } => around(radius, f64::from(position) / routers as f64),
        _ => around(radius, 0.0),
    });
}

/// Draws the routers of a mesh by column and row, the first above on the left.
pub(super) fn draw_grid(canvas: &mut Canvas, topology: &Topology) {
    let (width, height) = card_size(topology);
    draw_cards(canvas, topology, |router| match router.place {
        RouterPlace::Grid { column, row } => {
            Point { x: f64::from(column) * (width + GAP), y: f64::from(row) * (height + GAP) }
        }
        _ => Point { x: 0.0, y: 0.0 },
    });
}

/// Draws the nodes around the part that they are all linked to.
pub(super) fn draw_star(canvas: &mut Canvas, topology: &Topology) {
    let nodes = topology.nodes().len();
    let (radius, centre) = (radius(nodes, NODE_PITCH).max(LEAST_RADIUS), Point { x: 0.0, y: 0.0 });
    for node in topology.nodes() {
        let at = around(radius, node.id.index() as f64 / nodes as f64);
        canvas.at_link(Some(node.link));
        canvas.wire(Layer::Wires, LinkClass::Interface, centre, at);
        canvas.at_link(None);
        cards::node_box(canvas, topology, node, at);
    }
    for router in topology.routers() {
        cards::router_box(canvas, router, Look::Router, centre);
    }
}

/// Draws every router with its nodes at its place, and the links between routers.
fn draw_cards(canvas: &mut Canvas, topology: &Topology, place: impl Fn(&Router) -> Point) {
    let size = card_size(topology);
    for router in topology.routers() {
        card(canvas, topology, router, place(router), size);
    }
    for link in topology.links() {
        let Some([first, second]) = cards::routers(topology, link) else { continue };
        canvas.at_link(Some(link.id));
        canvas.wire(Layer::Wires, link.class, place(first), place(second));
    }
    canvas.at_link(None);
}

/// Draws a router in the middle of its nodes.
fn card(canvas: &mut Canvas, topology: &Topology, router: &Router, at: Point, (width, height): (f64, f64)) {
    let nodes: Vec<_> = topology.nodes().iter().filter(|node| node.router == router.id).collect();
    // Two rows of nodes have the router in their middle; one row has it below.
    let box_rise = if height > 2.0 * NODE.1 + 28.0 { 0.0 } else { -NODE.1 / 2.0 };
    canvas.block(Layer::Ground, Look::Module, at.offset(0.0, box_rise), width, height);
    for node in nodes {
        let column = match (width > 2.0 * NODE.0 + 60.0, node.slot % 2 == 1) {
            (false, _) => 0.0,
            (true, true) => -NODE.0,
            (true, false) => NODE.0,
        };
        let middle = at.offset(column, if node.slot <= 2 { -NODE.1 } else { NODE.1 });
        canvas.at_link(Some(node.link));
        canvas.wire(Layer::Wires, LinkClass::Node, at.offset(column / 2.0, 0.0), middle);
        canvas.at_link(None);
        cards::node_box(canvas, topology, node, middle);
    }
    cards::router_box(canvas, router, Look::Router, at);
}
