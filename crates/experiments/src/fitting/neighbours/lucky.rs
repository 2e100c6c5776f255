//! Lists in a private cache behind the first level, whose order decides how quick they are.
//!
//! Each sample is of a list of its own, in an order of its own. A list of few elements takes the same time again and again in one order,
//! and up to a fifth less in another, as if a prefetcher foresaw some of its loads. The least of many samples is that of the luckiest order.

use record::Record;

use super::{Caches, HELD, count_median};

/// Makes medians count for lists that exceed the first level, and of which the private caches hold all.
pub(super) fn medians_of_held_lists(records: &mut [Record], caches: Caches) {
    records.iter_mut().filter(|record| is_held(record, caches)).for_each(count_median);
}

fn is_held(record: &Record, caches: Caches) -> bool {
    let held = caches.first.0 + 1..=(HELD * caches.private.0 as f64) as u64;
    caches.list(record).is_some_and(|list| held.contains(&list.extent.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bench::{Experiment, Layout, Plan, Settings, SuiteScope};
    use units::Bytes;

    use super::*;

    #[test]
    fn lists_in_a_private_cache_behind_the_first_level_have_the_median_of_their_orders() {
        let description = machine::load("xeon-e5-2699v3-2s").expect("a machine");
        let layout = Layout::simulated(&description).expect("a layout");
        let settings = Settings { iterations: 1, lines: Some(64), ..Settings::simulated() };
        let scope = SuiteScope { largest_area: Bytes::from_mib(2), areas_per_octave: 1, ..SuiteScope::whole(settings) };
        let plans = bench::Suite::Fit.plans(&layout, &scope).expect("possible");
        let of_cpu_0 = |plan: &&Plan| plan.experiment == Experiment::AreaRead && plan.placement.locals[0].0 == 0;
        let spread = |plan| {
            let record = crate::run_plan(&description, plan, sim::Options::default()).expect("measured").record;
            Record { median: 1.5 * record.min, ..record }
        };
        let mut records: Vec<Record> = plans.iter().filter(of_cpu_0).map(spread).collect();
        medians_of_held_lists(&mut records, Caches::of(&layout));
        // 32 KiB and 256 KiB.
        let kib_of_medians: BTreeSet<u64> = records
            .iter()
            .filter(|record| record.headline() == record.median)
            .filter_map(|record| Some(record.conditions.window?.0 >> 10))
            .collect();
        assert_eq!(kib_of_medians, BTreeSet::from([64]));
    }
}
