//! The instruction window: what has issued and is not known to be done.
//!
//! Instructions enter in order, as fast as they issue, and leave in order: one that is a whole window behind must be done before
//! the next issues. What is done as soon as it issues (primary hits, instructions that depend on nothing) need not be kept; loads
//! and stores that wait, and chains of dependent instructions, are.

use std::collections::VecDeque;

use units::{Duration, Time};

use super::{Cause, MissId, Processor, Service, Wait};
use crate::attribution::{Charge, Debt};

/// When the instruction is done that a chain follows; of a load or a store, when it is done itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// Then.
    At(Time),
    /// So long after the value of a miss.
    After(MissId, Duration),
    /// When the store that waits for the line of a miss, which a load asked for, is done.
    Stored(MissId),
}

/// Consecutive instructions in the window, each done `step` after the one before: a load or a store, or a chain of dependent work.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// Number of the first of them.
    first: u64,
    count: u64,
    /// When the one before them is done; of a load or a store, when it is done itself.
    start: Start,
    step: Duration,
    /// What whoever waits for them waits for, and whom that is charged to.
    cause: Cause,
    debt: Debt,
}

impl InFlight {
    const fn charge(&self) -> Charge {
        Charge { cause: self.cause, debt: self.debt }
    }
}

/// What is in flight, but for when that is: how many instructions before the next it began and how many it has, how much earlier the
/// one before them was done, each how much later, and what whoever waits for them waits for.
pub(super) type Behind = (u64, u64, i64, Duration, Cause);

/// What is in flight, oldest first.
#[derive(Debug)]
pub(super) struct Window {
    /// Instructions at once.
    size: u64,
    /// The first instruction that may not issue before the oldest of those in flight is done.
    limit: u64,
    in_flight: VecDeque<InFlight>,
}

impl Window {
    /// An empty window of `size` instructions.
    pub fn new(size: u64) -> Self {
        Self { size, limit: u64::MAX, in_flight: VecDeque::with_capacity(size as usize + 2) }
    }

    /// How many more instructions may issue, the next of which has number `issued`, before one must be done.
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

    /// The oldest `count` of the first entry are done at `at` and leave.
    fn retire(&mut self, count: u64, at: Time) {
        if let Some(oldest) = self.in_flight.front_mut() {
            (oldest.first, oldest.count, oldest.start) = (oldest.first + count, oldest.count - count, Start::At(at));
            if oldest.count == 0 {
                self.in_flight.pop_front();
            }
            self.note_limit();
        }
    }

    /// A load or a store of instruction `number`, whose value is there at `at`.
    #[inline]
    pub fn enter(&mut self, number: u64, at: Time, cause: Cause) {
        let (start, debt) = (Start::At(at), Debt::NONE);
        self.push(InFlight { first: number, count: 1, start, step: Duration::ZERO, cause, debt });
    }

    /// The access of instruction `number` waits for a miss.
    pub fn enter_miss(&mut self, number: u64, miss: MissId, Charge { cause, debt }: Charge) {
        let start = Start::After(miss, Duration::ZERO);
        self.push(InFlight { first: number, count: 1, start, step: Duration::ZERO, cause, debt });
    }

    /// The store of instruction `number` waits for a line that a load has asked for.
    pub fn enter_store(&mut self, number: u64, miss: MissId, debt: Debt) {
        let (start, cause) = (Start::Stored(miss), Cause::Write(Service::default()));
        self.push(InFlight { first: number, count: 1, start, step: Duration::ZERO, cause, debt });
    }

    /// `count` instructions from number `first` on, each `step` after the one before, the first so much after `start`. They
    /// lengthen the chain that was entered last if they belong to it.
    fn chain(&mut self, first: u64, count: u64, start: Start, step: Duration) {
        if let Some(last) = self.in_flight.back_mut()
            && last.cause == Cause::Work
            && last.first + last.count == first
            && later(last.start, last.step * last.count) == start
        {
            last.count += count;
            return;
        }
        self.push(InFlight { first, count, start, step, cause: Cause::Work, debt: Debt::NONE });
    }

    /// The value of `miss`, served as `service` says, is there at `at`; `stored` says whether a store that waits for its line can
    /// be done with it.
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

    /// When everything in flight is done, and what takes longest.
    ///
    /// # Errors
    /// A miss of which that is not known yet.
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

    /// What is in flight, by how many instructions and how much time it is behind the next to issue. None if anything waits for a miss.
    pub fn since(&self, issued: u64, since: impl Fn(Time) -> i64) -> Option<Vec<Behind>> {
        let told = |entry: &InFlight| match entry.start {
            Start::At(at) => Some((issued - entry.first, entry.count, since(at), entry.step, entry.cause)),
            Start::After(..) | Start::Stored(_) => None,
        };
        self.in_flight.iter().map(told).collect()
    }

    /// So many instructions have come in so much time, in rounds that are all alike.
    pub fn pass(&mut self, issued: u64, time: Duration) {
        for entry in &mut self.in_flight {
            entry.first += issued;
            if let Start::At(at) = &mut entry.start {
                *at += time;
            }
        }
        self.note_limit();
    }

    /// Forgets everything, all of which is done.
    pub fn clear(&mut self) {
        self.in_flight.clear();
        self.note_limit();
    }

    /// When the oldest instruction is done, what it is, and how many more like it follow, each how much later.
    fn oldest(&self) -> Option<InFlight> {
        self.in_flight.front().copied()
    }
}

/// `start`, so much later.
fn later(start: Start, delay: Duration) -> Start {
    match start {
        Start::At(at) => Start::At(at + delay),
        Start::After(miss, before) => Start::After(miss, before + delay),
        Start::Stored(miss) => Start::Stored(miss),
    }
}

impl Processor {
    /// Waits until the next instruction may issue: until the one a window behind it is done.
    ///
    /// # Errors
    /// What to wait for.
    #[inline]
    pub(super) fn take_place(&mut self) -> Result<(), Wait> {
        while self.window.room(self.issued) == 0 {
            self.retire_oldest(1)?;
        }
        Ok(())
    }

    /// The oldest `most` instructions in flight, or as many of them as are in one entry, are done; as many new ones as they are
    /// have issued, but for the last. Returns how many.
    fn retire_oldest(&mut self, most: u64) -> Result<u64, Wait> {
        let Some(oldest) = self.window.oldest() else { return Ok(0) };
        let start = match oldest.start {
            Start::At(start) => start,
            Start::After(miss, _) | Start::Stored(miss) => return Err(Wait::Value(miss)),
        };
        let count = most.min(oldest.count);
        let at = start + oldest.step * count;
        self.window.retire(count, at);
        // Each issues as soon as the one a window before it is done, and no faster than the processor issues.
        self.time += self.timing.issue * (count - 1);
        self.wait_until(at, oldest.charge());
        self.issued += count - 1;
        Ok(count)
    }

    /// Issues up to `count` instructions that are done as soon as they issue; `count` is what is left to issue.
    ///
    /// # Errors
    /// What to wait for before going on with the rest.
    #[inline]
    pub fn instructions(&mut self, count: &mut u32) -> Result<(), Wait> {
        let room = self.window.room(self.issued);
        if u64::from(*count) <= room {
            self.issue(u64::from(*count));
            *count = 0;
            return Ok(());
        }
        self.squeeze(count)
    }

    #[inline(never)]
    fn squeeze(&mut self, count: &mut u32) -> Result<(), Wait> {
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

    /// Nothing issues for `slots` issue slots, because what comes next waits for its operands. What is in flight goes on.
    #[inline]
    pub fn stall(&mut self, slots: u32) {
        self.wait_until(self.time + self.timing.issue * u64::from(slots), Cause::Work);
    }

    #[inline]
    fn issue(&mut self, count: u64) {
        self.issued += count;
        self.time += self.timing.issue * count;
    }

    /// `cycles` core cycles of work on the value of the latest load, as so many dependent instructions; `cycles` is what is left
    /// to issue.
    ///
    /// # Errors
    /// What to wait for before going on with the rest.
    #[inline]
    pub fn work(&mut self, cycles: &mut u32) -> Result<(), Wait> {
        while *cycles > 0 {
            let room = self.window.room(self.issued);
            if room == 0 {
                self.take_place_for_work(cycles)?;
                continue;
            }
            let count = room.min(u64::from(*cycles)).min(self.timing.window);
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

    /// Makes room for more of a chain. When nothing else is in the window, it moves on as a whole: all but the last window of it
    /// is done when the last of it issues.
    fn take_place_for_work(&mut self, cycles: &mut u32) -> Result<(), Wait> {
        let Some(oldest) = self.window.oldest() else { return Ok(()) };
        let Start::At(start) = oldest.start else { return self.take_place() };
        let end = start + oldest.step * oldest.count;
        let whole = oldest.count == self.timing.window && oldest.cause == Cause::Work;
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
