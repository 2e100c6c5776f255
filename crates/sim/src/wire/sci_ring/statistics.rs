//! Counts of a ring: traffic of links, throughput of nodes, round trips, bypass FIFOs, retransmissions.

use units::Duration;

use super::packet::{Format, Packet};
use super::spec::{RingSpec, Slot};

/// The obstacle before which packets wait in the output buffers and active buffers of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// All active buffers that they may use hold packets without echoes.
    ActiveBuffer,
    /// The node transmits another packet.
    OwnPacket,
    /// The node is in recovery.
    Recovery,
    /// A packet passes by, or the idle behind it.
    PassingPacket,
    /// The last idle had no go bit.
    GoBit,
}

impl Obstacle {
    /// Every obstacle, in order.
    pub const ALL: [Self; 5] = [Self::ActiveBuffer, Self::OwnPacket, Self::Recovery, Self::PassingPacket, Self::GoBit];
}

/// The counts of one node and of the link that leaves it. A packet on a link counts when its
/// first symbol is sent or, if that cannot change without a new packet, up to a few hundred symbols before. So do delays in bypass
/// FIFOs; waits count when the node is looked at next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NodeStatistics {
    /// Symbols on the link of sends, passing by or the node's own: of requests, and of responses.
    pub sends: [u64; 2],
    /// Symbols on the link of echoes, of requests and of responses.
    pub echoes: [u64; 2],
    /// Send packets that the node transmitted, retransmissions included.
    pub transmitted: u64,
    /// Retransmissions among them.
    pub retransmitted: u64,
    /// Symbols of the packets transmitted and of the echoes that its stripper has made: the node's raw throughput (Hexsel
    /// and Topham, Section 4: symbols inserted). Echoes count because the stripper inserts them (appendix), and because only
    /// then the statements of Section 5 agree: under 14 % of all packets, echoes among them, carry lines, which are 20 to
    /// 30 % of the raw throughput.
    pub inserted: u64,
    /// Symbols among them that carry lines.
    pub payload: u64,
    /// Packets with lines among those transmitted.
    pub data_packets: u64,
    /// Packets of the node's own with positive echoes.
    pub acknowledged: u64,
    /// The sum of their round trip delays in symbols, from the entry into the output buffer to the end of the positive
    /// echo.
    pub round_trips: u64,
    /// The longest of them.
    pub longest_round_trip: u64,
    /// Slots that packets waited for their transmissions, by [`Obstacle`], summed over packets.
    pub waits: [u64; Obstacle::ALL.len()],
    /// The round trip delays that the packets acknowledged would have on an unloaded ring
    /// ([`RingSpec::static_round_trip`]), summed, in symbols.
    pub static_trips: u64,
    /// Slots by which the bypass FIFO delayed packets and echoes that passed through it, summed over them.
    pub bypass_delay: u64,
    /// Slots at whose end the bypass FIFO was not empty. Counted when it has drained.
    pub bypass_in_use: u64,
    /// Symbols of packets in the bypass FIFO, summed over slots.
    pub bypass_occupancy: u64,
    /// Packets that went through the bypass FIFO.
    pub bypassed: u64,
    /// Sends that the node accepted.
    pub accepted: u64,
    /// Sends that the node turned down.
    pub busied: u64,
}

impl NodeStatistics {
    /// Symbols on the link that belong to packets.
    pub fn traffic(&self) -> u64 {
        self.sends.iter().chain(&self.echoes).sum()
    }

    #[inline]
    pub(super) fn count_transmission(&mut self, packet: &Packet, symbols: u32, spec: &RingSpec, is_first: bool) {
        self.transmitted += 1;
        self.retransmitted += u64::from(!is_first);
        self.inserted += u64::from(symbols);
        if packet.format == Format::Data {
            self.data_packets += 1;
            self.payload += u64::from(spec.sizes.payload);
        }
    }

    #[inline]
    pub(super) fn count_round_trip(&mut self, slots: Slot, unloaded: Slot) {
        self.acknowledged += 1;
        self.round_trips += slots;
        self.static_trips += unloaded;
        self.longest_round_trip = self.longest_round_trip.max(slots);
    }
}

/// The counts of a ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// By node.
    pub nodes: Vec<NodeStatistics>,
    /// The time of a symbol.
    symbol: Duration,
}

impl Statistics {
    pub(super) fn new(nodes: Vec<NodeStatistics>, symbol: Duration) -> Self {
        Self { nodes, symbol }
    }

    fn mean(&self, count: impl Fn(&NodeStatistics) -> u64) -> f64 {
        self.nodes.iter().map(count).sum::<u64>() as f64 / self.nodes.len() as f64
    }

    /// Mbytes a second of `symbols` symbols of 2 bytes in `time`.
    fn rate(&self, symbols: f64, time: Duration) -> f64 {
        symbols * 2.0 / time.as_seconds() / 1e6
    }

    /// Traffic of a link, mean of all, in Mbytes a second over `time` (Hexsel and Topham, Section 4: symbols that pass
    /// through and those inserted). Idles do not count.
    pub fn link_traffic(&self, time: Duration) -> f64 {
        self.rate(self.mean(NodeStatistics::traffic), time)
    }

    /// Raw throughput of a node, mean of all, in Mbytes a second over `time`.
    pub fn raw_throughput(&self, time: Duration) -> f64 {
        self.rate(self.mean(|node| node.inserted), time)
    }

    /// Throughput of a node in lines alone, mean of all, in Mbytes a second over `time`.
    pub fn data_throughput(&self, time: Duration) -> f64 {
        self.rate(self.mean(|node| node.payload), time)
    }

    /// The share of `time` in which a bypass FIFO is in use, mean of all.
    pub fn bypass_utilisation(&self, time: Duration) -> f64 {
        self.mean(|node| node.bypass_in_use) * self.symbol.0 as f64 / time.0 as f64
    }

    /// Mean round trip delay in ns, of all packets acknowledged; zero if there are none.
    pub fn round_trip_ns(&self) -> f64 {
        let count = self.mean(|node| node.acknowledged);
        if count == 0.0 { 0.0 } else { self.mean(|node| node.round_trips) / count * self.symbol.as_ns() }
    }

    /// Retransmissions of all nodes.
    pub fn retransmissions(&self) -> u64 {
        self.nodes.iter().map(|node| node.retransmitted).sum()
    }
}
