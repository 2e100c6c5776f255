//! A simulated processor as a thread of a program.

use sim::Thread;

use super::memory::SharedRegion;

/// A thread of a program on a simulated processor.
pub struct SimulatedThread<'t, 'y> {
    thread: &'t mut Thread<'y>,
    number: usize,
}

impl<'t, 'y> SimulatedThread<'t, 'y> {
    /// Thread number `number` of its program, on the processor of `thread`.
    pub fn new(thread: &'t mut Thread<'y>, number: usize) -> Self {
        Self { thread, number }
    }

    /// A load-linked and a store-conditional that finds the line fetched for writing at once, as `lmbench-cas` has it. The
    /// value changes at the time at which the store is done, and not before. Returns what was there.
    fn indivisible(&mut self, region: &SharedRegion, word: usize, change: impl FnOnce(u64) -> u64) -> u64 {
        let at = region.at(word);
        self.thread.store(at);
        self.thread.load(at);
        self.thread.drain();
        self.thread.order();
        let before = region.get(word);
        region.set(word, change(before));
        before
    }
}

impl workloads::Thread for SimulatedThread<'_, '_> {
    type Region = SharedRegion;

    #[inline]
    fn number(&self) -> usize {
        self.number
    }

    #[inline]
    fn load(&mut self, region: &SharedRegion, word: usize) -> u64 {
        self.thread.load(region.at(word));
        region.get(word)
    }

    #[inline]
    fn load_dependent(&mut self, region: &SharedRegion, word: usize) -> u64 {
        self.thread.load_dependent(region.at(word));
        region.get(word)
    }

    #[inline]
    fn store(&mut self, region: &SharedRegion, word: usize, value: u64) {
        self.thread.store(region.at(word));
        region.set(word, value);
    }

    fn fetch_add(&mut self, region: &SharedRegion, word: usize, addend: u64) -> u64 {
        self.indivisible(region, word, |before| before.wrapping_add(addend))
    }

    fn compare_and_swap(&mut self, region: &SharedRegion, word: usize, expected: u64, new: u64) -> u64 {
        self.indivisible(region, word, |before| if before == expected { new } else { before })
    }

    fn load_acquire(&mut self, region: &SharedRegion, word: usize) -> u64 {
        self.thread.load(region.at(word));
        self.thread.drain();
        self.thread.order();
        region.get(word)
    }

    /// What a critical section stored is done before its lock is seen free: the release starts after all else has ended.
    fn store_release(&mut self, region: &SharedRegion, word: usize, value: u64) {
        self.thread.drain();
        self.thread.store(region.at(word));
        self.thread.drain();
        self.thread.order();
        region.set(word, value);
    }

    #[inline]
    fn prefetch_shared(&mut self, region: &SharedRegion, word: usize) {
        self.thread.prefetch_shared(region.at(word));
    }

    #[inline]
    fn prefetch_exclusive(&mut self, region: &SharedRegion, word: usize) {
        self.thread.prefetch_exclusive(region.at(word));
    }

    #[inline]
    fn instructions(&mut self, count: u32) {
        self.thread.instructions(count);
    }

    #[inline]
    fn work(&mut self, cycles: u32) {
        self.thread.work(cycles);
    }

    #[inline]
    fn barrier(&mut self) {
        self.thread.barrier();
    }

    fn measure(&mut self, on: bool) {
        self.thread.measure(on);
    }
}
