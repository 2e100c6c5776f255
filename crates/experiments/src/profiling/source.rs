//! A simulated machine as a source of counters: rounds of readings in, what a profiler reads out.

use machine::{Description, Endpoint, Topology};
use profile::{CounterSource, Reading};
use sim::counters::{CounterUnit, Place, Round, Shape, Watched};
use trace::{Blind, Counter, Object, ObjectKind, Register, SourceDescription};
use units::{CpuId, NodeId, Port, RouterId, Time};

use super::offer::{Offer, Origin};

/// Bytes a second over the bus between processors and Hub (Prestor 2001, 5.3.3: the value that metrics assume for every board).
const BUS_BYTES_PER_SECOND: f64 = 570e6;

/// Objects to sample, and counters of each kind of them.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Nodes.
    pub nodes: Vec<NodeId>,
    /// Ports of routers.
    pub ports: Vec<(RouterId, Port)>,
    /// Names of threads, by their numbers, and where each begins.
    pub threads: Vec<(String, CpuId)>,
    /// Counters.
    pub offers: Vec<Offer>,
}

/// Where a counter of an object comes from.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Which of the watched units it is of.
    unit: usize,
    /// In which of its turns, and which register, is told; else where a thread is.
    told: Told,
}

#[derive(Clone, Copy, Debug)]
enum Told {
    Register { turn: usize, register: usize, shape: Shape, alone: bool },
    Cpu,
    Node,
    Slot,
}

impl Told {
    /// Level of a counter that tells where a thread is, for a machine with so many cores and cores on a node; `None` for a
    /// register.
    fn level(self, cpu: CpuId, (cores, of_node): (u16, u16)) -> Option<u16> {
        let core = cpu.0 % cores;
        match self {
            Self::Cpu => Some(cpu.0),
            Self::Node => Some(core / of_node),
            Self::Slot => Some(core % of_node),
            Self::Register { .. } => None,
        }
    }
}

/// State of a counter as last seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    reading: Reading,
    /// All that was counted in its turns.
    sum: u64,
    running_ns: u64,
    /// The count that its register stood for when it was last read.
    last: u64,
}

/// A simulated machine as a profiler sees it.
#[derive(Debug)]
pub struct SimulatedSource {
    description: SourceDescription,
    counters: Vec<Counter>,
    objects: Vec<Object>,
    constants: Vec<(String, f64)>,
    cells: Vec<Cell>,
    seen: Vec<Seen>,
    /// Cores of the machine, and of a node.
    cores: (u16, u16),
    now: Time,
    /// How much later it is when all has been read.
    cost_ns: u64,
}

fn ns(time: Time) -> u64 {
    time.0 / 1000
}

impl SimulatedSource {
    /// The source of all that is `chosen` of a machine; and the units that have to be watched for it.
    pub fn new(machine: &Description, topology: &Topology, chosen: &Chosen) -> (Self, Vec<Watched>) {
        let objects = objects(topology, chosen);
        let mut units: Vec<Watched> = Vec::new();
        let mut cells = Vec::new();
        for (object, place) in &objects {
            for offer in chosen.offers.iter().filter(|offer| offer.counter.of == object.kind) {
                cells.push(cell(topology, *place, offer, &mut units));
            }
        }
        // How many share a register is known only now.
        for cell in &mut cells {
            if let Told::Register { alone, .. } = &mut cell.told {
                *alone = units[cell.unit].modes.len() == 1;
            }
        }
        let in_turns = |offer: &Offer| match offer.origin {
            Origin::Register { unit, .. } => {
                units.iter().any(|watched| watched.unit == unit && watched.modes.len() > 1)
            }
            _ => false,
        };
        let counter = |offer: &Offer| {
            let counter = offer.counter.clone();
            if in_turns(offer) { counter.in_turns() } else { counter }
        };
        let spec = &machine.topology;
        let cores = (spec.processors as u16, spec.processors_per_node as u16);
        // A thread is where it begins until it is seen elsewhere.
        let before = |cell: &Cell| {
            let begins = match units[cell.unit].place {
                Place::Thread(thread) => chosen.threads.get(thread).map(|&(_, cpu)| cpu),
                _ => None,
            };
            let level = begins.and_then(|cpu| cell.told.level(cpu, cores));
            let reading = level.map_or(Reading::MISSING, |level| Reading::of(level.into()));
            Seen { reading, sum: 0, running_ns: 0, last: 0 }
        };
        let source = Self {
            description: describe(machine, chosen),
            counters: chosen.offers.iter().map(counter).collect(),
            objects: objects.into_iter().map(|(object, _)| object).collect(),
            constants: constants(machine),
            seen: cells.iter().map(before).collect(),
            cells,
            cores,
            now: Time::ZERO,
            cost_ns: 0,
        };
        (source, units)
    }

    /// Takes a round of readings in.
    pub fn take(&mut self, round: &Round<'_>) {
        (self.now, self.cost_ns) = (round.due, round.cost.0 / 1000);
        let cores = self.cores;
        for (cell, seen) in self.cells.iter().zip(&mut self.seen) {
            let reading = &round.readings[cell.unit];
            let Told::Register { turn, register, shape, alone } = cell.told else {
                if let Some(level) = reading.cpu.and_then(|cpu| cell.told.level(cpu, cores)) {
                    seen.reading = Reading::of(level.into());
                }
                continue;
            };
            let its_turn = reading.turn == turn;
            let contents = if its_turn { reading.registers[register] } else { 0 };
            match shape {
                Shape::Halving(_) if its_turn => seen.reading = Reading::of(contents),
                Shape::Halving(_) => seen.reading = Reading::MISSING,
                Shape::Wrapping(_) if alone => seen.reading = Reading::of(contents),
                Shape::Shifting(_) if alone => {
                    let (count, period) = (shape.count_of(contents), shape.period().unwrap_or(u64::MAX));
                    seen.sum += (count + period - seen.last) % period;
                    seen.last = count;
                    seen.reading = Reading::of(narrow(seen.sum, shape));
                }
                Shape::Wrapping(_) | Shape::Shifting(_) => {
                    if its_turn {
                        seen.sum += shape.count_of(contents);
                        seen.running_ns += ns(reading.at) - ns(reading.since);
                    }
                    seen.reading = Reading::in_turns(narrow(seen.sum, shape), ns(reading.at), seen.running_ns);
                }
            }
        }
    }
}

/// So much of a count as a register of that width holds.
fn narrow(sum: u64, shape: Shape) -> u64 {
    if shape.bits() < 64 { sum & ((1 << shape.bits()) - 1) } else { sum }
}

impl CounterSource for SimulatedSource {
    fn describe(&self) -> SourceDescription {
        self.description.clone()
    }

    fn counters(&self) -> &[Counter] {
        &self.counters
    }

    fn objects(&self) -> &[Object] {
        &self.objects
    }

    fn constants(&self) -> Vec<(String, f64)> {
        self.constants.clone()
    }

    fn now(&mut self) -> u64 {
        ns(self.now)
    }

    fn read(&mut self, readings: &mut [Reading]) {
        for ((reading, seen), cell) in readings.iter_mut().zip(&mut self.seen).zip(&self.cells) {
            *reading = seen.reading;
            // Registers that reading clears are read once.
            if matches!(cell.told, Told::Register { shape: Shape::Halving(_), .. }) {
                seen.reading = Reading::MISSING;
            }
        }
        self.now = Time(self.now.0 + std::mem::take(&mut self.cost_ns) * 1000);
    }
}

/// Where a counter of an object at `place` comes from; the unit joins those that are watched.
fn cell(topology: &Topology, place: Place, offer: &Offer, units: &mut Vec<Watched>) -> Cell {
    let (place, unit, mode, register) = match (offer.origin, place) {
        (Origin::Register { unit, mode, register }, place) => (place, unit, mode, register),
        (Origin::OwnPort { unit, mode, register }, Place::Node(node)) => {
            let node = &topology.nodes()[node.index()];
            (Place::Port(node.router, node.port), unit, mode, register)
        }
        // Where a thread is, every unit of it tells: one that counts for nothing.
        (_, place) => (place, CounterUnit::ThreadTruth, 0, 0),
    };
    let found = units.iter().position(|watched| watched.place == place && watched.unit == unit);
    let number = found.unwrap_or_else(|| {
        units.push(Watched { place, unit, modes: Vec::new() });
        units.len() - 1
    });
    let modes = &mut units[number].modes;
    let turn = modes.iter().position(|&other| other == mode).unwrap_or_else(|| {
        modes.push(mode);
        modes.len() - 1
    });
    let told = match offer.origin {
        Origin::Cpu => Told::Cpu,
        Origin::Node => Told::Node,
        Origin::Slot => Told::Slot,
        _ => Told::Register { turn, register, shape: unit.shape(), alone: true },
    };
    Cell { unit: number, told }
}

fn objects(topology: &Topology, chosen: &Chosen) -> Vec<(Object, Place)> {
    let node = |&node: &NodeId| (Object::node(node.0.into(), topology.nodes()[node.index()].path()), Place::Node(node));
    let port = |&(router, port): &(RouterId, Port)| {
        let path = topology.port_path(router, port);
        let key = u64::from(router.0) << 8 | u64::from(port.0);
        let mut object = Object::new(ObjectKind::Link, key, format!("r{}:{port}", router.0), path.clone());
        object.ends = topology.outgoing(router, port).map(|(_, to)| [path, topology.end_path(to)]);
        object.node = match topology.outgoing(router, port) {
            Some((_, Endpoint::Node(node))) => Some(node.0.into()),
            _ => None,
        };
        (object, Place::Port(router, port))
    };
    let thread = |(number, (title, _)): (usize, &(String, CpuId))| {
        let object = Object::new(ObjectKind::Thread, number as u64, format!("t{number}"), title.clone());
        (object, Place::Thread(number))
    };
    let nodes = chosen.nodes.iter().map(node);
    nodes.chain(chosen.ports.iter().map(port)).chain(chosen.threads.iter().enumerate().map(thread)).collect()
}

/// Numbers that formulas name.
pub fn constants(machine: &Description) -> Vec<(String, f64)> {
    let mut constants = vec![
        ("line_bytes".to_owned(), machine.coherent_cache().line.0 as f64),
        ("bus_bytes_per_second".to_owned(), BUS_BYTES_PER_SECOND),
        ("cpu_hz".to_owned(), machine.processor.clock.0),
        ("packet_bytes".to_owned(), machine.link.micropacket.0 as f64),
    ];
    constants.extend(machine.controller_clock().map(|clock| ("controller_hz".to_owned(), clock.0)));
    constants
}

fn describe(machine: &Description, chosen: &Chosen) -> SourceDescription {
    let count = |kind: ObjectKind| chosen.offers.iter().filter(|offer| offer.counter.of == kind).count();
    let sees = |kind: ObjectKind, objects: usize| {
        (objects > 0 && count(kind) > 0).then(|| format!("{objects} {kind}s, {} counters of each", count(kind)))
    };
    let narrow = chosen.offers.iter().filter_map(|offer| match offer.counter.register {
        Register::Wrapping { width } | Register::Halving { width, .. } if width < 64 => Some(width),
        _ => None,
    });
    let narrowest = narrow.min().map(|width| format!("registers of the hardware's width, {width} bits or more"));
    let sees = [
        sees(ObjectKind::Node, chosen.nodes.len()),
        sees(ObjectKind::Link, chosen.ports.len()),
        sees(ObjectKind::Thread, chosen.threads.len()),
        narrowest,
    ];
    let blind = [
        Blind::new("branches, floating-point operations, instruction caches", "not simulated", ""),
        Blind::new("other programs and the operating system's own data", "no other program runs", ""),
    ];
    SourceDescription {
        name: format!("simulated {}", machine.name),
        sees: sees.into_iter().flatten().collect(),
        blind: blind.into(),
    }
}
