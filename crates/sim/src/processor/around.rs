//! Stores to private data that go around the caches, to memory (Hexsel and Topham, Section 4, The Simulated Multiprocessor: no
//! block allocation on write misses).

use protocol::{CopyState, Version};
use units::Time;

use super::{Miss, MissId, Processor};
use crate::part::CachedCopy;

impl Processor {
    /// The store of miss `id` goes around the caches: memory performs it at `now`, and has the contents `version` then.
    pub fn store_around(&mut self, id: MissId, version: Version, now: Time) {
        let Some(miss) = self.miss_mut(id) else { return };
        (miss.requested, miss.granted) = (false, true);
        let line = miss.line;
        self.report_store_around(line, CachedCopy { state: CopyState::MODIFIED, version }, now);
    }

    /// The store of miss `id` cannot go around the caches, and its line is requested instead: reserves a place for it, and evicts
    /// what that displaces from `now` on. False if other misses have reserved every slot of its set, or too many lines leave.
    pub fn go_through(&mut self, id: MissId, now: Time) -> bool {
        let Some(&Miss { line, .. }) = self.miss(id) else { return true };
        if self.writeback_room().is_err() {
            return false;
        }
        let Some(place) = self.make_room(self.caches.entry(), line) else { return false };
        if let Some(miss) = self.miss_mut(id) {
            (miss.place, miss.around) = (Some(place), false);
        }
        self.evict_displaced(now);
        true
    }
}
