//! The processor's own clock: how fast it runs now, by how long instructions of known latency take.

use record::Disturbance;
use units::{Bytes, Hertz};

use super::Clock;
use crate::HostError;
use crate::kernels::{Course, Features, Link, Operation, Routine};

/// Steps of a chain that is measured at least: at 1 to 5 GHz some 5 to 25 microseconds, long against the clock's overhead.
const STEPS: u64 = 400;
/// Runs of which the fastest counts: interrupts only ever add.
const RUNS: usize = 5;
/// Steps of a chain that is glanced at, at least: 2 to 6 microseconds, of which the clock's overhead leaves an error of a
/// few per mille.
const STEPS_OF_GLANCE: u64 = 100;
/// Runs of a glance.
const RUNS_OF_GLANCE: usize = 2;
/// Ticks of the clock that a chain takes at least: AArch64's counter may run at 25 MHz only, and a tick at either end must
/// not pass for a change of frequency.
const LEAST_TICKS: f64 = 500.0;
/// No processor is faster, in hertz.
const FASTEST: f64 = 6.5e9;

/// How far two frequencies may be apart, relatively, and still pass for the same: records call a sample disturbed beyond it
/// as well.
pub(crate) const TOLERANCE: f64 = Disturbance::CLOCK_TOLERANCE_PERMILLE as f64 / 1000.0;

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
        (self.by_check.0 / self.by_add.0 - 1.0).abs() <= TOLERANCE
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

    /// The frequency now, by both chains. Takes about 0.2 ms; more if the clock is slow.
    pub fn measure(&self, clock: &Clock) -> CoreFrequency {
        let by_add = fastest(&self.add, clock, STEPS, RUNS);
        CoreFrequency { by_add, by_check: fastest(&self.check, clock, STEPS, RUNS) }
    }

    /// The frequency now, by two short runs of additions: some 5 microseconds, to be done around each sample; more if the
    /// clock is slow (150 microseconds at 25 MHz).
    pub fn glance(&self, clock: &Clock) -> Hertz {
        fastest(&self.add, clock, STEPS_OF_GLANCE, RUNS_OF_GLANCE)
    }
}

/// How many steps of a chain take [`LEAST_TICKS`] of a clock of that rate on any processor, but at least `least`.
fn steps_for(rate: Hertz, least: u64) -> u64 {
    let links = LEAST_TICKS * FASTEST / rate.0;
    least.max((links / f64::from(Operation::CHAIN)).ceil() as u64)
}

/// The frequency by the fastest of `runs` runs of a chain of one-cycle instructions, of `least` steps or more.
fn fastest(routine: &Routine, clock: &Clock, least: u64, runs: usize) -> Hertz {
    let steps = steps_for(clock.rate(), least);
    let mut word = 0_u64;
    let course = Course::new(std::ptr::NonNull::from(&mut word).cast(), 1, steps);
    // SAFETY: a chain touches no memory.
    let once = || unsafe { routine.run(clock.source(), &course, None) }.ticks();
    let ticks = (0..runs).map(|_| once()).min().unwrap_or(0).saturating_sub(clock.overhead().min).max(1);
    let links = (steps * u64::from(Operation::CHAIN)) as f64;
    Hertz(links * clock.rate().0 / ticks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_no_change_of_frequency() {
        for counter in [Hertz(19.2e6), Hertz(25e6), Hertz(100e6), Hertz(1e9), Hertz(2.1e9)] {
            for least in [STEPS, STEPS_OF_GLANCE] {
                for core in [Hertz(1e9), Hertz(3e9), Hertz(6e9)] {
                    let cycles = (steps_for(counter, least) * u64::from(Operation::CHAIN)) as f64;
                    let ticks = (cycles / core.0 * counter.0).floor();
                    let change = (ticks + 1.0) / (ticks - 1.0) - 1.0;
                    assert!(change < TOLERANCE / 2.0, "{ticks} ticks of {counter:?} at {core:?}");
                }
            }
        }
        assert_eq!(steps_for(Hertz(2e9), STEPS_OF_GLANCE), STEPS_OF_GLANCE, "a fast counter needs no more");
    }
}
