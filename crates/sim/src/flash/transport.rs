//! Transport of messages through a node with MAGIC: outbox, network interface, inbox.

use machine::VirtualNetwork;
use machine::description::HandlerSpec;
use protocol::msi::{Agent, Message, MessageKind};
use units::{ChannelId, Duration, LineAddr, NodeId, Time};

use super::account::Unhindered;
use super::event::MagicEvent;
use super::handler::Handler;
use super::timing::{MagicDescription, MagicTiming};
use super::{Magics, cpu_of};
use crate::kernel::{EnvelopeId, Event};
use crate::processor::ProcessorTiming;
use crate::system::{Blueprint, System};

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
        if let Some(miss) = self.processor_mut(cpu_of(node)).miss_on(line) {
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
        let inside = (arrival + lag).align_up(timing.cycle) + timing.network_in + timing.inbox;
        self.schedule_channel(channel, inside, Event::Node(MagicEvent::Handle(id)));
    }
}

/// Uncontended times of misses, by requester and home.
pub fn unhindered(timing: &MagicTiming, parts: &MagicDescription<'_>, blueprint: &Blueprint<'_>) -> Vec<Unhindered> {
    let handlers = parts.handlers;
    let cycles = |count: u32| timing.cycle * u64::from(count);
    let service = service(timing, handlers, parts);
    let to_inbox = timing.bus.request_seen + timing.interface_in + timing.inbox;
    let between_buses = to_inbox + service + timing.outbox + timing.interface_out;
    let processor = ProcessorTiming::new(blueprint.description, timing.release, Duration::ZERO);
    let turnaround = processor.turnaround(timing.bus.critical, timing.bus.line).max(timing.bus.data);
    let minimum = turnaround.align_up(timing.bus.grid) + between_buses.align_up(timing.bus.grid);
    let interfaces = timing.outbox + timing.network_out + timing.network_in + timing.inbox;
    let handlers = cycles(Handler::Request.lead(handlers) + Handler::Reply.lead(handlers));
    let network = blueprint.network;
    let nodes = || network.topology().nodes().iter().map(|node| node.id);
    let pair = |(requester, home)| {
        let way = |by, from, to| network.mean_way(by, from, to, timing.cycle) + interfaces;
        let ways = || way(VirtualNetwork::Request, requester, home) + way(VirtualNetwork::Reply, home, requester);
        // The answer crosses to the processor at a bus clock edge.
        let there_and_back = || timing.bus.grid * ((handlers + ways() + timing.bus.grid / 2).0 / timing.bus.grid.0);
        let point_to_point = if requester == home { Duration::ZERO } else { there_and_back() };
        Unhindered { minimum, service, between_buses, point_to_point }
    };
    nodes().flat_map(|requester| nodes().map(move |home| (requester, home))).map(pair).collect()
}

/// From the inbox to the answer of a read from memory, in whole cycles, as the mean over consecutive lines: of those
/// whose headers share a data cache line, the first waits for it.
fn service(timing: &MagicTiming, handlers: &HandlerSpec, parts: &MagicDescription<'_>) -> Duration {
    let lead = timing.cycle * u64::from(Handler::Read.lead(handlers));
    let fetch = timing.cycle * u64::from(timing.data_miss_cycles);
    let headers = (parts.magic.data_cache_line.0 / parts.directory.header.0).max(1);
    let (first, other) = (timing.memory_data.max(lead + fetch), timing.memory_data.max(lead));
    let all = first + other * (headers - 1);
    timing.cycle * ((all + timing.cycle * headers / 2).0 / (timing.cycle * headers).0)
}
