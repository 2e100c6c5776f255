//! Options of a simulation.

use units::Duration;

use crate::fault::Fault;

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
    /// Whether misses are classified by cause ([`crate::MissCause`]), which slows the host down several times.
    pub miss_causes: bool,
    /// Whether lost time is attributed to lines and sites of the program ([`crate::Simulator::losses`]); implies
    /// [`Options::miss_causes`].
    pub attribute: bool,
    /// A fault to plant in the machine: for tests of the tests.
    pub fault: Option<Fault>,
}
