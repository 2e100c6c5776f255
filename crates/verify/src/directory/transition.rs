//! Transitions of directory protocols: run the protocol's handler on a copy of the state, apply the planted fault if
//! there is one, renumber, check.

use std::ops::Range;

use protocol::contract::{Destination, Due, Handled, Started};
use protocol::{Access, ProtocolError};
use units::LineAddr;

use super::fault::{AtCaches, AtHome, Plant};
use super::names::Names;
use super::state::{JUST_STORED, LATEST, OVERTAKEN, State};
use super::{DirectoryModel, Explored, Step, unexpected};
use crate::model::{Property, Violation};

/// Result of a step.
type After<P> = Result<State<P>, Violation>;

impl<P: Explored> DirectoryModel<P> {
    /// Visits the accesses and the eviction that a cache may start on a line, and what is due there.
    pub(super) fn cache_steps(
        &self,
        state: &State<P>,
        line: usize,
        cache: usize,
        visit: &mut dyn FnMut(Step<P>, After<P>),
    ) {
        let (site, before) = (self.site(line, cache), state.caches[line][cache]);
        if let Some(due) = P::due(&before)
            && !(due == Due::Retry && matches!(self.plant, Some(Plant::NoRetry)))
        {
            let after = self.at_caches(state.clone(), line, cache..cache + 1, None, |lines, sent| {
                self.protocol.retry(&site, &mut lines[0], &mut |message| sent.push(message)).map(|()| None)
            });
            visit(Step::Due { cache, line, due }, after);
        }
        for &access in &self.accesses {
            let (mut copy, mut sent) = (before, false);
            let started = self.protocol.access(&site, &mut copy, access, &mut |_| sent = true);
            // A hit that changes nothing is no step, and neither is an access that is blocked.
            if (copy == before && !sent) || (started != Started::Done && !self.may_miss(state, line, cache)) {
                continue;
            }
            let performed = (started == Started::Done).then_some(access);
            let after = self.at_caches(state.clone(), line, cache..cache + 1, None, |lines, sent| {
                self.protocol.access(&site, &mut lines[0], access, &mut |message| sent.push(message));
                Ok(performed)
            });
            visit(Step::Access { cache, line, access }, after);
        }
        if P::copy(&before).is_valid() && self.protocol.evict(&site, &mut { before }, &mut |_| ()) != Started::Blocked {
            let after = self.at_caches(state.clone(), line, cache..cache + 1, None, |lines, sent| {
                self.protocol.evict(&site, &mut lines[0], &mut |message| sent.push(message));
                Ok(None)
            });
            visit(Step::Evict { cache, line }, after);
        }
    }

    /// Whether a cache may miss on `line`. With two lines, a processor blocks on a miss and its cache holds one line at
    /// a time; otherwise the lines would hardly interact.
    fn may_miss(&self, state: &State<P>, line: usize, cache: usize) -> bool {
        (0..self.lines).all(|other| {
            let elsewhere = &state.caches[other][cache];
            other == line || (!P::copy(elsewhere).is_valid() && P::waiting(elsewhere).is_none())
        })
    }

    /// Visits the arrival of every message in flight; equal messages once.
    pub(super) fn deliveries(&self, state: &State<P>, visit: &mut dyn FnMut(Step<P>, After<P>)) {
        let words = state.messages();
        for (index, &word) in words.iter().enumerate() {
            let message = P::unpack_message(word);
            if (index > 0 && words[index - 1] == word) || self.is_held_up(state, &message) {
                continue;
            }
            let mut rest = state.clone();
            rest.take(index);
            let destination = self.protocol.destination(&message);
            let step = Step::deliver(message, &destination);
            match destination {
                Destination::Home => self.at_home(rest, &message, step, visit),
                Destination::Caches(caches) => visit(step, self.receive(rest, caches, &message)),
            }
        }
    }

    fn is_held_up(&self, state: &State<P>, message: &P::Message) -> bool {
        let mut others = state.messages().iter().map(|&word| P::unpack_message(word));
        !matches!(self.plant, Some(Plant::NoOrder)) && others.any(|other| self.protocol.waits_for(message, &other))
    }

    /// Delivers a message to caches.
    fn receive(&self, rest: State<P>, caches: Range<u16>, message: &P::Message) -> After<P> {
        let line = P::line(message).index();
        let caches = usize::from(caches.start)..usize::from(caches.end).min(self.caches);
        let site = self.site(line, caches.start);
        self.at_caches(rest, line, caches, Some(message), |lines, sent| {
            let progress = self.protocol.receive(&site, lines, message, &mut |message| sent.push(message))?;
            Ok(progress.performed)
        })
    }

    /// Runs a handler, which returns the access that it performs, on a line at caches.
    fn at_caches(
        &self,
        mut state: State<P>,
        line: usize,
        caches: Range<usize>,
        message: Option<&P::Message>,
        handler: impl FnOnce(&mut [P::CacheLine], &mut Vec<P::Message>) -> Result<Option<Access>, ProtocolError>,
    ) -> After<P> {
        let (first, all_before) = (caches.start, state.caches[line]);
        let mut sent = Vec::new();
        let lines = &mut state.caches[line][caches.clone()];
        let mut performed = handler(lines, &mut sent).map_err(unexpected)?;
        if let Some(Plant::Caches(fault)) = self.plant {
            let (site, before) = (self.site(line, first), &all_before[caches]);
            fault(&mut AtCaches { site, message, before, lines, sent: &mut sent, performed: &mut performed });
        }
        send(&mut state, &sent);
        if let Some(access) = performed {
            self.performed(&mut state, line, first, access)?;
        }
        self.check_line(&state, line)?;
        Ok(state)
    }

    /// Accounts for an access that a cache has performed. A store must have changed the last contents, and its own are
    /// the last ones now. The check of the state does not cover the data of a read that leaves no copy.
    fn performed(&self, state: &mut State<P>, line: usize, cache: usize, access: Access) -> Result<(), Violation> {
        let at_cache = &mut state.caches[line][cache];
        let (version, valid) = (*P::contents(at_cache), P::copy(at_cache).is_valid());
        let verb = match access {
            Access::Store if version == JUST_STORED => {
                state.renumber(&self.protocol, line, cache);
                return Ok(());
            }
            Access::Store => "stores to",
            Access::UncachedRead if version == OVERTAKEN => return Ok(()),
            _ if version == LATEST || valid => return Ok(()),
            _ => "reads",
        };
        let detail = format!("{}{cache} {verb} stale contents of line {line}", P::AGENT);
        Err(Violation { property: Property::LatestValue, detail })
    }

    /// Delivers a message to the home, with and without congestion if that makes a difference. If the home's store is
    /// exhausted, any line that has entries of it is reclaimed.
    fn at_home(&self, rest: State<P>, message: &P::Message, step: Step<P>, visit: &mut dyn FnMut(Step<P>, After<P>)) {
        let crowded = P::BACKS_OFF.then(|| self.handle(rest.clone(), message, true));
        match self.handle(rest.clone(), message, false) {
            Ok(Handled::Done((after, _))) => visit(step, after),
            Ok(Handled::StoreExhausted) => self.reclaim(&rest, message, step, visit),
            Err(violation) => visit(step, Err(violation)),
        }
        if let Some(Ok(Handled::Done((after, true)))) = crowded
            && let Step::Deliver { message, caches, reclaimed, .. } = step
        {
            visit(Step::Deliver { message, caches, reclaimed, backoff: true }, after);
        }
    }

    /// Runs the home's handler: the state after it, if it violates no property, and whether it left messages to others.
    fn handle(
        &self,
        mut state: State<P>,
        message: &P::Message,
        congested: bool,
    ) -> Result<Handled<(After<P>, bool)>, Violation> {
        let line = P::line(message).index();
        if let Some(Plant::Refuse(answer)) = self.plant
            && let Some(answer) = answer(message)
        {
            send(&mut state, &[answer]);
            return Ok(Handled::Done((Ok(state), false)));
        }
        let before = state.homes[line];
        let store_before = self.plant.as_ref().map(|_| state.store.clone());
        let mut sent = Vec::new();
        let (home, store) = (&mut state.homes[line], &mut state.store);
        let mut push = |message| sent.push(message);
        let work = match self.protocol.home(home, store, message, congested, &mut push).map_err(unexpected)? {
            Handled::StoreExhausted => return Ok(Handled::StoreExhausted),
            Handled::Done(work) => work,
        };
        if let (Some(Plant::Home(fault)), Some(store_before)) = (self.plant, &store_before) {
            let (message, sent) = (Some(message), &mut sent);
            let mut step = AtHome { message, before: &before, store_before, line: home, store, sent };
            fault(&self.protocol, &mut step);
        }
        P::note(&mut state.notes[line], &before, message, &work)?;
        send(&mut state, &sent);
        let checked = self.check_line(&state, line).and_then(|()| self.check_store(&state));
        Ok(Handled::Done((checked.map(|()| state), P::is_backoff(&work))))
    }

    /// Reclaims the store entries of one line at the home, each in turn, and then handles the message.
    fn reclaim(&self, rest: &State<P>, message: &P::Message, step: Step<P>, visit: &mut dyn FnMut(Step<P>, After<P>)) {
        let (mut tried, mut store) = (0u32, rest.store.clone());
        for random in 0..self.protocol.entries_in_use(&rest.store) {
            let Some(victim) = self.protocol.victim(&mut store, random) else { continue };
            if tried >> victim.0 & 1 == 1 {
                continue;
            }
            tried |= 1 << victim.0;
            let Step::Deliver { message: sent, caches, backoff, .. } = step else { continue };
            let step = Step::Deliver { message: sent, caches, backoff, reclaimed: Some(victim) };
            match self.reclaimed(rest, victim) {
                Ok(after) => self.at_home(after, message, step, visit),
                Err(violation) => visit(step, Err(violation)),
            }
        }
        if tried == 0 {
            let detail = "the store is exhausted, and no line has entries of it".into();
            visit(step, Err(Violation { property: Property::StoreAccounting, detail }));
        }
    }

    fn reclaimed(&self, rest: &State<P>, victim: LineAddr) -> After<P> {
        let mut after = rest.clone();
        let mut sent = Vec::new();
        let (line, store) = (&mut after.homes[victim.index()], &mut after.store);
        self.protocol.reclaim(line, store, victim, &mut |message| sent.push(message)).map_err(unexpected)?;
        if let Some(Plant::Home(fault)) = self.plant {
            let (before, store_before) = (&rest.homes[victim.index()], &rest.store);
            fault(&self.protocol, &mut AtHome { message: None, before, store_before, line, store, sent: &mut sent });
        }
        send(&mut after, &sent);
        self.check_line(&after, victim.index())?;
        self.check_store(&after)?;
        Ok(after)
    }
}

/// Puts the messages of a handler in flight.
fn send<P: Explored>(state: &mut State<P>, sent: &[P::Message]) {
    sent.iter().for_each(|message| state.send(P::pack_message(message, &Names::SAME)));
}
