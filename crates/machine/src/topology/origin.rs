//! The SGI Origin 2000's network (Prestor 3.2.3, Figures 3.5 and 3.6).
//!
//! **Parts.** Node boards fill modules in order, four to a module; a module has two routers, `r1` for the nodes in
//! slots `n1` and `n2`, `r2` for `n3` and `n4`. A router board is there if one of its node slots is taken. A router's
//! ports 5 and 4 are its first and second node, 6 is the other router of the module, 1 to 3 are external.
//!
//! **Up to 64 processors** the routers are the corners of a hypercube, numbered in the order of modules and slots;
//! corners that differ in bit 0 share a module, in bit 1 a rack, in bits 1 and 2 a 32-processor cube. Dimensions 1, 2
//! and 3 use external ports 1, 2 and 3. With two or three dimensions, port 3 may carry an express link to the opposite
//! corner. An incomplete cube has the low-numbered corners, linked as in the complete cube.
//!
//! **Above 64 processors** there are 32-processor cubes of eight corners; port 3 of each corner goes to a metarouter
//! that joins the same corner of four cubes by its ports 1 to 4. Beyond 128 processors the metarouters of a corner form
//! a hypercube by ports 5 and 6: two of them for 256 processors, four for 512.
//!
//! **Routes.** With all corners present, a packet crosses the metarouters first and then corrects the differing bits
//! from the lowest up (e-cube). Channels are thus used in the order up, between metarouters, down, dimension 0, 1, 2,
//! 3, without a cycle. In an incomplete cube e-cube would pass through missing corners. There a packet first clears the
//! bits that the destination does not have, then crosses, then sets those it lacks (Katseff, "Incomplete Hypercubes",
//! IEEE Trans. Computers 37(5), 1988): clearing only lowers the corner's number, and the bits left when setting are
//! part of the destination's, so every corner on the way exists. Clearing, up, down, setting is again an order of the
//! channels. Both routes are shortest. An express link serves only the two routers that it joins, so that no packet
//! continues from it to another router.

use units::{NodeId, Port, RouterId};

use super::{Builder, Topology};
use crate::description::{Description, HypercubeSpec, PURE_CORNERS, TopologySpec};
use crate::graph::{Endpoint, LinkClass, RouterPlace};

/// Corners of a 32-processor cube.
const CUBE_CORNERS: u16 = 8;
/// Cubes on one metarouter: 128 processors need one metarouter for each corner.
const CUBES_PER_METAROUTER: u16 = 4;
/// Routers in a module.
const MODULE_ROUTERS: u16 = 2;

/// The other router of the module.
const SIBLING_PORT: Port = Port(6);
/// The first node of a router; the second is at the port below.
const FIRST_NODE_PORT: Port = Port(5);
/// Dimension 3, an express link, or the metarouter, depending on the size of the machine.
const THIRD_EXTERNAL_PORT: Port = Port(3);
/// The metarouters' first port to other metarouters.
const FIRST_BETWEEN_PORT: u16 = 5;

/// The shape that determines the network's wiring and routes.
#[derive(Clone, Copy, Debug)]
struct Shape {
    nodes: u16,
    nodes_per_router: u16,
    /// Routers with nodes.
    leaves: u16,
    /// Corners of a complete cube.
    corners: u16,
    /// Hypercubes joined by metarouters; 1 without.
    cubes: u16,
    express: bool,
}

impl Shape {
    fn new(spec: &TopologySpec, cables: &HypercubeSpec) -> Self {
        let nodes = spec.nodes() as u16;
        let nodes_per_router = spec.nodes_per_router as u16;
        let leaves = spec.routers_with_nodes() as u16;
        let pure = leaves <= PURE_CORNERS;
        let corners = if pure { leaves.next_power_of_two() } else { CUBE_CORNERS };
        let cubes = leaves.div_ceil(corners);
        let express = cables.express_links && pure && (corners == 4 || corners == 8);
        Self { nodes, nodes_per_router, leaves, corners, cubes, express }
    }

    /// Whether every corner of every cube is present.
    fn is_complete(self) -> bool {
        self.leaves == self.corners * self.cubes
    }

    /// Cube and corner of a router with nodes.
    fn leaf(self, router: u16) -> (u16, u16) {
        (router / self.corners, router % self.corners)
    }

    /// Metarouters at `corner`: one for each group of four cubes that has that corner.
    fn groups(self, corner: u16) -> u16 {
        if self.cubes == 1 {
            return 0;
        }
        let cubes = (self.leaves - corner).div_ceil(self.corners);
        cubes.div_ceil(CUBES_PER_METAROUTER)
    }

    /// The metarouter of `group` at `corner`; metarouters are numbered after the leaves, by group and corner.
    fn metarouter(self, group: u16, corner: u16) -> RouterId {
        RouterId(self.leaves + group * self.corners + corner)
    }

    /// The exit port of `router` for packets to `node`.
    fn exit(self, router: RouterId, node: NodeId) -> Port {
        let (to_cube, to_corner) = self.leaf(node.0 / self.nodes_per_router);
        if let Some(index) = router.0.checked_sub(self.leaves) {
            let (group, corner) = (index / self.corners, index % self.corners);
            return self.exit_of_metarouter(group, corner, to_cube);
        }
        let (cube, corner) = self.leaf(router.0);
        let other_cube = cube != to_cube;
        if !other_cube && corner == to_corner {
            return Port(FIRST_NODE_PORT.0 - (node.0 % self.nodes_per_router));
        }
        if self.express && corner ^ to_corner == self.corners - 1 {
            return THIRD_EXTERNAL_PORT;
        }
        let superfluous = corner & !to_corner;
        if other_cube && (self.is_complete() || superfluous == 0) {
            return THIRD_EXTERNAL_PORT;
        }
        port_of_dimension(next_dimension(corner, to_corner, self.is_complete()))
    }

    fn exit_of_metarouter(self, group: u16, corner: u16, to_cube: u16) -> Port {
        let to_group = to_cube / CUBES_PER_METAROUTER;
        if group == to_group {
            return Port((to_cube % CUBES_PER_METAROUTER) + 1);
        }
        let complete = self.groups(corner).is_power_of_two();
        Port(FIRST_BETWEEN_PORT + next_dimension(group, to_group, complete) as u16)
    }
}

/// The dimension of a packet's next hop from corner `from` to another corner `to`: in a complete cube the lowest that
/// differs, in an incomplete one the lowest bit to clear, and with none to clear the lowest to set.
fn next_dimension(from: u16, to: u16, complete: bool) -> u32 {
    let superfluous = from & !to;
    let differing = if complete || superfluous == 0 { from ^ to } else { superfluous };
    differing.trailing_zeros()
}

fn port_of_dimension(dimension: u32) -> Port {
    if dimension == 0 { SIBLING_PORT } else { Port(dimension as u16) }
}

/// Builds the network of `description`.
///
/// # Panics
/// The description has no hypercube, which [`crate::load`] rejects.
pub(super) fn build(description: &Description) -> Topology {
    let spec = &description.topology;
    let Some(cables) = &description.hypercube else { panic!("{} has no [hypercube]", description.name) };
    let shape = Shape::new(spec, cables);
    let mut builder = Builder::new(spec.propagation_per_m);
    add_leaves(&mut builder, shape);
    add_metarouters(&mut builder, shape);
    add_nodes(&mut builder, shape, cables);
    link_cubes(&mut builder, shape, cables);
    link_express(&mut builder, shape, cables);
    link_metarouters(&mut builder, shape, cables);
    let exit = |router, node| Some(shape.exit(router, node));
    builder.finish(description, &exit, None)
}

fn add_leaves(builder: &mut Builder, shape: Shape) {
    for router in 0..shape.leaves {
        let (cube, corner) = shape.leaf(router);
        let slot = (router % MODULE_ROUTERS) as u8 + 1;
        builder.router(RouterPlace::Leaf { cube, corner }, router / MODULE_ROUTERS + 1, slot);
    }
}

fn add_metarouters(builder: &mut Builder, shape: Shape) {
    let modules = shape.leaves.div_ceil(MODULE_ROUTERS);
    for group in 0..shape.groups(0) {
        for corner in (0..shape.corners).filter(|corner| group < shape.groups(*corner)) {
            let id = builder.router(RouterPlace::Metarouter { group, corner }, modules + group + 1, corner as u8 + 1);
            debug_assert_eq!(id, shape.metarouter(group, corner));
        }
    }
}

fn add_nodes(builder: &mut Builder, shape: Shape, cables: &HypercubeSpec) {
    let module_nodes = shape.nodes_per_router * MODULE_ROUTERS;
    for node in 0..shape.nodes {
        let router = RouterId(node / shape.nodes_per_router);
        let port = Port(FIRST_NODE_PORT.0 - (node % shape.nodes_per_router));
        builder.node(node / module_nodes + 1, (node % module_nodes) as u8 + 1, router, port, cables.backplane);
    }
}

fn link_cubes(builder: &mut Builder, shape: Shape, cables: &HypercubeSpec) {
    let dimensions = [
        (LinkClass::Backplane, cables.backplane),
        (LinkClass::ModuleCable, cables.module_cable),
        (LinkClass::RackCable, cables.rack_cable),
        (LinkClass::CubeCable, cables.cube_cable),
    ];
    for router in 0..shape.leaves {
        let (_, corner) = shape.leaf(router);
        for dimension in 0..shape.corners.trailing_zeros() {
            let peer = router ^ (1 << dimension);
            // Each link is added once, from the corner without the bit.
            if corner & (1 << dimension) == 0 && peer < shape.leaves {
                let port = port_of_dimension(dimension);
                let (class, length) = dimensions[dimension as usize];
                let ends = [router, peer].map(|end| Endpoint::Router(RouterId(end), port));
                builder.link(ends[0], ends[1], class, length);
            }
        }
    }
}

fn link_express(builder: &mut Builder, shape: Shape, cables: &HypercubeSpec) {
    if !shape.express {
        return;
    }
    for router in 0..shape.corners / 2 {
        let opposite = router ^ (shape.corners - 1);
        if opposite < shape.leaves {
            let ends = [router, opposite].map(|end| Endpoint::Router(RouterId(end), THIRD_EXTERNAL_PORT));
            builder.link(ends[0], ends[1], LinkClass::Express, cables.express_cable);
        }
    }
}

fn link_metarouters(builder: &mut Builder, shape: Shape, cables: &HypercubeSpec) {
    if shape.cubes == 1 {
        return;
    }
    for router in 0..shape.leaves {
        let (cube, corner) = shape.leaf(router);
        let port = Port((cube % CUBES_PER_METAROUTER) + 1);
        let above = Endpoint::Router(shape.metarouter(cube / CUBES_PER_METAROUTER, corner), port);
        let below = Endpoint::Router(RouterId(router), THIRD_EXTERNAL_PORT);
        builder.link(below, above, LinkClass::Metarouter, cables.metarouter_cable);
    }
    for corner in 0..shape.corners {
        let groups = shape.groups(corner);
        for group in 0..groups {
            for dimension in 0..groups.next_power_of_two().trailing_zeros() {
                let peer = group ^ (1 << dimension);
                if group < peer && peer < groups {
                    let port = Port(FIRST_BETWEEN_PORT + dimension as u16);
                    let ends = [group, peer].map(|end| Endpoint::Router(shape.metarouter(end, corner), port));
                    builder.link(ends[0], ends[1], LinkClass::BetweenMetarouters, cables.metarouter_cable);
                }
            }
        }
    }
}
