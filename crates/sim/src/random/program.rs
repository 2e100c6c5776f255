//! The programs of a random test: rounds of accesses, each in an access pattern that all processors share.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::{Bytes, PhysicalAddr, VirtualAddr};

use super::RandomTest;
use crate::{Location, Thread};

/// Accesses of a processor in a round.
const ROUND: u32 = 100;

/// A random number generator.
pub struct Choices(Xoshiro256PlusPlus);

impl Choices {
    /// The generator of processor or purpose `who` in the test with this seed.
    pub fn new(seed: u64, who: u64) -> Self {
        // The generator spreads its seed well; the multiplier keeps neighbours of both numbers apart.
        Self(Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ who))
    }

    /// A number from 0 to `end - 1`.
    pub fn below(&mut self, end: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// Returns true with probability one in `times`.
    fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }
}

/// The access pattern of a round.
#[derive(Clone, Copy, Debug)]
enum Mood {
    /// All processors contend for a few lines.
    Fight(Lines),
    /// All processors read the same lines, with occasional stores: long lists of sharers.
    Read(Lines),
    /// Each processor uses lines of its own, with occasional accesses by others: hits, stores included, and lines that
    /// move.
    Own { lines: u32 },
    /// All processors access any line.
    Spread,
    /// Each processor walks over all lines, which causes evictions.
    Walk,
}

/// A set of lines: consecutive ones, with different homes, or a line in every `step`, all of one home.
#[derive(Clone, Copy, Debug)]
struct Lines {
    first: u32,
    step: u32,
    count: u32,
}

impl Lines {
    fn draw(dice: &mut Choices, all: u32, nodes: u32, most: u32) -> Self {
        let step = if dice.once_in(2) { 1 } else { nodes };
        Self { first: dice.below(all), step, count: 1 + dice.below(most) }
    }

    fn one(self, dice: &mut Choices) -> u32 {
        self.first + dice.below(self.count) * self.step
    }
}

impl Mood {
    fn draw(dice: &mut Choices, all: u32, nodes: u32) -> Self {
        match dice.below(6) {
            0 => Self::Fight(Lines::draw(dice, all, nodes, 4)),
            1 => Self::Read(Lines::draw(dice, all, nodes, 24)),
            2 | 3 => Self::Own { lines: 1 + dice.below(12) },
            4 => Self::Spread,
            _ => Self::Walk,
        }
    }

    /// The next line of processor `cpu`, at `step` of the round.
    fn line(self, dice: &mut Choices, cpu: u32, step: u32, all: u32) -> u32 {
        let line = match self {
            Self::Fight(lines) | Self::Read(lines) => lines.one(dice),
            Self::Own { lines } if !dice.once_in(12) => cpu * lines + dice.below(lines),
            Self::Own { .. } | Self::Spread => dice.below(all),
            Self::Walk => cpu * 7 + step,
        };
        line % all
    }

    /// Stores and write prefetches in a hundred accesses.
    fn stores(self) -> u32 {
        match self {
            Self::Read(_) => 3,
            _ => 40,
        }
    }
}

/// An address that lines can be counted from.
pub trait Base: Location {
    /// The address `bytes` further on.
    fn at(self, bytes: u64) -> Self;
}

impl Base for PhysicalAddr {
    fn at(self, bytes: u64) -> Self {
        self.offset(bytes)
    }
}

impl Base for VirtualAddr {
    fn at(self, bytes: u64) -> Self {
        self.offset(bytes)
    }
}

/// The state that all programs of a test share.
pub struct RandomProgram<A> {
    test: RandomTest,
    line: Bytes,
    block: Bytes,
    /// The memory of each node, or pages that begin there.
    memory: Vec<A>,
    /// Whether the machine has uncached loads, and private stores that go around its caches.
    features: Features,
}

/// Accesses of a machine that others lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// Uncached loads.
    pub uncached: bool,
    /// Stores to private data that go around the caches.
    pub around: bool,
    /// A cache that processors share.
    pub shared_cache: bool,
}

impl<A: Base> RandomProgram<A> {
    /// A playground of lines of `line` and blocks of `block`, in one part of `memory` for each node.
    pub fn new(test: RandomTest, line: Bytes, block: Bytes, memory: Vec<A>, features: Features) -> Self {
        Self { test, line, block, memory, features }
    }

    /// The address of a random block of a line: processors that share no data still share the line.
    fn address(&self, dice: &mut Choices, line: u32) -> A {
        let nodes = self.memory.len() as u32;
        let block = dice.below((self.line.0 / self.block.0) as u32);
        let offset = u64::from(line / nodes) * self.line.0 + u64::from(block) * self.block.0;
        self.memory[(line % nodes) as usize].at(offset)
    }

    /// Runs the program of the thread's processor, which is on node `home`.
    pub fn play(&self, thread: &mut Thread<'_>, home: u32) {
        let cpu = u32::from(thread.cpu().0);
        let mut dice = Choices::new(self.test.seed, u64::from(cpu));
        for round in 0..self.test.references.div_ceil(ROUND) {
            // Equal seeds make all processors draw the same pattern and meet at the same barriers.
            let mut common = Choices::new(self.test.seed, 1 << 32 | u64::from(round));
            let mood = Mood::draw(&mut common, self.test.lines, self.memory.len() as u32);
            for step in 0..ROUND {
                let line = mood.line(&mut dice, cpu, step, self.test.lines);
                self.step(thread, &mut dice, (line, home), mood.stores());
            }
            if dice.once_in(8) {
                thread.drop_caches();
                if self.features.shared_cache && dice.once_in(2) {
                    thread.drop_shared_cache();
                }
            }
            if common.once_in(3) {
                thread.barrier();
            }
        }
    }

    /// One access, and possibly another one to the same line, or some work. Private stores are to a line of node `home`, which is
    /// not private at all: their processor has to find that out.
    fn step(&self, thread: &mut Thread<'_>, dice: &mut Choices, (line, home): (u32, u32), stores: u32) {
        let at = self.address(dice, line);
        let die = dice.below(100);
        if die < stores {
            match dice.below(8) {
                0 => thread.prefetch_exclusive(at),
                1 => thread.store_dependent(at),
                2 => {
                    thread.load(at);
                    thread.store(at);
                }
                3 | 4 if self.features.around => {
                    let nodes = self.memory.len() as u32;
                    thread.store_private(self.address(dice, line / nodes * nodes + home));
                }
                _ => thread.store(at),
            }
        } else {
            match dice.below(16) {
                0 | 1 => thread.prefetch_shared(at),
                2 if self.features.uncached => thread.load_uncached(at),
                2..=5 => thread.load_dependent(at),
                6..=9 => thread.load_after(at, (line % 12) as u8),
                _ => thread.load(at),
            }
        }
        match dice.below(8) {
            0 => thread.work(dice.below(200)),
            1 => thread.load(self.address(dice, line)),
            _ => {}
        }
    }
}
