//! Pages that move: copies and translations that a processor gives up, and misses that end in a bus error and are redirected to
//! the page's new frame.

use protocol::CopyState;
use units::{LineAddr, Time, VirtualAddr};

use super::{Miss, MissId, PostKind, Processor};
use crate::account::Cause;
use crate::part::CachedCopy;

impl Processor {
    /// The node transfers a page and takes the processor's own copy of `line`; a modified one is read out from `now` on. Returns the
    /// copy, and the time at which it is at the pins.
    pub fn give_up(&mut self, line: LineAddr, now: Time) -> (CachedCopy, Time) {
        let copy = self.copy(line);
        if !copy.state.is_valid() {
            return (copy, now);
        }
        self.set_copy(line, CachedCopy { state: CopyState::INVALID, ..copy }, false);
        if !copy.state.is_dirty() {
            return (copy, now);
        }
        self.counters.writebacks += 1;
        self.writebacks.push(line);
        (copy, self.read_out(now))
    }

    /// The TLB drops its entry for `at`: the next reference to it traps.
    pub fn drop_translation(&mut self, at: VirtualAddr) {
        let entry = at.0 >> self.timing.page_shift;
        self.tlb.remove(self.translations.tag(at.0, entry));
    }

    /// Drops all entries of the TLB: translations have been taken away.
    pub fn drop_translations(&mut self) {
        self.tlb.clear();
    }

    /// Whether a miss on one of the lines selected by `concerned` is outstanding.
    pub fn has_miss(&self, concerned: impl Fn(LineAddr) -> bool) -> bool {
        self.misses.iter().any(|(_, miss)| concerned(miss.line))
    }

    /// Miss `id` has ended in a bus error. It stays outstanding until the operating system has redirected it, despite
    /// any other message about its line.
    pub fn trap_miss(&mut self, id: MissId) {
        if let Some(miss) = self.miss_mut(id) {
            (miss.trapped, miss.requested, miss.granted) = (true, true, false);
        }
    }

    /// Whether miss `id` has ended in a bus error.
    pub fn has_trapped(&self, id: MissId) -> bool {
        self.miss(id).is_some_and(|miss| miss.trapped)
    }

    /// Whether miss `id` is for a store, or a store waits for its line.
    pub fn stores(&self, id: MissId) -> bool {
        self.miss(id).is_some_and(|miss| miss.access.writes() || miss.then_store)
    }

    /// The misses, on lines selected by `concerned`, that no controller has granted.
    pub fn ungranted(&self, concerned: impl Fn(LineAddr) -> bool) -> Vec<MissId> {
        let waits = |&(_, miss): &(MissId, &Miss)| !miss.is_granted() && concerned(miss.line);
        self.misses.iter().filter(waits).map(|(id, _)| id).collect()
    }

    /// Whether miss `id` can be redirected to `line` now: a page whose colour changes needs a slot in another set.
    pub fn can_redirect(&self, id: MissId, line: LineAddr) -> bool {
        let Some(miss) = self.miss(id) else { return true };
        let reserved = |place| self.misses.reserves(place);
        self.keeps_place(miss, line) || self.caches.has_room(self.caches.entry(), line.0, &reserved)
    }

    /// Whether the place reserved for a miss is one that `line` can have.
    fn keeps_place(&self, miss: &Miss, line: LineAddr) -> bool {
        miss.place.is_some_and(|place| self.caches.keeps(place, miss.line.0, line.0))
    }

    /// Miss `id`, which ended in a bus error and finds every slot of its new set reserved, releases its own: two misses whose pages
    /// exchange their colours would otherwise wait for each other's slots for ever.
    pub fn release_slot(&mut self, id: MissId) {
        let place = self.miss_mut(id).and_then(|miss| miss.place.take());
        // An upgrade reserved the slot of its shared copy.
        if let Some(place) = place {
            self.caches.empty(place);
        }
    }

    /// Redirects miss `id`, which ended in a bus error, to `line`, with a new request at `at`. False if other misses have reserved
    /// every slot of its set.
    pub fn redirect_miss(&mut self, id: MissId, line: LineAddr, at: Time) -> bool {
        let Some(&miss) = self.miss(id) else { return true };
        let mut place = miss.place;
        if !self.keeps_place(&miss, line) {
            let Some(room) = self.make_room(self.caches.entry(), line) else { return false };
            place = Some(room);
            while let Some(victim) = self.caches.take_leaving() {
                self.wait_until(at, Cause::System);
                self.evict(victim, self.time);
            }
        }
        self.release_slot(id);
        let shift = self.timing.line_shift - self.timing.block_shift;
        self.misses.rename(id, line);
        let Some(miss) = self.miss_mut(id) else { return true };
        miss.block = line.0 << shift | miss.block & ((1 << shift) - 1);
        (miss.line, miss.place, miss.copy) = (line, place, CachedCopy::default());
        (miss.trapped, miss.upgrade, miss.requested, miss.granted) = (false, false, true, false);
        (miss.buffered, miss.value_at, miss.refusals) = (false, None, 0);
        let access = miss.access;
        self.post(at, PostKind::Request(access), line, CachedCopy::default());
        true
    }
}
