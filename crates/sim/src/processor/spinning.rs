//! Spin loops: a processor whose program loads the same word repeatedly needs no events until its copy of the line
//! departs.

use protocol::CopyState;
use units::{Duration, LineAddr, PhysicalAddr, Time};

use super::window::Behind;
use super::{Processor, Wait};
use crate::account::{Cause, ProcessorCounters};

/// A spin loop, whose loads return the same value as long as the line stays in the caches.
#[derive(Debug)]
pub(super) struct Spin {
    line: LineAddr,
    /// The issue time of the next load of the loop, and the time from one load to the next.
    next: Time,
    period: Duration,
    round: Round,
    /// Whether the line has departed.
    departed: bool,
}

/// A round of a spin loop, from one load to the next.
#[derive(Debug)]
enum Round {
    /// A number of instructions, the load included, whose time is charged as a wait.
    Waiting(u64),
    /// A repetition of the previous round of the program's own loop.
    Same(Box<Done>),
}

/// Counts of a round of a loop.
#[derive(Debug)]
struct Done {
    issued: u64,
    elsewhere: u64,
    counters: ProcessorCounters,
}

/// The state of a processor at a load of a spin loop, for comparison with the next: its counts, and all state that a
/// hit depends on or changes, except its time.
#[derive(Debug)]
pub(super) struct RoundState {
    at: u64,
    site: u64,
    time: Time,
    done: Done,
    window: Vec<Behind>,
    value_at: i64,
    loaded_at: i64,
    translated: i64,
    loaded_from: Cause,
    /// The duration of the previous round.
    period: Duration,
}

impl Processor {
    fn line_at(&self, at: PhysicalAddr) -> LineAddr {
        LineAddr(at.0 >> self.timing.line_shift)
    }

    /// Whether the processor may store to the line of `at` without a request.
    pub fn owns(&self, at: PhysicalAddr) -> bool {
        self.copy(self.line_at(at)).state == CopyState::MODIFIED
    }

    /// Starts a spin loop on `at`, the program's address `named`: a load that hits, and `instructions` others. Without
    /// a copy of the line, the other instructions alone are executed.
    ///
    /// # Errors
    /// The departure of the line, to wait for.
    pub fn spin(&mut self, named: u64, at: PhysicalAddr, instructions: u32) -> Result<(), Wait> {
        self.report_spin(named);
        let line = self.line_at(at);
        let others = self.timing.issue * u64::from(instructions);
        if !self.copy(line).state.is_valid() {
            let mut left = instructions;
            return self.instructions(&mut left);
        }
        // The loop's branch depends on the load, so nothing else issues before its value.
        let (next, period) = (self.time + others, others + self.timing.primary_hit);
        let round = Round::Waiting(u64::from(instructions) + 1);
        self.spin = Some(Spin { line, next, period, round, departed: false });
        Err(Wait::Departure(line))
    }

    /// The processor's state at a repeated load of the program's address `named`. `None` if anything else is in
    /// progress.
    fn round_state(&self, named: u64) -> Option<RoundState> {
        let alone = self.is_quiet() && self.value_from.is_none() && !self.refilling && self.trapped.is_none();
        let alone = alone && self.stores.empty_at().is_ok_and(|at| at <= self.time);
        if !alone || self.ledger.is_charged_elsewhere() {
            return None;
        }
        let since = |time: Time| time.0.cast_signed() - self.time.0.cast_signed();
        Some(RoundState {
            at: named,
            site: self.site,
            time: self.time,
            done: Done { issued: self.issued, elsewhere: self.ledger.elsewhere(), counters: self.counters() },
            window: self.window.since(self.issued, since)?,
            value_at: since(self.value_at),
            loaded_at: since(self.loaded_at),
            translated: since(self.translated()),
            loaded_from: self.loaded_from.cause,
            period: Duration::ZERO,
        })
    }

    /// The program's own loop is about to load `at`, its address `named`, again; `same` says that the program's state
    /// is the same as in the previous round, at the previous call. If the processor's state is the same as well, every
    /// further round is identical as long as the copy stays; at most `limit` rounds are then skipped.
    ///
    /// # Errors
    /// The departure of the line, or the end of those rounds, to wait for.
    pub fn look_on(&mut self, named: u64, at: PhysicalAddr, same: bool, limit: u64) -> Result<(), Wait> {
        let Some(now) = self.round_state(named).filter(|_| self.may_skip_rounds()) else {
            self.round_state = None;
            return Ok(());
        };
        let Some(before) = self.round_state.take().filter(|_| same) else {
            self.round_state = Some(Box::new(now));
            return Ok(());
        };
        let (line, period) = (self.line_at(at), now.time - before.time);
        let done = now.done.since(&before.done);
        // The previous round took as long, so no other event affected it.
        let same = now.is_as(&before) && period == before.period && period > Duration::ZERO;
        let only_looks = done.counters.primary_misses == 0 && done.counters.references > 0;
        if !same || !only_looks || !self.copy(line).state.is_valid() {
            self.round_state = Some(Box::new(RoundState { period, ..now }));
            return Ok(());
        }
        let until = self.time + period * limit;
        self.spin = Some(Spin { line, next: self.time, period, round: Round::Same(Box::new(done)), departed: false });
        Err(Wait::Skipping(until))
    }

    /// Whether rounds of its program's own spin loops can be skipped: no observer needs each.
    pub fn may_skip_rounds(&self) -> bool {
        self.may_skip_rounds && !self.probe.is_active()
    }

    /// Forbids skipping rounds from here on: every load of every loop is executed.
    pub fn forbid_skipping(&mut self) {
        self.may_skip_rounds = false;
    }

    /// Ends the skipping of rounds at `now`.
    pub fn end_skipping(&mut self, now: Time) {
        if self.spin.as_ref().is_some_and(|spin| matches!(spin.round, Round::Same(_))) {
            self.end_spin(now);
        }
    }

    /// Counts a repeated load of the same word, in the program's own loop.
    pub fn note_again(&mut self) {
        self.counters.looks += 1;
    }

    /// The copy of `line` has departed, so a loop that spins on it ends.
    #[inline]
    pub(super) fn note_departure(&mut self, line: LineAddr) {
        for spin in self.spin.as_mut().into_iter().chain(self.threads.spins()).filter(|spin| spin.line == line) {
            spin.departed = true;
        }
    }

    /// Makes a spin loop load again as if its line had departed.
    pub fn look_again(&mut self) {
        if let Some(spin) = &mut self.spin {
            spin.departed = true;
        }
    }

    /// If the line of the spin loop has departed by `now`: the issue time of the first load that misses.
    #[inline]
    pub fn take_departure(&mut self, now: Time) -> Option<Time> {
        let spin = self.spin.as_ref().filter(|spin| spin.departed)?;
        // A load of the program's own loop at this time comes before the event that took the line, because processors'
        // events do.
        let now = if matches!(spin.round, Round::Same(_)) { Time(now.0 + 1) } else { now };
        Some(self.end_spin(now))
    }

    /// Ends the loop at its first load from `now` on, and counts the earlier ones, which hit. Returns the time of that
    /// load.
    fn end_spin(&mut self, now: Time) -> Time {
        let Some(Spin { next, period, round, .. }) = self.spin.take() else { return now };
        let looks = if now <= next { 0 } else { (now - next).0.div_ceil(period.0) };
        match round {
            Round::Waiting(instructions) => {
                self.counters.references += looks;
                self.counters.looks += looks;
                self.issue_waiting(looks * instructions);
            }
            Round::Same(done) => self.repeat(&done, period, looks),
        }
        next + period * looks
    }

    /// Adds `rounds` identical rounds of a loop.
    fn repeat(&mut self, done: &Done, period: Duration, rounds: u64) {
        let passed = period * rounds;
        self.time += passed;
        self.value_at += passed;
        self.loaded_at += passed;
        self.window.pass(done.issued * rounds, passed);
        self.issued += done.issued * rounds;
        self.counters.references += done.counters.references * rounds;
        self.counters.stores += done.counters.stores * rounds;
        for (count, done) in self.counters.private_references.iter_mut().zip(done.counters.private_references) {
            *count += done * rounds;
        }
        self.counters.looks += done.counters.looks * rounds;
        self.ledger.repeat(done.elsewhere, &done.counters.time, rounds);
    }

    /// The operating system takes the program off the processor at `now`: everything issued so far is completed, and
    /// nothing of the program remains but lines in caches. Returns the time at which that is so.
    ///
    /// # Errors
    /// Misses to wait for.
    pub fn leave(&mut self, now: Time) -> Result<Time, Wait> {
        if self.spin.is_some() {
            self.end_spin(now);
        }
        self.finish()?;
        if std::mem::take(&mut self.refilling) {
            self.wait_until(self.time + self.timing.translation_miss, Cause::Translation);
        }
        Ok(self.time.max(now))
    }
}

impl RoundState {
    /// Whether the processor's state equals that of `before`, except for its time and its counts.
    fn is_as(&self, before: &Self) -> bool {
        let places = |round_state: &Self| {
            let times = [round_state.value_at, round_state.loaded_at, round_state.translated];
            (round_state.at, round_state.site, times, round_state.loaded_from)
        };
        places(self) == places(before) && self.window == before.window
    }
}

impl Done {
    fn since(&self, before: &Self) -> Self {
        Self {
            issued: self.issued - before.issued,
            elsewhere: self.elsewhere - before.elsewhere,
            counters: self.counters.since(&before.counters),
        }
    }
}
