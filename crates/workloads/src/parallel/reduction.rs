//! Reductions: one value out of one of each thread, known to all.

use super::array::{Array, Element};
use crate::Blocks;
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// A place for one element of each thread, at home with it.
///
/// Every thread stores its part, and after a barrier loads those of all: as many loads as threads, always combined in the same
/// order, so that sums of floating-point numbers do not depend on who came first. Parts alternate between two places: nobody
/// overwrites what others may still be loading.
#[derive(Debug)]
pub struct Reduction<'r, R> {
    region: &'r R,
    blocks: Blocks,
    threads: usize,
    turn: usize,
}

impl<'r, R> Reduction<'r, R> {
    /// Each part in a line of its own.
    fn blocks(shape: &Shape) -> Blocks {
        Blocks::new(shape, 2)
    }

    /// The region that it wants.
    pub fn plan(shape: &Shape) -> RegionPlan {
        Self::blocks(shape).plan(shape.homes.iter().copied())
    }

    /// The reductions of a thread in a region so planned. All threads do all of them, in the same order.
    pub fn new(shape: &Shape, region: &'r R) -> Self {
        Self { region, blocks: Self::blocks(shape), threads: shape.threads(), turn: 0 }
    }

    /// Combines the `part` of each thread, two instructions each. Has a barrier within.
    ///
    /// # Panics
    /// In debug builds, if an element is larger than a line.
    pub fn combine<T, E>(&mut self, thread: &mut T, part: E, combine: impl Fn(E, E) -> E) -> E
    where
        T: Thread<Region = R>,
        E: Element,
    {
        debug_assert!(E::WORDS <= self.blocks.word(0, 1), "a part must fit into a line");
        let turn = self.turn;
        self.turn = 1 - turn;
        let place = |number| Array::from(self.region, self.blocks.word(number, turn));
        place(thread.number()).store(thread, 0, part);
        thread.barrier();
        let first = place(0).load(thread, 0);
        (1..self.threads).fold(first, |sum, number| {
            thread.instructions(2);
            combine(sum, place(number).load(thread, 0))
        })
    }

    /// The sum of the `part` of each thread.
    pub fn sum<T: Thread<Region = R>>(&mut self, thread: &mut T, part: f64) -> f64 {
        self.combine(thread, part, |sum, part| sum + part)
    }

    /// The largest `part` of any thread.
    pub fn max<T: Thread<Region = R>>(&mut self, thread: &mut T, part: f64) -> f64 {
        self.combine(thread, part, f64::max)
    }
}
