//! The octree: built by all threads at once under locks on its cells, summed up from the leaves, and cut into zones.

use std::ops::Range;

use super::bodies::Bodies;
use crate::Blocks;
use crate::parallel::{Array, Locks, cost};
use crate::program::Shape;
use crate::splash::vector::Vector;
use crate::thread::Thread;

/// Instructions to find the octant of a place and the cell's next level: three comparisons, three additions, addresses.
const STEP: u32 = 14;
/// Instructions to add a part's moment to a cell's: seven of floating point, what kind of part it is, addresses.
const MOMENT: u32 = 14;
/// Instructions to compare a part's costs with the bounds of a zone.
const ZONE: u32 = 8;

/// Words of a cell: one line of 128 bytes.
const CELL_WORDS: usize = 16;
/// The words of a cell: eight parts, the centre of mass with the mass, the cost of its bodies, their number, and whether all
/// this is known.
const MOMENTS: usize = 8;
const COST: usize = 12;
const COUNT: usize = 13;
const KNOWN: usize = 14;

/// The root is the first cell of the first thread.
pub const ROOT: usize = 0;

/// What is in an octant of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Nothing,
    Cell(usize),
    Body(usize),
}

impl Part {
    fn of(word: u64) -> Self {
        match word {
            0 => Self::Nothing,
            word if word % 2 == 0 => Self::Cell(word as usize / 2 - 1),
            word => Self::Body(word as usize / 2),
        }
    }

    fn word(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Cell(cell) => 2 * (cell as u64 + 1),
            Self::Body(body) => 2 * body as u64 + 1,
        }
    }
}

/// A centre of mass and the mass.
pub type Moment = [f64; 4];

/// The cells that each thread may make, in memory of its own.
#[derive(Clone, Copy, Debug)]
pub struct Pools {
    blocks: Blocks,
    /// Cells of a thread.
    each: usize,
}

impl Pools {
    /// Room for the tree of so many bodies: one to two cells for each three bodies are usual, and which thread makes them is
    /// chance.
    pub fn new(shape: &Shape, bodies: usize) -> Self {
        let each = 4 * bodies / shape.threads() + 256;
        Self { blocks: Blocks::new(shape, (each * CELL_WORDS).div_ceil(shape.line_words)), each }
    }

    /// Words of all.
    pub fn words(&self, threads: usize) -> usize {
        self.blocks.word(threads, 0)
    }

    fn word(&self, cell: usize) -> usize {
        self.blocks.word(cell / self.each, 0) + cell % self.each * CELL_WORDS
    }

    fn of(&self, thread: usize) -> Range<usize> {
        thread * self.each..(thread + 1) * self.each
    }
}

/// A thread's view of the tree.
pub struct Tree<'r, R> {
    pub cells: &'r R,
    pub pools: Pools,
    pub bodies: Bodies<'r, R>,
    pub locks: Locks<'r, R>,
    /// How many locks the cells share.
    pub lock_count: usize,
    /// The cells that the thread has made for this tree.
    pub made: Range<usize>,
    /// Half the side of the cube that the root is.
    pub half: f64,
}

/// The octant of a cube around `centre` that a place is in: a bit for each axis.
fn octant(place: Vector, centre: Vector) -> usize {
    (0..3).map(|axis| usize::from(place[axis] >= centre[axis]) << axis).sum()
}

/// The centre of an octant of a cube.
fn centre_of(octant: usize, centre: Vector, half: f64) -> Vector {
    std::array::from_fn(|axis| centre[axis] + if octant >> axis & 1 == 1 { half / 2.0 } else { -half / 2.0 })
}

impl<R> Tree<'_, R> {
    /// Forgets the tree. The first thread makes a root; the others may insert after a barrier.
    pub fn clear<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        let first = self.pools.of(thread.number()).start;
        self.made = first..first;
        if thread.number() == 0 {
            self.make(Part::Nothing, 0, thread);
        }
    }

    /// Makes a cell with a part in an octant, if there is memory left.
    fn make<T: Thread<Region = R>>(&mut self, part: Part, at: usize, thread: &mut T) -> Option<usize> {
        let cell = self.made.end;
        if !self.pools.of(thread.number()).contains(&cell) {
            return None;
        }
        self.made.end += 1;
        let word = self.pools.word(cell);
        for octant in 0..8 {
            let part = if octant == at { part } else { Part::Nothing };
            thread.store(self.cells, word + octant, part.word());
        }
        thread.store(self.cells, word + KNOWN, 0);
        thread.instructions(STEP);
        Some(cell)
    }

    /// Puts a body into the tree: down to a cell with a free octant, or to a body, with which it shares a new cell. Others do
    /// the same: a cell's parts change under its lock alone. False if there is no memory for a cell, which happens if bodies are
    /// in the same place.
    pub fn insert<T: Thread<Region = R>>(&mut self, body: usize, thread: &mut T) -> bool {
        let place = self.bodies.place(body, thread);
        let (mut cell, mut centre, mut half) = (ROOT, [0.0; 3], self.half);
        loop {
            let octant = octant(place, centre);
            let word = self.pools.word(cell) + octant;
            thread.instructions(STEP);
            if let Part::Cell(inner) = Part::of(thread.load_acquire(self.cells, word)) {
                (cell, centre, half) = (inner, centre_of(octant, centre, half), half / 2.0);
                continue;
            }
            let lock = cell % self.lock_count;
            let held = self.locks.acquire(thread, lock);
            let done = self.put(body, word, centre_of(octant, centre, half), thread);
            self.locks.release(thread, held);
            if let Some(done) = done {
                return done;
            }
        }
    }

    /// Puts a body into an octant, whose cell is locked and whose centre is given, if that is free. Otherwise sees to it that a
    /// cell is there and returns `None`; false if there is no memory for it.
    fn put<T: Thread<Region = R>>(&mut self, body: usize, word: usize, centre: Vector, thread: &mut T) -> Option<bool> {
        match Part::of(thread.load_acquire(self.cells, word)) {
            Part::Nothing => {
                thread.store_release(self.cells, word, Part::Body(body).word());
                Some(true)
            }
            // Somebody was first.
            Part::Cell(_) => None,
            Part::Body(other) => {
                let there = self.bodies.place(other, thread);
                let Some(cell) = self.make(Part::Body(other), octant(there, centre), thread) else {
                    return Some(false);
                };
                thread.store_release(self.cells, word, Part::Cell(cell).word());
                None
            }
        }
    }

    /// What is in an octant of a cell of the finished tree.
    #[inline]
    pub fn part<T: Thread<Region = R>>(&self, cell: usize, octant: usize, thread: &mut T) -> Part {
        Part::of(thread.load(self.cells, self.pools.word(cell) + octant))
    }

    /// The moment of a cell whose number was loaded last.
    #[inline]
    pub fn moment<T: Thread<Region = R>>(&self, cell: usize, thread: &mut T) -> Moment {
        Array::from(self.cells, self.pools.word(cell) + MOMENTS).load_dependent(thread, 0)
    }

    fn cost<T: Thread<Region = R>>(&self, part: Part, thread: &mut T) -> (u64, u64) {
        match part {
            Part::Nothing => (0, 0),
            Part::Body(body) => (self.bodies.cost(body, thread), 1),
            Part::Cell(cell) => {
                let word = self.pools.word(cell);
                (thread.load_dependent(self.cells, word + COST), thread.load(self.cells, word + COUNT))
            }
        }
    }

    /// Computes moment, cost and number of bodies of the cells that the thread has made, latest first: what is in a cell was
    /// made later than it, by whichever thread. Waits for cells of others.
    pub fn sum_up<T: Thread<Region = R>>(&self, thread: &mut T) {
        for cell in self.made.clone().rev() {
            let (mut weighted, mut mass, mut costs, mut count) = ([0.0; 3], 0.0, 0, 0);
            for octant in 0..8 {
                let part = self.part(cell, octant, thread);
                let moment = match part {
                    Part::Nothing => continue,
                    Part::Body(body) => self.bodies.moment(body, thread),
                    Part::Cell(inner) => {
                        thread.await_change(self.cells, self.pools.word(inner) + KNOWN, 0);
                        self.moment(inner, thread)
                    }
                };
                weighted = std::array::from_fn(|axis| weighted[axis] + moment[3] * moment[axis]);
                mass += moment[3];
                let (of_part, bodies) = self.cost(part, thread);
                (costs, count) = (costs + of_part, count + bodies);
                thread.instructions(MOMENT);
            }
            let word = self.pools.word(cell);
            let [x, y, z] = weighted.map(|part| part / mass);
            thread.instructions(cost::DIVISION);
            Array::from(self.cells, word + MOMENTS).store(thread, 0, [x, y, z, mass]);
            thread.store(self.cells, word + COST, costs);
            thread.store(self.cells, word + COUNT, count);
            thread.store_release(self.cells, word + KNOWN, 1);
        }
    }

    /// Gives `take` the bodies of a thread's zone, with their places in the order of all: the tree's leaves from first to last
    /// are cut where the sum of costs passes an equal share (costzones, Singh and others 1995). Only cells on the cuts are opened
    /// by two threads.
    pub fn zone<T: Thread<Region = R>>(
        &self,
        number: usize,
        threads: usize,
        thread: &mut T,
        mut take: impl FnMut(&mut T, usize, usize),
    ) {
        let (total, _) = self.cost(Part::Cell(ROOT), thread);
        let cut = |number: usize| (u128::from(total) * number as u128 / threads as u128) as u64;
        let (zone, mut cost, mut place) = (cut(number)..cut(number + 1), 0, 0);
        let mut parts = vec![Part::Cell(ROOT)];
        while let Some(part) = parts.pop() {
            if cost >= zone.end {
                break;
            }
            let (of_part, bodies) = self.cost(part, thread);
            thread.instructions(ZONE);
            match part {
                Part::Cell(cell) if cost + of_part > zone.start => {
                    parts.extend((0..8).rev().map(|octant| self.part(cell, octant, thread)));
                    parts.retain(|part| *part != Part::Nothing);
                    continue;
                }
                Part::Body(body) if cost >= zone.start => take(thread, place as usize, body),
                _ => (),
            }
            (cost, place) = (cost + of_part, place + bodies);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_as_they_were_stored() {
        for part in [Part::Nothing, Part::Cell(ROOT), Part::Body(0), Part::Cell(7), Part::Body(7)] {
            assert_eq!(Part::of(part.word()), part);
        }
    }

    #[test]
    fn octants_halve_the_cube() {
        for number in 0..8 {
            let centre = centre_of(number, [1.0, 2.0, 3.0], 4.0);
            assert_eq!(octant(centre, [1.0, 2.0, 3.0]), number);
            assert!(centre.iter().zip([1.0, 2.0, 3.0]).all(|(part, middle)| (part - middle).abs() == 2.0));
        }
    }
}
