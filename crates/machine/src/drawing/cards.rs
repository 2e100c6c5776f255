//! Routers with their nodes, laid out as projected cubes.

use super::canvas::{Align, Canvas, Layer, Look, Point, Words};
use crate::graph::{Endpoint, Link, LinkClass, Node, Router, RouterPlace};
use crate::topology::Topology;

/// Sizes of a router card: the router above, its two nodes below.
const ROUTER: (f64, f64) = (62.0, 22.0);
const NODE: (f64, f64) = (60.0, 28.0);
/// From the middle of the card, where links end, to the middle of its nodes.
const NODE_DROP: f64 = 30.0;
/// Half the distance between the middles of the two nodes.
const NODE_SPREAD: f64 = 31.0;

/// Steps of the projection, one for each dimension inside a cube. Rows of cards have different heights, so that modules
/// are in order from top to bottom and their boxes do not touch.
const DIMENSIONS: [(f64, f64); 3] = [(240.0, 0.0), (154.0, 124.0), (0.0, 250.0)];
/// From a cube to the one beside it.
const BESIDE: f64 = 650.0;
/// How far the curves of long cables rise above the cards beside them.
const RISE: f64 = 76.0;

/// Width and height of a whole cube, from the middle of its first corner to that of its last.
pub(super) const CUBE: (f64, f64) = (394.0, 374.0);

/// The middle of the router at `corner` of a cube whose corner 0 is at `origin`.
pub(super) fn place(origin: Point, corner: u16) -> Point {
    (0..3)
        .filter(|bit| corner & (1 << bit) != 0)
        .fold(origin, |at, bit| at.offset(DIMENSIONS[bit].0, DIMENSIONS[bit].1))
}

/// Draws a machine without metarouters: one cube, or two beside each other.
pub(super) fn draw_pure(canvas: &mut Canvas, topology: &Topology) {
    let at = |router: &Router| {
        let RouterPlace::Leaf { corner, .. } = router.place else { return Point { x: 0.0, y: 0.0 } };
        place(Point { x: f64::from(corner / 8) * BESIDE, y: 0.0 }, corner % 8)
    };
    for router in topology.routers() {
        card(canvas, topology, router, at(router));
    }
    for link in topology.links() {
        canvas.at_link(Some(link.id));
        if let Some([first, second]) = routers(topology, link) {
            between(canvas, link.class, [at(first), at(second)], corner(first));
        }
    }
    canvas.at_link(None);
}

/// The routers at both ends of a link; `None` if one end is a node.
pub(super) fn routers<'t>(topology: &'t Topology, link: &Link) -> Option<[&'t Router; 2]> {
    let router = |end| match end {
        Endpoint::Router(router, _) => Some(&topology.routers()[router.index()]),
        Endpoint::Node(_) => None,
    };
    Some([router(link.ends[0])?, router(link.ends[1])?])
}

/// A router's corner of its cube.
pub(super) fn corner(router: &Router) -> u16 {
    match router.place {
        RouterPlace::Leaf { corner, .. } | RouterPlace::Metarouter { corner, .. } => corner,
        // Other machines' routers are drawn by other modules.
        _ => 0,
    }
}

/// Draws a link between two routers drawn as cards, the first at `corner` of its cube. Cables to another cube and the
/// express cables that would run behind other cards bend around them.
pub(super) fn between(canvas: &mut Canvas, class: LinkClass, [from, to]: [Point; 2], corner: u16) {
    let through_three_dimensions = to.y - from.y > DIMENSIONS[2].1;
    match (class, corner) {
        (LinkClass::CubeCable, _) => {
            canvas.curve(class, [from, from.offset(70.0, -RISE), to.offset(-70.0, -RISE), to]);
        }
        (LinkClass::Express, 0) if through_three_dimensions => {
            canvas.curve(class, [from, from.offset(260.0, 60.0), to.offset(-104.0, -124.0), to]);
        }
        (LinkClass::Express, 1) if through_three_dimensions => {
            canvas.curve(class, [from, from.offset(0.0, 140.0), to.offset(0.0, -144.0), to]);
        }
        _ => canvas.wire(Layer::Wires, class, from, to),
    }
}

/// Draws a router, its nodes, and its half of the module's box.
pub(super) fn card(canvas: &mut Canvas, topology: &Topology, router: &Router, at: Point) {
    if router.slot == 1 {
        let siblings = topology.routers().iter().filter(|other| other.module == router.module).count();
        module(canvas, router.module, at, siblings);
    }
    for node in topology.nodes().iter().filter(|node| node.router == router.id) {
        let side = if node.slot % 2 == 1 { -NODE_SPREAD } else { NODE_SPREAD };
        let middle = at.offset(side, NODE_DROP);
        canvas.wire(Layer::Wires, LinkClass::Node, at.offset(side / 2.0, 0.0), middle);
        node_box(canvas, topology, node, middle);
    }
    router_box(canvas, router, Look::Router, at);
}

/// Draws a router with its name.
pub(super) fn router_box(canvas: &mut Canvas, router: &Router, look: Look, at: Point) {
    canvas.block(Layer::Parts, look, at, ROUTER.0, ROUTER.1);
    canvas.words(Words::OnRouter, Align::Centre, at, &format!("{}/r{}", router.module, router.slot));
}

/// Draws a node with its number and its processors.
pub(super) fn node_box(canvas: &mut Canvas, topology: &Topology, node: &Node, middle: Point) {
    canvas.at_node(Some(node.id));
    canvas.block(Layer::Parts, Look::Node, middle, NODE.0, NODE.1);
    canvas.words(Words::NodeName, Align::Centre, middle.offset(0.0, -5.0), &format!("n{}", node.id));
    let cpus: Vec<_> = topology.cpus_of(node.id).map(|cpu| cpu.to_string()).collect();
    canvas.words(Words::CpuNames, Align::Centre, middle.offset(0.0, 7.0), &format!("cpu {}", cpus.join(" ")));
    canvas.at_node(None);
}

/// Draws the box of a module whose first router is at `at`.
fn module(canvas: &mut Canvas, module: u16, at: Point, routers: usize) {
    let span = if routers > 1 { DIMENSIONS[0].0 } else { 0.0 };
    let middle = at.offset(span / 2.0, 14.0);
    canvas.block(Layer::Ground, Look::Module, middle, span + 140.0, 88.0);
    // Between the cards, where links may pass behind it, or below a single card.
    let (words, caption) = match routers {
        1 => (Words::Caption, middle.offset(0.0, 58.0)),
        _ => (Words::ModuleName, middle.offset(0.0, 28.0)),
    };
    canvas.words(words, Align::Centre, caption, &format!("module {module}"));
}
