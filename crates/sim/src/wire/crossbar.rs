//! A crossbar: a constant time from one node to another, with contention at the nodes' network interfaces alone.
//!
//! A message occupies its sender's interface for its packets, one after the other, and from a constant time after its
//! start the receiver's interface for as long. Each interface serves messages in the order in which they come to it,
//! whatever their virtual network. A waiting message has room, so that no message holds up another one elsewhere and the crossbar
//! is free of deadlock.

use engine::{Grid, Server};
use machine::description::Description;
use machine::{Topology, VirtualNetwork};
use units::{ChannelId, Duration, NodeId, Time};

use super::interconnect::{Interconnect, Next, Parcel, Passage, Retry, Step};
use super::meter::{Meter, Metered};

/// One direction of a node's network interface.
#[derive(Clone)]
struct Interface {
    server: Server,
    /// Time of a packet.
    packet: Duration,
    meter: Meter,
}

impl Interface {
    /// Serves a message of `packets` that comes at `now`. Returns the start of its first packet.
    #[inline]
    fn serve(&mut self, now: Time, packets: u16) -> Time {
        self.meter.accept(packets);
        self.server.reserve(now, Grid::ANY, self.packet * u64::from(packets))
    }
}

impl Metered for Interface {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn packets_before(&self, time: Time) -> u64 {
        self.meter.packets_before(time, self.server.free_at(), self.packet)
    }
}

/// The last message that a node sent on a virtual network.
#[derive(Clone, Copy, Default)]
struct Last {
    /// Its end at the sender's interface.
    sent: Time,
    /// Its arrival at the receiver's.
    arrives: Time,
}

/// A crossbar between all nodes.
pub struct Crossbar {
    topology: Topology,
    latency: Duration,
    packet: Duration,
    networks: usize,
    /// By channel: the sending interface of a node at the channel into the crossbar, the receiving one at that out of it.
    interfaces: Vec<Interface>,
    /// By node and virtual network.
    last: Vec<Last>,
}

impl Crossbar {
    /// The idle crossbar of `description`, for `networks` virtual networks.
    ///
    /// # Panics
    /// The description has no crossbar.
    pub fn new(description: &Description, topology: Topology, networks: usize) -> Self {
        let Some(spec) = &description.crossbar else { panic!("{} has no [crossbar]", description.name) };
        let packet = description.link.micropacket_time;
        let idle = Interface { server: Server::default(), packet, meter: Meter::default() };
        let interfaces = vec![idle; topology.channels().count()];
        let last = vec![Last::default(); topology.nodes().len() * networks];
        Self { topology, latency: spec.latency, packet, networks, interfaces, last }
    }

    fn last(&self, node: NodeId, network: VirtualNetwork) -> usize {
        node.index() * self.networks + network as usize
    }
}

impl Interconnect for Crossbar {
    #[inline]
    fn topology(&self) -> &Topology {
        &self.topology
    }

    #[inline]
    fn enter(&mut self, from: NodeId, parcel: Parcel, passage: &mut Passage, now: Time, delay: Duration) -> Step {
        let (last, channel) = (self.last(from, parcel.network), self.topology.injection(from));
        let start = self.interfaces[channel.index()].serve(now, parcel.packets);
        passage.spread = self.packet * u64::from(parcel.packets);
        let last = &mut self.last[last];
        last.sent = start + passage.spread;
        // A random delay is on the way, so that it changes the order of messages of different virtual networks alone.
        last.arrives = (start + self.latency + delay).max(last.arrives);
        passage.holds = Some((channel, parcel.network as u8));
        Step { at: last.arrives, channel, next: Next::Pass, retries: false }
    }

    /// The head of a message is at the receiver's interface.
    #[inline]
    fn pass(&mut self, channel: ChannelId, parcel: Parcel, passage: &mut Passage, now: Time, _delay: Duration) -> Step {
        let (exit, lane) = (self.topology.ejection(parcel.to), parcel.network as u8);
        let receiver = &mut self.interfaces[exit.index()];
        let start = receiver.serve(now, parcel.packets);
        receiver.meter.count_ages(parcel.packets, start.since(now));
        if let Some(queue) = self.interfaces[channel.index()].meter.queue_mut(lane.into()) {
            queue.enter(now, parcel.packets);
            queue.leave(start + passage.spread, parcel.packets);
        }
        passage.holds = Some((exit, lane));
        Step::deliver(exit, start)
    }

    #[inline]
    fn release(&mut self, passage: &mut Passage, _packets: u16, _when: Time, _now: Time) -> Option<Retry> {
        passage.holds = None;
        None
    }

    /// A message at an idle interface is delivered at once.
    fn soonest_delivery(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn unhindered(&self, _: VirtualNetwork, _: NodeId, _: NodeId, starts: &[Time]) -> Vec<Time> {
        starts.iter().map(|&start| start + self.latency).collect()
    }

    fn spread(&self, packets: u16) -> Duration {
        self.packet * u64::from(packets)
    }

    #[inline]
    fn backlog_packets(&self, node: NodeId, network: VirtualNetwork, now: Time) -> u64 {
        self.last[self.last(node, network)].sent.since(now).0.div_ceil(self.packet.0)
    }

    fn metered(&self, channel: ChannelId) -> &dyn Metered {
        &self.interfaces[channel.index()]
    }

    fn meter_mut(&mut self, channel: ChannelId) -> &mut Meter {
        &mut self.interfaces[channel.index()].meter
    }
}
