//! The walk of a page table, as lists of far more pages than there are translations show it.

use units::Bytes;

use super::observed::{Kind, Observation};
use super::tuning::{Bench, Tunable, fit_times};
use crate::error::ExperimentError;

/// Lists of this many times as many pages as there are translations: few loads find theirs.
const BEYOND: u64 = 4;
/// A walk takes less than this.
const MOST_NS: f64 = 10_000.0;

/// Fits the time of a walk to the longest of `lists`, if it has far more pages than there are translations. Large pages count as such
/// only if they are described.
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn fit(bench: &mut Bench<'_>, lists: &[Observation]) -> Result<(), ExperimentError> {
    let tlb = bench.values.described(bench.file)?.tlb;
    let entries = u64::from(tlb.entries.max(tlb.second_entries));
    let size = |list: &Observation| list.plan.settings.array;
    let is_walked = |list: &&Observation| {
        let is_small = list.circumstances.small_pages || tlb.large_page == Bytes(0);
        is_small && size(list).0 / tlb.page.0 >= BEYOND * entries
    };
    let Some(longest) = lists.iter().filter(is_walked).max_by_key(|list| size(list)) else { return Ok(()) };
    let mut walk = [Tunable::time(&[("tlb", "miss_ns")], (0.0, MOST_NS), tlb.miss, Kind::List)];
    fit_times(bench, &mut walk, std::slice::from_ref(longest))?;
    let source = format!("calibrated: list of {}, {:.1} ns", size(longest), longest.measured);
    walk[0].write(&mut bench.values, &source);
    Ok(())
}
