//! Barriers in shared memory, as a threads library has them where the machine has none.

use crate::Blocks;
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// How threads meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierKind {
    /// All count themselves in one word by load-linked and store-conditional; the last one changes a word that all others look
    /// at.
    LlSc,
    /// As [`BarrierKind::LlSc`], but the memory counts: the FLASH dissertation's other implementation (6.3).
    AtMemory,
    /// Threads meet in fours, one of each four goes on to the next four, and the last one changes the word that all look at.
    Tree,
}

impl BarrierKind {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::LlSc, "llsc"), (Self::AtMemory, "at-memory"), (Self::Tree, "tree")];
}

/// Threads that one waits for in a tree.
const CHILDREN: usize = 4;
/// Lines of the first thread's block: the counter, and the word that says which barrier is over.
const COUNTER: usize = 0;
const OVER: usize = CHILDREN;
/// Lines of a block: a child's word each, and one more.
const LINES: usize = CHILDREN + 1;

impl BarrierKind {
    /// How many words of memory a barrier of `threads` threads takes where lines have `line_words`, and which of them counts the
    /// barriers that are over.
    pub fn words(self, line_words: usize, threads: usize) -> (usize, usize) {
        let blocks = if self == Self::Tree { threads } else { 1 };
        (blocks * LINES * line_words, OVER * line_words)
    }
}

/// One thread's side of a barrier that all threads of a program come to again and again. Words count barriers instead of
/// changing to and fro, so nobody has to set them back.
#[derive(Debug)]
pub struct Barrier<R> {
    kind: BarrierKind,
    region: R,
    blocks: Blocks,
    threads: usize,
    /// Barriers that this thread has passed.
    passed: u64,
}

impl<R: std::ops::Deref> Barrier<R> {
    /// The region that it wants: a block at each thread's home. The counter and what all look at lie with thread 0.
    pub fn plan(shape: &Shape) -> RegionPlan {
        Blocks::new(shape, LINES).plan(shape.homes.iter().copied())
    }

    /// A thread's side of the barrier in a region so planned.
    pub fn new(kind: BarrierKind, shape: &Shape, region: R) -> Self {
        Self { kind, region, blocks: Blocks::new(shape, LINES), threads: shape.threads(), passed: 0 }
    }

    /// A thread's side of a barrier of `threads` threads that has been passed `passed` times, in a region that holds a block of
    /// five lines, of `line_words` words each, for each of them, or one if its kind is no tree ([`BarrierKind::words`]).
    pub fn passed(kind: BarrierKind, line_words: usize, threads: usize, region: R, passed: u64) -> Self {
        Self { kind, region, blocks: Blocks::close(line_words, LINES), threads, passed }
    }

    /// Waits until all threads have come as often as this one. Returns whether this one has let the others go.
    pub fn wait<T: Thread<Region = R::Target>>(&mut self, thread: &mut T) -> bool
    where
        R::Target: Sized,
    {
        let passed = self.passed;
        self.passed += 1;
        let over = self.blocks.word(0, OVER);
        let last = match self.kind {
            BarrierKind::LlSc => self.is_last(thread.fetch_add(&self.region, self.blocks.word(0, COUNTER), 1)),
            BarrierKind::AtMemory => {
                self.is_last(thread.fetch_add_at_memory(&self.region, self.blocks.word(0, COUNTER), 1))
            }
            BarrierKind::Tree => self.climb(thread, passed),
        };
        if last {
            thread.store_release(&self.region, over, passed + 1);
        } else {
            thread.await_change(&self.region, over, passed);
        }
        last
    }

    /// Whether all others of this barrier have been counted `before`.
    fn is_last(&self, before: u64) -> bool {
        before + 1 == self.passed * self.threads as u64
    }

    /// Waits for those below, and tells who is above. Whether nobody is.
    fn climb<T: Thread<Region = R::Target>>(&self, thread: &mut T, passed: u64) -> bool
    where
        R::Target: Sized,
    {
        let number = thread.number();
        for child in 0..CHILDREN {
            if CHILDREN * number + child + 1 < self.threads {
                thread.await_change(&self.region, self.blocks.word(number, child), passed);
            }
        }
        if let Some(rank) = number.checked_sub(1) {
            let word = self.blocks.word(rank / CHILDREN, rank % CHILDREN);
            thread.store_release(&self.region, word, passed + 1);
        }
        number == 0
    }
}
