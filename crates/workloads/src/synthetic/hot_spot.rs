//! A hot spot: all processors miss on lines of one node, and on lines of their own otherwise.

use std::collections::BTreeMap;

use crate::Blocks;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::{ALL_OTHERS, MANY, MOST_WORK};

program! {
    /// Each processor goes through lines of its own, most of them at its own node and some at the hot one: a master's, whose
    /// memory the others' data came to share. Of the references to the hot node some are to lines that all processors read
    /// and none writes. As many lines as references, and nothing shared, and every reference misses for the first time; as
    /// many lines as exceed the cache, and those that it evicts come back.
    HotSpot is "hot-spot": "all processors miss on lines whose home is one node, on local lines otherwise" {
        /// References of each processor.
        references: 2048, 1 to MANY;
        /// Lines of each processor at its node; after the last one the first comes again.
        lines: 2048, 1 to MANY;
        /// Lines of each processor at the hot node.
        hot_lines: 2048, 1 to MANY;
        /// Share of the references that go to the hot node, in percent.
        hot: 25, 0 to 100;
        /// Share of the references to the hot node that go to lines that all read, in percent.
        shared: 0, 0 to 100;
        /// Lines at the hot node that all read; each processor begins elsewhere.
        shared_lines: 1024, 1 to MANY;
        /// The processor whose node is hot, counted from 0.
        target: 0, 0 to ALL_OTHERS, within threads - 1;
        /// Share of the references to unshared lines that also store, in percent.
        writes: 0, 0 to 100;
        /// Cycles of work between two references.
        work: 20, 0 to MOST_WORK;
    }
}

/// The regions, in their order.
const REGIONS: [&str; 3] = ["local", "hot", "shared"];
const LOCAL: usize = 0;
const HOT: usize = 1;
const SHARED: usize = 2;

/// A reference of a thread.
struct Reference {
    /// The number of the region.
    region: usize,
    word: usize,
    /// How often the word has been stored to: its value.
    version: u64,
    store: bool,
}

impl HotSpot {
    fn local_blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.lines as usize)
    }

    fn hot_blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.hot_lines as usize)
    }

    /// The one block of lines that all read.
    fn shared_block(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, self.shared_lines as usize)
    }

    /// Calls `each` with the references of a thread, in order.
    fn references(&self, shape: &Shape, thread: usize, mut each: impl FnMut(&Reference)) {
        let blocks = [self.local_blocks(shape), self.hot_blocks(shape), self.shared_block(shape)];
        let lines = [self.lines, self.hot_lines, self.shared_lines].map(|lines| lines as usize);
        let mut random = Random::new(shape.seed, thread as u64);
        let mut next = [0, 0, lines[SHARED] * thread / shape.threads()];
        let mut versions = [vec![0; lines[LOCAL]], vec![0; lines[HOT]]];
        for _ in 0..self.references {
            let hot = random.chance(self.hot);
            let store = random.chance(self.writes);
            let region = if !hot {
                LOCAL
            } else if self.shared > 0 && random.chance(self.shared) {
                SHARED
            } else {
                HOT
            };
            let line = next[region] % lines[region];
            next[region] += 1;
            let reference = match versions.get_mut(region) {
                Some(versions) => {
                    let version = versions[line];
                    versions[line] += u64::from(store);
                    Reference { region, word: blocks[region].word(thread, line), version, store }
                }
                None => Reference { region, word: blocks[SHARED].word(0, line), version: 0, store: false },
            };
            each(&reference);
        }
    }
}

impl Program for HotSpot {
    const REGIONS: &'static [&'static str] = &["local blocks", "hot blocks", "shared block"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let target = shape.homes[self.target as usize];
        vec![
            self.local_blocks(shape).plan(shape.homes.iter().copied()),
            self.hot_blocks(shape).plan(shape.homes.iter().map(|_| target)),
            self.shared_block(shape).plan([target]),
        ]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let mut wrong = 0;
        self.references(shape, thread.number(), |&Reference { region, word, version, store }| {
            let store = store.then_some(version + 1);
            let right = super::reference(thread, &regions[region], word, self.work, |found| found == version, store);
            wrong += u64::from(!right);
        });
        wrong
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        for thread in 0..shape.threads() {
            let mut left = BTreeMap::new();
            self.references(shape, thread, |&Reference { region, word, version, store }| {
                left.insert((region, word), version + u64::from(store));
            });
            for ((region, word), version) in left {
                Wrong::unless_equal(read(region, word), version, || {
                    format!("{} word {word} of processor {thread}", REGIONS[region])
                })?;
            }
        }
        Ok(())
    }
}
