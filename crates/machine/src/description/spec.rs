//! The parameters of a machine, one line each: name in memory, key with its unit, accepted values.
//!
//! A new parameter is one line here (with its documentation) and one line in the machine files.

use units::{Bytes, Duration, Hertz, Length};

use super::DescriptionError;
use super::kind::{
    Alternatives, Flag, Kind, bytes, choice, count, cycles, inches, kib, metres, mhz, mib, ns, ns_per_m,
};
use super::layer::{KeyRule, Resolver, Writer};

/// One table of a description.
pub(crate) trait Section: Sized {
    /// The rules of the table's keys, `table.key`.
    fn rules() -> Vec<KeyRule>;
    /// The table's values from the resolved keys.
    fn read(resolver: &Resolver) -> Result<Self, DescriptionError>;
    /// Writes the table with every key.
    fn write(&self, writer: &mut Writer<'_>);
}

/// Declares a table: the structure, and how it is read, checked and written.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident in $table:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $key:literal, $kind:expr;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* #[doc = concat!("\n\nKey `", $table, ".", $key, "`.")] pub $field: $type,)*
        }

        impl Section for $name {
            fn rules() -> Vec<KeyRule> {
                vec![$(KeyRule::new(concat!($table, ".", $key), &$kind)),*]
            }

            fn read(resolver: &Resolver) -> Result<Self, DescriptionError> {
                Ok(Self { $($field: resolver.value(concat!($table, ".", $key), &$kind)?,)* })
            }

            fn write(&self, writer: &mut Writer<'_>) {
                writer.table($table);
                $(writer.value($table, $key, &$kind.write(&self.$field));)*
            }
        }
    };
}

/// How the nodes are connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TopologyKind {
    /// The SGI Origin 2000's bristled hypercube, with metarouters above 64 processors (Prestor 3.2.3).
    Origin,
}

impl Alternatives for TopologyKind {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Origin, "origin")];
}

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

/// How a cache chooses the line that makes room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replacement {
    /// Any way with equal chance (the Origin's second-level cache, Prestor 2.1).
    Random,
    /// The way that was used longest ago.
    LeastRecentlyUsed,
}

impl Alternatives for Replacement {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Random, "random"), (Self::LeastRecentlyUsed, "lru")];
}

/// How a line from memory occupies the second-level cache bus (Prestor 4.2.3, R10000 against R12000).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fill {
    /// The bus is held until the whole line is in (R10000).
    WholeLine,
    /// A tag check may go between two blocks of the line (R12000).
    PreemptibleBlocks,
}

impl Alternatives for Fill {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::WholeLine, "whole-line"), (Self::PreemptibleBlocks, "preemptible-blocks")];
}

section! {
    /// Size and wiring of the machine.
    TopologySpec in "topology" {
        /// How the nodes are connected.
        kind: TopologyKind = "kind", choice::<TopologyKind>();
        /// Processors in the machine: a multiple of those in a node.
        processors: u32 = "processors", count(2, 512);
        /// Processors on one node board.
        processors_per_node: u32 = "processors_per_node", count(1, 2);
        /// Node boards on one router.
        nodes_per_router: u32 = "nodes_per_router", count(1, 2);
        /// Whether spare external ports of 16 and 32-processor systems join opposite corners of the cube.
        express_links: bool = "express_links", Flag;
        /// Whether routers pass a packet by the queue when it is empty; off in systems with metarouters.
        router_bypass: bool = "router_bypass", Flag;
        /// Main memory of one node.
        node_memory: Bytes = "node_memory_mib", mib(64, 4096);
        /// Length of a link on the backplane: node to router and router to router in one module.
        backplane: Length = "backplane_m", metres(0.0, 5.0);
        /// Cable between the two modules of a rack.
        module_cable: Length = "module_cable_inches", inches(0.0, 197.0);
        /// Cable between two racks of a 32-processor cube.
        rack_cable: Length = "rack_cable_inches", inches(0.0, 197.0);
        /// Cable between the two 32-processor cubes of a 64-processor system.
        cube_cable: Length = "cube_cable_inches", inches(0.0, 197.0);
        /// Express cable across a 16 or 32-processor cube.
        express_cable: Length = "express_cable_inches", inches(0.0, 197.0);
        /// Cable between a router and its metarouter, or between metarouters.
        metarouter_cable: Length = "metarouter_cable_inches", inches(0.0, 197.0);
        /// The time a signal takes for one metre.
        propagation_per_m: Duration = "propagation_ns_per_m", ns_per_m(3.3, 20.0);
    }
}

section! {
    /// The processor: what the timing of its loads and stores depends on.
    ProcessorSpec in "processor" {
        /// Which processor.
        model: ProcessorModel = "model", choice::<ProcessorModel>();
        /// Core clock.
        clock: Hertz = "clock_mhz", mhz(50.0, 5000.0);
        /// Instructions in flight at once.
        instruction_window: u32 = "instruction_window", count(1, 512);
        /// Instructions that issue in one core cycle.
        issue_width: u32 = "issue_width", count(1, 16);
        /// Cache misses outstanding at once.
        outstanding_misses: u32 = "outstanding_misses", count(1, 64);
        /// Of these, misses and upgrades for stores.
        outstanding_stores: u32 = "outstanding_stores", count(1, 64);
        /// Of these in turn, upgrades.
        outstanding_upgrades: u32 = "outstanding_upgrades", count(1, 64);
        /// Whether an upgrade in progress holds up later loads that miss.
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
        size: Bytes = "size_kib", kib(1, 65536);
        /// Lines in a set.
        ways: u32 = "ways", count(1, 16);
        /// Line size.
        line: Bytes = "line_bytes", bytes(8, 256);
        /// Core cycles of a load that hits.
        hit_cycles: u32 = "hit_cycles", cycles(1, 100);
    }
}

section! {
    /// The secondary cache, off the processor chip on a bus of its own.
    L2Spec in "l2" {
        /// Capacity.
        size: Bytes = "size_mib", mib(1, 64);
        /// Lines in a set.
        ways: u32 = "ways", count(1, 16);
        /// Line size: the unit of coherence.
        line: Bytes = "line_bytes", bytes(32, 1024);
        /// Clock of the cache bus.
        bus_clock: Hertz = "bus_clock_mhz", mhz(25.0, 5000.0);
        /// Width of the cache bus.
        bus_width: Bytes = "bus_width_bytes", bytes(4, 64);
        /// How a line is chosen to make room.
        replacement: Replacement = "replacement", choice::<Replacement>();
        /// Whether the cache looks in the predicted way first and pays for a wrong guess.
        way_prediction: bool = "way_prediction", Flag;
        /// How a line from memory occupies the cache bus.
        fill: Fill = "fill", choice::<Fill>();
        /// What is transferred between two chances of a tag check when the fill is preemptible.
        fill_block: Bytes = "fill_block_bytes", bytes(16, 256);
        /// Cache bus cycles for which a block of a preemptible fill, or the end of a whole-line one, holds the bus.
        fill_write_cycles: u32 = "fill_write_cycles", cycles(0, 100);
        /// Cache bus cycles of a modified primary block on its way into this cache.
        l1_writeback_cycles: u32 = "l1_writeback_cycles", cycles(0, 100);
        /// Whether an access can start only at edges that core and cache bus clocks share, not at any bus edge.
        common_edge_start: bool = "common_edge_start", Flag;
        /// Core cycles from the primary miss to the data of a hit, beyond the primary hit time.
        hit_cycles: u32 = "hit_cycles", cycles(1, 100);
        /// Cache bus cycles of a tag check.
        tag_check_cycles: u32 = "tag_check_cycles", cycles(1, 100);
        /// Cache bus cycles that a wrongly predicted way costs.
        way_miss_cycles: u32 = "way_miss_cycles", cycles(0, 100);
    }
}

section! {
    /// The translation lookaside buffer.
    TlbSpec in "tlb" {
        /// Entries.
        entries: u32 = "entries", count(1, 4096);
        /// Consecutive pages that one entry maps.
        pages_per_entry: u32 = "pages_per_entry", count(1, 8);
        /// Page size.
        page: Bytes = "page_kib", kib(4, 16384);
        /// The time a miss costs.
        miss: Duration = "miss_ns", ns(0.0, 100_000.0);
    }
}

section! {
    /// The Hub: processor interface (PI), memory and directory (MD), network interface (NI), and their crossbar.
    HubSpec in "hub" {
        /// Clock of the Hub and of the SysAD bus.
        clock: Hertz = "clock_mhz", mhz(10.0, 2000.0);
        /// Hub cycles of the processor interface from the bus to the crossbar, request or intervention reply.
        pi_request_cycles: u32 = "pi_request_cycles", cycles(0, 1000);
        /// Hub cycles of the processor interface from the crossbar to the bus.
        pi_reply_cycles: u32 = "pi_reply_cycles", cycles(0, 1000);
        /// Hub cycles through the crossbar.
        crossbar_cycles: u32 = "crossbar_cycles", cycles(0, 1000);
        /// Hub cycles from an owner's tag check to the message that answers the intervention.
        snoop_answer_cycles: u32 = "snoop_answer_cycles", cycles(0, 1000);
        /// Hub cycles by which a revision leaves the processor interface after the response.
        revision_cycles: u32 = "revision_cycles", cycles(0, 1000);
        /// Hub cycles from the completion of a request until its request buffer (CRB) serves another.
        release_cycles: u32 = "release_cycles", cycles(0, 1000);
        /// Hub cycles from one invalidation that a requester must send itself (backoff) to the next.
        backoff_invalidation_cycles: u32 = "backoff_invalidation_cycles", cycles(1, 1000);
        /// Hub cycles from an owner's tag check to the line at the pins, besides reading it out.
        dirty_answer_cycles: u32 = "dirty_answer_cycles", cycles(0, 1000);
        /// Hub cycles from the first data that an owner puts on the bus to the message that carries them.
        supply_cycles: u32 = "supply_cycles", cycles(0, 1000);
        /// Hub cycles for which an invalidation acknowledgement holds the processor interface.
        acknowledgement_cycles: u32 = "acknowledgement_cycles", cycles(0, 1000);
        /// Hub cycles from a negative acknowledgement to the next try.
        retry_cycles: u32 = "retry_cycles", cycles(1, 100_000);
        /// Packets waiting to leave on the request channel from which on the home leaves forwarding to requesters.
        backoff_packets: u32 = "backoff_packets", count(1, 1_000_000);
        /// Hub cycles of the network interface from the crossbar to the link.
        ni_out_cycles: u32 = "ni_out_cycles", cycles(0, 1000);
        /// How long one message holds the network interface, whichever way it goes.
        ni_message: Duration = "ni_message_ns", ns(0.0, 1000.0);
        /// Hub cycles of the network interface from the link to the crossbar.
        ni_in_cycles: u32 = "ni_in_cycles", cycles(0, 1000);
    }
}

section! {
    /// The multiplexed bus between a node's processors and its Hub. Its clock is the Hub's.
    SysadSpec in "sysad" {
        /// Width of the data.
        width: Bytes = "width_bytes", bytes(4, 64);
        /// Transactions start at every so many bus cycles.
        grid_cycles: u32 = "grid_cycles", cycles(1, 16);
        /// Bus cycles of a request, or of the address of a writeback.
        request_cycles: u32 = "request_cycles", cycles(1, 100);
        /// Bus cycles of an intervention or invalidation, with the slot for the processors' answers.
        intervention_cycles: u32 = "intervention_cycles", cycles(1, 100);
        /// Bus cycles of a completion without data.
        completion_cycles: u32 = "completion_cycles", cycles(1, 100);
        /// Bus cycles from the start of a line of data to the critical part being at the processor.
        critical_cycles: u32 = "critical_cycles", cycles(1, 100);
        /// Idle bus cycles after each transaction.
        turnaround_cycles: u32 = "turnaround_cycles", cycles(0, 100);
    }
}

section! {
    /// Main memory and directory of a node. Cycles are the Hub's.
    MemorySpec in "memory" {
        /// From the request at the controller to the first data.
        access_cycles: u32 = "access_cycles", cycles(0, 1000);
        /// How long one line keeps the memory busy.
        line_cycles: u32 = "line_cycles", cycles(1, 1000);
        /// How long a line written keeps the memory busy.
        line_write_cycles: u32 = "line_write_cycles", cycles(1, 1000);
        /// How long a message that needs no line keeps the directory busy.
        directory_only_cycles: u32 = "directory_only_cycles", cycles(1, 1000);
        /// From the request at the controller to the directory entry.
        directory_cycles: u32 = "directory_cycles", cycles(0, 1000);
        /// Time between refreshes.
        refresh_interval: Duration = "refresh_interval_ns", ns(100.0, 1e9);
        /// How long a refresh keeps the memory busy.
        refresh_cycles: u32 = "refresh_cycles", cycles(0, 1000);
    }
}

section! {
    /// The router chip.
    RouterSpec in "router" {
        /// Core clock.
        clock: Hertz = "clock_mhz", mhz(10.0, 2000.0);
        /// Ports, numbered from 1.
        ports: u32 = "ports", count(6, 6);
        /// Router cycles from pin to pin when the queue is empty and bypassed.
        bypass_cycles: u32 = "bypass_cycles", cycles(1, 100);
        /// Router cycles more when the queue is not bypassed.
        queue_cycles: u32 = "queue_cycles", cycles(0, 100);
        /// Virtual channels of a link.
        virtual_channels: u32 = "virtual_channels", count(4, 4);
        /// Receive buffer of one virtual channel of one port.
        buffer: Bytes = "buffer_bytes", bytes(16, 65536);
    }
}

section! {
    /// A link between routers, or between a router and a node: one direction.
    LinkSpec in "link" {
        /// Data in a micropacket.
        micropacket: Bytes = "micropacket_bytes", bytes(8, 256);
        /// How long a micropacket occupies a link.
        micropacket_time: Duration = "micropacket_ns", ns(0.1, 1000.0);
        /// Clock of the link between a node and its router: one transfer a cycle, a router cycle every four.
        node_clock: Hertz = "node_clock_mhz", mhz(10.0, 10_000.0);
        /// Transfers of a micropacket on a link.
        micropacket_transfers: u32 = "micropacket_transfers", count(1, 64);
        /// Time in the drivers and receivers of a link, beyond the cable's and the router's.
        transceiver: Duration = "transceiver_ns", ns(0.0, 1000.0);
    }
}
