//! Whether the machine that was described from a fit behaves like the one that was measured: the described machine is simulated on the
//! same plans, and compared level by level.

use bench::{BenchError, Experiment, Placement, Plan, Platform, Settings, SimulatedPlatform, State};
use fit::HostFindings;
use fit::caches::{ListLevel, levels_of_lists};
use machine::Description;
use record::{FitRow, Record, Unit};
use units::{Bytes, CpuId, Duration, NodeId};

use super::findings::latency;
use super::list::List;
use super::probe::LISTS_BEYOND_CACHES;
use crate::error::ExperimentError;
use crate::parallel;

/// A time is confirmed if the simulated one is as long within this share, and a cycle of the processor, since descriptions count
/// cycles.
const TIMES_AGREE: f64 = 0.1;
/// A size is confirmed within this factor: descriptions hold powers of two, which may be the square root of two away.
const SIZES_AGREE: f64 = 1.5;
/// A figure of the measured machine beside that of the machine described.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The name of the compared figure.
    pub name: String,
    /// The unit of both.
    pub unit: Unit,
    /// The measured machine.
    pub measured: f64,
    /// The simulated one; `None` for a level that descriptions cannot hold.
    pub simulated: Option<f64>,
    /// Whether they agree, as far as they have to.
    pub agrees: bool,
}

impl Comparison {
    fn new(name: String, unit: Unit, measured: f64, simulated: Option<f64>, agrees: impl Fn(f64) -> bool) -> Self {
        Self { name, unit, measured, simulated, agrees: simulated.is_none_or(agrees) }
    }

    /// By how much the simulated figure exceeds the measured one, in percent of the latter.
    pub fn error_pct(&self) -> Option<f64> {
        self.simulated.map(|simulated| (simulated - self.measured) / self.measured * 100.0)
    }

    /// The record of this comparison: what was measured on `machine`, and held by the simulation of what was described.
    pub fn row(&self, machine: &str) -> FitRow {
        let disagrees = "NOT CONFIRMED: the simulated machine differs";
        let not_described = "not described: a description has a first and a last cache level";
        FitRow {
            machine: machine.to_owned(),
            model: "confirmation".to_owned(),
            parameter: self.name.clone(),
            symbol: String::new(),
            unit: self.unit,
            value: Some(self.measured),
            error: None,
            held: self.simulated,
            deviation_pct: self.simulated.map(|held| (self.measured - held) / held * 100.0),
            note: match (self.simulated, self.agrees) {
                (None, _) => not_described,
                (Some(_), false) => disagrees,
                (Some(_), true) => "",
            }
            .to_owned(),
        }
    }
}

/// Figures that do not agree, in words; `None` if the simulation confirms the fit.
pub fn disagreement(rows: &[Comparison]) -> Option<String> {
    let differs = |row: &Comparison| {
        let (measured, simulated) = (figure(row.measured, row.unit), figure(row.simulated?, row.unit));
        Some(format!("{} {measured}, simulated {simulated} ({:+.0} %)", row.name, row.error_pct()?))
    };
    let all: Vec<String> = rows.iter().filter(|row| !row.agrees).filter_map(differs).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => Bytes(value as u64).to_string(),
        Unit::Count => format!("{value:.0}"),
        unit => format!("{value:.2} {unit}"),
    }
}

/// Simulates the machine that was described from `findings` on the plans behind `records`, and compares: how many levels the lists
/// show (of `caches` at most, if that is known), where each ends and what a load in it takes, and latencies of local memory, and of
/// remote memory on average.
///
/// # Errors
/// When the description cannot be simulated.
pub fn compare(
    description: &Description,
    findings: &HostFindings,
    records: &[Record],
    caches: Option<usize>,
) -> Result<Vec<Comparison>, ExperimentError> {
    let lists: Vec<List> = List::dense(records).into_iter().map(|(_, list)| list).collect();
    let simulated = simulated_lists(description, &lists)?;
    let measured: Vec<(Bytes, f64)> = lists.iter().map(|list| (list.extent, list.ns)).collect();
    let cycle_ns = 1e3 / findings.clock_mhz;
    let mut rows = levels(&levels_of_lists(&measured, caches), &levels_of_lists(&simulated, caches), cycle_ns);
    let mut platform = SimulatedPlatform::new(description.clone(), sim::Options::default())?;
    let mut from_memory = |name: &str, measured: Option<f64>, wanted: &dyn Fn(u32) -> bool| {
        let Some(measured) = measured else { return Ok(()) };
        let (mut sum, mut count) = (0.0, 0.0);
        let layout = platform.layout().clone();
        for home in layout.nodes().filter(|&home| wanted(layout.hops(NodeId(0), home))) {
            let placement = Placement::new(home, CpuId(0), None);
            let plan = Plan::new(Experiment::LmbenchRead, State::Uown, placement, Settings::simulated());
            sum += plan.run(&mut platform)?.record.headline();
            count += 1.0;
        }
        if count > 0.0 {
            let simulated = Some(sum / count);
            rows.push(time(name.to_owned(), measured, simulated, cycle_ns));
        }
        Ok::<(), ExperimentError>(())
    };
    from_memory("load from local memory", latency(records, |hops| hops == 0), &|hops| hops == 0)?;
    from_memory("load from remote memory, mean", latency(records, |hops| hops > 0), &|hops| hops > 0)?;
    Ok(rows)
}

fn time(name: String, measured: f64, simulated: Option<f64>, cycle_ns: f64) -> Comparison {
    let agrees = |simulated: f64| (simulated - measured).abs() <= TIMES_AGREE * measured + cycle_ns;
    Comparison::new(name, Unit::Nanoseconds, measured, simulated, agrees)
}

/// The lists on the described machine, each in its order, up to well beyond its last cache. What was measured on pages that spare
/// translation is simulated without it, too.
fn simulated_lists(description: &Description, lists: &[List]) -> Result<Vec<(Bytes, f64)>, ExperimentError> {
    let mut machine = description.clone();
    if lists.iter().any(|list| list.pages.as_deref().is_some_and(|pages| pages != "base")) {
        machine.tlb.miss = Duration::ZERO;
    }
    let most = Bytes(LISTS_BEYOND_CACHES * machine.coherent_cache().size.0);
    let lists: Vec<&List> = lists.iter().filter(|list| list.extent <= most).collect();
    let work = |list: &&List| -> Result<f64, BenchError> {
        let mut platform = SimulatedPlatform::new(machine.clone(), sim::Options::default())?.in_order(list.order);
        let settings = Settings { array: list.extent, stride: list.stride, iterations: 1, ..Settings::simulated() };
        let placement = Placement::new(NodeId(0), CpuId(0), None);
        Ok(Plan::new(Experiment::AreaRead, State::Uown, placement, settings).run(&mut platform)?.record.headline())
    };
    let mut found = Vec::new();
    let keep = |index: usize, ns: Result<f64, BenchError>| -> Result<(), ExperimentError> {
        found.push((lists[index].extent, ns?));
        Ok(())
    };
    parallel::in_order(&lists, work, |_| (), keep)?;
    Ok(found)
}

/// The levels of both machines side by side. The described machine has the first cache, the last, and memory.
fn levels(measured: &[ListLevel], simulated: &[ListLevel], cycle_ns: f64) -> Vec<Comparison> {
    let last = measured.len().saturating_sub(1);
    let described = |number: usize| number == 0 || number + 1 >= last;
    let expected = (0..measured.len()).filter(|&number| described(number)).count();
    let exactly = |simulated: f64| simulated == expected as f64;
    let count = Some(simulated.len() as f64);
    let name = "cache levels, described and found".to_owned();
    let mut rows = vec![Comparison::new(name, Unit::Count, expected as f64, count, exactly)];
    // From the slow end, so that a level that is missing does not shift those behind it.
    let beside = |number: usize| match number {
        0 => simulated.first(),
        number => (simulated.len() + number).checked_sub(measured.len()).and_then(|index| simulated.get(index)),
    };
    for (number, level) in measured.iter().enumerate() {
        let found = beside(number).filter(|_| described(number));
        let place = if number == last { "beyond all caches".to_owned() } else { format!("level {}", number + 1) };
        if let Some(size) = level.size {
            let held = size.held as f64;
            let agrees = |simulated: f64| (simulated / held).ln().abs() <= SIZES_AGREE.ln();
            let simulated = found.and_then(|found| found.size).map(|size| size.held as f64);
            rows.push(Comparison::new(format!("{place}: fits"), Unit::Bytes, held, simulated, agrees));
        }
        rows.push(time(format!("{place}: load"), level.ns, found.map(|found| found.ns), cycle_ns));
    }
    rows
}

#[cfg(test)]
mod tests {
    use fit::caches::Between;

    use super::*;

    fn level(held: Option<u64>, ns: f64) -> ListLevel {
        ListLevel { size: held.map(|held| Between { held, exceeded: held * 5 / 4 }), ns }
    }

    #[test]
    fn a_machine_that_behaves_like_the_one_measured_confirms_the_fit() {
        let measured =
            [level(Some(32 << 10), 1.2), level(Some(512 << 10), 3.7), level(Some(6 << 20), 15.0), level(None, 130.0)];
        let described = [level(Some(32 << 10), 1.3), level(Some(8 << 20), 15.5), level(None, 133.0)];
        let rows = levels(&measured, &described, 0.4);
        assert_eq!(disagreement(&rows), None, "{rows:#?}");
        let second = rows.iter().find(|row| row.name == "level 2: load").expect("compared");
        assert_eq!((second.simulated, second.error_pct()), (None, None), "a level that cannot be described");
        let third = rows.iter().find(|row| row.name == "level 3: load").expect("compared");
        assert_eq!(third.simulated, Some(15.5));
    }

    #[test]
    fn every_level_that_differs_is_named_with_how_much() {
        let measured = [level(Some(32 << 10), 1.2), level(Some(4 << 20), 150.0), level(None, 300.0)];
        let described = [level(Some(32 << 10), 1.2), level(Some(16 << 20), 40.0), level(None, 300.0)];
        let words = disagreement(&levels(&measured, &described, 0.4)).expect("they differ");
        assert!(words.contains("level 2: load 150.00 ns, simulated 40.00 ns (-73 %)"), "{words}");
        assert!(words.contains("level 2: fits 4 MiB, simulated 16 MiB (+300 %)"), "{words}");
        assert!(!words.contains("level 1") && !words.contains("beyond"), "{words}");
        let words = disagreement(&levels(&measured, &described[..2], 0.4)).expect("a level is missing");
        assert!(words.contains("described and found 3, simulated 2"), "{words}");
    }
}
