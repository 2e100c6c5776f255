//! The cache side of a node: answers, interventions and invalidations for its processor, and messages on its behalf.

use protocol::CopyState;
use protocol::msi::{self, Agent, CacheLine, Collection, Message, MessageKind, Msi, NodeContext, NodeOutcome, Place};
use units::{CpuId, LineAddr, NodeId, Time};

use super::event::{InterfaceStep, MagicEvent};
use super::handler::{Handler, of_node};
use super::planted::Spoiled;
use super::remote_access_cache::Kept;
use super::transport::is_request;
use super::{Magics, cpu_of, miss_on};
use crate::kernel::EnvelopeId;
use crate::observe::ContentsEvent;
use crate::part::CachedCopy;
use crate::processor::MissId;
use crate::system::System;

/// Whether an invalidation goes on to the processor. MAGIC tracks the contents of the remote access cache but not those
/// of the processor's caches, so the processor probes its tags even for a line that the node no longer has.
const fn goes_on_to_processor(outcome: NodeOutcome) -> bool {
    match outcome {
        NodeOutcome::Invalidated(place) | NodeOutcome::Relayed { place, .. } => {
            !matches!(place, Some(Place::RemoteAccessCache))
        }
        _ => false,
    }
}

impl Magics {
    /// The protocol's state of a line that has just left the processor's caches.
    pub(super) fn evicted(&self, node: NodeId, line: LineAddr, copy: CachedCopy) -> CacheLine {
        let outstanding = &self.nodes[node.index()].outstanding;
        let pending = outstanding.iter().find(|(other, _)| *other == line).map_or(CacheLine::INVALID, |found| found.1);
        CacheLine { state: copy.state.into(), version: copy.version, place: Place::Cache, ..pending }
    }

    /// Stores the pending state of a line, or removes it once nothing is pending.
    #[inline]
    pub(super) fn note(&mut self, node: NodeId, line: LineAddr, cache: &CacheLine) {
        let outstanding = &mut self.nodes[node.index()].outstanding;
        let place = outstanding.iter().position(|(other, _)| *other == line);
        match (place, cache.is_quiet()) {
            (Some(place), true) => drop(outstanding.swap_remove(place)),
            (Some(place), false) => outstanding[place].1 = *cache,
            (None, true) => {}
            (None, false) => outstanding.push((line, *cache)),
        }
    }

    /// Whether the invalidation collection table of `node` has a row for an ownership request on `line` (`/IR`). Local
    /// lines take no row: their home collects the acknowledgements.
    pub(super) fn has_free_row(&self, node: NodeId, line: LineAddr) -> bool {
        if !self.relaxes_order || self.lines.home(line) == node {
            return true;
        }
        let taken = |(other, cache): &&(LineAddr, CacheLine)| {
            *other != line && cache.has_collection_row() && self.lines.home(*other) != node
        };
        self.nodes[node.index()].outstanding.iter().filter(taken).count() < self.collection_rows
    }

    /// Cycles that the handler of `message` searches the invalidation collection table for its line (`/IR`), row by
    /// row, to enter announced acknowledgements or to count one. The absence of a row is certain only after the last
    /// row; the first acknowledgement usually finds none, because acknowledgements are assumed to come before the
    /// answer that announces them.
    fn row_search(&self, node: NodeId, message: &Message) -> u32 {
        let entered = message.acknowledgements > 0;
        if !self.relaxes_order || !(entered || message.kind == MessageKind::InvalidateAcknowledge) {
            return 0;
        }
        let outstanding = &self.nodes[node.index()].outstanding;
        // The acknowledgements of a clustered invalidation are not counted in the table.
        if outstanding.iter().any(|(line, cache)| *line == message.line && cache.relay.is_some()) {
            return 0;
        }
        let mut used = outstanding.iter().filter(|(_, cache)| cache.collection != Collection::IDLE);
        let rows = used.position(|(line, _)| *line == message.line).map_or(self.collection_rows, |before| before + 1);
        rows as u32 * self.design.handlers.collection_row_cycles
    }
}

impl System<Magics> {
    /// The protocol's state of `line` at `node`: the pending part, and the copy in the cache or the remote access
    /// cache.
    #[inline]
    pub(super) fn view(&mut self, node: NodeId, line: LineAddr) -> CacheLine {
        let copy = self.copy_of(cpu_of(node), line);
        let magic = &self.controllers.nodes[node.index()];
        let pending = magic.outstanding.iter().find(|(other, _)| *other == line);
        let pending = pending.map_or(CacheLine::INVALID, |found| found.1);
        let kept = match &magic.remote_access_cache {
            Some(cache) if !copy.state.is_valid() => cache.get(line),
            _ => None,
        };
        match kept {
            Some(Kept { state, version, .. }) => {
                CacheLine { state, version, place: Place::RemoteAccessCache, ..pending }
            }
            None => CacheLine { state: copy.state.into(), version: copy.version, place: Place::Cache, ..pending },
        }
    }

    /// Applies a handler of the protocol to a line at a node.
    #[inline]
    pub(super) fn with_line<T>(
        &mut self,
        node: NodeId,
        line: LineAddr,
        handler: impl FnOnce(&mut CacheLine, &NodeContext) -> T,
    ) -> T {
        let mut cache = self.view(node, line);
        let result = handler(&mut cache, &self.controllers.context(node, line));
        self.controllers.note(node, line, &cache);
        let CacheLine { state, version, place, request, .. } = cache;
        let in_cache = place == Place::Cache;
        if let Some(kept) = &mut self.controllers.nodes[node.index()].remote_access_cache {
            if in_cache || state == Msi::Invalid {
                kept.remove(line);
            } else {
                kept.put(Kept { line, state, version });
            }
        }
        let copy = CachedCopy { state: if in_cache { state.into() } else { CopyState::INVALID }, version };
        let cpu = cpu_of(node);
        if let Some(processor) = self.agent_processor(cpu) {
            processor.set_copy(line, copy, request.is_some());
            self.wake_spinner(cpu);
        }
        result
    }

    /// The presumed owner of a line answers a forwarded request. Returns the outcome, the answer and the report to the
    /// home.
    pub(super) fn intervene_at_owner(
        &mut self,
        node: NodeId,
        message: &Message,
    ) -> Option<(NodeOutcome, Message, Message)> {
        let (mut answer, mut report) = (None, None);
        let outcome = self.with_line(node, message.line, |cache, context| {
            msi::receive(cache, context, message, &mut |sent| match sent.to {
                Agent::Node(_) => answer = Some(sent),
                Agent::Home(_) => report = Some(sent),
            })
        });
        match (outcome, answer, report) {
            (Ok(outcome), Some(answer), Some(report)) => Some((outcome, answer, report)),
            (Ok(_), ..) => {
                debug_assert!(false, "an owner answers the requester and reports to the home");
                None
            }
            (Err(error), ..) => {
                self.fail(error);
                None
            }
        }
    }

    /// A message of this node's processor has passed the inbox and goes on to another node.
    pub(super) fn on_outgoing(&mut self, node: NodeId, id: EnvelopeId) {
        let message = self.kernel.envelopes.get(id).message;
        let (now, delay) = (self.kernel.now, self.random_delay());
        // The tags of the remote access cache are checked before the request goes out (FLASH dissertation, 5.4.1).
        let looks = self.controllers.remote_access_cache && is_request(message.kind);
        if looks {
            self.count_remote_access_cache(node, false);
        }
        let Magics { design, nodes, .. } = &mut self.controllers;
        let check = if looks { design.remote_access_cache_check_cycles } else { 0 };
        let magic = &mut nodes[node.index()];
        let run = magic.run(design, now, Handler::Request, check, 0, delay);
        magic.sent[message.kind as usize] += 1;
        if let Some(miss) = miss_on(self, node, message.line).filter(|_| is_request(message.kind)) {
            let account = &mut self.controllers.nodes[node.index()].account;
            account.asked(miss, now, run.waited);
            account.leaves(miss, run.first);
        }
        self.leaves_inbox(node, now + run.waited);
        let timing = &self.controllers.design.timing;
        let mut out = run.first + timing.outbox + timing.network_out;
        if self.observation.planted.is_some() {
            out += self.spoil_departure(&message);
        }
        self.schedule(node, out, MagicEvent::Inject(node, id));
    }

    /// A message has passed the inbox of its destination node.
    #[inline]
    pub(super) fn on_handle(&mut self, id: EnvelopeId) {
        let (message, node) = (self.kernel.envelopes.get(id).message, self.kernel.envelopes.get(id).to);
        let from_network = self.kernel.envelopes.get(id).passage.is_delivered();
        let intervention = matches!(message.kind, MessageKind::ForwardGet | MessageKind::ForwardGetExclusive);
        let started = match message.to {
            Agent::Home(home) => {
                let started = self.handle_at_home(home, &message, from_network);
                if message.kind == MessageKind::Writeback {
                    let written = started + self.controllers.design.timing.memory_write;
                    self.note_page_line(home, message.line, written);
                }
                started
            }
            Agent::Node(_) if intervention => return self.intervene(node, id, &message),
            Agent::Node(_) => self.handle_at_node(node, &message),
        };
        self.release_buffer(id, started);
        self.kernel.envelopes.remove(id);
    }

    /// A forwarded request becomes an intervention at the processor, unless the remote access cache has the line.
    fn intervene(&mut self, node: NodeId, id: EnvelopeId, message: &Message) {
        let (now, delay) = (self.kernel.now, self.random_delay());
        let kept = self.view(node, message.line).place == Place::RemoteAccessCache;
        let Magics { design, nodes, remote_access_cache, .. } = &mut self.controllers;
        let check = if *remote_access_cache { design.remote_access_cache_check_cycles } else { 0 };
        let (magic, timing) = (&mut nodes[node.index()], &design.timing);
        let run = magic.run(design, now, Handler::Intervention, check, 0, delay);
        if !kept {
            let at = run.first + timing.outbox + timing.interface_out;
            self.release_buffer(id, run.first);
            return self.schedule(node, at, MagicEvent::Intervene(id));
        }
        let ready = magic.memory.reserve(now, timing.clock, timing.memory_read) + timing.memory_data;
        let at = run.first.max(ready);
        self.release_buffer(id, run.first);
        self.kernel.envelopes.remove(id);
        if let Some((_, answer, report)) = self.intervene_at_owner(node, message) {
            let ids = (self.envelop(answer, node), self.envelop(report, node));
            self.schedule(node, at, MagicEvent::Supplied(ids.0, ids.1));
        }
    }

    /// The handler runs for an answer, an invalidation or an acknowledgement from another node.
    fn handle_at_node(&mut self, node: NodeId, message: &Message) -> Time {
        let handler = of_node(message.kind);
        let search = self.controllers.row_search(node, message);
        let Some((outcome, sent)) = self.receive(node, message) else { return self.kernel.now };
        let (now, delay) = (self.kernel.now, self.random_delay());
        let Magics { design, nodes, .. } = &mut self.controllers;
        // An invalidation for the processor is one more message, sent after the acknowledgement (FLASH dissertation,
        // 5.2.3).
        let messages = sent.len() as u32 + u32::from(goes_on_to_processor(outcome));
        let sends = design.handlers.send_cycles * messages.saturating_sub(1);
        // The row search follows the answer to the processor; an acknowledgement needs the row first, to tell whether
        // it is the last.
        let (before, after) = if handler == Handler::Collect { (search, sends) } else { (0, sends + search) };
        let run = nodes[node.index()].run(design, now, handler, before, after, delay);
        self.conclude(node, run.first, message, outcome);
        self.send_in_turn(node, run.first, sent, handler);
        run.first
    }

    /// The home on the same node has a message for the processor: no separate handler runs.
    pub(super) fn receive_from_own_home(&mut self, node: NodeId, at: Time, message: Message, handler: Handler) {
        if matches!(message.kind, MessageKind::ForwardGet | MessageKind::ForwardGetExclusive) {
            let id = self.envelop(message, node);
            let timing = &self.controllers.design.timing;
            let out = at + timing.outbox + timing.interface_out;
            return self.schedule(node, out, MagicEvent::Intervene(id));
        }
        let Some((outcome, sent)) = self.receive(node, &message) else { return };
        self.conclude(node, at, &message, outcome);
        self.send_in_turn(node, at, sent, handler);
    }

    /// Runs the protocol's handler on the cache side.
    fn receive(&mut self, node: NodeId, message: &Message) -> Option<(NodeOutcome, Vec<Message>)> {
        let invalidates = matches!(message.kind, MessageKind::Invalidate | MessageKind::ClusterInvalidate);
        if invalidates && let Some(processor) = self.agent_processor(cpu_of(node)) {
            processor.count_invalidation(message.line);
        }
        let spoiled =
            if self.observation.planted.is_some() { self.spoil_at_node(node, message) } else { Spoiled::default() };
        if spoiled.lost {
            return None;
        }
        let mut sent = self.controllers.outboxes.pop().unwrap_or_default();
        let outcome = self.with_line(node, message.line, |cache, context| {
            if let Some(request) = cache.request.as_mut().filter(|_| spoiled.trusts) {
                request.invalidated = false;
            }
            let before = *cache;
            let outcome = msi::receive(cache, context, message, &mut |message| sent.push(message));
            if spoiled.keeps {
                (cache.state, cache.place) = (before.state, before.place);
            }
            outcome
        });
        match outcome {
            Ok(outcome) => {
                self.observe_collection(node, message.line, outcome, &sent);
                Some((outcome, sent))
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Notifies the observers when a writer proceeds before all older copies are invalidated (`/IR`), and when they all
    /// are.
    fn observe_collection(&mut self, node: NodeId, line: LineAddr, outcome: NodeOutcome, sent: &[Message]) {
        if !self.controllers.relaxes_order || !self.observation.probe.follows_contents() {
            return;
        }
        if sent.iter().any(|message| message.kind == MessageKind::CollectDone) {
            self.observation.probe.contents(ContentsEvent::Settled { line });
        } else if matches!(outcome, NodeOutcome::Completed(_)) && self.view(node, line).collection != Collection::IDLE {
            self.observation.probe.contents(ContentsEvent::Unsettled { line });
        }
    }

    fn send_in_turn(&mut self, node: NodeId, first: Time, mut sent: Vec<Message>, handler: Handler) {
        let design = &self.controllers.design;
        let each = design.timing.cycle * u64::from(design.handlers.send_cycles);
        for (index, message) in sent.drain(..).enumerate() {
            self.send_message(node, first + each * index as u64, message, handler);
        }
        self.controllers.outboxes.push(sent);
    }

    /// Completes a handled message at the processor; its handler has come to its first message at `at`.
    fn conclude(&mut self, node: NodeId, at: Time, message: &Message, outcome: NodeOutcome) {
        let (cpu, line) = (cpu_of(node), message.line);
        if self.controllers.nodes[node.index()].pages.awaits(line) {
            return self.recall_answered(node, at, message, outcome);
        }
        let timing = &self.controllers.design.timing;
        let out = at + timing.outbox + timing.interface_out;
        match outcome {
            NodeOutcome::Completed(_) => {
                let Some(miss) = miss_on(self, node, line) else { return };
                self.observe_grant(cpu, line);
                let unhindered = self.controllers.unhindered(&self.network, node, line);
                let remote = self.controllers.lines.home(line) != node;
                self.controllers.nodes[node.index()].account.end(miss, at, remote, &unhindered);
                self.schedule(node, out, MagicEvent::Answer(cpu, miss, message.kind.carries_data()));
            }
            NodeOutcome::Retry => {
                self.count_nack(cpu, line);
                let Some(miss) = miss_on(self, node, line) else { return };
                let again = at + self.controllers.design.timing.retry;
                self.schedule(node, again, MagicEvent::Retry(cpu, miss));
            }
            NodeOutcome::Invalidated(_) | NodeOutcome::Relayed { .. } => {
                if goes_on_to_processor(outcome) && self.is_processor(cpu) {
                    let id = self.envelop(*message, node);
                    self.schedule(node, out, MagicEvent::Drop(id));
                }
            }
            NodeOutcome::Refilling | NodeOutcome::Acknowledged | NodeOutcome::LastAcknowledged => {}
            NodeOutcome::Supplied(_) | NodeOutcome::NotSupplied => {
                debug_assert!(false, "forwarded requests go by the processor");
            }
        }
    }

    /// A step of a processor interface transfer that is no protocol message.
    pub(super) fn on_interface(&mut self, cpu: CpuId, step: InterfaceStep) {
        let node = self.node_of(cpu);
        match step {
            InterfaceStep::Asked(miss) => {
                let through = self.take_bus(node, false);
                self.schedule(node, through, MagicEvent::Interface(cpu, InterfaceStep::Answer(miss)));
            }
            InterfaceStep::Evicted(dirty) => {
                let through = self.take_bus(node, dirty);
                self.schedule(node, through, MagicEvent::Interface(cpu, InterfaceStep::Kept(dirty)));
            }
            InterfaceStep::Started => self.on_started(cpu),
            InterfaceStep::Operation(miss, stage) => self.on_operation(cpu, miss, stage),
            InterfaceStep::Page(step) => self.on_page_step(node, step),
            InterfaceStep::Displaced(id) => {
                let at = self.kernel.now + self.controllers.design.timing.inbox;
                self.put_into_inbox(node, at, id);
            }
            InterfaceStep::Answer(miss) => self.answer_from_remote_access_cache(cpu, miss),
            InterfaceStep::Kept(dirty) => {
                let (now, delay) = (self.kernel.now, self.random_delay());
                let Magics { design, nodes, .. } = &mut self.controllers;
                let check = design.remote_access_cache_check_cycles;
                let magic = &mut nodes[node.index()];
                magic.run(design, now, Handler::Writeback, check, 0, delay);
                if dirty {
                    magic.memory.reserve(now, design.timing.clock, design.timing.memory_write);
                }
            }
        }
    }

    /// A miss hits in the remote access cache: after the tag lookup the line is read from this node's memory.
    fn answer_from_remote_access_cache(&mut self, cpu: CpuId, miss: MissId) {
        let (node, now, delay) = (self.node_of(cpu), self.kernel.now, self.random_delay());
        if self.processor(cpu).miss(miss).is_none() {
            return;
        }
        let Magics { design, nodes, unhindered, .. } = &mut self.controllers;
        let unhindered = unhindered.local();
        let (timing, check) = (&design.timing, design.remote_access_cache_check_cycles);
        let magic = &mut nodes[node.index()];
        let run = magic.run(design, now, Handler::Read, check, 0, delay);
        // The memory read starts after the tag lookup.
        let looked = now + timing.cycle * u64::from(check);
        let data = magic.memory.reserve(looked, timing.clock, timing.memory_read) + timing.memory_data;
        let ready = run.first.max(data);
        magic.account.asked(miss, now, run.waited);
        magic.account.end(miss, ready, false, &unhindered);
        let out = ready + timing.outbox + timing.interface_out;
        self.processor_mut(cpu).await_answer(miss, false);
        self.schedule(node, out, MagicEvent::Answer(cpu, miss, true));
    }

    /// Counts a lookup in the remote access cache for the processor.
    pub(super) fn count_remote_access_cache(&mut self, node: NodeId, hit: bool) {
        if let Some(cache) = &mut self.controllers.nodes[node.index()].remote_access_cache {
            cache.count(hit);
        }
    }
}
