//! Transitions of the MSI model: run the protocol's handler on a copy of the state, renumber, check.

use protocol::ProtocolError;
use protocol::msi::{
    self, Access, AccessOutcome, Agent, CacheLine, HomeOutcome, Message, MessageKind, Msi as Copy, Place, Request,
    SharingSet,
};
use units::{LineAddr, NodeId};

use super::fault::Mutation;
use super::state::{Names, State, pack_message, unpack_message};
use super::version::{self, JUST_STORED};
use super::{Msi, MsiStep};
use crate::model::{Property, Violation};

/// Result of a step.
type After<S> = Result<State<S>, Violation>;

impl<S: SharingSet> Msi<S> {
    /// Visits the accesses and evictions that a processor may start on a line, and the retry of a NACKed request.
    pub(super) fn node_steps(
        &self,
        state: &State<S>,
        line: usize,
        node: NodeId,
        visit: &mut impl FnMut(MsiStep, After<S>),
    ) {
        let cache = &state.caches[line][node.index()];
        match cache.request {
            Some(Request { nacked: true, .. }) if !self.has(Mutation::ForgetRetry) => {
                let after = self.at_node(state.clone(), line, node, |cache, mut send| {
                    msi::retry(cache, LineAddr(line as u64), &self.node_context(node), &mut send)
                });
                visit(MsiStep::Retry { node, line }, after.map(|(after, ())| after));
            }
            Some(_) => {}
            None => {
                for access in self.accesses() {
                    if self.may_access(state, line, node, access) {
                        visit(MsiStep::Access { node, line, access }, self.access(state, line, node, access));
                    }
                }
                if cache.state != Copy::Invalid {
                    visit(self.eviction(cache, line, node), self.evict(state, line, node));
                }
            }
        }
    }

    /// Visits the arrival of every message in flight; equal messages once.
    pub(super) fn deliveries(&self, state: &State<S>, visit: &mut impl FnMut(MsiStep, After<S>)) {
        let words = state.messages();
        for (index, &word) in words.iter().enumerate() {
            let message = unpack_message(word);
            if (index > 0 && words[index - 1] == word) || self.is_held_up(state, &message) {
                continue;
            }
            let mut rest = state.clone();
            rest.take(index);
            match message.to {
                Agent::Home(_) => self.at_home(rest, &message, None, visit),
                Agent::Node(node) => {
                    visit(MsiStep::Deliver { message, reclaimed: None }, self.receive(rest, node, &message));
                }
            }
        }
    }

    /// Whether the message must wait for another of the same sender on the request network: a request for a hint.
    fn is_held_up(&self, state: &State<S>, message: &Message) -> bool {
        let is_request = matches!(
            message.kind,
            MessageKind::Get | MessageKind::GetExclusive | MessageKind::Upgrade | MessageKind::Refill
        );
        let hint = |other: Message| other.kind == MessageKind::ReplacementHint && other.requester == message.requester;
        is_request
            && self.set.replacement_hints()
            && !self.has(Mutation::OvertakeHint)
            && state.messages_on(message.line.index()).any(hint)
    }

    fn has(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    fn accesses(&self) -> impl Iterator<Item = Access> {
        self.config.accesses.iter().filter_map(|access| match access {
            protocol::Access::Load => Some(Access::Load),
            protocol::Access::Store => Some(Access::Store),
            _ => None,
        })
    }

    /// Whether an access is explored: hits that change nothing are not. With two lines, a processor blocks on a miss
    /// and its node holds one line at a time; otherwise the lines would hardly interact.
    fn may_access(&self, state: &State<S>, line: usize, node: NodeId, access: Access) -> bool {
        let cache = &state.caches[line][node.index()];
        match (cache.state, access) {
            (Copy::Shared | Copy::Dirty, Access::Load) => cache.place != Place::Cache,
            (Copy::Dirty, Access::Store) => true,
            (Copy::Invalid, _) | (Copy::Shared, Access::Store) => (0..self.lines()).all(|other| {
                let elsewhere = &state.caches[other][node.index()];
                other == line || (elsewhere.state == Copy::Invalid && elsewhere.request.is_none())
            }),
        }
    }

    /// Performs an access that hits, or sends the request of a miss.
    pub(super) fn access(&self, state: &State<S>, line: usize, node: NodeId, access: Access) -> After<S> {
        let (after, outcome) = self.at_node(state.clone(), line, node, |cache, mut send| {
            Ok(msi::access(cache, LineAddr(line as u64), &self.node_context(node), access, &mut send))
        })?;
        let hit = matches!(outcome, AccessOutcome::Hit | AccessOutcome::RemoteAccessCacheHit);
        if hit && access == Access::Store { self.stored(after, line, node) } else { Ok(after) }
    }

    /// Eviction that applies to a copy.
    fn eviction(&self, cache: &CacheLine, line: usize, node: NodeId) -> MsiStep {
        match cache.place {
            Place::Cache => MsiStep::Evict { node, line },
            Place::RemoteAccessCache => MsiStep::EvictFromNode { node, line },
        }
    }

    fn evict(&self, state: &State<S>, line: usize, node: NodeId) -> After<S> {
        let address = LineAddr(line as u64);
        let context = self.node_context(node);
        let place = state.caches[line][node.index()].place;
        let evicted = self.at_node(state.clone(), line, node, |cache, mut send| match place {
            Place::Cache => msi::evict(cache, address, &context, &mut send),
            Place::RemoteAccessCache => msi::evict_from_node(cache, address, &context, &mut send),
        });
        evicted.map(|(after, _)| after)
    }

    /// Runs a handler on a node's line. A store that it performs is accounted for later.
    fn at_node<T>(
        &self,
        mut state: State<S>,
        line: usize,
        node: NodeId,
        handler: impl FnOnce(&mut CacheLine, &mut dyn FnMut(Message)) -> Result<T, ProtocolError>,
    ) -> Result<(State<S>, T), Violation> {
        let before = state.caches[line][node.index()];
        let cache = &mut state.caches[line][node.index()];
        let mut sent = Vec::new();
        let outcome = handler(cache, &mut |message| sent.push(message)).map_err(unexpected)?;
        if let Some(mutation) = self.mutation {
            mutation.at_node(node, LineAddr(line as u64), &before, cache, &mut sent);
        }
        let stored = cache.version == JUST_STORED;
        send(&mut state, &sent);
        if !stored {
            self.check_line(&state, line)?;
        }
        Ok((state, outcome))
    }

    /// Delivers a message to a node.
    fn receive(&self, rest: State<S>, node: NodeId, message: &Message) -> After<S> {
        let line = message.line.index();
        let request = rest.caches[line][node.index()].request;
        let (after, _) = self.at_node(rest, line, node, |cache, mut send| {
            msi::receive(cache, &self.node_context(node), message, &mut send)
        })?;
        let stores = request.is_some_and(|request| request.access == Access::Store);
        let completed = after.caches[line][node.index()].request.is_none();
        if stores && completed { self.stored(after, line, node) } else { Ok(after) }
    }

    /// Accounts for a store: it must have changed the last contents, and its own are the last ones now.
    fn stored(&self, mut after: State<S>, line: usize, node: NodeId) -> After<S> {
        if after.caches[line][node.index()].version != JUST_STORED {
            let detail = format!("{node:?} stores to contents of line {line} that are older than the last store");
            return Err(Violation { property: Property::LatestValue, detail });
        }
        version::renumber(&mut after, line, node.index());
        self.check_line(&after, line)?;
        Ok(after)
    }

    /// Delivers a message to the home. If the sharing set's store is exhausted, any line that holds entries of it is
    /// reclaimed.
    fn at_home(
        &self,
        rest: State<S>,
        message: &Message,
        reclaimed: Option<LineAddr>,
        visit: &mut impl FnMut(MsiStep, After<S>),
    ) {
        let mut after = rest.clone();
        let line = message.line.index();
        let step = MsiStep::Deliver { message: *message, reclaimed };
        if self.mutation.is_some_and(|mutation| mutation.nacks(message)) {
            let to = Agent::Node(message.requester);
            let nack = Message::new(MessageKind::Nack, message.line, to, message.requester);
            send(&mut after, &[nack]);
            return visit(step, Ok(after));
        }
        let before = rest.homes[line].entry.state;
        let mut sent = Vec::new();
        let home = &mut after.homes[line];
        let handled = msi::home(
            &self.set,
            &mut home.entry,
            &mut after.store,
            &mut home.memory,
            message,
            &self.context,
            &mut |message, _| sent.push(message),
        );
        match handled {
            Err(error) => visit(step, Err(unexpected(error))),
            Ok(HomeOutcome::StoreExhausted) => self.reclaim(&rest, message, visit),
            Ok(HomeOutcome::Done(_)) => {
                if let Some(mutation) = self.mutation {
                    let memory = rest.homes[line].memory;
                    let home = &mut after.homes[line];
                    mutation.at_home(before, memory, message, home, &mut sent);
                    let before = (&rest.homes[line].entry.sharers, &rest.store);
                    let entry = &mut home.entry;
                    mutation.at_set(&self.set, before, &self.context.site, message.line, entry, &mut after.store);
                }
                send(&mut after, &sent);
                visit(step, self.check_line(&after, line).and_then(|()| self.check_store(&after)).map(|()| after));
            }
        }
    }

    /// Reclaims the store entries of one line at the home, and then handles the message.
    fn reclaim(&self, rest: &State<S>, message: &Message, visit: &mut impl FnMut(MsiStep, After<S>)) {
        let (mut tried, mut store) = (0u32, rest.store.clone());
        for random in 0..self.set.entries_in_use(&rest.store) {
            let Some(victim) = self.set.victim(&mut store, random, &mut Default::default()) else { continue };
            if tried >> victim.0 & 1 == 1 {
                continue;
            }
            tried |= 1 << victim.0;
            let step = MsiStep::Deliver { message: *message, reclaimed: Some(victim) };
            match self.reclaimed(rest, victim) {
                Ok(after) => self.at_home(after, message, Some(victim), visit),
                Err(violation) => visit(step, Err(violation)),
            }
        }
        if tried == 0 {
            let detail = "the store is exhausted, and no line holds entries of it".into();
            let violation = Violation { property: Property::StoreAccounting, detail };
            visit(MsiStep::Deliver { message: *message, reclaimed: None }, Err(violation));
        }
    }

    fn reclaimed(&self, rest: &State<S>, victim: LineAddr) -> After<S> {
        let mut after = rest.clone();
        let mut sent = Vec::new();
        let entry = &mut after.homes[victim.index()].entry;
        msi::reclaim(&self.set, entry, &mut after.store, victim, &self.context, &mut |message, _| sent.push(message))
            .map_err(|reason| Violation { property: Property::ExpectedMessage, detail: reason.into() })?;
        if self.has(Mutation::ReclaimWithoutInvalidation) {
            sent.clear();
            entry.state = msi::DirectoryState::Clean;
        }
        send(&mut after, &sent);
        self.check_line(&after, victim.index())?;
        self.check_store(&after)?;
        Ok(after)
    }
}

/// Puts the messages of a handler in flight.
fn send<S: SharingSet>(state: &mut State<S>, sent: &[Message]) {
    sent.iter().for_each(|message| state.send(pack_message(message, &Names::SAME)));
}

fn unexpected(error: ProtocolError) -> Violation {
    Violation { property: Property::ExpectedMessage, detail: error.to_string() }
}
