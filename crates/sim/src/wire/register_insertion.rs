//! An SCI ring as an interconnect: the messages of controllers as packets of the link level ([`Ring`]).
//!
//! Requests and replies are the two subactions, each with buffers of its own. A message waits in front of a full output
//! buffer. It is delivered when its last symbol is in the input buffer of its destination, which it occupies until its
//! release. The ring runs by one event at a time: the earliest at which anything happens in it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use machine::description::{Description, PassTransmission as Described, SciRingSpec};
use machine::{Topology, VirtualNetwork};
use units::{ChannelId, Duration, NodeId, Time};

use crate::fault::Fault;
use crate::statistics::LinkStatistics;

use super::interconnect::{Interconnect, Next, Parcel, Passage, Retry, Step, Waiting};
use super::meter::{Instant, Meter, Metered};
use super::sci_ring::{
    BufferSizes, Format, Imbalance, LinkFault, Outcome, Packet, PacketSizes, PassTransmission, Ring, RingSpec,
    Subaction,
};

/// Occasions before a planted fault strikes.
const SPARED: u32 = 10;

/// The channel whose events let the ring run.
const CLOCK: ChannelId = ChannelId(0);

/// The formats by their code in the lane of a passage.
const FORMATS: [Format; 3] = [Format::Command, Format::LongCommand, Format::Data];

/// The way from a node's controller into one of its output buffers.
#[derive(Clone, Debug, Default)]
struct Entrance {
    /// Packets that wait for space in the output buffer.
    waiting: VecDeque<Packet>,
    /// Messages that are still delayed, and the time at which the last of them comes.
    delayed: u32,
    latest: Time,
}

/// A packet that will be in the input buffer of its destination.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    packet: Packet,
    at: Time,
}

/// A ring of nodes with one link interface each.
pub struct RegisterInsertion {
    topology: Topology,
    ring: Ring,
    /// By node and subaction.
    entrances: Vec<Entrance>,
    /// By channel, the packets between nodes and their link interfaces.
    meters: Vec<Instant>,
    /// Deliveries that the event loop has not taken yet, and the one that it has taken last.
    deliveries: VecDeque<Delivery>,
    taken: Option<Delivery>,
    /// Places in input buffers that become free: time, node, and lane of the passage.
    releases: BinaryHeap<Reverse<(Time, NodeId, u8)>>,
    /// Output buffers from which a packet has gone that has refused another.
    spaces: Vec<(NodeId, Subaction)>,
    /// The time of the event for which the ring waits.
    wake: Time,
    /// The event to schedule.
    retry: Option<Retry>,
}

/// The ring that a description gives.
fn spec(description: &Description, ring: &SciRingSpec) -> RingSpec {
    let sizes = PacketSizes {
        command: ring.command_symbols,
        long_command: ring.long_command_symbols,
        data: ring.data_symbols,
        payload: (description.coherent_cache().line.0 as u32).div_ceil(SciRingSpec::SYMBOL_BYTES),
        echo: ring.echo_symbols,
    };
    RingSpec {
        nodes: description.topology.nodes(),
        symbol: ring.symbol,
        wire: ring.wire,
        stripper: ring.stripper,
        sizes,
        buffers: BufferSizes::packets(&sizes, ring.output_packets, ring.input_packets),
        transmission: match ring.transmission {
            Described::One => PassTransmission::One,
            Described::OneOfEach => PassTransmission::OneOfEach,
            Described::Several => PassTransmission::Several(ring.active_buffers),
        },
    }
}

/// The subaction that carries the messages of a virtual network.
const fn subaction(network: VirtualNetwork) -> Subaction {
    match network {
        VirtualNetwork::Request => Subaction::Request,
        VirtualNetwork::Reply => Subaction::Response,
    }
}

/// The format of a message.
const fn format(parcel: &Parcel) -> Format {
    match (parcel.packets, parcel.extends_header) {
        (1, false) => Format::Command,
        (1, true) => Format::LongCommand,
        _ => Format::Data,
    }
}

/// The input buffer that a packet takes, as the lane of its passage: subaction and format.
const fn lane(packet: &Packet) -> u8 {
    packet.subaction as u8 | (packet.format as u8) << 1
}

impl RegisterInsertion {
    /// The idle ring of `description`.
    ///
    /// # Panics
    /// The description has no SCI ring, or one that it refuses.
    pub fn new(description: &Description, topology: Topology) -> Self {
        let Some(described) = &description.sci_ring else { panic!("{} has no [sci_ring]", description.name) };
        let ring = match Ring::new(spec(description, described)) {
            Ok(ring) => ring,
            Err(error) => panic!("{}: [sci_ring]: {error}", description.name),
        };
        let entrances = vec![Entrance::default(); 2 * topology.nodes().len()];
        let meters = vec![Instant::default(); topology.channels().count()];
        Self {
            topology,
            ring,
            entrances,
            meters,
            deliveries: VecDeque::new(),
            taken: None,
            releases: BinaryHeap::new(),
            spaces: Vec::new(),
            wake: Time::MAX,
            retry: None,
        }
    }

    /// The counts of a node's link interface since the start.
    pub fn statistics(&self, node: NodeId) -> LinkStatistics {
        let counts = &self.ring.statistics().nodes[node.index()];
        let bytes = |symbols: u64| symbols * u64::from(SciRingSpec::SYMBOL_BYTES);
        let symbol = self.ring.spec().symbol;
        LinkStatistics {
            traffic: bytes(counts.traffic()),
            inserted: bytes(counts.inserted),
            payload: bytes(counts.payload),
            transmitted: counts.transmitted,
            retransmitted: counts.retransmitted,
            data_packets: counts.data_packets,
            acknowledged: counts.acknowledged,
            round_trips: symbol * counts.round_trips,
            bypass_busy: symbol * counts.bypass_in_use,
        }
    }

    /// Plants a fault of the link level, if `fault` is one.
    pub fn plant(&mut self, fault: Fault) {
        match fault {
            Fault::LostEcho => self.ring.plant(LinkFault::LostEcho, SPARED),
            Fault::DroppedPacket => self.ring.plant(LinkFault::DroppedInBypass, SPARED),
            _ => {}
        }
    }

    /// Checks that no packet has been lost or invented.
    ///
    /// # Errors
    /// The first part of the ring whose account does not balance.
    pub fn audit(&self) -> Result<(), Imbalance> {
        self.ring.audit()
    }

    fn entrance(&mut self, node: NodeId, subaction: Subaction) -> &mut Entrance {
        &mut self.entrances[2 * node.index() + subaction as usize]
    }

    /// A message comes to the output buffer of its subaction.
    #[inline]
    fn offer(&mut self, from: NodeId, parcel: &Parcel, now: Time) -> Step {
        let subaction = subaction(parcel.network);
        let packet = Packet { from, to: parcel.to, subaction, format: format(parcel), tag: parcel.id };
        let waits = !self.entrance(from, subaction).waiting.is_empty();
        if waits || self.ring.offer(packet, now).is_err() {
            self.entrance(from, subaction).waiting.push_back(packet);
        }
        self.plan();
        Step { at: now, channel: CLOCK, next: Next::Wait, retries: self.retry.is_some() }
    }

    /// Plans the next event of the ring, unless one is due before it.
    #[inline]
    fn plan(&mut self) {
        let next = self.ring.next_event().unwrap_or(Time::MAX);
        if next < self.wake {
            self.wake = next;
            self.retry = Some(Retry { channel: CLOCK, lane: 0, at: next });
        }
    }

    /// Runs the ring through `now` if its event is due, and takes what happened.
    fn run(&mut self, now: Time) {
        while let Some(&Reverse((at, node, lane))) = self.releases.peek()
            && at <= now
        {
            self.releases.pop();
            self.free(node, lane, now);
        }
        if self.wake > now {
            return;
        }
        self.wake = Time::MAX;
        self.ring.run_through(now);
        for outcome in self.ring.outcomes() {
            match outcome {
                Outcome::Delivered { at, packet } => self.deliveries.push_back(Delivery { packet, at }),
                Outcome::Space { node, subaction, .. } => self.spaces.push((node, subaction)),
                Outcome::Acknowledged { .. } => {}
            }
        }
        while let Some((node, subaction)) = self.spaces.pop() {
            self.refill(node, subaction, now);
        }
    }

    /// An output buffer takes packets that wait for space.
    fn refill(&mut self, node: NodeId, subaction: Subaction, now: Time) {
        while let Some(&packet) = self.entrance(node, subaction).waiting.front()
            && self.ring.offer(packet, now).is_ok()
        {
            self.entrance(node, subaction).waiting.pop_front();
        }
    }

    /// Frees the place of a packet in an input buffer of `node`.
    fn free(&mut self, node: NodeId, lane: u8, now: Time) {
        let subaction = Subaction::ALL[usize::from(lane & 1)];
        let format = FORMATS[usize::from(lane >> 1)];
        self.ring.release(&Packet { from: node, to: node, subaction, format, tag: 0 }, now);
    }
}

impl Interconnect for RegisterInsertion {
    #[inline]
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn enter(&mut self, from: NodeId, parcel: Parcel, _: &mut Passage, now: Time, delay: Duration) -> Step {
        let channel = self.topology.injection(from);
        self.meters[channel.index()].0.accept(parcel.packets);
        let entrance = self.entrance(from, subaction(parcel.network));
        entrance.latest = (now + delay).max(entrance.latest);
        if entrance.latest == now && entrance.delayed == 0 {
            return self.offer(from, &parcel, now);
        }
        entrance.delayed += 1;
        Step { at: entrance.latest, channel, next: Next::Pass, retries: false }
    }

    /// A delayed message comes to the output buffer.
    fn pass(&mut self, channel: ChannelId, parcel: Parcel, _: &mut Passage, now: Time, _: Duration) -> Step {
        let from = self.topology.entrance(channel);
        self.entrance(from, subaction(parcel.network)).delayed -= 1;
        self.offer(from, &parcel, now)
    }

    fn take_ready(&mut self, _channel: ChannelId, _lane: u8, now: Time) -> Waiting {
        self.run(now);
        match self.deliveries.pop_front() {
            Some(delivery) => {
                self.taken = Some(delivery);
                Waiting::Ready(delivery.packet.tag)
            }
            None => {
                self.plan();
                Waiting::Later(self.retry.take())
            }
        }
    }

    /// The packet of a message begins to arrive.
    fn leave(&mut self, retry: Retry, parcel: Parcel, passage: &mut Passage) -> Step {
        let Some(Delivery { packet, at }) = self.taken.take() else {
            return Step { at: retry.at, channel: retry.channel, next: Next::Wait, retries: false };
        };
        let exit = self.topology.ejection(packet.to);
        self.meters[exit.index()].0.accept(parcel.packets);
        passage.holds = Some((exit, lane(&packet)));
        Step::deliver(exit, at)
    }

    fn take_retry(&mut self) -> Option<Retry> {
        self.retry.take()
    }

    fn release(&mut self, passage: &mut Passage, _packets: u16, when: Time, now: Time) -> Option<Retry> {
        let (channel, lane) = passage.holds.take()?;
        let node = self.topology.entrance(channel);
        if when <= now {
            self.free(node, lane, now);
            return None;
        }
        self.releases.push(Reverse((when, node, lane)));
        Some(Retry { channel: CLOCK, lane: 0, at: when })
    }

    fn soonest_delivery(&self) -> Option<Duration> {
        Some(self.ring.spec().delivery_notice())
    }

    fn unhindered(&self, _: VirtualNetwork, from: NodeId, to: NodeId, starts: &[Time]) -> Vec<Time> {
        let spec = self.ring.spec();
        let trip = spec.static_trip(from, to, spec.sizes.of(Format::Command));
        starts.iter().map(|start| start.align_up(spec.symbol) + trip).collect()
    }

    fn spread(&self, packets: u16) -> Duration {
        let RingSpec { sizes, symbol, .. } = self.ring.spec();
        if packets > 1 { *symbol * u64::from(sizes.data - sizes.command) } else { Duration::ZERO }
    }

    fn backlog_packets(&self, node: NodeId, network: VirtualNetwork, _now: Time) -> u64 {
        let subaction = subaction(network);
        let waiting = self.entrances[2 * node.index() + subaction as usize].waiting.len();
        waiting as u64 + u64::from(self.ring.backlog(node, subaction) / self.ring.spec().sizes.command)
    }

    fn metered(&self, channel: ChannelId) -> &dyn Metered {
        &self.meters[channel.index()]
    }

    fn meter_mut(&mut self, channel: ChannelId) -> &mut Meter {
        &mut self.meters[channel.index()].0
    }
}
