//! What an observer is told of a processor's accesses, and the stores that only an observed processor counts.
//!
//! A store that hits a modified block changes nothing that anybody could notice by time, so its line keeps its version; under
//! observation it makes the next one, like every other store.

use protocol::{Access, Mesi};
use units::{CpuId, LineAddr, PhysicalAddr, Time};

use super::{CachedCopy, MissId, Processor};
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

    /// An access to `at` is done, or as good as.
    #[inline]
    pub(super) fn note_touch(&mut self, at: PhysicalAddr, access: Access) {
        if self.causes.is_some() && matches!(access, Access::Load | Access::Store) {
            let line = LineAddr(at.0 >> self.timing.line_shift);
            let word = (at.0 & ((1 << self.timing.line_shift) - 1)) >> WORD_SHIFT;
            self.note_cause(|causes, cpu| causes.touch(cpu, line, word as usize, access.writes()));
        }
    }

    /// A reference reaches the secondary cache; with `missed`, a request follows.
    #[inline]
    pub(super) fn note_reference(&mut self, line: LineAddr, missed: bool) {
        self.note_cause(|causes, cpu| {
            causes.refer(cpu, line, missed);
            None
        });
    }

    /// The request for a line has been granted.
    #[inline]
    pub(super) fn note_grant(&mut self, line: LineAddr) {
        self.note_cause(|causes, cpu| causes.grant(cpu, line));
    }

    /// A line has left the caches.
    #[inline]
    pub(super) fn note_loss(&mut self, line: LineAddr, evicted: bool) {
        self.note_cause(|causes, cpu| causes.lose(cpu, line, evicted));
    }

    #[inline]
    fn note_cause(&mut self, tell: impl FnOnce(&mut Causes, CpuId) -> Option<MissCause>) {
        if let Some(causes) = &self.causes
            && let Some(cause) = tell(&mut causes.borrow_mut(), self.cpu)
        {
            self.counters.causes[cause as usize] += 1;
        }
    }

    /// The program has ended: what was to be seen of its misses is seen.
    pub fn settle_causes(&mut self) {
        if let Some(causes) = &self.causes {
            self.counters.causes[MissCause::FalseSharing as usize] += causes.borrow_mut().settle(self.cpu);
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
            Access::Load if copy.state != Mesi::Invalid => observer.loaded(self.cpu, line, copy, self.time),
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
        } else if let Some(found) = self.secondary.probe(line) {
            let CachedCopy { state, version } = self.copy(line);
            self.secondary.update(found.slot, line, state, version.next());
        }
    }
}
