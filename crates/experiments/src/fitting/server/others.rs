//! Lines that others bring into a cache: cores of the package that a virtual machine does not have, into the third-level cache, and threads
//! of the same core into the second-level one. Lists that the cache would have room for are found beyond it then, the longer a walk
//! takes, the more of them.

use machine::description::MOST_OTHERS_MB_PER_S;
use units::Bytes;

use super::choices::{BETTER, POLICIES, squared_error, squared_errors};
use super::observed::{Kind, Observation, Place, measured};
use super::search::Search;
use super::structure::Structure;
use super::third_level::ThirdLevel;
use super::tuning::Bench;
use super::values::Values;
use super::walks;
use crate::error::ExperimentError;

const SECOND: &str = "l2";
const THIRD: &str = "l3_slice";
const RATE: &str = "others_mb_per_s";
/// A list is in the cache as long as its latency has come less than this share of the way from there to memory.
const IN_CACHE: f64 = 0.15;
/// Lists up to this share of the cache have room in it.
const HAS_ROOM: f64 = 0.75;
/// Others bring some such part of the second-level cache's size into it during the walk of a list that has room there: random replacement
/// loses a list to little, replacement by age to as much as the list leaves free.
const OF_PRIVATE: f64 = 1.0 / 16.0;
/// Lists up to so many times the second-level cache are of lines that it has in part.
const IN_PART: f64 = 2.0;
/// The search for a rate and a policy of which little is known: rates of policies differ by much.
const WIDE: Search = Search { within: 8.0, narrowings: 7, of_all: 3 };
/// The search for a rate of which little is known, coarse, for the next one begins there.
const FIRST: Search = Search { within: 8.0, narrowings: 4, of_all: 0 };
/// The search for the policy, near that rate.
const NEXT: Search = Search { within: 4.0, narrowings: 5, of_all: 1 };
/// The search for the rate of the chosen policy.
const LAST: Search = Search { within: 4.0, narrowings: 6, of_all: 0 };
/// The greatest rate that a description takes, in MB/s.
const MOST_RATE: f64 = MOST_OTHERS_MB_PER_S as f64;
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
    let mut rate = cacheful(first, structure.l3.size);
    for (policies, search) in [(&[][..], FIRST), (POLICIES, NEXT), (&[], LAST)] {
        rate = with_policies(bench, THIRD, policies, &compared, rate, search)?;
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
    bench.values.set(THIRD, RATE, rate.round(), source);
    Ok(Some(format!(
        "of the third-level cache's {whole} lists of {least} find a part only, as if others, such as virtual machines beside \
         this one, brought {:.1} GB/s into it",
        rate / 1e3
    )))
}

/// Fits what others bring into the second-level cache, and the replacement policy with it, unless lists are explained without. Returns
/// what one should know of it, if there is anything. Lists so short have fewer pages than there are translations: no walk delays them.
///
/// # Errors
/// When the machine cannot be described or simulated.
pub(super) fn fit_private(
    bench: &mut Bench<'_>,
    structure: &Structure,
    lists: &[Observation],
) -> Result<Option<String>, ExperimentError> {
    let cache = structure.l2.size;
    let part = structure.l1.size.0 + 1..=(IN_PART * cache.0 as f64) as u64;
    let compared: Vec<Observation> = lists.iter().filter(|list| part.contains(&size(list).0)).cloned().collect();
    let has_room = compared.iter().filter(|list| size(list).0 as f64 <= HAS_ROOM * cache.0 as f64);
    let Some(longest) = has_room.max_by_key(|list| size(list)) else { return Ok(None) };
    let squares = squared_error(bench, &bench.values, &compared)?;
    if squares < CLOSE * CLOSE * compared.len() as f64 {
        return Ok(None);
    }
    let without = bench.values.clone();
    let estimate = OF_PRIVATE * cacheful(longest, cache);
    let rate = with_policies(bench, SECOND, POLICIES, &compared, estimate, WIDE)?;
    if squared_error(bench, &bench.values, &compared)? > BETTER * squares {
        bench.values = without;
        return Ok(None);
    }
    bench.values.set(SECOND, RATE, rate.round(), "calibrated: lists of which the third-level cache has a part");
    Ok(Some(format!(
        "lists find less in the second-level cache than it has room for, as if threads of others on the same core brought {:.1} GB/s \
         into it",
        rate / 1e3
    )))
}

fn size(list: &Observation) -> Bytes {
    list.plan.settings.array
}

/// The rate, in MB/s, at which as much as a `cache` holds comes in during one walk of a list.
fn cacheful(list: &Observation, cache: Bytes) -> f64 {
    let walk_ns = size(list).0 as f64 / list.plan.settings.stride.0 as f64 * list.measured;
    cache.0 as f64 / walk_ns * 1e3
}

/// `values` of the machine without what others bring in.
pub(super) fn at_rest(values: &Values) -> Values {
    let mut values = values.clone();
    values.set(SECOND, RATE, 0, "");
    values.set(THIRD, RATE, 0, "");
    values
}

/// Sets the rate into the cache of `table`, searched for near an estimate, and the best of the replacement `policies` if there are any.
/// Returns the rate, in MB/s.
fn with_policies(
    bench: &mut Bench<'_>,
    table: &'static str,
    policies: &[&str],
    compared: &[Observation],
    estimate: f64,
    search: Search,
) -> Result<f64, ExperimentError> {
    let with = |policy: &&str| {
        let mut values = bench.values.clone();
        values.set(table, "replacement", policy, "calibrated: nearest to the lists that others leave a part of");
        values
    };
    let as_it_is = policies.is_empty().then(|| bench.values.clone());
    let tried: Vec<Values> = policies.iter().map(with).chain(as_it_is).collect();
    let at = |values: &Values, rate: f64| {
        let mut values = values.clone();
        values.set(table, RATE, rate.round().min(MOST_RATE), "");
        values
    };
    let found = search.run(tried, estimate, |tried| {
        let machines: Vec<Values> = tried.iter().map(|&(values, rate)| at(values, rate)).collect();
        squared_errors(bench, &machines, compared)
    })?;
    let Some((values, rate)) = found else { return Ok(estimate) };
    bench.values = at(&values, rate);
    Ok(rate.min(MOST_RATE))
}
