//! The tree of boxes: each thread puts its bodies into a tree of its own, and that into the tree of all.
//!
//! The tree of all does not depend on who comes first: a box is divided if and only if more bodies are in its square than a leaf may
//! have. A box with parts stays in it for the whole time step. A leaf is taken out by who wants to change it.

use std::ops::Range;

use num_complex::Complex64;

use super::bodies::Bodies;
use super::boxes::{Boxes, Link, PART_COUNT};
use super::merge::Slot;
use super::squares::Square;
use crate::parallel::Locks;
use crate::thread::Thread;

/// Instructions to go to a part of a box: two comparisons, addresses.
const STEP: u32 = 10;
/// Instructions to make a box: its centre, its side.
const MAKE: u32 = 24;
/// Locks that the boxes share, as many as SPLASH-2's program has, and the one of the root.
pub const BOX_LOCKS: usize = 2047;
pub const ROOT_LOCK: usize = BOX_LOCKS;
pub const LOCKS: usize = BOX_LOCKS + 1;

/// A thread's view of the tree.
pub struct Grid<'r, R> {
    pub boxes: Boxes<'r, R>,
    pub bodies: Bodies<'r, R>,
    pub locks: Locks<'r, R>,
    /// The region whose first word is the root of the tree of all.
    pub root: &'r R,
    /// Bodies in a leaf, at most.
    pub most: usize,
    /// The boxes that the thread has made for this tree.
    pub made: Range<usize>,
    /// Those of them that it has put into the tree of all. Other threads may have taken some out.
    pub put: Vec<usize>,
    /// Bodies that there was no box for.
    pub lost: u64,
}

impl<'r, R> Grid<'r, R> {
    /// Gives the boxes of the tree before back.
    pub fn clear<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        for number in self.made.clone() {
            self.boxes.clear(number, thread);
        }
        let first = self.boxes.pools.of(thread.number()).start;
        self.made = first..first;
        self.put.clear();
    }

    /// The lock of a box.
    pub fn lock_of(&self, number: usize) -> usize {
        self.boxes.pools.place(number) % BOX_LOCKS
    }

    /// Makes a leaf, if there is memory left.
    fn make<T: Thread<Region = R>>(
        &mut self,
        square: Square,
        place: (u32, usize),
        parent: Option<usize>,
        thread: &mut T,
    ) -> Option<usize> {
        let number = self.made.end;
        if !self.boxes.pools.of(thread.number()).contains(&number) {
            return None;
        }
        self.made.end += 1;
        self.boxes.begin(number, square, place, parent, thread);
        thread.instructions(MAKE);
        Some(number)
    }

    /// Makes a part of a box of the thread's own tree.
    fn make_part<T: Thread<Region = R>>(&mut self, parent: usize, part: usize, thread: &mut T) -> Option<usize> {
        let (square, level) = (self.boxes.square(parent, thread), self.boxes.level(parent, thread));
        let number = self.make(square.part(part), (level + 1, part), Some(parent), thread)?;
        self.boxes.set_link(parent, part, Link::Leaf(number), thread);
        let count = self.boxes.half(parent, PART_COUNT, thread);
        self.boxes.set_half(parent, PART_COUNT, count + 1, thread);
        Some(number)
    }

    /// Makes a leaf with bodies for a part of a box of the tree of all, without putting it there.
    pub fn make_leaf<T: Thread<Region = R>>(
        &mut self,
        parent: usize,
        part: usize,
        bodies: &[usize],
        thread: &mut T,
    ) -> Option<usize> {
        let (square, level) = (self.boxes.square(parent, thread), self.boxes.level(parent, thread));
        let Some(number) = self.make(square.part(part), (level + 1, part), None, thread) else {
            self.lost += bodies.len() as u64;
            return None;
        };
        for &body in bodies {
            self.boxes.push_body(number, body, thread);
        }
        Some(number)
    }

    /// Builds the thread's own tree of some bodies, and puts it into the tree of all.
    pub fn build<T: Thread<Region = R>>(&mut self, bodies: &[usize], square: Square, thread: &mut T) {
        let Some(own) = self.make(square, (0, 0), None, thread) else {
            self.lost += bodies.len() as u64;
            return;
        };
        self.insert(bodies, own, thread);
        self.merge(own, Slot::ROOT, thread);
    }

    /// Puts bodies into a box of the thread's own tree that is around them, and divides it where there are too many.
    pub fn insert<T: Thread<Region = R>>(&mut self, bodies: &[usize], top: usize, thread: &mut T) {
        let mut home = top;
        for &body in bodies {
            let place = self.bodies.place(body, thread);
            let Some(leaf) = self.find(place, home, top, thread) else {
                self.lost += 1;
                continue;
            };
            home = leaf;
            let mut count = self.boxes.push_body(home, body, thread);
            while count > self.most {
                self.divide(home, thread);
                let mut parts = self.boxes.parts(home, thread);
                // All may be in one part, which then has too many.
                let (Some(Link::Leaf(only)), None) = (parts.next(), parts.next()) else { break };
                home = only;
                count = self.boxes.body_count(home, thread);
            }
        }
    }

    /// The leaf for a place, from a box near it: up to the first one that is around it, not beyond `top`, and down again. A part that
    /// is not there yet is made.
    fn find<T: Thread<Region = R>>(
        &mut self,
        place: Complex64,
        near: usize,
        top: usize,
        thread: &mut T,
    ) -> Option<usize> {
        let mut number = near;
        while number != top && !self.boxes.square(number, thread).contains(place) {
            thread.instructions(STEP);
            number = self.boxes.parent(number, thread).unwrap_or(top);
        }
        while let Link::Divided(_) = self.boxes.link(number, thread) {
            let part = self.boxes.square(number, thread).part_of(place);
            thread.instructions(STEP);
            number = match self.boxes.part_link(number, part, thread).number() {
                Some(inner) => inner,
                None => self.make_part(number, part, thread)?,
            };
        }
        Some(number)
    }

    /// Deals the bodies of a leaf of the thread's own to parts.
    fn divide<T: Thread<Region = R>>(&mut self, leaf: usize, thread: &mut T) {
        let square = self.boxes.square(leaf, thread);
        for body in self.boxes.take_bodies(leaf, thread) {
            let part = square.part_of(self.bodies.place(body, thread));
            thread.instructions(STEP);
            let inner = match self.boxes.part_link(leaf, part, thread).number() {
                Some(inner) => Some(inner),
                None => self.make_part(leaf, part, thread),
            };
            match inner {
                Some(inner) => _ = self.boxes.push_body(inner, body, thread),
                None => self.lost += 1,
            }
        }
        self.boxes.set_divided(leaf, thread);
        // A box that was taken out of the tree of all, or will be put there, has no parent meanwhile.
        if let Some(parent) = self.boxes.parent(leaf, thread) {
            let part = self.boxes.part(leaf, thread);
            self.boxes.set_link(parent, part, Link::Divided(leaf), thread);
        }
    }

    /// Puts bodies into a leaf of the thread's own, which is divided if these are too many.
    pub fn insert_in_leaf<T: Thread<Region = R>>(&mut self, bodies: &[usize], leaf: usize, thread: &mut T) {
        let room = self.most - self.boxes.body_count(leaf, thread);
        let (fit, more) = bodies.split_at(room.min(bodies.len()));
        for &body in fit {
            self.boxes.push_body(leaf, body, thread);
        }
        self.insert(more, leaf, thread);
    }

    /// The root of the finished tree.
    pub fn top<T: Thread<Region = R>>(&self, thread: &mut T) -> Link {
        Link::of_word(thread.load(self.root, 0))
    }

    /// Forgets the finished tree.
    pub fn forget<T: Thread<Region = R>>(&self, thread: &mut T) {
        thread.store(self.root, 0, Link::Nothing.word());
    }
}
