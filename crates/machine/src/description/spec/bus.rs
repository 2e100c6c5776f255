//! Tables of nodes whose processors share a snooping bus: the bus, and the banks of the memory behind it.

use units::{Bytes, Hertz};

use super::section;
use crate::description::kind::{Flag, Text, bytes, count, cycles, mhz};

section! {
    /// The snooping bus between processors and memory, with separate address and data wires. Its clock is the memory's.
    BusSpec in "bus" {
        /// The coherence protocol, by a name that the simulator resolves.
        protocol: String = "protocol", Text;
        /// Clock of the bus and of the memory controller.
        clock: Hertz = "clock_mhz", mhz(10.0, 5000.0);
        /// Width of the data wires.
        width: Bytes = "width_bytes", bytes(4, 128);
        /// Transactions between the start of their address phase and the end of their data phase. One is a bus that is
        /// held for the whole transaction; more split it.
        outstanding: u32 = "outstanding", count(1, 64);
        /// Bus cycles from a request at a processor's pins to the start of its address phase on a free bus.
        arbitration_cycles: u32 = "arbitration_cycles", cycles(0, 1000);
        /// Occupancy of the address wires by a transaction, in bus cycles.
        address_cycles: u32 = "address_cycles", cycles(1, 1000);
        /// Bus cycles from the start of the address phase to the combined snoop reply.
        snoop_cycles: u32 = "snoop_cycles", cycles(1, 1000);
        /// Bus cycles from an owner's cache to its data at the bus, not counting the read-out.
        supply_cycles: u32 = "supply_cycles", cycles(0, 1000);
        /// Bus cycles from the start of a line of data to the arrival of its critical part at the processor.
        critical_cycles: u32 = "critical_cycles", cycles(1, 1000);
        /// Idle cycles of the data wires after a line.
        turnaround_cycles: u32 = "turnaround_cycles", cycles(0, 100);
        /// Bus cycles from the combined reply of a transaction without data to its completion at the processor.
        completion_cycles: u32 = "completion_cycles", cycles(0, 1000);
        /// Bus cycles from the completion of a request until its miss register is free.
        release_cycles: u32 = "release_cycles", cycles(0, 1000);
    }
}

section! {
    /// The banks of a memory: consecutive lines lie in different channels (pairs of lines of a server), and in each channel in different
    /// banks.
    BanksSpec in "banks" {
        /// Channels, each with data wires of its own.
        channels: u32 = "channels", count(1, 64);
        /// Banks of a channel.
        banks: u32 = "banks_per_channel", count(1, 256);
        /// Occupancy of a bank by an access, in memory cycles, if its data do not hold it longer.
        cycle: u32 = "bank_cycles", cycles(1, 10_000);
        /// Whether the controller serves accesses to other banks while one waits for its own: those first that can start first
        /// (a server's alone; other controllers serve them in order, as none of the following keys has an effect there).
        reorders: bool = "reorders", Flag, or false;
        /// Memory cycles after which an access precedes younger ones of its kind that could start sooner; 0: never.
        patience_cycles: u32 = "patience_cycles", cycles(0, 1_000_000), or 0;
        /// Lines of a row, of a memory whose banks keep the row of their last access open; 0: every access opens its row anew. Rows
        /// need `reorders`, and banks in groups of four: consecutive lines of a channel lie in different groups.
        row_lines: u32 = "row_lines", count(0, 1 << 16), or 0;
        /// Memory cycles to open a row, by which an access is sooner whose row is open.
        activate_cycles: u32 = "activate_cycles", cycles(0, 1000), or 0;
        /// Memory cycles to close a row, by which an access is later whose bank has another row open.
        precharge_cycles: u32 = "precharge_cycles", cycles(0, 1000), or 0;
        /// Memory cycles after its last access in which a row stays open.
        row_open_cycles: u32 = "row_open_cycles", cycles(0, 1_000_000), or 0;
        /// Ranks of a channel, which share its banks out.
        ranks: u32 = "ranks", count(1, 64), or 1;
        /// Idle memory cycles of the data wires of a channel between lines of two ranks.
        rank_switch_cycles: u32 = "rank_switch_cycles", cycles(0, 1000), or 0;
        /// Least memory cycles from a line to the next one of the same group of banks.
        same_group_cycles: u32 = "same_group_cycles", cycles(0, 1000), or 0;
        /// Memory cycles in which a rank opens four rows at most; 0: any number.
        four_activations_cycles: u32 = "four_activations_cycles", cycles(0, 1000), or 0;
        /// Lines that a channel collects before it writes; 0 and 1: each is written when it comes. Others need `reorders`.
        write_high_watermark: u32 = "write_high_watermark", count(0, 256), or 0;
        /// Lines, of those collected, that are left when it returns to reads.
        write_low_watermark: u32 = "write_low_watermark", count(0, 255), or 0;
        /// Idle memory cycles of the data wires from a line read to a line written.
        read_to_write_cycles: u32 = "read_to_write_cycles", cycles(0, 1000), or 0;
        /// Idle memory cycles of the data wires from a line written to a line read in the same rank.
        write_to_read_cycles: u32 = "write_to_read_cycles", cycles(0, 1000), or 0;
        /// Memory cycles from the end of a line written to the closing of its row, with the latency of a column, by which data are later
        /// than the wires are taken here.
        write_recovery_cycles: u32 = "write_recovery_cycles", cycles(0, 1000), or 0;
    }
}
