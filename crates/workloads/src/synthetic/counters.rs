//! Contended counters: all processors add to a few words in indivisible steps.

use crate::Blocks;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::{MANY, MOST_WORK};

program! {
    /// Each processor adds one to counters drawn at random, each in a line of its own, spread over the nodes: what locks and
    /// task queues do to a machine.
    Counters is "counters": "all processors increment a few counters atomically" {
        /// How many counters there are.
        lines: 4, 1 to 65_536;
        /// How often each processor adds to one.
        rounds: 64, 1 to MANY;
        /// Cycles of work between two additions.
        work: 200, 0 to MOST_WORK;
    }
}

impl Counters {
    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, (self.lines as usize).div_ceil(shape.threads()))
    }

    fn word(&self, shape: &Shape, counter: usize) -> usize {
        self.blocks(shape).word(counter % shape.threads(), counter / shape.threads())
    }

    /// The counters to which a thread adds.
    fn chosen(&self, shape: &Shape, thread: usize) -> impl Iterator<Item = usize> + use<> {
        let (counters, mut random) = (self.lines as usize, Random::new(shape.seed, thread as u64));
        (0..self.rounds).map(move |_| random.below(counters))
    }
}

impl Program for Counters {
    const REGIONS: &'static [&'static str] = &["counters"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.blocks(shape).plan(shape.homes.iter().copied())]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        // A counter that nobody sets back shows each thread larger values only.
        let mut seen = vec![None; self.lines as usize];
        let mut wrong = 0;
        for counter in self.chosen(shape, thread.number()) {
            let before = Some(thread.fetch_add(&regions[0], self.word(shape, counter), 1));
            wrong += u64::from(before <= seen[counter]);
            seen[counter] = before;
            thread.work(self.work as u32);
        }
        wrong
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let mut sums = vec![0; self.lines as usize];
        for thread in 0..shape.threads() {
            self.chosen(shape, thread).for_each(|counter| sums[counter] += 1);
        }
        sums.into_iter().enumerate().try_for_each(|(counter, sum)| {
            Wrong::unless_equal(read(0, self.word(shape, counter)), sum, || format!("counter {counter}"))
        })
    }
}
