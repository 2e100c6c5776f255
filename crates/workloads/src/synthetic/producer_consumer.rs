//! Producers and consumers: lines that one processor writes and others read, round after round.

use crate::Blocks;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::order;
use crate::thread::Thread;

use super::{ALL_OTHERS, MANY, MOST_WORK};

program! {
    /// Every processor produces lines at its own node and consumes those of others: in each round all write their own lines,
    /// then each reads the lines of as many others as a line has readers. Who reads from whom is drawn at random and stays.
    ProducerConsumer is "producer-consumer": "one processor writes a set of lines, others read them, round after round" {
        /// Lines that each processor produces.
        lines: 64, 1 to MANY;
        /// How often they are produced.
        rounds: 16, 1 to MANY;
        /// Readers of each line, at most all other processors; without another, none.
        readers: 1, 0 to ALL_OTHERS, within threads - 1;
        /// Cycles of work on a line after reading it, or before writing it.
        work: 20, 0 to MOST_WORK;
    }
}

impl ProducerConsumer {
    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.lines as usize)
    }
}

impl Program for ProducerConsumer {
    const REGIONS: &'static [&'static str] = &["blocks"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.blocks(shape).plan(shape.homes.iter().copied())]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (blocks, threads) = (self.blocks(shape), shape.threads());
        let (region, own) = (&regions[0], thread.number());
        let order = order(threads, shape.seed);
        let place = order.iter().position(|&number| number == own).unwrap_or_default();
        let readers = (self.readers as usize).min(threads - 1);
        let mut wrong = 0;
        for round in 1..=self.rounds {
            for line in 0..self.lines as usize {
                thread.instructions(self.work as u32);
                thread.store(region, blocks.word(own, line), round);
            }
            thread.barrier();
            for producer in (1..=readers).map(|distance| order[(place + distance) % threads]) {
                for line in 0..self.lines as usize {
                    let word = blocks.word(producer, line);
                    let right = super::reference(thread, region, word, self.work, |found| found == round, None);
                    wrong += u64::from(!right);
                }
            }
            thread.barrier();
        }
        wrong
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let blocks = self.blocks(shape);
        let lines = (0..shape.threads()).flat_map(|own| (0..self.lines as usize).map(move |line| (own, line)));
        lines.into_iter().try_for_each(|(own, line)| {
            let found = read(0, blocks.word(own, line));
            Wrong::unless_equal(found, self.rounds, || format!("line {line} of processor {own}"))
        })
    }
}
