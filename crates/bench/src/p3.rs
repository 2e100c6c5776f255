//! P3 diagrams: the access time of strided loops over arrays of many sizes (Prestor 2001 section 2.1, after Saavedra).

use units::{Bytes, CpuId, Duration, NodeId};

use crate::extent::WORD;
use crate::platform::{Phase, Platform, PlatformError, Region, Task};
use crate::procedure::{Collected, Procedure};
use crate::sample::{Sample, disturbance, ns_per_step};
use crate::{BenchError, Experiment, Placement, Plan, Series, Settings, State};

/// Accesses timed in one iteration at least, in passes over a small array, so that starting and ending weigh little.
const FEWEST_ACCESSES: u64 = 2048;
/// The time of an iteration at the pace of the warm-up, which visits each line once: the clock is read, and what is under way awaited, in
/// some 80 ns by processors that load every 0.3 ns.
const LONG_ENOUGH: Duration = Duration(8_000_000);
/// As many accesses will do, however fast they are.
const ENOUGH_ACCESSES: u64 = 64 << 10;
/// Accesses of a part of a larger array, which one iteration times; the next goes on where it ended.
const PART_ACCESSES: u64 = 8192;

/// One plan for each point of a diagram: for each array size, strides from a double word doubling up to half the array.
pub fn diagram(
    experiment: Experiment,
    home: NodeId,
    local: CpuId,
    arrays: impl IntoIterator<Item = Bytes>,
    settings: &Settings,
) -> Vec<Plan> {
    let mut plans = Vec::new();
    for array in arrays {
        let strides = std::iter::successors(Some(WORD), |stride| Some(Bytes(stride.0 * 2)));
        for stride in strides.take_while(|stride| stride.0 <= array.0 / 2) {
            let settings = Settings { array, stride, ..settings.clone() };
            let plan = Plan::new(experiment, State::Uown, Placement::new(home, local, None), settings);
            plans.push(plan.in_series(Series::P3));
        }
    }
    plans
}

/// Nanoseconds an access, of a loop that has been running for a while.
pub(crate) struct Sweeps;

impl Procedure for Sweeps {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let Settings { array, stride, .. } = plan.settings;
        let region = platform.allocate(plan.placement.home, array)?;
        let pace = warm_up(&plan, platform, region)?;
        let fewest = ((LONG_ENOUGH.as_ns() / pace) as u64).clamp(FEWEST_ACCESSES, ENOUGH_ACCESSES);
        let elements = array.0 / stride.0;
        for _ in 0..count {
            let part = collected.next_part(elements.div_ceil(PART_ACCESSES));
            let task = match first_of_part(part, elements) {
                Some(first) => sweep(&plan, region, first, PART_ACCESSES),
                // Whole passes over the array.
                None => Task { count: fewest.next_multiple_of(elements), ..sweep(&plan, region, 0, elements) },
            };
            collected.take(count, || {
                let measurements = platform.run(Phase::new(&[task]))?;
                let values = measurements.iter().copied().map(ns_per_step).collect();
                Ok(Sample { values, disturbance: disturbance(&measurements), traffic_mb_per_s: None })
            })?;
        }
        collected.note_conditions(platform);
        Ok(())
    }
}

/// The first element of a part of a larger array, whose last part ends with it; `None` if the array has but one part.
fn first_of_part(part: u64, elements: u64) -> Option<u64> {
    (elements > PART_ACCESSES).then(|| (part * PART_ACCESSES).min(elements - PART_ACCESSES))
}

/// The plan's kernel over `count` elements from element `first`.
fn sweep(plan: &Plan, region: Region, first: u64, count: u64) -> Task {
    let stride = plan.settings.stride;
    Task {
        cpu: plan.placement.locals[0],
        kernel: plan.experiment.kernel(0),
        region,
        offset: Bytes(first * stride.0),
        stride,
        elements: count,
        first: 0,
        count,
    }
}

/// Passes over the whole array, so that caches and TLB are as they are in the middle of a long run. A pass needs to visit
/// each line only once; an array that fits the second-level cache is given a second one, since the random replacement
/// of the first may have left lines out. Returns the time of an access in the last pass, in ns.
fn warm_up(plan: &Plan, platform: &mut dyn Platform, region: Region) -> Result<f64, PlatformError> {
    let Settings { array, stride, .. } = plan.settings;
    let layout = platform.layout();
    let passes = if array <= layout.l2 { 2 } else { 1 };
    let stride = stride.max(layout.line).min(array);
    let elements = array.0 / stride.0;
    let task = Task { stride, elements, count: elements, ..sweep(plan, region, 0, 1) };
    let mut pace = 0.0;
    for _ in 0..passes {
        pace = ns_per_step(platform.run(Phase::new(&[task]))?[0]);
    }
    Ok(pace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_double_up_to_half_the_array() {
        let arrays = [Bytes::from_kib(16), Bytes::from_kib(32)];
        let plans = diagram(Experiment::P3Rmw, NodeId(0), CpuId(0), arrays, &Settings::simulated());
        let strides: Vec<u64> = plans.iter().take(11).map(|plan| plan.settings.stride.0).collect();
        assert_eq!(strides, [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]);
        assert_eq!(plans.len(), 11 + 12);
        assert_eq!(plans[4].parameters().array, Some(arrays[0]));
    }

    #[test]
    fn the_last_part_ends_with_the_array() {
        let firsts =
            |elements: u64| (0..elements.div_ceil(PART_ACCESSES)).map(move |part| first_of_part(part, elements));
        assert!(firsts(8192).eq([None]));
        assert!(firsts(12288).eq([Some(0), Some(4096)]));
        assert!(firsts(16384).eq([Some(0), Some(8192)]));
    }
}
