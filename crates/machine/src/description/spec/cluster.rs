//! Table of the device that joins the buses of a cluster's nodes.

use units::{Bytes, Duration, Hertz};

use super::section;
use crate::description::kind::{Alternatives, Flag, cache_kib, choice, count, cycles, kib, mhz, ns};

/// The cache of a device for lines of other nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceCache {
    /// A block cache that includes every line of other nodes that the node's caches hold: a line that it replaces is recalled
    /// from them.
    Inclusive,
    /// A block cache that includes the lines which the node may write. Caches keep lines that they may only read when this cache
    /// replaces them, and supply them to each other (Lai and Falsafi 2000, Section 5, where inclusion is required of
    /// read-write blocks).
    WriteInclusive,
    /// A block cache that never replaces a line (Lai and Falsafi 2000, Section 6: perfect CC-NUMA).
    Infinite,
    /// A remote access cache: it keeps the lines of replies, and those that a cache of the node shares, but caches may hold lines
    /// that it does not (DASH).
    RemoteAccess,
}

impl Alternatives for DeviceCache {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Inclusive, "inclusive"),
        (Self::WriteInclusive, "write-inclusive"),
        (Self::Infinite, "infinite"),
        (Self::RemoteAccess, "remote-access"),
    ];
}

impl std::fmt::Display for DeviceCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

section! {
    /// The device that joins a node's bus to the network: protocol engine, directory, and a cache for lines of other nodes.
    ClusterSpec in "cluster" {
        /// Clock of the device.
        clock: Hertz = "clock_mhz", mhz(10.0, 5000.0);
        /// Whether a node may write a line before the sharers have acknowledged their invalidations: memory is then consistent at
        /// releases (Lenoski et al., ISCA 1990).
        early_grant: bool = "early_grant", Flag;
        /// Occupancy of the protocol engine, in device cycles, by a message or a bus transaction of the device.
        occupancy_cycles: u32 = "occupancy_cycles", cycles(1, 1000);
        /// Device cycles from the snoop reply that puts a processor's transaction off to the request for other nodes.
        request_cycles: u32 = "request_cycles", cycles(0, 1000);
        /// Device cycles from a message at the network interface to its handling.
        receive_cycles: u32 = "receive_cycles", cycles(0, 1000);
        /// Device cycles of the directory, for a message to a home, besides those of its receipt.
        directory_cycles: u32 = "directory_cycles", cycles(0, 1000);
        /// Device cycles from a handled message, or from the data on the bus, to the network interface.
        send_cycles: u32 = "send_cycles", cycles(0, 1000);
        /// The cache for lines of other nodes.
        cache: DeviceCache = "cache", choice::<DeviceCache>();
        /// Size of that cache, unless it is infinite.
        cache_size: Bytes = "cache_kib", kib(1, 1 << 20);
        /// Ways of that cache.
        cache_ways: u32 = "cache_ways", count(1, 32);
        /// Device cycles from the address phase of a transaction to the line of that cache at the data wires.
        cache_cycles: u32 = "cache_cycles", cycles(0, 1000);
    }
}

section! {
    /// The miss counters of a cluster's device, one for each page of its node's memory and each node, and the rule by which they
    /// select pages to migrate (`os.migration`) and to replicate (`os.replication`; Lai and Falsafi 2000, Sections 3.1, 5 and 6.4).
    /// A machine has them if any key is given.
    MissCountersSpec in "miss_counters" {
        /// Misses of a node at which a page is replicated, if no other node than its home has had a write miss on it; or their excess
        /// over the home's at which the page migrates there.
        threshold: u32 = "threshold", count(1, 1_000_000);
        /// Misses on a page after which its counters are reset.
        reset: u32 = "reset_misses", count(1, 1_000_000_000), or 32_000;
        /// Lines of a page that the device takes from all caches at once: a flush of the page by hardware (Section 3.1).
        /// Assumed: no document gives their number.
        gather_lines: u32 = "gather_lines", count(1, 64), or 8;
        /// Misses of a node before a page cache may take a page, if there is one, so that the counters see them first.
        relocation_delay: u32 = "relocation_delay_misses", count(0, 1_000_000_000), or 32_000;
    }
}

section! {
    /// The page cache of a cluster's device, for pages of other nodes (S-COMA), and the costs of its page operations (Lai and
    /// Falsafi 2000, Section 3.2 and Table 3, in the processor cycles of 600 MHz). A machine has one if any key is given.
    PageCacheSpec in "page_cache" {
        /// Size: a whole number of pages.
        size: Bytes = "size_kib", cache_kib(1, 1 << 22);
        /// Refetches of lines of a page by a node at which the page is relocated there.
        threshold: u32 = "threshold", count(1, 1_000_000), or 32;
        /// Time of the trap that relocates a page, or frees its frame, if no line is flushed: 3000 cycles.
        trap: Duration = "trap_ns", ns(0.0, 1e6), or Duration::from_ns(5000.0);
        /// Time of each flushed line, in addition: a 64th of 8500 cycles.
        flush: Duration = "flush_ns", ns(0.0, 1e6), or Duration::from_ns(221.354);
        /// Time that the removal of a translation takes another processor of the node: 300 cycles.
        shootdown: Duration = "shootdown_ns", ns(0.0, 1e6), or Duration::from_ns(500.0);
    }
}
