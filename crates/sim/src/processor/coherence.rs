//! Coherence actions on a processor: changes of its copies, external tag checks, fills.

use units::{Duration, LineAddr, Time};

use super::{MissId, Processor};
use crate::part::{CachedCopy, Victim, is_of_others};

impl Processor {
    /// The processor's copy of `line`, in its caches or in an outstanding miss.
    #[inline]
    pub fn copy(&self, line: LineAddr) -> CachedCopy {
        if let Some(miss) = self.miss_on(line).and_then(|id| self.miss(id)) {
            return miss.copy;
        }
        CachedCopy::of(self.caches.find(line.0))
    }

    /// Sets the copy as the controller's protocol handler left it; `requested` says whether an answer to its request is
    /// outstanding. The inner levels follow.
    #[inline]
    pub fn set_copy(&mut self, line: LineAddr, copy: CachedCopy, requested: bool) {
        if !copy.state.is_valid() {
            self.note_departure(line);
        }
        if let Some(id) = self.miss_on(line) {
            let Some(miss) = self.miss_mut(id) else { return };
            let (upgrade, before, requested) = (miss.upgrade, miss.copy.state, requested || miss.trapped);
            let granted = !requested && !miss.granted;
            (miss.copy, miss.requested, miss.granted) = (copy, requested, !requested);
            if upgrade {
                self.caches.set_filters(line.0, copy.state);
            }
            if granted {
                self.report_grant(line);
            }
            if !copy.state.is_valid() && (granted || before.is_valid()) {
                self.lose(line, false);
            }
        } else if let Some(held) = self.caches.find(line.0) {
            self.caches.update(held.place, line.0, copy.state, copy.version);
            self.caches.set_filters(line.0, copy.state);
            if !copy.state.is_valid() && held.state.is_valid() {
                self.lose(line, false);
            }
        }
    }

    /// A line leaves the caches, evicted or taken by another processor.
    pub(super) fn lose(&mut self, line: LineAddr, evicted: bool) {
        self.note_unused(line);
        self.report_departure(line, evicted);
    }

    /// Sets whether the answer to a granted miss is still outstanding for the processor, whose behaviour must not
    /// depend on when its controller decided the grant.
    pub fn await_answer(&mut self, id: MissId, awaited: bool) {
        if let Some(miss) = self.miss_mut(id) {
            miss.requested = awaited;
        }
    }

    /// The controller releases an evicted line, which may then be requested again.
    pub fn release_writeback(&mut self, line: LineAddr) {
        self.writebacks.retain(|&other| other != line);
    }

    /// Whether the line is evicted and its controller has not released it.
    pub fn is_writing_back(&self, line: LineAddr) -> bool {
        self.writebacks.contains(&line)
    }

    /// An external tag check, for an intervention or invalidation, at `now`. Returns when its result is available. The
    /// predicted way is checked first; a line in the other way, or absent, takes a second access (Prestor 2001, 4.3.3).
    pub fn snoop(&mut self, line: LineAddr, now: Time) -> Time {
        let level = self.timing.coherent();
        let bus = &mut self.buses[self.timing.outermost];
        let start = bus.start(now, level.grid);
        let wrong_way = if self.caches.predicts(line.0) { Duration::ZERO } else { level.other_way };
        bus.hold(start, level, wrong_way);
        start + level.tag_check + wrong_way
    }

    /// The time at which this processor has answered an invalidation of `line` that arrives at `now`. With a miss on
    /// the line outstanding, it checks its tags and its miss registers first; otherwise it buffers the invalidation and
    /// answers at once.
    pub fn answer_invalidation(&mut self, line: LineAddr, now: Time) -> Time {
        let checked = self.snoop(line, now);
        if self.miss_on(line).is_some() { checked + self.timing.own_invalidation } else { now }
    }

    /// Reads a whole line out for the system, from `now` on. Returns when its first part is at the pins.
    pub fn read_out(&mut self, now: Time) -> Time {
        let level = self.timing.coherent();
        let bus = &mut self.buses[self.timing.outermost];
        let start = bus.start(now, level.grid);
        bus.hold_read(start, level.line_read);
        start + level.line_read
    }

    /// The data of miss `id` cross the system bus from `first` on, for `line`: reserves the bus of the coherent level.
    /// Returns when the end of the line is in the cache.
    pub fn book_fill(&mut self, id: MissId, now: Time, first: Time, line: Duration) -> Time {
        let end = self.buses[self.timing.outermost].book_fill(now, first, line, self.timing.coherent());
        if let Some(miss) = self.miss_mut(id) {
            miss.fill_end = end;
        }
        end
    }

    /// The data of miss `id` are in the incoming buffer, where they stay until the request is complete (MIPS R10000
    /// User's Manual 2.0, section 6.10).
    pub fn buffer(&mut self, id: MissId) {
        if let Some(miss) = self.miss_mut(id) {
            miss.buffered = true;
        }
    }

    /// Miss `id` is complete at `now`: a line in the incoming buffer is filled at the speed of the cache. Returns when
    /// its end is in the cache.
    pub fn unbuffer(&mut self, id: MissId, now: Time) -> Time {
        match self.miss(id) {
            Some(miss) if miss.buffered => self.book_fill(id, now, now, self.timing.coherent().line_read),
            _ => now,
        }
    }

    /// From the critical data at the pins to the instruction that uses them.
    pub fn data_to_use(&self) -> Duration {
        self.timing.data_to_use
    }

    /// From the critical data of a miss at the pins to its value: to the instruction that uses them, or, of a store in the write
    /// buffer, which no instruction waits for, none.
    pub fn data_to_value(&self, id: MissId) -> Duration {
        let buffered = self.timing.write_buffer > 0 && self.miss(id).is_some_and(|miss| miss.writes);
        if buffered { Duration::ZERO } else { self.timing.data_to_use }
    }

    /// The lines in the caches.
    pub fn copies(&self) -> impl Iterator<Item = Victim> + '_ {
        self.caches.lines().filter(|victim| !is_of_others(LineAddr(victim.line)))
    }

    /// Counts a NACK of the request for `line`.
    pub fn count_nack(&mut self, line: LineAddr) {
        self.counters.refusals += 1;
        let Some(id) = self.miss_on(line) else { return };
        let Some(miss) = self.miss_mut(id) else { return };
        miss.refusals += 1;
        let count = miss.refusals;
        self.report_nack(line, count);
    }
}
