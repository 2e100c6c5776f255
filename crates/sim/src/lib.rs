//! The timing simulator: processors, caches, Hubs, memory and network of a described machine, in integer time.
//!
//! Every state change of a line is made by the handlers of `protocol`, the very ones that `verify` explores. This crate
//! says when they run and what else happens meanwhile: every resource (cache bus, system bus, memory, link) is held for a
//! time and makes others wait. Programs run as coroutines; references that hit run without an event, as far ahead as
//! nothing can interfere ([`Mode::LookAhead`]), with the same result as an event for each ([`Mode::LockStep`]).

mod attribution;
mod causes;
pub mod counters;
mod error;
mod fault;
mod flash;
mod ideal;
mod memory;
mod observer;
mod origin;
mod os;
mod part;
mod processor;
pub mod random;
mod simulator;
mod statistics;
mod system;
mod thread;
mod thread_calls;
mod thread_changes;

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
pub use simulator::Simulator;
pub use statistics::{CacheStatistics, Histogram, NodeStatistics, Tally};
pub use system::{Incoherence, Job, ThreadReport, Unfinished};
pub use thread::{Program, Thread, ThreadId};

use units::Duration;

/// How far a program may run ahead of the rest of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// As far as nothing can interfere.
    #[default]
    LookAhead,
    /// Not at all: one event a reference. Slow; the oracle that look-ahead is tested against.
    LockStep,
}

/// Options of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How far a program may run ahead.
    pub mode: Mode,
    /// Whether every load and store is compared with the stores before it, hits included, and the end with all of them: for
    /// tests of protocols and simulator.
    pub check_loads: bool,
    /// The longest of the random delays that every message suffers at every step of its way, zero for none: for tests of
    /// protocols against orders of messages that a machine rarely shows.
    pub random_delay: Duration,
    /// Seed of the random choices of the hardware (replacement) and of the delays. Equal seeds give equal runs.
    pub seed: u64,
    /// Whether misses are told apart by their causes ([`MissCause`]): every reference costs the host several times as much.
    pub miss_causes: bool,
    /// Whether what processors lose is told by line and place of the program ([`Simulator::losses`]), which takes
    /// [`Options::miss_causes`] in.
    pub attribute: bool,
    /// A fault planted in the machine: for tests of tests.
    pub fault: Option<Fault>,
}
