//! Statistics of a simulator, as records.

use std::collections::BTreeMap;

use record::{
    ControllerCacheStatistics, ControllerStatistics, HandlerStatistics, LinkInterfaceStatistics, PageStatistics,
    ProcessorStatistics, ReferenceMix, RoundTripParts, SimulationRow,
};
use sim::{
    CacheStatistics, Cause, LinkStatistics, MissCause, MissCounts, NodeStatistics, ProcessorCounters, Service,
    StallTerms, Tally, ThreadReport, TimeSplit,
};
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
        pages: counted.pages.map(pages),
        link: counted.link.map(|counted| link(&counted, time)),
        switch: counted.switch.map(|both| both.map(|counted| link(&counted, time))),
    }
}

/// Misses and operations on pages of a cluster's node.
fn pages(counted: sim::PageStatistics) -> PageStatistics {
    PageStatistics {
        misses: counted.misses,
        refetches: counted.refetches,
        relocations: counted.relocations,
        evictions: counted.evictions,
        migrations: counted.migrations,
        replications: counted.replications,
        gathered: counted.gathered,
        copied: counted.copied,
        relocating_ns: counted.relocating.as_ns(),
        gathering_ns: counted.gathering.as_ns(),
        copying_ns: counted.copying.as_ns(),
    }
}

/// A node's link interface, after a run of `time`.
fn link(counted: &LinkStatistics, time: Duration) -> LinkInterfaceStatistics {
    let rate = |bytes: u64| if time > Duration::ZERO { bytes as f64 / time.as_seconds() / 1e6 } else { 0.0 };
    let each = |sum: Duration| sum.as_ns() / counted.acknowledged.max(1) as f64;
    LinkInterfaceStatistics {
        traffic_mb_s: rate(counted.traffic),
        throughput_mb_s: rate(counted.inserted),
        data_mb_s: rate(counted.payload),
        round_trip_ns: each(counted.round_trips),
        round_trip_parts: RoundTripParts {
            active_buffer_ns: each(counted.for_active_buffer),
            own_packet_ns: each(counted.for_own_packet),
            recovery_ns: each(counted.for_recovery),
            passing_packet_ns: each(counted.for_passing_packet),
            go_bit_ns: each(counted.for_go_bit),
            unloaded_ns: each(counted.unloaded),
            bypass_ns: each(counted.bypass_delay),
        },
        bypass_pct: percent(counted.bypass_busy.as_ns(), time.as_ns()),
        packets: counted.transmitted,
        data_packets: counted.data_packets,
        retransmissions: counted.retransmitted,
    }
}

/// The references of a thread by the data that they are to.
pub fn mix(counters: &ProcessorCounters) -> ReferenceMix {
    let [shared_loads, shared_stores] = counters.shared_references();
    let [private_loads, private_stores] = counters.private_references;
    let [private_load_misses, private_store_misses] = counters.private_misses;
    ReferenceMix {
        instructions: counters.instructions,
        shared_loads,
        shared_stores,
        private_loads,
        private_stores,
        private_load_misses,
        private_store_misses,
    }
}

/// A processor, after its thread has ended, with what its misses waited for, where that is accounted for, and its references,
/// where they are told apart.
pub fn processor(report: &ThreadReport, terms: Option<StallTerms>, mix: Option<ReferenceMix>) -> ProcessorStatistics {
    let of = |term: fn(&StallTerms) -> Duration| terms.as_ref().map(|terms| term(terms).as_ns());
    ProcessorStatistics {
        cpu: report.cpu,
        time_ns: report.time.as_ns(),
        spent_ns: spent(&report.counters.time),
        misses: misses_by_service(&report.counters.misses),
        references: report.counters.references,
        secondary_misses: report.counters.secondary_misses,
        local_misses: terms.map(|terms| terms.local),
        local_remote_action_misses: terms.map(|terms| terms.local_with_remote_action),
        remote_misses: terms.map(|terms| terms.remote),
        unloaded_ns: of(|terms| terms.minimum),
        wait_ns: of(|terms| terms.waiting),
        communication_ns: of(|terms| terms.point_to_point),
        coherence_ns: of(|terms| terms.coherence),
        mix,
    }
}

/// Where time went, by name: every name is there, so that records of all runs have the same; but those of parts that only some
/// machines have, where time went there.
fn spent(split: &TimeSplit) -> BTreeMap<String, f64> {
    let misses = |(access, writes): (&'static str, bool)| {
        let named = move |service: Service| (miss_name(access, service), split.of(Cause::miss(writes, service)));
        Service::all().map(named)
    };
    let occurred = Cause::OF_SOME.into_iter().filter(|&(cause, _)| split.of(cause) > Duration::ZERO);
    let others = Cause::OTHERS.into_iter().chain(occurred).map(|(cause, name)| (name.to_owned(), split.of(cause)));
    let all = ACCESSES.into_iter().flat_map(misses).chain(others).chain([("busy".to_owned(), split.busy())]);
    all.map(|(name, time)| (name, time.as_ns())).collect()
}

/// Kinds of accesses that miss, and whether they write.
const ACCESSES: [(&str, bool); 2] = [("read", false), ("write", true)];

fn miss_name(access: &str, service: Service) -> String {
    format!("{access}.{}.{}", service.distance.name(), service.transaction.name())
}

/// Misses by how they were served, whether they occurred or not.
fn misses_by_service(counts: &MissCounts) -> BTreeMap<String, u64> {
    let of = |(access, writes): (&'static str, bool)| {
        Service::all().map(move |service| (miss_name(access, service), counts.of(writes, service)))
    };
    ACCESSES.into_iter().flat_map(of).collect()
}

/// Misses on lines of the own node in percent of all.
fn local_share(counts: &MissCounts) -> f64 {
    let sum = |local: bool| -> u64 {
        let services = Service::all().filter(|service| service.distance.is_local() == local);
        services.map(|service| counts.of(false, service) + counts.of(true, service)).sum()
    };
    percent(sum(true) as f64, (sum(true) + sum(false)) as f64)
}

/// The parts of a machine, after a run.
pub struct Parts {
    /// The processors that took part.
    pub processors: Vec<ProcessorStatistics>,
    /// All controllers.
    pub controllers: Vec<ControllerStatistics>,
    /// How many of them have processors that took part.
    pub used: usize,
    /// Whether misses were told apart by their causes.
    pub told: bool,
}

/// Adds up in `row` what the processors and controllers did, and keeps them there.
pub fn summarise(mut row: SimulationRow, reports: &[ThreadReport], parts: Parts) -> SimulationRow {
    let Parts { processors, controllers, used, told } = parts;
    row.time_ns = processors.iter().map(|processor| processor.time_ns).fold(0.0, f64::max);
    row.mean_time_ns = processors.iter().map(|processor| processor.time_ns).sum::<f64>() / reports.len() as f64;
    row.run_ns = reports.iter().map(|report| (report.finished - report.started).as_ns()).fold(0.0, f64::max);
    let all = reports.iter().fold(ProcessorCounters::default(), |sum, report| sum.plus(&report.counters));
    row.spent_ns = spent(&all.time);
    // Those that are done wait for the last one.
    let idle = row.time_ns * reports.len() as f64 - processors.iter().map(|processor| processor.time_ns).sum::<f64>();
    if idle > 0.0 {
        *row.spent_ns.entry("idle".to_owned()).or_default() += idle;
    }
    row.misses = misses_by_service(&all.misses);
    let causes = MissCause::ALL.into_iter().zip(all.causes);
    row.causes = told.then(|| causes.map(|((_, name), count)| (name.to_owned(), count)).collect());
    row.upgrades = all.misses.upgrades;
    row.local_pct = local_share(&all.misses);
    row.references = all.references;
    row.spins = all.looks;
    row.primary_misses = all.primary_misses;
    row.secondary_misses = all.secondary_misses;
    row.translation_misses = all.translation_misses;
    row.refusals = all.refusals;
    row.writebacks = all.writebacks;
    row.miss_latency_ns = miss_latency(&processors);
    row.miss_pct = percent(row.secondary_misses as f64, row.references as f64);
    row.occupancy_ns = controllers.iter().map(|controller| controller.occupancy_ns).sum();
    let busy = controllers.iter().filter(|controller| controller.utilisation_pct > 0.0).count();
    let utilisation: f64 = controllers.iter().map(|controller| controller.utilisation_pct).sum();
    row.utilisation_pct = utilisation / used.max(busy) as f64;
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
