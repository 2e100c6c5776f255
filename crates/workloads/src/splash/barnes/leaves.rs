//! Leaves of several bodies, as in SPLASH-2: a cell is divided when more bodies are in its cube than a leaf may have.
//!
//! A leaf keeps its bodies in the order of their numbers, so that sums do not depend on who came first.

use std::ops::Range;

use super::cells::Pools;
use crate::parallel::half_of;
use crate::program::Shape;
use crate::thread::Thread;

/// The word of a leaf that says how many bodies it has. Their numbers are its parts.
const COUNT: usize = 8;
/// Instructions to put a body in its place among others.
const PLACE: u32 = 10;

/// The leaves, and those that a thread has made for this tree.
pub struct Leaves<'r, R> {
    pub region: &'r R,
    pub pools: Pools,
    most: usize,
    pub made: Range<usize>,
}

impl<'r, R> Leaves<'r, R> {
    pub fn new(region: &'r R, shape: &Shape, bodies: usize, most: usize) -> Self {
        Self { region, pools: Pools::of_leaves(shape, bodies), most, made: 0..0 }
    }

    /// Forgets the leaves of the tree before.
    pub fn clear(&mut self, thread: usize) {
        let first = self.pools.of(thread).start;
        self.made = first..first;
    }

    /// Makes an empty leaf, if there is memory left.
    pub fn make<T: Thread<Region = R>>(&mut self, thread: &mut T) -> Option<usize> {
        let leaf = self.made.end;
        if !self.pools.of(thread.number()).contains(&leaf) {
            return None;
        }
        self.made.end += 1;
        self.empty(leaf, thread);
        Some(leaf)
    }

    /// Takes all bodies out of a leaf.
    pub fn empty<T: Thread<Region = R>>(&self, leaf: usize, thread: &mut T) {
        let word = self.pools.word(leaf);
        thread.store(self.region, word + COUNT, 0);
        thread.store(self.region, word + self.pools.layout.known, 0);
    }

    /// Notes the cell of a leaf.
    pub fn set_parent<T: Thread<Region = R>>(&self, leaf: usize, parent: usize, thread: &mut T) {
        if let Some(place) = self.pools.layout.parent {
            thread.store(self.region, self.pools.word(leaf) + place, parent as u64);
        }
    }

    fn word_of(&self, leaf: usize, place: usize) -> usize {
        self.pools.word(leaf) + self.pools.layout.parts + place / 2
    }

    /// The bodies of a leaf, whose number was loaded last.
    pub fn bodies<T: Thread<Region = R>>(&self, leaf: usize, thread: &mut T) -> Vec<usize> {
        let count = thread.load_dependent(self.region, self.pools.word(leaf) + COUNT) as usize;
        let half =
            |place: usize, thread: &mut T| half_of(thread.load(self.region, self.word_of(leaf, place)), place) as usize;
        (0..count).map(|place| half(place, thread)).collect()
    }

    /// Puts a body into a leaf that nobody else changes. False if that has as many as it may have.
    pub fn add<T: Thread<Region = R>>(&self, leaf: usize, body: usize, thread: &mut T) -> bool {
        let mut bodies = self.bodies(leaf, thread);
        if bodies.len() == self.most {
            return false;
        }
        let place = bodies.partition_point(|&other| other < body);
        bodies.insert(place, body);
        for pair in place / 2..bodies.len().div_ceil(2) {
            let half = |place: usize| bodies.get(place).map_or(0, |&body| body as u64);
            thread.store(self.region, self.word_of(leaf, 2 * pair), half(2 * pair) | half(2 * pair + 1) << 32);
        }
        thread.instructions(PLACE);
        thread.store(self.region, self.pools.word(leaf) + COUNT, bodies.len() as u64);
        true
    }
}
