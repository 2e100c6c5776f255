//! The octree: built by all threads at once under locks on its cells, summed up from the leaves, and cut into zones.

use std::ops::Range;

use super::bodies::Bodies;
use super::cells::{CellLayout, Moment, Part, Pools, ROOT};
use super::cube::{Coordinates, Cube, LEVELS, common_level, octant};
use super::curve::Curve;
use super::leaves::Leaves;
use crate::parallel::{Array, Locks, cost, half_of, with_half};
use crate::splash::vector::Vector;
use crate::thread::Thread;

/// Instructions to find the octant of a place and the cell's next level: three bits, addresses.
const STEP: u32 = 14;
/// Instructions to add a part's moment to a cell's: seven of floating point, what kind of part it is, addresses.
const MOMENT: u32 = 14;
/// Instructions to compare a part's costs with the bounds of a zone.
const ZONE: u32 = 8;

/// A thread's view of the tree.
pub struct Tree<'r, R> {
    pub cells: &'r R,
    pub pools: Pools,
    /// Unless every body is a leaf.
    pub leaves: Option<Leaves<'r, R>>,
    pub bodies: Bodies<'r, R>,
    pub locks: Locks<'r, R>,
    /// How many locks the cells share.
    pub lock_count: usize,
    /// The cells that the thread has made for this tree.
    pub made: Range<usize>,
    /// The cube that the root is.
    pub cube: Cube,
    /// The cells around the body that was put into the tree last, from the root on, and its place.
    pub latest: (Vec<usize>, Coordinates),
}

/// Sums over a cell or leaf: places by their mass, masses, costs, and how many bodies.
#[derive(Clone, Copy, Default)]
struct Sums {
    weighted: Vector,
    mass: f64,
    costs: u64,
    count: u64,
}

impl<R> Tree<'_, R> {
    /// Forgets the tree. The first thread makes a root; the others may insert after a barrier.
    pub fn clear<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        let first = self.pools.of(thread.number()).start;
        self.made = first..first;
        self.latest = (vec![ROOT], Coordinates::default());
        if let Some(leaves) = &mut self.leaves {
            leaves.clear(thread.number());
        }
        if thread.number() == 0 {
            self.make(ROOT, Part::Nothing, 0, thread);
        }
    }

    /// Makes a cell for another one, with a part in an octant, if there is memory left.
    fn make<T: Thread<Region = R>>(&mut self, parent: usize, part: Part, at: usize, thread: &mut T) -> Option<usize> {
        let cell = self.made.end;
        if !self.pools.of(thread.number()).contains(&cell) {
            return None;
        }
        self.made.end += 1;
        let word = self.pools.word(cell);
        for octant in 0..8 {
            if !self.pools.layout.halves {
                let part = if octant == at { part } else { Part::Nothing };
                thread.store(self.cells, word + octant, part.word());
            } else if octant % 2 == 0 {
                let both = if at / 2 == octant / 2 { with_half(0, at, part.word() as u32) } else { 0 };
                thread.store(self.cells, self.part_word(cell, octant), both);
            }
        }
        thread.store(self.cells, word + self.pools.layout.known, 0);
        if let Some(place) = self.pools.layout.parent {
            thread.store(self.cells, word + place, parent as u64);
        }
        thread.instructions(STEP);
        Some(cell)
    }

    /// The word that holds what is in an octant.
    #[inline]
    fn part_word(&self, cell: usize, octant: usize) -> usize {
        let layout = &self.pools.layout;
        self.pools.word(cell) + layout.parts + if layout.halves { octant / 2 } else { octant }
    }

    /// Contents of an octant whose word holds `word`.
    #[inline]
    fn part_of(&self, word: u64, octant: usize) -> Part {
        if self.pools.layout.halves { Part::of(half_of(word, octant).into()) } else { Part::of(word) }
    }

    /// Changes what is in an octant, under the lock of its cell.
    fn set_part<T: Thread<Region = R>>(&self, cell: usize, octant: usize, part: Part, thread: &mut T) {
        let word = self.part_word(cell, octant);
        let whole = if self.pools.layout.halves {
            with_half(thread.load(self.cells, word), octant, part.word() as u32)
        } else {
            part.word()
        };
        thread.store_release(self.cells, word, whole);
    }

    fn look<T: Thread<Region = R>>(&self, cell: usize, octant: usize, thread: &mut T) -> Part {
        let word = thread.load_acquire(self.cells, self.part_word(cell, octant));
        self.part_of(word, octant)
    }

    /// Goes up from the cell of the body that was put into the tree last to the smallest one that a place is in, as SPLASH-2's program
    /// does, or to the root where cells have no words for that. Returns its level.
    fn go_up<T: Thread<Region = R>>(&mut self, at: Coordinates, thread: &mut T) -> u32 {
        let (cells, latest) = &mut self.latest;
        let common = common_level(*latest, at) as usize;
        *latest = at;
        let Some(parent) = self.pools.layout.parent else {
            cells.truncate(1);
            return 0;
        };
        while cells.len() > common + 1 {
            let inner = cells.pop().unwrap_or(ROOT);
            let found = thread.load_dependent(self.cells, self.pools.word(inner) + parent);
            debug_assert_eq!(cells.last(), Some(&(found as usize)), "the parent of a cell does not change");
            thread.instructions(STEP);
        }
        cells.len() as u32 - 1
    }

    /// Puts a body into the tree: down to a cell with a free octant, or to a body, with which it shares a new cell. Others do
    /// the same: a cell's parts change under its lock alone. False if there is no memory for a cell, or no smaller one, which happens if
    /// bodies are in the same place.
    pub fn insert<T: Thread<Region = R>>(&mut self, body: usize, thread: &mut T) -> bool {
        let at = self.coordinates(body, thread);
        let mut level = self.go_up(at, thread);
        let mut cell = self.latest.0.last().copied().unwrap_or(ROOT);
        while level < LEVELS {
            let octant = octant(at, level);
            thread.instructions(STEP);
            if let Part::Cell(inner) = self.look(cell, octant, thread) {
                (cell, level) = (inner, level + 1);
                self.latest.0.push(inner);
                continue;
            }
            let lock = cell % self.lock_count;
            let held = self.locks.acquire(thread, lock);
            let done = self.put(body, (cell, octant), level + 1, thread);
            self.locks.release(thread, held);
            if let Some(done) = done {
                return done;
            }
        }
        false
    }

    fn coordinates<T: Thread<Region = R>>(&self, body: usize, thread: &mut T) -> Coordinates {
        let place = self.bodies.place(body, thread);
        self.cube.coordinates(place, thread)
    }

    /// Puts a body into an octant, whose cell is locked and whose level is given, if that is free or a leaf with room. Otherwise
    /// sees to it that a cell is there and returns `None`; false if there is no memory for it.
    fn put<T: Thread<Region = R>>(
        &mut self,
        body: usize,
        (cell, at): (usize, usize),
        level: u32,
        thread: &mut T,
    ) -> Option<bool> {
        match self.look(cell, at, thread) {
            Part::Nothing => {
                let part = match &mut self.leaves {
                    None => Part::Body(body),
                    Some(_) => {
                        let Some(leaf) = self.make_leaf(cell, thread) else { return Some(false) };
                        self.add_to_leaf(leaf, body, thread);
                        Part::Leaf(leaf)
                    }
                };
                self.set_part(cell, at, part, thread);
                Some(true)
            }
            // Somebody was first.
            Part::Cell(_) => None,
            Part::Body(other) => {
                if level == LEVELS {
                    return Some(false);
                }
                let there = octant(self.coordinates(other, thread), level);
                let Some(inner) = self.make(cell, Part::Body(other), there, thread) else {
                    return Some(false);
                };
                self.set_part(cell, at, Part::Cell(inner), thread);
                None
            }
            Part::Leaf(leaf) => {
                if self.add_to_leaf(leaf, body, thread) {
                    return Some(true);
                }
                let Some(inner) = self.divide(cell, leaf, level, thread) else { return Some(false) };
                self.set_part(cell, at, Part::Cell(inner), thread);
                None
            }
        }
    }

    /// Makes an empty leaf for a cell, if there is memory left.
    fn make_leaf<T: Thread<Region = R>>(&mut self, parent: usize, thread: &mut T) -> Option<usize> {
        let leaves = self.leaves.as_mut()?;
        let leaf = leaves.make(thread)?;
        leaves.set_parent(leaf, parent, thread);
        Some(leaf)
    }

    /// Puts a body into a leaf. False if that is full.
    fn add_to_leaf<T: Thread<Region = R>>(&self, leaf: usize, body: usize, thread: &mut T) -> bool {
        let added = self.leaves.as_ref().is_some_and(|leaves| leaves.add(leaf, body, thread));
        if added {
            self.bodies.enter_leaf(body, leaf, thread);
        }
        added
    }

    /// Puts the bodies of a full leaf into a new cell, whose level is given: those of one octant stay in the leaf.
    fn divide<T: Thread<Region = R>>(
        &mut self,
        parent: usize,
        leaf: usize,
        level: u32,
        thread: &mut T,
    ) -> Option<usize> {
        if level == LEVELS {
            return None;
        }
        let bodies = self.leaves.as_ref().map(|leaves| leaves.bodies(leaf, thread))?;
        let octants: Vec<_> = bodies.iter().map(|&body| octant(self.coordinates(body, thread), level)).collect();
        let cell = self.make(parent, Part::Nothing, 0, thread)?;
        let mut kept = Some(leaf);
        for inner in 0..8 {
            let mut own = bodies.iter().zip(&octants).filter(|&(_, octant)| *octant == inner).peekable();
            if own.peek().is_none() {
                continue;
            }
            let leaf = match kept.take() {
                Some(leaf) => {
                    let leaves = self.leaves.as_ref()?;
                    leaves.empty(leaf, thread);
                    leaves.set_parent(leaf, cell, thread);
                    leaf
                }
                None => self.make_leaf(cell, thread)?,
            };
            for (&body, _) in own {
                self.add_to_leaf(leaf, body, thread);
            }
            self.set_part(cell, inner, Part::Leaf(leaf), thread);
        }
        Some(cell)
    }

    /// Contents of an octant of a cell of the finished tree.
    #[inline]
    pub fn part<T: Thread<Region = R>>(&self, cell: usize, octant: usize, thread: &mut T) -> Part {
        let word = thread.load(self.cells, self.part_word(cell, octant));
        self.part_of(word, octant)
    }

    /// Contents of a cell, octant by octant from the last, or of a leaf, of the finished tree.
    #[inline]
    pub fn inner<T: Thread<Region = R>>(&self, part: Part, thread: &mut T, mut take: impl FnMut(Part)) {
        match (part, &self.leaves) {
            (Part::Cell(cell), _) => (0..8).rev().for_each(|octant| take(self.part(cell, octant, thread))),
            (Part::Leaf(leaf), Some(leaves)) => {
                leaves.bodies(leaf, thread).into_iter().rev().for_each(|body| take(Part::Body(body)));
            }
            _ => (),
        }
    }

    /// The region of a cell or a leaf, its first word, and where its words are.
    #[inline]
    fn node(&self, part: Part) -> Option<(&R, usize, CellLayout)> {
        match (part, &self.leaves) {
            (Part::Cell(cell), _) => Some((self.cells, self.pools.word(cell), self.pools.layout)),
            (Part::Leaf(leaf), Some(leaves)) => Some((leaves.region, leaves.pools.word(leaf), leaves.pools.layout)),
            _ => None,
        }
    }

    /// The moment of a cell or leaf, or of a body, whose number was loaded last.
    #[inline]
    pub fn moment<T: Thread<Region = R>>(&self, part: Part, thread: &mut T) -> Moment {
        match (part, self.node(part)) {
            (Part::Body(body), _) => self.bodies.moment(body, thread),
            (_, Some((region, word, layout))) => Array::from(region, word + layout.moment).load_dependent(thread, 0),
            _ => Moment::default(),
        }
    }

    /// The cost of what is in a part, and how many bodies that is.
    fn cost<T: Thread<Region = R>>(&self, part: Part, thread: &mut T) -> (u64, u64) {
        match (part, self.node(part)) {
            (Part::Body(body), _) => (self.bodies.cost(body, thread), 1),
            (_, Some((region, word, layout))) => {
                (thread.load_dependent(region, word + layout.cost), thread.load(region, word + layout.cost + 1))
            }
            _ => (0, 0),
        }
    }

    /// Computes moment, cost and number of bodies of the leaves and cells that the thread has made, latest first: what is in a cell
    /// was made later than it, by whichever thread. Waits for those of others.
    pub fn sum_up<T: Thread<Region = R>>(&self, thread: &mut T) {
        for leaf in self.leaves.iter().flat_map(|leaves| leaves.made.clone()) {
            self.sum(Part::Leaf(leaf), thread);
        }
        for cell in self.made.clone().rev() {
            self.sum(Part::Cell(cell), thread);
        }
    }

    /// Computes what is to be known of a cell or a leaf.
    fn sum<T: Thread<Region = R>>(&self, whole: Part, thread: &mut T) {
        let mut sums = Sums::default();
        match (whole, &self.leaves) {
            (Part::Cell(cell), _) => {
                for octant in 0..8 {
                    let part = self.part(cell, octant, thread);
                    self.add(part, &mut sums, thread);
                }
            }
            (Part::Leaf(leaf), Some(leaves)) => {
                for body in leaves.bodies(leaf, thread) {
                    self.add(Part::Body(body), &mut sums, thread);
                }
            }
            _ => (),
        }
        let Sums { weighted, mass, costs, count } = sums;
        let Some((region, word, layout)) = self.node(whole) else { return };
        let [x, y, z] = weighted.map(|part| part / mass);
        thread.instructions(cost::DIVISION);
        Array::from(region, word + layout.moment).store(thread, 0, [x, y, z, mass]);
        thread.store(region, word + layout.cost, costs);
        thread.store(region, word + layout.cost + 1, count);
        thread.store_release(region, word + layout.known, 1);
    }

    /// Adds what is in a part to sums, as soon as it is known.
    fn add<T: Thread<Region = R>>(&self, part: Part, sums: &mut Sums, thread: &mut T) {
        if part == Part::Nothing {
            return;
        }
        if let Some((region, word, layout)) = self.node(part) {
            thread.await_change(region, word + layout.known, 0);
        }
        let moment = self.moment(part, thread);
        sums.weighted = std::array::from_fn(|axis| sums.weighted[axis] + moment[3] * moment[axis]);
        sums.mass += moment[3];
        let (of_part, bodies) = self.cost(part, thread);
        (sums.costs, sums.count) = (sums.costs + of_part, sums.count + bodies);
        thread.instructions(MOMENT);
    }

    /// Gives `take` the bodies of a thread's zone, with their places in the order of all: the tree's leaves from first to last
    /// are cut where the sum of costs passes an equal share (costzones, Singh and others 1995), in the order of a curve on which
    /// those that follow each other are side by side. Only cells on the cuts are opened by two threads.
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
        let mut parts = vec![(Part::Cell(ROOT), Curve::default())];
        while let Some((part, curve)) = parts.pop() {
            if cost >= zone.end {
                break;
            }
            let (of_part, bodies) = self.cost(part, thread);
            thread.instructions(ZONE);
            match part {
                Part::Cell(cell) if cost + of_part > zone.start => {
                    for (octant, within) in curve.octants().rev() {
                        let inner = self.part(cell, octant, thread);
                        parts.extend((inner != Part::Nothing).then_some((inner, within)));
                    }
                    continue;
                }
                Part::Leaf(_) if cost + of_part > zone.start => {
                    self.inner(part, thread, |inner| parts.push((inner, curve)));
                    continue;
                }
                Part::Body(body) if cost >= zone.start => take(thread, place as usize, body),
                _ => (),
            }
            (cost, place) = (cost + of_part, place + bodies);
        }
    }
}
