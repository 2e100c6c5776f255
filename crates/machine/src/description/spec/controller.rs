//! Tables of node controllers: the Origin's Hub, and FLASH's MAGIC with its directory and handlers.

use units::{Bytes, Duration, Hertz};

use super::section;
use crate::description::kind::{Alternatives, Text, bytes, choice, count, cycles, kib, mhz, mib, ns, whole_bytes};

/// The kind of chip that joins a node's processors, memory and network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControllerKind {
    /// The Origin 2000's Hub, with a hardwired protocol (Prestor 2001, 3.2.1).
    Hub,
    /// FLASH's MAGIC, with a programmable protocol (FLASH dissertation, 2.4).
    Magic,
    /// None: the processors and the memory of the machine's only node snoop a bus.
    SnoopingBus,
    /// A device on the snooping bus of each node, which joins the nodes (Lai and Falsafi 2000; DASH).
    Cluster,
    /// The cache and memory controllers of SCI (IEEE 1596-1992), which keep sharers in distributed lists.
    Sci,
    /// The caching agents and home agents of a server: sockets of many cores with a shared third-level cache in slices.
    Server,
}

impl ControllerKind {
    /// Virtual networks that the protocol of this controller sends messages on: requests and replies (Prestor 2001, 3.1.3;
    /// FLASH dissertation, Appendix A), or the two
    /// subactions of SCI. A bus sends none, and a server's agents send theirs through networks of its own sockets.
    pub fn networks(self) -> u32 {
        match self {
            Self::Hub | Self::Magic | Self::Sci | Self::Cluster => 2,
            Self::SnoopingBus | Self::Server => 0,
        }
    }
}

impl Alternatives for ControllerKind {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Self::Hub, "hub"),
        (Self::Magic, "magic"),
        (Self::SnoopingBus, "snooping-bus"),
        (Self::Cluster, "cluster"),
        (Self::Sci, "sci"),
        (Self::Server, "server"),
    ];
}

impl std::fmt::Display for ControllerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

section! {
    /// The node controller; its parameters are in the table of its kind.
    ControllerSpec in "controller" {
        /// The kind of controller.
        kind: ControllerKind = "kind", choice::<ControllerKind>();
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
        /// Hub cycles from the departure of a response from the processor interface to that of its revision.
        revision_cycles: u32 = "revision_cycles", cycles(0, 1000);
        /// Hub cycles from the completion of a request until its miss register (the coherent request buffer, CRB) is
        /// free.
        release_cycles: u32 = "release_cycles", cycles(0, 1000);
        /// Hub cycles from one invalidation that a requester must send itself (backoff) to the next.
        backoff_invalidation_cycles: u32 = "backoff_invalidation_cycles", cycles(1, 1000);
        /// Hub cycles from an owner's tag check to the line at the pins, not counting its read-out.
        dirty_answer_cycles: u32 = "dirty_answer_cycles", cycles(0, 1000);
        /// Hub cycles from the first data that an owner puts on the bus to the message that carries them.
        supply_cycles: u32 = "supply_cycles", cycles(0, 1000);
        /// Hub cycles for which an invalidation acknowledgement holds the processor interface.
        acknowledgement_cycles: u32 = "acknowledgement_cycles", cycles(0, 1000);
        /// Hub cycles from a NACK to the retry.
        retry_cycles: u32 = "retry_cycles", cycles(1, 100_000);
        /// Packets waiting on the request channel at which the home starts to leave forwarding to requesters (backoff).
        backoff_packets: u32 = "backoff_packets", count(1, 1_000_000);
        /// Hub cycles of the network interface from the crossbar to the link.
        ni_out_cycles: u32 = "ni_out_cycles", cycles(0, 1000);
        /// Occupancy of the network interface by one message, in or out.
        ni_message: Duration = "ni_message_ns", ns(0.0, 1000.0);
        /// Hub cycles of the network interface from the link to the crossbar.
        ni_in_cycles: u32 = "ni_in_cycles", cycles(0, 1000);
        /// Occupancy of the directory, in Hub cycles, by a message that needs no line.
        directory_only_cycles: u32 = "directory_only_cycles", cycles(1, 1000);
        /// Hub cycles from the request at the memory and directory unit to the directory entry.
        directory_cycles: u32 = "directory_cycles", cycles(0, 1000);
    }
}

section! {
    /// MAGIC: the protocol processor (PP) with its caches, and the units around it.
    MagicSpec in "magic" {
        /// Clock of MAGIC and of the SysAD bus.
        clock: Hertz = "clock_mhz", mhz(10.0, 2000.0);
        /// MAGIC cycles of the processor interface from the bus to the inbox.
        pi_in_cycles: u32 = "pi_in_cycles", cycles(0, 1000);
        /// MAGIC cycles of the processor interface from the outbox to the bus.
        pi_out_cycles: u32 = "pi_out_cycles", cycles(0, 1000);
        /// MAGIC cycles of the inbox: selection of a message and lookup of its handler.
        inbox_cycles: u32 = "inbox_cycles", cycles(0, 1000);
        /// MAGIC cycles of the outbox, from the handler to an interface.
        outbox_cycles: u32 = "outbox_cycles", cycles(0, 1000);
        /// MAGIC cycles of the network interface from the link to the inbox.
        ni_in_cycles: u32 = "ni_in_cycles", cycles(0, 1000);
        /// MAGIC cycles of the network interface from the outbox to the link.
        ni_out_cycles: u32 = "ni_out_cycles", cycles(0, 1000);
        /// MAGIC cycles from the completion of a request until its miss register is free.
        release_cycles: u32 = "release_cycles", cycles(0, 1000);
        /// MAGIC cycles from a NACK to the retry.
        retry_cycles: u32 = "retry_cycles", cycles(1, 100_000);
        /// MAGIC cycles from an owner's tag check to its answer at the processor interface.
        snoop_answer_cycles: u32 = "snoop_answer_cycles", cycles(0, 1000);
        /// MAGIC cycles from an owner's tag check to the line at the pins, not counting its read-out.
        dirty_answer_cycles: u32 = "dirty_answer_cycles", cycles(0, 1000);
        /// Instruction cache of the protocol processor, direct-mapped.
        instruction_cache: Bytes = "instruction_cache_kib", kib(1, 1024);
        /// Line of the instruction cache.
        instruction_cache_line: Bytes = "instruction_cache_line_bytes", bytes(8, 256);
        /// MAGIC cycles of an instruction cache miss.
        instruction_miss_cycles: u32 = "instruction_miss_cycles", cycles(0, 1000);
        /// Data cache of the protocol processor, direct-mapped and off the chip.
        data_cache: Bytes = "data_cache_kib", kib(1, 65536);
        /// Line of the data cache.
        data_cache_line: Bytes = "data_cache_line_bytes", bytes(8, 256);
        /// MAGIC cycles of a data cache miss.
        data_miss_cycles: u32 = "data_miss_cycles", cycles(0, 1000);
        /// Bytes of code that the protocol processor executes in a cycle.
        instruction_bytes_per_cycle: u32 = "instruction_bytes_per_cycle", count(1, 64);
        /// Rows of the table in which a requester collects invalidation acknowledgements.
        collection_rows: u32 = "collection_rows", count(1, 1024);
    }
}

/// The ideal protocol: the parts of a miss's time that are removed, to measure their cost (FLASH dissertation, 5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdealProtocol {
    /// None: the complete machine.
    None,
    /// All but an uncontended read of the home's memory and the way there and back: the zero-overhead protocol.
    ZeroOverhead,
    /// All but an uncontended read of local memory: the all-local protocol.
    AllLocal,
}

impl Alternatives for IdealProtocol {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::None, "none"), (Self::ZeroOverhead, "zero-overhead"), (Self::AllLocal, "all-local")];
}

section! {
    /// The directory of a node with MAGIC, in main memory.
    DirectorySpec in "directory" {
        /// The directory protocol, by a name that the simulator resolves.
        protocol: String = "protocol", Text;
        /// The ideal protocol that replaces its costs.
        ideal: IdealProtocol = "ideal", choice::<IdealProtocol>();
        /// Size of the directory header of one line.
        header: Bytes = "header_bytes", bytes(1, 64);
        /// Entries of the store of pointer links of one node.
        link_store_entries: u32 = "link_store_entries", count(1, 1 << 30);
        /// Entries of the store of bit vectors of one node.
        vector_store_entries: u32 = "vector_store_entries", count(1, 1 << 30);
        /// Capacity of a node's remote access cache, for protocols that have one.
        remote_access_cache: Bytes = "remote_access_cache_mib", mib(1, 4096);
        /// MAGIC cycles of a lookup in the remote access cache.
        remote_access_cache_check_cycles: u32 = "remote_access_cache_check_cycles", cycles(0, 1000);
        /// Memory of a node that is reserved for protocol and directory.
        reserved: Bytes = "reserved_mib", mib(1, 4096);
    }
}

section! {
    /// The handlers of the protocol processor, in MAGIC cycles with all caches hit. The first group gives the time from
    /// a handler's start to its first message, the second the time of each unit of work. The code sizes are those of
    /// the critical handlers, and determine the instruction cache misses.
    HandlerSpec in "handlers" {
        /// Sending a processor's request to its home.
        request_cycles: u32 = "request_cycles", cycles(0, 1000);
        /// Passing a reply from the network to the processor.
        reply_cycles: u32 = "reply_cycles", cycles(0, 1000);
        /// Receiving a NACK and preparing the retry.
        refusal_cycles: u32 = "refusal_cycles", cycles(0, 1000);
        /// Serving a read at the home from memory.
        read_cycles: u32 = "read_cycles", cycles(0, 1000);
        /// Serving a write at the home that needs no invalidations.
        write_cycles: u32 = "write_cycles", cycles(0, 1000);
        /// Serving a write at the home up to the first invalidation.
        write_invalidate_cycles: u32 = "write_invalidate_cycles", cycles(0, 1000);
        /// Forwarding a request from the home to the owner.
        forward_cycles: u32 = "forward_cycles", cycles(0, 1000);
        /// Sending a NACK from the home.
        refuse_cycles: u32 = "refuse_cycles", cycles(0, 1000);
        /// Writing an owner's line to memory at the home.
        writeback_cycles: u32 = "writeback_cycles", cycles(0, 1000);
        /// Writing to memory at the home the line of an owner that keeps a shared copy.
        sharing_writeback_cycles: u32 = "sharing_writeback_cycles", cycles(0, 1000);
        /// Recording at the home a transfer of ownership between nodes.
        ownership_transfer_cycles: u32 = "ownership_transfer_cycles", cycles(0, 1000);
        /// Recording at the home that a forwarded request found no owner.
        forward_refused_cycles: u32 = "forward_refused_cycles", cycles(0, 1000);
        /// Counting an invalidation acknowledgement that is not the last.
        acknowledge_cycles: u32 = "acknowledge_cycles", cycles(0, 1000);
        /// Counting the last invalidation acknowledgement and answering the requester.
        last_acknowledge_cycles: u32 = "last_acknowledge_cycles", cycles(0, 1000);
        /// Removing a node from the sharers on a replacement hint.
        hint_cycles: u32 = "hint_cycles", cycles(0, 1000);
        /// Sending an intervention to the owner's processor.
        intervention_cycles: u32 = "intervention_cycles", cycles(0, 1000);
        /// Sending the line that the owner's processor supplied.
        supply_cycles: u32 = "supply_cycles", cycles(0, 1000);
        /// Reporting that the processor no longer owns the line.
        supply_refused_cycles: u32 = "supply_refused_cycles", cycles(0, 1000);
        /// Acknowledging an invalidation and passing it to the processor.
        invalidate_cycles: u32 = "invalidate_cycles", cycles(0, 1000);
        /// Receiving a clustered invalidation, up to the first one that it sends on.
        relay_cycles: u32 = "relay_cycles", cycles(0, 1000);
        /// Counting an acknowledgement at the requester, in its collection table.
        collect_cycles: u32 = "collect_cycles", cycles(0, 1000);
        /// Each row of the collection table that is searched for a line's.
        collection_row_cycles: u32 = "collection_row_cycles", cycles(0, 1000);
        /// After a handler's last message, until the next handler can start.
        finish_cycles: u32 = "finish_cycles", cycles(0, 1000);
        /// Work of a home's handler that counts a request in the counters of its page, if pages migrate.
        count_cycles: u32 = "count_cycles", cycles(0, 1000);
        /// Each message after the first.
        send_cycles: u32 = "send_cycles", cycles(0, 1000);
        /// Each element of a sharing set that is walked.
        set_element_cycles: u32 = "set_element_cycles", cycles(0, 1000);
        /// Each word of the link or vector store read or written.
        store_word_cycles: u32 = "store_word_cycles", cycles(0, 1000);
        /// Allocating an entry of the link or vector store.
        allocate_cycles: u32 = "allocate_cycles", cycles(0, 1000);
        /// Freeing an entry.
        free_cycles: u32 = "free_cycles", cycles(0, 1000);
        /// Rewriting a sharing set in another format.
        reformat_cycles: u32 = "reformat_cycles", cycles(0, 1000);
        /// Each check of the format of a sharing set.
        format_check_cycles: u32 = "format_check_cycles", cycles(0, 1000);
        /// Each check of a header with several formats before the first message, to find its owner or its sharers.
        format_lookup_cycles: u32 = "format_lookup_cycles", cycles(0, 1000);
        /// Code size of the critical handlers of the coarse vector with two nodes for each bit.
        code_base: Bytes = "code_base_bytes", whole_bytes(0, 1 << 20);
        /// Additional code for its local bit.
        code_local_bit: Bytes = "code_local_bit_bytes", whole_bytes(0, 1 << 20);
        /// Code size of the critical handlers of dynamic pointer allocation.
        code_dynamic_pointer: Bytes = "code_dynamic_pointer_bytes", whole_bytes(0, 1 << 20);
        /// Code size of the critical handlers of the hybrid.
        code_hybrid: Bytes = "code_hybrid_bytes", whole_bytes(0, 1 << 20);
        /// Additional code of the hybrid for clustered invalidations.
        code_cluster: Bytes = "code_cluster_bytes", whole_bytes(0, 1 << 20);
        /// Additional code of the hybrid for acknowledgements to the requester.
        code_to_requester: Bytes = "code_to_requester_bytes", whole_bytes(0, 1 << 20);
        /// Additional code of the hybrid for the remote access cache.
        code_remote_access_cache: Bytes = "code_remote_access_cache_bytes", whole_bytes(0, 1 << 20);
    }
}
