//! The timing simulator: processors, caches, Hubs, memory and network of a described machine, in integer time.
//!
//! The handlers of `protocol`, the same ones that `verify` explores, make every state change of a line. This crate
//! schedules them and models contention: every resource (cache bus, system bus, memory, link) is occupied for a time
//! and makes others wait. Programs run as coroutines; references that hit run without an event, up to a look-ahead
//! horizon before which no other event can interfere ([`Mode::LookAhead`]). The result is the same as with one event
//! for each reference ([`Mode::LockStep`]).

mod attribution;
mod causes;
pub mod counters;
mod error;
mod fault;
mod flash;
mod ideal;
mod kernel;
mod memory;
mod observer;
mod origin;
mod os;
mod part;
mod processor;
pub mod random;
mod simulator;
mod smp;
mod statistics;
mod system;
mod thread;
mod thread_calls;
mod thread_changes;
mod unloaded;
mod wire;

pub use attribution::{LineLoss, Loss, WORD_BITS, WordSet};
pub use causes::MissCause;
pub use error::SimError;
pub use fault::Fault;
pub use flash::StallTerms;
pub use observer::Observed;
pub use origin::{HubCounters, MessageCounts};
pub use os::{PagingCounters, Scheduling, SchedulingCounters, SpaceSharing, TimeSharing, domain_nodes, places};
pub use processor::{
    Cause, Distance, ExternalCounts, Location, MissCounts, ProcessorCounters, Service, TimeSplit, Transaction,
};
pub use simulator::{Simulator, unloaded_reads};
pub use smp::register_bus;
pub use statistics::{CacheStatistics, Histogram, NodeStatistics, Tally};
pub use system::{Incoherence, Job, ThreadReport, Unfinished};
pub use thread::{Program, Thread, ThreadId};

pub use unloaded::UnloadedRead;
pub use wire::sci_ring;

use units::Duration;

/// How far a program may run ahead of the rest of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Up to the horizon before which no other event can interfere.
    #[default]
    LookAhead,
    /// Not at all: one event for each reference. Slow; the reference that look-ahead is tested against.
    LockStep,
}

/// Options of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How far a program may run ahead.
    pub mode: Mode,
    /// Whether every load and store, hits included, is compared with the stores before it, and the final memory with
    /// all of them: for tests of protocols and of the simulator.
    pub check_loads: bool,
    /// Maximum of the random delay of every message at every step of its way; zero for none. For tests of protocols
    /// with message orders that a machine rarely produces.
    pub random_delay: Duration,
    /// Seed of the random choices of the hardware (replacement) and of the delays. Equal seeds give equal runs.
    pub seed: u64,
    /// Whether misses are classified by cause ([`MissCause`]), which slows the host down several times.
    pub miss_causes: bool,
    /// Whether lost time is attributed to lines and sites of the program ([`Simulator::losses`]); implies
    /// [`Options::miss_causes`].
    pub attribute: bool,
    /// A fault to plant in the machine: for tests of the tests.
    pub fault: Option<Fault>,
}
