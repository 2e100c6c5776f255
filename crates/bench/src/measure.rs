//! Carrying out a plan: prepare, time, repeat, summarise.

use record::{OneOrMany, Record, Statistics, Warning};
use units::{Bandwidth, Bytes};

use crate::platform::{Kernel, Measurement, Phase, Platform, Task};
use crate::prepare::{Slice, empty_caches, prepare};
use crate::restart::{self, RestartCurve};
use crate::{BenchError, Experiment, Layout, Plan, State, p3};

/// Standard deviations above this share of the mean are worth a warning: those of the thesis stay within 0.7 % except
/// for the shared-resource experiments, which vary by up to 5 % (Prestor 2001 section 4.3.1).
const SCATTER_PCT: f64 = 5.0;

/// What became of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The plan.
    pub plan: Plan,
    /// Its result. With several requesters a bandwidth is the sum of theirs, a latency their mean, iteration by iteration.
    pub record: Record,
    /// The samples of each requester, in the order of the plan, in the unit of the record.
    pub samples: Vec<Vec<f64>>,
    /// The curve, if it was a restart search.
    pub restart: Option<RestartCurve>,
    /// What one should know about the result.
    pub warnings: Vec<Warning>,
}

impl Plan {
    /// Carries the plan out on `platform`, whose regions are released first; those of the plan are left as they are, so
    /// that the platform can be asked what happened.
    ///
    /// # Errors
    /// When the plan is impossible on this machine (before any work), or the platform fails.
    pub fn run(&self, platform: &mut dyn Platform) -> Result<Outcome, BenchError> {
        self.validate(platform.layout())?;
        platform.release_all();
        let mut warnings = Vec::new();
        if self.state == State::Uown && !self.placement.remotes.is_empty() {
            let (state, remotes) = (self.state.to_string(), self.placement.remotes.clone());
            warnings.push(Warning::RemotesUnused { state, remotes });
        }
        let outcome = if self.experiment.is_restart() {
            let (curve, unsettled) = restart::measure(self, platform)?;
            warnings.extend(unsettled);
            let window: Vec<f64> = curve.window().iter().map(|point| point.restart_ns).collect();
            self.outcome(platform.layout(), &window, vec![window.clone()], Some(curve), warnings)
        } else {
            let samples = match self.experiment {
                Experiment::BwZero => displacing(self, platform)?,
                Experiment::P3Ru | Experiment::P3Rmw => vec![p3::measure(self, platform)?],
                _ => repeated(self, platform)?,
            };
            let combined = combine(&samples, self.experiment.is_bandwidth());
            self.outcome(platform.layout(), &combined, samples, None, warnings)
        };
        Ok(outcome)
    }

    fn outcome(
        &self,
        layout: &Layout,
        combined: &[f64],
        samples: Vec<Vec<f64>>,
        restart: Option<RestartCurve>,
        mut warnings: Vec<Warning>,
    ) -> Outcome {
        let statistics = Statistics::of(combined).expect("a valid plan measures at least once, in finite time");
        let stdev_pct = statistics.stdev / statistics.mean.abs().max(f64::MIN_POSITIVE) * 100.0;
        // The window of a restart search is a saw by nature (Prestor 2001 section 4.2.3).
        if restart.is_none() && stdev_pct > SCATTER_PCT {
            warnings.push(Warning::Scatter { stdev_pct, n: statistics.n });
        }
        Outcome { plan: self.clone(), record: self.record(layout, statistics), samples, restart, warnings }
    }

    /// The record of this plan with `statistics` as its figures.
    fn record(&self, layout: &Layout, statistics: Statistics) -> Record {
        let node_of = |cpu| layout.node_of(cpu).expect("validated");
        let home = self.placement.home;
        let locals = || self.placement.locals.iter().map(|&cpu| node_of(cpu));
        let remotes = || self.placement.remotes.iter().map(|&cpu| node_of(cpu));
        let Statistics { min, max, median, mean, stdev, n } = statistics;
        Record {
            machine: layout.machine().to_owned(),
            experiment: p3::record_name(self),
            state: self.state.to_string(),
            home,
            local: OneOrMany::from(self.placement.locals.clone()),
            remotes: self.placement.remotes.clone(),
            xhops: locals().map(|local| layout.hops(local, home)).max().unwrap_or(0),
            yhops: remotes().map(|remote| layout.hops(home, remote)).max(),
            zhops: remotes().flat_map(|remote| locals().map(move |local| layout.hops(remote, local))).max(),
            unit: self.experiment.unit(),
            min,
            max,
            median,
            mean,
            stdev,
            n,
        }
    }
}

/// Each iteration on fresh lines: empty the caches, prepare the state, time the kernel. The samples of each requester.
fn repeated(plan: &Plan, platform: &mut dyn Platform) -> Result<Vec<Vec<f64>>, BenchError> {
    let lines = plan.lines(platform.layout());
    let mut samples = vec![Vec::new(); plan.placement.locals.len()];
    for _ in 0..plan.settings.iterations {
        let slice = Slice::allocate(platform, plan, lines)?;
        empty_caches(platform, plan, &slice)?;
        prepare(platform, plan, &slice)?;
        time(plan, platform, &slice, 0, &mut samples)?;
    }
    Ok(samples)
}

/// The same with every line of the requesters' caches dirty, so that each store displaces one (`bw-zero`, Prestor 2001
/// section 4.2.1). The lines of all iterations are prepared before the caches are filled, since preparing them might
/// displace dirty lines; timing displaces dirty lines by dirty ones.
fn displacing(plan: &Plan, platform: &mut dyn Platform) -> Result<Vec<Vec<f64>>, BenchError> {
    let (lines, l2_lines) = (plan.lines(platform.layout()), platform.layout().l2.0 / platform.layout().line.0);
    let mut slices = Vec::new();
    for _ in 0..plan.settings.iterations {
        let slice = Slice::allocate(platform, plan, lines)?;
        if slices.is_empty() {
            // Once: emptying them again would drop the sharers' copies of the slices before.
            empty_caches(platform, plan, &slice)?;
        }
        prepare(platform, plan, &slice)?;
        slices.push(slice);
    }
    let dirty = Slice::allocate(platform, plan, l2_lines)?;
    platform.run(Phase::new(&on_portions(plan, &dirty, Kernel::TouchStore)))?;
    let mut samples = vec![Vec::new(); plan.placement.locals.len()];
    for slice in &slices {
        time(plan, platform, slice, 0, &mut samples)?;
    }
    Ok(samples)
}

/// Times the plan's kernel with `work` additions on every requester at once; appends a sample for each.
pub(crate) fn time(
    plan: &Plan,
    platform: &mut dyn Platform,
    slice: &Slice,
    work: u32,
    samples: &mut [Vec<f64>],
) -> Result<(), BenchError> {
    let tasks = on_portions(plan, slice, plan.experiment.kernel(work));
    let first_finisher_stops_all = plan.experiment == Experiment::BwmpRead;
    let measurements = platform.run(Phase { tasks: &tasks, first_finisher_stops_all })?;
    let line = platform.layout().line;
    for (samples, measurement) in samples.iter_mut().zip(measurements) {
        samples.push(match plan.experiment.is_bandwidth() {
            true => Bandwidth::over(Bytes(measurement.steps * line.0), measurement.elapsed).as_mb_per_s(),
            false => ns_per_step(measurement),
        });
    }
    Ok(())
}

/// `kernel` for each requester on its own portion.
pub(crate) fn on_portions(plan: &Plan, slice: &Slice, kernel: Kernel) -> Vec<Task> {
    plan.placement.locals.iter().enumerate().map(|(i, &local)| slice.portion(i, local, kernel)).collect()
}

/// Nanoseconds a step.
pub(crate) fn ns_per_step(measurement: Measurement) -> f64 {
    measurement.elapsed.as_ns() / measurement.steps.max(1) as f64
}

/// Iteration by iteration, the sum or the mean over the requesters.
fn combine(samples: &[Vec<f64>], sum: bool) -> Vec<f64> {
    let iterations = samples.first().map_or(0, Vec::len);
    let total = |iteration: usize| samples.iter().map(|of_local| of_local[iteration]).sum::<f64>();
    let divisor = if sum { 1.0 } else { samples.len() as f64 };
    (0..iterations).map(|iteration| total(iteration) / divisor).collect()
}
