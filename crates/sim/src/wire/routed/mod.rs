//! The routed interconnect: channels with credits between network interfaces and routers, whatever the graph.

mod channel;

use std::rc::Rc;

use engine::Grid;
use machine::description::Description;
use machine::topology::{Endpoint, LinkClass};
use machine::{Topology, VirtualNetwork};
use units::{ChannelId, Duration, NodeId, Time};

use super::interconnect::{Interconnect, Next, Parcel, Passage, Retry, Step, Waiting};
use super::meter::{Meter, Metered};
use channel::{Channel, ChannelSpec, End, Queued, Sent};

/// All channels of a machine, and its routes.
pub struct Routed {
    topology: Topology,
    channels: Vec<Channel>,
    /// Classes of virtual channels of each virtual network ([`Topology::channel_classes`]).
    classes: u8,
    /// The try that the last step asked to schedule.
    retry: Option<Retry>,
    /// Whether a port keeps histograms.
    watched: bool,
}

impl Routed {
    /// The idle network of `description`, for a protocol of `networks` virtual networks.
    pub fn new(description: &Description, topology: Topology, networks: usize) -> Self {
        let (router, link) = (&description.router, &description.link);
        let cycle = router.clock.period();
        let queued = cycle * u64::from(router.bypass_cycles + router.queue_cycles);
        let bypass = description.bypasses_queues().then(|| cycle * u64::from(router.bypass_cycles));
        let end = |end: Endpoint| match end {
            Endpoint::Node(node) => End::Node(node),
            Endpoint::Router(router, _) => End::Router(router),
        };
        let classes = topology.channel_classes() as u8;
        let mut specs: Vec<Rc<ChannelSpec>> = Vec::new();
        let make = |channel: machine::Channel| {
            // Node and router have separate clocks: each message waits for a clock edge when it crosses.
            let crossing = channel.class == LinkClass::Node;
            let clock = if crossing { link.node_clock.period() * 4 } else { Duration::ZERO };
            let packet = if crossing { link.node_packet_time() } else { link.micropacket_time };
            let propagation = channel.delay + link.transceiver;
            let leaves_router = matches!(channel.from, Endpoint::Router(..));
            let spec = ChannelSpec {
                packets: Grid::new(packet),
                through_queue: propagation + if leaves_router { queued } else { Duration::ZERO },
                past_queue: bypass.filter(|_| leaves_router).map(|bypass| bypass + propagation),
                grid: Grid::new(clock),
                crossing: clock,
                buffer_packets: (router.buffer.0 / link.micropacket.0) as u16,
            };
            let spec = match specs.iter().find(|known| ***known == spec) {
                Some(known) => known.clone(),
                None => {
                    specs.push(Rc::new(spec));
                    specs[specs.len() - 1].clone()
                }
            };
            Channel::new(spec, end(channel.to), networks as u8 * classes)
        };
        let channels = topology.channels().map(make).collect();
        Self { topology, channels, classes, retry: None, watched: false }
    }

    #[inline]
    fn channel_mut(&mut self, id: ChannelId) -> &mut Channel {
        &mut self.channels[id.index()]
    }

    /// The virtual channel for a class of a virtual network. Two of SPIDER's four are for input/output, which coherence does
    /// not use (Prestor 2001, 3.1.3 and 3.2.3); a ring takes them for the classes of its routes.
    #[inline]
    const fn lane(&self, network: VirtualNetwork, class: u8) -> u8 {
        network as u8 * self.classes + class
    }

    /// A message takes virtual channel `lane` of `channel`, or waits for it. One function for messages that enter and for
    /// those that pass, with all that it calls: half of the events of a large machine end here.
    #[inline(never)]
    fn send(
        &mut self,
        (channel, lane): (ChannelId, u8),
        parcel: Parcel,
        passage: &mut Passage,
        now: Time,
        delay: Duration,
    ) -> Step {
        match self.channel_mut(channel).send(parcel.id, usize::from(lane), parcel.packets, now, delay) {
            Ok(sent) => self.forward((channel, lane), parcel, passage, &sent, false, now),
            Err(Queued { next_try }) => {
                self.note_queued(passage, parcel.packets, now);
                self.retry = next_try.and_then(|at| self.plan(channel, lane, at, now));
                Step { at: now, channel, next: Next::Wait, retries: self.retry.is_some() }
            }
        }
    }

    /// A message without credits enters the queue of the router that it is at.
    #[cold]
    fn note_queued(&mut self, passage: &Passage, packets: u16, now: Time) {
        if let Some((before, lane)) = passage.holds
            && let Some(queue) = self.channel_mut(before).meter.queue_mut(lane.into())
        {
            queue.enter(now, packets);
        }
    }

    /// A message is on `channel`: it leaves the buffer that it occupied, where it may have `waited`, and arrives.
    #[inline(always)]
    fn forward(
        &mut self,
        (channel, lane): (ChannelId, u8),
        parcel: Parcel,
        passage: &mut Passage,
        sent: &Sent,
        waited: bool,
        now: Time,
    ) -> Step {
        let Channel { spec, to, .. } = &self.channels[channel.index()];
        let (&ChannelSpec { through_queue, past_queue, .. }, to) = (&**spec, *to);
        let bypass = past_queue.filter(|_| sent.unhindered);
        let (packets, end) = (parcel.packets, sent.start + sent.spread);
        passage.spread = passage.spread.max(sent.spread);
        passage.lane = lane;
        let mut retries = false;
        if let Some((before, its_lane)) = passage.holds.take() {
            passage.waited += sent.start.since(passage.reached);
            if bypass.is_some() {
                self.channel_mut(before).meter.bypassed_packets += u64::from(packets);
            }
            if self.watched {
                self.channel_mut(channel).meter.count_ages(packets, passage.waited);
                self.note_passed((before, its_lane), packets, bypass.is_some(), waited, (now, end));
            }
            if let Some(retry) = self.give_credits(before, its_lane, end, packets, now) {
                (self.retry, retries) = (Some(retry), true);
            }
        }
        let next = match to {
            End::Router(_) => Next::Pass,
            End::Node(_) => {
                passage.holds = Some((channel, lane));
                Next::Deliver
            }
        };
        Step { at: sent.start + bypass.unwrap_or(through_queue), channel, next, retries }
    }

    /// A message leaves the far buffer of a channel at the second of the times, without its queue if it `bypassed` that. It
    /// has entered the queue before if it has `waited`, or else at the first of the times.
    #[cold]
    fn note_passed(
        &mut self,
        (channel, lane): (ChannelId, u8),
        packets: u16,
        bypassed: bool,
        waited: bool,
        (now, end): (Time, Time),
    ) {
        let queue = self.channel_mut(channel).meter.queue_mut(lane.into());
        if let Some(queue) = queue.filter(|_| !bypassed) {
            if !waited {
                queue.enter(now, packets);
            }
            queue.leave(end, packets);
        }
    }

    #[inline]
    fn give_credits(&mut self, channel: ChannelId, lane: u8, when: Time, packets: u16, now: Time) -> Option<Retry> {
        let waits = self.channel_mut(channel).give_credits(usize::from(lane), when, packets);
        if waits { self.plan(channel, lane, when, now) } else { None }
    }

    /// Plans a try of those that wait, if no earlier one is planned.
    fn plan(&mut self, channel: ChannelId, lane: u8, at: Time, now: Time) -> Option<Retry> {
        let at = at.max(now);
        let is_sooner = self.channel_mut(channel).plan_try(usize::from(lane), at);
        is_sooner.then_some(Retry { channel, lane, at })
    }
}

impl Interconnect for Routed {
    #[inline]
    fn topology(&self) -> &Topology {
        &self.topology
    }

    #[inline(always)]
    fn enter(&mut self, from: NodeId, parcel: Parcel, passage: &mut Passage, now: Time, delay: Duration) -> Step {
        let (channel, lane) = (self.topology.injection(from), self.lane(parcel.network, 0));
        self.send((channel, lane), parcel, passage, now, delay)
    }

    #[inline(always)]
    fn pass(&mut self, channel: ChannelId, parcel: Parcel, passage: &mut Passage, now: Time, delay: Duration) -> Step {
        passage.holds = Some((channel, passage.lane));
        passage.reached = now;
        let End::Router(router) = self.channels[channel.index()].to else {
            unreachable!("a message that reaches a node is delivered")
        };
        let routes = self.topology.routes(parcel.network);
        let (next, class) = (routes.exit(router, parcel.to), routes.class(router, parcel.to));
        let lane = self.lane(parcel.network, class);
        self.send((next, lane), parcel, passage, now, delay)
    }

    fn take_ready(&mut self, channel: ChannelId, lane: u8, now: Time) -> Waiting {
        let its = self.channel_mut(channel);
        if !its.is_due(usize::from(lane), now) {
            return Waiting::Later(None);
        }
        if let Some(id) = its.take_ready(usize::from(lane), now) {
            return Waiting::Ready(id);
        }
        let time = its.next_credits(usize::from(lane)).filter(|_| its.is_waiting(usize::from(lane)));
        Waiting::Later(time.and_then(|time| self.plan(channel, lane, time, now)))
    }

    fn leave(&mut self, Retry { channel, lane, at: now }: Retry, parcel: Parcel, passage: &mut Passage) -> Step {
        let sent = self.channel_mut(channel).send_ready(usize::from(lane), parcel.packets, now);
        self.forward((channel, lane), parcel, passage, &sent, true, now)
    }

    #[inline]
    fn take_retry(&mut self) -> Option<Retry> {
        self.retry.take()
    }

    #[inline]
    fn release(&mut self, passage: &mut Passage, packets: u16, when: Time, now: Time) -> Option<Retry> {
        let (channel, lane) = passage.holds.take()?;
        self.give_credits(channel, lane, when, packets, now)
    }

    fn soonest_delivery(&self) -> Option<Duration> {
        let last = self.channels.iter().filter(|channel| matches!(channel.to, End::Node(_)));
        last.map(|Channel { spec, .. }| spec.past_queue.unwrap_or(spec.through_queue)).min()
    }

    fn unhindered(&self, network: VirtualNetwork, from: NodeId, to: NodeId, starts: &[Time]) -> Vec<Time> {
        let path = self.topology.path(network, from, to);
        let spec = |channel: ChannelId| &self.channels[channel.index()].spec;
        let injection = spec(self.topology.injection(from));
        let crosses = |channel: &ChannelSpec, at: Time| {
            channel.first_start(at) + channel.past_queue.unwrap_or(channel.through_queue)
        };
        let arrival = |start: &Time| {
            let at_router = crosses(injection, *start);
            path.iter().fold(at_router, |at, step| crosses(spec(step.channel), at))
        };
        starts.iter().map(arrival).collect()
    }

    fn spread(&self, packets: u16) -> Duration {
        let packet = self.channels.iter().map(|channel| channel.spec.packets.period()).max().unwrap_or(Duration::ZERO);
        packet * u64::from(packets)
    }

    #[inline]
    fn backlog_packets(&self, node: NodeId, network: VirtualNetwork, now: Time) -> u64 {
        let channel = &self.channels[self.topology.injection(node).index()];
        channel.backlog_packets(usize::from(self.lane(network, 0)), now)
    }

    fn metered(&self, channel: ChannelId) -> &dyn Metered {
        &self.channels[channel.index()]
    }

    fn meter_mut(&mut self, channel: ChannelId) -> &mut Meter {
        self.watched = true;
        &mut self.channel_mut(channel).meter
    }
}
