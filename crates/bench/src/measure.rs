//! Taking samples of kernels on prepared lines: prepare the state, time the kernel, turn times into figures.

use record::Disturbance;
use units::{Bandwidth, Bytes};

use crate::extent::LINES_IN_PLAY;
use crate::platform::{Kernel, Measurement, Phase, Platform, PlatformError, Task};
use crate::prepare::{Slice, empty_caches, prepare};
use crate::procedure::{Collected, Procedure};
use crate::sample::{Sample, disturbance, ns_per_step};
use crate::{BenchError, Experiment, Plan};

/// Each sample on fresh lines: empty the caches, prepare the state, time the kernel.
pub(crate) struct Repeated;

impl Procedure for Repeated {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let lines = plan.lines(platform.layout());
        for _ in 0..count {
            collected.take(count, || {
                let slice = Slice::allocate(platform, &plan, lines)?;
                empty_caches(platform, &plan, &slice)?;
                prepare(platform, &plan, &slice)?;
                time(&plan, platform, &slice, 0)
            })?;
            collected.note_conditions(platform);
        }
        Ok(())
    }
}

/// The same with every line of the requesters' caches dirty, so that each store displaces one (`bw-zero`, Prestor 2001
/// section 4.2.1). The lines of all samples are prepared before the caches are filled, since preparing them might
/// displace dirty lines; timing displaces dirty lines by dirty ones. A disturbed sample cannot be taken again before the
/// others: its lines are gone.
pub(crate) struct Displacing;

impl Procedure for Displacing {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let (lines, l2_lines) = (plan.lines(platform.layout()), platform.layout().l2.0 / platform.layout().line.0);
        let mut slices = Vec::new();
        for _ in 0..count {
            let slice = Slice::allocate(platform, &plan, lines)?;
            if slices.is_empty() {
                // Once: emptying them again would drop the sharers' copies of the slices before.
                empty_caches(platform, &plan, &slice)?;
            }
            prepare(platform, &plan, &slice)?;
            slices.push(slice);
        }
        let dirty = Slice::allocate(platform, &plan, l2_lines)?;
        platform.run(Phase::new(&dirty.portions(&plan, Kernel::TouchStore)))?;
        for slice in &slices {
            collected.keep(time(&plan, platform, slice, 0)?);
        }
        collected.note_conditions(platform);
        Ok(())
    }
}

/// Loops that store what they compute, as they are in the middle of a long run. In caches that are empty, or hold only clean
/// lines, the stored lines would stay, and memory be spared the writing: before its beginning is timed, the loop has gone
/// through the second half of arrays that fill the caches. Since some caches keep part even of what exceeds them by far, that
/// beginning is flushed first.
pub(crate) struct Streamed;

impl Procedure for Streamed {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let arrays = Slice::ballast(platform, &plan)?;
        let whole = arrays.portions(&plan, plan.experiment.kernel(0));
        let lines = plan.lines(platform.layout());
        let timed: Vec<Task> = whole.iter().map(|task| Task { count: lines, ..*task }).collect();
        let half = |task: &Task| Task { first: task.elements / 2, count: task.elements.div_ceil(2), ..*task };
        let before: Vec<Task> = whole.iter().map(half).collect();
        for _ in 0..count {
            collected.take(count, || {
                for array in 0..plan.experiment.arrays() {
                    let flushed: Vec<Task> = whole.iter().map(|task| beginning(task, array, lines)).collect();
                    platform.run(Phase::new(&flushed))?;
                }
                platform.run(Phase::new(&before))?;
                time_tasks(&plan, platform, &timed)
            })?;
        }
        collected.note_conditions(platform);
        Ok(())
    }
}

/// Flushes as much of an array of `task` as it will go through in `lines` steps.
fn beginning(task: &Task, array: u64, lines: u64) -> Task {
    let (offset, elements) = (task.offset.0 + array * task.elements * task.stride.0, lines.min(task.elements));
    Task { kernel: Kernel::Flush, offset: Bytes(offset), elements, count: elements, ..*task }
}

/// Round trips of each of a few lines between the requester and the remote processor; the figure is the mean of one way.
pub(crate) struct PingPong;

impl Procedure for PingPong {
    fn measure(&self, collected: &mut Collected, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = collected.plan.clone();
        let (local, remote) = (plan.placement.locals[0], plan.placement.remotes[0]);
        for _ in 0..count {
            collected.take(count, || {
                let slice = Slice::allocate(platform, &plan, LINES_IN_PLAY)?;
                let (mut sum, mut disturbances) = (0.0, Disturbance::default());
                for line in 0..LINES_IN_PLAY {
                    let tasks = [local, remote].map(|cpu| {
                        let task = slice.portion(0, cpu, Kernel::PingPong);
                        let offset = Bytes(line * task.stride.0);
                        Task { offset, elements: 1, count: plan.settings.round_trips, ..task }
                    });
                    let both = platform.run(Phase::new(&tasks))?;
                    sum += ns_per_step(both[0]) / 2.0;
                    disturbances = disturbances.and(disturbance(&both));
                }
                let values = vec![sum / LINES_IN_PLAY as f64];
                Ok(Sample { values, disturbance: disturbances, traffic_mb_per_s: None })
            })?;
            collected.note_conditions(platform);
        }
        Ok(())
    }
}

/// Times the plan's kernel with `work` additions on every requester at once. A bandwidth is what each has moved by the time the
/// last has finished, as STREAM counts: while the others are still busy, who finishes early is idle.
pub(crate) fn time(
    plan: &Plan,
    platform: &mut dyn Platform,
    slice: &Slice,
    work: u32,
) -> Result<Sample, PlatformError> {
    time_tasks(plan, platform, &slice.portions(plan, plan.experiment.kernel(work)))
}

/// Times `tasks`, which are the plan's kernel on every requester.
fn time_tasks(plan: &Plan, platform: &mut dyn Platform, tasks: &[Task]) -> Result<Sample, PlatformError> {
    let first_finisher_stops_all = plan.experiment == Experiment::BwmpRead;
    let measurements = platform.run(Phase { tasks, first_finisher_stops_all })?;
    let step = Bytes(platform.layout().line.0 * plan.experiment.lines_per_step());
    let last = measurements.iter().map(|measurement| measurement.elapsed).max().unwrap_or_default();
    let figure = |measurement: &Measurement| match plan.experiment.is_bandwidth() {
        true => {
            let until = if first_finisher_stops_all { measurement.elapsed } else { last };
            Bandwidth::over(Bytes(measurement.steps * step.0), until).as_mb_per_s()
        }
        false => ns_per_step(*measurement),
    };
    Ok(Sample {
        values: measurements.iter().map(figure).collect(),
        traffic_mb_per_s: None,
        disturbance: disturbance(&measurements),
    })
}
