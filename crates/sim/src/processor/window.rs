//! The instruction window: instructions that have issued and may not be done.
//!
//! Instructions enter in order, as fast as they issue, and leave in order: the next instruction issues only when the
//! one a whole window before it is done. Instructions that are done at issue (primary hits, instructions without
//! dependences) are not stored; waiting loads and stores and dependent chains are.

use std::collections::VecDeque;

use units::{Duration, Time};

use super::{MissId, Processor, Wait};
use crate::account::{Cause, Charge, MissTag, Service};

/// The time from which a chain runs: the completion of the instruction before it; for a load or a store, its own
/// completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// At this time.
    At(Time),
    /// This long after the value of a miss.
    After(MissId, Duration),
    /// At the completion of the store that waits for the line of a miss, which a load requested.
    Stored(MissId),
}

/// Consecutive instructions in the window, each done `step` after the one before: a load or a store, or a dependent
/// chain.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// The number of the first of them.
    first: u64,
    count: u64,
    /// The completion of the instruction before them; for a load or a store, its own completion.
    start: Start,
    step: Duration,
    /// The cause and the miss that a wait for them is charged to.
    cause: Cause,
    tag: MissTag,
}

impl InFlight {
    const fn charge(&self) -> Charge {
        Charge { cause: self.cause, tag: self.tag }
    }
}

/// An entry of the window relative to the next instruction to issue: how many instructions before it the entry begins,
/// their number, the start relative to the present time in picoseconds, the step, and the cause.
pub(super) type Behind = (u64, u64, i64, Duration, Cause);

/// The window, oldest entry first.
#[derive(Debug)]
pub(super) struct Window {
    /// Maximum number of instructions in it.
    size: u64,
    /// The first instruction that may not issue before the oldest entry is done.
    limit: u64,
    in_flight: VecDeque<InFlight>,
}

impl Window {
    /// An empty window of `size` instructions.
    pub fn new(size: u64) -> Self {
        Self { size, limit: u64::MAX, in_flight: VecDeque::with_capacity(size as usize + 2) }
    }

    /// Changes its size to `size` instructions.
    pub fn resize(&mut self, size: u64) {
        self.size = size;
        self.note_limit();
    }

    /// Number of instructions that may issue, beginning with number `issued`, before one must complete.
    #[inline]
    fn room(&self, issued: u64) -> u64 {
        self.limit.saturating_sub(issued)
    }

    fn push(&mut self, new: InFlight) {
        self.in_flight.push_back(new);
        self.note_limit();
    }

    #[inline]
    fn note_limit(&mut self) {
        self.limit = self.in_flight.front().map_or(u64::MAX, |oldest| oldest.first + self.size);
    }

    /// The first `count` instructions of the oldest entry are done at `at` and leave.
    fn retire(&mut self, count: u64, at: Time) {
        if let Some(oldest) = self.in_flight.front_mut() {
            (oldest.first, oldest.count, oldest.start) = (oldest.first + count, oldest.count - count, Start::At(at));
            if oldest.count == 0 {
                self.in_flight.pop_front();
            }
            self.note_limit();
        }
    }

    /// Enters instruction `number`, a load or a store whose value is available at `at`.
    #[inline]
    pub fn enter(&mut self, number: u64, at: Time, cause: Cause) {
        let (start, tag) = (Start::At(at), MissTag::NONE);
        self.push(InFlight { first: number, count: 1, start, step: Duration::ZERO, cause, tag });
    }

    /// Enters instruction `number`, an access that waits for a miss.
    pub fn enter_miss(&mut self, number: u64, miss: MissId, charge: Charge) {
        self.enter_miss_at(number, miss, None, charge);
    }

    /// As [`Self::enter_miss`], but the value is available at `at`, if that is determined.
    pub fn enter_miss_at(&mut self, number: u64, miss: MissId, at: Option<Time>, Charge { cause, tag }: Charge) {
        let start = at.map_or(Start::After(miss, Duration::ZERO), Start::At);
        self.push(InFlight { first: number, count: 1, start, step: Duration::ZERO, cause, tag });
    }

    /// Enters instruction `number`, a load whose value is available `delay` after that of `miss`.
    pub fn enter_after(&mut self, number: u64, miss: MissId, delay: Duration, cause: Cause) {
        let (start, tag) = (Start::After(miss, delay), MissTag::NONE);
        self.push(InFlight { first: number, count: 1, start, step: Duration::ZERO, cause, tag });
    }

    /// Enters instruction `number`, a store that waits for a line that a load requested.
    pub fn enter_store(&mut self, number: u64, miss: MissId, tag: MissTag) {
        let (start, cause) = (Start::Stored(miss), Cause::Write(Service::default()));
        self.push(InFlight { first: number, count: 1, start, step: Duration::ZERO, cause, tag });
    }

    /// Enters `count` instructions from number `first` on, each `step` after the one before, the first a step after
    /// `start`. They extend the last entry if they belong to its chain.
    fn chain(&mut self, first: u64, count: u64, start: Start, step: Duration) {
        if let Some(last) = self.in_flight.back_mut()
            && last.cause == Cause::Work
            && last.first + last.count == first
            && later(last.start, last.step * last.count) == start
        {
            last.count += count;
            return;
        }
        self.push(InFlight { first, count, start, step, cause: Cause::Work, tag: MissTag::NONE });
    }

    /// The value of `miss`, with this `service`, is available at `at`; `stored` says whether a store that waits for its
    /// line can complete with it.
    pub fn resolve(&mut self, miss: MissId, at: Time, stored: bool, service: Service) {
        for entry in &mut self.in_flight {
            entry.start = match entry.start {
                Start::After(other, delay) if other == miss => Start::At(at + delay),
                Start::Stored(other) if other == miss && stored => Start::At(at),
                _ => continue,
            };
            entry.cause = match entry.cause {
                Cause::Read(_) => Cause::Read(service),
                Cause::Write(_) => Cause::Write(service),
                other => other,
            };
        }
    }

    /// The time at which every entry is done, and the charge of the one that is done last.
    ///
    /// # Errors
    /// A miss whose value has no time yet.
    pub fn done(&self) -> Result<(Time, Charge), MissId> {
        let end = |entry: &InFlight| match later(entry.start, entry.step * entry.count) {
            Start::At(at) => Ok((at, entry.charge())),
            Start::After(miss, _) | Start::Stored(miss) => Err(miss),
        };
        let latest = |latest: (Time, Charge), end: (Time, Charge)| if end.0 > latest.0 { end } else { latest };
        self.in_flight
            .iter()
            .map(end)
            .try_fold((Time::ZERO, Cause::Work.into()), |so_far, end| Ok(latest(so_far, end?)))
    }

    /// The window relative to the next instruction to issue and to the present. `None` if an entry waits for a miss.
    pub fn since(&self, issued: u64, since: impl Fn(Time) -> i64) -> Option<Vec<Behind>> {
        let told = |entry: &InFlight| match entry.start {
            Start::At(at) => Some((issued - entry.first, entry.count, since(at), entry.step, entry.cause)),
            Start::After(..) | Start::Stored(_) => None,
        };
        self.in_flight.iter().map(told).collect()
    }

    /// Shifts the window by `issued` instructions and by `time`, for skipped identical rounds.
    pub fn pass(&mut self, issued: u64, time: Duration) {
        for entry in &mut self.in_flight {
            entry.first += issued;
            if let Start::At(at) = &mut entry.start {
                *at += time;
            }
        }
        self.note_limit();
    }

    /// Empties the window, whose entries are all done.
    pub fn clear(&mut self) {
        self.in_flight.clear();
        self.note_limit();
    }

    /// The oldest entry.
    fn oldest(&self) -> Option<InFlight> {
        self.in_flight.front().copied()
    }
}

/// `start`, later by `delay`.
fn later(start: Start, delay: Duration) -> Start {
    match start {
        Start::At(at) => Start::At(at + delay),
        Start::After(miss, before) => Start::After(miss, before + delay),
        Start::Stored(miss) => Start::Stored(miss),
    }
}

impl Processor {
    /// Waits until the next instruction may issue: until the one a window before it is done.
    ///
    /// # Errors
    /// The event to wait for.
    #[inline(always)]
    pub(super) fn take_place(&mut self) -> Result<(), Wait> {
        if self.window.room(self.issued) == 0 { self.make_place() } else { Ok(()) }
    }

    #[inline(never)]
    fn make_place(&mut self) -> Result<(), Wait> {
        while self.window.room(self.issued) == 0 {
            self.retire_oldest(1)?;
        }
        Ok(())
    }

    /// Completes the oldest instructions of one entry, at most `most`, and issues as many new ones except the last.
    /// Returns their number.
    fn retire_oldest(&mut self, most: u64) -> Result<u64, Wait> {
        let Some(oldest) = self.window.oldest() else { return Ok(0) };
        let start = match oldest.start {
            Start::At(start) => start,
            Start::After(miss, _) | Start::Stored(miss) => return Err(Wait::value_of(miss)),
        };
        let count = most.min(oldest.count);
        let at = start + oldest.step * count;
        self.window.retire(count, at);
        // Each new one issues when the one a window before it is done, limited by the issue rate.
        self.time += self.timing.issue * (count - 1);
        self.wait_until(at, oldest.charge());
        self.issued += count - 1;
        Ok(count)
    }

    /// Issues up to `count` instructions that are done at issue; `count` is reduced to those still to issue.
    ///
    /// # Errors
    /// The event to wait for before continuing.
    #[inline]
    pub fn instructions(&mut self, count: &mut u32) -> Result<(), Wait> {
        let room = self.window.room(self.issued);
        if u64::from(*count) <= room && !self.threads.are_several() {
            self.issue_alone(u64::from(*count));
            *count = 0;
            return Ok(());
        }
        self.squeeze(count)
    }

    /// As [`Self::instructions`], where the window has not room for all, or other threads of the core issue instructions, too.
    #[inline(never)]
    fn squeeze(&mut self, count: &mut u32) -> Result<(), Wait> {
        self.keep_pace()?;
        while *count > 0 {
            let room = self.window.room(self.issued).min(u64::from(*count));
            self.issue(room);
            *count -= room as u32;
            if *count > 0 {
                let behind = self.retire_oldest(u64::from(*count))?;
                self.issue(1);
                *count -= behind as u32;
            }
        }
        Ok(())
    }

    /// Nothing issues for `slots` issue slots, because the next instruction waits for its operands. Instructions in flight go on.
    #[inline]
    pub fn stall(&mut self, slots: u32) {
        self.wait_until(self.time + self.timing.issue * u64::from(slots), Cause::Work);
    }

    #[inline]
    fn issue_alone(&mut self, count: u64) {
        self.issued += count;
        self.time += self.timing.issue * count;
    }

    fn issue(&mut self, count: u64) {
        self.issue_alone(count);
        if self.threads.are_several() {
            self.take_slots(count);
        }
    }

    /// Issues `cycles` core cycles of work on the value of the latest load, as that many dependent instructions;
    /// `cycles` is reduced to those still to issue.
    ///
    /// # Errors
    /// The event to wait for before continuing.
    #[inline]
    pub fn work(&mut self, cycles: &mut u32) -> Result<(), Wait> {
        self.keep_pace()?;
        while *cycles > 0 {
            let room = self.window.room(self.issued);
            if room == 0 {
                self.take_place_for_work(cycles)?;
                continue;
            }
            let count = room.min(u64::from(*cycles)).min(self.window.size);
            let (cycle, time) = (self.timing.cycle, self.timing.cycle * count);
            let start = match self.value_from {
                Some(miss) => {
                    self.work_after_value += time;
                    Start::After(miss, Duration(self.work_after_value.0 - time.0))
                }
                None => {
                    let start = self.value_at.max(self.time);
                    self.value_at = start + time;
                    Start::At(start)
                }
            };
            self.window.chain(self.issued, count, start, cycle);
            self.issue(count);
            *cycles -= count as u32;
        }
        Ok(())
    }

    /// Makes room for more of a chain. When the chain alone fills the window, it advances in one step: all but its last
    /// window of instructions is done when its last instruction issues.
    fn take_place_for_work(&mut self, cycles: &mut u32) -> Result<(), Wait> {
        let Some(oldest) = self.window.oldest() else { return Ok(()) };
        let Start::At(start) = oldest.start else { return self.take_place() };
        let end = start + oldest.step * oldest.count;
        let whole = oldest.count == self.window.size && oldest.cause == Cause::Work;
        if !whole || self.value_from.is_some() || end != self.value_at {
            return self.take_place();
        }
        let rest = u64::from(*cycles);
        let cycle = self.timing.cycle;
        self.time += self.timing.issue * (rest - 1);
        self.wait_until(start + cycle * rest, Cause::Work);
        self.issued += rest - 1;
        self.window.clear();
        let first = self.issued + 1 - oldest.count;
        self.window.chain(first, oldest.count, Start::At(start + cycle * rest), cycle);
        self.issue(1);
        self.value_at = end + cycle * rest;
        *cycles = 0;
        Ok(())
    }
}
