//! Tables of servers: sockets, slices of the third-level cache, home agents, and links.

use units::{Bytes, Duration, Hertz};

use super::{MOST_OTHERS_MB_PER_S, cache::Replacement, section};
use crate::description::kind::{Alternatives, Flag, Texts, cache_kib, choice, count, cycles, mhz, ns};

/// Maximum number of sockets of a server.
pub const MOST_SOCKETS: u32 = 8;

/// The network between the parts of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnDieNetwork {
    /// Rings with traffic in both directions, joined by bridges.
    Rings,
    /// A mesh. A message moves along its column first, then along its row.
    Mesh,
    /// The switches of an I/O die, in columns and rows, each with core clusters behind links of their own.
    IoDie,
}

impl Alternatives for OnDieNetwork {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Rings, "rings"), (Self::Mesh, "mesh"), (Self::IoDie, "io-die")];
}

/// The contents of the third-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliceKind {
    /// Every line of the cores' caches, with a bit for each core (core-valid bits).
    Inclusive,
    /// Lines that left the cores' caches; a snoop filter of its own has the cores' lines.
    Victim,
    /// Lines that left the cores' caches; copies of the tags of all second-level caches stand beside it.
    ShadowTags,
}

impl Alternatives for SliceKind {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::Inclusive, "inclusive"), (Self::Victim, "victim"), (Self::ShadowTags, "shadow-tags")];
}

/// The way in which a home finds the copies of its lines in other core clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HomeKind {
    /// It snoops all other clusters.
    HomeSnoop,
    /// The requester's caching agent snoops all other clusters itself, and the home collects the responses.
    EarlySnoop,
    /// It reads two bits in memory first: no copies, clean copies, or any.
    Directory,
    /// It has an exact entry for every line that a cluster has, in a cache whose evictions invalidate the copies.
    ProbeFilter,
}

impl Alternatives for HomeKind {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::HomeSnoop, "home-snoop"),
        (Self::EarlySnoop, "early-snoop"),
        (Self::Directory, "directory"),
        (Self::ProbeFilter, "probe-filter"),
    ];
}

/// The copy that answers reads of a line that several clusters share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// The newest clean one (MESIF); a modified line is written to memory when it is shared.
    Mesif,
    /// The owner's, which stays modified (MOESI).
    Moesi,
}

impl Alternatives for Forwarding {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Mesif, "mesif"), (Self::Moesi, "moesi")];
}

section! {
    /// The sockets of a server and the network within each of them.
    ServerSpec in "server" {
        /// Clock of the on-die network and of the home agents.
        clock: Hertz = "clock_mhz", mhz(100.0, 10_000.0);
        /// Sockets, all alike.
        sockets: u32 = "sockets", count(1, MOST_SOCKETS);
        /// NUMA nodes of a socket, each with an equal part of its cores and of its memory controllers.
        nodes_per_socket: u32 = "nodes_per_socket", count(1, 8), or 1;
        /// Core clusters of a socket, each with a third-level cache of its own.
        clusters_per_socket: u32 = "clusters_per_socket", count(1, 32), or 1;
        /// Core clusters of a die that shares a link to the I/O die.
        clusters_per_die: u32 = "clusters_per_die", count(1, 32), or 1;
        /// The on-die network.
        network: OnDieNetwork = "network", choice::<OnDieNetwork>();
        /// The stops of the on-die network, row by row of a mesh or an I/O die, ring by ring of rings, with spaces between
        /// stops. A stop is a dot, or letters for the parts at it: `C` a core with its slice, `S` a slice, `K` a core cluster, `M` a memory
        /// controller, `U` a link to other sockets, `X` a link to a memory node, `B` a bridge between rings.
        layout: Vec<String> = "layout", Texts;
        /// Cores of a core cluster `K`.
        cores_per_cluster: u32 = "cores_per_cluster", count(1, 64), or 1;
        /// Slices of a core cluster `K`.
        slices_per_cluster: u32 = "slices_per_cluster", count(1, 64), or 1;
        /// Cycles from a stop to the next one of its row or ring.
        hop_cycles: u32 = "hop_cycles", cycles(0, 100);
        /// Cycles from a stop to the next one of its column.
        column_cycles: u32 = "column_cycles", cycles(0, 100), or 0;
        /// Cycles of a bridge from one ring to another.
        bridge_cycles: u32 = "bridge_cycles", cycles(0, 100), or 0;
        /// Columns and rows of dies into which a mesh is divided.
        die_columns: u32 = "die_columns", count(1, 8), or 1;
        /// Rows of dies into which a mesh is divided.
        die_rows: u32 = "die_rows", count(1, 8), or 1;
        /// Additional cycles from a stop to the next one on another die.
        die_crossing_cycles: u32 = "die_crossing_cycles", cycles(0, 100), or 0;
        /// Cycles from a core cluster to its stop of the I/O die, and back.
        gateway_cycles: u32 = "gateway_cycles", cycles(0, 1000), or 0;
        /// Occupancy of the link from the I/O die to the die of a core cluster by a line.
        gateway_read_cycles: u32 = "gateway_read_cycles", cycles(0, 100), or 0;
        /// Occupancy of the link from the die of a core cluster to the I/O die by a line.
        gateway_write_cycles: u32 = "gateway_write_cycles", cycles(0, 100), or 0;
        /// Occupancy of the data wires between neighbouring stops by a line.
        line_cycles: u32 = "line_cycles", cycles(1, 100);
        /// Cycles from a core to the stop of its tile, and back.
        core_cycles: u32 = "core_cycles", cycles(1, 100);
        /// Cycles from the line at a core until its miss register is free.
        release_cycles: u32 = "release_cycles", cycles(0, 100), or 0;
    }
}

section! {
    /// A slice of the third-level cache with its caching agent, and the answers of cores to it.
    SliceSpec in "l3_slice" {
        /// The contents.
        kind: SliceKind = "kind", choice::<SliceKind>();
        /// Clock of the slices, in which the cycles of this table are counted.
        clock: Hertz = "clock_mhz", mhz(100.0, 10_000.0);
        /// Capacity.
        size: Bytes = "size_kib", cache_kib(1, 65536);
        /// Lines in a set.
        ways: u32 = "ways", count(1, 32);
        /// The replacement policy.
        replacement: Replacement = "replacement", choice::<Replacement>(), or Replacement::LeastRecentlyUsed;
        /// Sets of the snoop filter; 0 for none.
        filter_sets: u32 = "filter_sets", count(0, 1 << 20), or 0;
        /// Ways of the snoop filter.
        filter_ways: u32 = "filter_ways", count(0, 32), or 0;
        /// Cycles from a request at the slice to the contents of its tags and of the snoop filter.
        lookup_cycles: u32 = "lookup_cycles", cycles(1, 1000);
        /// Occupancy of the tags by a request or response.
        occupancy_cycles: u32 = "occupancy_cycles", cycles(0, 100);
        /// Cycles from the tags to the data of a line.
        data_cycles: u32 = "data_cycles", cycles(0, 1000);
        /// Cycles of a response or of data that pass through the agent.
        pass_cycles: u32 = "pass_cycles", cycles(0, 1000);
        /// Cycles of a core from a snoop to its answer, besides the tag check and the read-out of its second-level cache.
        snoop_cycles: u32 = "snoop_cycles", cycles(1, 1000);
        /// Additional cycles of a core whose answer brings the line.
        read_out_cycles: u32 = "read_out_cycles", cycles(0, 1000), or 0;
        /// Requests that the agent has under way at once.
        trackers: u32 = "trackers", count(1, 4096);
        /// Traffic of others into all slices that the cores of a cluster share: cores of the package that are not described, as
        /// those of other virtual machines on it. In MB/s; 0 for nothing.
        others_mb_per_s: u32 = "others_mb_per_s", count(0, MOST_OTHERS_MB_PER_S), or 0;
    }
}

section! {
    /// The agents at the home of a line.
    HomeSpec in "home" {
        /// How it finds the copies of its lines.
        kind: HomeKind = "kind", choice::<HomeKind>();
        /// The copy that answers reads.
        forwarding: Forwarding = "forwarding", choice::<Forwarding>();
        /// Entries of the directory cache or of the probe filter of a memory controller; 0 for none.
        entries: u32 = "entries", count(0, 1 << 24), or 0;
        /// Its ways.
        ways: u32 = "ways", count(1, 32), or 1;
        /// Whether it snoops before the directory bits in memory are known, while no link of its socket carries anything.
        opportunistic_snoops: bool = "opportunistic_snoops", Flag, or false;
        /// Whether the home of a line is the slice of its socket that the address selects, as its caching agent is.
        at_slice: bool = "at_slice", Flag, or false;
        /// Whether memory starts to read when a request comes in from another socket, before the home has looked it up.
        early_read: bool = "early_read", Flag, or false;
        /// Cycles from a request at the home to what it does.
        request_cycles: u32 = "request_cycles", cycles(0, 1000);
        /// Cycles from a response at the home to what it does.
        response_cycles: u32 = "response_cycles", cycles(0, 1000);
        /// Occupancy of the home by a message.
        occupancy_cycles: u32 = "occupancy_cycles", cycles(0, 100);
        /// Requests that the home of a memory controller has under way at once.
        trackers: u32 = "trackers", count(1, 4096);
        /// Clock of memory, in which the cycles of `[memory]` and `[banks]` are counted.
        memory_clock: Hertz = "memory_clock_mhz", mhz(100.0, 10_000.0);
    }
}

section! {
    /// The links between sockets.
    SocketLinkSpec in "socket_link" {
        /// Links of a socket.
        links: u32 = "links", count(1, 8);
        /// Time from an on-die stop of one socket to that of the other, by an idle link.
        latency: Duration = "latency_ns", ns(0.0, 10_000.0);
        /// Occupancy of a link by a message without a line.
        header: Duration = "header_ns", ns(0.0, 1000.0);
        /// Occupancy of a link by a message with a line.
        line: Duration = "line_ns", ns(0.0, 1000.0);
        /// Messages with a line, and as many without, that may be under way over a link in one direction.
        credits: u32 = "credits", count(1, 4096);
    }
}

section! {
    /// The links of memory nodes (CXL, persistent memory behind a buffer).
    MemoryLinkSpec in "memory_link" {
        /// Time from the on-die stop to the memory node's controller, by an idle link.
        latency: Duration = "latency_ns", ns(0.0, 100_000.0);
        /// Occupancy of the link by a message without a line.
        header: Duration = "header_ns", ns(0.0, 1000.0);
        /// Occupancy of the link by a message with a line.
        line: Duration = "line_ns", ns(0.0, 1000.0);
        /// Messages with a line, and as many without, that may be under way over a link in one direction.
        credits: u32 = "credits", count(1, 4096);
    }
}
