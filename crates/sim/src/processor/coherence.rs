//! What the rest of the machine does to a processor: messages of the protocol, tag checks from outside, fills.

use protocol::{CacheContext, CacheLine, Mesi, Pending};
use units::{Duration, LineAddr, NodeId, Time};

use super::cache::Victim;
use super::misses::Writeback;
use super::{MissId, Processor};

impl Processor {
    /// What the protocol's handlers need to know about `line` at this processor.
    #[inline]
    pub fn context(&self, line: LineAddr) -> CacheContext {
        CacheContext { cpu: self.cpu, line, home: NodeId((line.0 >> self.home_shift) as u16), geometry: self.geometry }
    }

    /// The protocol's view of `line`, wherever it is: outstanding miss, writeback, or cache.
    pub fn line(&self, line: LineAddr) -> CacheLine {
        if let Some(miss) = self.miss_on(line).and_then(|id| self.miss(id)) {
            return miss.cache;
        }
        if let Some(writeback) = self.writebacks.iter().find(|writeback| writeback.line == line) {
            return writeback.cache;
        }
        match self.secondary.probe(line) {
            Some(found) => {
                CacheLine { state: found.state, version: self.secondary.version(found.slot), pending: Pending::None }
            }
            None => CacheLine::default(),
        }
    }

    /// Stores what a handler made of `line`. The primary cache follows.
    pub fn set_line(&mut self, line: LineAddr, cache: CacheLine) {
        if let Some(id) = self.miss_on(line) {
            let Some(miss) = self.miss_mut(id) else { return };
            let upgrade = miss.upgrade;
            miss.cache = cache;
            if upgrade {
                self.clear_primary(line, cache.state);
            }
            return;
        }
        if let Some(at) = self.writebacks.iter().position(|writeback| writeback.line == line) {
            match cache.pending {
                Pending::None => drop(self.writebacks.remove(at)),
                _ => self.writebacks[at].cache = cache,
            }
            return;
        }
        if let Some(found) = self.secondary.probe(line) {
            self.secondary.update(found.slot, line, cache.state, cache.version);
            self.clear_primary(line, cache.state);
        }
        if cache.pending != Pending::None {
            self.writebacks.push(Writeback { line, cache });
        }
    }

    /// The blocks of `line` in the primary cache take `state`.
    pub(super) fn clear_primary(&mut self, line: LineAddr, state: Mesi) {
        let shift = self.timing.line_shift - self.timing.block_shift;
        for block in line.0 << shift..(line.0 + 1) << shift {
            self.primary.set_state(block, state);
        }
    }

    /// A tag check for the system (intervention or invalidation) at `now`: when the answer is known. The predicted way is
    /// tried first; a line that sits in the other one, or nowhere, takes a second access (Prestor 2001, 4.3.3).
    pub fn snoop(&mut self, line: LineAddr, now: Time) -> Time {
        let start = self.bus.start(now, self.timing.secondary_grid);
        let first = self.secondary.probe(line).is_some_and(|found| found.predicted);
        let length = self.timing.tag_check + if first { Duration::ZERO } else { self.timing.other_way };
        self.bus.hold(start, length);
        start + length
    }

    /// When this processor has answered an invalidation of `line` that reaches it at `now`. One that has itself asked for
    /// the line checks its tags and its request first; others take the invalidation in without making anybody wait.
    pub fn answer_invalidation(&mut self, line: LineAddr, now: Time) -> Time {
        let checked = self.snoop(line, now);
        if self.miss_on(line).is_some() { checked + self.timing.own_invalidation } else { now }
    }

    /// Reads a whole line out for the system, from `now` on: when its first part is at the pins.
    pub fn read_out(&mut self, now: Time) -> Time {
        let start = self.bus.start(now, self.timing.secondary_grid);
        self.bus.hold(start, self.timing.line_read);
        start + self.timing.line_read
    }

    /// The data of miss `id` cross the system bus from `first` on, `line` long: books the secondary cache bus and returns
    /// when the end of the line is in the cache.
    pub fn book_fill(&mut self, id: MissId, now: Time, first: Time, line: Duration) -> Time {
        let end = self.bus.book_fill(now, first, line, &self.timing);
        if let Some(miss) = self.miss_mut(id) {
            miss.fill_end = end;
        }
        end
    }

    /// The data of miss `id` are in the incoming buffer, where they stay until the request is complete (MIPS R10000 User's
    /// Manual 2.0, section 6.10).
    pub fn buffer(&mut self, id: MissId) {
        if let Some(miss) = self.miss_mut(id) {
            miss.buffered = true;
        }
    }

    /// Miss `id` is complete at `now`: a line in the incoming buffer goes on to the cache, as fast as the cache takes it.
    /// Returns when its end is there.
    pub fn unbuffer(&mut self, id: MissId, now: Time) -> Time {
        match self.miss(id) {
            Some(miss) if miss.buffered => self.book_fill(id, now, now, self.timing.line_read),
            _ => now,
        }
    }

    /// From the critical data at the pins to the instruction that uses them.
    pub fn data_to_use(&self) -> Duration {
        self.timing.data_to_use
    }

    /// The lines in the secondary cache.
    pub fn copies(&self) -> impl Iterator<Item = Victim> + '_ {
        self.secondary.lines()
    }

    /// Counts a negative acknowledgement.
    pub fn count_refusal(&mut self) {
        self.counters.refusals += 1;
    }
}
