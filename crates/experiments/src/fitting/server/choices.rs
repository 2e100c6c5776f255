//! Values without an order, of which those are chosen whose simulated lists come nearest to the measured ones: replacement policies,
//! and whether large pages are what they seem.

use bench::{Experiment, Plan, Settings};
use record::Record;
use units::Bytes;

use super::observed::{Kind, Observation, is_of_pages, plan_of};
use super::structure::Structure;
use super::tuning::Bench;
use super::values::Values;
use crate::error::ExperimentError;

/// A value that lists of some sizes decide.
struct Choice {
    table: &'static str,
    key: &'static str,
    alternatives: &'static [&'static str],
    /// The level that the lists exceed, and the level that they exceed by this factor at most.
    beyond: usize,
    within: (usize, f64),
}

pub(super) const POLICIES: &[&str] = &["\"pseudo-lru\"", "\"lru\"", "\"random\""];

/// In the order in which they are made: pages first, for a missing translation delays every list.
const CHOICES: [Choice; 5] = [
    Choice { table: "tlb", key: LARGE_PAGES, alternatives: &["2048", "0"], beyond: 0, within: (1, 4.0) },
    Choice {
        table: "memory",
        key: "frames",
        alternatives: &["\"consecutive\"", "\"scattered\""],
        beyond: 0,
        within: (1, 4.0),
    },
    Choice { table: "l1", key: "replacement", alternatives: POLICIES, beyond: 0, within: (0, 2.0) },
    Choice { table: "l2", key: "replacement", alternatives: POLICIES, beyond: 1, within: (1, 2.0) },
    Choice { table: "l3_slice", key: "replacement", alternatives: POLICIES, beyond: 2, within: (2, 2.0) },
];

const LARGE_PAGES: &str = "large_page_kib";
/// A list waits for translations if its loads take this many times as long as those of the cache that it lies in.
const WAITS: f64 = 1.25;

/// An alternative to the default is taken if it leaves less than this share of the default's squared error.
pub(super) const BETTER: f64 = 0.8;

/// The lists of `records` that a structure is compared by.
pub(super) fn lists(records: &[Record], structure: &Structure, settings: &Settings) -> Vec<Observation> {
    let list = |record: &Record| -> Option<Observation> {
        let plan = plan_of(record, structure, settings)?;
        (plan.experiment == Experiment::AreaRead).then(|| Observation::new(Kind::List, plan, record))
    };
    records.iter().filter_map(list).collect()
}

/// Chooses, and sets what is chosen with its source.
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn choose(
    bench: &mut Bench<'_>,
    structure: &Structure,
    lists: &[Observation],
    second_level: Option<f64>,
) -> Result<(), ExperimentError> {
    let sizes = [structure.l1, structure.l2, structure.l3].map(|shape| shape.size);
    for choice in &CHOICES {
        let deciding: Vec<Observation> =
            lists.iter().filter(|list| choice.is_decided_by(&list.plan, sizes)).cloned().collect();
        if deciding.is_empty() {
            continue;
        }
        if choice.key == LARGE_PAGES
            && let Some(small) = are_small(lists, structure, second_level)
        {
            let source = "measured: a load of another small page each, on these pages";
            bench.values.set(choice.table, choice.key, choice.alternatives[usize::from(small)], source);
            continue;
        }
        let mut best = (0, f64::INFINITY);
        for (number, &alternative) in choice.alternatives.iter().enumerate() {
            let mut tried = bench.values.clone();
            tried.set(choice.table, choice.key, alternative, "");
            let squares = squared_error(bench, &tried, &deciding)?;
            let enough = if number == 0 { f64::INFINITY } else { best.1 * BETTER };
            if squares < enough {
                best = (number, squares);
            }
        }
        let source = format!("calibrated: nearest to {} lists of those tried", deciding.len());
        bench.values.set(choice.table, choice.key, choice.alternatives[best.0], source);
    }
    Ok(())
}

/// Whether large pages are so many small ones, as a list with a line of each of many small pages in the `second_level` cache tells that
/// was measured on large ones, or on the only pages of a machine: it waits for translations. `None` without such a list.
fn are_small(lists: &[Observation], structure: &Structure, second_level: Option<f64>) -> Option<bool> {
    let is_it = |list: &&Observation| !list.circumstances.small_pages && is_of_pages(&list.plan, structure);
    let measured = lists.iter().find(is_it)?.measured;
    Some(measured > second_level? * WAITS)
}

impl Choice {
    fn is_decided_by(&self, plan: &Plan, sizes: [Bytes; 3]) -> bool {
        let (array, (level, most)) = (plan.settings.array.0, self.within);
        array > sizes[self.beyond].0 && array as f64 <= most * sizes[level].0 as f64
    }
}

/// The sum of squares of the logarithms by which figures differ.
pub(super) fn squared_error(bench: &Bench<'_>, values: &Values, lists: &[Observation]) -> Result<f64, ExperimentError> {
    let figures = bench.figures_of(values, lists)?;
    Ok(lists.iter().zip(figures).map(|(list, figure)| (list.measured / figure).ln().powi(2)).sum())
}
