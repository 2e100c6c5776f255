//! Cubes joined by metarouters: the metarouters in the middle, the cubes on both sides.

use super::canvas::{Align, Canvas, Layer, Look, Point, Words};
use super::cards::{self, CUBE, place};
use crate::graph::{LinkClass, Router, RouterPlace};
use crate::topology::Topology;

/// Corners of a cube, and thus planes of metarouters.
const CORNERS: u16 = 8;
const METAROUTER: (f64, f64) = (66.0, 24.0);
/// From the middle of the page to the middle of the nearest cards.
const AISLE: f64 = 240.0;

/// Draws up to four cubes with all their nodes, two on each side of the metarouters.
pub(super) fn draw_detailed(canvas: &mut Canvas, topology: &Topology, cubes: usize) {
    const ROW: f64 = CUBE.1 + 140.0;
    let rows = cubes.div_ceil(2);
    // Cubes in reading order; the left ones end where the aisle begins.
    let origin = |cube: u16| {
        let x = if cube.is_multiple_of(2) { -AISLE - CUBE.0 } else { AISLE };
        Point { x, y: f64::from(cube / 2) * ROW }
    };
    let pitch = rows as f64 * ROW / f64::from(CORNERS);
    let top = (CUBE.1 + (rows as f64 - 1.0) * ROW - pitch * f64::from(CORNERS - 1)) / 2.0;
    let at = |router: &Router| match router.place {
        RouterPlace::Leaf { cube, corner } => place(origin(cube), corner),
        _ => Point { x: 0.0, y: top + f64::from(cards::corner(router)) * pitch },
    };
    for router in topology.routers() {
        match router.is_metarouter() {
            false => cards::card(canvas, topology, router, at(router)),
            true => metarouter(canvas, router, at(router)),
        }
    }
    for link in topology.links() {
        canvas.at_link(Some(link.id));
        let Some([first, second]) = cards::routers(topology, link) else { continue };
        if link.class == LinkClass::Metarouter {
            up(canvas, at(first), at(second), cards::corner(first));
        } else {
            cards::between(canvas, link.class, [at(first), at(second)], cards::corner(first));
        }
    }
    canvas.at_link(None);
}

fn metarouter(canvas: &mut Canvas, router: &Router, at: Point) {
    canvas.block(Layer::Parts, Look::Metarouter, at, METAROUTER.0, METAROUTER.1);
    canvas.words(Words::OnRouter, Align::Centre, at, &format!("{}/r{}", router.module, router.slot));
}

/// The cable from a card to its metarouter: along the card's row to the aisle, above the sibling's card if that is in
/// between, and from there to the metarouter.
fn up(canvas: &mut Canvas, from: Point, to: Point, corner: u16) {
    const CLEARANCE: f64 = 21.0;
    const RUN_UP: f64 = 64.0;
    let towards = (to.x - from.x).signum();
    let sibling_between = (corner & 1 == 0) == (towards > 0.0);
    let aisle = |y| Point { x: -towards * (AISLE - 80.0), y };
    let row = if sibling_between {
        let over = from.offset(towards * RUN_UP, -CLEARANCE);
        let half = towards * RUN_UP / 2.0;
        canvas.curve(LinkClass::Metarouter, [from, from.offset(half, 0.0), over.offset(-half, 0.0), over]);
        over
    } else {
        from
    };
    let end = aisle(row.y);
    canvas.wire(Layer::Wires, LinkClass::Metarouter, row, end);
    canvas.curve(LinkClass::Metarouter, [end, end.offset(towards * 70.0, 0.0), to.offset(-towards * 110.0, 0.0), to]);
}

/// The tile of a cube: its size, and the distance between rows.
const TILE: (f64, f64) = (228.0, 92.0);
const TILE_ROW: f64 = 200.0;
/// From the middle of the page to the inner edge of the inner and the outer tiles.
const INNER: f64 = 250.0;
const OUTER: f64 = INNER + TILE.0 + 40.0;
/// Between two cables that leave a tile.
const PITCH: f64 = 8.0;

/// Draws any number of cubes as tiles. Groups alternate between left and right, so that a plane of metarouters is
/// a square whose sides are its links.
pub(super) fn draw_tiled(canvas: &mut Canvas, topology: &Topology, cubes: usize) {
    let plane_height = (cubes as f64 / 4.0).ceil() * TILE_ROW / f64::from(CORNERS) + 46.0;
    let groups_down = cubes.div_ceil(8);
    let height = plane_height * f64::from(CORNERS);
    let meta = |group: u16, corner: u16| Point {
        x: if group.is_multiple_of(2) { -62.0 } else { 62.0 },
        y: (f64::from(corner) + 0.5) * plane_height - height / 2.0
            + (f64::from(group / 2) - (groups_down as f64 - 1.0) / 2.0) * 40.0,
    };
    // The middle of a tile's inner edge. Outer tiles stand half a row lower, so that their cables pass between
    // the inner ones.
    let edge = |cube: u16| {
        let (group, member) = (cube / 4, cube % 4);
        let side = if group.is_multiple_of(2) { -1.0 } else { 1.0 };
        let outer = member % 2 == 1;
        let row = f64::from(group / 2 * 2 + member / 2) + if outer { 0.5 } else { 0.0 };
        let top = (groups_down as f64 * 2.0 - 0.5) / 2.0;
        Point { x: side * if outer { OUTER } else { INNER }, y: (row - top + 0.25) * TILE_ROW }
    };
    for cube in 0..cubes as u16 {
        tile(canvas, topology, cube, edge(cube));
    }
    for router in topology.routers() {
        if let RouterPlace::Metarouter { group, corner } = router.place {
            metarouter(canvas, router, meta(group, corner));
        }
    }
    for link in topology.links() {
        canvas.at_link(Some(link.id));
        let Some([first, second]) = cards::routers(topology, link) else { continue };
        match (first.place, second.place) {
            (RouterPlace::Leaf { cube, corner }, RouterPlace::Metarouter { group, .. }) => {
                bundle(canvas, edge(cube), meta(group, corner), corner);
            }
            (RouterPlace::Metarouter { group, corner }, RouterPlace::Metarouter { group: other, .. }) => {
                canvas.wire(Layer::Wires, link.class, meta(group, corner), meta(other, corner));
            }
            _ => {}
        }
    }
    canvas.at_link(None);
}

/// The cable from corner `corner` of a tile: straight past the inner tiles, then to its metarouter.
fn bundle(canvas: &mut Canvas, edge: Point, to: Point, corner: u16) {
    let side = edge.x.signum();
    let from = edge.offset(0.0, (f64::from(corner) - 3.5) * PITCH);
    let past = Point { x: side * (INNER - 8.0), y: from.y };
    canvas.wire(Layer::Wires, LinkClass::Metarouter, from, past);
    canvas.curve(LinkClass::Metarouter, [past, past.offset(-side * 80.0, 0.0), to.offset(side * 80.0, 0.0), to]);
}

/// Draws the tile of a cube, `edge` being the middle of the edge that faces the metarouters.
fn tile(canvas: &mut Canvas, topology: &Topology, cube: u16, edge: Point) {
    let outwards = edge.x.signum();
    let middle = edge.offset(outwards * TILE.0 / 2.0, 0.0);
    canvas.block(Layer::Parts, Look::Tile, middle, TILE.0, TILE.1);
    let routers: Vec<_> = topology
        .routers()
        .iter()
        .filter(|router| matches!(router.place, RouterPlace::Leaf { cube: its, .. } if its == cube))
        .collect();
    let small = |router: &Router| {
        let at = place(Point { x: 0.0, y: 0.0 }, cards::corner(router));
        middle.offset(at.x * 0.19 - 98.0, at.y * 0.19 - 35.5)
    };
    for link in topology.links() {
        canvas.at_link(Some(link.id));
        let Some([first, second]) = cards::routers(topology, link) else { continue };
        let inside = [first, second].iter().all(|end| routers.iter().any(|router| router.id == end.id));
        if inside {
            canvas.wire(Layer::Parts, link.class, small(first), small(second));
        }
    }
    canvas.at_link(None);
    for router in &routers {
        canvas.dot(small(router), 4.5);
    }
    let nodes = topology.nodes().iter().filter(|node| routers.iter().any(|router| router.id == node.router));
    let (first, last) = nodes.fold((None, None), |(first, _), node| (first.or(Some(node)), Some(node)));
    let (Some(first), Some(last)) = (first, last) else { return };
    let cpus = |node| topology.cpus_of(node);
    let (low, high) = (cpus(first.id).next(), cpus(last.id).last());
    let lines = [
        format!("modules {} to {}", first.module, last.module),
        format!("nodes {} to {}", first.id, last.id),
        format!("cpus {} to {}", low.unwrap_or_default(), high.unwrap_or_default()),
    ];
    let text = middle.offset(-2.0, -28.0);
    canvas.words(Words::NodeName, Align::Left, text, &format!("cube {cube}"));
    for (at, line) in lines.iter().enumerate() {
        canvas.words(Words::Caption, Align::Left, text.offset(0.0, 20.0 + at as f64 * 18.0), line);
    }
}
