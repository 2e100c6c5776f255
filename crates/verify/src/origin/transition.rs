//! Transitions of the Origin model: unpack the words of a step, run the protocol's handler, pack, renumber, check.

use protocol::origin::{
    CacheLine, CacheOutcome, DirectoryState, Eviction, Message, MessageClass, MessageKind, Outbox, Pending,
    RequestOutcome, Transaction,
};
use protocol::{Access, Agent, ProtocolError};
use units::CpuId;

use super::mutation::Mutation;
use super::packed::{
    State, cache, directory_state, entry, pack_cache, pack_entry, pack_message, pending, unpack_cache, unpack_entry,
    unpack_message,
};
use super::version::{self, JUST_STORED, LATEST, OVERTAKEN};
use super::{Origin, OriginStep};
use crate::model::{Property, Violation};

impl Origin {
    /// Visits the steps that a processor may take on a line.
    pub(super) fn processor_steps(
        &self,
        state: &State,
        line: usize,
        cpu: CpuId,
        visit: &mut impl FnMut(OriginStep, Result<State, Violation>),
    ) {
        let word = state.cache(line, cpu.index());
        match cache::PENDING.get(word) {
            pending::NONE => {
                let before = unpack_cache(word);
                for &access in self.accesses() {
                    if let Some(after) = self.access(state, line, cpu, access, before) {
                        visit(OriginStep::Access { cpu, line, access }, after);
                    }
                }
                if cache::STATE.get(word) != 0 {
                    visit(OriginStep::Evict { cpu, line }, self.evict(state, line, cpu, before));
                }
            }
            pending::REQUEST if cache::NACKED.get(word) == 1 && !self.has(Mutation::ForgetRetry) => {
                let retried = self.at_processor(state, line, cpu, |cache, outbox| {
                    protocol::origin::retry(cache, &self.cache_context(cpu, line), outbox)
                });
                visit(OriginStep::Retry { cpu, line }, retried);
            }
            pending::INTERVENTION => {
                let served = self.at_processor(state, line, cpu, |cache, outbox| {
                    protocol::origin::serve_deferred(cache, &self.cache_context(cpu, line), outbox).map(|_| ())
                });
                visit(OriginStep::ServeDeferred { cpu, line }, served);
            }
            _ => {}
        }
    }

    /// Visits the arrival of every message in flight; equal messages once.
    pub(super) fn deliveries(&self, state: &State, visit: &mut impl FnMut(OriginStep, Result<State, Violation>)) {
        let words = state.messages();
        for (index, &word) in words.iter().enumerate() {
            if index > 0 && words[index - 1] == word {
                continue;
            }
            let message = unpack_message(word);
            let mut rest = state.clone();
            rest.take(index);
            let step = |backoff| OriginStep::Deliver { message, backoff };
            match message.to {
                Agent::Home(_) => {
                    let (after, _) = self.at_home(rest.clone(), &message, false);
                    visit(step(false), after);
                    let (after, backed_off) = self.at_home(rest, &message, true);
                    if backed_off {
                        visit(step(true), after);
                    }
                }
                Agent::Processor(cpu) => visit(step(false), self.receive(&rest, cpu, &message)),
                Agent::Interface(_) | Agent::Sharers => visit(step(false), self.at_interface(rest, &message)),
            }
        }
    }

    fn has(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// Performs an access, unless it is blocked or a hit that changes nothing.
    fn access(
        &self,
        state: &State,
        line: usize,
        cpu: CpuId,
        access: Access,
        before: CacheLine,
    ) -> Option<Result<State, Violation>> {
        match before.state.after(access) {
            Some(after) if after == before.state && access != Access::Store => return None,
            None if !self.may_miss(state, cpu.index(), line) => return None,
            _ => {}
        }
        let mut stored = false;
        let after = self.at_processor(state, line, cpu, |cache, outbox| {
            let outcome = protocol::origin::processor_request(cache, &self.cache_context(cpu, line), access, outbox);
            stored = access == Access::Store && matches!(outcome, RequestOutcome::Hit(_));
            Ok(())
        });
        Some(after.and_then(|after| if stored { self.stored(after, line, cpu) } else { Ok(after) }))
    }

    fn evict(&self, state: &State, line: usize, cpu: CpuId, before: CacheLine) -> Result<State, Violation> {
        self.at_processor(state, line, cpu, |cache, outbox| {
            let eviction = protocol::origin::evict(cache, &self.cache_context(cpu, line), outbox);
            debug_assert_ne!(eviction, Eviction::Blocked, "{before:?} has nothing outstanding");
            Ok(())
        })
    }

    /// Runs a handler on a processor's line. A store that it performs is accounted for later.
    fn at_processor(
        &self,
        state: &State,
        line: usize,
        cpu: CpuId,
        handler: impl FnOnce(&mut CacheLine, &mut Outbox) -> Result<(), ProtocolError>,
    ) -> Result<State, Violation> {
        let mut cache = unpack_cache(state.cache(line, cpu.index()));
        let mut outbox = Outbox::new();
        handler(&mut cache, &mut outbox).map_err(unexpected)?;
        if let Some(mutation) = self.mutation {
            mutation.at_processor(&mut cache, &mut outbox);
        }
        let mut after = state.clone();
        *after.cache_mut(line, cpu.index()) = pack_cache(&cache);
        self.send(&mut after, &outbox);
        if cache.version != JUST_STORED {
            self.check_line(&after, line)?;
        }
        Ok(after)
    }

    /// Delivers a message to a processor.
    fn receive(&self, rest: &State, cpu: CpuId, message: &Message) -> Result<State, Violation> {
        let line = message.line.index();
        let before = unpack_cache(rest.cache(line, cpu.index()));
        let mut outcome = CacheOutcome::Waiting;
        let mut version = LATEST;
        let after = self.at_processor(rest, line, cpu, |cache, outbox| {
            outcome = protocol::origin::receive(cache, &self.cache_context(cpu, line), message, outbox)?;
            version = cache.version;
            Ok(())
        })?;
        let (CacheOutcome::Completed(_), Pending::Request(request)) = (outcome, before.pending) else {
            return Ok(after);
        };
        let too_old = match request.access {
            Access::Store => return self.stored(after, line, cpu),
            // The read is not cached, so the check of the state does not cover its data.
            Access::UncachedRead => version != LATEST && version != OVERTAKEN,
            Access::PoisonRead => version != LATEST,
            Access::Load | Access::InstructionFetch | Access::ReadPrefetch | Access::WritePrefetch => false,
        };
        if too_old {
            let detail = format!("{cpu:?} reads contents of line {line} that are older than the last store");
            return Err(Violation { property: Property::LatestValue, detail });
        }
        Ok(after)
    }

    /// Accounts for a store: it must have changed the last contents, and its own are the last ones now.
    fn stored(&self, mut after: State, line: usize, cpu: CpuId) -> Result<State, Violation> {
        if cache::VERSION.get(after.cache(line, cpu.index())) != JUST_STORED.0 {
            let detail = format!("{cpu:?} stores to contents of line {line} that are older than the last store");
            return Err(Violation { property: Property::LatestValue, detail });
        }
        version::renumber(&mut after, line, cpu.index());
        self.check_line(&after, line)?;
        Ok(after)
    }

    /// Delivers a message to the home. The second value is whether a nearly full output queue made a difference.
    fn at_home(&self, mut after: State, message: &Message, nearly_full: bool) -> (Result<State, Violation>, bool) {
        let line = message.line.index();
        if self.mutation.is_some_and(|mutation| mutation.nacks(message)) {
            let to = Agent::Processor(message.requester);
            let nack = Message::new(MessageKind::Nack, message.line, to, message.requester);
            after.send(pack_message(&nack));
            return (Ok(after), false);
        }
        let (mut directory, mut memory) = unpack_entry(after.entries[line]);
        let mut outbox = Outbox::new();
        let work =
            protocol::origin::home(&mut directory, &mut memory, message, &self.home_context(nearly_full), &mut outbox);
        let work = match work {
            Ok(work) => work,
            Err(error) => return (Err(unexpected(error)), false),
        };
        if let Some(mutation) = self.mutation {
            mutation.at_home(&mut directory, &mut outbox, self.geometry.nodes);
        }
        let before = after.entries[line];
        after.entries[line] = pack_entry(&directory, memory);
        match nacked_priority(before, message, work.transaction) {
            Ok(nacked) => after.entries[line] = entry::NACKED.set(after.entries[line], nacked),
            Err(violation) => return (Err(violation), false),
        }
        self.send(&mut after, &outbox);
        let backed_off = matches!(
            work.transaction,
            Transaction::BackoffInvalidate
                | Transaction::BackoffInterventionShared
                | Transaction::BackoffInterventionExclusive
        );
        (self.check_line(&after, line).map(|()| after), backed_off)
    }

    /// Delivers an invalidation to a node.
    fn at_interface(&self, mut after: State, message: &Message) -> Result<State, Violation> {
        let line = message.line.index();
        let Agent::Interface(node) = message.to else { unreachable!("only expanded invalidations are in flight") };
        for (place, cpu) in self.geometry.processors_of(node).enumerate() {
            if cpu == message.requester || cpu.index() >= self.caches() {
                continue;
            }
            let before = unpack_cache(after.cache(line, cpu.index()));
            let mut cache = before;
            protocol::origin::invalidate(&mut cache, &self.cache_context(cpu, line)).map_err(unexpected)?;
            if let Some(mutation) = self.mutation {
                mutation.at_interface(&mut cache, before, place == 0);
            }
            *after.cache_mut(line, cpu.index()) = pack_cache(&cache);
        }
        if !self.has(Mutation::DropInvalidateAcknowledgement) {
            after.send(pack_message(&protocol::origin::invalidation_acknowledgement(message)));
        }
        self.check_line(&after, line)?;
        Ok(after)
    }

    /// Puts the messages of a handler in flight; the network interface expands invalidations.
    fn send(&self, state: &mut State, outbox: &Outbox) {
        for message in outbox.as_slice() {
            if message.kind == MessageKind::Invalidate {
                message.expand(self.geometry).for_each(|copy| state.send(pack_message(&copy)));
            } else {
                state.send(pack_message(message));
            }
        }
    }
}

/// Highest priority that a home has NACKed since its last grant; `before` is its entry before the message.
///
/// # Errors
/// A violation, if it grants a request of lower priority.
fn nacked_priority(before: u32, message: &Message, transaction: Transaction) -> Result<u32, Violation> {
    let nacked = entry::NACKED.get(before);
    let priority = u32::from(message.priority);
    if message.kind.class() != MessageClass::Request || message.kind == MessageKind::Writeback {
        return Ok(nacked);
    }
    match (transaction, directory_state(before)) {
        (Transaction::Nack, DirectoryState::BusyShared | DirectoryState::BusyExclusive | DirectoryState::Wait) => {
            Ok(nacked.max(priority))
        }
        (Transaction::Nack, _) => Ok(nacked),
        _ if priority < nacked => {
            let detail =
                format!("a request of priority {priority} is granted after one of priority {nacked} was NACKed");
            Err(Violation { property: Property::BoundedOvertaking, detail })
        }
        // A bus error is no grant: the line is unchanged.
        (Transaction::BusError, _) => Ok(nacked),
        _ => Ok(0),
    }
}

fn unexpected(error: ProtocolError) -> Violation {
    Violation { property: Property::ExpectedMessage, detail: error.to_string() }
}
