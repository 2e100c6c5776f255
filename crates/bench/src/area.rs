//! The latency of loads all over an array: the steps of the hierarchy as its size grows.

use units::Bytes;

use crate::measure::{Sample, disturbance, ns_per_step};
use crate::platform::{Kernel, Phase, Platform, Task};
use crate::trial::Trial;
use crate::{BenchError, Settings};

/// Steps of one sample: enough that reading the clock weighs nothing against hits in the first-level cache, few enough that
/// interruptions do not fall into every sample.
const STEPS: u64 = 16 << 10;
/// Steps of a walk that bring an array into the caches as far as it fits: two rounds, but no more than this.
const MOST_WARM_UP_STEPS: u64 = 4 << 20;

/// Nanoseconds a load along a list through the whole array, each sample going on where the last one ended.
pub(crate) fn samples(trial: &mut Trial, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
    let plan = trial.plan().clone();
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
    let mut first = (2 * elements).min(MOST_WARM_UP_STEPS);
    platform.run(Phase::new(&[walk(0, first)]))?;
    for _ in 0..count {
        trial.take(count, || {
            let measurements = platform.run(Phase::new(&[walk(first, STEPS)]))?;
            first += STEPS;
            let values = measurements.iter().copied().map(ns_per_step).collect();
            Ok(Sample { values, disturbance: disturbance(&measurements), traffic_mb_per_s: None })
        })?;
    }
    trial.note_conditions(platform);
    Ok(())
}
