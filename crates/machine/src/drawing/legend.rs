//! The legend of the picture's colours and symbols, for those that appear in it.

use std::collections::BTreeMap;

use super::canvas::{Align, Canvas, Layer, Look, Point, Words};
use crate::graph::{LinkClass, RouterPlace, VirtualNetwork};
use crate::topology::Topology;

/// The width of an entry's symbol, and of an entry.
const SIGN: f64 = 44.0;
const ENTRY: f64 = 285.0;
/// The width of an entry where networks have cables of their own, whose names are longer.
const WIDE_ENTRY: f64 = 330.0;
const LINE: f64 = 26.0;
/// The loads whose colours are shown, in percent.
const LOADS: [f64; 4] = [0.0, 33.0, 67.0, 100.0];

/// Draws the legend below everything else; `tiled` if nodes are not drawn one by one.
pub(super) fn draw(canvas: &mut Canvas, topology: &Topology, tiled: bool) {
    let corner = canvas.bottom_left().offset(0.0, 50.0);
    let entry = if topology.separates_replies() { WIDE_ENTRY } else { ENTRY };
    let columns = (((canvas.width() + 60.0) / entry) as usize).max(1);
    let mut cells = (0..).map(|cell| {
        let (row, column) = (cell / columns, cell % columns);
        corner.offset(column as f64 * entry, row as f64 * LINE)
    });
    let mut next = || cells.next().unwrap_or(corner);
    if topology.package().is_some() {
        sign(canvas, Look::Node, next(), "c0", "core and slice (s) at a stop");
        sign(canvas, Look::Tile, next(), "", "memory controller (m), links (u, x)");
    } else if let Some(node) = topology.nodes().last().filter(|_| !tiled) {
        let router = &topology.routers()[node.router.index()];
        let name = format!("{}/r{}", router.module, router.slot);
        let what = match router.place {
            RouterPlace::LinkInterface { .. } => "link interface",
            RouterPlace::Crossbar => "crossbar",
            RouterPlace::Ideal => "ideal network",
            _ => "router",
        };
        let meaning = format!("{what} r{} of module {}", router.slot, router.module);
        sign(canvas, Look::Router, next(), &name, &meaning);
        sign(canvas, Look::Node, next(), &format!("n{}", node.id), "node board and its processors");
    }
    if let Some(router) = topology.routers().iter().find(|router| router.is_metarouter()) {
        let name = format!("{}/r{}", router.module, router.slot);
        let meaning = format!("metarouter r{} of module {}", router.slot, router.module);
        sign(canvas, Look::Metarouter, next(), &name, &meaning);
    }
    let is_switch = |place| matches!(place, RouterPlace::Switch { .. });
    if let Some(router) = topology.routers().iter().find(|router| is_switch(router.place)) {
        let name = format!("{}/r{}", router.module, router.slot);
        sign(canvas, Look::Metarouter, next(), &name, &format!("switch r{} of module {}", router.slot, router.module));
    }
    for network in VirtualNetwork::ALL {
        let of_network = |place| matches!(place, RouterPlace::Mesh { network: its, .. } if its == network);
        if let Some(router) = topology.routers().iter().find(|router| of_network(router.place)) {
            let name = format!("{}/r{}", router.module, router.slot);
            let meaning = format!("{network} mesh router r{} of module {}", router.slot, router.module);
            sign(canvas, Look::Mesh(network), next(), &name, &meaning);
        }
    }
    // All links of a class have the length that the description gives for the class.
    let classes: BTreeMap<LinkClass, _> = topology.links().iter().map(|link| (link.class, link)).collect();
    for (class, link) in classes {
        if tiled && class == LinkClass::Node {
            continue;
        }
        let at = next();
        canvas.wire(Layer::Parts, class, at, at.offset(SIGN, 0.0));
        let meaning = match class {
            LinkClass::OnDie => class.to_string(),
            LinkClass::Interface
            | LinkClass::Attachment
            | LinkClass::Sci
            | LinkClass::SciBetweenSwitches
            | LinkClass::BetweenSockets
            | LinkClass::MemoryNode => {
                format!("{class}, {:.1} ns", link.delay.as_ns())
            }
            _ => format!("{class}, {}, {:.1} ns", link.length, link.delay.as_ns()),
        };
        canvas.words(Words::Caption, Align::Left, at.offset(SIGN + 12.0, 0.0), &meaning);
    }
    if canvas.has_load() {
        let at = next();
        for (step, percent) in LOADS.into_iter().enumerate() {
            let middle = at.offset((step as f64 + 0.5) * SIGN / LOADS.len() as f64, 0.0);
            canvas.load_sign(middle, SIGN / LOADS.len() as f64, 16.0, percent);
        }
        canvas.words(Words::Caption, Align::Left, at.offset(SIGN + 12.0, 0.0), "load, from 0 % to 100 % of the time");
    }
}

fn sign(canvas: &mut Canvas, look: Look, at: Point, name: &str, meaning: &str) {
    let middle = at.offset(SIGN / 2.0, 0.0);
    canvas.block(Layer::Parts, look, middle, SIGN, 20.0);
    let words = if matches!(look, Look::Node) { Words::NodeName } else { Words::OnRouter };
    canvas.words(words, Align::Centre, middle, name);
    canvas.words(Words::Caption, Align::Left, at.offset(SIGN + 12.0, 0.0), meaning);
}
