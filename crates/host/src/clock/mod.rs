//! The clock of measurements: the processor's counter, calibrated and distrusted, or the kernel's clock instead.

mod core;
mod counter;
mod trust;

use units::{Bytes, Duration, Hertz};

pub(crate) use core::TOLERANCE;
pub use core::{CoreClock, CoreFrequency};
pub use counter::Source;
pub use trust::Facts;

use crate::HostError;
use crate::kernels::{Architecture, Course, Features, Operation, Routine};

/// Rounds of an empty section from which the overhead is taken.
const EMPTY_SECTIONS: usize = 1001;
/// How far two successive calibrations of the counter may be apart, relative to the rate, before it is distrusted.
const STEADY: f64 = 1e-3;
/// How far the rate that the processor announces may be from the measured one before a note says so; some announce whole
/// multiples of 100 MHz.
const NOMINAL: f64 = 1e-2;

/// Time of an empty timed section, in ticks, which is to be taken off a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// The least of many.
    pub min: u64,
    /// The median of many.
    pub median: u64,
}

/// A clock whose rate is known.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
    rate: Hertz,
    /// Largest relative error of the rate, from how closely the two clocks could be read together.
    rate_error: f64,
    overhead: Overhead,
    storing_overhead: Overhead,
    notes: Vec<String>,
}

impl Clock {
    /// Finds out whether the processor's counter can be trusted, and measures its rate against CLOCK_MONOTONIC_RAW and the
    /// overhead of an empty timed section. Takes about 50 ms. When the counter cannot be trusted, the kernel's clock is
    /// used instead, and [`notes`](Self::notes) say why.
    ///
    /// # Errors
    /// [`HostError::Call`] when the kernel has no CLOCK_MONOTONIC_RAW, [`HostError::Unsupported`] when it kills programs
    /// that read the processor's counter, as the kernels do.
    pub fn calibrate() -> Result<Self, HostError> {
        counter::monotonic_raw()?;
        if !Facts::readable() {
            return Err(HostError::Unsupported {
                what: "the processor's time stamp counter".to_owned(),
                reason: "prctl(PR_SET_TSC) forbids this program to read it; start it outside of whatever sandbox or \
                         debugger does that"
                    .to_owned(),
            });
        }
        let facts = Facts::gather();
        let mut clock = match facts.distrust() {
            Some(reason) => Self::kernel(&reason),
            None => Self::counter(&facts),
        };
        clock.notes.extend(facts.notes());
        clock.measure_overhead()?;
        Ok(clock)
    }

    fn new(source: Source, rate: Hertz, rate_error: f64, notes: Vec<String>) -> Self {
        let none = Overhead { min: 0, median: 0 };
        Self { source, rate, rate_error, overhead: none, storing_overhead: none, notes }
    }

    /// CLOCK_MONOTONIC_RAW, because of `reason`.
    fn kernel(reason: &str) -> Self {
        let note = format!("using {}: {reason}", Source::MonotonicRaw.name());
        Self::new(Source::MonotonicRaw, Hertz(1e9), 0.0, vec![note])
    }

    /// The processor's counter, if two calibrations agree.
    fn counter(facts: &Facts) -> Self {
        let (first, second) = (counter::Calibration::measure(), counter::Calibration::measure());
        let apart = (first.rate.0 - second.rate.0).abs() / first.rate.0;
        // Written so that a counter that stands still, or went backwards, fails as well.
        if !(apart <= STEADY.max(2.0 * (first.error + second.error)) && first.rate.0 > 0.0) {
            let (first, second) = (first.rate.as_mhz(), second.rate.as_mhz());
            return Self::kernel(&format!("the cycle counter ran at {first:.3} MHz, then at {second:.3} MHz"));
        }
        let best = if first.error < second.error { first } else { second };
        let mut notes = Vec::new();
        if let Some(nominal) = facts.nominal
            && (nominal.0 / best.rate.0 - 1.0).abs() > NOMINAL.max(best.error)
        {
            let (nominal, measured) = (nominal.as_mhz(), best.rate.as_mhz());
            notes.push(format!("cycle counter: {nominal:.3} MHz announced, {measured:.3} MHz measured (used)"));
        }
        Self::new(counter::SOURCE, best.rate, best.error, notes)
    }

    /// Where the ticks come from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Whether the ticks are those of the processor's counter, which generated code reads itself.
    pub fn is_counter(&self) -> bool {
        self.source.is_counter()
    }

    /// Ticks a second.
    pub fn rate(&self) -> Hertz {
        self.rate
    }

    /// Largest relative error of the rate.
    pub fn rate_error(&self) -> f64 {
        self.rate_error
    }

    /// Why the counter is not used, and what else is odd about the clock; one sentence each, for warnings.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// One tick.
    pub fn resolution(&self) -> Duration {
        self.rate.period()
    }

    /// Time of an empty timed section for kernels that only load.
    pub fn overhead(&self) -> Overhead {
        self.overhead
    }

    /// Time of an empty timed section for `operation`: those that store wait for their stores at the end.
    pub fn overhead_of(&self, operation: Operation) -> Overhead {
        if operation.stores() || operation == Operation::Flush { self.storing_overhead } else { self.overhead }
    }

    /// How long `ticks` are.
    pub fn duration(&self, ticks: u64) -> Duration {
        Duration((ticks as f64 * 1e12 / self.rate.0).round() as u64)
    }

    /// How many ticks `duration` is, rounded up.
    pub fn ticks(&self, duration: Duration) -> u64 {
        (duration.as_seconds() * self.rate.0).ceil() as u64
    }

    /// The time now, in ticks: everything before has completed, nothing after has begun.
    #[inline]
    pub fn now(&self) -> u64 {
        self.source.now()
    }

    /// The overhead of kernels that take no step, or of reading the clock twice where there are no kernels.
    fn measure_overhead(&mut self) -> Result<(), HostError> {
        if Architecture::NATIVE.is_none() {
            self.overhead = Overhead::of(|| {
                let before = self.now();
                self.now().saturating_sub(before)
            });
            self.storing_overhead = self.overhead;
            return Ok(());
        }
        let mut line = [0_u64; 8];
        let course = Course::new(std::ptr::NonNull::from(&mut line).cast(), 1, 0);
        let features = Features::detect();
        let empty = |operation: Operation| {
            let routine = Routine::assemble(operation, Bytes(64), &features)?;
            // SAFETY: the course takes no step, and its only element is a line of this function's own.
            Ok::<_, HostError>(Overhead::of(|| unsafe { routine.run(self.source, &course, None) }.ticks()))
        };
        (self.overhead, self.storing_overhead) = (empty(Operation::TouchLoad)?, empty(Operation::TouchStore)?);
        Ok(())
    }
}

impl Overhead {
    /// The overhead from many runs of a section that returns its ticks.
    fn of(mut section: impl FnMut() -> u64) -> Self {
        let mut ticks: Vec<u64> = (0..EMPTY_SECTIONS).map(|_| section()).collect();
        ticks.sort_unstable();
        Self { min: ticks[0], median: ticks[ticks.len() / 2] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Link;

    #[test]
    fn without_a_counter_the_kernels_clock_times_kernels() {
        let mut fallback = Clock::kernel("a test says so");
        fallback.measure_overhead().unwrap();
        assert_eq!(fallback.notes(), ["using CLOCK_MONOTONIC_RAW: a test says so"]);
        assert!(!fallback.is_counter());
        assert_eq!(fallback.duration(1500), Duration::from_ns(1500.0));

        let trusted = Clock::calibrate().unwrap();
        let features = Features::detect();
        let chain = Routine::assemble(Operation::Chain { link: Link::Add }, Bytes(0), &features).unwrap();
        let course = Course::new(std::ptr::NonNull::<u64>::dangling().cast(), 1, 20_000);
        let fastest = |clock: &Clock| {
            // SAFETY: a chain touches no memory.
            let once = |_| clock.duration(unsafe { chain.run(clock.source, &course, None) }.ticks());
            (0..50).map(once).min().unwrap().as_ns()
        };
        let ratios: Vec<f64> = (0..10).map(|_| fastest(&fallback) / fastest(&trusted)).collect();
        // Neighbours change the speed between two of them; a wrong unit is off by a factor.
        assert!(ratios.iter().any(|ratio| (0.8..1.25).contains(ratio)), "the clocks differ by factors of {ratios:?}");
    }
}
