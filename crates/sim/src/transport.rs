//! Messages on their way: from one interface of a node through crossbar, network interface and routers to another.

use protocol::{Agent, Message, MessageClass};
use units::{ChannelId, Duration, NodeId, Time};

use crate::event::{Envelope, EnvelopeId, Event};
use crate::network::{End, Queued, Sent, lane};
use crate::simulator::Simulator;

/// Packets of a message that carries a line: a header and 128 bytes (Prestor 2001, 4.1.3).
const DATA_PACKETS: u16 = 9;

/// Packets of a message.
#[inline]
const fn packets(message: &Message) -> u16 {
    if message.kind.carries_data() { DATA_PACKETS } else { 1 }
}

impl Simulator {
    /// Sends `message` out of an interface of node `from`, into whose crossbar it goes at `at`. A compact invalidation is
    /// expanded on the way.
    #[inline]
    pub(crate) fn dispatch(&mut self, from: NodeId, at: Time, message: Message) {
        let (to, at_home) = match message.to {
            Agent::Home(node) => (node, true),
            Agent::Processor(cpu) => (self.geometry.node_of(cpu), false),
            Agent::Interface(node) => (node, false),
            Agent::Sharers => {
                for invalidation in message.expand(self.geometry) {
                    self.dispatch(from, at, invalidation);
                }
                return;
            }
        };
        if message.kind.class() == MessageClass::Intervention {
            self.hubs[to.index()].threats += 1;
        }
        let envelope = self.envelopes.insert(Envelope { message, to, spread: Duration::ZERO, holds: None });
        let through = at + self.hub_timing.crossbar;
        let (time, event) = if to != from {
            (through + self.hub_timing.network_out, Event::Inject(from, envelope))
        } else if at_home {
            (through, Event::Home(envelope))
        } else {
            (through + self.hub_timing.interface_in, Event::Interface(envelope))
        };
        self.schedule(from, time, event);
    }

    /// A message is at the network interface on its way out.
    #[inline]
    pub(crate) fn on_inject(&mut self, node: NodeId, id: EnvelopeId) {
        let start = self.hubs[node.index()].network.reserve(self.now, Duration::ZERO, self.hub_timing.network_message);
        if start == self.now {
            self.on_depart(node, id);
        } else {
            self.schedule(node, start, Event::Depart(node, id));
        }
    }

    /// A message leaves the network interface.
    #[inline]
    pub(crate) fn on_depart(&mut self, node: NodeId, id: EnvelopeId) {
        let channel = self.network.injection(node);
        self.send(channel, id);
    }

    /// The head of a message is at a router, or came out of its queue.
    #[inline]
    pub(crate) fn on_route(&mut self, channel: ChannelId, id: EnvelopeId) {
        let envelope = self.envelopes.get_mut(id);
        let class = envelope.message.kind.class();
        envelope.holds = Some((channel, lane(class) as u8));
        let next = self.network.next(channel, envelope.to);
        self.send(next, id);
    }

    #[inline]
    fn send(&mut self, channel: ChannelId, id: EnvelopeId) {
        let message = &self.envelopes.get(id).message;
        let (lane, packets) = (lane(message.kind.class()), packets(message));
        match self.network.channel_mut(channel).send(id.0, lane, packets, self.now) {
            Ok(sent) => self.forward(channel, id, sent),
            Err(Queued { next_try: Some(time) }) => self.schedule_credits(channel, lane as u8, time),
            Err(Queued { next_try: None }) => {}
        }
    }

    /// Credits are back: sends what now fits.
    pub(crate) fn on_credits(&mut self, channel: ChannelId, lane: u8) {
        let index = usize::from(lane);
        if !self.network.channel_mut(channel).take_try(index, self.now) {
            return;
        }
        loop {
            let envelopes = &self.envelopes;
            let length = |id| packets(&envelopes.get(EnvelopeId(id)).message);
            let Some((id, sent)) = self.network.channel_mut(channel).send_waiting(index, self.now, length) else {
                break;
            };
            self.forward(channel, EnvelopeId(id), sent);
        }
        let waits = self.network.channel(channel).is_waiting(index);
        if let Some(time) = self.network.channel(channel).next_credits(index).filter(|_| waits) {
            self.schedule_credits(channel, lane, time);
        }
    }

    /// A message is on `channel`: it leaves the buffer it was in, and arrives.
    #[inline]
    fn forward(&mut self, channel: ChannelId, id: EnvelopeId, sent: Sent) {
        let arrival = self.network.arrival(channel, &sent);
        let envelope = self.envelopes.get_mut(id);
        envelope.spread = envelope.spread.max(sent.spread);
        let (held, packets) = (envelope.holds.take(), packets(&envelope.message));
        if let Some((before, lane)) = held {
            self.give_credits(before, lane, sent.start + sent.spread, packets);
        }
        match self.network.channel(channel).spec.to {
            End::Router(_) => self.schedule_network(channel, arrival, Event::Route(channel, id)),
            End::Node(_) => self.deliver(channel, id, arrival),
        }
    }

    /// A message comes out of the network. A line goes on before its end is in, as late as it must for the slower network
    /// not to fall behind.
    #[inline]
    fn deliver(&mut self, channel: ChannelId, id: EnvelopeId, arrival: Time) {
        let timing = &self.hub_timing;
        let envelope = self.envelopes.get_mut(id);
        envelope.holds = Some((channel, lane(envelope.message.kind.class()) as u8));
        let behind = Duration(envelope.spread.0.saturating_sub(timing.line.0));
        let lag = if envelope.message.kind.carries_data() { behind } else { Duration::ZERO };
        let mut inside = (arrival + lag).align_up(timing.cycle) + timing.network_in + timing.crossbar;
        if !matches!(envelope.message.to, Agent::Home(_)) {
            inside += timing.interface_in;
        }
        self.schedule_network(channel, inside, Event::Arrive(id));
    }

    /// A message from the network has come to the interface it is for, unless the network interface was held up.
    #[inline]
    pub(crate) fn on_arrive(&mut self, id: EnvelopeId) {
        let Envelope { message, to, .. } = *self.envelopes.get(id);
        let hub = &mut self.hubs[to.index()];
        let start = hub.network.reserve(self.now, self.hub_timing.cycle, self.hub_timing.network_message);
        match (start == self.now, message.to) {
            (true, Agent::Home(_)) => self.on_home(id),
            (true, _) => self.on_interface(id),
            (false, Agent::Home(_)) => self.schedule(to, start, Event::Home(id)),
            (false, _) => self.schedule(to, start, Event::Interface(id)),
        }
    }

    /// The message no longer occupies the network buffer that it held, from `when` on.
    #[inline]
    pub(crate) fn release_buffer(&mut self, id: EnvelopeId, when: Time) {
        if let Some((channel, lane)) = self.envelopes.get_mut(id).holds.take() {
            let packets = packets(&self.envelopes.get(id).message);
            self.give_credits(channel, lane, when, packets);
        }
    }

    #[inline]
    fn give_credits(&mut self, channel: ChannelId, lane: u8, when: Time, packets: u16) {
        if self.network.channel_mut(channel).give_credits(usize::from(lane), when, packets) {
            self.schedule_credits(channel, lane, when);
        }
    }

    fn schedule_credits(&mut self, channel: ChannelId, lane: u8, time: Time) {
        let time = time.max(self.now);
        if self.network.channel_mut(channel).plan_try(usize::from(lane), time) {
            self.schedule_network(channel, time, Event::Credits(channel, lane));
        }
    }
}
