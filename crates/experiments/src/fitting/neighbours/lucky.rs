//! Lists of which private caches hold a part that chance decides.
//!
//! Each sample is of a list of its own: its order decides which loads a prefetcher foresees, which is many times more where a list of
//! few elements is walked again and again, and its frames decide which of its pages meet in a set. The least of many samples is that of
//! the luckiest draw.

use record::Record;

use super::{Caches, count_median};

/// Makes medians count for lists that exceed the first level and are no larger than twice the private caches.
pub(super) fn medians_of_drawn_lists(records: &mut [Record], caches: Caches) {
    records.iter_mut().filter(|record| is_drawn(record, caches)).for_each(count_median);
}

fn is_drawn(record: &Record, caches: Caches) -> bool {
    let exceeded = caches.first.0 + 1..2 * caches.private.0;
    caches.list(record).is_some_and(|list| exceeded.contains(&list.extent.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bench::{Experiment, Layout, Plan, Settings, SuiteScope};
    use units::Bytes;

    use super::*;

    #[test]
    fn lists_of_which_private_caches_hold_a_part_have_the_median_of_their_draws() {
        let description = machine::load("xeon-e5-2699v3-2s").expect("a machine");
        let layout = Layout::simulated(&description).expect("a layout");
        let settings = Settings { iterations: 1, lines: Some(64), ..Settings::simulated() };
        let scope = SuiteScope { largest_area: Bytes::from_mib(2), areas_per_octave: 1, ..SuiteScope::whole(settings) };
        let plans = bench::Suite::Fit.plans(&layout, &scope).expect("possible");
        let of_cpu_0 = |plan: &&Plan| plan.experiment == Experiment::AreaRead && plan.placement.locals[0].0 == 0;
        let drawn = |plan| {
            let record = crate::run_plan(&description, plan, sim::Options::default()).expect("measured").record;
            Record { median: 1.5 * record.min, ..record }
        };
        let mut records: Vec<Record> = plans.iter().filter(of_cpu_0).map(drawn).collect();
        medians_of_drawn_lists(&mut records, Caches::of(&layout));
        // 32 KiB and 256 KiB.
        let kib_of_medians: BTreeSet<u64> = records
            .iter()
            .filter(|record| record.headline() == record.median)
            .filter_map(|record| Some(record.conditions.window?.0 >> 10))
            .collect();
        assert_eq!(kib_of_medians, BTreeSet::from([64, 128, 256]));
    }
}
