//! Clusters in metacubes, joined by one mesh for requests and one for replies.

use super::canvas::{Align, Canvas, Layer, Look, Point, Words};
use super::cards;
use crate::graph::{LinkClass, Router, RouterPlace, VirtualNetwork};
use crate::topology::Topology;

/// From a cluster to the one beside it.
const PITCH: f64 = 168.0;
/// From the middle of a cluster's router to that of its nodes: four corners around it.
const NODE: (f64, f64) = (38.0, 36.0);
/// The box of a cluster.
const CLUSTER: (f64, f64) = (152.0, 116.0);
/// From the middle of a cluster's router to where its cables are clear of the nodes.
const CLEAR: f64 = 62.0;
/// Half the distance of the two cables between a cluster's nodes.
const CABLES: f64 = 4.0;
/// From the middle of a metacube to that of the page, if there are several.
const COLUMN: f64 = 390.0;
/// Heights of clusters, request and reply mesh routers, from the middle of the page.
const CLUSTER_ROW: f64 = 420.0;
const REQUEST_ROW: f64 = 230.0;
const REPLY_ROW: f64 = 140.0;
/// From the middle of a metacube to its mesh routers: requests outwards, replies inwards.
const MESH: f64 = 90.0;

/// The quarter of the page in which a metacube is drawn: metacubes are arranged in the order of the request ring, so
/// that requests run around the page and replies across.
#[derive(Clone, Copy)]
struct Quarter {
    middle: f64,
    /// -1 for those on the left, 1 for those on the right.
    side: f64,
    /// -1 for those above, 1 for those below.
    half: f64,
}

impl Quarter {
    fn of(metacube: u16, metacubes: usize) -> Self {
        let side = if matches!(metacube, 0 | 3) { -1.0 } else { 1.0 };
        let half = if metacube < 2 { -1.0 } else { 1.0 };
        let middle = if metacubes == 1 { 0.0 } else { side * COLUMN };
        Self { middle, side, half }
    }

    fn place(self, router: &Router) -> Point {
        match router.place {
            RouterPlace::Cluster { cluster, .. } => {
                Point { x: self.middle + (f64::from(cluster) - 1.5) * PITCH, y: self.half * CLUSTER_ROW }
            }
            RouterPlace::Mesh { network: VirtualNetwork::Request, .. } => {
                Point { x: self.middle + self.side * MESH, y: self.half * REQUEST_ROW }
            }
            _ => Point { x: self.middle - self.side * MESH, y: self.half * REPLY_ROW },
        }
    }
}

/// The metacube of a router.
fn metacube(router: &Router) -> u16 {
    match router.place {
        RouterPlace::Cluster { metacube, .. } | RouterPlace::Mesh { metacube, .. } => metacube,
        // Other machines are drawn by other modules.
        _ => 0,
    }
}

/// Draws a machine of `metacubes` metacubes.
pub(super) fn draw(canvas: &mut Canvas, topology: &Topology, metacubes: usize) {
    let quarter = |router: &Router| Quarter::of(metacube(router), metacubes);
    if topology.routers().iter().any(Router::is_mesh) {
        for its in 0..metacubes as u16 {
            metacube_box(canvas, its, Quarter::of(its, metacubes));
        }
    }
    for router in topology.routers() {
        let at = quarter(router).place(router);
        match router.place {
            RouterPlace::Mesh { network, .. } => cards::router_box(canvas, router, Look::Mesh(network), at),
            _ => cluster(canvas, topology, router, at, quarter(router).half),
        }
    }
    for link in topology.links() {
        canvas.at_link(Some(link.id));
        let Some([first, second]) = cards::routers(topology, link) else { continue };
        let (from, to) = (quarter(first).place(first), quarter(second).place(second));
        match link.class {
            LinkClass::Cluster(network) => up(canvas, network, from, to, quarter(first)),
            class => canvas.wire(Layer::Wires, class, from, to),
        }
    }
    canvas.at_link(None);
}

fn metacube_box(canvas: &mut Canvas, metacube: u16, quarter: Quarter) {
    const OUTER: f64 = CLUSTER_ROW + 106.0;
    const INNER: f64 = REPLY_ROW - 30.0;
    let middle = Point { x: quarter.middle, y: quarter.half * (OUTER + INNER) / 2.0 };
    canvas.block(Layer::Ground, Look::Tile, middle, 4.0 * PITCH + 20.0, OUTER - INNER);
    let name = Point { x: quarter.middle, y: quarter.half * (OUTER - 14.0) };
    canvas.words(Words::NodeName, Align::Centre, name, &format!("metacube {metacube}"));
}

/// Draws a cluster: its router in the middle of its nodes.
fn cluster(canvas: &mut Canvas, topology: &Topology, router: &Router, at: Point, half: f64) {
    canvas.block(Layer::Ground, Look::Module, at, CLUSTER.0, CLUSTER.1);
    let name = at.offset(0.0, half * (CLUSTER.1 / 2.0 + 12.0));
    canvas.words(Words::Caption, Align::Centre, name, &format!("module {}", router.module));
    for node in topology.nodes().iter().filter(|node| node.router == router.id) {
        let column = if node.slot % 2 == 1 { -NODE.0 } else { NODE.0 };
        let row = if node.slot <= 2 { -NODE.1 } else { NODE.1 };
        let middle = at.offset(column, row);
        canvas.wire(Layer::Wires, LinkClass::Node, at.offset(column / 2.0, 0.0), middle);
        cards::node_box(canvas, topology, node, middle);
    }
    cards::router_box(canvas, router, Look::Router, at);
}

/// The cable from a cluster to a mesh router: out between the nodes, then over to the router.
fn up(canvas: &mut Canvas, network: VirtualNetwork, from: Point, to: Point, quarter: Quarter) {
    // The request mesh router is the outer one.
    let side = if network == VirtualNetwork::Request { quarter.side } else { -quarter.side };
    let inwards = -quarter.half;
    let (start, clear) = (from.offset(side * CABLES, 0.0), from.offset(side * CABLES, inwards * CLEAR));
    let reach = (to.y - clear.y).abs() * 0.7;
    canvas.path_through(
        LinkClass::Cluster(network),
        start,
        [clear, clear.offset(0.0, inwards * reach), to.offset(0.0, -inwards * reach), to],
    );
}
