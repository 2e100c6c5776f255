//! Migratory sharing: lines that are read and then written by one processor after another.

use crate::Blocks;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::order;
use crate::thread::Thread;

use super::{MANY, MOST_WORK};

program! {
    /// As many sets of lines as processors; in every round each processor reads and then writes each line of one set, and all
    /// sets move on by one processor. They visit the processors in an order drawn at random: neighbours in it are no
    /// neighbours in the machine.
    Migratory is "migratory": "each processor in turn reads and then writes each of a set of lines" {
        /// Lines in a set.
        lines: 64, 1 to MANY;
        /// How often a set is handed on.
        rounds: 32, 1 to MANY;
        /// Cycles of work on a line between reading and writing it.
        work: 20, 0 to MOST_WORK;
    }
}

impl Migratory {
    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.lines as usize)
    }
}

impl Program for Migratory {
    const REGIONS: &'static [&'static str] = &["sets"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.blocks(shape).plan(shape.homes.iter().copied())]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (blocks, threads) = (self.blocks(shape), shape.threads());
        let order = order(threads, shape.seed);
        let place = order.iter().position(|&number| number == thread.number()).unwrap_or_default();
        let mut wrong = 0;
        for round in 0..self.rounds {
            // Each starts with the set at its own node, and takes that of the one behind it then.
            let set = order[(place + threads - round as usize % threads) % threads];
            for line in 0..self.lines as usize {
                let word = blocks.word(set, line);
                let right =
                    super::reference(thread, &regions[0], word, self.work, |found| found == round, Some(round + 1));
                wrong += u64::from(!right);
            }
            thread.barrier();
        }
        wrong
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let blocks = self.blocks(shape);
        let lines = (0..shape.threads()).flat_map(|set| (0..self.lines as usize).map(move |line| (set, line)));
        lines.into_iter().try_for_each(|(set, line)| {
            let found = read(0, blocks.word(set, line));
            Wrong::unless_equal(found, self.rounds, || format!("line {line} of set {set}"))
        })
    }
}
