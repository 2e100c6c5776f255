//! What an observer is told of a processor's accesses, and the stores that only an observed processor counts.
//!
//! A store that hits a modified block changes nothing that anybody could notice by time, so its line keeps its version; under
//! observation it makes the next one, like every other store.

use protocol::Access;
use units::{CpuId, LineAddr, PhysicalAddr, Time};

use super::{CachedCopy, Measuring, MissId, Processor};
use crate::attribution::{Attribution, Debt, LineLoss};
use crate::causes::{Causes, MissCause, SharedCauses};
use crate::observer::SharedObserver;

/// Words are of eight bytes.
const WORD_SHIFT: u32 = 3;

impl Processor {
    /// From now on `observer` is told of every access.
    pub fn observe(&mut self, observer: SharedObserver) {
        self.observer = Some(observer);
    }

    /// From now on misses are told apart by their causes.
    pub fn tell_causes(&mut self, causes: SharedCauses) {
        self.causes = Some(causes);
    }

    /// From now on what is lost is told by line and by place of the program; misses are told apart by their causes, too.
    pub fn attribute(&mut self) {
        self.attribution = Some(Box::new(Attribution::new(self.timing.line_shift)));
    }

    /// What it lost at which line, if that is told.
    pub fn losses(&self) -> Vec<LineLoss> {
        self.attribution.as_ref().map_or_else(Vec::new, |attribution| attribution.losses(self.cpu))
    }

    /// What follows is done by the program at `site`.
    #[inline]
    pub fn at_site(&mut self, site: u64) {
        self.site = site;
    }

    /// An access to `at`, which the program calls `named`, is done, or as good as.
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
            self.note_cause(line, |causes, cpu| causes.touch(cpu, line, word as usize, access.writes()));
            if let Some(attribution) = &mut self.attribution {
                attribution.touch(named, access.writes());
            }
        }
    }

    /// What the program calls `named` was changed for it where it is.
    pub fn note_change(&mut self, named: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.touch(named, true);
        }
    }

    /// The translation of `named` is missing.
    #[cold]
    pub(super) fn note_translation(&mut self, named: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.translate(self.site, named);
        }
    }

    /// The program waits for a change of what it calls `named`.
    pub(super) fn note_look(&mut self, named: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.look(self.site, named);
        }
    }

    /// Whom waits for a miss on `named` that begins now are to be charged to.
    pub(super) fn open_debt(&mut self, named: u64) -> Debt {
        let site = self.site;
        self.attribution.as_mut().map_or(Debt::NONE, |attribution| attribution.open(site, named))
    }

    /// What is measured of the program has changed.
    pub(super) fn heed_meter(&mut self) {
        if let Some(attribution) = &mut self.attribution {
            let declared = self.meter.is_used();
            let measuring = if declared { self.meter.measuring() } else { Measuring::Yes };
            attribution.count(measuring, declared);
        }
    }

    /// A reference reaches the secondary cache; with `missed`, a request follows.
    #[inline]
    pub(super) fn note_reference(&mut self, line: LineAddr, missed: bool) {
        self.note_cause(line, |causes, cpu| {
            causes.refer(cpu, line, missed);
            None
        });
    }

    /// The request for a line has been granted.
    #[inline]
    pub(super) fn note_grant(&mut self, line: LineAddr) {
        let Some(causes) = &self.causes else { return };
        let (upgrade, cause) = causes.borrow_mut().grant(self.cpu, line);
        let debt = self.miss_on(line).and_then(|id| self.miss(id)).map_or(Debt::NONE, |miss| miss.debt);
        if let Some(attribution) = &mut self.attribution {
            attribution.grant(debt, line, upgrade);
        }
        self.note_cause(line, |_, _| cause);
    }

    /// A line has left the caches.
    #[inline]
    pub(super) fn note_loss(&mut self, line: LineAddr, evicted: bool) {
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

    /// The program has ended: what was to be seen of its misses is seen.
    pub fn settle_causes(&mut self) {
        if let Some(causes) = &self.causes {
            let lines = causes.borrow_mut().settle(self.cpu);
            for line in lines {
                self.note_cause(line, |_, _| Some(MissCause::FalseSharing));
            }
        }
    }

    /// An access has hit; `made` says whether a store has made its version already.
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

    /// An access has become a miss.
    #[inline]
    pub(super) fn observe_miss(&mut self, line: LineAddr, access: Access) {
        if let Some(observer) = &self.observer {
            match access {
                Access::Store => observer.borrow_mut().issued(line),
                Access::UncachedRead => observer.borrow_mut().asks_uncached(self.cpu, line),
                _ => {}
            }
        }
    }

    /// An access to a line that is on its way is done: now if the line has been granted, else when it will be.
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
            // Contents that were taken away again before they were all here had been loaded when they came.
            Access::Load if copy.state.is_valid() => observer.loaded(self.cpu, line, copy, self.time),
            _ => {}
        }
    }

    /// The request for `line` has been granted at `now`, and the protocol has performed the access that it was for. The stores
    /// that waited with it are performed too.
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

    /// The store that waited for a load's line has made its version, at `now`: those that waited with it follow.
    pub(super) fn observe_waiting_store(&mut self, id: MissId, now: Time) {
        let Some(observer) = self.observer.clone() else { return };
        let Some(&super::Miss { line, copy, .. }) = self.miss(id) else { return };
        observer.borrow_mut().stored(self.cpu, line, copy, now);
        self.perform_joined(id, 1, now);
    }

    /// Performs the stores that waited for miss `id`, but for those that have been.
    fn perform_joined(&mut self, id: MissId, done: u32, now: Time) {
        let Some(observer) = self.observer.clone() else { return };
        let Some(miss) = self.miss_mut(id) else { return };
        let (line, waiting) = (miss.line, std::mem::take(&mut miss.stores));
        for _ in done..waiting {
            self.next_version(line);
            observer.borrow_mut().stored(self.cpu, line, self.copy(line), now);
        }
    }

    /// A store to the processor's copy makes the next version.
    fn next_version(&mut self, line: LineAddr) {
        if let Some(miss) = self.miss_on(line).and_then(|id| self.miss_mut(id)) {
            miss.copy.version = miss.copy.version.next();
        } else if let Some(found) = self.secondary.probe(line.0) {
            let CachedCopy { state, version } = self.copy(line);
            self.secondary.update(found.slot, line.0, state, version.next());
        }
    }
}
