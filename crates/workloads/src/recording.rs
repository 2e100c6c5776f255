//! A thread that may have all it does recorded.

use std::cell::RefCell;
use std::rc::Rc;

use references::{Access, AccessKind, Event, Recorder};

use crate::thread::Thread;

/// Bytes in a word.
const WORD: u64 = 8;

/// Where the run of a program is recorded.
#[derive(Clone)]
pub struct Record {
    /// The recorder of all its threads.
    pub recorder: Rc<RefCell<Recorder>>,
    /// The address in the trace of each region's first byte.
    pub starts: Vec<u64>,
}

/// Memory with the address by which a trace knows it.
pub struct RecordedRegion<'r, R> {
    region: &'r R,
    start: u64,
}

impl<'r, R> RecordedRegion<'r, R> {
    /// All `regions`, as `record` knows them; without a record, addresses have no meaning.
    pub fn of(regions: &'r [R], record: Option<&Record>) -> Vec<Self> {
        let start = |number: usize| record.map_or(0, |record| record.starts[number]);
        regions.iter().enumerate().map(|(number, region)| Self { region, start: start(number) }).collect()
    }

    fn address(&self, word: usize) -> u64 {
        self.start + word as u64 * WORD
    }
}

/// A thread like the one within, all of which goes to a recorder if there is one. All threads of a program run on one thread of the
/// host.
pub struct Recording<'t, 'r, T: Thread> {
    thread: &'t mut T,
    recorder: Option<Rc<RefCell<Recorder>>>,
    regions: std::marker::PhantomData<&'r ()>,
}

impl<'t, T: Thread> Recording<'t, '_, T> {
    /// `thread`, recorded in `record`.
    pub fn new(thread: &'t mut T, record: Option<Record>) -> Self {
        Self { thread, recorder: record.map(|record| record.recorder), regions: std::marker::PhantomData }
    }

    #[inline]
    fn record(&self, event: Event) {
        if let Some(recorder) = &self.recorder {
            recorder.borrow_mut().record(self.thread.number(), event);
        }
    }

    #[inline]
    fn access<R>(&self, kind: AccessKind, dependent: bool, region: &RecordedRegion<'_, R>, word: usize) {
        let address = region.address(word);
        self.record(Event::Access(Access { kind, dependent, bytes: WORD as u8, address }));
    }

    fn change<R>(&self, region: &RecordedRegion<'_, R>, word: usize) {
        if let Some(recorder) = &self.recorder {
            recorder.borrow_mut().change(self.thread.number(), region.address(word));
        }
    }

    fn saw<R>(&self, region: &RecordedRegion<'_, R>, word: usize) {
        if let Some(recorder) = &self.recorder {
            recorder.borrow_mut().saw(self.thread.number(), region.address(word), WORD as u8);
        }
    }
}

impl<'r, T: Thread> Thread for Recording<'_, 'r, T>
where
    T::Region: 'r,
{
    type Region = RecordedRegion<'r, T::Region>;

    fn number(&self) -> usize {
        self.thread.number()
    }

    #[inline]
    fn load(&mut self, region: &Self::Region, word: usize) -> u64 {
        self.access(AccessKind::Load, false, region, word);
        self.thread.load(region.region, word)
    }

    #[inline]
    fn load_dependent(&mut self, region: &Self::Region, word: usize) -> u64 {
        self.access(AccessKind::Load, true, region, word);
        self.thread.load_dependent(region.region, word)
    }

    #[inline]
    fn store(&mut self, region: &Self::Region, word: usize, value: u64) {
        self.access(AccessKind::Store, false, region, word);
        self.thread.store(region.region, word, value);
    }

    #[inline]
    fn store_part(&mut self, region: &Self::Region, word: usize, value: u64, mask: u64) {
        self.access(AccessKind::Store, false, region, word);
        self.thread.store_part(region.region, word, value, mask);
    }

    #[inline]
    fn load_unused(&mut self, region: &Self::Region, word: usize) {
        self.access(AccessKind::Load, false, region, word);
        self.thread.load_unused(region.region, word);
    }

    #[inline]
    fn load_dependent_unused(&mut self, region: &Self::Region, word: usize) {
        self.access(AccessKind::Load, true, region, word);
        self.thread.load_dependent_unused(region.region, word);
    }

    #[inline]
    fn store_unused(&mut self, region: &Self::Region, word: usize) {
        self.access(AccessKind::Store, false, region, word);
        self.thread.store_unused(region.region, word);
    }

    #[inline]
    fn load_private(&mut self, region: &Self::Region, word: usize) {
        self.access(AccessKind::Load, false, region, word);
        self.thread.load_private(region.region, word);
    }

    #[inline]
    fn store_private(&mut self, region: &Self::Region, word: usize) {
        self.access(AccessKind::Store, false, region, word);
        self.thread.store_private(region.region, word);
    }

    #[inline]
    fn load_own(&mut self, region: &Self::Region, word: usize) -> u64 {
        self.access(AccessKind::Load, false, region, word);
        self.thread.load_own(region.region, word)
    }

    #[inline]
    fn store_own(&mut self, region: &Self::Region, word: usize, value: u64) {
        self.access(AccessKind::Store, false, region, word);
        self.thread.store_own(region.region, word, value);
    }

    fn fetch_add(&mut self, region: &Self::Region, word: usize, addend: u64) -> u64 {
        let before = self.thread.fetch_add(region.region, word, addend);
        self.change(region, word);
        before
    }

    fn compare_and_swap(&mut self, region: &Self::Region, word: usize, expected: u64, new: u64) -> u64 {
        let before = self.thread.compare_and_swap(region.region, word, expected, new);
        if before == expected {
            self.change(region, word);
        } else {
            self.saw(region, word);
        }
        before
    }

    fn load_acquire(&mut self, region: &Self::Region, word: usize) -> u64 {
        let found = self.thread.load_acquire(region.region, word);
        self.saw(region, word);
        found
    }

    fn store_release(&mut self, region: &Self::Region, word: usize, value: u64) {
        self.thread.store_release(region.region, word, value);
        self.change(region, word);
    }

    fn prefetch_shared(&mut self, region: &Self::Region, word: usize) {
        self.access(AccessKind::PrefetchShared, false, region, word);
        self.thread.prefetch_shared(region.region, word);
    }

    fn prefetch_exclusive(&mut self, region: &Self::Region, word: usize) {
        self.access(AccessKind::PrefetchExclusive, false, region, word);
        self.thread.prefetch_exclusive(region.region, word);
    }

    #[inline]
    fn instructions(&mut self, count: u32) {
        self.record(Event::Instructions(count));
        self.thread.instructions(count);
    }

    #[inline]
    fn work(&mut self, cycles: u32) {
        self.record(Event::Work(cycles));
        self.thread.work(cycles);
    }

    fn barrier(&mut self) {
        self.record(Event::Barrier);
        self.thread.barrier();
    }

    fn await_change(&mut self, region: &Self::Region, word: usize, held: u64) -> u64 {
        let found = self.thread.await_change(region.region, word, held);
        self.saw(region, word);
        found
    }

    fn fetch_add_at_memory(&mut self, region: &Self::Region, word: usize, addend: u64) -> u64 {
        let before = self.thread.fetch_add_at_memory(region.region, word, addend);
        self.change(region, word);
        before
    }

    fn load_at_memory(&mut self, region: &Self::Region, word: usize) -> u64 {
        let found = self.thread.load_at_memory(region.region, word);
        self.saw(region, word);
        found
    }

    fn measure(&mut self, on: bool) {
        self.record(Event::Measure(on));
        self.thread.measure(on);
    }
}
