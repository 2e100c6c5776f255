//! Tables of a processor's private caches, innermost first, and of its prefetcher. The outermost level is the coherent one.

use units::{Bytes, Hertz};

use super::section;
use crate::description::kind::{
    Alternatives, Flag, bytes, cache_kib, cache_mib, choice, count, cycles, kib, mean_cycles, mhz,
};

/// Maximum number of ways of a cache.
pub const MOST_WAYS: u32 = 32;
/// Maximum number of lines that a prefetcher proposes at once: as many as there can be miss registers.
const MOST_PREFETCHES: u32 = super::MOST_MISSES;
/// Maximum rate, in MB/s, at which processors that are not described bring lines into a cache.
pub const MOST_OTHERS_MB_PER_S: u32 = 10_000_000;
/// Maximum number of strides or streams of a prefetcher.
const MOST_STREAMS: u32 = 64;

/// The replacement policy of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replacement {
    /// Random: any way with equal probability (the Origin's second-level cache, Prestor 2.1).
    Random,
    /// The least recently used way.
    LeastRecentlyUsed,
    /// Tree pseudo-LRU: each bit of a set's binary tree points away from the half that was used last.
    PseudoLeastRecentlyUsed,
    /// Not recently used: a bit a way is set when the way is used, and when all are, those of the others are cleared; the victim is the
    /// first way whose bit is clear (PLRUm of Al-Zoubi, Milenkovic and Milenkovic, "Performance evaluation of cache replacement policies
    /// for the SPEC CPU2000 benchmark suite", ACM Southeast Conference 2004; bit-PLRU).
    NotRecentlyUsed,
}

impl Alternatives for Replacement {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Random, "random"),
        (Self::LeastRecentlyUsed, "lru"),
        (Self::PseudoLeastRecentlyUsed, "pseudo-lru"),
        (Self::NotRecentlyUsed, "nru"),
    ];
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

/// The relation of a level's contents to those of the level outside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inclusion {
    /// The level outside holds every line of this level; a line that leaves it leaves this level, too.
    Inclusive,
    /// A line is in one of both levels: a hit outside moves it to this level, and what it displaces moves outside.
    Exclusive,
    /// Both levels receive a line from memory, and each displaces it independently. A modified line that this level displaces
    /// moves outside.
    Neither,
}

impl Alternatives for Inclusion {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Inclusive, "inclusive"), (Self::Exclusive, "exclusive"), (Self::Neither, "neither")];
}

/// The treatment of stores that hit in a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WritePolicy {
    /// The level keeps the modified line until it is displaced.
    Back,
    /// The level outside is written as well.
    Through,
}

impl Alternatives for WritePolicy {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Back, "back"), (Self::Through, "through")];
}

section! {
    /// The primary data cache, on the processor chip.
    L1Spec in "l1" {
        /// Capacity.
        size: Bytes = "size_kib", cache_kib(1, 65536);
        /// Lines in a set.
        ways: u32 = "ways", count(1, MOST_WAYS);
        /// Line size.
        line: Bytes = "line_bytes", bytes(8, 1024);
        /// The replacement policy.
        replacement: Replacement = "replacement", choice::<Replacement>();
        /// Core cycles of a load that hits.
        hit_cycles: u32 = "hit_cycles", cycles(1, 100);
        /// The relation of its contents to those of the level outside.
        inclusion: Inclusion = "inclusion", choice::<Inclusion>(), or Inclusion::Inclusive;
        /// The treatment of stores that hit.
        write: WritePolicy = "write", choice::<WritePolicy>(), or WritePolicy::Back;
        /// Whether a store that misses brings its line into this level.
        allocate_on_write_miss: bool = "allocate_on_write_miss", Flag, or true;
        /// Whether a store that hits leaves its line in this level, which is written through.
        keep_on_write_hit: bool = "keep_on_write_hit", Flag, or true;
    }
}

section! {
    /// The port of a primary cache that is the only private level, to the system bus. The processor has a port of its own:
    /// external requests and fills wait for each other, and delay no hit.
    L1PortSpec in "l1_port" {
        /// Clock of the port.
        clock: Hertz = "clock_mhz", mhz(25.0, 5000.0);
        /// Width of the port.
        width: Bytes = "width_bytes", bytes(4, 64);
        /// The occupancy of the port by a line from memory.
        fill: Fill = "fill", choice::<Fill>();
        /// Size of the blocks of a preemptible fill, between which tag checks can take place.
        fill_block: Bytes = "fill_block_bytes", bytes(8, 1024);
        /// Occupancy of the port, in its cycles, by each block of a preemptible fill or by the end of a whole-line one.
        fill_write_cycles: u32 = "fill_write_cycles", cycles(0, 100);
        /// Cycles of the port for the tag check of an external request.
        tag_check_cycles: u32 = "tag_check_cycles", cycles(1, 100);
    }
}

/// Declares the table of a level outside the primary one. `$written` is the key of what the level inside writes back.
macro_rules! outer_level {
    ($(#[$doc:meta])* $name:ident in $table:literal, $written:literal) => {
        section! {
            $(#[$doc])*
            $name in $table {
                /// Capacity.
                size: Bytes = "size_mib", cache_mib(32, 64);
                /// Lines in a set.
                ways: u32 = "ways", count(1, MOST_WAYS);
                /// Line size.
                line: Bytes = "line_bytes", bytes(16, 1024);
                /// Clock of the cache bus.
                bus_clock: Hertz = "bus_clock_mhz", mhz(25.0, 10_000.0);
                /// Width of the cache bus.
                bus_width: Bytes = "bus_width_bytes", bytes(4, 64);
                /// The replacement policy.
                replacement: Replacement = "replacement", choice::<Replacement>();
                /// Whether the cache accesses the predicted way first, at a cost for a misprediction.
                way_prediction: bool = "way_prediction", Flag;
                /// The occupancy of the cache bus by a line from outside.
                fill: Fill = "fill", choice::<Fill>();
                /// Size of the blocks of a preemptible fill, between which tag checks can take place.
                fill_block: Bytes = "fill_block_bytes", bytes(16, 256);
                /// Occupancy of the bus, in cache bus cycles, by each block of a preemptible fill or by the end of a
                /// whole-line one.
                fill_write_cycles: u32 = "fill_write_cycles", cycles(0, 100);
                /// Cache bus cycles of the writeback of a modified line of the level inside into this cache.
                inner_writeback_cycles: u32 = $written, cycles(0, 100);
                /// Whether an access starts only at common edges of the core and cache bus clocks, rather than at any bus
                /// edge.
                common_edge_start: bool = "common_edge_start", Flag;
                /// Core cycles from the miss of the level inside to the data of a hit, beyond the hit time of the primary
                /// cache or, of a third level, the tag check of the second.
                hit_cycles: u32 = "hit_cycles", cycles(1, 100);
                /// Cache bus cycles of a tag check.
                tag_check_cycles: u32 = "tag_check_cycles", cycles(1, 100);
                /// Cache bus cycles from one tag check to the next of a pipelined cache, in the mean; 0: one begins when the last is
                /// done.
                tag_interval_cycles: f64 = "tag_interval_cycles", mean_cycles(0.0, 100.0), or 0.0;
                /// Cache bus cycles of a store that the level inside passes on, after the tag check.
                store_cycles: u32 = "store_cycles", cycles(0, 100), or 0;
                /// Cache bus cycles of a mispredicted way.
                way_miss_cycles: u32 = "way_miss_cycles", cycles(0, 100);
                /// The relation of its contents to those of the level outside.
                inclusion: Inclusion = "inclusion", choice::<Inclusion>(), or Inclusion::Inclusive;
                /// The treatment of stores that hit.
                write: WritePolicy = "write", choice::<WritePolicy>(), or WritePolicy::Back;
                /// Whether a store that misses brings its line into this level.
                allocate_on_write_miss: bool = "allocate_on_write_miss", Flag, or true;
                /// Whether a store that hits leaves its line in this level, which is written through.
                keep_on_write_hit: bool = "keep_on_write_hit", Flag, or true;
                /// Whether a store to private data that misses brings its line into this level; else it goes around the caches,
                /// to memory.
                allocate_on_private_write_miss: bool = "allocate_on_private_write_miss", Flag, or true;
                /// Traffic of others into the cache: threads of the same core that are not described, as those of other virtual
                /// machines. In MB/s; 0 for nothing.
                others_mb_per_s: u32 = "others_mb_per_s", count(0, MOST_OTHERS_MB_PER_S), or 0;
            }
        }
    };
}

outer_level! {
    /// The secondary cache, on a bus of its own.
    L2Spec in "l2", "l1_writeback_cycles"
}

outer_level! {
    /// The third private level, on a bus of its own.
    L3Spec in "l3", "l2_writeback_cycles"
}

/// The rule by which a hardware prefetcher proposes lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrefetchKind {
    /// The lines after each referenced one.
    NextLine,
    /// Lines at a constant distance, by the site of the code or else by the page.
    Stride,
    /// The lines ahead of ascending or descending streams of misses.
    Stream,
}

impl Alternatives for PrefetchKind {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::NextLine, "next-line"), (Self::Stride, "stride"), (Self::Stream, "stream")];
}

section! {
    /// The hardware prefetcher of a processor. It observes the references that reach the coherent level, and brings lines into
    /// that level.
    PrefetchSpec in "prefetch" {
        /// Its rule.
        kind: PrefetchKind = "kind", choice::<PrefetchKind>();
        /// Lines that it proposes at once.
        degree: u32 = "degree", count(1, MOST_PREFETCHES);
        /// Entries of its table of strides or streams; 0 for `next-line`, which has none.
        streams: u32 = "streams", count(0, MOST_STREAMS), or 0;
        /// Size of the aligned region that its proposals do not leave; 0 for a page.
        region: Bytes = "region_kib", kib(0, 1 << 20), or Bytes(0);
    }
}
