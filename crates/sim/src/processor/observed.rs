//! Notifications of a processor to the observers of the machine.
//!
//! A store that hits a modified block has no effect on timing, so its line keeps its version; while an observer follows
//! the contents of lines, it makes the next version, like every other store.

use protocol::Access;
use units::{Duration, LineAddr, PhysicalAddr, Time};

use super::{Miss, MissId, Processor};
use crate::account::{Cause, Charge, MeasuredPart, Measuring, MissCause, MissTag, ProcessorCounters};
use crate::observe::{Causes, ContentsEvent, IntervalEvent, ReferenceEvent};
use crate::part::CachedCopy;

/// Binary logarithm of the bytes of a word.
const WORD_SHIFT: u32 = 3;

impl Processor {
    /// Sets the program's site.
    #[inline]
    pub fn at_site(&mut self, site: u64) {
        self.site = site;
    }

    #[inline]
    fn reference(&self, event: ReferenceEvent) {
        self.probe.reference(self.thread(), event);
    }

    /// Notifies of a plain hit at `at`, the program's address `named`.
    #[cold]
    #[inline(never)]
    pub(super) fn report_plain_hit(&mut self, named: u64, at: PhysicalAddr, access: Access) {
        self.report_hit(LineAddr(at.0 >> self.timing.line_shift), access, false);
        self.report_access(named, at, access);
    }

    /// Notifies of an access to `at`, the program's address `named`, that has hit, or has joined or opened a miss.
    #[cold]
    #[inline(never)]
    pub(super) fn report_access(&mut self, named: u64, at: PhysicalAddr, access: Access) {
        if matches!(access, Access::Load | Access::Store) {
            let line = LineAddr(at.0 >> self.timing.line_shift);
            let word = (at.0 & ((1 << self.timing.line_shift) - 1)) >> WORD_SHIFT;
            if self.caches.is_holder(0) {
                self.reference(ReferenceEvent::Hit { line });
            }
            self.reference(ReferenceEvent::Access { named, line, word: word as usize, stores: access.writes() });
        }
    }

    /// Notifies of a hit in a level beyond the primary cache, whose store has made its version if the level `holds` the
    /// states of lines.
    #[cold]
    #[inline(never)]
    pub(super) fn report_outer_hit(&mut self, line: LineAddr, access: Access, holds: bool) {
        if holds {
            self.reference(ReferenceEvent::Hit { line });
        }
        self.report_hit(line, access, holds);
    }

    /// Notifies of the contents that a hit finds; `made` says whether a store has already made its version.
    fn report_hit(&mut self, line: LineAddr, access: Access, made: bool) {
        if !self.probe.follows_contents() {
            return;
        }
        match access {
            Access::Store => {
                if !made {
                    self.next_version(line);
                }
                self.probe.contents(ContentsEvent::Issue { line });
                self.report_store(line, self.copy(line), self.time);
            }
            Access::Load | Access::InstructionFetch | Access::UncachedRead => {
                self.report_load(line, self.copy(line), self.time);
            }
            Access::ReadPrefetch | Access::WritePrefetch | Access::PoisonRead => {}
        }
    }

    fn report_load(&self, line: LineAddr, copy: CachedCopy, at: Time) {
        self.probe.contents(ContentsEvent::Load { cpu: self.cpu, line, copy, at });
    }

    fn report_store(&self, line: LineAddr, copy: CachedCopy, at: Time) {
        self.probe.contents(ContentsEvent::Store { cpu: self.cpu, line, copy, at });
    }

    /// Notifies of the miss `tag` of an access to `line`, the program's address `named`, which opens now. A hardware
    /// prefetch has no tag.
    #[inline]
    pub(super) fn report_miss(&self, tag: MissTag, named: u64, line: LineAddr, access: Access) {
        if self.probe.is_active() {
            self.report_open_miss(tag, named, line, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn report_open_miss(&self, tag: MissTag, named: u64, line: LineAddr, access: Access) {
        match access {
            Access::Store => self.probe.contents(ContentsEvent::Issue { line }),
            Access::UncachedRead => self.probe.contents(ContentsEvent::UncachedRequest { cpu: self.cpu, line }),
            _ => {}
        }
        self.reference(ReferenceEvent::Miss { tag, site: self.site, named, line });
    }

    /// Notifies of an access that joins a miss: at once if the line has been granted, otherwise at its grant.
    #[inline]
    pub(super) fn report_join(&mut self, id: MissId, access: Access) {
        if self.probe.follows_contents() {
            self.report_joined(id, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn report_joined(&mut self, id: MissId, access: Access) {
        let Some(&Miss { line, copy, granted, writes, .. }) = self.miss(id) else { return };
        match access {
            Access::Store => {
                self.probe.contents(ContentsEvent::Issue { line });
                if writes && granted {
                    self.next_version(line);
                    self.report_store(line, self.copy(line), self.time);
                } else if let Some(miss) = self.miss_mut(id) {
                    miss.stores += 1;
                }
            }
            // A load from a line that was invalidated before it was complete uses the contents as granted.
            Access::Load if copy.state.is_valid() => self.report_load(line, copy, self.time),
            _ => {}
        }
    }

    /// Notifies of the access by which the protocol answers the request for `line` at `now`, and performs the stores
    /// that joined it. `prefetches_store` says whether the protocol makes a version when it grants a write prefetch.
    pub fn report_performed(&mut self, line: LineAddr, now: Time, prefetches_store: bool) {
        let Some(id) = self.miss_on(line) else { return };
        let Some(&Miss { access, copy, stores, .. }) = self.miss(id) else { return };
        self.probe.contents(ContentsEvent::Miss { line });
        match access {
            Access::Store => {
                self.report_store(line, copy, now);
                self.perform_joined(id, 1, now);
            }
            Access::WritePrefetch => {
                if prefetches_store {
                    self.report_store(line, copy, now);
                    if stores == 0 {
                        self.probe.contents(ContentsEvent::Prefetch { line });
                    }
                }
                self.perform_joined(id, u32::from(prefetches_store), now);
            }
            Access::UncachedRead => {
                let (cpu, found) = (self.cpu, copy.version);
                self.probe.contents(ContentsEvent::UncachedLoad { cpu, line, found, at: now });
            }
            Access::Load | Access::InstructionFetch | Access::ReadPrefetch => self.report_load(line, copy, now),
            Access::PoisonRead => {}
        }
    }

    /// Notifies of the store that waited for a load's line, at `now`, and performs the stores that joined it.
    pub(super) fn report_waiting_store(&mut self, id: MissId, now: Time) {
        if !self.probe.follows_contents() {
            return;
        }
        let Some(&Miss { line, copy, .. }) = self.miss(id) else { return };
        self.report_store(line, copy, now);
        self.perform_joined(id, 1, now);
    }

    /// Notifies of the store of a miss on `line` that memory performs at `now`, with the contents `copy`: the line enters no cache.
    pub(super) fn report_store_around(&self, line: LineAddr, copy: CachedCopy, now: Time) {
        self.report_grant(line);
        if self.probe.is_active() {
            self.report_departure(line, true);
        }
        if self.probe.follows_contents() {
            self.probe.contents(ContentsEvent::Miss { line });
            self.report_store(line, copy, now);
        }
    }

    /// Performs the stores that wait for miss `id`, except the first `done`.
    fn perform_joined(&mut self, id: MissId, done: u32, now: Time) {
        let Some(miss) = self.miss_mut(id) else { return };
        let (line, waiting) = (miss.line, std::mem::take(&mut miss.stores));
        for _ in done..waiting {
            self.next_version(line);
            self.report_store(line, self.copy(line), now);
        }
    }

    /// Makes the next version of the processor's copy, for a store.
    fn next_version(&mut self, line: LineAddr) {
        if let Some(miss) = self.miss_on(line).and_then(|id| self.miss_mut(id)) {
            miss.copy.version = miss.copy.version.next();
        } else if let Some(held) = self.caches.find(line.0) {
            self.caches.update(held.place, line.0, held.state, held.version.next());
        }
    }

    /// Notifies of NACK number `count` of the request for `line`.
    pub(super) fn report_nack(&self, line: LineAddr, count: u32) {
        self.probe.contents(ContentsEvent::Nack { cpu: self.cpu, line, count });
    }

    /// Notifies of the grant of a request for a line.
    #[inline]
    pub(super) fn report_grant(&self, line: LineAddr) {
        if self.probe.is_active() {
            let miss = self.miss_on(line).and_then(|id| self.miss(id));
            let (tag, opener) = miss.map_or((MissTag::NONE, self.threads.active()), |miss| (miss.tag, miss.opener));
            self.probe.reference(self.numbered(opener), ReferenceEvent::Grant { tag, line });
        }
    }

    /// Notifies of the departure of a line from the caches.
    #[inline]
    pub(super) fn report_departure(&self, line: LineAddr, evicted: bool) {
        self.reference(ReferenceEvent::Departure { line, evicted });
    }

    /// Notifies of the completion of a miss.
    #[inline]
    pub(super) fn report_completion(&self, miss: &Miss) {
        self.reference(ReferenceEvent::Completion { tag: miss.tag, service: miss.service });
    }

    /// Notifies of a change of the word `named` by its memory.
    pub fn report_memory_change(&self, named: u64) {
        self.reference(ReferenceEvent::MemoryChange { named });
    }

    /// Notifies of a TLB miss on `named`.
    #[cold]
    #[inline(never)]
    pub(super) fn report_tlb_miss(&self, named: u64) {
        self.reference(ReferenceEvent::TlbMiss { site: self.site, named });
    }

    /// Notifies of a spin loop on the word `named`.
    pub(super) fn report_spin(&self, named: u64) {
        self.reference(ReferenceEvent::Spin { site: self.site, named });
    }

    /// Notifies of a wait of length `time`, which is charged to `charged_to`.
    #[inline]
    pub(super) fn report_wait(&self, charge: Charge, charged_to: Cause, time: Duration) {
        if self.probe.is_active() {
            self.report_charged_wait(charge, charged_to, time);
        }
    }

    #[cold]
    #[inline(never)]
    fn report_charged_wait(&self, charge: Charge, charged_to: Cause, time: Duration) {
        self.reference(ReferenceEvent::Wait { site: self.site, charge, charged_to, time });
    }

    /// Notifies of the end of the program.
    pub fn report_end(&self) {
        self.reference(ReferenceEvent::End);
    }

    /// Misses by cause so far, if they are classified.
    pub(super) fn miss_causes(&self) -> [u64; MissCause::ALL.len()] {
        if !self.probe.is_active() {
            return Default::default();
        }
        self.probe.collect(|causes: &mut Causes| causes.counts(self.thread())).unwrap_or_default()
    }

    /// Changes whether the thread is measured, from the present time on.
    pub fn measure(&mut self, measuring: Measuring) {
        if self.measured.change(measuring) {
            let (cpu, part, at) = (self.thread(), self.measured, self.time);
            self.probe.interval(&IntervalEvent::Change { cpu, part, at, counters: &self.counters() });
        }
    }

    /// Whether its thread is measured.
    #[inline]
    pub fn measuring(&self) -> Measuring {
        self.measured.measuring
    }

    /// Thread number `thread`, in this measured part, arrives at the processor, which has `counters`.
    pub fn begin_thread(&mut self, thread: usize, part: MeasuredPart, counters: &ProcessorCounters) {
        let (cpu, at) = (self.thread(), self.time);
        self.measured = part;
        self.probe.interval(&IntervalEvent::Arrival { cpu, thread, part, at, counters });
    }

    /// The thread leaves the processor. Returns its measured part.
    pub fn end_thread(&mut self) -> MeasuredPart {
        let (cpu, at, part) = (self.thread(), self.time, std::mem::take(&mut self.measured));
        let counters = &self.counters();
        self.probe.interval(&IntervalEvent::Leave { cpu, declared: part.declared, at, counters });
        part
    }

    /// Thread number `thread`, which arrives at the processor, has spent `time` without one.
    pub fn report_away(&self, thread: usize, cause: Cause, time: Duration) {
        self.probe.interval(&IntervalEvent::Away { thread, cause, time });
    }
}
