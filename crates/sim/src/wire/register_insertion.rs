//! SCI rings as an interconnect: the messages of controllers as packets of the link level ([`Ring`]), on one ring or on several
//! that switches join ([`Switches`]).
//!
//! Requests and replies are the two subactions, each with buffers of its own. A message waits in front of a full output
//! buffer. It is delivered when its last symbol is in the input buffer of its destination, which it occupies until its
//! release.
//!
//! The ring runs behind the rest of the machine, a few symbols at a time: up to the present when a packet is offered to it,
//! and otherwise only so often that it announces each delivery in time. A delivery follows from the first symbol of its packet
//! at the target ([`RingSpec::delivery_notice`]), so one event lets the ring run through all symbols of that time. Places in
//! input buffers that become free, and packets that wait for space in output buffers, need no event: the ring stops there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use machine::description::{Description, JoinedRings, PassTransmission as Described, SciRingSpec};
use machine::{Topology, VirtualNetwork};
use units::{ChannelId, Duration, NodeId, Time};

use crate::fault::Fault;
use crate::statistics::LinkStatistics;

use super::interconnect::{Interconnect, Next, Parcel, Passage, Retry, Step, Waiting};
use super::meter::{Instant, Meter, Metered};
use super::sci_ring::{
    BufferSizes, Format, Imbalance, LinkFault, Obstacle, Outcome, Packet, PacketSizes, PassTransmission, Ring,
    RingSpec, Subaction,
};
use super::switches::Switches;

/// Occasions before a planted fault strikes.
const SPARED: u32 = 10;

/// The channel whose events let the ring run.
const CLOCK: ChannelId = ChannelId(0);

/// The formats by their code in the lane of a passage.
const FORMATS: [Format; 3] = [Format::Command, Format::LongCommand, Format::Data];

/// The way from a node's controller into one of its output buffers.
#[derive(Clone, Debug, Default)]
struct Entrance {
    /// Packets that wait for space in the output buffer; those in a switch with the interface whose input buffer they are in.
    waiting: VecDeque<(Packet, Option<NodeId>)>,
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

/// Rings of nodes with one link interface each.
pub struct RegisterInsertion {
    topology: Topology,
    /// All rings, whose interfaces [`Switches`] numbers.
    ring: Ring,
    switches: Switches,
    /// By interface and subaction.
    entrances: Vec<Entrance>,
    /// By channel, the packets between nodes and their link interfaces.
    meters: Vec<Instant>,
    /// Deliveries that the event loop has not taken yet, and the one that it has taken last.
    deliveries: VecDeque<Delivery>,
    taken: Option<Delivery>,
    /// Places in input buffers that become free: time, node, and lane of the passage.
    releases: BinaryHeap<Reverse<(Time, NodeId, u8)>>,
    /// The time of the first of them.
    first_release: Time,
    /// Output buffers from which a packet has gone that has refused another.
    spaces: Vec<(NodeId, Subaction)>,
    /// From the first symbol of a packet at its target to the announcement of its delivery, at most: less than to its last one.
    notice: Duration,
    /// The time of the event for which the ring waits.
    wake: Time,
    /// The event to schedule.
    retry: Option<Retry>,
}

/// The rings that a description gives, with so many interfaces.
fn spec(description: &Description, ring: &SciRingSpec, interfaces: u32) -> RingSpec {
    let sizes = PacketSizes {
        command: ring.command_symbols,
        long_command: ring.long_command_symbols,
        data: ring.data_symbols,
        payload: (description.coherent_cache().line.0 as u32).div_ceil(SciRingSpec::SYMBOL_BYTES),
        echo: ring.echo_symbols,
    };
    RingSpec {
        nodes: interfaces,
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

/// The subaction and the format of a lane.
const fn contents(lane: u8) -> (Subaction, Format) {
    (Subaction::ALL[(lane & 1) as usize], FORMATS[(lane >> 1) as usize])
}

impl RegisterInsertion {
    /// The idle ring of `description`.
    ///
    /// # Panics
    /// The description has no SCI ring, or one that it refuses.
    pub fn new(description: &Description, topology: Topology) -> Self {
        let Some(described) = &description.sci_ring else { panic!("{} has no [sci_ring]", description.name) };
        let rings = JoinedRings::new(described, description.topology.nodes());
        let switches = Switches::new(rings, described.switch);
        let lengths = switches.lengths();
        let interfaces = lengths.iter().sum();
        let ring = match Ring::several(spec(description, described, interfaces), &lengths) {
            Ok(ring) => ring,
            Err(error) => panic!("{}: [sci_ring]: {error}", description.name),
        };
        // A delivery at the very time of its announcement would come behind other events of that time or before them, as the
        // ring happened to be run.
        let notice = ring.spec().delivery_notice() - ring.spec().symbol;
        let entrances = vec![Entrance::default(); 2 * interfaces as usize];
        let meters = vec![Instant::default(); topology.channels().count()];
        Self {
            topology,
            ring,
            switches,
            entrances,
            meters,
            deliveries: VecDeque::new(),
            taken: None,
            releases: BinaryHeap::new(),
            first_release: Time::MAX,
            spaces: Vec::new(),
            notice,
            wake: Time::MAX,
            retry: None,
        }
    }

    /// The counts of a node's link interface since the start.
    pub fn statistics(&self, node: NodeId) -> LinkStatistics {
        self.counted(self.switches.interface(node))
    }

    /// The counts of both interfaces of the switch behind a node since the start: on its ring, and on the ring of switches.
    pub fn switch_statistics(&self, node: NodeId) -> Option<[LinkStatistics; 2]> {
        Some(self.switches.behind(node)?.map(|interface| self.counted(interface)))
    }

    /// The counts of a link interface since the start.
    fn counted(&self, interface: NodeId) -> LinkStatistics {
        let counts = self.ring.counts(interface);
        let bytes = |symbols: u64| symbols * u64::from(SciRingSpec::SYMBOL_BYTES);
        let symbol = self.ring.spec().symbol;
        let waited = |obstacle: Obstacle| symbol * counts.waits[obstacle as usize];
        LinkStatistics {
            traffic: bytes(counts.traffic()),
            inserted: bytes(counts.inserted),
            payload: bytes(counts.payload),
            transmitted: counts.transmitted,
            retransmitted: counts.retransmitted,
            data_packets: counts.data_packets,
            acknowledged: counts.acknowledged,
            round_trips: symbol * counts.round_trips,
            for_active_buffer: waited(Obstacle::ActiveBuffer),
            for_own_packet: waited(Obstacle::OwnPacket),
            for_recovery: waited(Obstacle::Recovery),
            for_passing_packet: waited(Obstacle::PassingPacket),
            for_go_bit: waited(Obstacle::GoBit),
            unloaded: symbol * counts.static_trips,
            bypass_delay: symbol * counts.bypass_delay,
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

    fn entrance(&mut self, interface: NodeId, subaction: Subaction) -> &mut Entrance {
        &mut self.entrances[2 * interface.index() + subaction as usize]
    }

    /// A message comes to the output buffer of its subaction.
    #[inline]
    fn offer(&mut self, from: NodeId, parcel: &Parcel, now: Time) -> Step {
        self.run(now);
        let subaction = subaction(parcel.network);
        let (from, to) = self.switches.enter(from, parcel.to, parcel.id);
        self.put(Packet { from, to, subaction, format: format(parcel), tag: parcel.id }, None, now);
        self.plan();
        Step { at: now, channel: CLOCK, next: Next::Wait, retries: self.retry.is_some() }
    }

    /// Puts a packet into its output buffer at `now`, or in front of it. `place` is the interface of a switch whose input buffer it
    /// leaves then.
    #[inline]
    fn put(&mut self, packet: Packet, place: Option<NodeId>, now: Time) {
        let waits = !self.entrance(packet.from, packet.subaction).waiting.is_empty();
        if waits || self.ring.offer(packet, now).is_err() {
            self.entrance(packet.from, packet.subaction).waiting.push_back((packet, place));
        } else if let Some(interface) = place {
            self.free(interface, lane(&packet), now);
        }
    }

    /// Plans the next event of the ring, unless one is due before it: the latest time at which it announces in time whatever its
    /// next symbols deliver.
    #[inline]
    fn plan(&mut self) {
        let next = self.ring.next_event().unwrap_or(Time::MAX).min(self.switches.next());
        let latest = if next == Time::MAX { next } else { next + self.notice };
        if latest < self.wake {
            self.wake = latest;
            self.retry = Some(Retry { channel: CLOCK, lane: 0, at: latest });
        }
    }

    /// Runs the rings up to `now`, and takes what happened: of the symbols that begin at `now`, nothing has been sent.
    #[inline]
    fn run(&mut self, now: Time) {
        loop {
            let due = self.first_release.min(self.switches.next());
            let mut end = due.min(now);
            if self.switches.exist() {
                // Packets delivered to a switch on the way are not due on another ring before the end.
                end = end.min(self.ring.reached() + self.switches.soonest(self.notice));
            }
            self.run_to(end);
            if due <= end {
                self.take_due(due);
            } else if end == now {
                return;
            }
        }
    }

    /// Frees the place in an input buffer that is due, or takes the packet that is due to the other side of its switch.
    fn take_due(&mut self, due: Time) {
        if self.first_release == due {
            let Some(Reverse((_, interface, lane))) = self.releases.pop() else { return };
            self.free(interface, lane, due);
            self.first_release = self.releases.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        } else if let Some((place, from, to, lane, tag)) = self.switches.cross() {
            let (subaction, format) = contents(lane);
            self.put(Packet { from, to, subaction, format, tag }, Some(place), due);
        }
    }

    /// Runs the rings up to `now`. Packets that wait for space enter output buffers behind the slots in which others leave these.
    #[inline]
    fn run_to(&mut self, now: Time) {
        loop {
            let ended = self.ring.run_up_to(now);
            for outcome in self.ring.outcomes() {
                match outcome {
                    Outcome::Delivered { at, packet } => {
                        if !self.switches.takes(&packet, lane(&packet), at) {
                            self.deliveries.push_back(Delivery { packet, at });
                        }
                    }
                    Outcome::Space { node, subaction, .. } => self.spaces.push((node, subaction)),
                    Outcome::Acknowledged { .. } => {}
                }
            }
            while let Some((interface, subaction)) = self.spaces.pop() {
                self.refill(interface, subaction);
            }
            if ended {
                return;
            }
        }
    }

    /// An output buffer takes packets that wait for space.
    fn refill(&mut self, interface: NodeId, subaction: Subaction) {
        let at = self.ring.reached();
        while let Some(&(packet, place)) = self.entrance(interface, subaction).waiting.front()
            && self.ring.offer(packet, at).is_ok()
        {
            self.entrance(interface, subaction).waiting.pop_front();
            if let Some(place) = place {
                self.free(place, lane(&packet), at);
            }
        }
    }

    /// Frees the place of a packet in the input buffer of an interface.
    fn free(&mut self, interface: NodeId, lane: u8, now: Time) {
        let (subaction, format) = contents(lane);
        self.ring.release(&Packet { from: interface, to: interface, subaction, format, tag: 0 }, now);
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
        let entrance = self.entrance(self.switches.interface(from), subaction(parcel.network));
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
        self.entrance(self.switches.interface(from), subaction(parcel.network)).delayed -= 1;
        self.offer(from, &parcel, now)
    }

    fn take_ready(&mut self, _channel: ChannelId, _lane: u8, now: Time) -> Waiting {
        if self.wake <= now {
            self.wake = Time::MAX;
            self.run(now);
        }
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
        let exit = self.topology.ejection(parcel.to);
        self.meters[exit.index()].0.accept(parcel.packets);
        passage.holds = Some((exit, lane(&packet)));
        Step::deliver(exit, at)
    }

    fn take_retry(&mut self) -> Option<Retry> {
        self.retry.take()
    }

    fn release(&mut self, passage: &mut Passage, _packets: u16, when: Time, now: Time) -> Option<Retry> {
        let (channel, lane) = passage.holds.take()?;
        let interface = self.switches.interface(self.topology.entrance(channel));
        if when <= now {
            self.run(now);
            self.free(interface, lane, now);
        } else {
            self.releases.push(Reverse((when, interface, lane)));
            self.first_release = self.first_release.min(when);
        }
        None
    }

    /// Deliveries are announced as late as a symbol before they are complete.
    fn announces_early(&self) -> bool {
        false
    }

    fn soonest_delivery(&self) -> Option<Duration> {
        Some(self.ring.spec().soonest_trip())
    }

    fn unhindered(&self, _: VirtualNetwork, from: NodeId, to: NodeId, starts: &[Time]) -> Vec<Time> {
        let RingSpec { sizes, symbol, .. } = *self.ring.spec();
        let way = self.switches.way(from, to);
        let arrival = |&start: &Time| {
            let mut ready = start;
            let mut arrival = start;
            for &(from, to) in &way {
                arrival = ready.align_up(symbol) + self.ring.static_trip(from, to, sizes.of(Format::Command));
                ready = arrival + self.switches.delay();
            }
            arrival
        };
        starts.iter().map(arrival).collect()
    }

    fn stores(&self, from: NodeId, to: NodeId) -> u64 {
        self.switches.way(from, to).len() as u64 - 1
    }

    fn spread(&self, packets: u16) -> Duration {
        let RingSpec { sizes, symbol, .. } = self.ring.spec();
        if packets > 1 { *symbol * u64::from(sizes.data - sizes.command) } else { Duration::ZERO }
    }

    fn backlog_packets(&self, node: NodeId, network: VirtualNetwork, _now: Time) -> u64 {
        let subaction = subaction(network);
        let interface = self.switches.interface(node);
        let waiting = self.entrances[2 * interface.index() + subaction as usize].waiting.len();
        waiting as u64 + u64::from(self.ring.backlog(interface, subaction) / self.ring.spec().sizes.command)
    }

    fn metered(&self, channel: ChannelId) -> &dyn Metered {
        &self.meters[channel.index()]
    }

    fn meter_mut(&mut self, channel: ChannelId) -> &mut Meter {
        &mut self.meters[channel.index()].0
    }
}
