//! The latency of loads all over an array: the steps of the hierarchy as its size grows.

use units::{Bytes, Duration};

use crate::platform::{Kernel, Phase, Platform, Task};
use crate::procedure::{Collected, Procedure};
use crate::sample::{Sample, disturbance, ns_per_step};
use crate::{BenchError, Settings};

/// Steps of one sample at least, whatever they cost.
const STEPS: u64 = 16 << 10;
/// How long a sample of hits takes, all of its walks: looking at the kernel's counters before each has displaced part of the
/// first-level cache, and the microsecond in which that comes back must not weigh; yet interruptions should not fall into every one.
const LONG_ENOUGH: Duration = Duration(600_000_000);
/// Walks of one sample, of which the quickest counts, for a list that each of them goes through at least once: others on the core delay
/// one of them, and the order and the frames of the list delay all.
const WALKS: u64 = 3;
/// An array of more elements than this is read by address to bring it into the caches, in a fraction of the time that two walks take.
/// Below, it is walked: the part of a list that a cache has depends on the order in which the list was read before, and, if others fill
/// the cache, too, on how long ago.
const MOST_WARM_UP_STEPS: u64 = 256 << 10;

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
            platform.run(Phase::new(&[Task { kernel: Kernel::TouchLoad, ..walk(0, elements) }]))?;
        }
        let mut first = if elements > MOST_WARM_UP_STEPS { STEPS } else { (2 * elements).max(STEPS) };
        let pace = ns_per_step(platform.run(Phase::new(&[walk(0, first)]))?[0]);
        let walks = if elements <= STEPS / WALKS { WALKS } else { 1 };
        let steps = STEPS.max((LONG_ENOUGH.as_ns() / pace) as u64) / walks;
        for _ in 0..count {
            collected.take(count, || {
                let mut quickest = platform.run(Phase::new(&[walk(first, steps)]))?;
                for number in 1..walks {
                    let again = platform.run(Phase::new(&[walk(first + number * steps, steps)]))?;
                    quickest = std::cmp::min_by_key(quickest, again, |walks| walks[0].elapsed);
                }
                first += walks * steps;
                let values = quickest.iter().copied().map(ns_per_step).collect();
                Ok(Sample { values, disturbance: disturbance(&quickest), traffic_mb_per_s: None })
            })?;
        }
        collected.note_conditions(platform);
        Ok(())
    }
}
