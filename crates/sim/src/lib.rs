//! The timing simulator: processors, caches, Hubs, memory and network of a described machine, in integer time.
//!
//! The handlers of `protocol`, the same ones that `verify` explores, make every state change of a line. This crate
//! schedules them and models contention: every resource (cache bus, system bus, memory, link) is occupied for a time
//! and makes others wait. Programs run as coroutines; references that hit run without an event, up to a look-ahead
//! horizon before which no other event can interfere ([`Mode::LookAhead`]). The result is the same as with one event
//! for each reference ([`Mode::LockStep`]).

mod account;
mod cluster;
pub mod counters;
mod error;
mod fault;
mod flash;
mod ideal;
mod incoherence;
mod kernel;
mod map;
mod memory;
mod observe;
mod options;
mod origin;
mod os;
mod part;
mod processor;
pub mod random;
mod sci;
mod server;
mod simulated;
mod simulator;
mod smp;
mod snooping;
mod statistics;
mod system;
mod thread;
mod thread_calls;
mod thread_changes;
mod unloaded;
mod wire;

pub use account::{
    Cause, Distance, ExternalCounts, MissCause, MissCounts, ProcessorCounters, Service, StallTerms, TimeSplit,
    Transaction,
};
pub use error::SimError;
pub use fault::Fault;
pub use incoherence::{Incoherence, Unfinished};
pub use observe::{LineLoss, Loss, Observed, WORD_BITS, WordSet};
pub use options::{Mode, Options};
pub use origin::{HubCounters, MessageCounts};
pub use os::{PagingCounters, Scheduling, SchedulingCounters, SpaceSharing, TimeSharing, domain_nodes, places};
pub use processor::Location;
pub use simulator::{Simulator, unloaded_reads};
pub use smp::register_bus;
pub use statistics::{CacheStatistics, Histogram, LinkStatistics, NodeStatistics, PageStatistics, Tally};
pub use system::{Job, ThreadReport};
pub use thread::{Program, Thread, ThreadId};

pub use unloaded::UnloadedRead;
pub use wire::sci_ring;
