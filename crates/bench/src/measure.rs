//! Taking samples of a plan: prepare the state, time the kernel, turn times into figures.

use record::Disturbance;
use units::{Bandwidth, Bytes};

use crate::platform::{Kernel, Measurement, Phase, Platform, PlatformError, Task};
use crate::prepare::{Slice, empty_caches, prepare};
use crate::trial::Trial;
use crate::{BenchError, Experiment, Plan, area, loaded, p3};

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

/// Each sample on fresh lines: empty the caches, prepare the state, time the kernel.
fn repeated(trial: &mut Trial, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
    let plan = trial.plan().clone();
    let lines = plan.lines(platform.layout());
    for _ in 0..count {
        trial.take(count, || {
            let slice = Slice::allocate(platform, &plan, lines)?;
            empty_caches(platform, &plan, &slice)?;
            prepare(platform, &plan, &slice)?;
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

/// Round trips of a line between the requester and the remote processor; the figure is that of one way.
fn ping_pong(trial: &mut Trial, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
    let plan = trial.plan().clone();
    let (local, remote) = (plan.placement.locals[0], plan.placement.remotes[0]);
    for _ in 0..count {
        trial.take(count, || {
            let slice = Slice::allocate(platform, &plan, 1)?;
            let tasks = [local, remote].map(|cpu| {
                let task = slice.portion(0, cpu, Kernel::PingPong);
                Task { count: plan.settings.round_trips, ..task }
            });
            let both = platform.run(Phase::new(&tasks))?;
            let disturbance = both[0].disturbance.and(both[1].disturbance);
            Ok(Sample { values: vec![ns_per_step(both[0]) / 2.0], disturbance, traffic_mb_per_s: None })
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
