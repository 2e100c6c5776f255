//! The processor interface: requests out of it, answers, interventions and invalidations into it, all over one
//! multiplexed bus.

use protocol::Agent;
use protocol::origin::{
    CacheLine, CacheOutcome, Message, MessageClass, MessageKind, Outbox, OwnerAnswer, Pending, Supplied,
};
use units::{CpuId, NodeId, Time};

use super::{HubEvent, Hubs};
use crate::SimError;
use crate::fault::Fault;
use crate::kernel::EnvelopeId;
use crate::processor::MissId;
use crate::system::System;

impl System<Hubs> {
    /// A processor's request or writeback is at its pins: it takes the bus and goes to the crossbar.
    #[inline]
    pub(super) fn on_request(&mut self, cpu: CpuId, id: EnvelopeId) {
        let node = self.node_of(cpu);
        let message = self.kernel.envelopes.remove(id).message;
        let timing = &self.controllers.timing;
        let length =
            if message.kind.carries_data() { timing.bus.request + timing.bus.data } else { timing.bus.request };
        let start = self.controllers.hubs[node.index()].bus.reserve(self.kernel.now, timing.bus.grid, length);
        let out = start + timing.bus.request_seen + timing.interface_out;
        self.dispatch(node, out, message);
    }

    /// A NACKed request is retried.
    pub(super) fn on_retry(&mut self, cpu: CpuId, miss: MissId) {
        let node = self.node_of(cpu);
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        let mut outbox = Outbox::new();
        let result = self.with_line(cpu, line, |cache, context| protocol::origin::retry(cache, context, &mut outbox));
        if let Err(error) = result {
            return self.fail(error);
        }
        self.dispatch_all(node, self.kernel.now, &outbox);
    }

    /// A message reaches the processor interface of its node.
    #[inline]
    pub(super) fn on_interface(&mut self, id: EnvelopeId) {
        self.release_buffer(id, self.kernel.now);
        let message = self.kernel.envelopes.get(id).message;
        if message.kind.class() == MessageClass::Intervention {
            let node = self.kernel.envelopes.get(id).to;
            let timing = &self.controllers.timing;
            let start = self.controllers.hubs[node.index()].bus.reserve(
                self.kernel.now,
                timing.bus.grid,
                timing.bus.intervention,
            );
            let seen =
                if message.kind == MessageKind::Invalidate { start } else { start + timing.bus.intervention_seen };
            return self.schedule(node, seen, HubEvent::Snoop(id));
        }
        if message.kind == MessageKind::InvalidateAcknowledge {
            if self.observation.planted.is_some() && self.strikes(Fault::LostAcknowledgement) {
                self.kernel.envelopes.remove(id);
                return;
            }
            let (node, timing) = (self.kernel.envelopes.get(id).to, &self.controllers.timing);
            self.controllers.hubs[node.index()].acknowledgements.reserve(
                self.kernel.now,
                timing.clock,
                timing.acknowledgement,
            );
        }
        self.kernel.envelopes.remove(id);
        if let Agent::Processor(cpu) = message.to {
            self.answer(cpu, &message);
        }
    }

    /// The processors probe their tags for the line of an intervention or invalidation.
    pub(super) fn on_snoop(&mut self, id: EnvelopeId) {
        let envelope = self.kernel.envelopes.remove(id);
        let node = envelope.to;
        match envelope.message.to {
            Agent::Processor(owner) => self.intervene(node, owner, &envelope.message),
            _ => self.invalidate(node, &envelope.message),
        }
    }

    /// Both processors check their tags and drop their copies, except for the requester's own copy; one acknowledgement
    /// goes out when both have answered (Prestor 2001, 4.1.3).
    fn invalidate(&mut self, node: NodeId, message: &Message) {
        let now = self.kernel.now;
        let mut answered = now;
        let count = self.processors();
        for cpu in self.controllers.geometry.processors_of(node).filter(|cpu| cpu.0 < count) {
            self.processor_mut(cpu).count_invalidation(message.line);
            answered = answered.max(self.processor_mut(cpu).answer_invalidation(message.line, now));
            let spared = self.observation.planted.is_some() && self.strikes(Fault::KeptCopy);
            if cpu != message.requester
                && !spared
                && let Err(error) = self.with_line(cpu, message.line, protocol::origin::invalidate)
            {
                return self.fail(error);
            }
        }
        let out = answered + self.controllers.timing.interface_out;
        self.dispatch(node, out, protocol::origin::invalidation_acknowledgement(message));
    }

    fn intervene(&mut self, node: NodeId, owner: CpuId, message: &Message) {
        let now = self.kernel.now;
        // A copy engine writes the line in the name of a node without processors: no tags are checked.
        let checked = self.agent_processor(owner).map_or(now, |processor| {
            processor.count_intervention(message.line);
            processor.snoop(message.line, now)
        });
        let mut outbox = Outbox::new();
        let outcome = self.with_line(owner, message.line, |cache, context| {
            protocol::origin::receive(cache, context, message, &mut outbox)
        });
        match outcome {
            Ok(CacheOutcome::Intervened(supplied)) => self.supply(node, owner, supplied, checked, &outbox),
            Ok(CacheOutcome::InterventionDeferred) => {}
            Ok(CacheOutcome::InterventionIgnored) => self.wake_writeback(owner, message.line),
            Ok(other) => debug_assert!(false, "an intervention led to {other:?}"),
            Err(error) => self.fail(error),
        }
    }

    /// An owner's answer to an intervention, with the tag check done at `checked`: a clean line is answered at once, a
    /// modified one after its read-out.
    fn supply(&mut self, node: NodeId, owner: CpuId, supplied: Supplied, checked: Time, outbox: &Outbox) {
        if supplied == Supplied::Dirty {
            let read = self.processor_mut(owner).read_out(checked) + self.controllers.timing.dirty_answer;
            let [response, revision] = outbox.as_slice() else { return debug_assert!(false, "an owner sends two") };
            let (response, revision) = (self.envelop(*response, node), self.envelop(*revision, node));
            self.schedule(node, read, HubEvent::Supply(response, revision));
        } else {
            let mut out = checked + self.controllers.timing.snoop_answer + self.controllers.timing.interface_out;
            for &message in outbox.as_slice() {
                self.dispatch(node, out, message);
                out += self.controllers.timing.revision;
            }
        }
    }

    /// A modified line crosses the bus; response and revision leave one after the other.
    pub(super) fn on_supply(&mut self, response: EnvelopeId, revision: EnvelopeId) {
        let node = self.kernel.envelopes.get(response).to;
        let timing = &self.controllers.timing;
        let start = self.controllers.hubs[node.index()].bus.reserve(self.kernel.now, timing.bus.grid, timing.bus.data);
        let out = start + timing.supply_seen + timing.interface_out;
        let behind = if self.kernel.envelopes.get(revision).message.kind.carries_data() {
            timing.bus.line.max(timing.revision)
        } else {
            timing.revision
        };
        for (id, at) in [(response, out), (revision, out + behind)] {
            let message = self.kernel.envelopes.remove(id).message;
            self.dispatch(node, at, message);
        }
    }

    /// Part of the answer to a processor's request, or to its writeback.
    #[inline]
    fn answer(&mut self, cpu: CpuId, message: &Message) {
        let node = self.node_of(cpu);
        let mut outbox = Outbox::new();
        let mut discarded = false;
        let trusts =
            self.observation.planted.is_some() && self.is_overtaken(cpu, message) && self.strikes(Fault::OvertakenCopy);
        let mut version = message.version;
        let outcome = self.with_line(cpu, message.line, |cache, context| {
            discarded = is_superseded(cache, message.kind);
            if let Pending::Request(request) = &mut cache.pending
                && trusts
            {
                request.invalidated = false;
            }
            let outcome = protocol::origin::receive(cache, context, message, &mut outbox);
            version = cache.version;
            outcome
        });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return self.fail(error),
        };
        if !outbox.as_slice().is_empty() {
            self.dispatch_backoff(node, &outbox);
        }
        if cpu == self.controllers.agent(node) && self.controllers.hubs[node.index()].engine.awaits(message.line) {
            self.controllers.hubs[node.index()].io.receive(message.kind.carries_data());
            return self.copy_answered(node, message.line, outcome, version);
        }
        let done = matches!(outcome, CacheOutcome::Completed(_));
        if matches!(outcome, CacheOutcome::Completed(_)) {
            self.observe_grant(cpu, message.line);
        }
        match outcome {
            CacheOutcome::Retry => {
                self.count_nack(cpu, message.line);
                let Some(miss) = self.processor_mut(cpu).miss_on(message.line) else { return };
                self.schedule(node, self.kernel.now + self.controllers.timing.retry, HubEvent::Retry(cpu, miss));
            }
            CacheOutcome::WritebackDone => self.wake_writeback(cpu, message.line),
            CacheOutcome::WritebackAnsweredIntervention => {}
            CacheOutcome::BusError => self.bus_error(cpu, message.line),
            _ => {
                let Some(miss) = self.processor_mut(cpu).miss_on(message.line) else { return };
                if message.kind.carries_data() && !discarded {
                    self.deliver_data(node, cpu, miss, done);
                } else if done {
                    self.complete(node, cpu, miss, message.kind);
                }
            }
        }
    }

    /// Whether the message carries a copy that an invalidation has overtaken.
    fn is_overtaken(&mut self, cpu: CpuId, message: &Message) -> bool {
        let invalidated =
            matches!(self.view(cpu, message.line).pending, Pending::Request(request) if request.invalidated);
        invalidated && message.kind == MessageKind::SharedReply
    }

    /// A line crosses the bus to the requesting processor; `done` says whether that completes its request.
    #[inline]
    fn deliver_data(&mut self, node: NodeId, cpu: CpuId, miss: MissId, done: bool) {
        let timing = &self.controllers.timing;
        let (grid, crossing) = (timing.bus.grid, timing.bus.answer(true));
        let start = self.controllers.hubs[node.index()].bus.reserve(self.kernel.now, grid, crossing.occupancy);
        if done {
            self.cross_bus(cpu, miss, start, crossing);
        } else {
            self.processor_mut(cpu).buffer(miss);
        }
    }

    /// Completes a request whose data, if any, have crossed the bus, by a completion on the bus.
    fn complete(&mut self, node: NodeId, cpu: CpuId, miss: MissId, by: MessageKind) {
        let timing = &self.controllers.timing;
        let hub = &mut self.controllers.hubs[node.index()];
        let counted = by == MessageKind::InvalidateAcknowledge;
        let told = if counted { hub.acknowledgements.free_at() } else { self.kernel.now };
        let start = hub.bus.reserve(told, timing.bus.grid, timing.bus.completion);
        let seen = start + timing.bus.completion_seen;
        let processor = self.processor_mut(cpu);
        let value = seen + processor.data_to_use();
        let end = processor.unbuffer(miss, seen).max(value);
        self.close_at(cpu, miss, value, end);
    }

    /// Answers an intervention that was deferred until the line was complete.
    #[inline]
    pub(super) fn serve_deferred(&mut self, cpu: CpuId, id: MissId) -> Result<(), SimError> {
        let Some(line) = self.processor_mut(cpu).miss(id).map(|miss| miss.line) else { return Ok(()) };
        if !matches!(self.view(cpu, line).pending, Pending::Intervention(_)) {
            return Ok(());
        }
        let mut outbox = Outbox::new();
        let served =
            self.with_line(cpu, line, |cache, context| protocol::origin::serve_deferred(cache, context, &mut outbox));
        if let Some(supplied) = served? {
            self.supply(self.node_of(cpu), cpu, supplied, self.kernel.now, &outbox);
        }
        Ok(())
    }

    /// Sends the messages that a backoff reply makes the requester send in the home's place: an intervention, or one
    /// invalidation after another. (Or the answer to an intervention that was deferred during a request now NACKed.)
    fn dispatch_backoff(&mut self, node: NodeId, outbox: &Outbox) {
        let out = self.kernel.now + self.controllers.timing.interface_out;
        for message in outbox.as_slice() {
            if message.to != Agent::Sharers {
                self.dispatch(node, out, *message);
                continue;
            }
            for invalidation in message.expand(self.controllers.geometry) {
                let (hub, each) =
                    (&mut self.controllers.hubs[node.index()], self.controllers.timing.backoff_invalidation);
                let start = hub.backoffs.reserve(out, self.controllers.timing.clock, each);
                self.dispatch(node, start, invalidation);
            }
        }
    }

    pub(super) fn dispatch_all(&mut self, node: NodeId, at: Time, outbox: &Outbox) {
        for &message in outbox.as_slice() {
            self.dispatch(node, at, message);
        }
    }
}

/// Whether the processor interface discards data of this kind for a line in this state: speculative data, once the
/// owner has sent its own.
fn is_superseded(cache: &CacheLine, kind: MessageKind) -> bool {
    let speculative = matches!(
        kind,
        MessageKind::SharedSpeculative
            | MessageKind::ExclusiveSpeculative
            | MessageKind::BackoffReadShared
            | MessageKind::BackoffReadExclusive
    );
    speculative && matches!(cache.pending, Pending::Request(request) if request.owner == OwnerAnswer::Data)
}
