//! References that hit in a level beyond the primary cache, and stores that leave for the write buffer.

use protocol::Access;
use units::{Duration, Time};

use super::{MissId, Processor, Wait};
use crate::account::Cause;
use crate::part::{Completion, Place};

impl Processor {
    /// The innermost level that an access can still hit in when it was no plain hit in the primary cache.
    #[inline]
    pub(super) fn first_level_beyond(&self) -> usize {
        usize::from(!self.timing.special_hits && !self.caches.is_holder(0))
    }

    /// The additional time of a tag check of the line of `block` in `level`, if it is not in the predicted way.
    #[inline]
    fn wrong_way(&mut self, level: usize, block: u64) -> Duration {
        let predicted = self.caches.look_up(level, block).is_some_and(|(_, predicted)| predicted);
        if predicted { Duration::ZERO } else { self.timing.levels[level].other_way }
    }

    /// A reference to `block` that misses in the primary cache checks the tags of the levels beyond it, before level `end`. Returns
    /// when the last check is done.
    #[inline]
    pub(super) fn check_tags(&mut self, block: u64, end: usize) -> Time {
        let mut ready = self.translated() + self.timing.primary_hit;
        for level in 1..end {
            let (start, wrong_way) =
                (self.buses[level].start(ready, self.timing.levels[level].grid), self.wrong_way(level, block));
            let timing = &self.timing.levels[level];
            self.buses[level].hold(start, timing, wrong_way);
            ready = start + timing.tag_check + wrong_way;
        }
        ready
    }

    /// An access that hits in `level`.
    pub(super) fn hit_in(&mut self, level: usize, block: u64, access: Access) {
        let line = self.line_of_block(block);
        self.count_hit(level, block);
        let ready = self.check_tags(block, level);
        let timing = self.timing.levels[level];
        let start = if level == 0 { ready } else { self.buses[level].start(ready, timing.grid) };
        let Some((found, predicted)) = self.caches.look_up(level, block) else { return };
        let wrong_way = if predicted { Duration::ZERO } else { timing.other_way };
        let state = found.state.after(access).unwrap_or(found.state);
        let holds = self.caches.is_holder(level);
        let version = if holds { self.caches.version(level, found.slot) } else { Default::default() };
        let version = if access == Access::Store { version.next() } else { version };
        if holds {
            self.caches.update(Place { level: level as u8, slot: found.slot }, line.0, state, version);
        }
        if self.probe.is_active() {
            self.report_outer_hit(line, access, holds);
        }
        let value_at = start + wrong_way + timing.hit;
        let misses = &self.misses;
        let reserved = |place| misses.reserves(place);
        self.caches.bring_in((block, level), (state, version), access.writes(), &reserved, &mut self.random);
        let mut longer = wrong_way + if access == Access::Store { timing.store } else { Duration::ZERO };
        if level > 0 {
            longer += timing.inner_writeback * u64::from(self.write_displaced(level, value_at));
            self.buses[level].hold(start, &timing, longer);
        }
        self.settle_hit(
            level,
            block,
            access,
            value_at,
            if level == 0 { value_at } else { start + timing.tag_check + longer },
        );
        self.evict_displaced(self.time);
    }

    /// Counts an access that hits in `level`. A store that a primary cache passes on is no miss of it.
    fn count_hit(&mut self, level: usize, block: u64) {
        let missed = level > 0 && !(self.timing.hierarchy.specs[0].through && self.caches.probe(0, block).is_some());
        self.counters.primary_misses += u64::from(missed);
        self.counters.middle_hits += u64::from(missed && level < self.timing.outermost);
    }

    /// Completes the issue of an access that hits in `level`: `value_at` is the time of its value, `written` that of a store.
    fn settle_hit(&mut self, level: usize, block: u64, access: Access, value_at: Time, written: Time) {
        let is_store = access == Access::Store;
        let cause = match level {
            0 => Cause::PrimaryCache,
            _ if self.private => Cause::private(is_store),
            _ if is_store && self.timing.hierarchy.specs[0].through => Cause::WriteThrough,
            _ => Cause::cache(level),
        };
        if let Some(due) = self.following {
            return self.settle_following(due, value_at, cause);
        }
        if is_store && level > 0 && self.stores.is_present() {
            self.stores.enter(block, Completion::At(written));
        } else if self.timing.blocking {
            self.window.enter(self.issued, if is_store { written } else { value_at }, cause);
        } else if access == Access::Load && level > 0 {
            // Instructions leave the window in order, so a stream of hits here is limited by this cache's bus.
            self.window.enter(self.issued, value_at, cause);
        } else if is_store && self.timing.hierarchy.specs[..level].iter().any(|inside| inside.through) {
            self.window.enter(self.issued, written, cause);
        }
        self.retire(access, value_at, cause);
    }

    /// The lines that the levels have displaced into each other since the last call are written from `from` on, and the levels
    /// inside `level` are filled. Returns those written into `level`, whose access has its bus.
    pub(super) fn write_displaced(&mut self, level: usize, from: Time) -> u32 {
        let written = self.caches.take_written();
        let own = if level > 0 { written[level] } else { 0 };
        if self.timing.outermost == 1 && self.caches.is_plain() {
            return own;
        }
        for (number, &lines) in written.iter().enumerate().skip(1) {
            let timing = &self.timing.levels[number];
            if number < level {
                self.buses[number].book_fill(self.time, from, timing.line_read, timing);
            }
            if number != level {
                let length = timing.inner_writeback * u64::from(lines);
                self.buses[number].reserve(self.time, from, length);
            }
        }
        own
    }

    /// Whether the write buffer serves a load. A store waits for room in it.
    ///
    /// # Errors
    /// The event to wait for before the store is attempted again.
    pub(super) fn is_forwarded(&mut self, block: u64, access: Access) -> Result<bool, Wait> {
        match access {
            Access::Store => self.buffer_room().map(|()| false),
            Access::Load if self.stores.holds(block, self.time) => {
                self.counters.forwarded += 1;
                self.retire(access, self.time + self.timing.primary_hit, Cause::PrimaryCache);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Waits for room in the write buffer.
    fn buffer_room(&mut self) -> Result<(), Wait> {
        while let Some(obstacle) = self.stores.obstacle(self.time) {
            match obstacle {
                Completion::With(number) => return Err(Wait::value_of(MissId(number))),
                Completion::At(at) => self.wait_until(at, Cause::WriteBuffer),
            }
        }
        if self.time >= self.horizon { Err(Wait::Until(self.time)) } else { Ok(()) }
    }
}
