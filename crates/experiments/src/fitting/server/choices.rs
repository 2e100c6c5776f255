//! Values without an order, of which those are chosen whose simulated lists come nearest to the measured ones: replacement policies,
//! and whether large pages are what they seem.

use std::ops::RangeInclusive;

use bench::{Experiment, Plan, Settings};
use record::Record;
use units::Bytes;

use super::observed::{Kind, Observation, is_of_pages, plan_of};
use super::structure::Structure;
use super::tuning::Bench;
use super::values::Values;
use crate::error::ExperimentError;

/// Values that lists of some sizes decide.
struct Choice {
    /// Tables and keys that are chosen together.
    keys: &'static [(&'static str, &'static str)],
    /// A value for each key.
    alternatives: &'static [&'static [&'static str]],
    /// The level that the lists exceed, and the level that they exceed by this factor at most.
    beyond: usize,
    within: (usize, f64),
}

const PSEUDO_LRU: &str = "\"pseudo-lru\"";
const LRU: &str = "\"lru\"";
const RANDOM: &str = "\"random\"";
const NRU: &str = "\"nru\"";
pub(super) const POLICIES: &[&str] = &[PSEUDO_LRU, LRU, NRU, RANDOM];
const EACH_POLICY: &[&[&str]] = &[&[PSEUDO_LRU], &[LRU], &[NRU], &[RANDOM]];

const CONSECUTIVE: &str = "\"consecutive\"";
const SCATTERED: &str = "\"scattered\"";

/// In the order in which they are made: pages first, for a missing translation delays every list.
const CHOICES: [Choice; 4] = [
    Choice { keys: &[("tlb", LARGE_PAGES)], alternatives: &[&["2048"], &["0"]], beyond: 0, within: (1, 4.0) },
    Choice { keys: &[("l1", POLICY)], alternatives: EACH_POLICY, beyond: 0, within: (0, 4.0) },
    // Pages that meet in sets leave lines out that a policy would keep, and a policy keeps lines where pages meet.
    Choice {
        keys: &[("memory", "frames"), ("l2", POLICY)],
        alternatives: &[
            &[CONSECUTIVE, PSEUDO_LRU],
            &[CONSECUTIVE, LRU],
            &[CONSECUTIVE, NRU],
            &[CONSECUTIVE, RANDOM],
            &[SCATTERED, PSEUDO_LRU],
            &[SCATTERED, LRU],
            &[SCATTERED, NRU],
            &[SCATTERED, RANDOM],
        ],
        beyond: 0,
        within: (1, 2.0),
    },
    Choice { keys: &[("l3_slice", POLICY)], alternatives: EACH_POLICY, beyond: 2, within: (2, 2.0) },
];

const POLICY: &str = "replacement";
const LARGE_PAGES: &str = "large_page_kib";
/// A list waits for translations if its loads take this many times as long as those of the cache that it lies in.
const WAITS: f64 = 1.25;

/// An alternative to the default is taken if it leaves less than this share of the default's squared error.
pub(super) const BETTER: f64 = 0.8;

/// The times of the next level that are tried with each policy, in percent of what was fitted with the default: not less, for with no
/// policy do lists that exceed a cache hit less than with the default.
const NEXT_LEVEL_PERCENT: RangeInclusive<u32> = 100..=125;

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
        if choice.keys[0].1 == LARGE_PAGES
            && let Some(small) = are_small(lists, structure, second_level)
        {
            let source = "measured: a load of another small page each, on these pages";
            choice.make(&mut bench.values, usize::from(small), source);
            continue;
        }
        let with = |number: usize| {
            let mut tried = bench.values.clone();
            choice.make(&mut tried, number, "");
            tried
        };
        let tried: Vec<Values> = (0..choice.alternatives.len()).map(with).collect();
        let errors = |figures: &Vec<f64>| {
            let all = squares(&deciding, figures.iter().copied());
            let level = second_level.filter(|_| choice.is_of_second_level());
            (all, level.map_or(all, |level| squares_of_shape(&deciding, figures, level)))
        };
        let chosen = nearest(&bench.figures_of_each(&tried, &deciding)?.iter().map(errors).collect::<Vec<_>>());
        let source = format!("calibrated: nearest to {} lists of those tried", deciding.len());
        choice.make(&mut bench.values, chosen, &source);
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

/// The number of the alternative to take, by the squared errors of each and those of its shape: the first, which is the default, unless
/// others are better; of those the one with the best shape.
fn nearest(errors: &[(f64, f64)]) -> usize {
    let enough = errors[0].0 * BETTER;
    let better = (1..errors.len()).filter(|&number| errors[number].0 < enough);
    better.min_by(|&a, &b| errors[a].1.total_cmp(&errors[b].1)).unwrap_or(0)
}

impl Choice {
    /// Sets the alternative of this number.
    fn make(&self, values: &mut Values, number: usize, source: &str) {
        for (&(table, key), value) in self.keys.iter().zip(self.alternatives[number]) {
            values.set(table, key, value, source);
        }
    }

    fn is_of_second_level(&self) -> bool {
        self.keys.iter().any(|&(table, _)| table == "l2")
    }

    fn is_decided_by(&self, plan: &Plan, sizes: [Bytes; 3]) -> bool {
        let (array, (level, most)) = (plan.settings.array.0, self.within);
        array > sizes[self.beyond].0 && array as f64 <= most * sizes[level].0 as f64
    }
}

/// The sum of squares of the logarithms by which figures differ.
pub(super) fn squared_error(bench: &Bench<'_>, values: &Values, lists: &[Observation]) -> Result<f64, ExperimentError> {
    Ok(squared_errors(bench, std::slice::from_ref(values), lists)?[0])
}

/// The same of several machines.
pub(super) fn squared_errors(
    bench: &Bench<'_>,
    machines: &[Values],
    lists: &[Observation],
) -> Result<Vec<f64>, ExperimentError> {
    let figures = bench.figures_of_each(machines, lists)?;
    Ok(figures.into_iter().map(|figures| squares(lists, figures)).collect())
}

fn squares(lists: &[Observation], figures: impl IntoIterator<Item = f64>) -> f64 {
    lists.iter().zip(figures).map(|(list, figure)| (list.measured / figure).ln().powi(2)).sum()
}

/// The same for lists that exceed a cache of latency `level`, at that latency of the next one with which they differ least: the next
/// one's was fitted with another part of the lists coming from there.
fn squares_of_shape(lists: &[Observation], figures: &[f64], level: f64) -> f64 {
    let longer = |percent: u32| f64::from(percent) / 100.0;
    let at = |factor: f64| squares(lists, figures.iter().map(|figure| level + (figure - level) * factor));
    NEXT_LEVEL_PERCENT.map(longer).map(at).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_default_stays_unless_others_are_better_and_their_shape_decides_among_them() {
        assert_eq!(nearest(&[(1.0, 1.0), (0.9, 0.1), (1.2, 0.0)]), 0);
        assert_eq!(nearest(&[(1.0, 0.1), (0.7, 0.6), (0.5, 0.9), (0.9, 0.2)]), 1);
        assert_eq!(nearest(&[(0.0, 0.0), (0.0, 0.0)]), 0);
    }
}
