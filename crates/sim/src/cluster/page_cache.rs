//! The page cache of a device: pages of other nodes that have frames in the node's own memory, with a tag for each line (Lai and
//! Falsafi 2000, Section 3.2).
//!
//! A page enters it after so many refetches: requests for lines that the node has replaced since it last had them. The device
//! has a counter for each page. When the cache is full, the page is flushed to its home that has gone longest without a
//! miss. The tags are the rights of the lines, which the device has anyway; the translation to the frame is one to one, so that lines
//! keep their names.

use machine::description::{Description, PageCacheSpec};
use rustc_hash::{FxHashMap, FxHashSet};
use units::{Duration, LineAddr};

use crate::statistics::PageStatistics;

/// The page cache of a device, with its counters of refetches.
pub(super) struct PageCache {
    /// Pages that it holds; 0 for no page cache, which still counts refetches.
    capacity: usize,
    /// Refetches at which a page is relocated.
    threshold: u32,
    /// Misses of the node before the first page may be relocated.
    delay: u64,
    times: PageTimes,
    /// Lines of a page, a shift.
    lines_shift: u32,
    /// Pages in it, each with the number of its latest use: the trap that relocated it, or a miss.
    resident: FxHashMap<u64, u64>,
    uses: u64,
    refetches: FxHashMap<u64, u32>,
    /// Lines that the node has replaced, and that no other node has written since, as far as the device has been told.
    replaced: FxHashSet<LineAddr>,
    counts: PageStatistics,
}

/// Times of page operations.
#[derive(Clone, Copy, Default)]
pub(super) struct PageTimes {
    /// A trap that relocates a page without lines.
    pub(super) trap: Duration,
    /// A flushed line, in addition.
    pub(super) flush: Duration,
    /// The removal of a translation at another processor of the node.
    pub(super) shootdown: Duration,
}

impl PageCache {
    pub(super) fn new(description: &Description) -> Self {
        let page = description.tlb.page;
        let lines = page.0 / description.coherent_cache().line.0;
        let none = (0, u32::MAX, PageTimes::default());
        let (capacity, threshold, times) = description.page_cache.as_ref().map_or(none, |spec: &PageCacheSpec| {
            let times = PageTimes { trap: spec.trap, flush: spec.flush, shootdown: spec.shootdown };
            ((spec.size.0 / page.0) as usize, spec.threshold, times)
        });
        Self {
            capacity,
            threshold,
            delay: description.miss_counters.as_ref().map_or(0, |spec| spec.relocation_delay.into()),
            times,
            lines_shift: lines.trailing_zeros(),
            resident: FxHashMap::default(),
            uses: 0,
            refetches: FxHashMap::default(),
            replaced: FxHashSet::default(),
            counts: PageStatistics::default(),
        }
    }

    pub(super) fn times(&self) -> PageTimes {
        self.times
    }

    const fn page(&self, line: LineAddr) -> u64 {
        line.0 >> self.lines_shift
    }

    /// The lines of a page.
    pub(super) fn lines(&self, page: u64) -> impl Iterator<Item = LineAddr> + use<> {
        let shift = self.lines_shift;
        (page << shift..(page + 1) << shift).map(LineAddr)
    }

    /// Whether the line's page is in it.
    pub(super) fn holds(&self, line: LineAddr) -> bool {
        self.resident.contains_key(&self.page(line))
    }

    /// The node has replaced a line.
    pub(super) fn note_replaced(&mut self, line: LineAddr) {
        self.replaced.insert(line);
    }

    /// Another node writes a line: the next miss on it is one of coherence.
    pub(super) fn note_invalidated(&mut self, line: LineAddr) {
        self.replaced.remove(&line);
    }

    /// A miss on a line is requested from its home.
    pub(super) fn count_miss(&mut self, line: LineAddr) {
        self.counts.misses += 1;
        let page = self.page(line);
        if let Some(latest) = self.resident.get_mut(&page) {
            self.uses += 1;
            *latest = self.uses;
        }
    }

    /// A miss on a line is about to be requested from its home. Returns the page to relocate first, if it is its turn.
    pub(super) fn due(&mut self, line: LineAddr) -> Option<u64> {
        let page = self.page(line);
        if !self.replaced.remove(&line) {
            return None;
        }
        self.counts.refetches += 1;
        if self.capacity == 0 || self.resident.contains_key(&page) {
            return None;
        }
        let count = self.refetches.entry(page).or_default();
        *count += 1;
        if *count < self.threshold || self.counts.misses < self.delay {
            return None;
        }
        self.refetches.remove(&page);
        Some(page)
    }

    /// A page enters. Returns the one that leaves for it, if it is full.
    pub(super) fn enter(&mut self, page: u64) -> Option<u64> {
        let full = self.resident.len() >= self.capacity;
        let oldest = self.resident.iter().min_by_key(|&(_, latest)| latest).map(|(&page, _)| page);
        let victim = oldest.filter(|_| full);
        if let Some(victim) = victim {
            self.resident.remove(&victim);
            self.counts.evictions += 1;
        }
        self.uses += 1;
        self.resident.insert(page, self.uses);
        self.counts.relocations += 1;
        victim
    }

    /// A trap that relocates a page takes so long.
    pub(super) fn count_relocation(&mut self, length: Duration) {
        self.counts.relocating += length;
    }

    /// The device has gathered a page, or read it for a copy.
    pub(super) fn count_job(&mut self, gathers: bool, length: Duration) {
        let counts = &mut self.counts;
        let (count, time) = match gathers {
            true => (&mut counts.gathered, &mut counts.gathering),
            false => (&mut counts.copied, &mut counts.copying),
        };
        *count += 1;
        *time += length;
    }

    /// The transfer of a page to the node's memory is complete: of the page itself, or of a copy.
    pub(super) const fn count_transfer(&mut self, moved: bool) {
        self.counts.migrations += moved as u64;
        self.counts.replications += !moved as u64;
    }

    pub(super) const fn statistics(&self) -> PageStatistics {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(pages: u64) -> PageCache {
        let size = (pages * 4).to_string();
        let changes = [("page_cache.size_kib", size.as_str()), ("page_cache.threshold", "2")];
        PageCache::new(&machine::resolve_changed("dsm-cluster", "x", "x", &changes).expect("a machine").description)
    }

    /// The line of this number on a page of 64.
    const fn line(page: u64, number: u64) -> LineAddr {
        LineAddr(page * 64 + number)
    }

    #[test]
    fn only_lines_that_the_node_has_replaced_are_refetched() {
        let mut cache = cache(2);
        assert_eq!(cache.due(line(7, 0)), None, "cold");
        cache.note_replaced(line(7, 0));
        cache.note_invalidated(line(7, 0));
        assert_eq!(cache.due(line(7, 0)), None, "coherence");
        for (number, relocated) in [(1, None), (2, Some(7))] {
            cache.note_replaced(line(7, number));
            assert_eq!(cache.due(line(7, number)), relocated, "refetch {number}");
        }
        assert_eq!(cache.statistics().refetches, 2);
    }

    #[test]
    fn the_page_leaves_that_has_gone_longest_without_a_miss() {
        let mut cache = cache(2);
        assert_eq!((cache.enter(1), cache.enter(2)), (None, None));
        cache.count_miss(line(1, 5));
        assert_eq!(cache.enter(3), Some(2));
        assert!(cache.holds(line(1, 0)) && cache.holds(line(3, 63)) && !cache.holds(line(2, 0)));
        assert_eq!(cache.lines(3).map(|line| line.0).collect::<Vec<_>>(), (192..256).collect::<Vec<_>>());
    }
}
