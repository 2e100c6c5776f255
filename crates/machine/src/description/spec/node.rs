//! Tables of a node, independent of its controller: processor, caches, TLB, system bus, memory.

use units::{Bytes, Duration, Hertz};

use super::section;
use crate::description::kind::{Alternatives, Flag, bytes, cache_kib, cache_mib, choice, count, cycles, kib, mhz, ns};

/// Maximum number of miss registers of a processor: the simulator keeps one bit for each in a 64-bit word.
pub const MOST_MISSES: u32 = 64;
/// Maximum number of TLB entries.
pub const MOST_TRANSLATIONS: u32 = 4096;
/// Maximum number of ways of a cache.
pub const MOST_WAYS: u32 = 32;

/// The processor of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessorModel {
    /// MIPS R10000.
    R10000,
    /// MIPS R12000: a deeper window and a second-level cache controller that can interrupt a line fill.
    R12000,
}

impl Alternatives for ProcessorModel {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::R10000, "R10000"), (Self::R12000, "R12000")];
}

impl std::fmt::Display for ProcessorModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// The replacement policy of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replacement {
    /// Random: any way with equal probability (the Origin's second-level cache, Prestor 2.1).
    Random,
    /// The least recently used way.
    LeastRecentlyUsed,
    /// Tree pseudo-LRU: each bit of a set's binary tree points away from the half that was used last.
    PseudoLeastRecentlyUsed,
}

impl Alternatives for Replacement {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Random, "random"), (Self::LeastRecentlyUsed, "lru"), (Self::PseudoLeastRecentlyUsed, "pseudo-lru")];
}

/// The occupancy of the second-level cache bus by a line from memory (Prestor 4.2.3, R10000 against R12000).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fill {
    /// The bus is occupied until the whole line is filled (R10000).
    WholeLine,
    /// Tag checks can take place between the blocks of the line (R12000).
    PreemptibleBlocks,
}

impl Alternatives for Fill {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::WholeLine, "whole-line"), (Self::PreemptibleBlocks, "preemptible-blocks")];
}

section! {
    /// The processor, by the parameters that determine the timing of its loads and stores.
    ProcessorSpec in "processor" {
        /// The processor model.
        model: ProcessorModel = "model", choice::<ProcessorModel>();
        /// Core clock.
        clock: Hertz = "clock_mhz", mhz(50.0, 5000.0);
        /// Instructions in flight at once.
        instruction_window: u32 = "instruction_window", count(1, 512);
        /// Instructions that issue in one core cycle.
        issue_width: u32 = "issue_width", count(1, 16);
        /// Cache misses outstanding at once.
        outstanding_misses: u32 = "outstanding_misses", count(1, MOST_MISSES);
        /// Maximum of misses and upgrades for stores among them.
        outstanding_stores: u32 = "outstanding_stores", count(1, MOST_MISSES);
        /// Maximum of upgrades among those for stores.
        outstanding_upgrades: u32 = "outstanding_upgrades", count(1, MOST_MISSES);
        /// Whether an outstanding upgrade delays loads of its line.
        upgrade_blocks_loads: bool = "upgrade_blocks_loads", Flag;
        /// Core cycles that the answer to an invalidation takes while the processor's own request for the line is
        /// outstanding.
        own_invalidation_cycles: u32 = "own_invalidation_cycles", cycles(0, 1000);
        /// Core cycles from the detected second-level miss to the request at the bus interface.
        miss_to_request_cycles: u32 = "miss_to_request_cycles", cycles(0, 1000);
        /// Core cycles from the critical doubleword at the bus interface to the dependent instruction.
        data_to_use_cycles: u32 = "data_to_use_cycles", cycles(0, 1000);
    }
}

section! {
    /// The primary data cache, on the processor chip.
    L1Spec in "l1" {
        /// Capacity.
        size: Bytes = "size_kib", cache_kib(1, 65536);
        /// Lines in a set.
        ways: u32 = "ways", count(1, MOST_WAYS);
        /// Line size.
        line: Bytes = "line_bytes", bytes(8, 256);
        /// The replacement policy.
        replacement: Replacement = "replacement", choice::<Replacement>();
        /// Core cycles of a load that hits.
        hit_cycles: u32 = "hit_cycles", cycles(1, 100);
    }
}

section! {
    /// The secondary cache, off the processor chip on a bus of its own.
    L2Spec in "l2" {
        /// Capacity.
        size: Bytes = "size_mib", cache_mib(32, 64);
        /// Lines in a set.
        ways: u32 = "ways", count(1, MOST_WAYS);
        /// Line size: the unit of coherence.
        line: Bytes = "line_bytes", bytes(32, 1024);
        /// Clock of the cache bus.
        bus_clock: Hertz = "bus_clock_mhz", mhz(25.0, 5000.0);
        /// Width of the cache bus.
        bus_width: Bytes = "bus_width_bytes", bytes(4, 64);
        /// The replacement policy.
        replacement: Replacement = "replacement", choice::<Replacement>();
        /// Whether the cache accesses the predicted way first, at a cost for a misprediction.
        way_prediction: bool = "way_prediction", Flag;
        /// The occupancy of the cache bus by a line from memory.
        fill: Fill = "fill", choice::<Fill>();
        /// Size of the blocks of a preemptible fill, between which tag checks can take place.
        fill_block: Bytes = "fill_block_bytes", bytes(16, 256);
        /// Occupancy of the bus, in cache bus cycles, by each block of a preemptible fill or by the end of a whole-line
        /// one.
        fill_write_cycles: u32 = "fill_write_cycles", cycles(0, 100);
        /// Cache bus cycles of the writeback of a modified primary block into this cache.
        l1_writeback_cycles: u32 = "l1_writeback_cycles", cycles(0, 100);
        /// Whether an access starts only at common edges of the core and cache bus clocks, rather than at any bus edge.
        common_edge_start: bool = "common_edge_start", Flag;
        /// Core cycles from the primary miss to the data of a hit, beyond the primary hit time.
        hit_cycles: u32 = "hit_cycles", cycles(1, 100);
        /// Cache bus cycles of a tag check.
        tag_check_cycles: u32 = "tag_check_cycles", cycles(1, 100);
        /// Cache bus cycles of a mispredicted way.
        way_miss_cycles: u32 = "way_miss_cycles", cycles(0, 100);
    }
}

section! {
    /// The translation lookaside buffer.
    TlbSpec in "tlb" {
        /// Entries.
        entries: u32 = "entries", count(1, MOST_TRANSLATIONS);
        /// Consecutive pages that one entry maps.
        pages_per_entry: u32 = "pages_per_entry", count(1, 8);
        /// Page size.
        page: Bytes = "page_kib", kib(1, 16384);
        /// Time of a refill after a miss.
        miss: Duration = "miss_ns", ns(0.0, 100_000.0);
    }
}

section! {
    /// The multiplexed bus between a node's processors and its controller. Its clock is the controller's.
    SysadSpec in "sysad" {
        /// Width of the data.
        width: Bytes = "width_bytes", bytes(4, 64);
        /// Bus cycles between the possible starts of transactions.
        grid_cycles: u32 = "grid_cycles", cycles(1, 16);
        /// Bus cycles of a request, or of the address of a writeback.
        request_cycles: u32 = "request_cycles", cycles(1, 100);
        /// Bus cycles of an intervention or invalidation, with the slot for the processors' answers.
        intervention_cycles: u32 = "intervention_cycles", cycles(1, 100);
        /// Bus cycles of a completion without data.
        completion_cycles: u32 = "completion_cycles", cycles(1, 100);
        /// Bus cycles from the start of a line of data to the arrival of its critical part at the processor.
        critical_cycles: u32 = "critical_cycles", cycles(1, 100);
        /// Idle bus cycles after each transaction.
        turnaround_cycles: u32 = "turnaround_cycles", cycles(0, 100);
    }
}

section! {
    /// Main memory of a node. Cycles are the controller's.
    MemorySpec in "memory" {
        /// From the request at the controller to the first data.
        access_cycles: u32 = "access_cycles", cycles(0, 1000);
        /// Occupancy of the memory by a line read.
        line_cycles: u32 = "line_cycles", cycles(1, 1000);
        /// Occupancy of the memory by a line written.
        line_write_cycles: u32 = "line_write_cycles", cycles(1, 1000);
        /// Time between refreshes.
        refresh_interval: Duration = "refresh_interval_ns", ns(100.0, 1e9);
        /// Occupancy of the memory by a refresh.
        refresh_cycles: u32 = "refresh_cycles", cycles(0, 1000);
    }
}
