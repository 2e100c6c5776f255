//! Servers: each socket as a box with the stops of its on-die network and the parts at them, and the links between sockets.
//!
//! A mesh and the switches of an I/O die stand in columns and rows, core clusters beside the switch that their link leads to, and
//! a ring is a loop of two columns. Dies of a socket have boxes of their own. A core (c) has its number
//! in the machine; another part that of its kind in the socket: slices (s), memory controllers (m), links to other sockets (u) and to
//! memory nodes (x).

use units::{CpuId, NodeId};

use super::canvas::{Align, Canvas, Layer, Look, Point, Words};
use super::cards;
use crate::description::OnDieNetwork;
use crate::graph::{LinkClass, RouterPlace};
use crate::server::{Package, Stop, StopId};
use crate::topology::Topology;

/// The box of a stop.
const STOP: (f64, f64) = (76.0, 34.0);
/// From the middle of a stop to that of its neighbours.
const PITCH: (f64, f64) = (104.0, 58.0);
/// From the middle of a switch of an I/O die to that of its neighbours, with the core clusters beside it.
const SWITCH_PITCH: (f64, f64) = (150.0, 58.0);
/// From the outermost stops to the edge of a socket, and from one socket to the next.
const MARGIN: f64 = 34.0;
const BETWEEN_SOCKETS: f64 = 90.0;
/// Sockets beside each other.
const IN_A_ROW: u16 = 4;
/// Height of a socket's name.
const NAME: f64 = 26.0;

/// Places of the stops of a socket, from the middle of the first.
struct Plan {
    stops: Vec<Point>,
    least: Point,
    most: Point,
}

impl Plan {
    fn new(package: &Package) -> Self {
        let stops: Vec<Point> = (0..package.stops.len()).map(|stop| place(package, stop as StopId)).collect();
        let fold =
            |start: f64, of: fn(&Point) -> f64, pick: fn(f64, f64) -> f64| stops.iter().map(of).fold(start, pick);
        let least = Point {
            x: fold(f64::INFINITY, |at| at.x, f64::min) - STOP.0 / 2.0 - MARGIN,
            y: fold(f64::INFINITY, |at| at.y, f64::min) - STOP.1 / 2.0 - MARGIN - NAME,
        };
        let most = Point {
            x: fold(f64::NEG_INFINITY, |at| at.x, f64::max) + STOP.0 / 2.0 + MARGIN,
            y: fold(f64::NEG_INFINITY, |at| at.y, f64::max) + STOP.1 / 2.0 + MARGIN,
        };
        Self { stops, least, most }
    }

    fn size(&self) -> (f64, f64) {
        (self.most.x - self.least.x, self.most.y - self.least.y)
    }

    /// The place of a socket's first stop.
    fn origin(&self, socket: u16) -> Point {
        let (width, height) = self.size();
        let (column, row) = (f64::from(socket % IN_A_ROW), f64::from(socket / IN_A_ROW));
        Point { x: column * (width + BETWEEN_SOCKETS), y: row * (height + BETWEEN_SOCKETS) }
    }
}

/// The place of a stop in its socket.
fn place(package: &Package, stop: StopId) -> Point {
    let Stop { column, row, cluster } = package.stops[usize::from(stop)];
    match (package.network, cluster) {
        (OnDieNetwork::Mesh, _) => Point { x: f64::from(column) * PITCH.0, y: f64::from(row) * PITCH.1 },
        (OnDieNetwork::Rings, _) => {
            let length = package.stops.iter().filter(|other| other.row == row).count() as u16;
            let down = length.div_ceil(2);
            let (side, height) = if column < down { (0, column) } else { (1, length - 1 - column) };
            Point { x: f64::from(2 * row + side) * PITCH.0, y: f64::from(height) * PITCH.1 }
        }
        (OnDieNetwork::IoDie, None) => switch(package, column, row),
        (OnDieNetwork::IoDie, Some(cluster)) => {
            // Clusters stand outside the switches, one below another.
            let beside = |other: &Stop| (other.column, other.row) == (column, row) && other.cluster < Some(cluster);
            let number = package.stops.iter().filter(|other| other.cluster.is_some() && beside(other)).count();
            let out = if 2 * column < package.columns { -1.0 } else { 1.0 };
            let height = number as f64 - (rows_of_a_switch(package) - 1.0) / 2.0;
            switch(package, column, row).offset(out * SWITCH_PITCH.0, height * SWITCH_PITCH.1)
        }
    }
}

/// Core clusters beside a switch of an I/O die, at most.
fn rows_of_a_switch(package: &Package) -> f64 {
    let at = |stop: &Stop| {
        package
            .stops
            .iter()
            .filter(|other| other.cluster.is_some() && (other.column, other.row) == (stop.column, stop.row))
            .count()
    };
    package.stops.iter().map(at).max().unwrap_or(1).max(1) as f64
}

fn switch(package: &Package, column: u16, row: u16) -> Point {
    Point {
        x: f64::from(column) * SWITCH_PITCH.0,
        y: f64::from(row) * SWITCH_PITCH.1 * (rows_of_a_switch(package) + 0.6),
    }
}

/// Draws the sockets of a server.
pub(super) fn draw(canvas: &mut Canvas, topology: &Topology, package: &Package) {
    let plan = Plan::new(package);
    let (width, height) = plan.size();
    for router in topology.routers() {
        let RouterPlace::Socket { socket } = router.place else { continue };
        let origin = plan.origin(socket);
        let middle = origin.offset((plan.least.x + plan.most.x) / 2.0, (plan.least.y + plan.most.y) / 2.0);
        canvas.block(Layer::Ground, Look::Module, middle, width, height);
        let name = origin.offset(plan.least.x + width / 2.0, plan.least.y + NAME);
        canvas.words(Words::Caption, Align::Centre, name, &nodes(topology, router.id.0));
        dies(canvas, package, &plan, origin);
        for edge in package.edges().iter().filter(|edge| edge.from < edge.to) {
            let [from, to] = [edge.from, edge.to].map(|stop| on(&plan, origin, stop));
            canvas.wire(Layer::Wires, LinkClass::OnDie, from, to);
        }
        for stop in 0..package.stops.len() as StopId {
            stop_box(canvas, package, socket, stop, on(&plan, origin, stop));
        }
    }
    between_sockets(canvas, topology, &plan);
    memory_nodes(canvas, topology, package, &plan);
}

fn on(plan: &Plan, origin: Point, stop: StopId) -> Point {
    let at = plan.stops[usize::from(stop)];
    origin.offset(at.x, at.y)
}

/// The NUMA nodes and the processors of a socket, in words.
fn nodes(topology: &Topology, socket: u16) -> String {
    let of_socket =
        topology.nodes().iter().filter(|node| node.router.0 == socket && topology.cpus_of(node.id).len() > 0);
    let named = of_socket.map(|node| {
        let mut cpus = topology.cpus_of(node.id);
        let (first, last) = (cpus.next().unwrap_or(CpuId(0)), cpus.last());
        let range = last.map_or_else(|| first.to_string(), |last| format!("{first}-{last}"));
        format!("n{} cpu {range}", node.id)
    });
    format!("socket {socket}: {}", named.collect::<Vec<_>>().join(", "))
}

/// The boxes of the dies of a socket that has several.
fn dies(canvas: &mut Canvas, package: &Package, plan: &Plan, origin: Point) {
    let all: Vec<u16> = (0..package.stops.len() as StopId).map(|stop| package.die_of(stop)).collect();
    let most = all.iter().copied().max().unwrap_or(0);
    for die in (0..=most).filter(|_| most > 0) {
        let stops = (0..).zip(&all).filter(|&(_, &of)| of == die).map(|(stop, _)| on(plan, origin, stop));
        let stops: Vec<Point> = stops.collect();
        let reach = |of: fn(&Point) -> f64| {
            let all = || stops.iter().map(of);
            (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (top, bottom)) = (reach(|at| at.x), reach(|at| at.y));
        let middle = Point { x: (left + right) / 2.0, y: (top + bottom) / 2.0 };
        canvas.block(Layer::Ground, Look::Tile, middle, right - left + STOP.0 + 14.0, bottom - top + STOP.1 + 14.0);
    }
}

/// A stop with its parts in words, or a dot where there are none.
fn stop_box(canvas: &mut Canvas, package: &Package, socket: u16, stop: StopId, at: Point) {
    let before = usize::from(socket) * package.cores.len();
    let cores = numbers(&package.cores, stop, "c", before);
    let others: Vec<String> =
        [(&package.slices, "s"), (&package.memories, "m"), (&package.links, "u"), (&package.memory_links, "x")]
            .into_iter()
            .filter_map(|(parts, letter)| numbers(parts, stop, letter, 0))
            .collect();
    if cores.is_none() && others.is_empty() {
        return canvas.dot(at, 4.0);
    }
    let first = package.cores.iter().position(|&of| of == stop);
    let node = first.map(|core| NodeId(socket * package.nodes + package.node_of_core(core as u16)));
    canvas.at_node(node);
    canvas.block(Layer::Parts, if cores.is_some() { Look::Node } else { Look::Tile }, at, STOP.0, STOP.1);
    match cores {
        Some(cores) => {
            canvas.words(Words::NodeName, Align::Centre, at.offset(0.0, -7.0), &cores);
            canvas.words(Words::CpuNames, Align::Centre, at.offset(0.0, 9.0), &others.join(" "));
        }
        None => canvas.words(Words::CpuNames, Align::Centre, at, &others.join(" ")),
    }
    canvas.at_node(None);
}

/// The numbers of the parts at a stop: `c4-7`, behind those `before` this socket.
fn numbers(parts: &[StopId], stop: StopId, letter: &str, before: usize) -> Option<String> {
    let mut here = (0..parts.len()).filter(|&part| parts[part] == stop).map(|part| before + part);
    let first = here.next()?;
    Some(here.next_back().map_or_else(|| format!("{letter}{first}"), |last| format!("{letter}{first}-{last}")))
}

/// The links between sockets, from edge to edge: straight between neighbours, above the sockets of a row between others, and
/// down between rows.
fn between_sockets(canvas: &mut Canvas, topology: &Topology, plan: &Plan) {
    let (width, height) = plan.size();
    for link in topology.links().iter().filter(|link| link.class == LinkClass::BetweenSockets) {
        let Some(ends) = cards::routers(topology, link) else { continue };
        let [one, other] = ends.map(|router| router.id.0);
        let middle = |socket: u16| {
            let corner = plan.origin(socket).offset(plan.least.x, plan.least.y);
            corner.offset(width / 2.0, height / 2.0)
        };
        let (from, to) = (middle(one), middle(other));
        canvas.at_link(Some(link.id));
        if one / IN_A_ROW != other / IN_A_ROW {
            canvas.wire(Layer::Wires, link.class, from.offset(0.0, height / 2.0), to.offset(0.0, -height / 2.0));
        } else if one.abs_diff(other) == 1 {
            canvas.wire(Layer::Wires, link.class, from.offset(width / 2.0, 0.0), to.offset(-width / 2.0, 0.0));
        } else {
            let rise = 30.0 * f64::from(one.abs_diff(other));
            let [from, to] = [from, to].map(|at| at.offset(0.0, -height / 2.0));
            canvas.curve(link.class, [from, from.offset(40.0, -rise), to.offset(-40.0, -rise), to]);
        }
        canvas.at_link(None);
    }
}

/// The memory nodes, below their sockets.
fn memory_nodes(canvas: &mut Canvas, topology: &Topology, package: &Package, plan: &Plan) {
    let (_, height) = plan.size();
    for node in topology.nodes().iter().filter(|node| topology.cpus_of(node.id).len() == 0) {
        let RouterPlace::Socket { socket } = topology.routers()[node.router.index()].place else { continue };
        let origin = plan.origin(socket);
        let number = f64::from(node.port.0 - package.nodes - 1);
        let at = origin.offset(plan.least.x + 60.0 + number * 90.0, plan.least.y + height + 30.0);
        let from = on(plan, origin, package.memory_links.first().copied().unwrap_or(0));
        canvas.at_link(Some(node.link));
        canvas.wire(Layer::Wires, LinkClass::MemoryNode, from, at);
        canvas.at_link(None);
        canvas.at_node(Some(node.id));
        canvas.block(Layer::Parts, Look::Node, at, STOP.0, STOP.1);
        canvas.words(Words::NodeName, Align::Centre, at.offset(0.0, -7.0), &format!("n{}", node.id));
        canvas.words(Words::CpuNames, Align::Centre, at.offset(0.0, 9.0), "memory");
        canvas.at_node(None);
    }
}
