//! Interconnects: what carries a message from one node's network interface to another's, and when it arrives.
//!
//! [`Interconnect`] is what controllers and the event loop need of any of them; [`Wires`] chooses one by the description.
//! [`Routed`] sends packets through routers and channels with credits, whatever the graph (hypercube, FLASH's meshes, ring,
//! mesh); [`RegisterInsertion`] is rings of SCI links; [`Crossbar`] takes a constant time with contention at the nodes' interfaces alone; [`Ideal`] takes a constant time.
//! An interconnect schedules nothing: each step of a message returns the next one, and the event loop carries it out.

mod crossbar;
mod ideal;
mod interconnect;
mod meter;
mod queue;
mod register_insertion;
mod routed;
pub mod sci_ring;
mod switches;

use machine::description::{Description, TopologyKind};
use machine::{Topology, VirtualNetwork};
use units::{ChannelId, Duration, NodeId, Time};

use crate::fault::Fault;
use crate::statistics::LinkStatistics;

use meter::{Meter, Metered};

pub use crossbar::Crossbar;
pub use ideal::Ideal;
pub use interconnect::{Interconnect, Next, Parcel, Passage, Retry, Step, Waiting};
pub use register_insertion::RegisterInsertion;
pub use routed::Routed;

/// The interconnect of a machine, by its description. Each step of a message chooses between them once.
pub enum Wires {
    /// Routers and channels.
    Routed(Routed),
    /// A ring of SCI links.
    SciRing(Box<RegisterInsertion>),
    /// Contention at the interfaces alone.
    Crossbar(Crossbar),
    /// No contention.
    Ideal(Ideal),
}

/// Calls a method of the interconnect that a machine has.
macro_rules! each {
    ($wires:expr, $one:ident => $call:expr) => {
        match $wires {
            Wires::Routed($one) => $call,
            Wires::SciRing($one) => $call,
            Wires::Crossbar($one) => $call,
            Wires::Ideal($one) => $call,
        }
    };
}

// The steps of a message are always inlined into the event loop, so that their results stay in registers.
impl Interconnect for Wires {
    #[inline]
    fn topology(&self) -> &Topology {
        each!(self, one => one.topology())
    }

    #[inline(always)]
    fn enter(&mut self, from: NodeId, parcel: Parcel, passage: &mut Passage, now: Time, delay: Duration) -> Step {
        each!(self, one => one.enter(from, parcel, passage, now, delay))
    }

    #[inline(always)]
    fn pass(&mut self, channel: ChannelId, parcel: Parcel, passage: &mut Passage, now: Time, delay: Duration) -> Step {
        each!(self, one => one.pass(channel, parcel, passage, now, delay))
    }

    #[inline]
    fn take_ready(&mut self, channel: ChannelId, lane: u8, now: Time) -> Waiting {
        each!(self, one => one.take_ready(channel, lane, now))
    }

    #[inline]
    fn leave(&mut self, retry: Retry, parcel: Parcel, passage: &mut Passage) -> Step {
        each!(self, one => one.leave(retry, parcel, passage))
    }

    #[inline]
    fn release(&mut self, passage: &mut Passage, packets: u16, when: Time, now: Time) -> Option<Retry> {
        each!(self, one => one.release(passage, packets, when, now))
    }

    #[inline]
    fn take_retry(&mut self) -> Option<Retry> {
        each!(self, one => one.take_retry())
    }

    #[inline]
    fn announces_early(&self) -> bool {
        !matches!(self, Self::SciRing(_))
    }

    fn soonest_delivery(&self) -> Option<Duration> {
        each!(self, one => one.soonest_delivery())
    }

    fn unhindered(&self, network: VirtualNetwork, from: NodeId, to: NodeId, starts: &[Time]) -> Vec<Time> {
        each!(self, one => one.unhindered(network, from, to, starts))
    }

    fn stores(&self, from: NodeId, to: NodeId) -> u64 {
        each!(self, one => one.stores(from, to))
    }

    fn spread(&self, packets: u16) -> Duration {
        each!(self, one => one.spread(packets))
    }

    #[inline]
    fn backlog_packets(&self, node: NodeId, network: VirtualNetwork, now: Time) -> u64 {
        each!(self, one => one.backlog_packets(node, network, now))
    }

    fn metered(&self, channel: ChannelId) -> &dyn Metered {
        each!(self, one => one.metered(channel))
    }

    fn meter_mut(&mut self, channel: ChannelId) -> &mut Meter {
        each!(self, one => one.meter_mut(channel))
    }
}

/// A machine's interconnect, with the packets of its messages.
pub struct Network {
    /// The interconnect.
    pub wires: Wires,
    /// Packets of a message with a line: a header and the data.
    line_packets: u16,
    virtual_channels: u32,
}

impl Network {
    /// The idle network of `description`, for a protocol of `networks` virtual networks.
    pub fn new(description: &Description, topology: Topology, networks: usize) -> Self {
        let wires = match description.topology.kind {
            TopologyKind::SciRing => Wires::SciRing(Box::new(RegisterInsertion::new(description, topology))),
            TopologyKind::Crossbar => Wires::Crossbar(Crossbar::new(description, topology, networks)),
            TopologyKind::Ideal => Wires::Ideal(Ideal::new(description, topology, networks)),
            TopologyKind::Sockets => Wires::Ideal(Ideal::unused(topology)),
            TopologyKind::Origin | TopologyKind::Flash | TopologyKind::Ring | TopologyKind::Mesh => {
                Wires::Routed(Routed::new(description, topology, networks))
            }
        };
        Self {
            wires,
            line_packets: description.data_packets() as u16,
            virtual_channels: description.router.virtual_channels,
        }
    }

    /// Packets of a message with or without a line.
    #[inline]
    pub const fn packets(&self, carries_line: bool) -> u16 {
        if carries_line { self.line_packets } else { 1 }
    }

    /// Uncontended time from one network interface to the other, up to the next edge of the controllers' clock of period
    /// `cycle`. The links have a clock of their own, so this is a mean over departure edges.
    pub fn mean_way(&self, network: VirtualNetwork, from: NodeId, to: NodeId, cycle: Duration) -> Duration {
        const EDGES: u64 = 12;
        let starts: Vec<Time> = (0..EDGES).map(|edge| Time::ZERO + cycle * edge).collect();
        let arrivals = self.wires.unhindered(network, from, to, &starts);
        let ways = arrivals.iter().zip(&starts).map(|(arrival, &start)| arrival.align_up(cycle).since(start));
        ways.fold(Duration::ZERO, |sum, way| sum + way) / EDGES
    }

    /// The counts of a node's link interface since the start, if the network has such interfaces.
    pub fn link_statistics(&self, node: NodeId) -> Option<LinkStatistics> {
        match &self.wires {
            Wires::SciRing(ring) => Some(ring.statistics(node)),
            Wires::Routed(_) | Wires::Crossbar(_) | Wires::Ideal(_) => None,
        }
    }

    /// The counts of both interfaces of the switch behind a node since the start, if there is one: on the ring of the node, and
    /// on the ring of switches.
    pub fn switch_statistics(&self, node: NodeId) -> Option<[LinkStatistics; 2]> {
        match &self.wires {
            Wires::SciRing(ring) => ring.switch_statistics(node),
            Wires::Routed(_) | Wires::Crossbar(_) | Wires::Ideal(_) => None,
        }
    }

    /// Plants a fault of the network, if `fault` is one of its kind.
    pub fn plant(&mut self, fault: Fault) {
        if let Wires::SciRing(ring) = &mut self.wires {
            ring.plant(fault);
        }
    }

    /// Checks that no packet has been lost or invented, where the network keeps such an account.
    ///
    /// # Errors
    /// The first part of the network whose account does not balance.
    pub fn audit(&self) -> Result<(), sci_ring::Imbalance> {
        match &self.wires {
            Wires::SciRing(ring) => ring.audit(),
            Wires::Routed(_) | Wires::Crossbar(_) | Wires::Ideal(_) => Ok(()),
        }
    }

    /// From the time at which the first packet of a line would be at the network interface of `to` if it were alone, to the end
    /// of its last.
    pub fn line_spread(&self, from: NodeId, to: NodeId) -> Duration {
        self.wires.spread(self.line_packets) * (1 + self.wires.stores(from, to))
    }

    /// Virtual channels of a link, used or not.
    pub fn virtual_channels(&self) -> usize {
        self.virtual_channels as usize
    }

    /// The machine's topology.
    #[inline]
    pub fn topology(&self) -> &Topology {
        self.wires.topology()
    }
}

#[cfg(test)]
mod tests;
