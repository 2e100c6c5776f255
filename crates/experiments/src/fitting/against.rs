//! A described machine against the one that was measured: every record that the simulator can repeat, measured and simulated.

use bench::{Layout, Plan, Settings};
use machine::Description;
use record::{Record, Statistics, Unit};
use units::Bytes;

use super::neighbours::{Caches, Ordinary, ordinary};
use super::probe::LISTS_BEYOND_CACHES;
use super::repeated::{Circumstances, Repeated, cost};
use super::{Comparison, Mapping};
use crate::error::ExperimentError;
use crate::parallel;

/// Records that are not repeated, for one reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The reason.
    pub reason: &'static str,
    /// How many records.
    pub number: usize,
    /// The place of the first in the list.
    pub first: usize,
}

/// Records beside their simulation.
#[derive(Clone, Debug)]
pub struct Against {
    /// A row for each record that could be repeated.
    pub rows: Vec<Comparison>,
    /// Those that could not be repeated.
    pub skipped: Vec<Skipped>,
    /// Remarks on neighbours that are in the records.
    pub neighbours: Vec<String>,
}

/// How far simulated figures are from those measured, in percent of the latter, without regard to sign.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Errors {
    /// How many figures.
    pub count: usize,
    /// The median.
    pub median_pct: f64,
    /// The 90th percentile.
    pub ninetieth_pct: f64,
    /// The largest.
    pub largest_pct: f64,
}

/// A latency, or a bandwidth, that differs by more than this share of the measured one does not agree.
const AGREE: f64 = 0.15;

impl Against {
    /// The errors of the figures of a unit; `None` without any.
    pub fn errors(&self, unit: Unit) -> Option<Errors> {
        let of_unit = self.rows.iter().filter(|row| row.unit == unit);
        let mut errors: Vec<f64> = of_unit.filter_map(|row| Some(row.error_pct()?.abs())).collect();
        errors.sort_by(f64::total_cmp);
        let ninetieth_pct = *errors.get((errors.len() * 9).div_ceil(10).checked_sub(1)?)?;
        let (median_pct, largest_pct) = (Statistics::of(&errors)?.median, *errors.last()?);
        Some(Errors { count: errors.len(), median_pct, ninetieth_pct, largest_pct })
    }
}

/// Records whose repetition on a machine is possible, and not begun.
pub struct Repetition {
    machine: Repeated,
    /// Each with its place among the records.
    jobs: Vec<(usize, Record, Plan)>,
    skipped: Vec<Skipped>,
    neighbours: Vec<String>,
}

impl Repetition {
    /// The repetition of `records` on the machine of `description`. `mapping` gives the places of the measured machine in it; without,
    /// they have the same numbers.
    ///
    /// # Errors
    /// When the description has other sizes than the measured machine, too little memory for a record, or cannot be simulated.
    pub fn new(
        description: &Description,
        records: &[Record],
        mapping: Option<&Mapping>,
    ) -> Result<Self, ExperimentError> {
        check_sizes(description, mapping)?;
        let layout = Layout::simulated(description)?;
        let line = mapping.map_or(layout.line, Mapping::line);
        let settings = Settings { iterations: 1, ..Settings::simulated() };
        let caches = mapping.map_or_else(|| Caches::of(&layout), Mapping::caches);
        let Ordinary { records, notes: neighbours, .. } = ordinary(records, caches);
        let (mut skipped, mut jobs): (Vec<Skipped>, Vec<_>) = Default::default();
        for (place, record) in records.into_iter().enumerate() {
            match repeated(&record, &layout, line, &settings, mapping) {
                Ok(plan) => {
                    check_memory(description, &layout, (place, &record), &plan)?;
                    jobs.push((place, record, plan));
                }
                Err(reason) => match skipped.iter_mut().find(|known| known.reason == reason) {
                    Some(known) => known.number += 1,
                    None => skipped.push(Skipped { reason, number: 1, first: place }),
                },
            }
        }
        Ok(Self { machine: Repeated::new(description.clone()), jobs, skipped, neighbours })
    }

    /// How many records are repeated.
    pub fn count(&self) -> usize {
        self.jobs.len()
    }

    /// Those that are not.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Repeats the records. `finished` is called with the number of records done.
    ///
    /// # Errors
    /// When a simulation fails.
    pub fn run(self, finished: impl FnMut(usize)) -> Result<Against, ExperimentError> {
        let Self { machine, jobs, skipped, neighbours } = self;
        let work = |(place, record, plan): &(usize, Record, Plan)| -> Result<Comparison, ExperimentError> {
            let outcome = machine
                .run(plan, Circumstances::of(record))
                .map_err(|error| ExperimentError::Repetition { place: *place, source: Box::new(error) })?;
            let simulated = outcome.records().find(|found| found.experiment == record.experiment);
            let simulated = simulated.map(Record::headline);
            let measured = record.headline();
            let agrees = simulated.is_some_and(|simulated| (simulated - measured).abs() <= AGREE * measured);
            Ok(Comparison { name: name(record), unit: record.unit, measured, simulated, agrees })
        };
        let rows = parallel::collected_longest_first(&jobs, |(_, _, plan)| cost(plan), work, finished)?;
        Ok(Against { rows, skipped, neighbours })
    }
}

/// Whether a description has as many processors and nodes as the measured machine.
fn check_sizes(description: &Description, mapping: Option<&Mapping>) -> Result<(), ExperimentError> {
    let (processors, nodes) = (description.topology.processors, description.topology.nodes());
    match mapping.map(Mapping::sizes) {
        Some((cores, of_records)) if (cores, of_records) != (processors, nodes) => {
            let has = format!("it has {processors} processors on {nodes} nodes");
            let reason = format!("{has}; accepted: {cores} on {of_records}, as the records are of");
            Err(ExperimentError::Machine { machine: description.name.clone(), reason })
        }
        _ => Ok(()),
    }
}

/// Whether every node has the memory that the plan of a record needs there.
fn check_memory(
    description: &Description,
    layout: &Layout,
    (place, record): (usize, &Record),
    plan: &Plan,
) -> Result<(), ExperimentError> {
    let free = description.free_memory();
    match plan.memory(layout).into_iter().find(|(_, wanted)| *wanted > free) {
        Some((node, wanted)) => {
            let (title, machine) = (record.title(), description.name.clone());
            Err(ExperimentError::RecordMemory { place, title, machine, node, wanted, free })
        }
        None => Ok(()),
    }
}

/// The plan that repeats a record on a machine of this layout, or the reason why there is none.
fn repeated(
    record: &Record,
    layout: &Layout,
    line: Bytes,
    settings: &Settings,
    mapping: Option<&Mapping>,
) -> Result<Plan, &'static str> {
    if record.headline() == 0.0 {
        return Err("a figure of zero: the clock was too coarse for it");
    }
    let cpu = |cpu| mapping.map_or(Some(cpu), |mapping| mapping.cpu(cpu));
    let node = |node| mapping.map_or(Some(node), |mapping| mapping.node(node));
    if record.locals.iter().chain(&record.remotes).any(|&its| cpu(its).is_none()) {
        return Err("a further hardware thread of a core, whose pairs are not repeated");
    }
    let plan =
        Plan::of_record(record, line, settings, cpu, node).ok_or("a kind of measurement that is not repeated")?;
    if plan.experiment.kernel(0).passes_caches() {
        return Err("accesses that pass the caches, which simulated processors do not have");
    }
    if plan.experiment.ranges_over_an_array() && plan.settings.array.0 > LISTS_BEYOND_CACHES * layout.outermost.0 {
        return Err("an array far beyond the caches, where nothing changes any more");
    }
    plan.validate(layout).map_err(|_| "impossible on the described machine")?;
    Ok(plan)
}

/// The name of a record: its experiment, the pages if they are small ones of several kinds, state, node and processors.
fn name(record: &Record) -> String {
    let list = |cpus: &[units::CpuId]| units::ranges(cpus.iter().map(|cpu| cpu.0));
    let pages = if Circumstances::of(record).small_pages { " on base pages" } else { "" };
    let (title, state, home) = (record.title(), &record.state, record.home);
    let mut name = format!("{title}{pages} {state}, node {home}, CPU {}", list(&record.locals));
    if !record.remotes.is_empty() {
        name.push_str(&format!(", owner {}", list(&record.remotes)));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: Unit, simulated: f64) -> Comparison {
        Comparison { name: String::new(), unit, measured: 100.0, simulated: Some(simulated), agrees: true }
    }

    #[test]
    fn errors_are_those_of_a_unit_without_sign() {
        let mut rows: Vec<Comparison> =
            (1..=10).map(|error| row(Unit::Nanoseconds, 100.0 - f64::from(error))).collect();
        rows.push(row(Unit::MegabytesPerSecond, 150.0));
        let all = Against { rows, skipped: Vec::new(), neighbours: Vec::new() };
        let times = all.errors(Unit::Nanoseconds).expect("ten");
        assert_eq!((times.count, times.median_pct, times.ninetieth_pct, times.largest_pct), (10, 5.5, 9.0, 10.0));
        assert_eq!(all.errors(Unit::MegabytesPerSecond).map(|errors| errors.median_pct), Some(50.0));
        assert_eq!(all.errors(Unit::Count), None);
    }

    /// A machine's own records are repeated without any error, except where only the order of samples differs.
    #[test]
    fn a_machine_agrees_with_itself() {
        let description = machine::load("xeon-8180-2s").expect("a machine");
        let layout = Layout::simulated(&description).expect("a layout");
        let settings = Settings { iterations: 1, lines: Some(64), ..Settings::simulated() };
        let plans = bench::Suite::Places.plans(&layout, &bench::SuiteScope::whole(settings)).expect("possible");
        let record =
            |plan: &Plan| crate::run_plan(&description, plan, sim::Options::default()).expect("measured").record;
        let records: Vec<Record> = plans.iter().take(12).map(record).collect();
        let repetition = Repetition::new(&description, &records, None).expect("possible");
        let found = repetition.run(|_| ()).expect("repeated");
        assert!(
            found.rows.iter().all(|row| row.error_pct().is_some_and(|error| error.abs() < 0.1)),
            "{:#?}",
            found.rows
        );
        let skipped = found.skipped.iter().map(|skipped| skipped.number).sum::<usize>();
        assert!(skipped < records.len() / 3, "{:?}", found.skipped);
        assert_eq!(found.rows.len() + skipped, records.len());
    }
}
