//! Lines that others bring into the third-level cache, as cores of the package do that a virtual machine does not have: lists
//! that the cache would have room for are found in memory then, the longer a walk takes, the more of them.

use units::Bytes;

use super::choices::{BETTER, POLICIES, squared_error};
use super::observed::{Kind, Observation, Place, measured};
use super::structure::Structure;
use super::third_level::ThirdLevel;
use super::tuning::Bench;
use super::values::Values;
use super::walks;
use crate::error::ExperimentError;

const TABLE: &str = "l3_slice";
const RATE: &str = "others_mb_per_s";
/// A list is in the cache as long as its latency has come less than this share of the way from there to memory.
const IN_CACHE: f64 = 0.15;
/// Lists up to this share of the cache have room in it.
const HAS_ROOM: f64 = 0.75;
/// The rate lies within this factor of the first estimate, on either side, and is found by so many narrowings of the range.
const WITHIN: f64 = 8.0;
const NARROWINGS: usize = 7;
/// What is left of a range that is narrowed: the golden section, with which one of two places tried is tried in the next range, too.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// Lists within this share of what was measured need nothing more to explain them.
const CLOSE: f64 = 0.04;

/// Fits the walk of the page table and, unless it alone explains the lists, the rate and the replacement policy with it: either delays
/// lists that the other is found by. If the latency of the third-level cache is known by lines that others push out, too (`third_level`),
/// it is fitted beside them. Returns what one should know of the rate, if there is any.
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn fit(
    bench: &mut Bench<'_>,
    structure: &Structure,
    lists: &[Observation],
    observed: &[Observation],
    mut third_level: Option<ThirdLevel>,
) -> Result<Option<String>, ExperimentError> {
    let of = |kind| measured(observed, kind);
    let without = bench.values.clone();
    walks::fit(bench, lists)?;
    let Some((cache, memory)) = of(Kind::Level(3)).zip(of(Kind::Memory(Place::Local))) else { return Ok(None) };
    let share = |list: &Observation| (list.measured - cache) / (memory - cache);
    let room = structure.l2.size.0 + 1..(HAS_ROOM * structure.l3.size.0 as f64) as u64;
    let compared: Vec<Observation> = lists.iter().filter(|list| room.contains(&size(list).0)).cloned().collect();
    let gone = compared.iter().filter(|list| share(list) > IN_CACHE);
    let Some(first) = gone.min_by_key(|list| size(list)) else { return Ok(None) };
    let squares = squared_error(bench, &bench.values, &compared)?;
    if squares < CLOSE * CLOSE * compared.len() as f64 {
        return Ok(None);
    }
    let by_walks = (squares, std::mem::replace(&mut bench.values, without));
    // As much as the cache holds comes in during one walk of the first list.
    let walk_ns = size(first).0 as f64 / first.plan.settings.stride.0 as f64 * first.measured;
    let mut rate = structure.l3.size.0 as f64 / walk_ns * 1e3;
    for policies in [&[][..], POLICIES, &[]] {
        rate = with_policies(bench, policies, &compared, rate)?;
        if let Some(third_level) = &mut third_level {
            third_level.fit(bench)?;
        }
        walks::fit(bench, lists)?;
    }
    if squared_error(bench, &bench.values, &compared)? > BETTER * by_walks.0 {
        bench.values = by_walks.1;
        return Ok(None);
    }
    let words = |size: Bytes| format!("{:.1} MiB", size.0 as f64 / f64::from(1 << 20));
    let (least, whole) = (words(size(first)), words(structure.l3.size));
    let source = format!("calibrated: lists from {least} on, of which memory has a part");
    bench.values.set(TABLE, RATE, rate.round(), source);
    Ok(Some(format!(
        "of the third-level cache's {whole} lists of {least} find a part only, as if others, such as virtual machines beside \
         this one, brought {:.1} GB/s into it",
        rate / 1e3
    )))
}

fn size(list: &Observation) -> Bytes {
    list.plan.settings.array
}

/// `values` of the machine without what others bring in.
pub(super) fn at_rest(values: &Values) -> Values {
    let mut values = values.clone();
    values.set(TABLE, RATE, 0, "");
    values
}

/// Sets the rate, near an `estimate`, and the best of the replacement `policies` if there are any. Returns the rate, in MB/s.
fn with_policies(
    bench: &mut Bench<'_>,
    policies: &[&str],
    compared: &[Observation],
    estimate: f64,
) -> Result<f64, ExperimentError> {
    let with = |policy: &&str| {
        let mut values = bench.values.clone();
        values.set(TABLE, "replacement", policy, "calibrated: nearest to the lists that others leave a part of");
        values
    };
    let as_it_is = policies.is_empty().then(|| bench.values.clone());
    let mut best: Option<(f64, f64, Values)> = None;
    for values in policies.iter().map(with).chain(as_it_is) {
        let (squares, rate) = rate(bench, &values, compared, estimate)?;
        if best.as_ref().is_none_or(|best| squares < best.0) {
            best = Some((squares, rate, values));
        }
    }
    if let Some((_, rate, mut values)) = best {
        values.set(TABLE, RATE, rate.round(), "");
        bench.values = values;
        return Ok(rate);
    }
    Ok(estimate)
}

/// The rate, in MB/s, with which all lists come nearest to what was measured, after the sum of the squares by which they differ.
///
/// # Errors
/// When the machine cannot be described or simulated.
fn rate(
    bench: &Bench<'_>,
    values: &Values,
    compared: &[Observation],
    estimate: f64,
) -> Result<(f64, f64), ExperimentError> {
    let tried = |log: f64| -> Result<(f64, f64), ExperimentError> {
        let mut values = values.clone();
        values.set(TABLE, RATE, log.exp().round(), "");
        Ok((squared_error(bench, &values, compared)?, log))
    };
    let (mut low, mut high) = ((estimate / WITHIN).ln(), (estimate * WITHIN).ln());
    let mut lower = tried(high - GOLDEN * (high - low))?;
    let mut upper = tried(low + GOLDEN * (high - low))?;
    for _ in 0..NARROWINGS {
        if lower.0 <= upper.0 {
            (high, upper) = (upper.1, lower);
            lower = tried(high - GOLDEN * (high - low))?;
        } else {
            (low, lower) = (lower.1, upper);
            upper = tried(low + GOLDEN * (high - low))?;
        }
    }
    let (squares, log) = if lower.0 <= upper.0 { lower } else { upper };
    Ok((squares, log.exp()))
}
