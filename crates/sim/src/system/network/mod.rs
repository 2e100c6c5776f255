//! The interconnection network's timing: channels between network interfaces and routers.

mod channel;
mod queue;

use machine::description::Description;
use machine::topology::{Endpoint, LinkClass};
use machine::{Topology, VirtualNetwork};
use units::{ChannelId, Duration, NodeId, Port, RouterId, Time};

pub use channel::{Channel, ChannelSpec, End, Queued, Sent, VIRTUAL_CHANNELS};

/// The routers' part of a machine description, in time instead of cycles.
#[derive(Clone, Debug)]
struct RouterTiming {
    bypass: Option<Duration>,
    queued: Duration,
}

/// Packets of each message size.
#[derive(Clone, Copy, Debug)]
pub struct PacketCounts {
    /// Packets of a message with a line: a header and the data.
    line: u16,
}

impl PacketCounts {
    /// Packets of a message with or without a line.
    #[inline]
    pub const fn of(self, carries_line: bool) -> u16 {
        if carries_line { self.line } else { 1 }
    }
}

/// All channels of a machine, and its routes.
pub struct Network {
    sizes: PacketCounts,
    topology: Topology,
    channels: Vec<Channel>,
    router: RouterTiming,
}

impl Network {
    /// The idle network of `description`.
    pub fn new(description: &Description, topology: Topology) -> Self {
        let (router, link) = (&description.router, &description.link);
        let cycle = router.clock.period();
        let queued = cycle * u64::from(router.bypass_cycles + router.queue_cycles);
        let bypass = description.bypasses_queues().then(|| cycle * u64::from(router.bypass_cycles));
        let end = |end: Endpoint| match end {
            Endpoint::Node(node) => End::Node(node),
            Endpoint::Router(router, _) => End::Router(router),
        };
        let channels = topology
            .channels()
            .map(|channel| {
                // Node and router have separate clocks: each message waits for a clock edge when it crosses.
                let crossing = channel.class == LinkClass::Node;
                let node_packet = link.node_clock.period() * (link.micropacket_transfers as u64);
                Channel::new(ChannelSpec {
                    from: end(channel.from),
                    to: end(channel.to),
                    packet: if crossing { node_packet } else { link.micropacket_time },
                    propagation: channel.delay + link.transceiver,
                    grid: if crossing { link.node_clock.period() * 4 } else { Duration::ZERO },
                    buffer_packets: (router.buffer.0 / link.micropacket.0) as u16,
                })
            })
            .collect();
        let sizes = PacketCounts { line: description.data_packets() as u16 };
        Self { sizes, topology, channels, router: RouterTiming { bypass, queued } }
    }

    /// Packets of each message size.
    pub const fn sizes(&self) -> PacketCounts {
        self.sizes
    }

    /// Packets of a message with or without a line.
    #[inline]
    pub const fn packets(&self, carries_line: bool) -> u16 {
        self.sizes.of(carries_line)
    }

    /// The machine's topology.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Uncontended arrival times of the first packet at the network interface of `to`, for messages that leave that of
    /// `from` at each of `starts`.
    pub fn unhindered(&self, network: VirtualNetwork, from: NodeId, to: NodeId, starts: &[Time]) -> Vec<Time> {
        let router = self.router.bypass.unwrap_or(self.router.queued);
        let path = self.topology.path(network, from, to);
        let spec = |channel: ChannelId| &self.channels[channel.index()].spec;
        let injection = spec(self.injection(from));
        let crosses = |channel: &ChannelSpec, at: Time| channel.first_start(at) + channel.propagation;
        let arrival = |start: &Time| {
            let at_router = crosses(injection, *start);
            path.iter().fold(at_router, |at, step| crosses(spec(step.channel), at) + router)
        };
        starts.iter().map(arrival).collect()
    }

    /// Uncontended time from one network interface to the other, up to the next edge of the controllers' clock of period
    /// `cycle`. The links have a clock of their own, so this is a mean over departure edges.
    pub fn mean_way(&self, network: VirtualNetwork, from: NodeId, to: NodeId, cycle: Duration) -> Duration {
        const EDGES: u64 = 12;
        let starts: Vec<Time> = (0..EDGES).map(|edge| Time::ZERO + cycle * edge).collect();
        let arrivals = self.unhindered(network, from, to, &starts);
        let ways = arrivals.iter().zip(&starts).map(|(arrival, &start)| arrival.align_up(cycle).since(start));
        ways.fold(Duration::ZERO, |sum, way| sum + way) / EDGES
    }

    /// From the first packet of a line to the end of its last, on the channel where that takes longest.
    pub fn line_spread(&self) -> Duration {
        let packet = self.channels.iter().map(|channel| channel.spec.packet).max().unwrap_or(Duration::ZERO);
        packet * u64::from(self.sizes.of(true))
    }

    /// The shortest time from a channel's acceptance of a message to its arrival at a node, if any channel ends at a
    /// node.
    pub fn soonest_delivery(&self) -> Option<Duration> {
        let router = |from| match from {
            End::Node(_) => Duration::ZERO,
            End::Router(_) => self.router.bypass.unwrap_or(self.router.queued).min(self.router.queued),
        };
        let last = self.channels.iter().map(|channel| &channel.spec).filter(|spec| matches!(spec.to, End::Node(_)));
        last.map(|spec| router(spec.from) + spec.propagation).min()
    }

    /// A channel.
    #[inline]
    pub fn channel(&self, id: ChannelId) -> &Channel {
        &self.channels[id.index()]
    }

    /// A channel, for sending.
    #[inline]
    pub fn channel_mut(&mut self, id: ChannelId) -> &mut Channel {
        &mut self.channels[id.index()]
    }

    /// All channels.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// The outgoing and the incoming channel of `port` of `router`, if it is connected.
    pub fn both_ways(&self, router: RouterId, port: Port) -> Option<(ChannelId, ChannelId)> {
        let (sending, _) = self.topology.outgoing(router, port)?;
        // The two directions of a link have consecutive numbers.
        Some((sending, ChannelId(sending.0 ^ 1)))
    }

    /// The channel from a node into the network.
    #[inline]
    pub fn injection(&self, node: NodeId) -> ChannelId {
        self.topology.injection(node)
    }

    /// The outgoing channel for a message to node `to` that arrived on `channel`, by the routes of `network`.
    #[inline]
    pub fn next(&self, channel: ChannelId, to: NodeId, network: VirtualNetwork) -> ChannelId {
        match self.channels[channel.index()].spec.to {
            End::Router(router) => self.topology.routes(network).exit(router, to),
            End::Node(_) => channel,
        }
    }

    /// The arrival of a message `sent` on `id` at the far end: router time, if it leaves a router, and wire time. A
    /// message without contention bypasses the router's queue (Prestor 2001, 3.2.3). Returns the time, and whether it
    /// bypassed.
    #[inline]
    pub fn arrival(&mut self, id: ChannelId, sent: &Sent) -> (Time, bool) {
        let channel = &mut self.channels[id.index()];
        let (router, bypassed) = match (channel.spec.from, self.router.bypass) {
            (End::Node(_), _) => (Duration::ZERO, false),
            (End::Router(_), Some(bypass)) if sent.unhindered => {
                channel.bypassed += 1;
                (bypass, true)
            }
            (End::Router(_), _) => (self.router.queued, false),
        };
        (sent.start + router + channel.spec.propagation, bypassed)
    }
}
