//! Shared caches in which neighbours leave lists of a fraction of their size a part of the room.
//!
//! Neighbours work in bursts: a quick sample finds all of a list, and most samples find little. Lists of other sizes are walked in other
//! moments, so that their least samples do not belong to one state of the machine. Medians do, and so do those of memory, which the
//! same neighbours use.

use bench::{Experiment, State};
use record::Record;
use units::Bytes;

use super::{Caches, HELD, count_median, is_latency_of_pair};
use crate::fitting::list::List;

/// A list of which a shared cache holds now all, now a part, has a median of more than this many times its least sample.
const NOW_AND_THEN: f64 = 2.0;
/// The median of such a list may also lie farther than this part of the way from its least sample to what memory takes.
const FAR_TO_MEMORY: f64 = 0.5;
/// Memory takes at least so many times the least sample where that part of the way tells anything.
const MEMORY_IS_FAR: f64 = 1.5;

/// Makes medians count for what lies beyond the private caches, if neighbours push lists out of the shared one at times. Returns a
/// remark on it.
pub(super) fn medians_beyond_private_caches(records: &mut [Record], caches: Caches) -> Option<String> {
    let memory_ns =
        records.iter().filter(|record| is_of_memory(record)).map(|record| record.median).min_by(f64::total_cmp);
    let pushed_out = |record: &Record| {
        let list = caches.shared_list(record)?;
        let (least, median) = (record.min, record.median);
        let is_far = memory_ns.is_some_and(|memory_ns| {
            memory_ns > MEMORY_IS_FAR * least && median - least > FAR_TO_MEMORY * (memory_ns - least)
        });
        (median > NOW_AND_THEN * least || is_far).then_some((list.extent, least, median))
    };
    let (extent, least, median) = records.iter().filter_map(pushed_out).min_by_key(|&(extent, ..)| extent)?;
    records.iter_mut().filter(|record| lies_beyond(record, caches)).for_each(count_median);
    Some(format!(
        "lists of {extent}, which the shared cache of {} has room for, take {least:.1} ns at best and {median:.1} at the median, as if others \
         pushed them out: medians count for all that a private cache may lack",
        caches.shared
    ))
}

/// Whether a record is of loads from memory.
fn is_of_memory(record: &Record) -> bool {
    record.experiment == Experiment::LmbenchRead.name() && record.state == State::Uown.name()
}

/// Whether a record is about memory, a list or stream of which the private caches hold a part at most, or another core's lines.
fn lies_beyond(record: &Record, caches: Caches) -> bool {
    if is_latency_of_pair(record) {
        return true;
    }
    if record.state != State::Uown.name() {
        return false;
    }
    let exceeds = |extent: Bytes| extent.0 as f64 > HELD * caches.private.0 as f64;
    let streams = [Experiment::P3Ru, Experiment::P3Rmw];
    if streams.iter().any(|stream| record.experiment == stream.name()) {
        return record.conditions.window.is_some_and(exceeds);
    }
    List::of_record(record).is_none() || caches.list(record).is_some_and(|list| exceeds(list.extent))
}

#[cfg(test)]
mod tests {
    use bench::{Layout, Plan, Settings, SuiteScope};

    use super::*;

    /// The records of a few plans of the suite `fit`, of one processor and of a pair.
    fn records() -> (Caches, Vec<Record>) {
        let description = machine::load("xeon-e5-2699v3-2s").expect("a machine");
        let layout = Layout::simulated(&description).expect("a layout");
        let settings = Settings { iterations: 1, lines: Some(64), array: Bytes::from_mib(4), ..Settings::simulated() };
        let scope = SuiteScope { largest_area: Bytes::from_mib(2), areas_per_octave: 1, ..SuiteScope::whole(settings) };
        let plans = bench::Suite::Fit.plans(&layout, &scope).expect("possible");
        let wanted = |plan: &&Plan| match plan.experiment {
            Experiment::AreaRead | Experiment::P3Ru => true,
            Experiment::LmbenchRead => {
                plan.placement.home.0 == 0 && plan.placement.remotes.iter().all(|cpu| cpu.0 == 1)
            }
            Experiment::BwRead => plan.placement.home.0 == 0 && plan.placement.locals.len() == 1,
            _ => false,
        };
        let record = |plan| crate::run_plan(&description, plan, sim::Options::default()).expect("measured").record;
        let caches = Caches::of(&layout);
        (caches, plans.iter().filter(wanted).map(record).collect())
    }

    #[test]
    fn medians_of_memory_count_once_lists_in_the_shared_cache_are_pushed_out() {
        let (caches, quiet) = records();
        let mut records = quiet.clone();
        assert_eq!(medians_beyond_private_caches(&mut records, caches), None);
        assert_eq!(records, quiet);
        // Medians are far from the best samples everywhere, and yet only of a list in the shared cache does that tell of neighbours.
        let disturbed = |record: &Record| Record { median: 1.5 * record.headline(), ..record.clone() };
        let mut records: Vec<Record> = quiet.iter().map(disturbed).collect();
        assert_eq!(medians_beyond_private_caches(&mut records, caches), None);
        let is_shared =
            |record: &&mut Record| caches.shared_list(record).is_some_and(|list| list.extent == Bytes::from_mib(1));
        let list = records.iter_mut().find(is_shared).expect("a list of 1 MiB");
        list.median = 3.0 * list.min;
        let note = medians_beyond_private_caches(&mut records, caches).expect("a note");
        assert!(note.starts_with("lists of 1 MiB, which the shared cache of"), "{note}");
        for (record, quiet) in records.iter().zip(&quiet) {
            let is_private = match caches.list(record) {
                Some(list) => list.extent <= Bytes(caches.private.0 / 4),
                None if record.experiment == "p3-ru" => {
                    record.conditions.window.is_none_or(|array| array < caches.private)
                }
                None => List::of_record(record).is_some(),
            };
            let wanted = if is_private { quiet.headline() } else { record.median };
            assert_eq!(record.headline(), wanted, "{}", record.title());
        }
        let counted = |experiment: Experiment| {
            let all = || records.iter().filter(|record| record.experiment == experiment.name());
            all().count() > 0 && all().all(|record| record.headline() == record.median)
        };
        assert!(counted(Experiment::LmbenchRead) && counted(Experiment::BwRead));
    }

    #[test]
    fn a_list_whose_median_is_nearer_to_memory_than_to_its_best_is_pushed_out() {
        let (caches, quiet) = records();
        let memory_ns = quiet.iter().find(|record| is_of_memory(record)).expect("memory").median;
        for (part, far) in [(0.4, false), (0.6, true)] {
            let mut records = quiet.clone();
            let list = records.iter_mut().find(|record| caches.shared_list(record).is_some()).expect("a list");
            list.min = 0.6 * memory_ns;
            list.median = list.min + part * (memory_ns - list.min);
            assert!(list.median < NOW_AND_THEN * list.min);
            assert_eq!(medians_beyond_private_caches(&mut records, caches).is_some(), far, "{part}");
        }
    }
}
