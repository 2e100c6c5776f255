//! The walk of a page table, as lists of far more pages than there are translations show it.

use units::Bytes;

use super::observed::{Kind, Observation};
use super::tuning::{Bench, Tunable, fit_times};
use crate::error::ExperimentError;

/// Of so many times as many pages as there are translations, few loads find theirs.
const BEYOND: u64 = 4;
/// A walk takes less than this.
const MOST_NS: f64 = 10_000.0;

/// The longest of `lists`, if it has far more pages than there are translations. Large pages count as such only if they are described.
///
/// # Errors
/// When the machine cannot be described.
pub(super) fn longest<'a>(
    bench: &Bench<'_>,
    lists: &'a [Observation],
) -> Result<Option<&'a Observation>, ExperimentError> {
    let tlb = bench.values.described(bench.file)?.tlb;
    let entries = u64::from(tlb.entries.max(tlb.second_entries));
    let is_walked = |list: &&Observation| {
        let is_small = list.circumstances.small_pages || tlb.large_page == Bytes(0);
        is_small && list.plan.settings.array.0 / tlb.page.0 >= BEYOND * entries
    };
    Ok(lists.iter().filter(is_walked).max_by_key(|list| list.plan.settings.array))
}

/// Fits the time of a walk to the [`longest`] list, if there is one.
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn fit(bench: &mut Bench<'_>, lists: &[Observation]) -> Result<(), ExperimentError> {
    let Some(longest) = longest(bench, lists)? else { return Ok(()) };
    let before = bench.values.described(bench.file)?.tlb.miss;
    let mut walk = [Tunable::time(&[("tlb", "miss_ns")], (0.0, MOST_NS), before, Kind::List)];
    fit_times(bench, &mut walk, std::slice::from_ref(longest))?;
    let (size, ns) = (longest.plan.settings.array, longest.measured);
    walk[0].write(&mut bench.values, &format!("calibrated: list of {size}, {ns:.1} ns"));
    Ok(())
}
