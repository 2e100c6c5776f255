//! Pairs of processors that were on one core for some of their samples, as a hypervisor places virtual processors.
//!
//! The least of all samples, which is disturbed least, is then not what two cores take: lines of the other processor were in caches that
//! the two had in common.

use bench::Experiment;
use record::{Record, Unit};
use units::{Bytes, CpuId, ranges};

use super::list::List;

/// Below this share of a load from the cache that cores share, a line has not come from another core, whose copy that cache finds
/// first. Loads from long lists wait for translations, too.
const SOONER: f64 = 0.75;
/// The median of such a pair is more than this many times its least sample, which another cache answers.
const TWO_CACHES: f64 = 2.0;

/// Records to fit by or to compare with.
pub(super) struct Apart {
    /// All records. Those of a pair that was on one core at times have the median of their samples in place of the least.
    pub(super) records: Vec<Record>,
    /// A remark on such pairs.
    pub(super) note: Option<String>,
}

/// The `records` of a computer with lines of this size, whose cores have so much cache each and share so much.
pub(super) fn apart(records: &[Record], line: Bytes, (private, shared): (Bytes, Bytes)) -> Apart {
    let mut records = records.to_vec();
    let lists = records.iter().filter_map(List::of_record);
    // Elements that leave out many lines leave out sets.
    let in_shared =
        |list: &List| (2 * private.0..=shared.0 / 2).contains(&list.extent.0) && list.stride.0 <= 4 * line.0;
    let Some(shared_ns) = lists.filter(in_shared).map(|list| list.ns).min_by(f64::total_cmp) else {
        return Apart { records, note: None };
    };
    // One such record tells of all records of the pair: the least samples of others may be of one core for a part of their time.
    let is_sooner = |record: &Record| record.min < SOONER * shared_ns && record.median > TWO_CACHES * record.min;
    let sooner = records.iter().filter(|record| waits_for_other(record) && is_sooner(record));
    let pairs: Vec<Vec<CpuId>> = sooner.map(cpus).collect();
    for record in records.iter_mut().filter(|record| record.unit == Unit::Nanoseconds && !record.remotes.is_empty()) {
        if pairs.contains(&cpus(record)) {
            record.min = record.median;
        }
    }
    let mut on_one: Vec<CpuId> = pairs.concat();
    on_one.sort_unstable();
    on_one.dedup();
    let note = (!on_one.is_empty()).then(|| {
        format!(
            "CPUs {} at times have each other's lines sooner than the shared cache's {shared_ns:.1} ns, as if a hypervisor had them on \
             one core: medians count for them",
            ranges(on_one.iter().map(|cpu| cpu.0))
        )
    });
    Apart { records, note }
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
    record.unit == Unit::Nanoseconds
        && !record.remotes.is_empty()
        && waits.iter().any(|experiment| record.experiment == experiment.name())
}

#[cfg(test)]
mod tests {
    use bench::{Layout, Plan, Settings, SuiteScope};

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
        let undisturbed = apart(&records, layout.line, (layout.l2, layout.outermost));
        assert_eq!((&undisturbed.records, undisturbed.note), (&records, None));
        let first = records.iter().position(waits_for_other).expect("a pair");
        let pair = &mut records[first];
        (pair.min, pair.median) = (5.0, 41.0);
        let words = format!("CPUs {}", ranges([pair.local.0, pair.remotes[0].0]));
        let longer = Record { min: 16.0, median: 42.0, ..pair.clone() };
        records.push(longer);
        let found = apart(&records, layout.line, (layout.l2, layout.outermost));
        assert!(found.note.is_some_and(|note| note.starts_with(&words)));
        let headlines = [first, records.len() - 1].map(|number| found.records[number].headline());
        assert_eq!(headlines, [41.0, 42.0], "one record tells of all of the pair");
        assert_eq!(apart(&records, layout.line, (layout.l2, layout.l2)).note, None, "no cache is shared");
    }
}
