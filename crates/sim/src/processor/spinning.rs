//! A processor whose program looks at a word again and again: nothing happens until its copy of the line is taken away.

use protocol::CopyState;
use units::{Duration, LineAddr, PhysicalAddr, Time};

use super::{Cause, Processor, Wait};

/// A loop that finds the same value each time, as long as the line stays in the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spin {
    line: LineAddr,
    /// When the next load of the loop issues, and from one to the next.
    next: Time,
    period: Duration,
    /// Instructions from one load to the next, it included.
    instructions: u64,
    /// Whether the line has left.
    departed: bool,
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
        self.spin = Some(Spin { line, next, period, instructions: u64::from(instructions) + 1, departed: false });
        Err(Wait::Departure(line))
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
        self.spin.filter(|spin| spin.departed).map(|_| self.end_spin(now))
    }

    /// The loop ends at its first look from `now` on. Those before it have hit, and are counted. Returns when that is.
    fn end_spin(&mut self, now: Time) -> Time {
        let Some(spin) = self.spin.take() else { return now };
        let looks = if now <= spin.next { 0 } else { (now - spin.next).0.div_ceil(spin.period.0) };
        self.counters.references += looks;
        self.issue_waiting(looks * spin.instructions);
        spin.next + spin.period * looks
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
