//! The hardware prefetcher of a processor: requests for lines that it proposes, into the coherent level.

use protocol::Access;
use rustc_hash::FxHashSet;
use units::{LineAddr, Time};

use super::misses::Waiting;
use super::{Miss, MissId, PostKind, Processor, Wait};
use crate::account::{MissTag, Service};
use crate::part::{CachedCopy, Place, Prefetcher, PrefetcherSpec, Reference};

/// A prefetcher and the lines that it has requested.
pub(super) struct Prefetching {
    prefetcher: Prefetcher,
    /// Lines, in the caches or under way, that no reference has used.
    unused: FxHashSet<LineAddr>,
    /// Whether the program has turned it off.
    off: bool,
}

impl Prefetching {
    /// A prefetcher that has observed nothing.
    pub fn new(spec: PrefetcherSpec) -> Self {
        Self { prefetcher: Prefetcher::new(spec), unused: FxHashSet::default(), off: false }
    }
}

impl Processor {
    /// The reference to `block`, the program's address `named`, is issued, and `missed` the caches or joined a miss: the prefetcher
    /// observes it, and sends requests as far as miss registers are free.
    #[inline]
    pub(super) fn prefetch_after(&mut self, block: u64, named: u64, missed: bool) {
        if self.prefetching.is_some() {
            self.observe_reference(block, named, missed);
        }
    }

    /// Turns the prefetcher off or on, if there is one, as benchmarks do by a register of the processor.
    pub fn use_prefetcher(&mut self, on: bool) {
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.off = !on;
        }
    }

    #[inline(never)]
    fn observe_reference(&mut self, block: u64, named: u64, missed: bool) {
        let line = self.line_of_block(block);
        let used = self.note_used(line);
        let page = named >> self.timing.one_page_shift;
        let site = if self.site == 0 { page } else { self.site };
        let Some(prefetching) = &mut self.prefetching else { return };
        if prefetching.off {
            return;
        }
        let reference = Reference { line: line.0, site, is_new: missed || used };
        let Some(proposed) = prefetching.prefetcher.observe(reference) else { return };
        let shift = self.timing.prefetched_region_shift - self.timing.line_shift;
        for proposal in proposed.take_while(|proposal| proposal >> shift == line.0 >> shift) {
            if !self.request_ahead(LineAddr(proposal)) {
                return;
            }
            if let Some(prefetching) = &mut self.prefetching {
                prefetching.prefetcher.requested(&proposed, proposal);
            }
        }
    }

    /// Requests `line`, unless it is there or under way. Returns `false` if nothing is free for the request.
    fn request_ahead(&mut self, line: LineAddr) -> bool {
        let known =
            self.miss_on(line).is_some() || self.writebacks.contains(&line) || self.caches.find(line.0).is_some();
        if known {
            return true;
        }
        if self.writeback_room().is_err() {
            return false;
        }
        let Ok(id) = self.free_miss(false, false, false) else { return false };
        let Some(place) = self.make_room(self.timing.outermost, line) else { return false };
        if let Some(prefetching) = &mut self.prefetching {
            prefetching.unused.insert(line);
        }
        self.start_prefetch(id, line, place);
        self.evict_displaced(self.time);
        true
    }

    fn start_prefetch(&mut self, id: MissId, line: LineAddr, place: Place) {
        self.counters.prefetches += 1;
        let (outermost, level) = (self.timing.outermost, self.timing.coherent());
        let mut checked = self.time;
        if outermost > 0 {
            let start = self.buses[outermost].start(self.time, level.grid);
            self.buses[outermost].hold(start, level, level.other_way);
            checked = start + level.tag_check + level.other_way;
        }
        let access = Access::ReadPrefetch;
        self.post(checked + self.timing.miss_to_request, PostKind::Request(access), line, CachedCopy::default());
        self.misses.open(
            id,
            Miss {
                waiting: Waiting::No,
                line,
                copy: CachedCopy::default(),
                requested: true,
                granted: false,
                trapped: false,
                private: false,
                opener: self.threads.active(),
                awaited_by: self.threads.active_bit(),
                around: false,
                block: line.0 << (self.timing.line_shift - self.timing.block_shift),
                place: Some(place),
                prefetched: true,
                demanded: false,
                service: Service::default(),
                upgrade: false,
                access,
                stores: 0,
                refusals: 0,
                writes: false,
                then_store: false,
                value_at: None,
                tag: MissTag::NONE,
                buffered: false,
                fill_end: Time::ZERO,
            },
        );
        self.report_miss(MissTag::NONE, 0, line, access);
    }

    /// A reference to `block` joins miss `id`: what the prefetcher requested is the reference's from now on.
    ///
    /// # Errors
    /// The event to wait for, if no fill buffer is free for it.
    #[inline]
    pub(super) fn demand_prefetched(&mut self, id: MissId, block: u64) -> Result<(), Wait> {
        if self.miss(id).is_some_and(Miss::stays_outside) {
            if !self.misses.has_buffer() {
                return Err(Wait::AnyMiss);
            }
            if let Some(miss) = self.miss_mut(id) {
                (miss.demanded, miss.block) = (true, block);
            }
        }
        Ok(())
    }

    /// Counts the first reference to a prefetched line. Returns whether it was that.
    fn note_used(&mut self, line: LineAddr) -> bool {
        let used = self.prefetching.as_mut().is_some_and(|prefetching| prefetching.unused.remove(&line));
        self.counters.useful_prefetches += u64::from(used);
        used
    }

    /// Counts a prefetched line that leaves the caches unused.
    #[inline]
    pub(super) fn note_unused(&mut self, line: LineAddr) {
        if let Some(prefetching) = &mut self.prefetching {
            self.counters.useless_prefetches += u64::from(prefetching.unused.remove(&line));
        }
    }
}
