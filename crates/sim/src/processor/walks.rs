//! Translations under way: the second level of the TLB, and hardware that walks page tables behind other instructions.

use units::{Duration, Time};

use super::Processor;
use super::tlb::Found;
use crate::account::Cause;

/// The walkers of page tables, and the translation that the latest reference waits for.
#[derive(Debug)]
pub(super) struct Walks {
    /// By walker, when it is free; empty where traps refill the TLB.
    free: Box<[Time]>,
    /// When the translation of the latest reference is there.
    translated: Time,
}

impl Walks {
    /// `walkers` idle walkers.
    pub(super) fn new(walkers: usize) -> Self {
        Self { free: vec![Time::ZERO; walkers].into(), translated: Time::ZERO }
    }

    /// Exchanges the time of the latest reference's translation for that of another thread's.
    pub(super) fn exchange_translated(&mut self, other: &mut Time) {
        std::mem::swap(&mut self.translated, other);
    }

    /// Begins a walk that takes `length`, at `now` or as soon as a walker is free. Returns its end, or `None` without a walker.
    fn begin(&mut self, now: Time, length: Duration) -> Option<Time> {
        let free = self.free.iter_mut().min()?;
        *free = now.max(*free) + length;
        Some(*free)
    }
}

impl Processor {
    /// The time from which the latest reference has its translation, no sooner than its issue.
    #[inline(always)]
    pub(super) fn translated(&self) -> Time {
        self.time.max(self.walks.translated)
    }

    /// The first level of the TLB has the translation of the latest reference.
    #[inline(always)]
    pub(super) fn end_translation(&mut self) {
        self.walks.translated = Time::ZERO;
    }

    /// The first level of the TLB does not have the translation of the latest reference, to `at`.
    #[cold]
    pub(super) fn translate(&mut self, at: u64, found: Found) {
        let second = self.time + self.timing.translation_second;
        if found == Found::Second {
            self.walks.translated = second;
            return;
        }
        self.counters.translation_misses += 1;
        self.report_tlb_miss(at);
        self.translations.missed(at, self.timing.page_shift);
        match self.walks.begin(second, self.timing.translation_miss) {
            Some(end) => self.walks.translated = end,
            None => (self.refilling, self.walks.translated) = (true, Time::ZERO),
        }
    }

    /// A reference that hits in the primary cache waits in the window for its translation.
    #[cold]
    pub(super) fn await_translation(&mut self, translated: Time) {
        self.window.enter(self.issued, translated + self.timing.primary_hit, Cause::Translation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_overlap_as_far_as_there_are_walkers() {
        let ns = |ns: u64| Time::ZERO + Duration::from_ns(ns as f64);
        let length = Duration::from_ns(10.0);
        let mut walks = Walks::new(2);
        let ends: Vec<Option<Time>> = (0..4).map(|_| walks.begin(ns(5), length)).collect();
        assert_eq!(ends, [15, 15, 25, 25].map(|end| Some(ns(end))));
        assert_eq!(walks.begin(ns(40), length), Some(ns(50)));
        assert_eq!(Walks::new(0).begin(ns(5), length), None);
    }
}
