//! The private cache levels of a processor: one to three, innermost first, each in a relation to the level outside it.
//!
//! The outermost level is the coherent one: its lines are the unit of coherence, and every state that a protocol gives a line
//! is that of the whole line. The levels that hold the state and the data of lines are the *holders*: the outermost level, and
//! the levels inside it that it does not include, whose lines are therefore as long. The other levels are filters, whose
//! tags mirror the states of lines that a holder has.

use std::rc::Rc;

use machine::description::{Inclusion, MOST_CACHE_LEVELS};
use protocol::{Access, CopyState, Version};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cache::Found;
use super::{Cache, LevelSpec, Levels, Slot, Victim};

/// A position in a hierarchy: level and slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The level.
    pub level: u8,
    /// The slot in its cache.
    pub slot: Slot,
}

/// A line found in a holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Its place.
    pub place: Place,
    /// Its state.
    pub state: CopyState,
    /// The version of its data.
    pub version: Version,
}

/// Lines written into each level by the level inside.
pub type Written = [u32; MOST_CACHE_LEVELS];

/// The state of the levels.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    caches: [Cache; MOST_CACHE_LEVELS],
    levels: Rc<Levels>,
    /// Lines that have left every level.
    leaving: Vec<Victim>,
    written: Written,
}

impl Hierarchy {
    /// Empty caches.
    pub fn new(levels: Rc<Levels>) -> Self {
        let cache = |level: usize| match level < levels.holder {
            true => Cache::of_tags(&levels.specs[level].cache),
            false => Cache::new(&levels.specs[level].cache),
        };
        let caches = std::array::from_fn(cache);
        Self { caches, levels, leaving: Vec::new(), written: [0; MOST_CACHE_LEVELS] }
    }

    /// The outermost level that receives a line from memory: the outermost one, or the first inside it that is not exclusive.
    pub fn entry(&self) -> usize {
        self.levels.entry
    }

    /// The cache of `level`.
    pub fn cache(&mut self, level: usize) -> &mut Cache {
        &mut self.caches[level]
    }

    /// Whether the outermost level is the only holder.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.levels.holder == self.levels.outermost
    }

    /// Looks up a block in the primary level. Returns its state, [`CopyState::INVALID`] on a miss.
    #[inline]
    pub fn use_primary(&mut self, block: u64) -> CopyState {
        self.caches[0].use_line(block)
    }

    /// The line of `block` in `level`.
    #[inline]
    fn line(&self, level: usize, block: u64) -> u64 {
        block >> self.levels.specs[level].shift
    }

    /// Probes `level` for the line of `block`.
    #[inline]
    pub fn probe(&self, level: usize, block: u64) -> Option<Found> {
        self.caches[level].probe(self.line(level, block))
    }

    /// Looks up the line of `block` in `level` on behalf of the processor. Returns whether it was in the predicted way, too.
    #[inline]
    pub fn look_up(&mut self, level: usize, block: u64) -> Option<(Found, bool)> {
        self.caches[level].look_up(self.line(level, block))
    }

    /// The innermost level, from `from` on, in which `access` to `block` hits. A filter serves an access that leaves the state as
    /// it is; a holder serves every access that the state permits.
    ///
    /// # Errors
    /// No level does. The line, if the access misses for want of rights: in the outermost holder that has it.
    #[inline]
    pub fn hit(&self, block: u64, access: Access, from: usize) -> Result<usize, Option<Held>> {
        let mut held = None;
        let mut level = from;
        while level <= self.levels.outermost {
            if let Some(found) = self.probe(level, block) {
                let holds = level >= self.levels.holder;
                if found.state.after(access).is_some_and(|after| after == found.state || holds) {
                    return Ok(level);
                }
                if holds {
                    held = Some(self.held(level, found));
                }
            }
            level += 1;
        }
        Err(held)
    }

    #[inline]
    fn held(&self, level: usize, found: Found) -> Held {
        let place = Place { level: level as u8, slot: found.slot };
        Held { place, state: found.state, version: self.caches[level].version(found.slot) }
    }

    /// The coherent `line`, in the outermost holder that has it.
    #[inline]
    pub fn find(&self, line: u64) -> Option<Held> {
        let mut level = self.levels.outermost;
        loop {
            if let Some(found) = self.caches[level].probe(line) {
                return Some(self.held(level, found));
            }
            if level == self.levels.holder {
                return None;
            }
            level -= 1;
        }
    }

    /// Whether a tag check of the coherent `line` in the outermost level succeeds in the predicted way.
    pub fn predicts(&self, line: u64) -> bool {
        let cache = &self.caches[self.levels.outermost];
        cache.probe(line).is_some_and(|found| cache.is_predicted(found.slot))
    }

    /// Sets state and version of the coherent `line` in every holder that has it.
    #[inline]
    pub fn set_held(&mut self, line: u64, state: CopyState, version: Version) {
        for level in self.levels.holder..=self.levels.outermost {
            if let Some(found) = self.caches[level].probe(line) {
                self.caches[level].update(found.slot, line, state, version);
            }
        }
    }

    /// Whether `level` holds the states and data of its lines.
    #[inline]
    pub fn is_holder(&self, level: usize) -> bool {
        level >= self.levels.holder
    }

    /// The version of the data in a slot of `level`, a holder.
    #[inline]
    pub fn version(&self, level: usize, slot: Slot) -> Version {
        self.caches[level].version(slot)
    }

    /// Sets state and version of the coherent `line`, found in `place`, in every holder that has it.
    #[inline]
    pub fn update(&mut self, place: Place, line: u64, state: CopyState, version: Version) {
        if self.is_plain() {
            self.caches[usize::from(place.level)].update(place.slot, line, state, version);
        } else {
            self.set_held(line, state, version);
        }
    }

    /// Sets the state of the coherent `line` in the filters, and in the primary level, whichever parts of it they have.
    #[inline]
    pub fn set_filters(&mut self, line: u64, state: CopyState) {
        for level in 0..self.levels.holder.max(1) {
            self.set_in(level, line, state);
        }
    }

    /// Sets the state of the coherent `line` in `level`.
    #[inline]
    fn set_in(&mut self, level: usize, line: u64, state: CopyState) {
        let shift = self.levels.specs[self.levels.outermost].shift - self.levels.specs[level].shift;
        let state = self.shown(level, state);
        for part in line << shift..(line + 1) << shift {
            self.caches[level].set_state(part, state);
        }
    }

    /// The state of a line as the tags of `level` show it: a level that is written through has no right to write, so that every
    /// store goes on.
    #[inline]
    fn shown(&self, level: usize, state: CopyState) -> CopyState {
        if self.levels.specs[level].through && state.is_valid() { CopyState::SHARED } else { state }
    }

    /// Frees a slot of `level`, a holder, for the coherent `line`, never a `reserved` one. `None` if every slot is reserved.
    #[inline]
    pub fn make_room(
        &mut self,
        level: usize,
        line: u64,
        reserved: &impl Fn(Place) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<Place> {
        let at = |slot| Place { level: level as u8, slot };
        let (slot, victim) = self.caches[level].make_room(line, |slot| reserved(at(slot)), random)?;
        if let Some(victim) = victim {
            if self.is_plain() {
                self.clear_included(level, victim.line);
                self.leaving.push(victim);
            } else {
                self.displaced(level, victim, reserved, random);
            }
        }
        Some(at(slot))
    }

    /// Places the coherent `line` where room was made for it.
    #[inline]
    pub fn place(&mut self, place: Place, line: u64, state: CopyState, version: Version) {
        self.caches[usize::from(place.level)].place(place.slot, line, state, version);
    }

    /// Empties a place.
    pub fn empty(&mut self, place: Place) {
        self.caches[usize::from(place.level)].empty(place.slot);
    }

    /// Whether the line of `place` may move to the coherent `line` without another slot.
    pub fn keeps(&self, place: Place, old: u64, line: u64) -> bool {
        self.caches[usize::from(place.level)].shares_set(old, line)
    }

    /// Whether `level` has a slot for the coherent `line` that is not reserved.
    pub fn has_room(&self, level: usize, line: u64, reserved: &impl Fn(Place) -> bool) -> bool {
        self.caches[level].places(line).any(|slot| !reserved(Place { level: level as u8, slot }))
    }

    /// Whether the level outside the primary one includes it.
    pub fn is_included_primary(&self) -> bool {
        self.levels.outermost > 0 && self.levels.specs[0].inclusion == Inclusion::Inclusive
    }

    /// Whether a line that comes in for `block`, for a store if `writes`, is filled into a primary level that is included in the
    /// level outside.
    #[inline]
    pub fn fills_included_primary(&self, block: u64, writes: bool) -> bool {
        let receives = |level: usize| {
            let LevelSpec { allocates, keeps, .. } = self.levels.specs[level];
            !writes || allocates || keeps && self.probe(level, block).is_some()
        };
        self.is_included_primary() && (0..self.levels.outermost).all(receives)
    }

    /// Frees the slot of the primary level that [`Self::bring_in`] will select for `block`. Returns whether a modified block leaves
    /// it.
    #[inline]
    pub fn free_primary(&mut self, block: u64, random: &mut Xoshiro256PlusPlus) -> bool {
        self.caches[0].make_room_for_fill(block, random).is_some_and(|victim| victim.state.is_dirty())
    }

    /// Brings the line of `block`, found in `level` with `state` and `version`, into the levels inside it, as far as they
    /// receive it: for a store if `writes`.
    #[inline]
    pub fn bring_in(
        &mut self,
        (block, level): (u64, usize),
        copy: (CopyState, Version),
        writes: bool,
        reserved: &impl Fn(Place) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) {
        match level {
            0 => {}
            1 if self.levels.specs[0].inclusion == Inclusion::Inclusive => {
                self.fill_primary(block, copy, writes, random)
            }
            _ => self.bring_into_all((block, level), copy, writes, reserved, random),
        }
    }

    /// Fills `block` into a primary level that the level outside includes, which nothing reserves places of.
    #[inline]
    fn fill_primary(
        &mut self,
        block: u64,
        (state, version): (CopyState, Version),
        writes: bool,
        random: &mut Xoshiro256PlusPlus,
    ) {
        if writes && !self.receives_stored(0, block) {
            return;
        }
        let state = self.shown(0, state);
        if let Some(Some(victim)) = self.caches[0].fill(block, (state, version), |_| false, random) {
            self.written[1] += u32::from(victim.state.is_dirty());
        }
    }

    /// [`Self::bring_in`] for levels in any relation. Not generic: one function serves all callers.
    #[inline(never)]
    fn bring_into_all(
        &mut self,
        (block, level): (u64, usize),
        copy: (CopyState, Version),
        writes: bool,
        reserved: &dyn Fn(Place) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) {
        let inside = level - 1;
        if self.levels.specs[inside].inclusion == Inclusion::Exclusive {
            let to = self.receiver(inside);
            if !self.has_room(to, self.line(to, block), &reserved) {
                return;
            }
            let line = self.line(level, block);
            self.caches[level].set_state(line, CopyState::INVALID);
        }
        for to in (0..level).rev() {
            // A level towards which the one inside is exclusive receives only what that one displaces.
            if to > 0 && self.levels.specs[to - 1].inclusion == Inclusion::Exclusive {
                continue;
            }
            let line = self.line(to, block);
            if writes && !self.receives_stored(to, line) {
                return;
            }
            self.fill(to, line, copy, reserved, random);
        }
    }

    /// Whether `level` receives the `line` of a store from the level outside: one that allocates none receives what it has, unless it
    /// gives that up.
    #[inline]
    fn receives_stored(&mut self, level: usize, line: u64) -> bool {
        let LevelSpec { allocates, keeps, .. } = self.levels.specs[level];
        if allocates {
            return true;
        }
        let has = self.caches[level].probe(line).is_some();
        if has && !keeps {
            self.clear_included(level, line);
            self.caches[level].set_state(line, CopyState::INVALID);
        }
        has && keeps
    }

    /// The outermost level from `level` inwards that receives lines that come in.
    fn receiver(&self, level: usize) -> usize {
        let exclusive = |inside: usize| self.levels.specs[inside].inclusion == Inclusion::Exclusive;
        (1..=level).rev().find(|&level| !exclusive(level - 1)).unwrap_or(0)
    }

    /// Fills `line` into `level`. False if every slot for it is reserved.
    fn fill(
        &mut self,
        level: usize,
        line: u64,
        (state, version): (CopyState, Version),
        reserved: &dyn Fn(Place) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) -> bool {
        let state = self.shown(level, state);
        let holds = level >= self.levels.holder;
        let is_reserved = |slot| holds && reserved(Place { level: level as u8, slot });
        let Some(victim) = self.caches[level].fill(line, (state, version), is_reserved, random) else { return false };
        if self.levels.specs[level].inclusion == Inclusion::Exclusive && level < self.levels.outermost {
            self.caches[level + 1].set_state(line, CopyState::INVALID);
        }
        if let Some(victim) = victim {
            self.displaced(level, victim, reserved, random);
        }
        true
    }

    /// A line was displaced from `level`: the levels that it includes lose it, too, and it moves outside or leaves.
    #[inline(never)]
    fn displaced(
        &mut self,
        level: usize,
        victim: Victim,
        reserved: &dyn Fn(Place) -> bool,
        random: &mut Xoshiro256PlusPlus,
    ) {
        let (inclusion, dirty) = (self.levels.specs[level].inclusion, victim.state.is_dirty());
        self.clear_included(level, victim.line);
        if level == self.levels.outermost {
            return self.leave_unless_held(victim);
        }
        let outside = level + 1;
        match inclusion {
            Inclusion::Inclusive => self.written[outside] += u32::from(dirty),
            Inclusion::Neither if self.caches[outside].probe(victim.line).is_some() => {
                self.written[outside] += u32::from(dirty);
            }
            Inclusion::Neither if !dirty => {
                if level >= self.levels.holder {
                    self.leave_unless_held(victim);
                }
            }
            Inclusion::Exclusive | Inclusion::Neither => {
                self.written[outside] += 1;
                let copy = (victim.state, victim.version);
                // Without a slot outside, the line leaves the processor.
                if !self.fill(outside, victim.line, copy, reserved, random) && level >= self.levels.holder {
                    self.leave_unless_held(victim);
                }
            }
        }
    }

    /// The levels inside `level` lose its `line`, as far as it includes them: filters inside a holder have nothing that it has not.
    #[inline]
    fn clear_included(&mut self, level: usize, line: u64) {
        for inside in (0..level).rev() {
            let keeps = inside >= self.levels.holder || level < self.levels.holder;
            if keeps && self.levels.specs[inside].inclusion != Inclusion::Inclusive {
                return;
            }
            let shift = self.levels.specs[level].shift - self.levels.specs[inside].shift;
            for part in line << shift..(line + 1) << shift {
                self.caches[inside].set_state(part, CopyState::INVALID);
            }
        }
    }

    /// The line leaves the processor unless another holder has it.
    fn leave_unless_held(&mut self, victim: Victim) {
        if self.is_plain() || self.find(victim.line).is_none() {
            self.leaving.push(victim);
        }
    }

    /// Removes the coherent `line` from every level.
    pub fn clear(&mut self, line: u64) {
        for level in 0..=self.levels.outermost {
            self.set_in(level, line, CopyState::INVALID);
        }
    }

    /// Takes a line that has left every level since the last call.
    #[inline]
    pub fn take_leaving(&mut self) -> Option<Victim> {
        self.leaving.pop()
    }

    /// Takes the lines written into each level since the last call.
    #[inline]
    pub fn take_written(&mut self) -> Written {
        std::mem::take(&mut self.written)
    }

    /// The lines of all holders, each once.
    pub fn lines(&self) -> impl Iterator<Item = Victim> + '_ {
        (self.levels.holder..=self.levels.outermost).flat_map(move |level| {
            let elsewhere = move |line: u64| {
                (level + 1..=self.levels.outermost).any(|outer| self.caches[outer].probe(line).is_some())
            };
            self.caches[level].lines().filter(move |victim| !elsewhere(victim.line))
        })
    }

    /// Takes the first line found from `cursor` on, which counts the sets of the outermost holder, then those of the others.
    /// Returns it with the cursor to continue from.
    pub fn take_from(&mut self, cursor: usize) -> Option<(Victim, usize)> {
        let mut before = 0;
        for level in (self.levels.holder..=self.levels.outermost).rev() {
            let sets = self.levels.specs[level].cache.sets;
            if let Some((victim, set)) = self.caches[level].take_from(cursor.saturating_sub(before)) {
                return Some((victim, before + set));
            }
            before += sets;
        }
        None
    }

    /// Empties the filters.
    pub fn clear_filters(&mut self) {
        self.caches[..self.levels.holder].iter_mut().for_each(Cache::clear);
    }
}

#[cfg(test)]
mod tests;
