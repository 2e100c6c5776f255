//! Advice for a program on a simulated machine: other placements of its pages, modes of the machine and placements of its threads are
//! tried, each alone and the best of each together, and ranked by the time that the program takes.

mod candidates;
mod setting;

use execution::Relocation;
use machine::Description;
use record::{AdviceRow, Attribution, SimulationRow};

use crate::error::ExperimentError;
use crate::parallel;
use crate::simulation::Simulation;
use crate::variant;
use setting::command_of;

pub use candidates::Present;
pub use setting::{Dimension, Means, Setting};

/// Settings that gain less than this share of the time are not advised.
pub const WORTH_ADVISING: f64 = 0.01;

/// Settings that were tried, and their results.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The settings, the fastest first, with the present one among them.
    pub rows: Vec<AdviceRow>,
    /// How many runs there were, that of the present setting included.
    pub runs: usize,
    /// Settings that could not be run, and why.
    pub failed: Vec<(String, String)>,
}

/// A run with settings: how long it took, or why there is none.
type Tried = Result<SimulationRow, String>;

/// The present run, and what is said of others.
struct Base<'a> {
    present: Present<'a>,
    row: &'a SimulationRow,
    command: &'a str,
}

/// Tries the settings of `dimensions` that the machine of `present` offers. `row` and `lost` are of the run as it is, and `command` is
/// what starts the program. `again` runs it on a machine with its pages elsewhere, if some are, and `progress` is told of each run that
/// is over, and how many there are.
///
/// # Errors
/// When a machine cannot be changed as it should be able to.
pub fn advise(
    present: Present<'_>,
    dimensions: &[Dimension],
    (row, lost): (&SimulationRow, &Attribution),
    command: &str,
    again: impl Fn(&Description, &Relocation) -> Tried + Send + Sync,
    mut progress: impl FnMut(usize, usize),
) -> Result<Advice, ExperimentError> {
    let mut alone = Vec::new();
    for &dimension in dimensions {
        alone.extend(present.alternatives(dimension, lost)?);
    }
    let base = Base { present, row, command };
    let run = |settings: &[&Setting]| -> Tried {
        let changes: Vec<String> = settings.iter().flat_map(|setting| setting.changes.iter().cloned()).collect();
        let machine = variant::load(&present.changed(&changes)).map_err(|error| error.to_string())?;
        let elsewhere = settings.iter().map(|setting| &setting.relocation).find(|relocation| !relocation.is_none());
        again(&machine, elsewhere.unwrap_or(&Relocation::default()))
    };
    let mut tried: Vec<(Vec<&Setting>, Tried)> = Vec::new();
    let keep = |place: usize, outcome: Tried| -> Result<(), ExperimentError> {
        tried.push((vec![&alone[place]], outcome));
        Ok(())
    };
    let total = alone.len() + 1;
    parallel::in_order(&alone, |setting| run(&[setting]), |done| progress(done, total), keep)?;
    if let Some(best) = base.best_together(&tried) {
        let outcome = run(&best);
        tried.push((best, outcome));
    }
    progress(total, total);
    Ok(base.ranked(&tried))
}

impl Base<'_> {
    /// The time of a run with settings. A plan's pages are there before the program begins: where the plan stands for another place of
    /// pages that are touched as before, faults take what they take as it is.
    fn time(&self, settings: &[&Setting], row: &SimulationRow) -> f64 {
        let planned = settings.iter().any(|setting| !setting.relocation.is_none() && !setting.changes.is_empty());
        let system = |row: &SimulationRow| {
            row.spent_ns.get("system").copied().unwrap_or_default() / f64::from(row.threads.max(1))
        };
        row.time_ns + if planned { (system(self.row) - system(row)).max(0.0) } else { 0.0 }
    }

    /// By how much of the present time a run is shorter.
    fn gain(&self, settings: &[&Setting], row: &SimulationRow) -> f64 {
        1.0 - self.time(settings, row) / self.row.time_ns
    }

    /// The best setting of each dimension that gains something, if these are several. Pages are placed one by one on nodes that another
    /// division of the machine does not have: the next best placement stands in.
    fn best_together<'s>(&self, tried: &[(Vec<&'s Setting>, Tried)]) -> Option<Vec<&'s Setting>> {
        let gains = tried.iter().filter_map(|(settings, outcome)| {
            let gain = self.gain(settings, outcome.as_ref().ok()?);
            (gain >= WORTH_ADVISING).then_some((gain, *settings.first()?))
        });
        let gains: Vec<(f64, &Setting)> = gains.collect();
        let best_of = |dimension, mobile: bool| {
            let of = gains.iter().filter(|(_, setting)| setting.dimension == dimension);
            let of = of.filter(|(_, setting)| !mobile || setting.relocation.is_none());
            of.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|&(_, setting)| setting)
        };
        let divided = best_of(Dimension::MemoryMode, false).is_some();
        let moved = best_of(Dimension::Threads, false).is_some();
        let best = Dimension::ALL.map(|dimension| best_of(dimension, divided || moved));
        let best: Vec<&Setting> = best.into_iter().flatten().collect();
        (best.len() > 1).then_some(best)
    }

    /// The record of a run with settings, the present one without any.
    fn record(&self, settings: &[&Setting], row: &SimulationRow) -> AdviceRow {
        let kind = match settings {
            [] => "present",
            [one] => one.dimension.name(),
            _ => "together",
        };
        let labels: Vec<&str> = settings.iter().map(|setting| setting.label.as_str()).collect();
        let changes: Vec<String> = settings.iter().flat_map(|setting| setting.changes.iter().cloned()).collect();
        let by_name = settings.iter().all(|setting| setting.relocation.is_none());
        let bound =
            variant::load(&self.present.changed(&changes)).ok().and_then(|machine| self.present.bound(&machine));
        AdviceRow {
            program: self.row.program.clone(),
            machine: self.row.machine.clone(),
            cpus: self.row.cpus,
            rank: 0,
            kind: kind.to_owned(),
            setting: if labels.is_empty() { self.present.label() } else { labels.join(", ") },
            variant: by_name.then(|| self.present.changed(&changes)),
            time_ns: self.time(settings, row),
            gain_pct: 100.0 * self.gain(settings, row),
            local_pct: row.local_pct,
            secondary_misses: row.secondary_misses,
            miss_latency_ns: row.miss_latency_ns,
            means: (!settings.is_empty()).then(|| command_of(settings, bound.as_deref(), self.command)),
        }
    }

    /// All runs by their times, the present one before others that take as long.
    fn ranked(&self, tried: &[(Vec<&Setting>, Tried)]) -> Advice {
        let mut rows = vec![self.record(&[], self.row)];
        let mut failed = Vec::new();
        for (settings, outcome) in tried {
            match outcome {
                Ok(row) => rows.push(self.record(settings, row)),
                Err(problem) => {
                    let labels: Vec<&str> = settings.iter().map(|setting| setting.label.as_str()).collect();
                    failed.push((labels.join(", "), problem.clone()));
                }
            }
        }
        rows.sort_by(|a, b| a.time_ns.total_cmp(&b.time_ns));
        for (rank, row) in (1..).zip(&mut rows) {
            row.rank = rank;
        }
        Advice { rows, runs: tried.len() + 1, failed }
    }
}

/// The same for a program of this package.
///
/// # Errors
/// When the run as it is fails, or a machine cannot be changed as it should be able to. What is wrong with the program's results, if
/// anything is, comes beside the advice.
pub fn advise_built_in(
    name: &str,
    simulation: &Simulation,
    dimensions: &[Dimension],
    mut progress: impl FnMut(usize, usize),
) -> Result<(Advice, Option<String>), ExperimentError> {
    progress(0, 1);
    let base = simulation.clone().attributed(true).run()?;
    let present = Present { name, machine: simulation.description(), cpus: simulation.cpus(), plans: true };
    let lost = base.attribution.unwrap_or_default();
    let again = |machine: &Description, relocation: &Relocation| {
        let simulation = simulation.on(machine.clone(), relocation.clone()).map_err(|error| error.to_string())?;
        let run = simulation.run().map_err(|error| error.to_string())?;
        run.wrong.map_or(Ok(run.row), Err)
    };
    let program = simulation.workload().name();
    let told = |done: usize, all: usize| progress(done + 1, all + 1);
    Ok((advise(present, dimensions, (&base.row, &lost), program, again, told)?, base.wrong))
}
