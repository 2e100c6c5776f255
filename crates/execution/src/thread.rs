//! A simulated processor as a thread of a program.

use std::rc::Rc;

use sim::{Cause, Thread};
use workloads::{Barrier, SPIN};

use crate::memory::SharedRegion;

/// A thread of a program on a simulated processor.
pub struct SimulatedThread<'t, 'y> {
    thread: &'t mut Thread<'y>,
    number: usize,
    /// How it meets others, if that costs more than the wait for the last of them.
    barrier: Option<Barrier<Rc<SharedRegion>>>,
}

impl<'t, 'y> SimulatedThread<'t, 'y> {
    /// Thread number `number` of its program, on the processor of `thread`; it meets others at `barrier`, or at an ideal one.
    pub fn new(thread: &'t mut Thread<'y>, number: usize, barrier: Option<Barrier<Rc<SharedRegion>>>) -> Self {
        Self { thread, number, barrier }
    }

    /// Changes a word indivisibly. Returns what was there.
    fn indivisible(&mut self, region: &SharedRegion, word: usize, change: impl FnOnce(u64) -> u64) -> u64 {
        self.thread.charged_to(Cause::Lock, |thread| {
            thread.indivisible(Some(region.at(word)), || {
                let before = region.get(word);
                region.set(word, change(before));
                before
            })
        })
    }
}

impl workloads::Thread for SimulatedThread<'_, '_> {
    type Region = SharedRegion;

    #[inline]
    fn number(&self) -> usize {
        self.number
    }

    #[inline(always)]
    fn load(&mut self, region: &SharedRegion, word: usize) -> u64 {
        self.thread.load(region.at(word));
        region.get(word)
    }

    #[inline(always)]
    fn load_dependent(&mut self, region: &SharedRegion, word: usize) -> u64 {
        self.thread.load_dependent(region.at(word));
        region.get(word)
    }

    #[inline(always)]
    fn store(&mut self, region: &SharedRegion, word: usize, value: u64) {
        self.thread.store(region.at(word));
        region.set(word, value);
    }

    #[inline(always)]
    fn store_part(&mut self, region: &SharedRegion, word: usize, value: u64, mask: u64) {
        self.thread.store(region.at(word));
        region.set(word, region.get(word) & !mask | value & mask);
    }

    // The host's memory for values is left alone where no value is used.
    #[inline(always)]
    fn load_unused(&mut self, region: &SharedRegion, word: usize) {
        self.thread.load(region.at(word));
    }

    #[inline(always)]
    fn load_dependent_unused(&mut self, region: &SharedRegion, word: usize) {
        self.thread.load_dependent(region.at(word));
    }

    #[inline(always)]
    fn store_unused(&mut self, region: &SharedRegion, word: usize) {
        self.thread.store(region.at(word));
    }

    #[inline(always)]
    fn load_private(&mut self, region: &SharedRegion, word: usize) {
        self.thread.load_private(region.at(word));
    }

    #[inline(always)]
    fn store_private(&mut self, region: &SharedRegion, word: usize) {
        self.thread.store_private(region.at(word));
    }

    #[inline(always)]
    fn load_own(&mut self, region: &SharedRegion, word: usize) -> u64 {
        self.thread.load_private(region.at(word));
        region.get(word)
    }

    #[inline(always)]
    fn store_own(&mut self, region: &SharedRegion, word: usize, value: u64) {
        self.thread.store_private(region.at(word));
        region.set(word, value);
    }

    fn fetch_add(&mut self, region: &SharedRegion, word: usize, addend: u64) -> u64 {
        self.indivisible(region, word, |before| before.wrapping_add(addend))
    }

    fn compare_and_swap(&mut self, region: &SharedRegion, word: usize, expected: u64, new: u64) -> u64 {
        self.indivisible(region, word, |before| if before == expected { new } else { before })
    }

    fn load_acquire(&mut self, region: &SharedRegion, word: usize) -> u64 {
        let at = Some(region.at(word));
        self.thread.charged_to(Cause::Lock, |thread| thread.acquire(at, || region.get(word)))
    }

    /// Stores of a critical section are done before its lock is seen free: the release starts after all else has ended.
    fn store_release(&mut self, region: &SharedRegion, word: usize, value: u64) {
        let at = Some(region.at(word));
        self.thread.drain();
        self.thread.charged_to(Cause::Lock, |thread| thread.release(at, || region.set(word, value)));
    }

    fn await_change(&mut self, region: &SharedRegion, word: usize, held: u64) -> u64 {
        loop {
            let found = self.load_acquire(region, word);
            if found != held {
                return found;
            }
            self.thread.charged_to(Cause::Lock, |thread| thread.spin(region.at(word), SPIN));
        }
    }

    fn fetch_add_at_memory(&mut self, region: &SharedRegion, word: usize, addend: u64) -> u64 {
        self.thread.drain();
        self.thread.charged_to(Cause::Lock, |thread| {
            thread.change_at_memory(Some(region.at(word)), || {
                let before = region.get(word);
                region.set(word, before.wrapping_add(addend));
                before
            })
        })
    }

    fn load_at_memory(&mut self, region: &SharedRegion, word: usize) -> u64 {
        self.thread.drain();
        self.thread.charged_to(Cause::Lock, |thread| thread.at_memory(Some(region.at(word)), || region.get(word)))
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

    fn barrier(&mut self) {
        match self.barrier.take() {
            None => self.thread.barrier(),
            Some(mut barrier) => {
                let Self { thread, number, .. } = self;
                let number = *number;
                thread.charged_to(Cause::Barrier, |thread| {
                    barrier.wait(&mut SimulatedThread { thread, number, barrier: None });
                });
                self.barrier = Some(barrier);
            }
        }
    }

    fn measure(&mut self, on: bool) {
        self.thread.measure(on);
    }
}
