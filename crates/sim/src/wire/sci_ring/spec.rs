//! Sizes and delays of a ring, the descriptions that cannot work, and the latencies of an unloaded ring.

use thiserror::Error;
use units::{Duration, NodeId, Time};

use super::packet::Format;

/// A symbol time of the ring, counted from the start of the run.
pub(super) type Slot = u64;

/// Later than every slot.
pub(super) const NEVER: Slot = Slot::MAX;

/// The most slots ahead of time in which a packet is passed on.
pub(super) const AHEAD: Slot = 256;

/// The longest delay of a hop and the longest packet, in symbols.
const LONGEST: u64 = 4096;

/// Sizes of packets in symbols of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketSizes {
    /// A command without more than its header.
    pub command: u32,
    /// A command with an extended header.
    pub long_command: u32,
    /// A packet with a line.
    pub data: u32,
    /// The symbols of a packet with a line that carry the line.
    pub payload: u32,
    /// An echo.
    pub echo: u32,
}

impl PacketSizes {
    /// The sizes of the standard (Hexsel and Topham, appendix: commands of 8 or 16 symbols, 40 with the 64 bytes of a
    /// line, echoes of 4).
    pub const STANDARD: Self = Self { command: 8, long_command: 16, data: 40, payload: 32, echo: 4 };

    /// Symbols of a send packet of this format.
    #[inline]
    pub const fn of(&self, format: Format) -> u32 {
        match format {
            Format::Command => self.command,
            Format::LongCommand => self.long_command,
            Format::Data => self.data,
        }
    }

    /// Symbols of the longest send packet.
    pub const fn longest(&self) -> u32 {
        let commands = if self.command > self.long_command { self.command } else { self.long_command };
        if commands > self.data { commands } else { self.data }
    }

    /// Symbols of the shortest send packet.
    pub const fn shortest(&self) -> u32 {
        let commands = if self.command < self.long_command { self.command } else { self.long_command };
        if commands < self.data { commands } else { self.data }
    }
}

/// Sizes of the buffers of a link interface in symbols of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferSizes {
    /// The output buffer of requests, and that of responses: packets before their first transmission.
    pub output: u32,
    /// The input buffer of requests, and that of responses: packets accepted, until the node takes them.
    pub input: u32,
    /// The bypass FIFO: what passes by while the node transmits, with an idle after each packet.
    pub bypass: u32,
}

impl BufferSizes {
    /// Buffers of so many packets of any size, and the smallest bypass FIFO that suffices.
    pub const fn packets(sizes: &PacketSizes, output: u32, input: u32) -> Self {
        let longest = sizes.longest();
        Self { output: output * longest, input: input * longest, bypass: longest + 1 }
    }
}

/// The number of send packets of a node that may wait for their echoes at the same time: the options of the pass
/// transmission protocol (Hexsel and Topham, appendix, logical protocol).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PassTransmission {
    /// One packet.
    One,
    /// One request and one response.
    OneOfEach,
    /// So many requests, and so many responses.
    Several(u32),
}

impl PassTransmission {
    /// The most outstanding packets of one subaction.
    pub const fn of_each(self) -> u32 {
        match self {
            Self::One | Self::OneOfEach => 1,
            Self::Several(count) => count,
        }
    }
}

/// Sizes and delays of a ring of nodes with one link interface each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingSpec {
    /// Nodes, 1 or more.
    pub nodes: u32,
    /// The time of a symbol on a link.
    pub symbol: Duration,
    /// From a node's multiplexer to the next node's stripper: a whole number of symbols.
    pub wire: Duration,
    /// From the input of a node's stripper to its multiplexer: a whole number of symbols.
    pub stripper: Duration,
    /// Sizes of packets.
    pub sizes: PacketSizes,
    /// Sizes of buffers.
    pub buffers: BufferSizes,
    /// Outstanding packets.
    pub transmission: PassTransmission,
}

impl RingSpec {
    /// The ring of Hexsel and Topham with so many nodes.
    ///
    /// Symbols of 16 bits at 1 Gbyte/s take 2 ns (appendix). Wire and stripper together take 3 symbols a node: their
    /// static latency of 116 ns for 16 nodes and packets of 11 symbols (Section 4, round trip delay) is 16 times 6 ns,
    /// and 20 ns from the first symbol of a packet to its last. The division of the 3 symbols and the sizes of buffers
    /// are not published; the division here is 1 symbol of wire and 2 of stripper, and buffers hold 4 packets.
    pub const fn published(nodes: u32, transmission: PassTransmission) -> Self {
        let sizes = PacketSizes::STANDARD;
        Self {
            nodes,
            symbol: Duration(2000),
            wire: Duration(2000),
            stripper: Duration(4000),
            sizes,
            buffers: BufferSizes::packets(&sizes, 4, 4),
            transmission,
        }
    }

    /// Refuses a ring that cannot work.
    ///
    /// # Errors
    /// The first rule that the description breaks.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.nodes == 0 || self.nodes >= 1 << 16 {
            return Err(SpecError::Nodes(self.nodes));
        }
        if self.symbol == Duration::ZERO {
            return Err(SpecError::NoSymbolTime);
        }
        for (what, delay) in [("wire", self.wire), ("stripper", self.stripper)] {
            if delay.0 % self.symbol.0 != 0 {
                return Err(SpecError::PartOfSymbol { what, delay, symbol: self.symbol });
            }
        }
        if self.hop() == 0 {
            return Err(SpecError::NoDelay);
        }
        self.check_sizes()?;
        self.check_buffers()
    }

    fn check_sizes(&self) -> Result<(), SpecError> {
        let PacketSizes { command, long_command, data, payload, echo } = self.sizes;
        let lengths = [
            ("a hop", self.hop()),
            ("a command", command.into()),
            ("a long command", long_command.into()),
            ("a data packet", data.into()),
        ];
        if let Some(&(what, symbols)) = lengths.iter().find(|(_, symbols)| *symbols > LONGEST) {
            return Err(SpecError::TooLong { what, symbols });
        }
        let shortest = self.sizes.shortest();
        if echo == 0 || echo > shortest {
            return Err(SpecError::Echo { echo, shortest });
        }
        if payload > data {
            return Err(SpecError::Payload { payload, data });
        }
        Ok(())
    }

    fn check_buffers(&self) -> Result<(), SpecError> {
        let BufferSizes { output, input, bypass } = self.buffers;
        let longest = self.sizes.longest();
        let needs = [
            ("an output buffer", output, longest),
            ("an input buffer", input, longest),
            ("a bypass FIFO", bypass, longest + 1),
        ];
        if let Some(&(buffer, symbols, needed)) = needs.iter().find(|(_, symbols, needed)| symbols < needed) {
            return Err(SpecError::SmallBuffer { buffer, symbols, needed });
        }
        if self.transmission == PassTransmission::Several(0) {
            return Err(SpecError::NoActiveBuffer);
        }
        Ok(())
    }

    /// Symbols from a node's multiplexer to the next node's.
    pub(super) const fn hop(&self) -> Slot {
        self.wire.0 / self.symbol.0 + self.stripper.0 / self.symbol.0
    }

    /// The time at which a slot begins.
    #[inline]
    pub(super) const fn time(&self, slot: Slot) -> Time {
        Time(slot * self.symbol.0)
    }

    /// Hops from `from` to `to`, around the whole ring if they are the same.
    pub const fn hops(&self, from: NodeId, to: NodeId) -> u32 {
        let ahead = (to.0 as u32 + self.nodes - from.0 as u32) % self.nodes;
        if ahead == 0 { self.nodes } else { ahead }
    }

    /// From the entry of a packet of `symbols` symbols into the output buffer of `from` to its last symbol at the
    /// stripper of `to`, on an unloaded ring.
    pub const fn static_trip(&self, from: NodeId, to: NodeId, symbols: u32) -> Duration {
        Duration(self.symbol.0 * (self.hops(from, to) as u64 * self.hop() + symbols as u64 - 1))
    }

    /// The least time by which an [`Outcome::Delivered`](super::Outcome::Delivered) is ahead of its packet's last
    /// symbol: it follows from the first symbol at the target.
    pub const fn delivery_notice(&self) -> Duration {
        Duration(self.symbol.0 * (self.sizes.shortest() as u64 - 1))
    }

    /// The shortest time from the entry of a packet into an output buffer to its last symbol at the stripper of its target.
    pub const fn soonest_trip(&self) -> Duration {
        Duration(self.symbol.0 * (self.hop() + self.sizes.shortest() as u64 - 1))
    }

    /// From the entry of a packet of `symbols` symbols into the output buffer of `from` to the last symbol of its echo,
    /// on an unloaded ring: the static round trip delay (Hexsel and Topham, Section 4). The echo ends where the packet
    /// that it replaces would have ended, so the time does not depend on the target, unless that is the sender. Such a
    /// packet goes around the ring before its echo does, and on a ring shorter than an echo the latter waits for the
    /// end of the packet.
    pub const fn static_round_trip(&self, from: NodeId, to: NodeId, symbols: u32) -> Duration {
        Duration(self.symbol.0 * self.static_slots(from, to, symbols))
    }

    /// The same in symbols.
    pub(super) const fn static_slots(&self, from: NodeId, to: NodeId, symbols: u32) -> Slot {
        let (around, symbols, echo) = (self.nodes as u64 * self.hop(), symbols as u64, self.sizes.echo as u64);
        if from.0 != to.0 {
            around + symbols - 1
        } else if around > echo {
            2 * around + symbols - 1
        } else {
            symbols + 1 + around + echo - 1
        }
    }
}

/// The reason why a ring cannot work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SpecError {
    /// The number of nodes is zero or cannot be addressed.
    #[error("a ring of {0} nodes: 1 to 65535 are possible")]
    Nodes(u32),
    /// Symbols take no time.
    #[error("symbols that take no time: the symbol time is at least 1 ps")]
    NoSymbolTime,
    /// A delay is not a whole number of symbols.
    #[error("a {what} delay of {} ns: whole symbols of {} ns are needed", delay.as_ns(), symbol.as_ns())]
    PartOfSymbol {
        /// The part with the delay.
        what: &'static str,
        /// Its delay.
        delay: Duration,
        /// The symbol time.
        symbol: Duration,
    },
    /// Wire and stripper take no time.
    #[error("nodes without delay: wire and stripper take at least a symbol together")]
    NoDelay,
    /// A hop or a packet is too long.
    #[error("{what} of {symbols} symbols: at most {LONGEST} are possible")]
    TooLong {
        /// The hop or the packet.
        what: &'static str,
        /// Its symbols.
        symbols: u64,
    },
    /// An echo does not fit in place of the packet that it answers.
    #[error(
        "echoes of {echo} symbols: 1 to {shortest} are possible, the size of the smallest packet that an echo replaces"
    )]
    Echo {
        /// Symbols of an echo.
        echo: u32,
        /// Symbols of the shortest send packet.
        shortest: u32,
    },
    /// A line is longer than the packet that carries it.
    #[error("a line of {payload} symbols in data packets of {data}")]
    Payload {
        /// Symbols of a line.
        payload: u32,
        /// Symbols of a data packet.
        data: u32,
    },
    /// A buffer cannot hold the longest packet.
    #[error("{buffer} of {symbols} symbols: at least {needed} are needed")]
    SmallBuffer {
        /// The buffer.
        buffer: &'static str,
        /// Its size in symbols.
        symbols: u32,
        /// The least size in symbols.
        needed: u32,
    },
    /// No packet may be outstanding.
    #[error("no active buffers: a node that never has a packet outstanding never sends one")]
    NoActiveBuffer,
}
