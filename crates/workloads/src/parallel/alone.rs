//! A program of one thread on plain memory: what results of parallel runs are compared with.

use std::cell::Cell;

use crate::program::{Program, Shape};
use crate::thread::Thread;

/// Words that nobody else touches.
pub(crate) type Words = Vec<Cell<u64>>;

/// A machine for tests of what one thread does: lines of 16 words, pages of 2048.
#[cfg(test)]
pub(crate) fn shape_of_one() -> Shape {
    let homes = vec![units::NodeId(0)];
    Shape { homes, nodes: 1, line_words: 16, page_words: 2048, seed: 3, locks: Default::default() }
}

/// The only thread of a program. No time passes for it.
pub(crate) struct Alone;

impl Thread for Alone {
    type Region = Words;

    fn number(&self) -> usize {
        0
    }

    fn load(&mut self, region: &Words, word: usize) -> u64 {
        region[word].get()
    }

    fn load_dependent(&mut self, region: &Words, word: usize) -> u64 {
        region[word].get()
    }

    fn store(&mut self, region: &Words, word: usize, value: u64) {
        region[word].set(value);
    }

    fn fetch_add(&mut self, region: &Words, word: usize, addend: u64) -> u64 {
        let before = region[word].get();
        region[word].set(before.wrapping_add(addend));
        before
    }

    fn compare_and_swap(&mut self, region: &Words, word: usize, expected: u64, new: u64) -> u64 {
        let before = region[word].get();
        if before == expected {
            region[word].set(new);
        }
        before
    }

    fn load_acquire(&mut self, region: &Words, word: usize) -> u64 {
        region[word].get()
    }

    fn store_release(&mut self, region: &Words, word: usize, value: u64) {
        region[word].set(value);
    }

    fn prefetch_shared(&mut self, _: &Words, _: usize) {}

    fn prefetch_exclusive(&mut self, _: &Words, _: usize) {}

    fn instructions(&mut self, _: u32) {}

    fn work(&mut self, _: u32) {}

    fn barrier(&mut self) {}
}

/// Contents of a program's regions after its only thread has run on plain memory of this computer, and the shape that it
/// had: that of `shape`, with one thread.
pub(crate) fn alone<P: Program>(program: &P, shape: &Shape) -> (Shape, Vec<Vec<u64>>) {
    let shape = Shape { homes: shape.homes[..1].to_vec(), ..shape.clone() };
    let plans = program.regions(&shape);
    let regions: Vec<Words> = plans.iter().map(|plan| vec![Cell::new(0); plan.words()]).collect();
    program.run(&shape, &regions, &mut Alone);
    let contents = regions.into_iter().map(|words| words.into_iter().map(Cell::into_inner).collect());
    (shape, contents.collect())
}
