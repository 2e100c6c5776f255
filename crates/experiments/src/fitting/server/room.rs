//! Room for the rates that were measured: values that nothing has measured by themselves, and whose defaults would hold back what the
//! machine has been seen to do.

use machine::Description;
use machine::description::OnDieNetwork;
use units::Hertz;

use super::base::is_limited;
use super::observed::{Kind, Observation, Place, measured};
use super::structure::Structure;
use super::values::Values;

/// Parts have room for so much more than what was measured, lest several that are just wide enough hold it back together.
const SPARE: f64 = 1.25;
/// A core with more lines under way than this has a prefetcher that goes on beyond a page, of which on average half lies ahead.
const LINES_OF_A_PAGE: f64 = 40.0;
/// Streams of the triad, over which lines under way are spread.
const STREAMS: f64 = 3.0;
/// Lines that memory moves for three of a triad as STREAM counts: the written one is read before.
const TRAFFIC_OF_TRIAD: f64 = 4.0 / 3.0;

/// Measured figures, in bytes a nanosecond and nanoseconds.
struct Measured {
    core_reads: f64,
    core_triad: f64,
    node_reads: Option<f64>,
    node_triad: Option<f64>,
    latency: f64,
    line: f64,
}

impl Measured {
    fn of(structure: &Structure, observed: &[Observation]) -> Option<Self> {
        let rate = |kind| measured(observed, kind).map(|rate| rate / 1e3);
        let node_reads = Kind::NodeReads(Place::Local);
        let unlimited =
            measured(observed, node_reads).is_some_and(|all| !is_limited(structure, (all, Place::Local), observed));
        let core_reads = rate(Kind::CoreReads(Place::Local))?;
        Some(Self {
            core_reads,
            core_triad: rate(Kind::CoreTriad).unwrap_or(core_reads),
            node_reads: rate(node_reads).filter(|_| unlimited),
            node_triad: rate(Kind::NodeTriad).filter(|_| unlimited),
            latency: measured(observed, Kind::Memory(Place::Local))?,
            line: structure.line.0 as f64,
        })
    }

    /// Lines under way at this rate.
    fn lines(&self, rate: f64) -> f64 {
        rate * self.latency / self.line
    }

    /// The most cycles of `clock` that a line may take at this rate.
    fn cycles(&self, clock: Hertz, rate: f64) -> u32 {
        ((self.line / (SPARE * rate) / clock.period().as_ns()) as u32).max(1)
    }
}

/// Makes room in `values`, which describe `start`, for what was `observed`.
pub(super) fn make(values: &mut Values, structure: &Structure, start: &Description, observed: &[Observation]) {
    let Some(measured) = Measured::of(structure, observed) else { return };
    of_cores(values, start, &measured);
    if let Some(reads) = measured.node_reads {
        of_nodes(values, structure, start, &measured, reads);
    }
}

/// Miss registers and prefetchers. What these are is tuned afterwards.
fn of_cores(values: &mut Values, start: &Description, measured: &Measured) {
    let most = f64::from(machine::description::MOST_MISSES);
    let mut raise = |table, key, default: u32, lines: f64, rate: f64| {
        if lines > f64::from(default) {
            let source = format!("assumed: enough lines under way for {rate:.1} GB/s");
            values.set(table, key, lines.ceil().min(most) as u32, source);
        }
    };
    let (processor, reads) = (&start.processor, measured.core_reads);
    raise("processor", "outstanding_misses", processor.outstanding_misses, measured.lines(reads), reads);
    let stored = measured.core_triad / STREAMS;
    raise("processor", "outstanding_stores", processor.outstanding_stores, measured.lines(stored), stored);
    if let Some(prefetch) = &start.prefetch {
        let lines = measured.lines(reads);
        raise("prefetch", "degree", prefetch.degree, lines / STREAMS, reads);
        if lines > LINES_OF_A_PAGE {
            let source = format!("assumed: {lines:.0} lines are under way at once, more than a page leaves");
            values.set("prefetch", "region_kib", 2048, source);
        }
    }
}

/// Capacities and cycles of the parts that the cores of a node share.
fn of_nodes(values: &mut Values, structure: &Structure, start: &Description, measured: &Measured, reads: f64) {
    let (Some(server), Some(slice), Some(home), Some(banks)) =
        (&start.server, &start.l3_slice, &start.home, &start.banks)
    else {
        return;
    };
    let enough = |rate: f64| format!("assumed: enough for {rate:.1} GB/s");
    let clusters = (f64::from(structure.clusters_per_socket) / f64::from(structure.nodes_per_socket)).max(1.0);
    let traffic = measured.node_triad.map_or(reads, |triad| reads.max(triad * TRAFFIC_OF_TRIAD));
    let trackers = SPARE * measured.lines(traffic) / clusters / f64::from(structure.slices_per_cluster);
    if trackers > f64::from(slice.trackers) {
        values.set("l3_slice", "trackers", trackers.ceil(), enough(traffic));
    }
    if server.network == OnDieNetwork::IoDie {
        let written = measured.node_triad.unwrap_or_default() / STREAMS / clusters;
        for (key, now, rate) in [
            ("gateway_read_cycles", server.gateway_read_cycles, traffic / clusters),
            ("gateway_write_cycles", server.gateway_write_cycles, written),
            ("line_cycles", server.line_cycles, traffic / clusters),
        ] {
            let cycles = measured.cycles(server.clock, rate);
            if rate > 0.0 && cycles < now {
                values.set("server", key, cycles, enough(rate));
            }
        }
    }
    let cycle = home.memory_clock.period().as_ns();
    let of_channel = measured.line / (cycle * f64::from(start.memory.line_cycles));
    let channels = SPARE * traffic / of_channel / f64::from(start.memory.controllers);
    if channels > f64::from(banks.channels) {
        values.set("banks", "channels", channels.ceil(), enough(traffic));
    }
    let under_way = SPARE * measured.lines(traffic) / f64::from(start.memory.controllers);
    if under_way > f64::from(home.trackers) {
        values.set("home", "trackers", under_way.ceil(), enough(traffic));
    }
}
