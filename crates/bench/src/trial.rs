//! A plan being carried out: rounds of samples until there are enough, then the outcome.
//!
//! On a real machine clocks, neighbours and temperatures drift. Trials of several plans are therefore taken a round each in
//! turn, so that what drifts falls on all of them alike.

use record::{Conditions, Disturbance, Parameters, Record, Statistics, Unit, Warning};
use units::Bytes;

use crate::measure::{Displacing, PingPong, Repeated, Streamed};
use crate::platform::Platform;
use crate::procedure::{Collected, Procedure};
use crate::search::{self, RestartCurve};
use crate::{BenchError, Experiment, Layout, Plan, State, area, check, extent, groups, loaded, p3, regions, restart};

/// Standard deviations above this share of the mean are worth a warning: those of the thesis stay within 0.7 % except
/// for the shared-resource experiments, which vary by up to 5 % (Prestor 2001 section 4.3.1).
const SCATTER_PCT: f64 = 5.0;

/// Outcome of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The plan.
    pub plan: Plan,
    /// Its result. With several requesters a bandwidth is the sum of theirs, a latency their mean, sample by sample.
    pub record: Record,
    /// The measurement beside it: the bandwidth of the traffic under which a latency was measured.
    pub companion: Option<Record>,
    /// A map, a record a chunk, if it was one.
    pub map: Vec<Record>,
    /// The samples of each requester, in the order of the plan, in the unit of the record.
    pub samples: Vec<Vec<f64>>,
    /// The curve, if it was a restart search.
    pub restart: Option<RestartCurve>,
    /// Warnings about the result.
    pub warnings: Vec<Warning>,
}

impl Outcome {
    /// All that was measured.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        std::iter::once(&self.record).chain(&self.companion).chain(&self.map)
    }
}

/// A plan being carried out.
#[derive(Clone, Debug)]
pub struct Trial {
    collected: Collected,
    check: Option<check::Verdict>,
}

/// How samples of an experiment are taken.
fn procedure(experiment: Experiment) -> &'static dyn Procedure {
    match experiment {
        Experiment::BwZero => &Displacing,
        Experiment::P3Ru | Experiment::P3Rmw => &p3::Sweeps,
        Experiment::AreaRead => &area::Walks,
        Experiment::LoadedRead | Experiment::LoadedTriad => &loaded::UnderLoad,
        Experiment::RegionRead => &regions::Map,
        Experiment::PingPong => &PingPong,
        experiment if experiment.is_restart() => &restart::Search,
        experiment if experiment.is_stream() => &Streamed,
        _ => &Repeated,
    }
}

impl Plan {
    /// Carries the plan out on `platform`, whose regions are released first; those of the plan are left as they are, so
    /// that the platform can be asked what happened.
    ///
    /// # Errors
    /// When the plan is impossible on this machine (before any work), or the platform fails.
    pub fn run(&self, platform: &mut dyn Platform) -> Result<Outcome, BenchError> {
        let mut trial = Trial::new(self, platform.layout())?;
        trial.samples(platform, self.settings.iterations)?;
        Ok(trial.outcome(platform.layout()))
    }
}

impl Trial {
    /// A trial without samples yet.
    ///
    /// # Errors
    /// When the plan is impossible on this machine.
    pub fn new(plan: &Plan, layout: &Layout) -> Result<Self, BenchError> {
        plan.validate(layout)?;
        let mut collected = Collected::new(plan.clone());
        let used = plan.state != State::Uown || plan.experiment.is_ping_pong() || plan.experiment.is_loaded();
        if !used && !plan.placement.remotes.is_empty() {
            // A record names the processors that took part.
            let remotes = std::mem::take(&mut collected.plan.placement.remotes);
            collected.warnings.push(Warning::RemotesUnused { state: plan.state.to_string(), remotes });
        }
        Ok(Self { collected, check: None })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.collected.plan
    }

    /// Takes `count` more samples on `platform`, whose regions are released first. A restart search is one sample, a map too.
    ///
    /// # Errors
    /// When the platform fails; the samples so far are kept.
    pub fn samples(&mut self, platform: &mut dyn Platform, count: u32) -> Result<(), BenchError> {
        let plan = &self.collected.plan;
        platform.release_all();
        platform.choose_pages(plan.settings.pages)?;
        if plan.settings.check && self.check.is_none() && check::applies(plan) {
            self.check = Some(check::state(plan, platform)?);
            platform.release_all();
        }
        procedure(plan.experiment).measure(&mut self.collected, platform, count)
    }

    /// How many samples there are.
    pub fn taken(&self) -> usize {
        self.collected.taken()
    }

    /// The outcome of the samples so far.
    ///
    /// # Panics
    /// If there are none.
    pub fn outcome(mut self, layout: &Layout) -> Outcome {
        let locals = self.requesters();
        let Collected { plan, samples, curves, map, .. } = &self.collected;
        let chunks: Vec<f64> = map.iter().flat_map(|chunk| chunk.samples.iter().copied()).collect();
        let (combined, samples, restart) = match search::merged(curves, plan.settings.restart) {
            Some((values, curve)) => (values.clone(), vec![values], Some(curve)),
            None if !chunks.is_empty() => (chunks.clone(), vec![chunks], None),
            None => {
                let of_local = |local: usize| samples.iter().map(|sample| sample.values[local]).collect();
                let samples: Vec<Vec<f64>> = (0..locals).map(of_local).collect();
                (combine(&samples, plan.experiment.is_bandwidth()), samples, None)
            }
        };
        let statistics = Statistics::of(&combined).expect("a trial has samples, in finite time");
        self.warn(&combined, &statistics, restart.is_some());
        let record = self.record(layout, statistics);
        let companion = self.companion(&record);
        let Collected { plan, map, warnings, .. } = self.collected;
        Outcome { plan, map: regions::records(&map, &record), record, companion, samples, restart, warnings }
    }

    /// Requesters whose figures count: of a loaded latency only the first, of which it is the latency.
    fn requesters(&self) -> usize {
        let plan = self.plan();
        if plan.experiment.is_loaded() { 1 } else { plan.placement.locals.len() }
    }

    fn warn(&mut self, values: &[f64], statistics: &Statistics, restart: bool) {
        let Collected { plan, kept, warnings, .. } = &mut self.collected;
        let stdev_pct = statistics.stdev.unwrap_or(0.0) / statistics.mean.abs().max(f64::MIN_POSITIVE) * 100.0;
        // The window of a restart search is a saw by nature (Prestor 2001 section 4.2.3).
        if !restart && stdev_pct > SCATTER_PCT {
            let scatter = Warning::Scatter { stdev_pct, n: statistics.n };
            warnings.push(groups::two(values).unwrap_or(scatter));
        }
        if let Some(disturbance) = kept.iter().copied().reduce(Disturbance::and) {
            warnings.push(Warning::Disturbed { kept: kept.len() as u64, n: statistics.n, disturbance });
        }
        if let Some(verdict) = self.check.as_ref().filter(|verdict| !verdict.is_as_expected()) {
            warnings.push(Warning::StateDoubtful { state: plan.state.to_string(), found: verdict.to_string() });
        }
    }

    /// The record of this plan with `statistics` as its figures.
    pub(crate) fn record(&self, layout: &Layout, statistics: Statistics) -> Record {
        let plan = self.plan();
        let node_of = |cpu| layout.node_of(cpu).expect("validated");
        let home = plan.placement.home;
        let locals = || plan.placement.locals.iter().map(|&cpu| node_of(cpu));
        let remotes = || plan.placement.remotes.iter().map(|&cpu| node_of(cpu));
        let Statistics { min, max, median, mean, stdev, n, ci_low, ci_high } = statistics;
        Record {
            machine: layout.machine().to_owned(),
            experiment: plan.experiment.to_string(),
            state: plan.state.to_string(),
            home,
            local: plan.placement.locals.first().copied().unwrap_or_default(),
            remotes: plan.placement.remotes.clone(),
            xhops: locals().map(|local| layout.hops(local, home)).max().unwrap_or(0),
            yhops: remotes().map(|remote| layout.hops(home, remote)).max(),
            zhops: remotes().flat_map(|remote| locals().map(move |local| layout.hops(remote, local))).max(),
            unit: plan.experiment.unit(),
            min,
            max,
            median,
            mean,
            stdev,
            n,
            ci_low,
            ci_high,
            locals: plan.placement.locals.clone(),
            parameters: plan.parameters(),
            conditions: self.conditions(layout),
        }
    }

    fn conditions(&self, layout: &Layout) -> Conditions {
        let Collected { plan, repeated, kept, conditions, .. } = &self.collected;
        let (stride, window) = plan.extent(layout);
        let platform = conditions.clone().unwrap_or_default();
        let relation = match (plan.placement.locals.as_slice(), plan.placement.remotes.as_slice()) {
            ([local], [remote]) if layout.real => Some(layout.relation(*local, *remote).name().to_owned()),
            _ => None,
        };
        Conditions {
            series: plan.series.name().map(str::to_owned),
            relation,
            stride: Some(stride),
            window: Some(window),
            order: if plan.experiment.walks_a_list() {
                platform.order
            } else {
                Some(plan.experiment.order().to_owned())
            },
            preparation: Some(match platform.preparation {
                Some(how) => format!("{}; {how}", plan.preparation()),
                None => plan.preparation(),
            }),
            check: self.check.as_ref().map(ToString::to_string),
            repeated: repeated.len() as u64,
            kept: kept.len() as u64,
            disturbances: self.disturbances().map(|all| all.to_string()),
            ..platform
        }
    }

    /// All that disturbed samples, those that were taken again and those that were kept.
    fn disturbances(&self) -> Option<Disturbance> {
        self.collected.repeated.iter().chain(&self.collected.kept).copied().reduce(Disturbance::and)
    }

    /// The bandwidth of the traffic, if there was any.
    fn companion(&self, record: &Record) -> Option<Record> {
        let samples = &self.collected.samples;
        let bandwidths: Vec<f64> = samples.iter().filter_map(|sample| sample.traffic_mb_per_s).collect();
        Some(record.beside(
            loaded::traffic_of(self.plan().experiment).to_owned(),
            Unit::MegabytesPerSecond,
            Statistics::of(&bandwidths)?,
        ))
    }
}

impl Plan {
    /// The records that its trial gives, as they are before it: without figures ([`Statistics::NONE`]). A map has none.
    ///
    /// # Errors
    /// When the plan is impossible on this machine.
    pub fn unmeasured(&self, layout: &Layout) -> Result<Vec<Record>, BenchError> {
        let record = Trial::new(self, layout)?.record(layout, Statistics::NONE);
        let traffic = || loaded::traffic_of(self.experiment).to_owned();
        let companion =
            self.experiment.is_loaded().then(|| record.beside(traffic(), Unit::MegabytesPerSecond, Statistics::NONE));
        Ok([record].into_iter().chain(companion).collect())
    }
}

/// Sample by sample, the sum or the mean over the requesters.
fn combine(samples: &[Vec<f64>], sum: bool) -> Vec<f64> {
    let count = samples.first().map_or(0, Vec::len);
    let total = |sample: usize| samples.iter().map(|of_local| of_local[sample]).sum::<f64>();
    let divisor = if sum { 1.0 } else { samples.len() as f64 };
    (0..count).map(|sample| total(sample) / divisor).collect()
}

impl Plan {
    /// Settings that are parameters of the experiment.
    pub(crate) fn parameters(&self) -> Parameters {
        let settings = &self.settings;
        match self.experiment {
            Experiment::P3Ru | Experiment::P3Rmw | Experiment::AreaRead => {
                Parameters { array: Some(settings.array), ..Parameters::default() }
            }
            Experiment::LoadedRead => Parameters {
                array: None,
                offset: None,
                reads: Some(settings.traffic.reads),
                writes: Some(settings.traffic.writes),
                pause_cycles: Some(settings.traffic.pause),
            },
            _ => Parameters::default(),
        }
    }

    /// From one element to the next, and the memory over which the elements of one requester extend.
    fn extent(&self, layout: &Layout) -> (Bytes, Bytes) {
        let settings = &self.settings;
        match self.experiment {
            Experiment::P3Ru | Experiment::P3Rmw | Experiment::AreaRead => (settings.stride, settings.array),
            Experiment::LoadedRead | Experiment::LoadedTriad => (self.element_stride(layout), settings.array),
            Experiment::RegionRead => (extent::chunk_stride(settings.chunk, layout.line), settings.chunk),
            Experiment::PingPong => {
                let stride = self.element_stride(layout);
                (stride, Bytes(extent::LINES_IN_PLAY * stride.0))
            }
            _ => {
                let stride = self.element_stride(layout);
                (stride, Bytes(self.lines(layout) * stride.0 * self.experiment.arrays()))
            }
        }
    }
}
