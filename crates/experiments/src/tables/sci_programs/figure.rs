//! Figures of a program's run on an SCI ring.

use machine::Description;
use machine::description::SciRingSpec;
use record::{LinkInterfaceStatistics, ReferenceMix, SimulationRow};
use units::Duration;

/// A figure of a run. Times of processors are in percent of all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// References to shared data, a processor, in millions.
    Shared,
    /// Stores in percent of them.
    SharedWrites,
    /// References to private data, a processor, in millions.
    Private,
    /// Stores in percent of them.
    PrivateWrites,
    /// Instructions, a processor, in millions.
    Instructions,
    /// Loads of shared data, a processor, in thousands.
    ReadReferences,
    /// Stores to shared data, a processor, in thousands.
    WriteReferences,
    /// The part of the loads of shared data that the secondary cache, or the primary one that it includes, serves.
    ReadHits,
    /// The part of the stores to shared data that need no request beyond the secondary cache.
    WriteHits,
    /// The part of all references to shared data that need none, in percent.
    SharedHits,
    /// Time of the measured part, in nanoseconds.
    Time,
    /// How many times as fast as on one node.
    Speedup,
    /// How many times as fast as with half the clock.
    ClockSpeedup,
    /// Mbytes a second that leave a link interface.
    Traffic,
    /// Mbytes a second that a node transmits itself.
    Throughput,
    /// From a packet's entry into the output buffer to its echo, in nanoseconds.
    RoundTrip,
    /// How much longer that is than on an empty ring, in percent.
    RoundTripAboveStatic,
    /// Lines in percent of throughput.
    DataShare,
    /// Packets with lines in percent of all, echoes included.
    LinesOfPackets,
    /// Packets that pass by a node, in percent of the link's bandwidth. Section 4, Link traffic, gives bypass buffers a
    /// utilisation of over 50 % at 600 to 700 Mbytes/s, where nodes insert at most 80: this is the difference over 1000. A FIFO
    /// that is in use only from the start of a packet of the node's own to the end of its recovery cannot be so for half of the
    /// time: a node is busy for the share that it inserts over the share that does not pass by, less than a quarter.
    Bypass,
    /// Copies that a write purged on average.
    ListLength,
    /// Instructions and the cycles of references.
    Busy,
    /// Waits of loads beyond the primary cache.
    ReadMisses,
    /// Waits of stores beyond the primary cache.
    WriteMisses,
    /// Waits of stores in percent of those of loads and stores beyond the primary cache.
    WriteStalls,
    /// Waits at locks and barriers, and for the last thread.
    Synchronisation,
    /// References to shared data, with what they wait for.
    SharedTime,
    /// References to private data, with what they wait for.
    PrivateTime,
    /// Round trips of the requests of a node, each of which answers its processor's miss or replacement. Half of all packets
    /// are requests: a response follows each.
    Network,
    /// Misses that purge, or take lines from other caches.
    Coherence,
}

impl Figure {
    const ALL: [(Self, &'static str); 30] = [
        (Self::Shared, "shared"),
        (Self::SharedWrites, "shared-writes"),
        (Self::Private, "private"),
        (Self::PrivateWrites, "private-writes"),
        (Self::Instructions, "instructions"),
        (Self::ReadReferences, "read-references"),
        (Self::WriteReferences, "write-references"),
        (Self::ReadHits, "read-hits"),
        (Self::WriteHits, "write-hits"),
        (Self::SharedHits, "shared-hits"),
        (Self::Time, "time"),
        (Self::Speedup, "speedup"),
        (Self::ClockSpeedup, "clock-speedup"),
        (Self::Traffic, "traffic"),
        (Self::Throughput, "throughput"),
        (Self::RoundTrip, "round-trip"),
        (Self::RoundTripAboveStatic, "round-trip-above-static"),
        (Self::DataShare, "data-share"),
        (Self::LinesOfPackets, "lines-of-packets"),
        (Self::Bypass, "bypass"),
        (Self::ListLength, "list-length"),
        (Self::Busy, "busy"),
        (Self::ReadMisses, "read-misses"),
        (Self::WriteMisses, "write-misses"),
        (Self::WriteStalls, "write-stalls"),
        (Self::Synchronisation, "synchronisation"),
        (Self::SharedTime, "shared-time"),
        (Self::PrivateTime, "private-time"),
        (Self::Network, "network"),
        (Self::Coherence, "coherence"),
    ];

    /// The figure of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(figure, _)| figure)
    }

    /// The name, as columns of tables have it.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }
}

/// Symbols of the packets of which section 4, Round trip delay, states the static latency.
const STATIC_SYMBOLS: u32 = 11;

/// The parameters of a machine that figures depend on.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// A cycle of the processor.
    cycle: Duration,
    /// The time of a packet of [`STATIC_SYMBOLS`] around the empty ring.
    static_trip: Duration,
    /// The bandwidth of a link in Mbytes a second; zero without a ring.
    link_mb_s: f64,
}

impl Reader {
    /// The parameters of a machine.
    pub fn of(description: &Description) -> Self {
        let nodes = u64::from(description.topology.nodes());
        let ring = description.sci_ring.as_ref();
        let static_trip = ring.map_or(Duration::ZERO, |ring| ring.way(nodes) + ring.tail(STATIC_SYMBOLS));
        let symbols = ring.map_or(0.0, |ring| 1e3 / ring.symbol.as_ns());
        let link_mb_s = symbols * f64::from(SciRingSpec::SYMBOL_BYTES);
        Self { cycle: description.processor.clock.period(), static_trip, link_mb_s }
    }

    /// The figure of a run; `None` if its record does not hold it, or it compares two.
    pub fn read(&self, figure: Figure, row: &SimulationRow) -> Option<f64> {
        let cpus = f64::from(row.cpus);
        let mix = || mix(row);
        let each = |count: u64, unit: f64| count as f64 / cpus / unit;
        let part = |names: fn(&str) -> bool| percent(spent(row, names), spent(row, |_| true));
        let cycles = |references: u64| self.cycle.as_ns() * references as f64;
        let with = |names: fn(&str) -> bool, references: u64| {
            percent(spent(row, names) + cycles(references), spent(row, |_| true))
        };
        match figure {
            Figure::Shared => Some(each(shared(&mix()?), 1e6)),
            Figure::SharedWrites => percent(mix()?.shared_stores as f64, shared(&mix()?) as f64),
            Figure::Private => Some(each(private(&mix()?), 1e6)),
            Figure::PrivateWrites => percent(mix()?.private_stores as f64, private(&mix()?) as f64),
            Figure::Instructions => Some(each(mix()?.instructions, 1e6)),
            Figure::ReadReferences => Some(each(mix()?.shared_loads, 1e3)),
            Figure::WriteReferences => Some(each(mix()?.shared_stores, 1e3)),
            Figure::ReadHits => hits(mix()?.shared_loads, misses(row, &mix()?)[0]),
            Figure::WriteHits => hits(mix()?.shared_stores, misses(row, &mix()?)[1]),
            Figure::SharedHits => {
                hits(shared(&mix()?), misses(row, &mix()?).into_iter().sum()).map(|ratio| 100.0 * ratio)
            }
            Figure::Time => Some(row.time_ns),
            Figure::Speedup | Figure::ClockSpeedup => None,
            Figure::Traffic => Some(links(row)?.traffic_mb_s),
            Figure::Throughput => Some(links(row)?.throughput_mb_s),
            Figure::RoundTrip => Some(links(row)?.round_trip_ns),
            Figure::RoundTripAboveStatic => {
                let empty = self.static_trip.as_ns();
                percent(links(row)?.round_trip_ns - empty, empty)
            }
            Figure::DataShare => percent(links(row)?.data_mb_s, links(row)?.throughput_mb_s),
            // An echo answers every packet.
            Figure::LinesOfPackets => percent(links(row)?.data_packets as f64, 2.0 * links(row)?.packets as f64),
            Figure::Bypass => percent(links(row)?.traffic_mb_s - links(row)?.throughput_mb_s, self.link_mb_s),
            // A program whose stores find no copies purges none.
            Figure::ListLength => Some(row.mean_invalidations().unwrap_or(0.0)),
            Figure::Busy => part(|name| name == "busy"),
            Figure::ReadMisses => part(waits_to_read),
            Figure::WriteMisses => part(waits_to_write),
            Figure::WriteStalls => {
                percent(spent(row, waits_to_write), spent(row, |name| waits_to_write(name) || waits_to_read(name)))
            }
            Figure::Synchronisation => part(|name| ["barrier", "lock", "idle"].contains(&name)),
            Figure::SharedTime => with(|name| is_shared_read(name) || is_shared_write(name), shared(&mix()?)),
            Figure::PrivateTime => with(|name| name.starts_with("private."), private(&mix()?)),
            Figure::Network => {
                let links = links(row)?;
                percent(links.packets as f64 / 2.0 * links.round_trip_ns, row.time_ns)
            }
            Figure::Coherence => part(|name| name.ends_with(".owned") || name.ends_with(".invalidating")),
        }
    }
}

/// Waits of loads of shared data.
fn is_shared_read(name: &str) -> bool {
    name.starts_with("read.") || name == "primary" || name == "secondary"
}

/// Waits of stores to shared data.
fn is_shared_write(name: &str) -> bool {
    name.starts_with("write.") || name == "write-through" || name == "writeback"
}

/// Waits of loads.
fn waits_to_read(name: &str) -> bool {
    is_shared_read(name) || name == "private.read"
}

/// Waits of stores.
fn waits_to_write(name: &str) -> bool {
    is_shared_write(name) || name == "private.write"
}

/// Time of all processors under the names that `is_meant` accepts.
fn spent(row: &SimulationRow, is_meant: fn(&str) -> bool) -> f64 {
    row.spent_ns.iter().filter(|(name, _)| is_meant(name)).map(|(_, ns)| ns).sum()
}

/// The references of all processors.
fn mix(row: &SimulationRow) -> Option<ReferenceMix> {
    let mut sum = ReferenceMix::default();
    for processor in row.processors.as_ref()? {
        let mix = processor.mix?;
        sum.instructions += mix.instructions;
        sum.shared_loads += mix.shared_loads;
        sum.shared_stores += mix.shared_stores;
        sum.private_loads += mix.private_loads;
        sum.private_stores += mix.private_stores;
        sum.private_load_misses += mix.private_load_misses;
        sum.private_store_misses += mix.private_store_misses;
    }
    Some(sum)
}

fn shared(mix: &ReferenceMix) -> u64 {
    mix.shared_loads + mix.shared_stores
}

fn private(mix: &ReferenceMix) -> u64 {
    mix.private_loads + mix.private_stores
}

/// Secondary misses on shared data: of loads, and of stores.
fn misses(row: &SimulationRow, mix: &ReferenceMix) -> [u64; 2] {
    let of = |access: &str| {
        row.misses.iter().filter(|(name, _)| name.starts_with(access)).map(|(_, count)| count).sum::<u64>()
    };
    [of("read.").saturating_sub(mix.private_load_misses), of("write.").saturating_sub(mix.private_store_misses)]
}

/// The part of `references` that do not miss.
fn hits(references: u64, misses: u64) -> Option<f64> {
    (references > 0).then(|| 1.0 - misses as f64 / references as f64)
}

/// The mean over all link interfaces.
fn links(row: &SimulationRow) -> Option<LinkInterfaceStatistics> {
    let links: Option<Vec<_>> = row.controllers.as_ref()?.iter().map(|controller| controller.link).collect();
    links.filter(|links| !links.is_empty()).map(|links| LinkInterfaceStatistics::mean(&links))
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}
