//! The processor's own clock: how fast it runs now, by how long instructions of known latency take.

use units::{Bytes, Hertz};

use super::Clock;
use crate::HostError;
use crate::kernels::{Course, Features, Link, Operation, Routine};

/// Steps of a chain that is measured: at 1 to 5 GHz some 5 to 25 microseconds, long against the clock's overhead.
const STEPS: u64 = 400;
/// Runs of which the fastest counts: interrupts only ever add.
const RUNS: usize = 5;
/// Steps of a chain that is glanced at: 2 to 6 microseconds, of which the clock's overhead leaves an error of a few per
/// mille.
const STEPS_OF_GLANCE: u64 = 100;
/// Runs of a glance.
const RUNS_OF_GLANCE: usize = 2;
/// How far the two chains may disagree before the frequency is doubtful.
const AGREEMENT: f64 = 0.02;

/// Measures the frequency that the calling thread's processor runs at now.
#[derive(Debug)]
pub struct CoreClock {
    add: Routine,
    check: Routine,
}

/// A frequency, measured twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreFrequency {
    /// By additions of one cycle.
    pub by_add: Hertz,
    /// By the other instruction ([`Link::Check`]).
    pub by_check: Hertz,
}

impl CoreFrequency {
    /// The frequency.
    pub fn hertz(self) -> Hertz {
        self.by_add
    }

    /// Whether both instructions tell the same within 2 %: if not, the frequency changed meanwhile, or one of them does not
    /// take one cycle here, and results in cycles are doubtful.
    pub fn agrees(self) -> bool {
        (self.by_check.0 / self.by_add.0 - 1.0).abs() <= AGREEMENT
    }
}

impl CoreClock {
    /// Assembles the two chains.
    ///
    /// # Errors
    /// As [`Routine::assemble`].
    pub fn new() -> Result<Self, HostError> {
        let features = Features::detect();
        let chain = |link| Routine::assemble(Operation::Chain { link }, Bytes(0), &features);
        Ok(Self { add: chain(Link::Add)?, check: chain(Link::Check)? })
    }

    /// The frequency now, by both chains. Takes about 0.2 ms.
    pub fn measure(&self, clock: &Clock) -> CoreFrequency {
        let by_add = fastest(&self.add, clock, STEPS, RUNS);
        CoreFrequency { by_add, by_check: fastest(&self.check, clock, STEPS, RUNS) }
    }

    /// The frequency now, by two short runs of additions: some 5 microseconds, to be done around each sample.
    pub fn glance(&self, clock: &Clock) -> Hertz {
        fastest(&self.add, clock, STEPS_OF_GLANCE, RUNS_OF_GLANCE)
    }
}

/// The frequency by the fastest of `runs` runs of a chain of one-cycle instructions.
fn fastest(routine: &Routine, clock: &Clock, steps: u64, runs: usize) -> Hertz {
    let mut word = 0_u64;
    let course = Course::new(std::ptr::NonNull::from(&mut word).cast(), 1, steps);
    // SAFETY: a chain touches no memory.
    let once = || unsafe { routine.run(clock, &course, None) }.ticks();
    let ticks = (0..runs).map(|_| once()).min().unwrap_or(0).saturating_sub(clock.overhead().min).max(1);
    let links = (steps * u64::from(Operation::CHAIN)) as f64;
    Hertz(links * clock.rate().0 / ticks as f64)
}
