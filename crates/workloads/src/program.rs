//! Programs: memory with homes, a body for each thread, a check of the result.

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
    /// How threads take locks.
    pub locks: LockKind,
}

impl Shape {
    /// How many threads the program has.
    pub fn threads(&self) -> usize {
        self.homes.len()
    }
}

/// How threads take locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LockKind {
    /// Test, then test-and-set by load-linked and store-conditional, as PARMACS have them on MIPS. Who is first when a lock is
    /// given back takes it.
    #[default]
    LlSc,
    /// Each draws a ticket from a counter that the memory increments, as the Origin's Hub does for uncached loads and FLASH's MAGIC
    /// by a handler, and looks at another word until that says that it is its turn (Prestor 2001, 3.2.2; FLASH dissertation, 6.3). A
    /// lock is asked for by one reference, however many want it, and goes to them in the order in which they asked.
    AtMemory,
}

impl LockKind {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 2] = [(Self::LlSc, "llsc"), (Self::AtMemory, "at-memory")];
}

/// Whole pages on one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The node, if the program asks for one: else it is for the operating system to say when a page is first touched.
    pub home: Option<NodeId>,
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
    /// `words` words, rounded up to whole pages, where first touch puts them: each page with the thread that `owner` names for
    /// the page's first word.
    pub fn first_touch(shape: &Shape, words: usize, owner: impl Fn(usize) -> usize) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for first in (0..words).step_by(shape.page_words) {
            let home = Some(shape.homes[owner(first)]);
            match parts.last_mut() {
                Some(last) if last.home == home => last.words += shape.page_words,
                _ => parts.push(Part { home, words: shape.page_words }),
            }
        }
        Self { parts }
    }

    /// `words` words, rounded up to whole pages, which the operating system places.
    pub fn unplaced(shape: &Shape, words: usize) -> Self {
        Self { parts: vec![Part { home: None, words: words.next_multiple_of(shape.page_words) }] }
    }

    /// So many words for each thread, which are whole pages, on its node.
    pub fn by_thread(shape: &Shape, words: impl IntoIterator<Item = usize>) -> Self {
        let part = |(&home, words)| Part { home: Some(home), words };
        Self { parts: shape.homes.iter().zip(words).map(part).collect() }
    }

    /// 64-bit words in all.
    pub fn words(&self) -> usize {
        self.parts.iter().map(|part| part.words).sum()
    }
}

/// A result that is not what it must be.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Wrong {
    /// A word has the wrong value.
    #[error("{what} is {found}, expected {expected}")]
    Word {
        /// Description of the word.
        what: String,
        /// The value found.
        found: u64,
        /// The value expected.
        expected: u64,
    },
    /// A number is too far off.
    #[error("{what} is {found}, expected {expected} within {tolerance:e}")]
    Number {
        /// Description of the number.
        what: String,
        /// The value found.
        found: f64,
        /// The value expected.
        expected: f64,
        /// How far it may be off.
        tolerance: f64,
    },
}

impl Wrong {
    /// Nothing is wrong if `found` is as `expected`.
    ///
    /// # Errors
    /// When it is not.
    pub fn unless_equal(found: u64, expected: u64, what: impl FnOnce() -> String) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Word { what: what(), found, expected }) }
    }

    /// Nothing is wrong if `found` is no farther from `expected` than `tolerance`. What is not a number is wrong.
    ///
    /// # Errors
    /// When it is farther.
    pub fn unless_close(found: f64, expected: f64, tolerance: f64, what: impl FnOnce() -> String) -> Result<(), Self> {
        let close = (found - expected).abs() <= tolerance;
        if close { Ok(()) } else { Err(Self::Number { what: what(), found, expected, tolerance }) }
    }
}

/// A parallel program with its parameters.
pub trait Program: Declared {
    /// Whether its threads touch words that others store to without a barrier in between. What such a program checks does not
    /// depend on who comes first.
    const RACES: bool = false;

    /// Whether which thread does what depends on who comes first: work is taken from queues, or structures are built under
    /// locks. On several threads of a real machine its references then differ from run to run; on simulated ones they do not.
    /// The check of such a program does not depend on the order of threads.
    const DYNAMIC: bool = false;

    /// [`Program::DYNAMIC`], with its parameters.
    fn dynamic(&self) -> bool {
        Self::DYNAMIC
    }

    /// Contents of its regions, in their order: names for reports of where time goes.
    const REGIONS: &'static [&'static str];

    /// Contents of a region.
    fn region_name(&self, number: usize) -> &'static str {
        Self::REGIONS[number]
    }

    /// The shared memory that it wants, all zero at the start.
    fn regions(&self, shape: &Shape) -> Vec<RegionPlan>;

    /// Body of one thread. Returns how many loads gave wrong values.
    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64;

    /// Checks the memory that the program left behind: `read` gives a word of a region.
    ///
    /// # Errors
    /// The first wrong word.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_lie_with_the_owner_of_their_first_word() {
        let homes = vec![NodeId(0), NodeId(0), NodeId(1)];
        let shape = Shape { homes, nodes: 2, line_words: 16, page_words: 512, seed: 0, locks: Default::default() };
        // Pages begin at words 0, 512, 1024 and 1536.
        let plan = RegionPlan::first_touch(&shape, 1537, |word| word / 700);
        let part = |home, pages: usize| Part { home: Some(NodeId(home)), words: pages * 512 };
        assert_eq!(plan.parts, [part(0, 3), part(1, 1)]);
    }

    #[test]
    fn close_is_close_enough_and_a_number() {
        assert_eq!(Wrong::unless_close(1.0, 1.5, 0.5, String::new), Ok(()));
        assert!(Wrong::unless_close(1.0, 1.6, 0.5, String::new).is_err());
        assert!(Wrong::unless_close(f64::NAN, 1.0, 0.5, String::new).is_err());
    }
}
