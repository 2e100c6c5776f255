//! Tables of SCI machines: the node, and the ring of unidirectional links.

use units::{Duration, Hertz};

use super::section;
use crate::description::kind::{Alternatives, Flag, choice, count, cycles, mhz, ns};

/// Maximum number of packets that a buffer of a link interface holds.
const MOST_BUFFERED_PACKETS: u32 = 1024;

/// Maximum number of rings that switches join.
const MOST_RINGS: u32 = 1024;

/// The send packets of a node that may wait for their echoes at the same time (Hexsel and Topham, appendix, logical
/// protocol).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PassTransmission {
    /// One packet.
    One,
    /// One request and one response.
    OneOfEach,
    /// Several requests and as many responses: `sci_ring.active_buffers`.
    Several,
}

impl Alternatives for PassTransmission {
    const WORDS: &'static [(Self, &'static str)] =
        &[(Self::One, "one"), (Self::OneOfEach, "one-of-each"), (Self::Several, "several")];
}

section! {
    /// The node of an SCI machine: one processor with its caches, and interleaved memory, on an internal bus. The tables
    /// of its caches and of `[banks]` give their times.
    SciSpec in "sci" {
        /// Clock of the memory and of the retries.
        clock: Hertz = "clock_mhz", mhz(10.0, 5000.0);
        /// Cycles from the response that refuses a request (a NACK) until the cache begins the next request.
        retry_cycles: u32 = "retry_cycles", cycles(0, 100_000);
        /// Whether a miss whose line replaces another one waits until that one has left its sharing list.
        rollout_first: bool = "rollout_first", Flag;
    }
}

section! {
    /// A ring of SCI links, or several that switches join: additional parameters for `topology.kind = "sci-ring"`.
    SciRingSpec in "sci_ring" {
        /// Rings, each with as many nodes. With more than one, each has a switch as well, and a ring of the switches joins
        /// them.
        rings: u32 = "rings", count(1, MOST_RINGS);
        /// From the last symbol of a packet in the input buffer of a switch to its entry into the output buffer on the other
        /// ring: a whole number of symbols.
        switch: Duration = "switch_ns", ns(0.0, 10_000.0);
        /// Time of a symbol of 16 bits on a link.
        symbol: Duration = "symbol_ns", ns(0.001, 1000.0);
        /// From a node's multiplexer to the next node's stripper: a whole number of symbols.
        wire: Duration = "wire_ns", ns(0.0, 10_000.0);
        /// From the input of a node's stripper to its multiplexer: a whole number of symbols.
        stripper: Duration = "stripper_ns", ns(0.0, 10_000.0);
        /// Symbols of a command without a list element.
        command_symbols: u32 = "command_symbols", count(4, 256);
        /// Symbols of a command with an extended header, which names a node besides the target.
        long_command_symbols: u32 = "long_command_symbols", count(4, 256);
        /// Symbols of a packet with a line: the header of a command, and the line.
        data_symbols: u32 = "data_symbols", count(4, 1024);
        /// Symbols of an echo.
        echo_symbols: u32 = "echo_symbols", count(1, 256);
        /// Packets for which an output buffer has room, of requests and of responses each.
        output_packets: u32 = "output_packets", count(1, MOST_BUFFERED_PACKETS);
        /// Packets for which an input buffer has room, of requests and of responses each.
        input_packets: u32 = "input_packets", count(1, MOST_BUFFERED_PACKETS);
        /// The send packets that may wait for their echoes.
        transmission: PassTransmission = "transmission", choice::<PassTransmission>();
        /// Requests, and as many responses, that may wait for their echoes if the transmission is `several`.
        active_buffers: u32 = "active_buffers", count(1, 256);
    }
}

impl SciRingSpec {
    /// Bytes in a symbol.
    pub const SYMBOL_BYTES: u32 = 2;

    /// Bytes that a data packet carries beyond its header.
    pub fn line_room(&self) -> u32 {
        self.data_symbols.saturating_sub(self.command_symbols) * Self::SYMBOL_BYTES
    }

    /// The way of a symbol past so many nodes of an empty ring.
    pub fn way(&self, nodes: u64) -> Duration {
        (self.wire + self.stripper) * nodes
    }

    /// From the first to the last symbol of a packet: a symbol time for each symbol but the first.
    pub fn tail(&self, symbols: u32) -> Duration {
        self.symbol * u64::from(symbols.saturating_sub(1))
    }
}
