//! Lines that others bring into the third-level cache, as cores of the package do that a virtual machine does not have: lists
//! that the cache would have room for are found in memory then, the longer a walk takes, the more of them.

use units::Bytes;

use super::choices::squared_error;
use super::observed::{Kind, Observation, Place, measured};
use super::structure::Structure;
use super::tuning::Bench;
use super::values::Values;
use crate::error::ExperimentError;

const KEY: (&str, &str) = ("l3_slice", "others_mb_per_s");
/// A list is neither in the cache nor in memory whose latency has come so far of the way from one to the other.
const BETWEEN: std::ops::Range<f64> = 0.15..0.85;
/// Lists up to this share of the cache have room in it.
const HAS_ROOM: f64 = 0.75;
/// Lists that decide at most.
const LISTS: usize = 2;
/// Rates and policies are compared by lists up to this multiple of the first that is not in the cache: beyond, all are in memory.
const COMPARED: u64 = 2;
/// Parts of the rate with which the deciding lists are as slow as measured that are compared, too. A walk of a list that is longer
/// because lines are gone loses more of them: where the least recently used places are taken, lists are either in the cache or in
/// memory, and a few hundredths of the rate decide it.
const PARTS: [f64; 4] = [1.0, 0.98, 0.96, 0.94];
/// The rate lies within this factor of the first estimate, and is found by so many bisections.
const WITHIN: f64 = 16.0;
const BISECTIONS: usize = 7;

/// Finds the rate, and sets it. Returns what one should know of it; `None` where lists are where they have room.
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn fit(
    bench: &mut Bench<'_>,
    structure: &Structure,
    lists: &[Observation],
    observed: &[Observation],
) -> Result<Option<String>, ExperimentError> {
    let of = |kind| measured(observed, kind);
    let Some((cache, memory)) = of(Kind::Level(3)).zip(of(Kind::Memory(Place::Local))) else { return Ok(None) };
    let share = |list: &Observation| (list.measured - cache) / (memory - cache);
    let size = |list: &Observation| list.plan.settings.array;
    let room = 2 * structure.l2.size.0..(HAS_ROOM * structure.l3.size.0 as f64) as u64;
    let mut gone: Vec<&Observation> =
        lists.iter().filter(|list| room.contains(&size(list).0) && share(list) > BETWEEN.start).collect();
    gone.sort_by_key(|list| size(list));
    let Some(&first) = gone.first() else { return Ok(None) };
    let between = gone.iter().filter(|list| BETWEEN.contains(&share(list))).take(LISTS);
    let mut deciding: Vec<Observation> = between.map(|&list| list.clone()).collect();
    if deciding.is_empty() {
        deciding.push(first.clone());
    }
    // As much as the cache holds comes in during one walk of the first list.
    let walk_ns = size(&deciding[0]).0 as f64 / deciding[0].plan.settings.stride.0 as f64 * deciding[0].measured;
    let estimate = structure.l3.size.0 as f64 / walk_ns * 1e3;
    let near = |list: &&Observation| room.contains(&size(list).0) && size(list).0 <= COMPARED * size(first).0;
    let compared: Vec<Observation> = lists.iter().filter(near).cloned().collect();
    // Places that are taken at random spread over sizes what the least recently used ones lose at once.
    let mut best: Option<(f64, u64, Values)> = None;
    for policy in [None, Some("\"random\"")] {
        let mut values = bench.values.clone();
        if let Some(policy) = policy {
            values.set(
                "l3_slice",
                "replacement",
                policy,
                "calibrated: nearest to the lists that others leave a part of",
            );
        }
        let most = rate(bench, &values, &deciding, estimate)?;
        for part in PARTS {
            let rate = (most as f64 * part).round() as u64;
            values.set(KEY.0, KEY.1, rate, "");
            let squares = squared_error(bench, &values, &compared)?;
            if best.as_ref().is_none_or(|best| squares < best.0) {
                best = Some((squares, rate, values.clone()));
            }
        }
    }
    let Some((_, rate, values)) = best else { return Ok(None) };
    bench.values = values;
    let words = |size: Bytes| format!("{:.1} MiB", size.0 as f64 / f64::from(1 << 20));
    let (least, whole) = (words(size(first)), words(structure.l3.size));
    bench.values.set(KEY.0, KEY.1, rate, format!("calibrated: lists from {least} on, of which memory has a part"));
    Ok(Some(format!(
        "of the third-level cache's {whole} lists of {least} find a part only, as if others, such as virtual machines beside \
         this one, brought {:.1} GB/s into it",
        rate as f64 / 1e3
    )))
}

/// The rate, in MB/s, with which the `deciding` lists are as slow as measured, all together.
///
/// # Errors
/// When the machine cannot be described or simulated.
fn rate(bench: &Bench<'_>, values: &Values, deciding: &[Observation], estimate: f64) -> Result<u64, ExperimentError> {
    let (mut low, mut high) = (estimate / WITHIN, estimate * WITHIN);
    for _ in 0..BISECTIONS {
        let middle = (low * high).sqrt();
        let mut tried = values.clone();
        tried.set(KEY.0, KEY.1, middle.round() as u64, "");
        let figures = bench.figures_of(&tried, deciding)?;
        let slower: f64 = deciding.iter().zip(figures).map(|(list, figure)| (figure / list.measured).ln()).sum();
        if slower > 0.0 { high = middle } else { low = middle }
    }
    Ok((low * high).sqrt().round() as u64)
}
