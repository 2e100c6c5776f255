//! The units of counters: the registers of each, and their events in each mode.

use units::Duration;

use super::register::Shape;
use super::{hub, magic, processor, router};

/// An event that a register counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedEvent {
    /// The short name, usable in formulas.
    pub name: &'static str,
    /// The description.
    pub what: &'static str,
}

/// The events that the registers of a unit count at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountingMode {
    /// The name.
    pub name: &'static str,
    /// The description.
    pub what: &'static str,
    /// The event of each register.
    pub events: &'static [CountedEvent],
}

/// A set of registers that are read, and switched between modes, together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CounterUnit {
    /// The memory and directory section of a Hub: six registers of 20 bits (Prestor 2001, Table 5.2).
    HubMemory,
    /// The input and output section of a Hub: one shift register of 20 bits (Prestor 2001, Table 5.3).
    HubIo,
    /// A port of a router: four registers of 16 bits that are halved together (Prestor 2001, Table 5.4). The queue
    /// histogram is that of one virtual channel.
    RouterPort {
        /// The virtual channel.
        channel: u8,
    },
    /// One of a processor's two 32-bit performance counters, as the operating system keeps it for each thread: the
    /// first counts events 0 to 15, the second events 16 to 31 (Prestor 2001, 5.2.1). The modes are the event numbers.
    Processor {
        /// Whether it is the second counter.
        second: bool,
    },
    /// The counters of MAGIC's protocol code in its memory: runs of each handler and their cycles.
    MagicHandlers,
    /// The cycle counts that MAGIC keeps with requests in its message buffers (FLASH dissertation, 5.5.2).
    MagicMessages,
    /// Busy times of a controller, its bus and its memory; no machine has these counters.
    NodeTruth,
    /// The service of a thread's misses, and its stall times; no machine has these counters.
    ThreadTruth,
}

impl CounterUnit {
    /// The way in which its registers count.
    pub const fn shape(self) -> Shape {
        match self {
            Self::HubMemory => Shape::Wrapping(20),
            Self::HubIo => Shape::Shifting(20),
            Self::RouterPort { .. } => Shape::Halving(16),
            Self::Processor { .. } => Shape::Wrapping(32),
            Self::MagicHandlers | Self::MagicMessages | Self::NodeTruth | Self::ThreadTruth => Shape::Wrapping(64),
        }
    }

    /// The modes that it can be switched to.
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

    /// The path below the node, router or thread that it belongs to (Prestor 2001, Table 5.5).
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

    /// The time for a processor of the same node to read all of its registers: 300 ns for each Hub register, by an
    /// uncached load, and 5 us for the four of a port together, by a vector operation (Prestor 2001, 5.3.1). Registers
    /// in the processor or in memory are taken to cost nothing.
    pub const fn access(self) -> Duration {
        match self {
            Self::HubMemory => Duration(6 * hub::REGISTER_READ.0),
            Self::HubIo => hub::REGISTER_READ,
            Self::RouterPort { .. } => router::VECTOR_READ,
            _ => Duration::ZERO,
        }
    }

    /// The highest count rate of its registers in counts per second; it bounds the interval of readings.
    pub const fn fastest(self, clock: units::Hertz) -> f64 {
        match self {
            Self::RouterPort { .. } => 50e6,
            _ => clock.0,
        }
    }

    /// The mode and the register that count the event of this name.
    pub fn find(self, event: &str) -> Option<(usize, usize)> {
        let register = |mode: &CountingMode| mode.events.iter().position(|counted| counted.name == event);
        self.modes().iter().enumerate().find_map(|(number, mode)| Some((number, register(mode)?)))
    }
}
