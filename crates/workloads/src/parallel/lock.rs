//! Locks in shared memory: test, then test-and-set by load-linked and store-conditional, as PARMACS have them on MIPS.

use crate::Blocks;
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

const FREE: u64 = 0;
const HELD: u64 = 1;

/// Locks, in a region of their own or in what they guard.
#[derive(Debug)]
pub struct Locks<'r, R> {
    region: &'r R,
    places: Places,
}

/// Where locks are.
#[derive(Clone, Copy, Debug)]
enum Places {
    /// Each in a line of its own, dealt round the nodes of the threads.
    Apart { blocks: Blocks, threads: usize },
    /// At equal distances from a word on.
    Strided { first: usize, stride: usize },
}

impl<R> Clone for Locks<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Locks<'_, R> {}

impl<'r, R> Locks<'r, R> {
    fn blocks(shape: &Shape, count: usize) -> Blocks {
        Blocks::new(shape, count.div_ceil(shape.threads()))
    }

    /// The region that `count` locks want, each in a line of its own.
    pub fn plan(shape: &Shape, count: usize) -> RegionPlan {
        Self::blocks(shape, count).plan(shape.homes.iter().copied())
    }

    /// The `count` locks of a region that was planned for as many. All are free as long as nobody took them.
    pub fn new(shape: &Shape, region: &'r R, count: usize) -> Self {
        Self { region, places: Places::Apart { blocks: Self::blocks(shape, count), threads: shape.threads() } }
    }

    /// The locks that a region holds one after the other, a word each, as an array of a language's locks: they share lines.
    pub fn packed(region: &'r R) -> Self {
        Self::within(region, 0, 1)
    }

    /// Locks that are words of what they guard: the first is word `first`, and each further one `stride` words after. Whoever
    /// takes one has the line of what it guards.
    pub fn within(region: &'r R, first: usize, stride: usize) -> Self {
        Self { region, places: Places::Strided { first, stride } }
    }

    fn word(&self, lock: usize) -> usize {
        match self.places {
            Places::Apart { blocks, threads } => blocks.word(lock % threads, lock / threads),
            Places::Strided { first, stride } => first + lock * stride,
        }
    }

    /// Waits until a lock is free and takes it: what its last holder stored is seen.
    pub fn acquire<T: Thread<Region = R>>(&self, thread: &mut T, lock: usize) {
        let word = self.word(lock);
        while thread.load_acquire(self.region, word) != FREE
            || thread.compare_and_swap(self.region, word, FREE, HELD) != FREE
        {
            thread.await_change(self.region, word, HELD);
        }
    }

    /// Gives a lock back, all that was stored before done.
    pub fn release<T: Thread<Region = R>>(&self, thread: &mut T, lock: usize) {
        thread.store_release(self.region, self.word(lock), FREE);
    }

    /// A critical section: `body` while holding a lock.
    pub fn critical<T: Thread<Region = R>, V>(&self, thread: &mut T, lock: usize, body: impl FnOnce(&mut T) -> V) -> V {
        self.acquire(thread, lock);
        let value = body(thread);
        self.release(thread, lock);
        value
    }
}
