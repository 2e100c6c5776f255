//! Taking samples of a plan: prepare the state, time the kernel, turn times into figures.

use record::Disturbance;
use units::{Bandwidth, Bytes};

use crate::platform::{Kernel, Measurement, Phase, Platform, PlatformError, Task};
use crate::prepare::{Slice, empty_caches, prepare};
use crate::trial::Trial;
use crate::{BenchError, Experiment, Plan, area, loaded, p3};

/// Lines of a sample of `ping-pong`: where the home of a line is within a socket, and so how far it travels, depends on its
/// address, by 15 % either way on a mesh of some dozen cores.
pub(crate) const LINES_IN_PLAY: u64 = 16;

/// One sample: a figure for each requester, in the unit of the experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    /// In the order of the plan's requesters.
    pub(crate) values: Vec<f64>,
    /// The bandwidth of the traffic beside it.
    pub(crate) traffic_mb_per_s: Option<f64>,
    /// What disturbed any of them.
    pub(crate) disturbance: Disturbance,
}

/// Takes `count` samples of the trial's plan.
pub(crate) fn samples(trial: &mut Trial, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
    match trial.plan().experiment {
        Experiment::BwZero => displacing(trial, platform, count),
        Experiment::P3Ru | Experiment::P3Rmw => p3::samples(trial, platform, count),
        Experiment::AreaRead => area::samples(trial, platform, count),
        Experiment::LoadedRead => loaded::samples(trial, platform, count),
        Experiment::RegionRead => unreachable!("a map is no row of samples"),
        Experiment::PingPong => ping_pong(trial, platform, count),
        _ => repeated(trial, platform, count),
    }
}

/// Each sample on fresh lines: empty the caches, prepare the state, time the kernel. Loops that store what they compute are
/// timed with caches as they are in the middle of a long run, full of what the same loop left there: in caches that are empty,
/// or hold only clean lines, the stored lines would stay, and memory be spared the writing.
fn repeated(trial: &mut Trial, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
    let plan = trial.plan().clone();
    let lines = plan.lines(platform.layout());
    for _ in 0..count {
        trial.take(count, || {
            let slice = Slice::allocate(platform, &plan, lines)?;
            empty_caches(platform, &plan, &slice)?;
            prepare(platform, &plan, &slice)?;
            if plan.experiment.is_stream() {
                let ballast = Slice::ballast(platform, &plan)?;
                platform.run(Phase::new(&on_portions(&plan, &ballast, plan.experiment.kernel(0))))?;
            }
            time(&plan, platform, &slice, 0)
        })?;
        trial.note_conditions(platform);
    }
    Ok(())
}

/// The same with every line of the requesters' caches dirty, so that each store displaces one (`bw-zero`, Prestor 2001
/// section 4.2.1). The lines of all samples are prepared before the caches are filled, since preparing them might
/// displace dirty lines; timing displaces dirty lines by dirty ones. A disturbed sample cannot be taken again before the
/// others: its lines are gone.
fn displacing(trial: &mut Trial, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
    let plan = trial.plan().clone();
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
    platform.run(Phase::new(&on_portions(&plan, &dirty, Kernel::TouchStore)))?;
    for slice in &slices {
        trial.keep(time(&plan, platform, slice, 0)?);
    }
    trial.note_conditions(platform);
    Ok(())
}

/// Round trips of each of a few lines between the requester and the remote processor; the figure is the mean of one way.
fn ping_pong(trial: &mut Trial, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
    let plan = trial.plan().clone();
    let (local, remote) = (plan.placement.locals[0], plan.placement.remotes[0]);
    for _ in 0..count {
        trial.take(count, || {
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
        trial.note_conditions(platform);
    }
    Ok(())
}

/// Times the plan's kernel with `work` additions on every requester at once.
pub(crate) fn time(
    plan: &Plan,
    platform: &mut dyn Platform,
    slice: &Slice,
    work: u32,
) -> Result<Sample, PlatformError> {
    let tasks = on_portions(plan, slice, plan.experiment.kernel(work));
    let first_finisher_stops_all = plan.experiment == Experiment::BwmpRead;
    let measurements = platform.run(Phase { tasks: &tasks, first_finisher_stops_all })?;
    let step = Bytes(platform.layout().line.0 * plan.experiment.lines_per_step());
    let figure = |measurement: &Measurement| match plan.experiment.is_bandwidth() {
        true => Bandwidth::over(Bytes(measurement.steps * step.0), measurement.elapsed).as_mb_per_s(),
        false => ns_per_step(*measurement),
    };
    Ok(Sample {
        values: measurements.iter().map(figure).collect(),
        traffic_mb_per_s: None,
        disturbance: disturbance(&measurements),
    })
}

/// What disturbed any of the tasks.
pub(crate) fn disturbance(measurements: &[Measurement]) -> Disturbance {
    measurements.iter().fold(Disturbance::default(), |all, measurement| all.and(measurement.disturbance))
}

/// `kernel` for each requester on its own portion.
pub(crate) fn on_portions(plan: &Plan, slice: &Slice, kernel: Kernel) -> Vec<Task> {
    plan.placement.locals.iter().enumerate().map(|(i, &local)| slice.portion(i, local, kernel)).collect()
}

/// Nanoseconds a step.
pub(crate) fn ns_per_step(measurement: Measurement) -> f64 {
    measurement.elapsed.as_ns() / measurement.steps.max(1) as f64
}
