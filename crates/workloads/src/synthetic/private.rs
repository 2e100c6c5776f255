//! No sharing: each processor reads and writes lines that nobody else touches.

use crate::Blocks;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::{ALL_OTHERS, MANY, MOST_WORK};

program! {
    /// Each processor goes through lines of its own, at its own node or at that of the processor so many places further on.
    /// Lines that fit the cache miss in the first round alone.
    Private is "private": "each processor traverses private lines in local memory: no sharing" {
        /// Lines of each processor.
        lines: 4096, 1 to MANY;
        /// How often it goes through them.
        rounds: 1, 1 to MANY;
        /// Share of the references that also store, in percent.
        writes: 0, 0 to 100;
        /// How many processors further on the lines have their home; 0 is local.
        distance: 0, 0 to ALL_OTHERS, within threads - 1;
        /// Cycles of work on a line after reading it.
        work: 20, 0 to MOST_WORK;
    }
}

impl Private {
    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.lines as usize)
    }

    /// Calls `each` with the lines of a thread in the order in which it refers to them, what each holds then, and whether it is
    /// stored to.
    fn references(&self, shape: &Shape, thread: usize, mut each: impl FnMut(usize, u64, bool)) {
        let mut random = Random::new(shape.seed, thread as u64);
        let mut versions = vec![0; self.lines as usize];
        for _ in 0..self.rounds {
            for (line, version) in versions.iter_mut().enumerate() {
                let store = random.chance(self.writes);
                each(line, *version, store);
                *version += u64::from(store);
            }
        }
    }
}

impl Program for Private {
    const REGIONS: &'static [&'static str] = &["blocks"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (threads, distance) = (shape.threads(), self.distance as usize);
        let homes = (0..threads).map(|thread| shape.homes[(thread + distance) % threads]);
        vec![self.blocks(shape).plan(homes)]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (blocks, own) = (self.blocks(shape), thread.number());
        let mut wrong = 0;
        self.references(shape, own, |line, version, store| {
            let (word, store) = (blocks.word(own, line), store.then_some(version + 1));
            let right = super::reference(thread, &regions[0], word, self.work, |found| found == version, store);
            wrong += u64::from(!right);
        });
        wrong
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let blocks = self.blocks(shape);
        (0..shape.threads()).try_for_each(|own| {
            let mut versions = vec![0; self.lines as usize];
            self.references(shape, own, |line, version, store| versions[line] = version + u64::from(store));
            versions.into_iter().enumerate().try_for_each(|(line, version)| {
                let found = read(0, blocks.word(own, line));
                Wrong::unless_equal(found, version, || format!("line {line} of processor {own}"))
            })
        })
    }
}
