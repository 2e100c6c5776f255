//! One run of a program on a simulated machine.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{CpuId, NodeId};

use crate::Row;

/// The verdict of a program's check of its own results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckResult {
    /// All results are right.
    #[default]
    Ok,
    /// A result is wrong: the machine or the program is at fault, and the figures mean nothing.
    Wrong,
}

/// One run of a program on a simulated machine. Sums are over all processors or controllers unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationRow {
    /// The program.
    pub program: String,
    /// The machine.
    pub machine: String,
    /// The directory protocol.
    pub protocol: String,
    /// How many processors the program could use.
    pub cpus: u32,
    /// How many threads it had: as many as processors, unless it is a program of the user's own that decides so itself.
    pub threads: u32,
    /// The program's parameters.
    pub parameters: BTreeMap<String, u64>,
    /// The policy that placed the program's pages, and moved them.
    pub placement: String,
    /// The scheduler that gave threads their processors: `none` if every thread had the processor of its number.
    pub scheduler: String,
    /// How many runs of the program shared the machine, this one included.
    pub processes: u32,
    /// How threads met at barriers.
    pub barrier: String,
    /// How threads took locks.
    pub locks: String,
    /// Seed of the program's and the hardware's random choices.
    pub seed: u64,
    /// The verdict of the program's check of its own results.
    pub result: CheckResult,
    /// A hash of the whole description of the machine, in hexadecimal: two machines of one name may differ.
    pub machine_digest: String,
    /// Simulated time that the measured part of the program took, until the last processor had finished it, in nanoseconds. All
    /// counts and times of processors are of that part.
    pub time_ns: f64,
    /// The same on average over processors.
    pub mean_time_ns: f64,
    /// The measured part of a program of the user's own: `regions` that the program names, `sections` (from its first parallel
    /// section to the end of its last), or the `whole` of a program that has neither; absent for built-in programs, which define it.
    pub measured: Option<String>,
    /// Simulated time of the whole program, in nanoseconds. What controllers did is counted over all of it.
    pub run_ns: f64,
    /// Where the time of the measured part went: processor time, in nanoseconds, by what it was spent on. `busy`: instructions
    /// issued, or depended on each other. `read.*` and `write.*`: misses of loads and of stores, by where they went and what they
    /// took: `local` or `remote` home, `-third` if a third node was asked; `clean`, `owned`, `invalidating`. `primary`, `secondary`: loads that hit in the caches. `writeback`: a line that left. `translation`,
    /// `barrier`, `lock`, `system`. `idle`: until the last thread had finished. Every key is there, whether it took time or
    /// not; the sum is the number of threads times `time_ns`.
    pub spent_ns: BTreeMap<String, f64>,
    /// Secondary misses by how they were served: `read.*` and `write.*` as in `spent_ns`, all of them.
    pub misses: BTreeMap<String, u64>,
    /// Secondary misses without upgrades by their causes, where those were asked for: `cold`, `capacity`, `conflict`,
    /// `true-sharing`, `false-sharing`.
    pub causes: Option<BTreeMap<String, u64>>,
    /// Losses by region of the program's memory, where causes were asked for, the largest first.
    pub regions: Option<Vec<RegionStatistics>>,
    /// Misses of stores to lines of which the processor had a copy: they wanted no data.
    pub upgrades: u64,
    /// Misses on lines whose home is the processor's own node, in percent of all.
    pub local_pct: f64,
    /// Loads, stores and prefetches.
    pub references: u64,
    /// Those of them that looked again at a word that nobody had changed, in loops that wait: no work.
    #[serde(default)]
    pub spins: u64,
    /// References that missed in the primary cache.
    pub primary_misses: u64,
    /// References that sent a request to the home.
    pub secondary_misses: u64,
    /// Secondary misses in percent of references.
    pub miss_pct: f64,
    /// From a secondary miss to its end on average, in nanoseconds; absent where the simulator does not measure it.
    pub miss_latency_ns: Option<f64>,
    /// Translation misses.
    pub translation_misses: u64,
    /// Negative acknowledgements received by processors.
    pub refusals: u64,
    /// Modified lines written back to memory.
    pub writebacks: u64,
    /// Time that controllers were held by messages: the total occupancy, in nanoseconds.
    pub occupancy_ns: f64,
    /// Total occupancy in percent of the time of the whole run, on average over the controllers of the processors that took part, and
    /// others that were busy.
    pub utilisation_pct: f64,
    /// The same of the busiest controller.
    pub max_utilisation_pct: f64,
    /// Time that messages waited for controllers, in nanoseconds.
    pub queued_ns: f64,
    /// Misses in the controllers' instruction caches; absent where they have none.
    pub instruction_misses: Option<u64>,
    /// Misses in the controllers' data caches; absent where they have none.
    pub data_misses: Option<u64>,
    /// Writes by how many invalidations each caused: none, one, two, and so on.
    pub invalidations: Vec<u64>,
    /// Each controller, where statistics were asked for.
    pub controllers: Option<Vec<ControllerStatistics>>,
    /// Each processor, where statistics were asked for.
    pub processors: Option<Vec<ProcessorStatistics>>,
}

impl SimulationRow {
    /// Whether the program found its results right.
    pub fn is_right(&self) -> bool {
        self.result == CheckResult::Ok
    }

    /// Whether it had another number of threads than of processors; no threads are ones that nobody counted.
    pub const fn has_other_threads(&self) -> bool {
        self.threads != self.cpus && self.threads != 0
    }

    /// The identity of the run, in one line: runs that agree in it are equal in all else.
    pub fn identity(&self) -> String {
        let parameters: Vec<_> = self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let Self { program, machine, machine_digest, protocol, cpus, placement, scheduler, .. } = self;
        let Self { threads, processes, barrier, locks, .. } = self;
        let (parameters, seed) = (parameters.join(" "), self.seed);
        format!(
            "{program} {parameters} with {threads} on {cpus} of {machine} {machine_digest} {protocol} {placement} {scheduler} \
             {processes} {barrier} {locks} {seed}"
        )
    }

    /// Mean number of invalidations by a write at its home; on an SCI ring, of elements that a write purged. `None` without
    /// such writes.
    pub fn mean_invalidations(&self) -> Option<f64> {
        let writes: u64 = self.invalidations.iter().sum();
        let all: u64 = (0..).zip(&self.invalidations).map(|(number, count): (u64, &u64)| number * count).sum();
        (writes > 0).then(|| all as f64 / writes as f64)
    }

    /// The record of the whole machine, without those of its controllers and processors.
    pub fn without_parts(self) -> Self {
        Self { controllers: None, processors: None, ..self }
    }
}

impl Row for SimulationRow {
    const KIND: &'static str = "simulation";
    const MAPS: &'static [&'static str] = &["parameters", "spent_ns", "misses", "causes"];
    const PARTS: &'static [&'static str] = &["regions", "controllers", "processors"];
    const COLUMNS: &'static [&'static str] = &[
        "program",
        "machine",
        "protocol",
        "cpus",
        "threads",
        "parameters",
        "placement",
        "scheduler",
        "processes",
        "barrier",
        "locks",
        "seed",
        "result",
        "machine_digest",
        "time_ns",
        "mean_time_ns",
        "measured",
        "run_ns",
        "spent_ns",
        "misses",
        "causes",
        "regions",
        "upgrades",
        "local_pct",
        "references",
        "spins",
        "primary_misses",
        "secondary_misses",
        "miss_pct",
        "miss_latency_ns",
        "translation_misses",
        "refusals",
        "writebacks",
        "occupancy_ns",
        "utilisation_pct",
        "max_utilisation_pct",
        "queued_ns",
        "instruction_misses",
        "data_misses",
        "invalidations",
        "controllers",
        "processors",
    ];
}

/// Losses at a region of a program's memory: misses, and time lost to misses, translations and locks. Sums are over all
/// processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegionStatistics {
    /// The name of its data.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Secondary misses, upgrades among them.
    pub misses: u64,
    /// Those of them on lines of other nodes.
    pub remote_misses: u64,
    /// Secondary misses without upgrades by their causes, as in [`SimulationRow::causes`].
    pub causes: BTreeMap<String, u64>,
    /// Processor time that misses took, in nanoseconds.
    pub stalled_ns: f64,
    /// Refills of the translation buffer.
    pub translation_misses: u64,
    /// Processor time that those took, in nanoseconds.
    pub translation_ns: f64,
    /// Processor time spent on its locks and flags, in nanoseconds.
    pub lock_ns: f64,
}

/// Statistics of the controller of a node while a program ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerStatistics {
    /// The node.
    #[schemars(with = "u16")]
    pub node: NodeId,
    /// Time that messages held it: its occupancy, in nanoseconds.
    pub occupancy_ns: f64,
    /// Occupancy in percent of the time of the whole run.
    pub utilisation_pct: f64,
    /// Time that messages waited for it, in nanoseconds.
    pub queued_ns: f64,
    /// Time that the bus to its processors was held, in nanoseconds.
    pub bus_ns: f64,
    /// Time that its memory was held, in nanoseconds.
    pub memory_ns: f64,
    /// Its instruction cache; absent where it has none.
    pub instruction_cache: Option<ControllerCacheStatistics>,
    /// Its data cache; absent where it has none.
    pub data_cache: Option<ControllerCacheStatistics>,
    /// The remote access cache in its memory; absent where there is none.
    pub remote_access_cache: Option<ControllerCacheStatistics>,
    /// Its handlers that ran at least once, by name.
    pub handlers: BTreeMap<String, HandlerStatistics>,
    /// Messages that it sent, by their names.
    pub sent: BTreeMap<String, u64>,
    /// Writes at this home by how many invalidations each caused: none, one, two, and so on. On an SCI ring, writes of its
    /// processor by how many elements of a sharing list they purged.
    pub invalidations: Vec<u64>,
    /// Misses on lines of other nodes, and operations on pages; absent but for the device of a cluster's node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageStatistics>,
    /// Its link interface on an SCI ring; absent on other networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkInterfaceStatistics>,
    /// The switch behind it, where switches join SCI rings: its interfaces on the ring of the node, and on the ring of switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<[LinkInterfaceStatistics; 2]>,
}

/// Misses of a cluster's node on lines of other nodes, and operations on pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageStatistics {
    /// Misses that were requested from homes.
    pub misses: u64,
    /// Misses among them on lines that the node had replaced: capacity and conflict misses.
    pub refetches: u64,
    /// Pages that entered the page cache.
    pub relocations: u64,
    /// Pages that were flushed from it to make room.
    pub evictions: u64,
    /// Pages that migrated to the node's memory.
    pub migrations: u64,
    /// Copies of pages that were made in the node's memory.
    pub replications: u64,
    /// Pages of the node's memory that were gathered from all caches, to be moved, copied or given up.
    pub gathered: u64,
    /// Pages of the node's memory that were copied to other nodes.
    pub copied: u64,
    /// Time of the traps that relocated pages, in nanoseconds.
    pub relocating_ns: f64,
    /// Time in which pages were gathered, after the trap, in nanoseconds.
    pub gathering_ns: f64,
    /// Time in which pages were copied, after the trap, in nanoseconds.
    pub copying_ns: f64,
}

/// A link interface on an SCI ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkInterfaceStatistics {
    /// Traffic of its outgoing link in Mbytes a second of the time of the whole run: its own packets, those that pass by, and
    /// echoes.
    pub traffic_mb_s: f64,
    /// Raw throughput of its node: all that it inserted, that is packets with their headers, retransmissions, and echoes.
    pub throughput_mb_s: f64,
    /// Throughput in lines alone.
    pub data_mb_s: f64,
    /// Mean time from the entry of a packet into the output buffer to its positive echo, in nanoseconds; 0 without packets.
    pub round_trip_ns: f64,
    /// The parts of this time.
    #[serde(default)]
    pub round_trip_parts: RoundTripParts,
    /// Time in which its bypass FIFO was in use, in percent of the time of the whole run.
    pub bypass_pct: f64,
    /// Packets that its node transmitted, retransmissions included.
    pub packets: u64,
    /// Packets with lines among them.
    pub data_packets: u64,
    /// Retransmissions among them, after negative echoes.
    pub retransmissions: u64,
}

/// The parts of the mean round trip of a packet on an SCI ring, in nanoseconds: waits before its transmission, its way and that
/// of its echo, and delays on this way. The rest of a round trip is repetition after negative echoes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripParts {
    /// For an active buffer: as many packets as may be are without echoes.
    pub active_buffer_ns: f64,
    /// For the node's own packet before it.
    pub own_packet_ns: f64,
    /// For the end of recovery, in which the bypass FIFO drains.
    pub recovery_ns: f64,
    /// For packets that pass by.
    pub passing_packet_ns: f64,
    /// For an idle with the go bit.
    pub go_bit_ns: f64,
    /// The round trip on an unloaded ring.
    pub unloaded_ns: f64,
    /// Delays in bypass FIFOs. Of one interface: those of all packets and echoes in its own FIFO, for each packet of its node.
    pub bypass_ns: f64,
}

impl RoundTripParts {
    /// The sum of these parts, each times `factor`, and those of `other`.
    fn plus(self, other: &Self, factor: f64) -> Self {
        Self {
            active_buffer_ns: self.active_buffer_ns + other.active_buffer_ns * factor,
            own_packet_ns: self.own_packet_ns + other.own_packet_ns * factor,
            recovery_ns: self.recovery_ns + other.recovery_ns * factor,
            passing_packet_ns: self.passing_packet_ns + other.passing_packet_ns * factor,
            go_bit_ns: self.go_bit_ns + other.go_bit_ns * factor,
            unloaded_ns: self.unloaded_ns + other.unloaded_ns * factor,
            bypass_ns: self.bypass_ns + other.bypass_ns * factor,
        }
    }
}

impl LinkInterfaceStatistics {
    /// The mean of several interfaces; that of round trips is over all packets.
    pub fn mean(all: &[Self]) -> Self {
        let count = all.len().max(1);
        let of = |value: fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / count as f64;
        let packets = |value: fn(&Self) -> u64| all.iter().map(value).sum::<u64>() / count as u64;
        let sent: u64 = all.iter().map(|link| link.packets).sum();
        let share = |link: &Self| link.packets as f64 / sent.max(1) as f64;
        let parts = |sum: RoundTripParts, link: &Self| sum.plus(&link.round_trip_parts, share(link));
        Self {
            traffic_mb_s: of(|link| link.traffic_mb_s),
            throughput_mb_s: of(|link| link.throughput_mb_s),
            data_mb_s: of(|link| link.data_mb_s),
            round_trip_ns: all.iter().map(|link| link.round_trip_ns * share(link)).sum(),
            round_trip_parts: all.iter().fold(RoundTripParts::default(), parts),
            bypass_pct: of(|link| link.bypass_pct),
            packets: packets(|link| link.packets),
            data_packets: packets(|link| link.data_packets),
            retransmissions: packets(|link| link.retransmissions),
        }
    }
}

/// Accesses to a cache of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerCacheStatistics {
    /// Lines looked up.
    pub accesses: u64,
    /// Lines that were not there.
    pub misses: u64,
    /// Time that the controller waited for them, in nanoseconds.
    pub stalled_ns: f64,
}

/// Runs of one handler of a controller, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandlerStatistics {
    /// How often it ran.
    pub runs: u64,
    /// Time that it held the controller, in nanoseconds.
    pub busy_ns: f64,
}

/// Where one processor's time went while a program ran: its miss stall in the terms of the FLASH dissertation's Equation 5.1,
/// where the simulator measures them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorStatistics {
    /// The processor.
    #[schemars(with = "u16")]
    pub cpu: CpuId,
    /// Simulated time until it had finished the measured part, in nanoseconds.
    pub time_ns: f64,
    /// Where that time went, as in [`SimulationRow::spent_ns`].
    pub spent_ns: BTreeMap<String, f64>,
    /// Its misses by how they were served, as in [`SimulationRow::misses`].
    pub misses: BTreeMap<String, u64>,
    /// Loads, stores and prefetches.
    pub references: u64,
    /// References that sent a request to the home.
    pub secondary_misses: u64,
    /// Misses answered by its own node's memory without action elsewhere.
    pub local_misses: Option<u64>,
    /// Misses on lines of its own node that took action elsewhere.
    pub local_remote_action_misses: Option<u64>,
    /// Misses on other nodes' lines.
    pub remote_misses: Option<u64>,
    /// Tm: what its misses would take if all were local and nothing were in their way, in nanoseconds.
    pub unloaded_ns: Option<f64>,
    /// Tw: how long its requests waited for its own controller, in nanoseconds.
    pub wait_ns: Option<f64>,
    /// Tp2p: to the home and back, if nothing is in the way, in nanoseconds.
    pub communication_ns: Option<f64>,
    /// Tc: coherence actions, and queues and handlers elsewhere, in nanoseconds.
    pub coherence_ns: Option<f64>,
    /// Its references to shared and to private data; absent where the program's code has no private references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<ReferenceMix>,
}

/// The references of a processor in the measured part of a program, by the data that they are to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceMix {
    /// Instructions, all references and the rounds of spin loops included.
    pub instructions: u64,
    /// Loads of shared data, those of spin loops included.
    pub shared_loads: u64,
    /// Stores to shared data; an indivisible step counts as a load and a store.
    pub shared_stores: u64,
    /// Loads of private data.
    pub private_loads: u64,
    /// Stores to private data.
    pub private_stores: u64,
    /// Secondary misses of loads of private data.
    pub private_load_misses: u64,
    /// Secondary misses of stores to private data.
    pub private_store_misses: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalidations_are_averaged_over_writes() {
        let mean = |invalidations: &[u64]| {
            SimulationRow { invalidations: invalidations.to_vec(), ..SimulationRow::default() }.mean_invalidations()
        };
        assert_eq!(mean(&[1, 2, 1]), Some(1.0));
        assert_eq!(mean(&[0, 0]), None);
    }
}
