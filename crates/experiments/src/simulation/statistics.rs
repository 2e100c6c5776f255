//! What a simulator counted, as records.

use std::collections::BTreeMap;

use record::{ControllerCacheStatistics, ControllerStatistics, HandlerStatistics, ProcessorStatistics, SimulationRow};
use sim::{CacheStatistics, NodeStatistics, StallTerms, Tally, ThreadReport};
use units::{Duration, NodeId};

/// A node's controller, after a run of `time`.
pub fn controller(node: NodeId, counted: &NodeStatistics, time: Duration) -> ControllerStatistics {
    let handler = |tally: &Tally| HandlerStatistics { runs: tally.count, busy_ns: tally.busy.as_ns() };
    let cache = |cache: CacheStatistics| ControllerCacheStatistics {
        accesses: cache.accesses,
        misses: cache.misses,
        stalled_ns: cache.stalled.as_ns(),
    };
    ControllerStatistics {
        node,
        occupancy_ns: counted.busy.as_ns(),
        utilisation_pct: percent(counted.busy.as_ns(), time.as_ns()),
        queued_ns: counted.queued.as_ns(),
        bus_ns: counted.bus_busy.as_ns(),
        memory_ns: counted.memory_busy.as_ns(),
        instruction_cache: counted.instruction_cache.map(cache),
        data_cache: counted.data_cache.map(cache),
        remote_access_cache: counted.remote_access_cache.map(cache),
        handlers: counted.handlers.iter().map(|tally| (tally.name.to_owned(), handler(tally))).collect(),
        sent: counted.sent.iter().map(|tally| (tally.name.to_owned(), tally.count)).collect::<BTreeMap<_, _>>(),
        invalidations: counted.invalidations.counts().to_vec(),
    }
}

/// A processor, after its thread has ended, with what its misses waited for, where that is accounted for.
pub fn processor(report: &ThreadReport, terms: Option<StallTerms>) -> ProcessorStatistics {
    let of = |term: fn(&StallTerms) -> Duration| terms.as_ref().map(|terms| term(terms).as_ns());
    ProcessorStatistics {
        cpu: report.cpu,
        time_ns: (report.finished - report.started).as_ns(),
        references: report.counters.references,
        secondary_misses: report.counters.secondary_misses,
        local_misses: terms.map(|terms| terms.local),
        local_remote_action_misses: terms.map(|terms| terms.local_with_remote_action),
        remote_misses: terms.map(|terms| terms.remote),
        unloaded_ns: of(|terms| terms.minimum),
        wait_ns: of(|terms| terms.waiting),
        communication_ns: of(|terms| terms.point_to_point),
        coherence_ns: of(|terms| terms.coherence),
    }
}

/// The parts of a machine, after a run.
pub struct Parts {
    /// The processors that took part.
    pub processors: Vec<ProcessorStatistics>,
    /// All controllers.
    pub controllers: Vec<ControllerStatistics>,
    /// How many of them have processors that took part.
    pub used: usize,
}

/// Adds up in `row` what the processors and controllers did, and keeps them there.
pub fn summarise(mut row: SimulationRow, reports: &[ThreadReport], parts: Parts) -> SimulationRow {
    let Parts { processors, controllers, used } = parts;
    let sum = |of: fn(&ThreadReport) -> u64| reports.iter().map(of).sum();
    row.time_ns = processors.iter().map(|processor| processor.time_ns).fold(0.0, f64::max);
    row.mean_time_ns = processors.iter().map(|processor| processor.time_ns).sum::<f64>() / reports.len() as f64;
    row.references = sum(|report| report.counters.references);
    row.primary_misses = sum(|report| report.counters.primary_misses);
    row.secondary_misses = sum(|report| report.counters.secondary_misses);
    row.translation_misses = sum(|report| report.counters.translation_misses);
    row.refusals = sum(|report| report.counters.refusals);
    row.writebacks = sum(|report| report.counters.writebacks);
    row.miss_latency_ns = miss_latency(&processors);
    row.miss_pct = percent(row.secondary_misses as f64, row.references as f64);
    row.occupancy_ns = controllers.iter().map(|controller| controller.occupancy_ns).sum();
    row.utilisation_pct = percent(row.occupancy_ns, row.time_ns * used as f64);
    row.max_utilisation_pct = controllers.iter().map(|controller| controller.utilisation_pct).fold(0.0, f64::max);
    row.queued_ns = controllers.iter().map(|controller| controller.queued_ns).sum();
    row.instruction_misses = misses(&controllers, |controller| controller.instruction_cache);
    row.data_misses = misses(&controllers, |controller| controller.data_cache);
    row.invalidations = add_histograms(controllers.iter().map(|controller| controller.invalidations.as_slice()));
    row.controllers = Some(controllers);
    row.processors = Some(processors);
    row
}

/// The mean over all misses of the time that Equation 5.1 of the FLASH dissertation parts into its terms.
fn miss_latency(processors: &[ProcessorStatistics]) -> Option<f64> {
    let (mut stall, mut misses) = (0.0, 0);
    for each in processors {
        stall += each.unloaded_ns? + each.wait_ns? + each.communication_ns? + each.coherence_ns?;
        misses += each.local_misses? + each.local_remote_action_misses? + each.remote_misses?;
    }
    (misses > 0).then(|| stall / misses as f64)
}

fn misses(
    controllers: &[ControllerStatistics],
    cache: fn(&ControllerStatistics) -> Option<ControllerCacheStatistics>,
) -> Option<u64> {
    controllers.iter().filter_map(cache).map(|cache| cache.misses).reduce(|sum, misses| sum + misses)
}

fn add_histograms<'a>(histograms: impl Iterator<Item = &'a [u64]>) -> Vec<u64> {
    histograms.fold(Vec::new(), |mut sum, histogram| {
        sum.resize(sum.len().max(histogram.len()), 0);
        sum.iter_mut().zip(histogram).for_each(|(sum, count)| *sum += count);
        sum
    })
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}
