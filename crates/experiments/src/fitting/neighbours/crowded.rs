//! Shared caches in which neighbours leave lists of a fraction of their size a part of the room.
//!
//! Neighbours work in bursts: a quick sample finds all of a list, and most samples find little. Lists of other sizes are walked in other
//! moments, so that their least samples do not belong to one state of the machine. Medians do, and so do those of memory, which the
//! same neighbours use.

use bench::{Experiment, State};
use record::Record;

use super::{Caches, count_median, is_latency_of_pair};
use crate::fitting::list::List;

/// A list of which a shared cache holds now all, now a part, has a median of more than this many times its least sample.
const NOW_AND_THEN: f64 = 2.0;
/// The private caches hold lists up to this share of their size, but for lines of pages that meet in a set: the shared cache has those
/// again before neighbours push them out.
const HELD: f64 = 0.75;

/// Makes medians count for what lies beyond the private caches, if neighbours push lists out of the shared one at times. Returns a
/// remark on it.
pub(super) fn medians_beyond_private_caches(records: &mut [Record], caches: Caches) -> Option<String> {
    let pushed_out = |record: &Record| {
        let list = caches.shared_list(record)?;
        (record.median > NOW_AND_THEN * record.min).then_some((list.extent, record.min, record.median))
    };
    let (extent, least, median) = records.iter().filter_map(pushed_out).min_by_key(|&(extent, ..)| extent)?;
    records.iter_mut().filter(|record| lies_beyond(record, caches)).for_each(count_median);
    Some(format!(
        "lists of {extent}, which the shared cache of {} has room for, take {least:.1} ns at best and {median:.1} at the median, as if others \
         pushed them out: medians count beyond the private caches",
        caches.shared
    ))
}

/// Whether a record is about memory, a list of which the private caches hold a part at most, or another core's lines.
fn lies_beyond(record: &Record, caches: Caches) -> bool {
    if is_latency_of_pair(record) {
        return true;
    }
    let streams = [Experiment::P3Ru, Experiment::P3Rmw];
    if record.state != State::Uown.name() || streams.iter().any(|stream| record.experiment == stream.name()) {
        return false;
    }
    let exceeds = |list: List| list.extent.0 as f64 > HELD * caches.private.0 as f64;
    List::of_record(record).is_none() || caches.list(record).is_some_and(exceeds)
}

#[cfg(test)]
mod tests {
    use bench::{Layout, Plan, Settings, SuiteScope};
    use units::Bytes;

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
                Some(list) => list.extent <= Bytes(caches.private.0 / 4 * 3),
                None => List::of_record(record).is_some() || record.experiment == "p3-ru",
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
}
