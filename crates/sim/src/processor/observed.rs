//! Reports of a processor's accesses to the observer and to the tracker of miss causes.
//!
//! A store that hits a modified block has no effect on timing, so its line keeps its version; under observation it
//! makes the next version, like every other store.

use protocol::Access;
use units::{CpuId, LineAddr, PhysicalAddr, Time};

use super::{MissId, Processor};
use crate::account::{Measuring, MissCause};
use crate::attribution::{Attribution, LineLoss, LossId};
use crate::causes::{Causes, SharedCauses};
use crate::observer::SharedObserver;

/// Binary logarithm of the bytes of a word.
const WORD_SHIFT: u32 = 3;

impl Processor {
    /// Reports every access to `observer` from now on.
    pub fn observe(&mut self, observer: SharedObserver) {
        self.observer = Some(observer);
    }

    /// Tracks miss causes from now on.
    pub fn track_causes(&mut self, causes: SharedCauses) {
        self.causes = Some(causes);
    }

    /// Attributes lost time to lines and sites from now on; requires the tracking of miss causes.
    pub fn attribute(&mut self) {
        self.attribution = Some(Box::new(Attribution::new(self.timing.line_shift)));
    }

    /// The time lost by line and site, if attributed.
    pub fn losses(&self) -> Vec<LineLoss> {
        self.attribution.as_ref().map_or_else(Vec::new, |attribution| attribution.losses(self.cpu))
    }

    /// Sets the program's site.
    #[inline]
    pub fn at_site(&mut self, site: u64) {
        self.site = site;
    }

    /// Records an access to `at`, the program's address `named`, when it is complete or has joined a miss.
    #[inline(always)]
    pub(super) fn note_touch(&mut self, named: u64, at: PhysicalAddr, access: Access) {
        if self.causes.is_some() {
            self.tell_touch(named, at, access);
        }
    }

    #[inline(never)]
    fn tell_touch(&mut self, named: u64, at: PhysicalAddr, access: Access) {
        if matches!(access, Access::Load | Access::Store) {
            let line = LineAddr(at.0 >> self.timing.line_shift);
            let word = (at.0 & ((1 << self.timing.line_shift) - 1)) >> WORD_SHIFT;
            if self.caches.is_holder(0) {
                self.note_reference(line, false);
            }
            self.note_cause(line, |causes, cpu| causes.touch(cpu, line, word as usize, access.writes()));
            if let Some(attribution) = &mut self.attribution {
                attribution.touch(named, access.writes());
            }
        }
    }

    /// Records a change of the word `named` at its memory.
    pub fn note_change(&mut self, named: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.touch(named, true);
        }
    }

    /// Records a TLB miss on `named`.
    #[cold]
    pub(super) fn note_translation(&mut self, named: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.translate(self.site, named);
        }
    }

    /// Names the word `named` as the one that the next wait is for.
    pub(super) fn note_look(&mut self, named: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.look(self.site, named);
        }
    }

    /// Opens the attribution of a miss on `named` that begins now.
    pub(super) fn open_loss(&mut self, named: u64) -> LossId {
        let site = self.site;
        self.attribution.as_mut().map_or(LossId::NONE, |attribution| attribution.open(site, named))
    }

    /// Passes a change of the measured part on to the attribution.
    pub(super) fn heed_meter(&mut self) {
        if let Some(attribution) = &mut self.attribution {
            let declared = self.meter.is_used();
            let measuring = if declared { self.meter.measuring() } else { Measuring::Yes };
            attribution.count(measuring, declared);
        }
    }

    /// Records a reference to the secondary cache; a request follows if it `missed`.
    #[inline]
    pub(super) fn note_reference(&mut self, line: LineAddr, missed: bool) {
        self.note_cause(line, |causes, cpu| {
            causes.refer(cpu, line, missed);
            None
        });
    }

    /// Records the grant of a request for a line.
    #[inline]
    pub(super) fn note_grant(&mut self, line: LineAddr) {
        let Some(causes) = &self.causes else { return };
        let (upgrade, cause) = causes.borrow_mut().grant(self.cpu, line);
        let loss_id = self.miss_on(line).and_then(|id| self.miss(id)).map_or(LossId::NONE, |miss| miss.loss_id);
        if let Some(attribution) = &mut self.attribution {
            attribution.grant(loss_id, line, upgrade);
        }
        self.note_cause(line, |_, _| cause);
    }

    /// Records the departure of a line from the caches.
    #[inline]
    pub(super) fn note_loss(&mut self, line: LineAddr, evicted: bool) {
        self.note_unused(line);
        self.note_cause(line, |causes, cpu| causes.lose(cpu, line, evicted));
    }

    #[inline]
    fn note_cause(&mut self, line: LineAddr, tell: impl FnOnce(&mut Causes, CpuId) -> Option<MissCause>) {
        if let Some(causes) = &self.causes
            && let Some(cause) = tell(&mut causes.borrow_mut(), self.cpu)
        {
            self.counters.causes[cause as usize] += 1;
            if let Some(attribution) = &mut self.attribution {
                attribution.judge(line, cause);
            }
        }
    }

    /// Decides the remaining causes of misses at the end of the program.
    pub fn settle_causes(&mut self) {
        if let Some(causes) = &self.causes {
            let lines = causes.borrow_mut().settle(self.cpu);
            for line in lines {
                self.note_cause(line, |_, _| Some(MissCause::FalseSharing));
            }
        }
    }

    /// Reports a hit; `made` says whether a store has already made its version.
    #[inline]
    pub(super) fn observe_hit(&mut self, line: LineAddr, access: Access, made: bool) {
        if self.observer.is_some() {
            self.tell_of_hit(line, access, made);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_hit(&mut self, line: LineAddr, access: Access, made: bool) {
        let Some(observer) = self.observer.clone() else { return };
        let mut observer = observer.borrow_mut();
        match access {
            Access::Store => {
                if !made {
                    self.next_version(line);
                }
                observer.issued(line);
                observer.stored(self.cpu, line, self.copy(line), self.time);
            }
            Access::Load | Access::InstructionFetch | Access::UncachedRead => {
                observer.loaded(self.cpu, line, self.copy(line), self.time);
            }
            Access::ReadPrefetch | Access::WritePrefetch | Access::PoisonRead => {}
        }
    }

    /// Reports a miss.
    #[inline]
    pub(super) fn observe_miss(&mut self, line: LineAddr, access: Access) {
        if let Some(observer) = &self.observer {
            match access {
                Access::Store => observer.borrow_mut().issued(line),
                Access::UncachedRead => observer.borrow_mut().sends_uncached(self.cpu, line),
                _ => {}
            }
        }
    }

    /// Reports an access that joins a miss: at once if the line has been granted, otherwise at its grant.
    pub(super) fn observe_join(&mut self, id: MissId, access: Access) {
        let Some(observer) = self.observer.clone() else { return };
        let Some(&super::Miss { line, copy, granted, writes, .. }) = self.miss(id) else { return };
        let mut observer = observer.borrow_mut();
        match access {
            Access::Store => {
                observer.issued(line);
                if writes && granted {
                    self.next_version(line);
                    observer.stored(self.cpu, line, self.copy(line), self.time);
                } else if let Some(miss) = self.miss_mut(id) {
                    miss.stores += 1;
                }
            }
            // A load from a line that was invalidated before it was complete uses the contents as granted.
            Access::Load if copy.state.is_valid() => observer.loaded(self.cpu, line, copy, self.time),
            _ => {}
        }
    }

    /// Reports the grant of the request for `line` at `now`, by which the protocol performed the missing access, and
    /// performs the stores that joined it.
    pub fn observe_grant(&mut self, line: LineAddr, now: Time) {
        let Some(observer) = self.observer.clone() else { return };
        let Some(id) = self.miss_on(line) else { return };
        let Some(&super::Miss { access, copy, .. }) = self.miss(id) else { return };
        let mut observer = observer.borrow_mut();
        observer.missed(line);
        match access {
            Access::Store => {
                observer.stored(self.cpu, line, copy, now);
                drop(observer);
                self.perform_joined(id, 1, now);
            }
            Access::WritePrefetch => {
                let made = observer.prefetches_store();
                let waiting = self.miss(id).map_or(0, |miss| miss.stores);
                if made {
                    observer.stored(self.cpu, line, copy, now);
                    if waiting == 0 {
                        observer.prefetched(line);
                    }
                }
                drop(observer);
                self.perform_joined(id, u32::from(made), now);
            }
            Access::UncachedRead => observer.loaded_uncached(self.cpu, line, copy.version, now),
            Access::Load | Access::InstructionFetch | Access::ReadPrefetch => {
                observer.loaded(self.cpu, line, copy, now);
            }
            Access::PoisonRead => {}
        }
    }

    /// Reports the store that waited for a load's line, at `now`, and performs the stores that joined it.
    pub(super) fn observe_waiting_store(&mut self, id: MissId, now: Time) {
        let Some(observer) = self.observer.clone() else { return };
        let Some(&super::Miss { line, copy, .. }) = self.miss(id) else { return };
        observer.borrow_mut().stored(self.cpu, line, copy, now);
        self.perform_joined(id, 1, now);
    }

    /// Performs the stores that wait for miss `id`, except the first `done`.
    fn perform_joined(&mut self, id: MissId, done: u32, now: Time) {
        let Some(observer) = self.observer.clone() else { return };
        let Some(miss) = self.miss_mut(id) else { return };
        let (line, waiting) = (miss.line, std::mem::take(&mut miss.stores));
        for _ in done..waiting {
            self.next_version(line);
            observer.borrow_mut().stored(self.cpu, line, self.copy(line), now);
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
}
