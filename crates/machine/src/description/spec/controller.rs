//! Tables of node controllers: the Origin's Hub, and FLASH's MAGIC with its directory and handlers.

use units::{Bytes, Duration, Hertz};

use super::section;
use crate::description::kind::{Alternatives, Text, bytes, choice, count, cycles, kib, mhz, mib, ns, whole_bytes};

/// Which chip joins a node's processors, memory and network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControllerKind {
    /// The Origin 2000's Hub, whose protocol is wired (Prestor 2001, 3.2.1).
    Hub,
    /// FLASH's MAGIC, whose protocol is a program (FLASH dissertation, 2.4).
    Magic,
}

impl Alternatives for ControllerKind {
    const WORDS: &'static [(Self, &'static str)] = &[(Self::Hub, "hub"), (Self::Magic, "magic")];
}

section! {
    /// The node controller; what it is made of stands in the tables of its kind.
    ControllerSpec in "controller" {
        /// Which controller.
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
        /// Hub cycles for which a message that needs no line keeps the directory busy.
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
        /// MAGIC cycles of the inbox: choosing a message and looking up its handler.
        inbox_cycles: u32 = "inbox_cycles", cycles(0, 1000);
        /// MAGIC cycles of the outbox, from the handler to an interface.
        outbox_cycles: u32 = "outbox_cycles", cycles(0, 1000);
        /// MAGIC cycles of the network interface from the link to the inbox.
        ni_in_cycles: u32 = "ni_in_cycles", cycles(0, 1000);
        /// MAGIC cycles of the network interface from the outbox to the link.
        ni_out_cycles: u32 = "ni_out_cycles", cycles(0, 1000);
        /// MAGIC cycles from the completion of a request until its buffer serves another.
        release_cycles: u32 = "release_cycles", cycles(0, 1000);
        /// MAGIC cycles from a negative acknowledgement to the next try.
        retry_cycles: u32 = "retry_cycles", cycles(1, 100_000);
        /// MAGIC cycles from an owner's tag check to its answer at the processor interface.
        snoop_answer_cycles: u32 = "snoop_answer_cycles", cycles(0, 1000);
        /// MAGIC cycles from an owner's tag check to the line at the pins, besides reading it out.
        dirty_answer_cycles: u32 = "dirty_answer_cycles", cycles(0, 1000);
        /// Instruction cache of the protocol processor, direct-mapped.
        instruction_cache: Bytes = "instruction_cache_kib", kib(1, 1024);
        /// Line of the instruction cache.
        instruction_cache_line: Bytes = "instruction_cache_line_bytes", bytes(8, 256);
        /// MAGIC cycles of a miss of the instruction cache.
        instruction_miss_cycles: u32 = "instruction_miss_cycles", cycles(0, 1000);
        /// Data cache of the protocol processor, direct-mapped and off the chip.
        data_cache: Bytes = "data_cache_kib", kib(1, 65536);
        /// Line of the data cache.
        data_cache_line: Bytes = "data_cache_line_bytes", bytes(8, 256);
        /// MAGIC cycles of a miss of the data cache.
        data_miss_cycles: u32 = "data_miss_cycles", cycles(0, 1000);
        /// Bytes of code that the protocol processor executes in a cycle.
        instruction_bytes_per_cycle: u32 = "instruction_bytes_per_cycle", count(1, 64);
        /// Rows of the table in which a requester collects acknowledgements of invalidations.
        collection_rows: u32 = "collection_rows", count(1, 1024);
    }
}

/// Which parts of a miss's time are taken away, to see what they cost (FLASH dissertation, 5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdealProtocol {
    /// None: the machine as it is.
    None,
    /// All but an unhindered read of the home's memory and the way there and back: the zero-overhead protocol.
    ZeroOverhead,
    /// All but an unhindered read of local memory: the all-local protocol.
    AllLocal,
}

impl Alternatives for IdealProtocol {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::None, "none"), (Self::ZeroOverhead, "zero-overhead"), (Self::AllLocal, "all-local")];
}

section! {
    /// The directory of a node with MAGIC, in main memory.
    DirectorySpec in "directory" {
        /// The directory protocol that is loaded; the simulator knows the names.
        protocol: String = "protocol", Text;
        /// Which ideal protocol takes the place of its costs.
        ideal: IdealProtocol = "ideal", choice::<IdealProtocol>();
        /// Size of the directory header of one line.
        header: Bytes = "header_bytes", bytes(1, 64);
        /// Entries of the store of pointer links of one node.
        link_store_entries: u32 = "link_store_entries", count(1, 1 << 30);
        /// Entries of the store of bit vectors of one node.
        vector_store_entries: u32 = "vector_store_entries", count(1, 1 << 30);
        /// Capacity of a node's remote access cache, for protocols that have one.
        remote_access_cache: Bytes = "remote_access_cache_mib", mib(1, 4096);
        /// MAGIC cycles of looking a line up in the remote access cache.
        remote_access_cache_check_cycles: u32 = "remote_access_cache_check_cycles", cycles(0, 1000);
        /// Memory of a node that protocol and directory keep for themselves.
        reserved: Bytes = "reserved_mib", mib(1, 4096);
    }
}

section! {
    /// The handlers of the protocol processor. Cycles are MAGIC's with all caches hit, of the first group until the handler's
    /// first message leaves, then for each unit of work; code is that of the critical handlers, which decides how often the
    /// instruction cache misses.
    HandlerSpec in "handlers" {
        /// Sending a processor's request to its home.
        request_cycles: u32 = "request_cycles", cycles(0, 1000);
        /// Handing a reply from the network to the processor.
        reply_cycles: u32 = "reply_cycles", cycles(0, 1000);
        /// Taking a negative acknowledgement and trying again.
        refusal_cycles: u32 = "refusal_cycles", cycles(0, 1000);
        /// Serving a read at the home from memory.
        read_cycles: u32 = "read_cycles", cycles(0, 1000);
        /// Serving a write at the home that needs no invalidations.
        write_cycles: u32 = "write_cycles", cycles(0, 1000);
        /// Serving a write at the home up to the first invalidation.
        write_invalidate_cycles: u32 = "write_invalidate_cycles", cycles(0, 1000);
        /// Forwarding a request from the home to the owner.
        forward_cycles: u32 = "forward_cycles", cycles(0, 1000);
        /// Refusing a request at the home.
        refuse_cycles: u32 = "refuse_cycles", cycles(0, 1000);
        /// Writing an owner's line back at the home.
        writeback_cycles: u32 = "writeback_cycles", cycles(0, 1000);
        /// Writing back at the home the line of an owner that keeps a shared copy.
        sharing_writeback_cycles: u32 = "sharing_writeback_cycles", cycles(0, 1000);
        /// Noting at the home that ownership went from one node to another.
        ownership_transfer_cycles: u32 = "ownership_transfer_cycles", cycles(0, 1000);
        /// Learning at the home that a forwarded request found no owner.
        forward_refused_cycles: u32 = "forward_refused_cycles", cycles(0, 1000);
        /// Counting an acknowledgement of an invalidation that is not the last.
        acknowledge_cycles: u32 = "acknowledge_cycles", cycles(0, 1000);
        /// Counting the last acknowledgement and answering the requester.
        last_acknowledge_cycles: u32 = "last_acknowledge_cycles", cycles(0, 1000);
        /// Removing a node from the sharers on a replacement hint.
        hint_cycles: u32 = "hint_cycles", cycles(0, 1000);
        /// Asking the owner's processor for the line.
        intervention_cycles: u32 = "intervention_cycles", cycles(0, 1000);
        /// Sending on the line that the owner's processor gave.
        supply_cycles: u32 = "supply_cycles", cycles(0, 1000);
        /// Reporting that the processor asked no longer owns the line.
        supply_refused_cycles: u32 = "supply_refused_cycles", cycles(0, 1000);
        /// Acknowledging an invalidation and passing it to the processor.
        invalidate_cycles: u32 = "invalidate_cycles", cycles(0, 1000);
        /// Receiving a clustered invalidation, up to the first that it sends on.
        relay_cycles: u32 = "relay_cycles", cycles(0, 1000);
        /// Counting an acknowledgement at the requester, in its collection table.
        collect_cycles: u32 = "collect_cycles", cycles(0, 1000);
        /// Each row of the collection table that is looked at to find a line's.
        collection_row_cycles: u32 = "collection_row_cycles", cycles(0, 1000);
        /// After a handler's last message, until the next handler can start.
        finish_cycles: u32 = "finish_cycles", cycles(0, 1000);
        /// Each message after the first.
        send_cycles: u32 = "send_cycles", cycles(0, 1000);
        /// Each element of a sharing set that is walked.
        set_element_cycles: u32 = "set_element_cycles", cycles(0, 1000);
        /// Each word of the link or vector store read or written.
        store_word_cycles: u32 = "store_word_cycles", cycles(0, 1000);
        /// Taking an entry from the link or vector store.
        allocate_cycles: u32 = "allocate_cycles", cycles(0, 1000);
        /// Giving an entry back.
        free_cycles: u32 = "free_cycles", cycles(0, 1000);
        /// Rewriting a sharing set in another format.
        reformat_cycles: u32 = "reformat_cycles", cycles(0, 1000);
        /// Finding out which format a sharing set has.
        format_check_cycles: u32 = "format_check_cycles", cycles(0, 1000);
        /// Cycles for each look at a header of several formats, before its owner or its sharers can be told anything.
        format_lookup_cycles: u32 = "format_lookup_cycles", cycles(0, 1000);
        /// Code of the critical handlers of the coarse vector of two nodes a bit.
        code_base: Bytes = "code_base_bytes", whole_bytes(0, 1 << 20);
        /// What the local bit adds to it.
        code_local_bit: Bytes = "code_local_bit_bytes", whole_bytes(0, 1 << 20);
        /// Code of the critical handlers of dynamic pointer allocation.
        code_dynamic_pointer: Bytes = "code_dynamic_pointer_bytes", whole_bytes(0, 1 << 20);
        /// Code of the critical handlers of the hybrid.
        code_hybrid: Bytes = "code_hybrid_bytes", whole_bytes(0, 1 << 20);
        /// What clustered invalidations add to the hybrid.
        code_cluster: Bytes = "code_cluster_bytes", whole_bytes(0, 1 << 20);
        /// What acknowledgements to the requester add to the hybrid.
        code_to_requester: Bytes = "code_to_requester_bytes", whole_bytes(0, 1 << 20);
        /// What the remote access cache adds to the hybrid.
        code_remote_access_cache: Bytes = "code_remote_access_cache_bytes", whole_bytes(0, 1 << 20);
    }
}
