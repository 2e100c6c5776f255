//! A hot spot: all processors miss on lines of one node, and on lines of their own otherwise.

use crate::Blocks;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::{MANY, MOST_WORK};

program! {
    /// Every reference is to a line that its processor has not touched before, and that no other ever touches: all miss, and
    /// nothing is shared but the home of the hot lines.
    HotSpot is "hot-spot": "all processors miss on lines whose home is one node, on local lines otherwise" {
        /// References of each processor.
        references: 2048, 1 to MANY;
        /// Of them, those to the hot node, in percent.
        hot: 25, 0 to 100;
        /// The processor whose node is hot; past the last one the count begins again.
        target: 0, 0 to 511;
        /// Of all references, those that also store, in percent.
        writes: 0, 0 to 100;
        /// Cycles of work between two references.
        work: 20, 0 to MOST_WORK;
    }
}

/// What a line holds that has been stored to.
const STORED: u64 = 1;

impl HotSpot {
    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.references as usize)
    }

    /// The references of a thread: the region (0 is local, 1 hot), the line of the thread's block, and whether it is stored to.
    fn references(&self, shape: &Shape, thread: usize) -> impl Iterator<Item = (usize, usize, bool)> + use<> {
        let (hot, writes, mut random) = (self.hot, self.writes, Random::new(shape.seed, thread as u64));
        let mut next = [0; 2];
        (0..self.references).map(move |_| {
            let region = usize::from(random.chance(hot));
            let line = next[region];
            next[region] += 1;
            (region, line, random.chance(writes))
        })
    }
}

impl Program for HotSpot {
    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let blocks = self.blocks(shape);
        let target = shape.homes[self.target as usize % shape.threads()];
        vec![blocks.plan(shape.homes.iter().copied()), blocks.plan(shape.homes.iter().map(|_| target))]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (blocks, own) = (self.blocks(shape), thread.number());
        let mut wrong = 0;
        for (region, line, store) in self.references(shape, own) {
            let (word, store) = (blocks.word(own, line), store.then_some(STORED));
            let right = super::reference(thread, &regions[region], word, self.work, |found| found == 0, store);
            wrong += u64::from(!right);
        }
        wrong
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let blocks = self.blocks(shape);
        (0..shape.threads()).try_for_each(|own| {
            self.references(shape, own).try_for_each(|(region, line, store)| {
                let found = read(region, blocks.word(own, line));
                let which = ["local", "hot"][region];
                Wrong::unless_equal(found, u64::from(store) * STORED, || {
                    format!("{which} line {line} of processor {own}")
                })
            })
        })
    }
}
