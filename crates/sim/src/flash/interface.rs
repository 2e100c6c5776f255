//! The processor interface: requests of a node's processor, and answers, interventions and invalidations for it.

use protocol::Access;
use protocol::msi::{self, AccessOutcome, CacheLine, Eviction, Message, NodeOutcome, Place};
use units::{CpuId, LineAddr, NodeId, Time};

use super::event::{InterfaceStep, MagicEvent};
use super::handler::Handler;
use super::remote_access_cache::Kept;
use super::transport::destination;
use super::{Magics, cpu_of, miss_on};
use crate::SimError;
use crate::kernel::{EnvelopeId, Event};
use crate::processor::{MissId, Post, PostKind};
use crate::system::System;

/// The protocol's access for a processor's access; `None` if the protocol has no message for it.
pub const fn wanted(access: Access) -> Option<msi::Access> {
    match access {
        Access::Load | Access::InstructionFetch | Access::ReadPrefetch => Some(msi::Access::Load),
        Access::Store | Access::WritePrefetch => Some(msi::Access::Store),
        Access::UncachedRead | Access::PoisonRead => None,
    }
}

impl System<Magics> {
    /// A processor posts a request or an eviction. The line's state changes now; the message is at the pins later.
    pub(super) fn on_post(&mut self, cpu: CpuId, post: &Post) {
        match post.kind {
            PostKind::Request(access) => self.on_miss(cpu, post, access),
            PostKind::Evict => self.on_evict(cpu, post),
        }
    }

    fn on_miss(&mut self, cpu: CpuId, post: &Post, access: Access) {
        let Some(wanted) = wanted(access) else {
            return match access {
                Access::UncachedRead => self.begin_operation(cpu, post),
                _ => self.fail(SimError::NoUncached { cpu }),
            };
        };
        let (node, line) = (self.node_of(cpu), post.line);
        let Some(miss) = miss_on(self, node, line) else { return };
        self.controllers.nodes[node.index()].account.begin(miss, post.measured);
        let mut sent = None;
        let outcome = self.with_line(node, line, |cache, context| {
            msi::access(cache, line, context, wanted, &mut |message| sent = Some(message))
        });
        match (outcome, sent) {
            (AccessOutcome::Requested, Some(message)) => self.put_on_pins(cpu, post.at, message),
            (AccessOutcome::RemoteAccessCacheHit, _) => {
                self.count_remote_access_cache(node, true);
                self.observe_grant(cpu, line);
                self.processor_mut(cpu).await_answer(miss, true);
                let asked = MagicEvent::Interface(cpu, InterfaceStep::Asked(miss));
                self.schedule_processor(cpu, post.at, Event::Node(asked));
            }
            (AccessOutcome::Hit | AccessOutcome::Blocked | AccessOutcome::Requested, _) => {
                debug_assert!(false, "{cpu:?} asked for {line:?}, which is not missing: {outcome:?}");
            }
        }
    }

    /// A line has left the processor's caches: it is dropped, announced by a hint, written back, or kept in the remote
    /// access cache.
    fn on_evict(&mut self, cpu: CpuId, post: &Post) {
        let (node, line) = (self.node_of(cpu), post.line);
        let mut cache = self.controllers.evicted(node, line, post.copy);
        let context = self.controllers.context(node, line);
        let mut sent = None;
        match msi::evict(&mut cache, line, &context, &mut |message| sent = Some(message)) {
            Ok(Eviction::Kept) => self.keep(cpu, post, cache),
            Ok(Eviction::Silent | Eviction::Hint | Eviction::Writeback) => {
                self.controllers.note(node, line, &cache);
                if let Some(message) = sent {
                    self.put_on_pins(cpu, post.at, message);
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// An evicted line stays in the remote access cache. The line that it displaces there is evicted from the node.
    fn keep(&mut self, cpu: CpuId, post: &Post, cache: CacheLine) {
        let (node, line) = (self.node_of(cpu), post.line);
        let dirty = cache.state == msi::Msi::Dirty;
        self.schedule_processor(cpu, post.at, Event::Node(MagicEvent::Interface(cpu, InterfaceStep::Evicted(dirty))));
        self.controllers.note(node, line, &cache);
        let Some(kept) = &mut self.controllers.nodes[node.index()].remote_access_cache else { return };
        let victim = kept.in_the_way_of(line);
        kept.put(Kept { line, state: cache.state, version: cache.version });
        if dirty {
            self.processor_mut(cpu).release_writeback(line);
        }
        let Some(Kept { line, state, version }) = victim else { return };
        let mut cache = CacheLine { state, version, place: Place::RemoteAccessCache, ..CacheLine::INVALID };
        let context = self.controllers.context(node, line);
        let mut sent = None;
        match msi::evict_from_node(&mut cache, line, &context, &mut |message| sent = Some(message)) {
            Ok(_) => {}
            Err(error) => return self.fail(error),
        }
        if let Some(message) = sent {
            let id = self.envelop(message, destination(&message));
            let step = InterfaceStep::Displaced(id);
            self.schedule_processor(cpu, post.at, Event::Node(MagicEvent::Interface(cpu, step)));
        }
    }

    /// A message of the processor will be at its pins at `at`.
    pub(super) fn put_on_pins(&mut self, cpu: CpuId, at: Time, message: Message) {
        let id = self.envelop(message, destination(&message));
        self.schedule_processor(cpu, at, Event::Node(MagicEvent::Request(cpu, id)));
    }

    /// A processor's message is at its pins, behind those that wait there already.
    pub(super) fn on_request(&mut self, cpu: CpuId, id: EnvelopeId) {
        let node = self.node_of(cpu);
        let message = self.kernel.envelopes.get(id).message;
        if message.kind.takes_collection_row() && !self.controllers.has_free_row(node, message.line) {
            let again = self.kernel.now + self.controllers.design.timing.retry;
            return self.schedule_processor(cpu, again, Event::Node(MagicEvent::Request(cpu, id)));
        }
        self.controllers.nodes[node.index()].at_pins.push_back(id);
        self.take_in(cpu);
    }

    /// Moves waiting messages from the pins to the inbox, over the bus and through the interface, while the inbox has
    /// room.
    fn take_in(&mut self, cpu: CpuId) {
        let node = self.node_of(cpu);
        let room = self.controllers.design.inbox_entries;
        while self.controllers.nodes[node.index()].in_inbox < room {
            let Some(id) = self.controllers.nodes[node.index()].at_pins.pop_front() else { return };
            self.take_in_one(cpu, node, id);
        }
    }

    fn take_in_one(&mut self, cpu: CpuId, node: NodeId, id: EnvelopeId) {
        let message = self.kernel.envelopes.get(id).message;
        let data = message.kind.carries_data();
        let through = self.take_bus(node, data);
        if data {
            self.processor_mut(cpu).release_writeback(message.line);
            self.wake_writeback(cpu, message.line);
        }
        self.put_into_inbox(node, through, id);
    }

    /// A request, with or without a line of data, takes the bus now. Returns when it has passed the inbox.
    pub(super) fn take_bus(&mut self, node: NodeId, data: bool) -> Time {
        let timing = &self.controllers.design.timing;
        let length = if data { timing.bus.request + timing.bus.data } else { timing.bus.request };
        let start = self.controllers.nodes[node.index()].bus.reserve(self.kernel.now, timing.bus.grid, length);
        start + timing.bus.request_seen + timing.interface_in + timing.inbox
    }

    /// The handler of a message of the processor starts at `start`, which frees its inbox entry.
    pub(super) fn leaves_inbox(&mut self, node: NodeId, start: Time) {
        let event = MagicEvent::Interface(cpu_of(node), InterfaceStep::Started);
        self.schedule(node, start, event);
    }

    /// An inbox entry is free again.
    pub(super) fn on_started(&mut self, cpu: CpuId) {
        let node = self.node_of(cpu);
        self.controllers.nodes[node.index()].in_inbox -= 1;
        self.take_in(cpu);
    }

    /// A message of this node passes the inbox at `at`, for the home here or for another node.
    pub(super) fn put_into_inbox(&mut self, node: NodeId, at: Time, id: EnvelopeId) {
        self.controllers.nodes[node.index()].in_inbox += 1;
        let here = self.kernel.envelopes.get(id).to == node;
        let event = if here { MagicEvent::Handle(id) } else { MagicEvent::Outgoing(node, id) };
        self.schedule(node, at, event);
    }

    /// A NACKed request is retried.
    pub(super) fn on_retry(&mut self, cpu: CpuId, miss: MissId) {
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        let node = self.node_of(cpu);
        let mut sent = None;
        let result = self.with_line(node, line, |cache, context| {
            msi::retry(cache, line, context, &mut |message| sent = Some(message))
        });
        match (result, sent) {
            (Ok(()), Some(message)) => {
                let id = self.envelop(message, destination(&message));
                self.put_into_inbox(node, self.kernel.now, id);
            }
            (Ok(()), None) => debug_assert!(false, "a retry sends a request"),
            (Err(error), _) => self.fail(error),
        }
    }

    /// An answer crosses the bus to the processor, with a line of data or without.
    pub(super) fn on_answer(&mut self, cpu: CpuId, miss: MissId, data: bool) {
        let (now, node) = (self.kernel.now, self.node_of(cpu));
        let Magics { design, nodes, .. } = &mut self.controllers;
        let crossing = design.timing.bus.answer(data);
        let start = nodes[node.index()].bus.reserve(now, design.timing.bus.grid, crossing.occupancy);
        self.cross_bus(cpu, miss, start, crossing);
    }

    /// An intervention takes the bus.
    pub(super) fn on_intervene(&mut self, id: EnvelopeId) {
        let node = self.kernel.envelopes.get(id).to;
        let timing = &self.controllers.design.timing;
        let start =
            self.controllers.nodes[node.index()].bus.reserve(self.kernel.now, timing.bus.grid, timing.bus.intervention);
        self.schedule(node, start + timing.bus.intervention_seen, MagicEvent::Snoop(id));
    }

    /// The processor probes its tags for the line of an intervention. A line that is still arriving is waited for.
    pub(super) fn on_snoop(&mut self, id: EnvelopeId) {
        let (message, node) = (self.kernel.envelopes.get(id).message, self.kernel.envelopes.get(id).to);
        if self.is_filling(node, message.line) {
            let again = self.kernel.now + self.controllers.design.timing.cycle;
            return self.schedule(node, again, MagicEvent::Snoop(id));
        }
        self.kernel.envelopes.remove(id);
        let now = self.kernel.now;
        self.processor_mut(cpu_of(node)).count_intervention(message.line);
        let checked = self.processor_mut(cpu_of(node)).snoop(message.line, now);
        let Some((outcome, answer, report)) = self.intervene_at_owner(node, &message) else { return };
        // Both messages wait in this node until their bus transfer and handler are over.
        let ids = (self.envelop(answer, node), self.envelop(report, node));
        let timing = &self.controllers.design.timing;
        if let NodeOutcome::Supplied(_) = outcome {
            let extra = timing.dirty_answer;
            let read = self.processor_mut(cpu_of(node)).read_out(checked) + extra;
            self.schedule(node, read, MagicEvent::Supply(ids.0, ids.1));
        } else {
            let through = checked + timing.snoop_answer + timing.interface_in + timing.inbox;
            self.schedule(node, through, MagicEvent::Supplied(ids.0, ids.1));
        }
    }

    /// Whether the line has been granted to the processor and is not whole yet.
    fn is_filling(&mut self, node: NodeId, line: LineAddr) -> bool {
        let processor = self.processor_mut(cpu_of(node));
        processor.miss_on(line).and_then(|miss| processor.miss(miss)).is_some_and(|miss| miss.is_granted())
    }

    /// An owner's modified line crosses the bus.
    pub(super) fn on_supply(&mut self, answer: EnvelopeId, report: EnvelopeId) {
        let node = self.kernel.envelopes.get(answer).to;
        let timing = &self.controllers.design.timing;
        let start = self.controllers.nodes[node.index()].bus.reserve(self.kernel.now, timing.bus.grid, timing.bus.data);
        let through = start + timing.bus.critical + timing.interface_in + timing.inbox;
        self.schedule(node, through, MagicEvent::Supplied(answer, report));
    }

    /// The owner's answer and report go out.
    pub(super) fn on_supplied(&mut self, answer: EnvelopeId, report: EnvelopeId) {
        let node = self.kernel.envelopes.get(answer).to;
        let (answer, report) =
            (self.kernel.envelopes.remove(answer).message, self.kernel.envelopes.remove(report).message);
        let handler = if answer.kind.carries_data() { Handler::Supply } else { Handler::SupplyRefused };
        let (now, delay) = (self.kernel.now, self.random_delay());
        let Magics { design, nodes, .. } = &mut self.controllers;
        let send = design.handlers.send_cycles;
        let run = nodes[node.index()].run(design, now, handler, 0, send, delay);
        let later = run.first + design.timing.cycle * u64::from(send);
        self.send_message(node, run.first, answer, handler);
        self.send_message(node, later, report, handler);
    }

    /// An invalidation takes the bus, and the processor's tags with it.
    pub(super) fn on_drop(&mut self, id: EnvelopeId) {
        let envelope = self.kernel.envelopes.remove(id);
        let (node, now) = (envelope.to, self.kernel.now);
        let timing = &self.controllers.design.timing;
        let start = self.controllers.nodes[node.index()].bus.reserve(now, timing.bus.grid, timing.bus.intervention);
        self.processor_mut(cpu_of(node)).snoop(envelope.message.line, start);
    }
}
