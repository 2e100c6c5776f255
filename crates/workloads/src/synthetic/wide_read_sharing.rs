//! Wide read sharing: a region that many processors read, of which one line or another is updated now and then.

use crate::Blocks;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::{Random, order};
use crate::thread::Thread;

use super::{ALL, MANY, MOST_WORK};

program! {
    /// A region spread over the nodes. In each round the readers read all of it, each starting elsewhere, and then one
    /// processor, another in every round, updates some lines drawn at random: each update finds as many sharers as there are
    /// readers.
    WideReadSharing is "wide-read-sharing": "all processors read a region, of which one updates a few lines now and then" {
        /// Lines in the region.
        lines: 256, 1 to 65_536;
        /// How often the region is read, and then updated.
        rounds: 16, 1 to MANY;
        /// Processors that read; the default is all.
        readers: ALL, 1 to ALL, within threads - 0;
        /// Updates after each reading.
        updates: 16, 0 to MANY;
        /// Cycles of work on a line after reading it.
        work: 20, 0 to MOST_WORK;
    }
}

impl WideReadSharing {
    /// Line by line around the threads, so that the region is spread over their nodes however small it is.
    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, (self.lines as usize).div_ceil(shape.threads()))
    }

    fn word(&self, shape: &Shape, line: usize) -> usize {
        self.blocks(shape).word(line % shape.threads(), line / shape.threads())
    }

    /// The lines that are updated in a round.
    fn updated(&self, shape: &Shape, round: u64) -> impl Iterator<Item = usize> + use<> {
        let (lines, mut random) = (self.lines as usize, Random::new(shape.seed, round));
        (0..self.updates).map(move |_| random.below(lines))
    }
}

impl Program for WideReadSharing {
    const REGIONS: &'static [&'static str] = &["lines"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.blocks(shape).plan(shape.homes.iter().copied())]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (region, threads, lines) = (&regions[0], shape.threads(), self.lines as usize);
        let order = order(threads, shape.seed);
        let place = order.iter().position(|&number| number == thread.number()).unwrap_or_default();
        let reads = place < self.readers as usize;
        let first = lines * place / threads;
        // Version that each line must hold: how often it has been updated.
        let mut versions = vec![0u64; lines];
        let mut wrong = 0;
        for round in 0..self.rounds {
            for line in (0..lines).filter(|_| reads).map(|step| (first + step) % lines) {
                let word = self.word(shape, line);
                let right = super::reference(thread, region, word, self.work, |found| found == versions[line], None);
                wrong += u64::from(!right);
            }
            thread.barrier();
            for line in self.updated(shape, round) {
                versions[line] += 1;
                if place == round as usize % threads {
                    thread.store(region, self.word(shape, line), versions[line]);
                }
            }
            thread.barrier();
        }
        wrong
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let mut versions = vec![0; self.lines as usize];
        (0..self.rounds).flat_map(|round| self.updated(shape, round)).for_each(|line| versions[line] += 1);
        versions.into_iter().enumerate().try_for_each(|(line, version)| {
            Wrong::unless_equal(read(0, self.word(shape, line)), version, || format!("line {line}"))
        })
    }
}
