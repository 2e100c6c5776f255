//! What can be counted, unit by unit: which registers a unit has, and what each counts in each mode.

use units::Duration;

use super::register::Shape;
use super::{hub, magic, processor, router};

/// Something that a register counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedEvent {
    /// Its short name, fit for formulas.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
}

/// What the registers of a unit count at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountingMode {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub what: &'static str,
    /// By register.
    pub events: &'static [CountedEvent],
}

/// A set of registers that are read and told what to count together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CounterUnit {
    /// The memory and directory section of a Hub: six registers of 20 bits (Prestor 2001, Table 5.2).
    HubMemory,
    /// The input and output section of a Hub: one shift register of 20 bits (Prestor 2001, Table 5.3).
    HubIo,
    /// A port of a router: four registers of 16 bits that are halved together (Prestor 2001, Table 5.4). Histograms of queues are
    /// of the virtual channel named.
    RouterPort {
        /// Which.
        channel: u8,
    },
    /// One of the two performance counters of a processor, of 32 bits, as the operating system keeps it for a thread: the first
    /// counts events 0 to 15, the second events 16 to 31 (Prestor 2001, 5.2.1). Their numbers are the modes.
    Processor {
        /// The second.
        second: bool,
    },
    /// What MAGIC's protocol code counts in its memory: runs of each handler and their cycles.
    MagicHandlers,
    /// The cycles that MAGIC notes beside requests in its message buffers (FLASH dissertation, 5.5.2).
    MagicMessages,
    /// How long a controller, its bus and its memory were held: no machine has such counters.
    NodeTruth,
    /// How a thread's misses were served, and what it waited for: no machine has such counters.
    ThreadTruth,
}

impl CounterUnit {
    /// How its registers count.
    pub const fn shape(self) -> Shape {
        match self {
            Self::HubMemory => Shape::Wrapping(20),
            Self::HubIo => Shape::Shifting(20),
            Self::RouterPort { .. } => Shape::Halving(16),
            Self::Processor { .. } => Shape::Wrapping(32),
            Self::MagicHandlers | Self::MagicMessages | Self::NodeTruth | Self::ThreadTruth => Shape::Wrapping(64),
        }
    }

    /// What it can be told to count.
    pub const fn modes(self) -> &'static [CountingMode] {
        match self {
            Self::HubMemory => hub::MEMORY_MODES,
            Self::HubIo => hub::IO_MODES,
            Self::RouterPort { .. } => router::MODES,
            Self::Processor { second: false } => processor::FIRST,
            Self::Processor { second: true } => processor::SECOND,
            Self::MagicHandlers => magic::HANDLERS,
            Self::MagicMessages => magic::MESSAGES,
            Self::NodeTruth => hub::NODE_TRUTH,
            Self::ThreadTruth => processor::TRUTH,
        }
    }

    /// Where it is below the node, router or thread that it belongs to (Prestor 2001, Table 5.5).
    pub const fn edge(self) -> &'static str {
        match self {
            Self::HubMemory => "hub/md",
            Self::HubIo => "hub/io",
            Self::RouterPort { .. } => "stat",
            Self::Processor { second: false } => "counter/0",
            Self::Processor { second: true } => "counter/1",
            Self::MagicHandlers => "magic/handlers",
            Self::MagicMessages => "magic/messages",
            Self::NodeTruth | Self::ThreadTruth => "simulator",
        }
    }

    /// What reading all of its registers takes a processor of the same node: 300 ns for each register of a Hub, which is an
    /// uncached load, and 5 us for the four of a port at once, which a vector operation fetches (Prestor 2001, 5.3.1). What is
    /// in the processor or in memory takes next to nothing, and what no machine has nothing at all.
    pub const fn access(self) -> Duration {
        match self {
            Self::HubMemory => Duration(6 * hub::REGISTER_READ.0),
            Self::HubIo => hub::REGISTER_READ,
            Self::RouterPort { .. } => router::VECTOR_READ,
            _ => Duration::ZERO,
        }
    }

    /// The most that any of its registers can count in a second, which says how often it must be looked at.
    pub const fn fastest(self, clock: units::Hertz) -> f64 {
        match self {
            Self::RouterPort { .. } => 50e6,
            _ => clock.0,
        }
    }

    /// The mode that counts the event of this name, and its register.
    pub fn find(self, event: &str) -> Option<(usize, usize)> {
        let register = |mode: &CountingMode| mode.events.iter().position(|counted| counted.name == event);
        self.modes().iter().enumerate().find_map(|(number, mode)| Some((number, register(mode)?)))
    }
}
