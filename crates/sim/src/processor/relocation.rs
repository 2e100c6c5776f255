//! Misses on lines whose page has moved: they end in a bus error, and go on where the page is now.

use protocol::CopyState;
use units::{LineAddr, Time};

use super::{Ask, CachedCopy, Cause, Miss, MissId, Processor};

impl Processor {
    /// The copy engine takes the processor's own copy of `line`, which it then no longer has; a modified one is read out for it from
    /// `now` on. Returns what the copy was and when it is at the pins.
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

    /// Miss `id` has ended in a bus error. It stays outstanding until the operating system has said where its page is, whatever else
    /// is heard of its line.
    pub fn trap_miss(&mut self, id: MissId) {
        if let Some(miss) = self.miss_mut(id) {
            (miss.trapped, miss.requested, miss.granted) = (true, true, false);
        }
    }

    /// Whether miss `id` has ended in a bus error.
    pub fn has_trapped(&self, id: MissId) -> bool {
        self.miss(id).is_some_and(|miss| miss.trapped)
    }

    /// The misses on lines of which `concerned` says so, that no controller has granted.
    pub fn ungranted(&self, concerned: impl Fn(LineAddr) -> bool) -> Vec<MissId> {
        let waits = |&(_, miss): &(MissId, &Miss)| !miss.is_granted() && concerned(miss.line);
        self.misses.iter().filter(waits).map(|(id, _)| id).collect()
    }

    /// Whether miss `id` can be for `line` instead now: a page that changes its colour needs another place in the cache.
    pub fn can_redirect(&self, id: MissId, line: LineAddr) -> bool {
        let Some(miss) = self.miss(id) else { return true };
        self.keeps_place(miss, line) || self.secondary.places(line.0).any(|slot| !self.misses.reserves(slot))
    }

    /// Whether the place that is kept for a miss is one that `line` can have.
    fn keeps_place(&self, miss: &Miss, line: LineAddr) -> bool {
        miss.slot.is_some() && self.secondary.shares_set(miss.line.0, line.0)
    }

    /// Miss `id`, which ended in a bus error and finds every place taken that it could have now, keeps none: else two misses whose
    /// pages exchange their colours would wait for each other's places for ever.
    pub fn leave_place(&mut self, id: MissId) {
        let slot = self.miss_mut(id).and_then(|miss| miss.slot.take());
        // An upgrade kept the place of the copy that it had.
        if let Some(slot) = slot {
            self.secondary.empty(slot);
        }
    }

    /// Miss `id`, which ended in a bus error, is for `line` instead, and is asked for at `at`. False if another has taken the place
    /// that it could have had.
    pub fn redirect_miss(&mut self, id: MissId, line: LineAddr, at: Time) -> bool {
        let Some(&miss) = self.miss(id) else { return true };
        let mut slot = miss.slot;
        if !self.keeps_place(&miss, line) {
            let misses = &self.misses;
            let room = self.secondary.make_room(line.0, |slot| misses.reserves(slot), &mut self.random);
            let Some((room, victim)) = room else { return false };
            slot = Some(room);
            if let Some(victim) = victim {
                self.wait_until(at, Cause::System);
                self.evict(victim);
            }
        }
        self.leave_place(id);
        let shift = self.timing.line_shift - self.timing.block_shift;
        self.misses.rename(id, line);
        let Some(miss) = self.miss_mut(id) else { return true };
        miss.block = line.0 << shift | miss.block & ((1 << shift) - 1);
        (miss.line, miss.slot, miss.copy) = (line, slot, CachedCopy::default());
        (miss.trapped, miss.upgrade, miss.requested, miss.granted) = (false, false, true, false);
        (miss.buffered, miss.value_at, miss.refusals) = (false, None, 0);
        let access = miss.access;
        self.post(at, Ask::Request(access), line, CachedCopy::default());
        true
    }
}
