//! The counters of a simulated machine in a profiler's terms: what there is, whose, and which register tells it.

use machine::Description;
use sim::counters::{CounterUnit, Shape};
use trace::{Counter, ObjectKind, Register};

/// The rate of the clock that a port's registers run by, in hertz (Prestor 2001, Table 5.4).
const LINK_HZ: u64 = 50_000_000;
/// Instructions that a processor can finish in a cycle: the R10000 and R12000 issue four.
const ISSUE: f64 = 4.0;
/// Groups of registers that are halved together.
const LINK_GROUP: u16 = 0;
const NODE_LINK_GROUP: u16 = 1;

/// Where the value of a counter comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A register of a unit of the object, in one of its modes.
    Register {
        /// The unit.
        unit: CounterUnit,
        /// The mode's number.
        mode: usize,
        /// The register's number.
        register: usize,
    },
    /// The same, of the router port that a node is connected to (`hub/ni`; Prestor 2001, Table 5.5).
    OwnPort {
        /// The unit.
        unit: CounterUnit,
        /// The mode's number.
        mode: usize,
        /// The register's number.
        register: usize,
    },
    /// The processor that a thread runs on, or ran on last.
    Cpu,
    /// The node of that processor.
    Node,
    /// Which of its node's processors that is.
    Slot,
}

/// A counter that there is to look at.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The counter.
    pub counter: Counter,
    /// Where it comes from.
    pub origin: Origin,
}

/// All counters that a machine has whose nodes have `node_units`; histograms of queues are of virtual channel `channel`.
pub fn offers(machine: &Description, node_units: &[CounterUnit], channel: u8) -> Vec<Offer> {
    let mut offers = Vec::new();
    let port = CounterUnit::RouterPort { channel };
    let controller = machine.controller_clock().map_or(0.0, |clock| clock.0);
    let processor = machine.processor.clock.0 * ISSUE;
    for &unit in node_units.iter().chain([&CounterUnit::NodeTruth]) {
        add(&mut offers, ObjectKind::Node, unit, controller, |mode, register| Origin::Register {
            unit,
            mode,
            register,
        });
    }
    own_port(&mut offers, port);
    add(&mut offers, ObjectKind::Link, port, LINK_HZ as f64, |mode, register| Origin::Register {
        unit: port,
        mode,
        register,
    });
    let level = |name, what, origin| Offer { counter: Counter::level(ObjectKind::Thread, name, "", what), origin };
    offers.push(level("cpu", "processor of the thread", Origin::Cpu));
    offers.push(level("node", "node of the thread", Origin::Node));
    offers.push(level("slot", "processor of the thread within its node", Origin::Slot));
    for unit in
        [false, true].map(|second| CounterUnit::Processor { second }).into_iter().chain([CounterUnit::ThreadTruth])
    {
        add(&mut offers, ObjectKind::Thread, unit, processor, |mode, register| Origin::Register {
            unit,
            mode,
            register,
        });
    }
    offers
}

/// Adds a counter for each visible event of a unit.
fn add(offers: &mut Vec<Offer>, of: ObjectKind, unit: CounterUnit, most: f64, origin: impl Fn(usize, usize) -> Origin) {
    for (number, mode) in unit.modes().iter().enumerate() {
        for (place, event) in mode.events.iter().enumerate().filter(|(_, event)| event.is_seen()) {
            let counter = Counter::with(
                of,
                event.name,
                unit_of(event.name, event.what),
                event.what,
                register(unit, event.name, LINK_GROUP),
            );
            let counter = if unit.shape().bits() < 64 { counter.at_most(most) } else { counter };
            offers.push(Offer { counter, origin: origin(number, place) });
        }
    }
}

/// A node's link to its router, seen from the router: utilisation only.
fn own_port(offers: &mut Vec<Offer>, unit: CounterUnit) {
    let names = [
        ("nibypass", "micropackets from the node that bypassed the router's queue"),
        ("nireceived", "micropackets from the node"),
        ("nisent", "micropackets to the node"),
        ("niclock", "50 MHz clock of the node's router port"),
    ];
    for (register, (name, what)) in names.into_iter().enumerate() {
        let held = self::register(unit, name, NODE_LINK_GROUP);
        let counter = Counter::with(ObjectKind::Node, name, "packets", what, held).at_most(LINK_HZ as f64);
        offers.push(Offer { counter, origin: Origin::OwnPort { unit, mode: 0, register } });
    }
}

fn register(unit: CounterUnit, name: &str, group: u16) -> Register {
    match unit.shape() {
        // Contents of a shift register are read as the count that they stand for.
        Shape::Wrapping(bits) | Shape::Shifting(bits) => Register::Wrapping { width: bits as u8 },
        Shape::Halving(bits) => {
            let clock = name.ends_with("clock").then_some(LINK_HZ);
            Register::Halving { width: bits as u8, group, clock }
        }
    }
}

/// The unit in which an event is counted.
fn unit_of(name: &str, what: &str) -> &'static str {
    match what {
        what if what.starts_with("ns ") => "ns",
        what if what.contains("icropackets") => "packets",
        what if what.contains("cycles") || name.starts_with("md") => "cycles",
        what if what.contains("ticks") || name.ends_with("clock") => "ticks",
        _ => "",
    }
}
