//! A processor's accesses: the path of a reference through the cache hierarchy.

use protocol::{Access, Rights};
use units::{Duration, LineAddr, PhysicalAddr, Time, VirtualAddr};

use super::tlb::Found;
use super::{Miss, MissId, Post, PostKind, Processor, Wait};
use crate::account::{Cause, Charge, Measuring, MissTag, Service};
use crate::os::Translations;
use crate::part::{CachedCopy, Completion, Place};

/// The dependence of an access's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// On no outstanding value.
    Known,
    /// On the value of the latest load.
    FromLatestLoad,
}

/// The address of an access.
pub trait Location: Copy {
    /// The physical address, through the processor's TLB.
    ///
    /// # Errors
    /// The event to wait for before the next attempt.
    #[doc(hidden)]
    fn translate(self, processor: &mut Processor, access: Access) -> Result<PhysicalAddr, Wait>;

    /// The address itself, as in the program.
    #[doc(hidden)]
    fn raw(self) -> u64;

    /// The physical address as far as the processor's translations contain it, without an access.
    #[doc(hidden)]
    fn known(self, processor: &Processor) -> Option<PhysicalAddr>;
}

/// A physical address, as microbenchmarks use for memory that they place themselves: the TLB maps it to itself, by large pages where
/// the machine has them.
impl Location for PhysicalAddr {
    #[inline(always)]
    fn translate(self, processor: &mut Processor, _access: Access) -> Result<PhysicalAddr, Wait> {
        let (page, large) = (processor.timing.page_shift, processor.timing.physical_shift);
        // Physical addresses and entries of virtual ones are never in one program.
        processor.look_up(self.0, |_, entry| entry >> (large - page))?;
        Ok(self)
    }

    #[inline]
    fn raw(self) -> u64 {
        self.0
    }

    #[inline]
    fn known(self, _processor: &Processor) -> Option<PhysicalAddr> {
        Some(self)
    }
}

/// A virtual address, which the operating system maps to the frame of its page.
impl Location for VirtualAddr {
    #[inline(always)]
    fn translate(self, processor: &mut Processor, access: Access) -> Result<PhysicalAddr, Wait> {
        processor.look_up(self.0, |translations, entry| translations.tag(self.0, entry))?;
        let writes = access.writes();
        processor.translations.look_up(self, writes).ok_or_else(|| processor.page_fault(self, writes))
    }

    #[inline]
    fn raw(self) -> u64 {
        self.0
    }

    #[inline]
    fn known(self, processor: &Processor) -> Option<PhysicalAddr> {
        processor.translations.look_up(self, false)
    }
}

impl Processor {
    /// Performs one access as far as possible without another event.
    ///
    /// # Errors
    /// The event to wait for; the access is then to be attempted again. Nothing but time has passed.
    #[inline(always)]
    pub fn access(&mut self, at: impl Location, access: Access, address: Address) -> Result<(), Wait> {
        self.ready(address)?;
        let named = at.raw();
        let at = at.translate(self, access)?;
        if self.time >= self.horizon {
            return Err(Wait::Until(self.time));
        }
        let block = at.0 >> self.timing.block_shift;
        let state = self.caches.use_primary(block);
        if state.after(access) == Some(state) && self.is_plain_hit(block, access) {
            let translated = self.translated();
            if translated > self.time {
                self.await_translation(translated);
            }
            self.retire(access, translated + self.timing.primary_hit, Cause::PrimaryCache);
            if self.probe.is_active() {
                self.report_plain_hit(named, at, access);
            }
            return Ok(());
        }
        self.access_beyond(block, access, named)?;
        if self.probe.is_active() {
            self.report_access(named, at, access);
        }
        Ok(())
    }

    /// As [`Self::access`], to private data at a known address.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn access_private(&mut self, at: impl Location, access: Access) -> Result<(), Wait> {
        self.private = true;
        let done = self.access(at, access, Address::Known);
        self.private = false;
        self.counters.private_references[usize::from(access.writes())] += u64::from(done.is_ok());
        done
    }

    /// Waits for an entry of the instruction window and for the address.
    #[inline(always)]
    fn ready(&mut self, address: Address) -> Result<(), Wait> {
        self.take_place()?;
        if address == Address::FromLatestLoad {
            if let Some(miss) = self.value_from {
                return Err(Wait::value_of(miss));
            }
            self.await_value();
        }
        Ok(())
    }

    /// Waits for the value of the latest load, and for the work that depends on it.
    #[inline]
    fn await_value(&mut self) {
        self.wait_until(self.loaded_at, self.loaded_from);
        self.wait_until(self.value_at, Cause::Work);
    }

    /// Looks up an address in the TLB. `tag` gives the tag of its entry, from the number of its small pages' entry.
    #[inline(always)]
    fn look_up(&mut self, at: u64, tag: impl FnOnce(&Translations, u64) -> u64) -> Result<(), Wait> {
        let entry = at >> self.timing.page_shift;
        if !self.tlb.is_latest(entry) {
            self.search_tlb(at, entry, tag(&self.translations, entry))?;
        }
        if self.refilling { self.refill() } else { Ok(()) }
    }

    /// Searches the TLB for another small page than the latest reference's. The threads of a core do so in the order of time.
    ///
    /// # Errors
    /// The time to wait for.
    #[inline(never)]
    fn search_tlb(&mut self, at: u64, entry: u64, tag: u64) -> Result<(), Wait> {
        self.keep_pace()?;
        match self.tlb.access(entry, tag, &mut self.random) {
            Found::First => self.end_translation(),
            found => self.translate(at, found),
        }
        Ok(())
    }

    /// Refills the TLB after a miss, by a software trap.
    #[cold]
    fn refill(&mut self) -> Result<(), Wait> {
        self.trap()?;
        self.wait_until(self.time + self.timing.translation_miss, Cause::Translation);
        self.refilling = false;
        Ok(())
    }

    /// Waits for all earlier instructions, before which a trap handler cannot start.
    fn trap(&mut self) -> Result<(), Wait> {
        let (done, cause) = self.window.done().map_err(Wait::value_of)?;
        self.wait_until(done, cause);
        Ok(())
    }

    /// A page fault: the processor has no translation, or none for stores. The operating system handles it at the
    /// processor's own time. If it traps then ([`Self::begin_trap`]), the access is attempted again when all earlier
    /// instructions are done.
    #[cold]
    fn page_fault(&mut self, at: VirtualAddr, writes: bool) -> Wait {
        if self.trapped == Some(at)
            && let Err(wait) = self.empty()
        {
            return wait;
        }
        if writes { Wait::PageToStore(at) } else { Wait::PageToLoad(at) }
    }

    /// As [`Self::trap`]; and where pages move, no miss may be outstanding when a translation changes, because its line
    /// would be looked for at the old address.
    fn empty(&mut self) -> Result<(), Wait> {
        self.trap()?;
        if self.translations.is_changing() && self.is_missing() { Err(Wait::AllMisses) } else { Ok(()) }
    }

    /// The access to `at` traps, at the processor's own time. Returns whether all earlier instructions are done;
    /// otherwise the access is to be attempted again.
    pub fn begin_trap(&mut self, at: VirtualAddr, now: Time) -> bool {
        self.trapped = Some(at);
        self.empty().is_ok() && self.time <= now
    }

    /// The operating system has handled the trap, if there was one.
    pub fn end_trap(&mut self) {
        self.trapped = None;
    }

    /// Whether a primary hit is plain: it is done at issue, and no upgrade of the line blocks it, as on the R10000.
    #[inline]
    pub(super) fn is_plain_hit(&self, block: u64, access: Access) -> bool {
        !self.timing.checks_hits || !self.timing.special_hits && !self.upgrade_blocks(block, access)
    }

    /// Whether an upgrade of the line is outstanding, which blocks loads.
    #[inline]
    fn upgrade_blocks(&self, block: u64, access: Access) -> bool {
        !access.writes()
            && self.miss_on(self.line_of_block(block)).and_then(|id| self.miss(id)).is_some_and(|miss| miss.upgrade)
    }

    /// Completes the issue of an access: the next instruction may issue.
    #[inline(always)]
    pub(super) fn retire(&mut self, access: Access, value_at: Time, from: impl Into<Charge>) {
        self.counters.references += 1;
        if access == Access::Store {
            self.counters.stores += 1;
        }
        self.issued += 1;
        if access == Access::Load {
            self.value_from = None;
            (self.value_at, self.loaded_at, self.loaded_from) = (value_at, value_at, from.into());
        }
        self.time += self.timing.issue;
        if self.threads.are_several() {
            self.take_slots(1);
        }
    }

    /// An access that is no plain hit in the primary cache.
    #[inline(never)]
    pub(super) fn access_beyond(&mut self, block: u64, access: Access, named: u64) -> Result<(), Wait> {
        let line = self.line_of_block(block);
        if self.others.is_some() {
            self.let_others_in(line);
        }
        if self.stores.is_present() && self.is_forwarded(block, access)? {
            return Ok(());
        }
        if let Some(id) = self.miss_on(line) {
            self.join_miss(id, block, access)?;
            self.prefetch_after(block, named, false);
            return Ok(());
        }
        if self.writebacks.contains(&line) {
            return Err(Wait::Writeback(line));
        }
        // A hit displaces lines from the processor only where a level is not included in the one outside.
        if !self.caches.is_plain() {
            self.writeback_room()?;
        }
        let held = match self.caches.hit(block, access, self.first_level_beyond()) {
            Ok(level) => {
                self.hit_in(level, block, access);
                self.prefetch_after(block, named, false);
                return Ok(());
            }
            Err(held) => held,
        };
        let copy = CachedCopy::of(held);
        let id = match self.follows_miss() {
            true => self.misses.free_entry(self.time)?,
            false => self.free_miss(true, access.writes(), copy.state.rights() == Rights::Read)?,
        };
        self.writeback_room()?;
        let place = match held {
            Some(held) => Some(held.place),
            None if self.private && self.timing.private_around && access == Access::Store => None,
            None => Some(self.make_room(self.caches.entry(), line).ok_or(Wait::AnyMiss)?),
        };
        self.start_miss(id, block, (place, copy), access, named);
        self.evict_displaced(self.time);
        if !self.follows_miss() {
            self.prefetch_after(block, named, true);
        }
        Ok(())
    }

    /// An access to a line with an outstanding miss joins the miss.
    fn join_miss(&mut self, id: MissId, block: u64, access: Access) -> Result<(), Wait> {
        self.demand_prefetched(id, block)?;
        let Some(miss) = self.miss(id) else { return Err(Wait::AnyMiss) };
        // A store around the caches brings no line.
        if miss.around {
            return Err(Wait::completion_of(id));
        }
        let &Miss { copy, requested, value_at, writes, upgrade, tag, block: wanted, .. } = miss;
        let number = self.issued;
        let (done, charge) = (!requested, miss.charge());
        self.await_miss(id);
        match access {
            // The store waits in the address queue, and later instructions go on.
            Access::Store if !writes && !done => {
                if let Some(miss) = self.miss_mut(id) {
                    miss.then_store = true;
                }
                self.report_join(id, access);
                if self.stores.is_present() {
                    self.stores.enter(block, Completion::With(id.0));
                } else {
                    self.window.enter_store(self.issued, id, tag);
                }
                self.retire(access, self.time, charge);
                return Ok(());
            }
            Access::Store | Access::WritePrefetch if !writes => return Err(Wait::completion_of(id)),
            // The line was granted and invalidated again before it was complete.
            Access::Store if done && copy.state.after(access).is_none() => return Err(Wait::completion_of(id)),
            // The shared copy is still present during an upgrade (R12000).
            Access::Load if upgrade && copy.state.rights() == Rights::Read && !self.timing.upgrade_blocks_loads => {
                let (ready, level, number) =
                    (self.translated() + self.timing.primary_hit, self.timing.coherent(), self.timing.outermost);
                let start = if number == 0 { ready } else { self.buses[number].start(ready, level.grid) };
                let value_at = start + level.hit;
                self.report_join(id, access);
                self.retire(access, value_at, Cause::cache(number));
            }
            // The requested block has arrived or is arriving; the others are available when the line is complete.
            Access::Load if done && block != wanted => return Err(Wait::completion_of(id)),
            Access::Load => {
                if done {
                    self.report_join(id, access);
                }
                let found = self.translated() + self.timing.primary_hit;
                match (value_at, self.following) {
                    (Some(value_at), Some(due)) => self.settle_following(due, found.max(value_at), Cause::PrimaryCache),
                    _ => self.retire(access, value_at.unwrap_or(self.time).max(self.translated()), charge),
                }
                if value_at.is_none() {
                    self.value_from = Some(id);
                    self.work_after_value = Duration::ZERO;
                }
            }
            _ => {
                self.report_join(id, access);
                self.retire(access, self.time, charge);
            }
        }
        if self.timing.blocking {
            self.window.enter_miss_at(number, id, value_at, charge);
        }
        Ok(())
    }

    /// Opens the miss on a line, with the place and the copy that the processor has of it so far. A store without a place goes around
    /// the caches.
    fn start_miss(&mut self, id: MissId, block: u64, old: (Option<Place>, CachedCopy), access: Access, named: u64) {
        let (place, copy) = old;
        let line = self.line_of_block(block);
        self.counters.primary_misses += 1;
        self.counters.secondary_misses += 1;
        let tag = MissTag(self.counters.secondary_misses as u32);
        let checked = self.check_tags(block, self.timing.outermost + 1);
        let upgrade = copy.state.rights() == Rights::Read;
        self.counters.upgrades += u64::from(upgrade);
        self.write_displaced(0, checked);
        let waiting = self.request(checked + self.timing.miss_to_request, access, (line, copy));
        let miss = Miss {
            waiting,
            line,
            copy,
            requested: true,
            granted: false,
            trapped: false,
            private: self.private,
            opener: self.threads.active(),
            awaited_by: self.threads.active_bit(),
            around: place.is_none(),
            block,
            place,
            prefetched: false,
            demanded: true,
            service: Service::default(),
            upgrade,
            access,
            stores: u32::from(access == Access::Store),
            refusals: 0,
            writes: access.writes(),
            then_store: false,
            value_at: None,
            tag,
            buffered: false,
            fill_end: Time::ZERO,
        };
        let charge = miss.charge();
        self.misses.open(id, miss);
        self.report_miss(tag, named, line, access);
        if access == Access::Store && self.stores.is_present() {
            self.stores.enter(block, Completion::With(id.0));
        } else {
            self.window.enter_miss(self.issued, id, charge);
        }
        self.retire(access, self.time, charge);
        if access == Access::Load {
            self.value_from = Some(id);
            self.work_after_value = Duration::ZERO;
        }
    }

    pub(super) fn post(&mut self, at: Time, kind: PostKind, line: LineAddr, copy: CachedCopy) {
        self.horizon = self.horizon.min(at + self.timing.soonest_answer);
        self.posts.push(Post { at, kind, line, copy, measured: self.measuring() != Measuring::No });
    }

    /// Waits until everything issued so far is done: values available and misses complete.
    ///
    /// # Errors
    /// The event to wait for.
    pub fn finish(&mut self) -> Result<(), Wait> {
        if self.is_missing() {
            return Err(Wait::AllMisses);
        }
        self.value_from = None;
        let (done, cause) = self.window.done().map_err(Wait::value_of)?;
        self.window.clear();
        self.wait_until(self.loaded_at, self.loaded_from);
        self.wait_until(done, cause);
        let stored = self.stores.empty_at().map_err(|number| Wait::value_of(MissId(number)))?;
        self.wait_until(stored, Cause::WriteBuffer);
        self.wait_until(self.value_at, Cause::Work);
        Ok(())
    }

    /// Requires that all events before this processor's time have been handled, and that it has not run ahead.
    ///
    /// # Errors
    /// The time to wait for.
    pub fn in_order(&mut self) -> Result<(), Wait> {
        if self.synchronised_at == self.time { Ok(()) } else { Err(Wait::Until(self.time)) }
    }
}
