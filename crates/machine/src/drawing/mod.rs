//! A picture of a topology as SVG: routers as the corners of cubes, with their nodes, processors and links.
//!
//! A router card shows the router (`1/r2` is `/hw/module/1/slot/r2/router`) above its nodes and their processors; the
//! two routers of a module share a box. A hypercube's dimension 0 runs right (inside a module), 1 down (inside a rack),
//! 2 into the page (between racks). Above 64 processors the metarouters stand in the middle; above 128 processors
//! a 32-processor cube is a tile, so that the picture still fits a slide. FLASH's clusters stand in the boxes of their
//! metacubes, the mesh routers towards the middle of the page, requests in one colour and replies in another. A ring is a
//! circle, joined rings are circles around that of their switches, a mesh a grid, and the nodes of a crossbar or an ideal network stand around it.
//! A server is its sockets, with the parts within them.

mod canvas;
mod cards;
mod fat;
mod legend;
mod mesh;
mod plain;
mod rings;
mod sockets;

use std::collections::BTreeMap;

use units::{LinkId, NodeId};

use crate::graph::{LinkClass, Router, RouterPlace};
use crate::topology::Topology;

use canvas::{Align, Canvas, Words};

/// Maximum number of cubes with every node drawn: 128 processors.
const MOST_DETAILED_CUBES: usize = 4;

/// The load of a machine's parts in percent, by number. Parts without a known load are drawn as usual.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Load {
    /// Nodes.
    pub nodes: BTreeMap<NodeId, f64>,
    /// Links, by the busier direction.
    pub links: BTreeMap<LinkId, f64>,
}

/// Draws `topology` as a self-contained SVG document.
pub fn svg(topology: &Topology) -> String {
    loaded_svg(topology, Load::default())
}

/// Draws `topology` with nodes and links coloured by load, from white to red, each with its figure as a tooltip.
pub fn loaded_svg(topology: &Topology, load: Load) -> String {
    let mut canvas = Canvas::new(load);
    let shape = Shape::of(topology);
    let tiled = matches!(shape, Shape::Cubes(cubes) if cubes > MOST_DETAILED_CUBES);
    match shape {
        Shape::Sockets(_) => {
            if let Some(package) = topology.package() {
                sockets::draw(&mut canvas, topology, package);
            }
        }
        Shape::Metacubes(metacubes) => mesh::draw(&mut canvas, topology, metacubes),
        Shape::Ring => plain::draw_ring(&mut canvas, topology, LinkClass::Node),
        Shape::SciRing => plain::draw_ring(&mut canvas, topology, LinkClass::Attachment),
        Shape::SciRings(rings) => rings::draw(&mut canvas, topology, rings),
        Shape::Grid(..) => plain::draw_grid(&mut canvas, topology),
        Shape::Star(_) => plain::draw_star(&mut canvas, topology),
        Shape::Cubes(1) => cards::draw_pure(&mut canvas, topology),
        Shape::Cubes(cubes) if tiled => fat::draw_tiled(&mut canvas, topology, cubes),
        Shape::Cubes(cubes) => fat::draw_detailed(&mut canvas, topology, cubes),
    }
    legend::draw(&mut canvas, topology, tiled);
    title(&mut canvas, topology, shape);
    canvas.finish(&format!("Topology of {}", topology.name()))
}

/// The shape of a whole topology, which determines its layout.
#[derive(Clone, Copy)]
enum Shape {
    /// This number of hypercubes, joined by metarouters if there is more than one.
    Cubes(usize),
    /// This number of metacubes of clusters.
    Metacubes(usize),
    /// A ring.
    Ring,
    /// A ring of SCI links.
    SciRing,
    /// This number of them, joined by a ring of switches.
    SciRings(u16),
    /// A two-dimensional mesh of this many columns and rows.
    Grid(u16, u16),
    /// All nodes around one part, which this names.
    Star(&'static str),
    /// This number of sockets of a server.
    Sockets(u16),
}

impl Shape {
    fn of(topology: &Topology) -> Self {
        let places = || topology.routers().iter().map(|router| router.place);
        match topology.routers().last().map(|router| router.place) {
            Some(RouterPlace::Ring { .. }) => return Self::Ring,
            Some(RouterPlace::LinkInterface { .. }) => return Self::SciRing,
            Some(RouterPlace::Switch { ring }) => return Self::SciRings(ring + 1),
            // The last router is the one in the last column and row.
            Some(RouterPlace::Grid { column, row }) => return Self::Grid(column + 1, row + 1),
            Some(RouterPlace::Crossbar) => return Self::Star("crossbar"),
            Some(RouterPlace::Ideal) => return Self::Star("ideal network"),
            Some(RouterPlace::Socket { socket }) => return Self::Sockets(socket + 1),
            _ => {}
        }
        let metacubes = places().filter_map(|place| match place {
            RouterPlace::Cluster { metacube, .. } => Some(usize::from(metacube) + 1),
            _ => None,
        });
        let cubes = places().filter_map(|place| match place {
            RouterPlace::Leaf { cube, .. } => Some(usize::from(cube) + 1),
            _ => None,
        });
        metacubes.max().map_or_else(|| Self::Cubes(cubes.max().unwrap_or(1)), Self::Metacubes)
    }
}

fn title(canvas: &mut Canvas, topology: &Topology, shape: Shape) {
    let counted = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let of_kind = |is: fn(&Router) -> bool| topology.routers().iter().filter(|router| is(router)).count();
    let (metarouters, mesh_routers) = (of_kind(Router::is_metarouter), of_kind(Router::is_mesh));
    let with_nodes = topology.routers().len() - metarouters - mesh_routers;
    let threads = topology.hardware_threads() / topology.processors();
    let threads = if threads > 1 { format!(" of {threads} hardware threads") } else { String::new() };
    let processors = counted(topology.processors() as usize, "processor") + &threads;
    let mut parts = vec![processors, counted(topology.nodes().len(), "node")];
    if !matches!(shape, Shape::Star(_) | Shape::SciRing | Shape::SciRings(_) | Shape::Sockets(_)) {
        parts.push(counted(with_nodes, if mesh_routers > 0 { "cluster router" } else { "router" }));
    }
    for (number, what) in [(metarouters, "metarouter"), (mesh_routers, "mesh router")] {
        if number > 0 {
            parts.push(counted(number, what));
        }
    }
    let dimensions = with_nodes.next_power_of_two().trailing_zeros() as usize;
    let kind = match shape {
        Shape::Metacubes(_) if mesh_routers == 0 => "; one cluster".into(),
        Shape::Metacubes(metacubes) => format!("; double mesh of {}", counted(metacubes, "metacube")),
        Shape::Ring => "; ring".into(),
        Shape::SciRing => "; SCI ring".into(),
        Shape::SciRings(rings) => format!("; {rings} SCI rings joined by a ring of switches"),
        Shape::Grid(columns, rows) => {
            format!("; mesh of {} by {}", counted(columns.into(), "column"), counted(rows.into(), "row"))
        }
        Shape::Star(what) => format!("; {what}"),
        Shape::Sockets(sockets) => format!("; {}", counted(sockets.into(), "socket")),
        Shape::Cubes(1) if dimensions == 0 => String::new(),
        Shape::Cubes(1) => format!("; bristled hypercube of {}", counted(dimensions, "dimension")),
        Shape::Cubes(cubes) => format!("; fat hypercube of {cubes} cubes"),
    };
    let at = canvas.top_left();
    canvas.words(Words::Title, Align::Left, at.offset(0.0, -66.0), topology.name());
    canvas.words(Words::Subtitle, Align::Left, at.offset(0.0, -38.0), &format!("{}{kind}", parts.join(", ")));
}

#[cfg(test)]
mod tests;
