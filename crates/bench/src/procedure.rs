//! How samples of a plan are taken: what every procedure of measuring does, and what it adds them to.

use record::{Conditions, Disturbance, Warning};
use units::Bytes;

use crate::platform::{Platform, PlatformError};
use crate::sample::Sample;
use crate::search::RestartCurve;
use crate::{BenchError, Plan};

/// A way to take samples of a plan.
pub(crate) trait Procedure: Sync {
    /// Takes `count` more samples on `platform`, which has no regions of the plan. A restart search is one sample, a map too.
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError>;
}

/// Samples of one chunk of a mapped region.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chunk {
    /// Where in the region it begins.
    pub(crate) offset: Bytes,
    /// Nanoseconds a load, one sample a round.
    pub(crate) samples: Vec<f64>,
}

/// Measurements of a plan so far.
#[derive(Clone, Debug)]
pub(crate) struct Collected {
    /// The plan.
    pub(crate) plan: Plan,
    /// Samples of experiments that are rows of them.
    pub(crate) samples: Vec<Sample>,
    /// Restart searches.
    pub(crate) curves: Vec<RestartCurve>,
    /// The map, if it is one.
    pub(crate) map: Vec<Chunk>,
    /// Disturbances of the samples that were taken again.
    pub(crate) repeated: Vec<Disturbance>,
    /// Disturbances of those that had to be kept.
    pub(crate) kept: Vec<Disturbance>,
    /// The conditions of the first sample.
    pub(crate) conditions: Option<Conditions>,
    /// Warnings about the result.
    pub(crate) warnings: Vec<Warning>,
    /// The next part of an array too large to be measured at once.
    next_part: u64,
}

impl Collected {
    /// Nothing yet.
    pub(crate) fn new(plan: Plan) -> Self {
        Self {
            plan,
            samples: Vec::new(),
            curves: Vec::new(),
            map: Vec::new(),
            repeated: Vec::new(),
            kept: Vec::new(),
            conditions: None,
            warnings: Vec::new(),
            next_part: 0,
        }
    }

    /// How many samples there are.
    pub(crate) fn taken(&self) -> usize {
        self.samples.len().max(self.curves.len()).max(self.map.len())
    }

    /// Takes a sample by `attempt`, and again if it was disturbed: as often as there are samples to take, and twice more.
    pub(crate) fn take(
        &mut self,
        count: u32,
        mut attempt: impl FnMut() -> Result<Sample, PlatformError>,
    ) -> Result<(), PlatformError> {
        let mut attempts_left = count + 2;
        loop {
            let sample = attempt()?;
            if sample.disturbance.is_clean() {
                self.keep(sample);
                return Ok(());
            }
            if attempts_left == 0 {
                self.keep(sample);
                return Ok(());
            }
            attempts_left -= 1;
            self.repeated.push(sample.disturbance);
        }
    }

    /// The result of `attempt`, at the second try if something disturbed the first: for parts of a sample, too many to repeat
    /// each as often as samples.
    pub(crate) fn twice<T>(
        &mut self,
        mut attempt: impl FnMut() -> Result<(T, Disturbance), PlatformError>,
    ) -> Result<T, PlatformError> {
        let (first, disturbance) = attempt()?;
        if disturbance.is_clean() {
            return Ok(first);
        }
        self.repeated.push(disturbance);
        let (second, disturbance) = attempt()?;
        if !disturbance.is_clean() {
            self.kept.push(disturbance);
        }
        Ok(second)
    }

    /// Keeps a sample, disturbed or not.
    pub(crate) fn keep(&mut self, sample: Sample) {
        if !sample.disturbance.is_clean() {
            self.kept.push(sample.disturbance);
        }
        self.samples.push(sample);
    }

    /// The number of the next part of an array of `parts`, round and round.
    pub(crate) fn next_part(&mut self, parts: u64) -> u64 {
        let part = self.next_part % parts;
        self.next_part += 1;
        part
    }

    /// Remembers the conditions of the first sample.
    pub(crate) fn note_conditions(&mut self, platform: &dyn Platform) {
        self.conditions.get_or_insert_with(|| platform.conditions());
    }
}
