//! Lines that come into the caches, and lines that leave them.

use units::{Bytes, LineAddr, Time};

use super::{Miss, PostKind, Processor, ProcessorTiming, Wait};
use crate::part::{CachedCopy, Others, Place, Victim, is_of_others};

/// The lines of others in the outermost cache of a processor, if there are any.
pub(super) fn others(timing: &ProcessorTiming) -> Option<Others> {
    let sets = timing.hierarchy.specs[timing.outermost].cache.sets;
    Others::new(timing.others_mb_per_s, Bytes(1 << timing.line_shift), sets, sets)
}

impl Processor {
    /// Frees a slot of `level` for `line`. `None` if misses have reserved every slot.
    #[inline]
    pub(super) fn make_room(&mut self, level: usize, line: LineAddr) -> Option<Place> {
        let misses = &self.misses;
        self.caches.make_room(level, line.0, &|place| misses.reserves(place), &mut self.random)
    }

    /// The lines of others take their places in the set of a line of the coherent level that is looked for.
    #[cold]
    pub(super) fn let_others_in(&mut self, line: LineAddr) {
        let level = self.timing.outermost;
        let Some(others) = &mut self.others else { return };
        let left = others.came(self.caches.cache(level).set_and_ways(line.0), self.time, &mut self.random);
        for _ in 0..left {
            let Some(place) = self.make_room(level, line) else { break };
            Others::occupy(self.caches.cache(level), place.slot);
        }
        self.evict_displaced(self.time);
    }

    /// Requires room for another evicted line. An access that moves lines between levels may exceed it by their number, and lines of others
    /// by those that they displace.
    ///
    /// # Errors
    /// The writeback to wait for.
    #[inline]
    pub(super) fn writeback_room(&self) -> Result<(), Wait> {
        match self.writebacks.first() {
            Some(&oldest) if self.writebacks.len() >= self.timing.misses => Err(Wait::Writeback(oldest)),
            _ => Ok(()),
        }
    }

    /// Evicts the lines that have left every level, from `at` on.
    #[inline]
    pub(super) fn evict_displaced(&mut self, at: Time) {
        while let Some(victim) = self.caches.take_leaving() {
            self.evict(victim, at);
        }
    }

    /// Evicts a line that no cache has, from `at` on. A modified line is read out for the writeback; a clean one is announced to
    /// the controller if that requires it.
    pub(super) fn evict(&mut self, victim: Victim, at: Time) {
        let line = LineAddr(victim.line);
        if is_of_others(line) {
            return;
        }
        self.lose(line, true);
        let mut at = at;
        if victim.state.is_dirty() {
            self.counters.writebacks += 1;
            at = self.read_out(at);
            self.writebacks.push(line);
        } else if !self.announces_clean {
            return;
        }
        self.post(at, PostKind::Evict, line, CachedCopy { state: victim.state, version: victim.version });
    }

    /// The value of a miss on `block` is available at `at` and its line in the coherent level at `fill_end`: frees the block's slot
    /// in the primary cache, and reserves the buses of the levels inside the coherent one.
    pub(super) fn make_way_inside(&mut self, block: u64, writes: bool, at: Time, fill_end: Time) {
        if !self.caches.fills_included_primary(block, writes) {
            return;
        }
        let dirty = self.caches.free_primary(block, &mut self.random);
        let timing = &self.timing.levels[1];
        if self.timing.outermost == 1 {
            if dirty {
                self.buses[1].book_primary_writeback(at, fill_end, timing);
            }
            return;
        }
        self.buses[1].book_fill(self.time, at, timing.line_read, timing);
        if dirty {
            self.buses[1].reserve(self.time, at, timing.inner_writeback);
        }
    }

    /// Places the line of a completed miss in the caches, and evicts what it displaces, at `now`.
    pub(super) fn place_line(&mut self, miss: &Miss, now: Time) {
        let CachedCopy { state, version } = miss.copy;
        if let Some(place) = miss.place {
            self.caches.place(place, miss.line.0, state, version);
            if !self.caches.is_plain() {
                self.caches.set_held(miss.line.0, state, version);
            }
        }
        if miss.upgrade {
            self.caches.set_filters(miss.line.0, state);
        }
        if !state.is_valid() || miss.stays_outside() {
            return;
        }
        let level = miss.place.map_or(self.timing.outermost, |place| usize::from(place.level));
        let misses = &self.misses;
        let reserved = |place| misses.reserves(place);
        self.caches.bring_in((miss.block, level), (state, version), miss.writes, &reserved, &mut self.random);
        let written = self.caches.take_written();
        // The primary cache has made way when the value arrived, unless no other level includes it.
        let first = if self.caches.is_included_primary() { 2 } else { 1 };
        for (number, &lines) in written.iter().enumerate().skip(first) {
            let length = self.timing.levels[number].inner_writeback * u64::from(lines);
            self.buses[number].reserve(now, now, length);
        }
        self.evict_displaced(now);
    }

    /// Whether messages to its controller wait.
    #[inline]
    pub fn has_posts(&self) -> bool {
        !self.posts.is_empty()
    }

    /// Evicts the lines of the caches one after another, from `cursor` on, up to the first that must be written back. Returns the
    /// cursor to continue with, `None` at the end.
    ///
    /// # Errors
    /// The event to wait for: complete misses, or acknowledged writebacks.
    pub fn drop_lines(&mut self, cursor: usize) -> Result<Option<usize>, Wait> {
        if self.is_missing() {
            return Err(Wait::AllMisses);
        }
        // Misses of the core's other threads have lines to upgrade, and places for others.
        if !self.misses.is_empty() {
            return Err(Wait::AnyMiss);
        }
        if self.time >= self.horizon {
            return Err(Wait::Until(self.time));
        }
        self.writeback_room()?;
        let Some((victim, next)) = self.caches.take_from(cursor) else {
            self.caches.clear_filters();
            self.tlb.clear();
            return Ok(None);
        };
        self.caches.clear(victim.line);
        self.evict(victim, self.time);
        Ok(Some(next))
    }
}
