//! Transport of messages through a Hub: crossbar and network interface.

use engine::Grid;
use machine::VirtualNetwork;
use protocol::Agent;
use protocol::origin::{Message, MessageClass};
use units::{ChannelId, Duration, NodeId, Time};

use super::{HubEvent, Hubs};
use crate::kernel::{EnvelopeId, Event};
use crate::system::System;

/// The virtual network for messages of a class: forwarded requests share that of requests, revisions that of replies
/// (Prestor 2001, 3.1.3 and 3.2.3).
#[inline]
pub(super) const fn network(class: MessageClass) -> VirtualNetwork {
    match class {
        MessageClass::Request | MessageClass::Intervention => VirtualNetwork::Request,
        MessageClass::Reply | MessageClass::Revision => VirtualNetwork::Reply,
    }
}

impl System<Hubs> {
    /// Sends `message` from an interface of node `from` into the crossbar at `at`. An invalidation to all sharers is
    /// expanded first.
    #[inline]
    pub(super) fn dispatch(&mut self, from: NodeId, at: Time, message: Message) {
        let (to, at_home) = match message.to {
            Agent::Home(node) => (node, true),
            Agent::Processor(cpu) => (self.node_of(cpu), false),
            Agent::Interface(node) => (node, false),
            Agent::Sharers => {
                for invalidation in message.expand(self.controllers.geometry) {
                    self.dispatch(from, at, invalidation);
                }
                return;
            }
        };
        let envelope = self.envelop(message, to);
        let timing = &self.controllers.timing;
        let through = at + timing.crossbar;
        let (time, event) = if to != from {
            (through + timing.network_out, HubEvent::Inject(from, envelope))
        } else if at_home {
            (through, HubEvent::Home(envelope))
        } else {
            (at + timing.inwards(), HubEvent::Interface(envelope))
        };
        self.schedule(from, time, event);
    }

    /// A message is at the network interface on its way out.
    #[inline]
    pub(super) fn on_inject(&mut self, node: NodeId, id: EnvelopeId) {
        let Hubs { hubs, timing, .. } = &mut self.controllers;
        let start = hubs[node.index()].network.reserve(self.kernel.now, Grid::ANY, timing.network_message);
        if start == self.kernel.now {
            self.enter_network(node, id);
        } else {
            self.schedule(node, start, HubEvent::Depart(node, id));
        }
    }

    /// A message leaves the network. A line goes on before its end has arrived, delayed by just as much as the slower
    /// network needs to keep up with the bus.
    #[inline]
    pub(super) fn on_delivery(&mut self, channel: ChannelId, id: EnvelopeId, arrival: Time) {
        let timing = &self.controllers.timing;
        let envelope = self.kernel.envelopes.get(id);
        let lag =
            if envelope.message.kind.carries_data() { timing.lag(envelope.passage.spread) } else { Duration::ZERO };
        let mut inside = timing.clock.edge(arrival + lag) + timing.network_in + timing.crossbar;
        if !matches!(envelope.message.to, Agent::Home(_)) {
            inside += timing.interface_in;
        }
        self.schedule_channel(channel, inside, Event::Node(HubEvent::Arrive(id)));
    }

    /// A message from the network reaches its interface, unless the network interface is still occupied.
    #[inline]
    pub(super) fn on_arrive(&mut self, id: EnvelopeId) {
        let (message, to) = (self.kernel.envelopes.get(id).message, self.kernel.envelopes.get(id).to);
        let Hubs { hubs, timing, .. } = &mut self.controllers;
        let start = hubs[to.index()].network.reserve(self.kernel.now, timing.clock, timing.network_message);
        match (start == self.kernel.now, message.to) {
            (true, Agent::Home(_)) => self.on_home(id),
            (true, _) => self.on_interface(id),
            (false, Agent::Home(_)) => self.schedule(to, start, HubEvent::Home(id)),
            (false, _) => self.schedule(to, start, HubEvent::Interface(id)),
        }
    }
}
