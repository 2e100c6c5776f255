//! The timing simulator: processors, caches, Hubs, memory and network of a described machine, in integer time.
//!
//! Every state change of a line is made by the handlers of `protocol`, the very ones that `verify` explores. This crate
//! says when they run and what else happens meanwhile: every resource (cache bus, system bus, memory, link) is held for a
//! time and makes others wait. Programs run as coroutines; references that hit run without an event, as far ahead as
//! nothing can interfere ([`Mode::LookAhead`]), with the same result as an event for each ([`Mode::LockStep`]).

mod check;
mod error;
mod event;
mod home;
mod hub;
mod interface;
mod memory;
mod network;
mod processor;
mod simulator;
mod thread;
mod transport;

pub use check::Incoherence;
pub use error::SimError;
pub use hub::{HubCounters, MessageCounts};
pub use processor::ProcessorCounters;
pub use simulator::{Simulator, ThreadReport};
pub use thread::{Program, Thread};

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
    /// Whether every load that misses is compared with the last store to its line: for tests of protocols and simulator.
    pub check_loads: bool,
    /// Seed of the random choices of the hardware (replacement). Equal seeds give equal runs.
    pub seed: u64,
}
