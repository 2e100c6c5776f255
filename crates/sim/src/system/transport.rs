//! Transport of messages through the interconnect: the event loop carries out what each step of a message asks for.

use units::{ChannelId, NodeId, Time};

use super::{Controller, System};
use crate::kernel::{EnvelopeId, Event, Message};
use crate::wire::{Interconnect, Next, Parcel, Retry, Step, Waiting};

impl<C: Controller> System<C> {
    /// A message leaves the network interface of its sender.
    #[inline]
    pub fn enter_network(&mut self, node: NodeId, id: EnvelopeId) {
        let (delay, parcel) = (self.random_delay(), self.parcel(id));
        if !self.network.wires.announces_early() {
            self.kernel.begin_passage(id);
        }
        let passage = &mut self.kernel.envelopes.get_mut(id).passage;
        let step = self.network.wires.enter(node, parcel, passage, self.kernel.now, delay);
        self.carry_out(id, step);
    }

    /// The head of a message reaches the end of `channel` on its way.
    #[inline]
    pub(super) fn on_route(&mut self, channel: ChannelId, id: EnvelopeId) {
        let (delay, parcel) = (self.random_delay(), self.parcel(id));
        let passage = &mut self.kernel.envelopes.get_mut(id).passage;
        let step = self.network.wires.pass(channel, parcel, passage, self.kernel.now, delay);
        self.carry_out(id, step);
    }

    /// Credits have returned: sends the waiting messages that now fit.
    pub(super) fn on_credits(&mut self, channel: ChannelId, lane: u8) {
        let later = loop {
            match self.network.wires.take_ready(channel, lane, self.kernel.now) {
                Waiting::Later(retry) => break retry,
                Waiting::Ready(id) => {
                    let (id, now) = (EnvelopeId(id), Retry { channel, lane, at: self.kernel.now });
                    let parcel = self.parcel(id);
                    let step = self.network.wires.leave(now, parcel, &mut self.kernel.envelopes.get_mut(id).passage);
                    self.carry_out(id, step);
                }
            }
        };
        self.schedule_retry(later);
    }

    /// Frees the place that the message occupies at its destination, from `when` on.
    #[inline]
    pub fn release_buffer(&mut self, id: EnvelopeId, when: Time) {
        let envelope = self.kernel.envelopes.get_mut(id);
        let packets = self.network.packets(envelope.message.carries_line());
        let retry = self.network.wires.release(&mut envelope.passage, packets, when, self.kernel.now);
        self.schedule_retry(retry);
    }

    #[inline(always)]
    fn parcel(&self, id: EnvelopeId) -> Parcel {
        let envelope = self.kernel.envelopes.get(id);
        let (network, packets) = (envelope.message.network(), self.network.packets(envelope.message.carries_line()));
        Parcel { id: id.0, to: envelope.to, network, packets, extends_header: envelope.message.extends_header() }
    }

    // Always inlined, as the steps of the interconnect: their results then stay in registers, which is 1.5 % of all
    // instructions of a run with many messages.
    #[inline(always)]
    fn carry_out(&mut self, id: EnvelopeId, step: Step) {
        if step.retries {
            let retry = self.network.wires.take_retry();
            self.schedule_retry(retry);
        }
        match step.next {
            Next::Pass => self.schedule_channel(step.channel, step.at, Event::Route(step.channel, id)),
            Next::Deliver => {
                if !self.network.wires.announces_early() {
                    self.kernel.end_passage(id);
                }
                C::delivered(self, step.channel, id, step.at);
            }
            Next::Wait => {}
        }
    }

    #[inline(always)]
    fn schedule_retry(&mut self, retry: Option<Retry>) {
        if let Some(Retry { channel, lane, at }) = retry {
            self.schedule_channel(channel, at, Event::Credits(channel, lane));
        }
    }
}
