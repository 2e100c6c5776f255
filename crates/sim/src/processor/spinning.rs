//! A processor whose program looks at a word again and again: nothing happens until its copy of the line is taken away.

use protocol::CopyState;
use units::{Duration, LineAddr, PhysicalAddr, Time};

use super::window::Behind;
use super::{Cause, Processor, ProcessorCounters, Wait};

/// A loop that finds the same value each time, as long as the line stays in the caches.
#[derive(Debug)]
pub(super) struct Spin {
    line: LineAddr,
    /// When the next load of the loop issues, and from one to the next.
    next: Time,
    period: Duration,
    round: Round,
    /// Whether the line has left.
    departed: bool,
}

/// What is done from one look to the next.
#[derive(Debug)]
enum Round {
    /// So many instructions, the look included: the time is charged as a wait.
    Waiting(u64),
    /// What was done in the round before: the program looks as it would without this.
    Same(Box<Done>),
}

/// What was done in a round of a loop.
#[derive(Debug)]
struct Done {
    issued: u64,
    elsewhere: u64,
    counters: ProcessorCounters,
}

/// A processor at a look of a loop, to be compared with the next: what it has done, and all of its state that a hit depends on or
/// changes, but for its time.
#[derive(Debug)]
pub(super) struct Pose {
    at: u64,
    site: u64,
    time: Time,
    done: Done,
    window: Vec<Behind>,
    value_at: i64,
    loaded_at: i64,
    loaded_from: Cause,
    /// How long the round before took.
    period: Duration,
}

impl Processor {
    fn line_at(&self, at: PhysicalAddr) -> LineAddr {
        LineAddr(at.0 >> self.timing.line_shift)
    }

    /// Whether the processor may store to the line of `at` without asking anybody.
    pub fn owns(&self, at: PhysicalAddr) -> bool {
        self.copy(self.line_at(at)).state == CopyState::MODIFIED
    }

    /// Starts a loop of a load of `at`, which the program calls `named` and which hits, and `instructions` others. If there is no copy to look at, the others are
    /// all that is done.
    ///
    /// # Errors
    /// The departure of the line, which to wait for.
    pub fn spin(&mut self, named: u64, at: PhysicalAddr, instructions: u32) -> Result<(), Wait> {
        self.note_look(named);
        let line = self.line_at(at);
        let others = self.timing.issue * u64::from(instructions);
        if !self.copy(line).state.is_valid() {
            let mut left = instructions;
            return self.instructions(&mut left);
        }
        // A load that has its value before anything else issues: the loop's branch depends on it.
        let (next, period) = (self.time + others, others + self.timing.primary_hit);
        let round = Round::Waiting(u64::from(instructions) + 1);
        self.spin = Some(Spin { line, next, period, round, departed: false });
        Err(Wait::Departure(line))
    }

    /// The program is about to look at `at`, which it calls `named`, as it has before: notes how that finds the processor. None if
    /// it does anything else at the same time.
    fn pose(&self, named: u64) -> Option<Pose> {
        let alone = self.is_quiet() && self.value_from.is_none() && !self.refilling && self.trapped.is_none();
        if !alone || self.ledger.is_on_behalf() {
            return None;
        }
        let since = |time: Time| time.0.cast_signed() - self.time.0.cast_signed();
        Some(Pose {
            at: named,
            site: self.site,
            time: self.time,
            done: Done { issued: self.issued, elsewhere: self.ledger.elsewhere(), counters: self.counters() },
            window: self.window.since(self.issued, since)?,
            value_at: since(self.value_at),
            loaded_at: since(self.loaded_at),
            loaded_from: self.loaded_from.cause,
            period: Duration::ZERO,
        })
    }

    /// The program looks again and again at `at`, which it calls `named`, and is about to do so in the very state in which it did
    /// one round before, when this was last asked, if it is the `same`: if the processor is, too, every round from here on is as the
    /// last one, as long as the copy stays. That is over `limit` rounds at the most.
    ///
    /// # Errors
    /// The departure of the line, which to wait for, or the end of those rounds.
    pub fn look_on(&mut self, named: u64, at: PhysicalAddr, same: bool, limit: u64) -> Result<(), Wait> {
        let Some(now) = self.pose(named).filter(|_| self.may_rest()) else {
            self.pose = None;
            return Ok(());
        };
        let Some(before) = self.pose.take().filter(|_| same) else {
            self.pose = Some(Box::new(now));
            return Ok(());
        };
        let (line, period) = (self.line_at(at), now.time - before.time);
        let done = now.done.since(&before.done);
        // The round before was as long: nothing else has happened meanwhile.
        let same = now.is_as(&before) && period == before.period && period > Duration::ZERO;
        let only_looks = done.counters.primary_misses == 0 && done.counters.references > 0;
        if !same || !only_looks || !self.copy(line).state.is_valid() {
            self.pose = Some(Box::new(Pose { period, ..now }));
            return Ok(());
        }
        let until = self.time + period * limit;
        self.spin = Some(Spin { line, next: self.time, period, round: Round::Same(Box::new(done)), departed: false });
        Err(Wait::Rest(line, until))
    }

    /// Whether looks of its program's own loops can be spared: nobody is to be told of each.
    pub fn may_rest(&self) -> bool {
        self.may_rest && self.observer.is_none() && self.causes.is_none() && self.attribution.is_none()
    }

    /// From here on every look of every program is done.
    pub fn forbid_rest(&mut self) {
        self.may_rest = false;
    }

    /// A program that rests goes on at `now`.
    pub fn end_rest(&mut self, now: Time) {
        if self.spin.as_ref().is_some_and(|spin| matches!(spin.round, Round::Same(_))) {
            self.end_spin(now);
        }
    }

    /// The program has looked again at the word that it looked at before, in a loop of its own.
    pub fn note_again(&mut self) {
        self.counters.looks += 1;
    }

    /// The copy of `line` is gone: a loop that looked at it will see so.
    #[inline]
    pub(super) fn note_departure(&mut self, line: LineAddr) {
        if let Some(spin) = self.spin.as_mut().filter(|spin| spin.line == line) {
            spin.departed = true;
        }
    }

    /// A loop that looks at any line is to look as if that had left.
    pub fn look_again(&mut self) {
        if let Some(spin) = &mut self.spin {
            spin.departed = true;
        }
    }

    /// If the line that the program looks at has left by `now`: when the first load issues that misses.
    #[inline]
    pub fn take_departure(&mut self, now: Time) -> Option<Time> {
        let spin = self.spin.as_ref().filter(|spin| spin.departed)?;
        // A look of the program's own at this very time came before what took the line away: processors' events do.
        let now = if matches!(spin.round, Round::Same(_)) { Time(now.0 + 1) } else { now };
        Some(self.end_spin(now))
    }

    /// The loop ends at its first look from `now` on. Those before it have hit, and are counted. Returns when that is.
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

    /// So many rounds of a loop have passed that are all alike.
    fn repeat(&mut self, done: &Done, period: Duration, rounds: u64) {
        let passed = period * rounds;
        self.time += passed;
        self.value_at += passed;
        self.loaded_at += passed;
        self.window.pass(done.issued * rounds, passed);
        self.issued += done.issued * rounds;
        self.counters.references += done.counters.references * rounds;
        self.counters.looks += done.counters.looks * rounds;
        self.ledger.repeat(done.elsewhere, &done.counters.time, rounds);
    }

    /// The operating system takes the program off the processor at `now`: everything issued so far is done, and nothing of the
    /// program remains but lines in caches. Returns when that is.
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

impl Pose {
    /// Whether the processor was as it was `before`, but for its time and what it had done.
    fn is_as(&self, before: &Self) -> bool {
        let places = |pose: &Self| (pose.at, pose.site, pose.value_at, pose.loaded_at, pose.loaded_from);
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
