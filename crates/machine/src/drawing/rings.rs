//! Joined SCI rings: a circle of link interfaces and nodes for each, around the circle of their switches.

use super::canvas::{Canvas, Look, Point};
use super::cards;
use super::plain::{BETWEEN_CIRCLES, NODE_PITCH, ROUTER_PITCH, around, draw_cables, linked_node, radius};
use crate::graph::{LinkClass, Router, RouterPlace};
use crate::topology::Topology;

/// From the outermost nodes of a ring to those of its neighbours.
const BETWEEN_RINGS: f64 = 60.0;

/// The layout of joined rings, all of the same size.
struct Layout {
    /// Link interfaces on a ring, its switch included.
    members: usize,
    /// The radius of a ring's circle of interfaces, and that of its nodes.
    inner: f64,
    outer: f64,
    /// Rings, and the radius of the circle of their middles.
    rings: u16,
    middles: f64,
}

impl Layout {
    fn new(topology: &Topology, rings: u16) -> Self {
        let members = topology.nodes().len() / usize::from(rings) + 1;
        let least = radius(members, ROUTER_PITCH);
        let outer = radius(members, NODE_PITCH).max(least + BETWEEN_CIRCLES);
        let middles = radius(rings.into(), 2.0 * outer + BETWEEN_RINGS).max(2.0 * outer);
        Self { members, inner: outer - BETWEEN_CIRCLES, outer, rings, middles }
    }

    /// A point at this distance from the middle of a ring, in the direction of its member `position`. The switch, behind the
    /// last node, is the member nearest to the middle of the picture.
    fn at(&self, ring: u16, position: usize, distance: f64) -> Point {
        let direction = f64::from(ring) / f64::from(self.rings);
        let middle = around(self.middles, direction);
        let turn = (position + 1) as f64 / self.members as f64;
        let aside = around(distance, direction + 0.5 + turn);
        middle.offset(aside.x, aside.y)
    }

    fn place(&self, router: &Router) -> Point {
        match router.place {
            RouterPlace::LinkInterface { ring, position } => self.at(ring, position.into(), self.inner),
            RouterPlace::Switch { ring } => self.at(ring, self.members - 1, self.inner),
            _ => Point { x: 0.0, y: 0.0 },
        }
    }
}

/// Draws `rings` joined rings clockwise from the top.
pub(super) fn draw(canvas: &mut Canvas, topology: &Topology, rings: u16) {
    let layout = Layout::new(topology, rings);
    for node in topology.nodes() {
        let router = &topology.routers()[node.router.index()];
        let RouterPlace::LinkInterface { ring, position } = router.place else { continue };
        let at = layout.at(ring, position.into(), layout.outer);
        linked_node(canvas, topology, node, LinkClass::Attachment, layout.place(router), at);
    }
    for router in topology.routers() {
        let is_switch = matches!(router.place, RouterPlace::Switch { .. });
        let look = if is_switch { Look::Metarouter } else { Look::Router };
        cards::router_box(canvas, router, look, layout.place(router));
    }
    draw_cables(canvas, topology, |router| layout.place(router));
}
