//! Who looks at which registers, how often, and what they see.

use units::{CpuId, Duration, NodeId, Port, RouterId, Time};

use super::unit::{CounterUnit, CountingMode};

/// What a unit of counters belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A node.
    Node(NodeId),
    /// A port of a router.
    Port(RouterId, Port),
    /// A thread of the run, by its number; its counters go with it from processor to processor.
    Thread(usize),
}

/// A unit that is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watched {
    /// Whose it is.
    pub place: Place,
    /// What it is.
    pub unit: CounterUnit,
    /// What it is told to count, by the numbers of its modes. Several take turns, a round of readings each.
    pub modes: Vec<usize>,
}

impl Watched {
    /// What it counts in its `turn`.
    pub fn mode(&self, turn: usize) -> &'static CountingMode {
        &self.unit.modes()[self.modes[turn]]
    }
}

/// Who looks how often at what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watch {
    /// From one round of readings to the next.
    pub interval: Duration,
    /// The processor that reads, one unit after the other, each for as long as an access to it takes; that time it has not for its
    /// program. Without, an observer from outside reads all at the same moment, and nobody pays. Threads' own counters are
    /// read for nothing either way.
    pub reader: Option<CpuId>,
    /// What is looked at.
    pub units: Vec<Watched>,
}

/// What was seen of a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// When.
    pub at: Time,
    /// Which of its modes it was in until then, in the order in which they were asked for.
    pub turn: usize,
    /// Since when it had counted, from zero. A unit of one mode goes on from one reading to the next, but for a router's port,
    /// which reading clears; of several modes each begins anew with its turn.
    pub since: Time,
    /// Contents of its registers.
    pub registers: Vec<u64>,
    /// What hardware does not tell: how often each event of this mode has occurred since the machine was made.
    pub exact: Vec<u64>,
    /// Of a thread: the processor that it runs on, if it has one.
    pub cpu: Option<CpuId>,
}

/// A round of readings.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// When it was due.
    pub due: Time,
    /// By unit, as they were asked for.
    pub readings: &'a [Reading],
    /// How long the processor that reads needed.
    pub cost: Duration,
}

/// Who is told of every round, at the end of it.
pub type Watcher = Box<dyn FnMut(&Round<'_>)>;
