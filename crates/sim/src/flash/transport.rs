//! Messages on their way through a node with MAGIC: outbox, network interface, inbox.

use machine::VirtualNetwork;
use protocol::msi::{Agent, Message, MessageKind};
use units::{ChannelId, Duration, LineAddr, NodeId, Time};

use super::account::Unhindered;
use super::event::MagicEvent;
use super::handler::Handler;
use super::magic::Design;
use super::{Magics, cpu_of};
use crate::system::{Blueprint, EnvelopeId, Event, System};

/// Packets of a message that carries a line: a header and 128 bytes, as in the Origin, whose network it is (FLASH
/// dissertation, Appendix A; Prestor 2001, 4.1.3).
const DATA_PACKETS: u16 = 9;

/// Packets of a message.
#[inline]
pub(super) const fn packets(message: &Message) -> u16 {
    if message.kind.carries_data() { DATA_PACKETS } else { 1 }
}

/// Whether a message may lead to an intervention or invalidation at the processor of the node that it is for: all that is for
/// its home may, since whatever the home does to its own node it does at once.
#[inline]
pub(super) const fn threatens(message: &Message) -> bool {
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

/// The node that a message is for.
#[inline]
pub(super) const fn destination(message: &Message) -> NodeId {
    match message.to {
        Agent::Home(node) | Agent::Node(node) => node,
    }
}

impl System<Magics> {
    /// A handler of `node` sends `message` at `at`: to another node, to its own processor, or to itself.
    pub(super) fn send_message(&mut self, node: NodeId, at: Time, message: Message, handler: Handler) {
        match message.to {
            Agent::Home(home) if home == node => self.handle_at_own_home(node, at, &message, handler),
            Agent::Node(other) if other == node => self.receive_from_own_home(node, at, message, handler),
            Agent::Home(other) | Agent::Node(other) => {
                self.controllers.nodes[node.index()].sent[message.kind as usize] += 1;
                if threatens(&message) {
                    self.controllers.nodes[other.index()].threats += 1;
                }
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

    /// What the processor of `node` asked for takes action elsewhere, from `at` on.
    fn note_departure(&mut self, node: NodeId, line: LineAddr, at: Time) {
        if let Some(miss) = self.processor_mut(cpu_of(node)).miss_on(line) {
            self.controllers.nodes[node.index()].account.leaves(miss, at);
        }
    }

    /// A message comes out of the network. A line goes on before its end is in, as late as it must for the slower network
    /// not to fall behind.
    #[inline]
    pub(super) fn on_delivery(&mut self, channel: ChannelId, id: EnvelopeId, arrival: Time) {
        let timing = &self.controllers.design.timing;
        let envelope = self.envelopes.get(id);
        let behind = Duration(envelope.spread.0.saturating_sub(timing.line.0));
        let lag = if envelope.message.kind.carries_data() { behind } else { Duration::ZERO };
        let inside = (arrival + lag).align_up(timing.cycle) + timing.network_in + timing.inbox;
        self.schedule_channel(channel, inside, Event::Node(MagicEvent::Handle(id)));
    }
}

/// What misses take when nothing else happens, for every requester and home.
pub(super) fn unhindered(design: &Design, blueprint: &Blueprint<'_>) -> Vec<Unhindered> {
    let (timing, handlers) = (&design.timing, &design.handlers);
    let cycles = |count: u32| timing.cycle * u64::from(count);
    let memory = timing.memory_data.max(cycles(Handler::Read.lead(handlers)));
    let to_inbox = timing.request_seen + timing.interface_in + timing.inbox;
    let to_processor = timing.outbox + timing.interface_out + timing.critical;
    let minimum = timing.processor + to_inbox + memory + to_processor;
    let interfaces = timing.outbox + timing.network_out + timing.network_in + timing.inbox;
    let (request, reply) = (cycles(Handler::Request.lead(handlers)), cycles(Handler::Reply.lead(handlers)));
    let network = blueprint.network;
    let nodes = || network.topology().nodes().iter().map(|node| node.id);
    let pair = |(requester, home)| {
        if requester == home {
            return Unhindered { minimum, point_to_point: Duration::ZERO, elsewhere: Duration::ZERO };
        }
        let there = network.unhindered(VirtualNetwork::Request, requester, home);
        let back = network.unhindered(VirtualNetwork::Reply, home, requester);
        let between = interfaces * 2 + there + back + reply;
        Unhindered {
            minimum,
            point_to_point: request + between,
            elsewhere: Duration(memory.0.saturating_sub(request.0)),
        }
    };
    nodes().flat_map(|requester| nodes().map(move |home| (requester, home))).map(pair).collect()
}
