//! Periodic readings of counters: the units, the interval, the values.

use units::{CpuId, Duration, NodeId, Port, RouterId, Time};

use super::unit::{CounterUnit, CountingMode};

/// The owner of a unit of counters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A node.
    Node(NodeId),
    /// A port of a router.
    Port(RouterId, Port),
    /// A thread of the run, by number; its counters follow it from processor to processor.
    Thread(usize),
}

/// A unit to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watched {
    /// The owner.
    pub place: Place,
    /// The unit.
    pub unit: CounterUnit,
    /// The modes to select, by number. Several modes take turns, one round of readings each.
    pub modes: Vec<usize>,
}

impl Watched {
    /// The mode of round `turn`.
    pub fn mode(&self, turn: usize) -> &'static CountingMode {
        &self.unit.modes()[self.modes[turn]]
    }
}

/// A schedule of readings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watch {
    /// Time from one round of readings to the next.
    pub interval: Duration,
    /// The processor that reads, one unit after the other; it is held for the access time of each, at the expense of
    /// its program. `None` reads all units at one moment and without cost. The counters of threads are always read
    /// without cost.
    pub reader: Option<CpuId>,
    /// The units to read.
    pub units: Vec<Watched>,
}

/// One reading of a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Time of the reading.
    pub at: Time,
    /// The mode in effect until the reading, as an index into [`Watched::modes`].
    pub turn: usize,
    /// Start of the count. A unit of one mode counts on from reading to reading, except for a router's port, which a
    /// reading clears; a unit of several modes starts from zero at each turn.
    pub since: Time,
    /// Contents of its registers.
    pub registers: Vec<u64>,
    /// Exact number of occurrences of each event of this mode since the machine was made; hardware does not provide it.
    pub exact: Vec<u64>,
    /// For a thread: the processor that it runs on, if any.
    pub cpu: Option<CpuId>,
}

/// A round of readings.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// The time at which it was due.
    pub due: Time,
    /// By unit, in the order of [`Watch::units`].
    pub readings: &'a [Reading],
    /// The time that the reading processor spent.
    pub cost: Duration,
}

/// The callback at the end of every round.
pub type Watcher = Box<dyn FnMut(&Round<'_>)>;
