//! P3 diagrams: the access time of strided loops over arrays of many sizes (Prestor 2001 section 2.1, after Saavedra).

use units::{Bytes, CpuId, NodeId};

use crate::platform::{Phase, Platform, PlatformError, Region, Task};
use crate::{BenchError, Experiment, Placement, Plan, PlanError, Series, Settings, State};

/// The elements of the arrays are double words.
const WORD: Bytes = Bytes(8);
/// Accesses timed in one iteration at least, so that starting and ending weigh little on small arrays.
const FEWEST_ACCESSES: u64 = 2048;
/// Accesses timed in one iteration at most; on larger arrays each iteration goes on where the last one ended.
const MOST_ACCESSES: u64 = 8192;

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
            let settings = Settings { p3_array: array, p3_stride: stride, ..settings.clone() };
            let plan = Plan::new(experiment, State::Uown, Placement::new(home, local, None), settings);
            plans.push(plan.in_series(Series::P3));
        }
    }
    plans
}

/// Checks array size and stride.
///
/// # Errors
/// When the stride is not a multiple of a double word, or exceeds the array.
pub(crate) fn validate(settings: &Settings) -> Result<(), PlanError> {
    let Settings { p3_array: array, p3_stride: stride, .. } = settings;
    if stride.0 == 0 || !stride.0.is_multiple_of(WORD.0) || stride > array {
        let accepted = format!("a multiple of {WORD} up to the array size of {array}");
        return Err(PlanError::new("--stride", stride.0.to_string(), "no stride over double words", accepted));
    }
    Ok(())
}

/// The experiment as a record names it: with array size and stride in bytes if it has them.
pub(crate) fn record_name(plan: &Plan) -> String {
    let Settings { p3_array, p3_stride, .. } = &plan.settings;
    match plan.experiment.is_p3() {
        true => format!("{}(array={},stride={})", plan.experiment, p3_array.0, p3_stride.0),
        false => plan.experiment.to_string(),
    }
}

/// Nanoseconds an access, one sample an iteration, of a loop that has been running for a while.
pub(crate) fn measure(plan: &Plan, platform: &mut dyn Platform) -> Result<Vec<f64>, BenchError> {
    let region = platform.allocate(plan.placement.home, plan.settings.p3_array)?;
    warm_up(plan, platform, region)?;
    let Settings { p3_array, p3_stride, .. } = plan.settings;
    let elements = p3_array.0 / p3_stride.0;
    let mut samples = Vec::new();
    for iteration in 0..u64::from(plan.settings.iterations) {
        let task = if elements <= MOST_ACCESSES {
            // Whole passes over the array.
            Task { count: FEWEST_ACCESSES.max(elements).next_multiple_of(elements), ..sweep(plan, region, 0, elements) }
        } else {
            let part = iteration % (elements / MOST_ACCESSES);
            sweep(plan, region, part * MOST_ACCESSES, MOST_ACCESSES)
        };
        let [measurement] = platform.run(Phase::new(&[task]))?[..] else {
            unreachable!("a platform returns one measurement a task");
        };
        samples.push(crate::measure::ns_per_step(measurement));
    }
    Ok(samples)
}

/// The plan's kernel over `count` elements from element `first`.
fn sweep(plan: &Plan, region: Region, first: u64, count: u64) -> Task {
    let stride = plan.settings.p3_stride;
    Task {
        cpu: plan.placement.locals[0],
        kernel: plan.experiment.kernel(0),
        region,
        offset: Bytes(first * stride.0),
        stride,
        elements: count,
        count,
    }
}

/// Passes over the whole array, so that caches and TLB are as they are in the middle of a long run. A pass needs to visit
/// each line only once; an array that fits the second-level cache is given a second one, since the random replacement
/// of the first may have left lines out.
fn warm_up(plan: &Plan, platform: &mut dyn Platform, region: Region) -> Result<(), PlatformError> {
    let Settings { p3_array, p3_stride, .. } = plan.settings;
    let layout = platform.layout();
    let passes = if p3_array <= layout.l2 { 2 } else { 1 };
    let stride = p3_stride.max(layout.line).min(p3_array);
    let elements = p3_array.0 / stride.0;
    let task = Task { stride, elements, count: elements, ..sweep(plan, region, 0, 1) };
    for _ in 0..passes {
        platform.run(Phase::new(&[task]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_double_up_to_half_the_array() {
        let arrays = [Bytes::from_kib(16), Bytes::from_kib(32)];
        let plans = diagram(Experiment::P3Rmw, NodeId(0), CpuId(0), arrays, &Settings::simulated());
        let strides: Vec<u64> = plans.iter().take(11).map(|plan| plan.settings.p3_stride.0).collect();
        assert_eq!(strides, [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]);
        assert_eq!(plans.len(), 11 + 12);
        assert_eq!(record_name(&plans[4]), "p3-rmw(array=16384,stride=128)");
    }

    #[test]
    fn a_stride_beyond_the_array_is_refused() {
        let settings = Settings { p3_array: Bytes(1024), p3_stride: Bytes(2048), ..Settings::simulated() };
        let error = validate(&settings).expect_err("two elements do not fit");
        assert!(error.to_string().starts_with("--stride 2048: "), "{error}");
    }
}
