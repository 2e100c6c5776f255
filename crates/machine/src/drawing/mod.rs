//! A picture of a topology as SVG: routers as the corners of cubes, with their nodes, processors and links.
//!
//! A router card shows the router (`1/r2` is `/hw/module/1/slot/r2/router`) above its nodes and their processors; the
//! two routers of a module share a box. A hypercube's dimension 0 runs right (inside a module), 1 down (inside a rack),
//! 2 into the page (between racks). Above 64 processors the metarouters stand in the middle; above 128 processors
//! a 32-processor cube is a tile, so that the picture still fits a slide.

mod canvas;
mod cards;
mod fat;
mod legend;

use crate::topology::{RouterPlace, Topology};

use canvas::{Align, Canvas, Words};

/// The most cubes whose nodes are all drawn: 128 processors.
const MOST_DETAILED_CUBES: usize = 4;

/// Draws `topology` as a self-contained SVG document.
pub fn svg(topology: &Topology) -> String {
    let mut canvas = Canvas::new();
    let cubes = cubes(topology);
    if cubes == 1 {
        cards::draw_pure(&mut canvas, topology);
    } else if cubes <= MOST_DETAILED_CUBES {
        fat::draw_detailed(&mut canvas, topology, cubes);
    } else {
        fat::draw_tiled(&mut canvas, topology, cubes);
    }
    legend::draw(&mut canvas, topology, cubes > MOST_DETAILED_CUBES);
    title(&mut canvas, topology, cubes);
    canvas.finish(&format!("Topology of {}", topology.name()))
}

/// How many hypercubes the metarouters join; 1 without metarouters.
fn cubes(topology: &Topology) -> usize {
    let cube = |place| match place {
        RouterPlace::Leaf { cube, .. } => usize::from(cube),
        RouterPlace::Metarouter { .. } => 0,
    };
    topology.routers().iter().map(|router| cube(router.place) + 1).max().unwrap_or(1)
}

fn title(canvas: &mut Canvas, topology: &Topology, cubes: usize) {
    let metarouters = topology.routers().iter().filter(|router| router.is_metarouter()).count();
    let leaves = topology.routers().len() - metarouters;
    let counted = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let mut parts = vec![
        counted(topology.processors() as usize, "processor"),
        counted(topology.nodes().len(), "node"),
        counted(leaves, "router"),
    ];
    if metarouters > 0 {
        parts.push(counted(metarouters, "metarouter"));
    }
    let dimensions = leaves.next_power_of_two().trailing_zeros() as usize;
    let kind = match (cubes, dimensions) {
        (1, 0) => String::new(),
        (1, _) => format!("; bristled hypercube of {}", counted(dimensions, "dimension")),
        _ => format!("; fat hypercube of {cubes} cubes"),
    };
    let at = canvas.top_left();
    canvas.words(Words::Title, Align::Left, at.offset(0.0, -66.0), topology.name());
    canvas.words(Words::Subtitle, Align::Left, at.offset(0.0, -38.0), &format!("{}{kind}", parts.join(", ")));
}

#[cfg(test)]
mod tests;
