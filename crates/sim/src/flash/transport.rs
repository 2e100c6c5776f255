//! Transport of messages through a node with MAGIC: outbox, network interface, inbox.

use protocol::msi::{Agent, Message, MessageKind};
use units::{ChannelId, Duration, LineAddr, NodeId, Time};

use super::event::MagicEvent;
use super::handler::Handler;
use super::{Magics, miss_on};
use crate::kernel::{EnvelopeId, Event};
use crate::system::System;

/// Whether a message may cause an intervention or invalidation at the processor of its destination node. Every message
/// to the home may, because the home's own node is served within the same run.
#[inline]
pub(super) const fn probes(message: &Message) -> bool {
    match message.to {
        Agent::Home(_) => true,
        Agent::Node(_) => matches!(
            message.kind,
            MessageKind::ForwardGet
                | MessageKind::ForwardGetExclusive
                | MessageKind::Invalidate
                | MessageKind::ClusterInvalidate
        ),
    }
}

/// Whether a message is the initial request of a miss.
#[inline]
pub(super) const fn is_request(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::Get | MessageKind::GetExclusive | MessageKind::Upgrade)
}

/// The destination node of a message.
#[inline]
pub const fn destination(message: &Message) -> NodeId {
    match message.to {
        Agent::Home(node) | Agent::Node(node) => node,
    }
}

impl System<Magics> {
    /// A handler of `node` sends `message` at `at`: to another node, to its own processor, or to its own home.
    pub(super) fn send_message(&mut self, node: NodeId, at: Time, message: Message, handler: Handler) {
        match message.to {
            Agent::Home(home) if home == node => self.handle_at_own_home(node, at, &message, handler),
            Agent::Node(other) if other == node => self.receive_from_own_home(node, at, message, handler),
            Agent::Home(other) | Agent::Node(other) => {
                self.controllers.nodes[node.index()].sent[message.kind as usize] += 1;
                if message.requester == node {
                    self.note_departure(node, message.line, at);
                }
                let id = self.envelop(message, other);
                let timing = &self.controllers.design.timing;
                let out = at + timing.outbox + timing.network_out;
                self.schedule(node, out, MagicEvent::Inject(node, id));
            }
        }
    }

    /// The miss of the local processor on `line` has taken action at another node.
    fn note_departure(&mut self, node: NodeId, line: LineAddr, at: Time) {
        if let Some(miss) = miss_on(self, node, line) {
            self.controllers.nodes[node.index()].account.leaves(miss, at);
        }
    }

    /// A message leaves the network. A line goes on before its end has arrived, delayed by just as much as the slower
    /// network needs to keep up with the bus.
    #[inline]
    pub(super) fn on_delivery(&mut self, channel: ChannelId, id: EnvelopeId, arrival: Time) {
        let timing = &self.controllers.design.timing;
        let envelope = self.kernel.envelopes.get(id);
        let behind = Duration(envelope.passage.spread.0.saturating_sub(timing.bus.line.0));
        let lag = if envelope.message.kind.carries_data() { behind } else { Duration::ZERO };
        let inside = timing.clock.edge(arrival + lag) + timing.network_in + timing.inbox;
        self.schedule_channel(channel, inside, Event::Node(MagicEvent::Handle(id)));
    }
}
