//! What a program is: memory with homes, a body for each thread, a check of the result.

use thiserror::Error;
use units::NodeId;

use crate::parameter::Declared;
use crate::thread::Thread;

/// The part of a machine that a program runs on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The node of each thread's processor: where first touch puts what the thread initialises.
    pub homes: Vec<NodeId>,
    /// How many nodes the machine has, with threads or without.
    pub nodes: usize,
    /// 64-bit words in a cache line.
    pub line_words: usize,
    /// 64-bit words in a page.
    pub page_words: usize,
    /// Seed of the program's random choices: equal seeds give equal references.
    pub seed: u64,
}

impl Shape {
    /// How many threads the program has.
    pub fn threads(&self) -> usize {
        self.homes.len()
    }
}

/// Whole pages on one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The node.
    pub home: NodeId,
    /// 64-bit words: a multiple of a page's.
    pub words: usize,
}

/// A region of shared memory that a program wants: its words follow each other through the parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionPlan {
    /// The parts, in order.
    pub parts: Vec<Part>,
}

impl RegionPlan {
    /// 64-bit words in all.
    pub fn words(&self) -> usize {
        self.parts.iter().map(|part| part.words).sum()
    }
}

/// A result that is not what it must be.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{what} holds {found} instead of {expected}")]
pub struct Wrong {
    /// What it is.
    pub what: String,
    /// What was found.
    pub found: u64,
    /// What should have been.
    pub expected: u64,
}

impl Wrong {
    /// Nothing is wrong if `found` is as `expected`.
    ///
    /// # Errors
    /// When it is not.
    pub fn unless_equal(found: u64, expected: u64, what: impl FnOnce() -> String) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self { what: what(), found, expected }) }
    }
}

/// A parallel program with its parameters.
pub trait Program: Declared {
    /// Whether its threads touch words that others store to without a barrier in between. What such a program checks does not
    /// depend on who comes first.
    const RACES: bool = false;

    /// The shared memory that it wants, all zero at the start.
    fn regions(&self, shape: &Shape) -> Vec<RegionPlan>;

    /// What one thread does. Returns how many loads gave what they must not give.
    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64;

    /// Checks the memory that the program left behind: `read` gives a word of a region.
    ///
    /// # Errors
    /// The first wrong word.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong>;
}
