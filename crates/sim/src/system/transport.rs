//! Transport of messages through the network: from channel to channel, as credits allow.

use machine::VirtualNetwork;
use units::{ChannelId, NodeId, Time};

use super::network::{End, Queued, Sent};
use super::{Controller, EnvelopeId, Event, System};

/// The virtual channel of a virtual network. The two others are for input/output, which coherence does not use (Prestor
/// 2001, 3.1.3 and 3.2.3).
#[inline]
const fn lane(network: VirtualNetwork) -> usize {
    match network {
        VirtualNetwork::Request => 0,
        VirtualNetwork::Reply => 1,
    }
}

impl<C: Controller> System<C> {
    /// A message leaves the network interface of its sender.
    #[inline]
    pub fn enter_network(&mut self, node: NodeId, id: EnvelopeId) {
        let channel = self.network.injection(node);
        self.send(channel, id);
    }

    /// The head of a message reaches a router.
    #[inline]
    pub(super) fn on_route(&mut self, channel: ChannelId, id: EnvelopeId) {
        let envelope = self.envelopes.get_mut(id);
        let network = C::network(&envelope.message);
        envelope.holds = Some((channel, lane(network) as u8));
        envelope.reached = self.now;
        let next = self.network.next(channel, envelope.to, network);
        self.send(next, id);
    }

    #[inline]
    fn send(&mut self, channel: ChannelId, id: EnvelopeId) {
        let delay = self.random_delay();
        let message = &self.envelopes.get(id).message;
        let (lane, packets) = (lane(C::network(message)), self.network.packets(C::carries_line(message)));
        match self.network.channel_mut(channel).send(id.0, lane, packets, self.now, delay) {
            Ok(sent) => self.forward(channel, id, sent, false),
            Err(Queued { next_try }) => {
                self.note_queued(id, packets);
                if let Some(time) = next_try {
                    self.schedule_credits(channel, lane as u8, time);
                }
            }
        }
    }

    /// Credits have returned: sends the waiting messages that now fit.
    pub(super) fn on_credits(&mut self, channel: ChannelId, lane: u8) {
        let index = usize::from(lane);
        if !self.network.channel_mut(channel).take_try(index, self.now) {
            return;
        }
        loop {
            let (envelopes, sizes) = (&self.envelopes, self.network.sizes());
            let length = |id| sizes.of(C::carries_line(&envelopes.get(EnvelopeId(id)).message));
            let Some((id, sent)) = self.network.channel_mut(channel).send_waiting(index, self.now, length) else {
                break;
            };
            self.forward(channel, EnvelopeId(id), sent, true);
        }
        let waits = self.network.channel(channel).is_waiting(index);
        if let Some(time) = self.network.channel(channel).next_credits(index).filter(|_| waits) {
            self.schedule_credits(channel, lane, time);
        }
    }

    /// A message without credits enters the queue of the router that it is at.
    #[cold]
    fn note_queued(&mut self, id: EnvelopeId, packets: u16) {
        if let Some((before, lane)) = self.envelopes.get(id).holds
            && let Some(queue) = self.network.channel_mut(before).queue_mut(lane.into())
        {
            queue.enter(self.now, packets);
        }
    }

    /// A message leaves the router that it reached by channel `before`, at once or from the queue there.
    #[inline]
    fn note_leaving(&mut self, before: ChannelId, lane: u8, packets: u16, bypassed: bool, waited: bool, end: Time) {
        let now = self.now;
        let channel = self.network.channel_mut(before);
        channel.bypassed_packets += if bypassed { u64::from(packets) } else { 0 };
        if let Some(queue) = channel.queue_mut(lane.into()).filter(|_| !bypassed) {
            if !waited {
                queue.enter(now, packets);
            }
            queue.leave(end, packets);
        }
    }

    /// A message is on `channel`: it leaves the buffer that it occupied, where it may have `waited`, and arrives.
    #[inline]
    fn forward(&mut self, channel: ChannelId, id: EnvelopeId, sent: Sent, waited: bool) {
        let (arrival, bypassed) = self.network.arrival(channel, &sent);
        let envelope = self.envelopes.get_mut(id);
        envelope.spread = envelope.spread.max(sent.spread);
        let (held, packets) = (envelope.holds.take(), self.network.packets(C::carries_line(&envelope.message)));
        let lane = lane(C::network(&envelope.message));
        if let Some((before, lane)) = held {
            let envelope = self.envelopes.get_mut(id);
            envelope.waited += sent.start.since(envelope.reached);
            let age = envelope.waited;
            self.network.channel_mut(channel).count_ages(packets, age);
            self.note_leaving(before, lane, packets, bypassed, waited, sent.start + sent.spread);
            self.give_credits(before, lane, sent.start + sent.spread, packets);
        }
        match self.network.channel(channel).spec.to {
            End::Router(_) => self.schedule_channel(channel, arrival, Event::Route(channel, id)),
            End::Node(_) => {
                self.envelopes.get_mut(id).holds = Some((channel, lane as u8));
                C::delivered(self, channel, id, arrival);
            }
        }
    }

    /// Frees the network buffer that the message occupies, from `when` on.
    #[inline]
    pub fn release_buffer(&mut self, id: EnvelopeId, when: Time) {
        if let Some((channel, lane)) = self.envelopes.get_mut(id).holds.take() {
            let packets = self.network.packets(C::carries_line(&self.envelopes.get(id).message));
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
            self.schedule_channel(channel, time, Event::Credits(channel, lane));
        }
    }
}
