//! Uniform traffic: random lines of random homes.

use crate::Blocks;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::{MANY, MOST_WORK};

program! {
    /// Each processor refers to lines drawn at random from a region that is spread over the nodes, and now and then stores to
    /// one: few lines make sharing, many make misses alone.
    Uniform is "uniform": "each processor reads, and sometimes writes, random lines of random homes" {
        /// Lines on each processor's node.
        lines: 64, 1 to MANY;
        /// References of each processor.
        references: 2048, 1 to MANY;
        /// Share of the references that also store, in percent.
        writes: 20, 0 to 100;
        /// Cycles of work between two references.
        work: 20, 0 to MOST_WORK;
    }
}

impl Uniform {
    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.lines as usize)
    }

    /// The references of a thread: the block, the line of it, and whether it is stored to.
    fn references(&self, shape: &Shape, thread: usize) -> impl Iterator<Item = (usize, usize, bool)> + use<> {
        let (threads, lines, writes) = (shape.threads(), self.lines as usize, self.writes);
        let mut random = Random::new(shape.seed, thread as u64);
        (0..self.references).map(move |_| (random.below(threads), random.below(lines), random.chance(writes)))
    }
}

/// Value of a line once any thread has stored to it: its word's number plus one, which is nowhere else, and not zero.
fn tag(word: usize) -> u64 {
    word as u64 + 1
}

impl Program for Uniform {
    const REGIONS: &'static [&'static str] = &["blocks"];

    /// All that store to a line store the same: what is loaded is that or nothing, whoever comes first.
    const RACES: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.blocks(shape).plan(shape.homes.iter().copied())]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let blocks = self.blocks(shape);
        let mut wrong = 0;
        for (block, line, store) in self.references(shape, thread.number()) {
            let word = blocks.word(block, line);
            let (tag, store) = (tag(word), store.then_some(tag(word)));
            let may_be = |found| found == 0 || found == tag;
            wrong += u64::from(!super::reference(thread, &regions[0], word, self.work, may_be, store));
        }
        wrong
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let blocks = self.blocks(shape);
        let mut stored = vec![false; shape.threads() * self.lines as usize];
        for thread in 0..shape.threads() {
            for (block, line, _) in self.references(shape, thread).filter(|&(.., store)| store) {
                stored[block * self.lines as usize + line] = true;
            }
        }
        stored.into_iter().enumerate().try_for_each(|(number, stored)| {
            let (block, line) = (number / self.lines as usize, number % self.lines as usize);
            let word = blocks.word(block, line);
            let expected = if stored { tag(word) } else { 0 };
            Wrong::unless_equal(read(0, word), expected, || format!("line {line} of block {block}"))
        })
    }
}
