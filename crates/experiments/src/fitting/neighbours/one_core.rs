//! Pairs of processors that were on one core for some of their samples, as a hypervisor places virtual processors.
//!
//! The least of all samples, which is disturbed least, is then not what two cores take: lines of the other processor were in caches that
//! the two had in common.

use bench::Experiment;
use record::Record;
use units::{CpuId, ranges};

use super::{Caches, count_median, is_latency_of_pair};

/// Below this share of a load from the cache that cores share, a line has not come from another core, whose copy that cache finds
/// first. Loads from long lists wait for translations, too.
const SOONER: f64 = 0.75;
/// The median of such a pair is more than this many times its least sample, which another cache answers.
const TWO_CACHES: f64 = 2.0;

/// Makes medians count for the records of pairs that were on one core at times. Returns a remark on them.
pub(super) fn medians_of_pairs(records: &mut [Record], caches: Caches) -> Option<String> {
    let lists = records.iter().filter_map(|record| caches.shared_list(record));
    let shared_ns = lists.map(|list| list.ns).min_by(f64::total_cmp)?;
    // One such record tells of all records of the pair: the least samples of others may be of one core for a part of their time.
    let is_sooner = |record: &Record| record.min < SOONER * shared_ns && record.median > TWO_CACHES * record.min;
    let sooner = records.iter().filter(|record| waits_for_other(record) && is_sooner(record));
    let pairs: Vec<Vec<CpuId>> = sooner.map(cpus).collect();
    let mut on_one: Vec<CpuId> = pairs.concat();
    on_one.sort_unstable();
    on_one.dedup();
    let latencies = records.iter_mut().filter(|record| is_latency_of_pair(record));
    latencies.filter(|record| pairs.contains(&cpus(record))).for_each(count_median);
    (!on_one.is_empty()).then(|| {
        format!(
            "CPUs {} at times have each other's lines sooner than the shared cache's {shared_ns:.1} ns, as if a hypervisor had them on \
             one core: medians count for them",
            ranges(on_one.iter().map(|cpu| cpu.0))
        )
    })
}

/// The processors of a record, in the order of their numbers.
fn cpus(record: &Record) -> Vec<CpuId> {
    let mut cpus: Vec<CpuId> = record.locals.iter().chain(&record.remotes).copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Whether it is of a processor that waits for each line which another one has.
fn waits_for_other(record: &Record) -> bool {
    let waits = [Experiment::LmbenchRead, Experiment::LmbenchRdex, Experiment::LmbenchCas];
    is_latency_of_pair(record) && waits.iter().any(|experiment| record.experiment == experiment.name())
}

#[cfg(test)]
mod tests {
    use bench::{Layout, Plan, Settings, SuiteScope};
    use units::Bytes;

    use super::*;

    #[test]
    fn a_line_sooner_than_the_shared_cache_came_from_the_own_core() {
        let description = machine::load("xeon-e5-2699v3-2s").expect("a machine");
        let layout = Layout::simulated(&description).expect("a layout");
        let settings = Settings { iterations: 1, lines: Some(64), ..Settings::simulated() };
        let plans = bench::Suite::Fit.plans(&layout, &SuiteScope::whole(settings)).expect("possible");
        let wanted = |plan: &&Plan| match plan.experiment {
            Experiment::LmbenchRead => plan.placement.remotes.len() == 1,
            Experiment::AreaRead => (Bytes(2 << 20)..=Bytes(4 << 20)).contains(&plan.settings.array),
            _ => false,
        };
        let record = |plan| crate::run_plan(&description, plan, sim::Options::default()).expect("measured").record;
        let mut records: Vec<Record> = plans.iter().filter(wanted).take(12).map(record).collect();
        let caches = Caches::of(&layout);
        let undisturbed = records.clone();
        assert_eq!(medians_of_pairs(&mut records, caches), None);
        assert_eq!(records, undisturbed);
        let first = records.iter().position(waits_for_other).expect("a pair");
        let pair = &mut records[first];
        (pair.min, pair.median) = (5.0, 41.0);
        let words = format!("CPUs {}", ranges([pair.local.0, pair.remotes[0].0]));
        let longer = Record { min: 16.0, median: 42.0, ..pair.clone() };
        records.push(longer);
        let none_is_shared = Caches { shared: layout.l2, ..caches };
        assert_eq!(medians_of_pairs(&mut records.clone(), none_is_shared), None);
        let note = medians_of_pairs(&mut records, caches);
        assert!(note.is_some_and(|note| note.starts_with(&words)));
        let headlines = [first, records.len() - 1].map(|number| records[number].headline());
        assert_eq!(headlines, [41.0, 42.0], "one record tells of all of the pair");
    }
}
