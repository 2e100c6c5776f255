//! The latency of loads all over an array: the steps of the hierarchy as its size grows.

use units::{Bytes, Duration};

use crate::platform::{Kernel, Phase, Platform, Task};
use crate::procedure::{Collected, Procedure};
use crate::sample::{Sample, disturbance, ns_per_step};
use crate::{BenchError, Settings};

/// Steps of one sample at least, whatever they cost.
const STEPS: u64 = 16 << 10;
/// How long a sample of hits takes: looking at the kernel's counters before it has displaced part of the first-level cache, and
/// the microsecond in which that comes back must not weigh; yet interruptions should not fall into every sample.
const LONG_ENOUGH: Duration = Duration(400_000_000);
/// An array of more elements than this is not walked twice to bring it into the caches.
const MOST_WARM_UP_STEPS: u64 = 32 << 10;

/// Nanoseconds a load along a list through the whole array, each sample going on where the last one ended.
pub(crate) struct Walks;

impl Procedure for Walks {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let Settings { array, stride, .. } = plan.settings;
        let region = platform.allocate(plan.placement.home, array)?;
        let elements = array.0 / stride.0;
        let walk = |first: u64, count: u64| Task {
            cpu: plan.placement.locals[0],
            kernel: Kernel::Walk { work: 0 },
            region,
            offset: Bytes(0),
            stride,
            elements,
            first,
            count,
        };
        platform.arrange(&[walk(0, elements)])?;
        if elements > MOST_WARM_UP_STEPS {
            // By address it takes a fraction of the time, and fills the caches as well.
            platform.run(Phase::new(&[Task { kernel: Kernel::TouchLoad, ..walk(0, elements) }]))?;
        }
        let mut first = if elements > MOST_WARM_UP_STEPS { STEPS } else { (2 * elements).max(STEPS) };
        let pace = ns_per_step(platform.run(Phase::new(&[walk(0, first)]))?[0]);
        let steps = STEPS.max((LONG_ENOUGH.as_ns() / pace) as u64);
        for _ in 0..count {
            collected.take(count, || {
                let measurements = platform.run(Phase::new(&[walk(first, steps)]))?;
                first += steps;
                let values = measurements.iter().copied().map(ns_per_step).collect();
                Ok(Sample { values, disturbance: disturbance(&measurements), traffic_mb_per_s: None })
            })?;
        }
        collected.note_conditions(platform);
        Ok(())
    }
}
