//! The passes over the tree: series go up, boxes act on each other, series go down to bodies.

use num_complex::Complex64;

use super::bodies::FIELD;
use super::boxes::{APART, COST, INNER, Link, MOST_BODIES, OUTER, PART_COUNT, SINGLE, TOLD};
use super::expansion::{Expansion, Series, ZERO, direct};
use super::grid::Grid;
use crate::parallel::cost;
use crate::thread::Thread;

/// Instructions to multiply two complex numbers, add and scale them: ten of floating point, addresses, loop.
const TERM: u32 = 14;
/// Instructions to begin with two boxes: their distance, a division, a logarithm.
const PAIR: u32 = 120 + cost::DIVISION;
/// Instructions to begin with a box and a body: their distance, a division.
const SINGLE_PAIR: u32 = 20 + cost::DIVISION;
/// Instructions of a mass that acts by itself: distance, division, products.
const DIRECT: u32 = 24 + cost::DIVISION;
/// Instructions that make a unit of cost, which counts in half a word: about a mass that acts by itself.
const COST_UNIT: u32 = 96;

/// Instructions of a box that acts on one that is far from it.
pub fn apart(terms: usize) -> u32 {
    PAIR + TERM * (terms * terms) as u32
}

/// The cost of instructions.
pub fn cost(instructions: u32) -> u64 {
    instructions.div_ceil(COST_UNIT).into()
}

/// A thread's passes.
pub struct Passes<'a, 'r, R> {
    pub grid: &'a Grid<'r, R>,
    pub expansion: &'a Expansion,
    pub links: Vec<Link>,
}

impl<R> Passes<'_, '_, R> {
    fn series<T: Thread<Region = R>>(&self, number: usize, which: usize, thread: &mut T) -> Series {
        self.grid.boxes.series(number, which, self.expansion.terms, thread)
    }

    fn set_series<T: Thread<Region = R>>(&self, number: usize, which: usize, series: &Series, thread: &mut T) {
        self.grid.boxes.set_series(number, which, &series[..self.expansion.terms], thread);
    }

    /// Adds to a series of a box. Other threads that do so too hold the box's lock.
    fn add_series<T: Thread<Region = R>>(&self, number: usize, which: usize, more: &Series, thread: &mut T) {
        let mut sum = self.series(number, which, thread);
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        self.set_series(number, which, &sum, thread);
    }

    /// Work on a box while holding its lock.
    fn locked<T: Thread<Region = R>>(&self, number: usize, thread: &mut T, body: impl FnOnce(&mut T)) {
        self.grid.locks.critical(thread, self.grid.lock_of(number), body);
    }

    /// Makes the series of a box nothing. SPLASH-2's program does so when the pass upwards comes to a box, which parts that come from
    /// other threads may have been added to by then; here it is done before the barrier that precedes the pass.
    pub fn clear<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) {
        for which in [OUTER, INNER, SINGLE] {
            self.set_series(number, which, &ZERO, thread);
        }
    }

    /// Charges instructions, and adds their cost to that of a box.
    fn charge<T: Thread<Region = R>>(&self, number: usize, instructions: u32, thread: &mut T) {
        thread.instructions(instructions);
        self.grid.boxes.add(number, COST, cost(instructions), thread);
    }

    fn instructions_of_terms(&self) -> u32 {
        TERM * self.expansion.terms as u32
    }

    /// The outer series of a box: of a leaf by its bodies, of others as soon as all parts have added theirs. It is added to the
    /// parent's.
    pub fn up<T: Thread<Region = R>>(&self, link: Link, thread: &mut T) {
        let boxes = &self.grid.boxes;
        let Some(number) = link.number() else { return };
        if let Link::Leaf(leaf) = link {
            let (mut series, centre) = (ZERO, boxes.square(leaf, thread).centre);
            for place in 0..boxes.body_count(leaf, thread) {
                let body = boxes.body(leaf, place, thread);
                let distance = self.grid.bodies.place(body, thread) - centre;
                self.expansion.add_mass(&mut series, distance, self.grid.bodies.charge(body, thread));
                thread.instructions(self.instructions_of_terms());
            }
            self.locked(leaf, thread, |thread| self.set_series(leaf, OUTER, &series, thread));
            self.locked(leaf, thread, |thread| boxes.release_half(leaf, TOLD, 1, thread));
        } else {
            self.await_outer(link, thread);
        }
        if let Some(parent) = boxes.parent(number, thread) {
            let distance = boxes.square(number, thread).centre - boxes.square(parent, thread).centre;
            let (own, mut series) = (self.series(number, OUTER, thread), ZERO);
            self.expansion.add_outside(&mut series, &own, distance);
            thread.instructions(apart(self.expansion.terms));
            self.locked(parent, thread, |thread| self.add_series(parent, OUTER, &series, thread));
            self.locked(parent, thread, |thread| self.grid.tell(parent, thread));
        }
    }

    /// Waits until the outer series of a box is known.
    fn await_outer<T: Thread<Region = R>>(&self, link: Link, thread: &mut T) {
        let boxes = &self.grid.boxes;
        match link {
            Link::Nothing => (),
            Link::Leaf(leaf) => boxes.await_half(leaf, TOLD, 1, thread),
            Link::Divided(whole) => {
                let parts = boxes.half(whole, PART_COUNT, thread);
                boxes.await_half(whole, TOLD, parts, thread);
            }
        }
    }

    /// All that acts on a box by itself: for a leaf's bodies each other, those of leaves that touch it, and smaller boxes, on which the
    /// leaf's bodies act in turn; for its inner series the boxes far from it.
    pub fn interact<T: Thread<Region = R>>(&mut self, link: Link, thread: &mut T) {
        let Some(number) = link.number() else { return };
        self.grid.boxes.set_half(number, COST, 0, thread);
        let mut links = std::mem::take(&mut self.links);
        if let Link::Leaf(leaf) = link {
            self.within(leaf, thread);
            self.grid.noted_adjacent(leaf, &mut links, thread);
            for other in links.iter().filter_map(|link| link.number()) {
                self.near(leaf, other, thread);
            }
            self.grid.noted_finer(leaf, &mut links, thread);
            for &finer in &links {
                self.finer(leaf, finer, thread);
            }
        }
        self.grid.boxes.list(number, APART, &mut links, thread);
        for &other in &links {
            self.apart(number, other, thread);
        }
        self.links = links;
    }

    /// Bodies of a leaf act on each other: every pair once.
    fn within<T: Thread<Region = R>>(&self, leaf: usize, thread: &mut T) {
        let (boxes, bodies) = (&self.grid.boxes, &self.grid.bodies);
        let mut fields = [Complex64::default(); MOST_BODIES];
        let count = boxes.body_count(leaf, thread).min(MOST_BODIES);
        for place in 0..count {
            let body = boxes.body(leaf, place, thread);
            let (at, charge) = (bodies.place(body, thread), bodies.charge(body, thread));
            for other in place + 1..count {
                let number = boxes.body(leaf, other, thread);
                let distance = at - bodies.place(number, thread);
                fields[place] += direct(distance, bodies.charge(number, thread));
                fields[other] -= direct(distance, charge);
            }
            bodies.set(body, FIELD, fields[place], thread);
        }
        self.charge(leaf, DIRECT * (count * count.saturating_sub(1) / 2) as u32, thread);
    }

    /// Adds to the fields of a leaf's bodies, whose places `field` is given.
    fn add_fields<T: Thread<Region = R>>(
        &self,
        leaf: usize,
        thread: &mut T,
        mut field: impl FnMut(&mut T, Complex64) -> Complex64,
    ) {
        for place in 0..self.grid.boxes.body_count(leaf, thread) {
            let body = self.grid.boxes.body(leaf, place, thread);
            let at = self.grid.bodies.place(body, thread);
            let more = field(thread, at);
            let sum = self.grid.bodies.pair(body, FIELD, thread) + more;
            self.grid.bodies.set(body, FIELD, sum, thread);
        }
    }

    /// Bodies of a leaf that touches a leaf act on those of that.
    fn near<T: Thread<Region = R>>(&self, leaf: usize, other: usize, thread: &mut T) {
        let (boxes, bodies) = (&self.grid.boxes, &self.grid.bodies);
        let count = boxes.body_count(other, thread);
        self.add_fields(leaf, thread, |thread, at| {
            let mut sum = Complex64::default();
            for place in 0..count {
                let body = boxes.body(other, place, thread);
                let distance = at - bodies.place(body, thread);
                sum += direct(distance, bodies.charge(body, thread));
            }
            sum
        });
        let own = boxes.body_count(leaf, thread);
        self.charge(leaf, DIRECT * (own * count) as u32, thread);
    }

    /// A smaller box and a leaf act on each other: the box's outer series on bodies, and these on the box's series of single bodies,
    /// under its lock.
    fn finer<T: Thread<Region = R>>(&self, leaf: usize, link: Link, thread: &mut T) {
        let (boxes, bodies, terms) = (&self.grid.boxes, &self.grid.bodies, self.expansion.terms);
        let Some(number) = link.number() else { return };
        self.await_outer(link, thread);
        let centre = boxes.square(number, thread).centre;
        let outer = self.series(number, OUTER, thread);
        self.add_fields(leaf, thread, |_, at| self.expansion.outside(&outer, at - centre));
        let count = boxes.body_count(leaf, thread);
        let mut series = ZERO;
        for place in 0..count {
            let body = boxes.body(leaf, place, thread);
            let distance = bodies.place(body, thread) - centre;
            self.expansion.add_mass_outside(&mut series, distance, bodies.charge(body, thread));
        }
        self.charge(leaf, 2 * count as u32 * (SINGLE_PAIR + TERM * terms as u32), thread);
        self.locked(number, thread, |thread| self.add_series(number, SINGLE, &series, thread));
    }

    /// A box that is far from another acts on that.
    fn apart<T: Thread<Region = R>>(&self, number: usize, link: Link, thread: &mut T) {
        let Some(other) = link.number() else { return };
        self.await_outer(link, thread);
        let distance = self.grid.boxes.square(other, thread).centre - self.grid.boxes.square(number, thread).centre;
        let (outer, mut series) = (self.series(other, OUTER, thread), ZERO);
        self.expansion.add_apart(&mut series, &outer, distance);
        self.charge(number, apart(self.expansion.terms), thread);
        self.add_series(number, INNER, &series, thread);
    }

    /// The inner series of a box, with that of its parent as soon as this is known, and its effect on bodies.
    ///
    /// SPLASH-2's program leaves it to each part to add to the parent's series that of single bodies. Here the box's own thread does so,
    /// once, before the parts go on.
    pub fn down<T: Thread<Region = R>>(&self, link: Link, thread: &mut T) {
        let boxes = &self.grid.boxes;
        let Some(number) = link.number() else { return };
        let centre = boxes.square(number, thread).centre;
        if let Some(parent) = boxes.parent(number, thread) {
            boxes.await_half(parent, TOLD, 0, thread);
            let distance = centre - boxes.square(parent, thread).centre;
            let (theirs, mut series) = (self.series(parent, INNER, thread), ZERO);
            self.expansion.add_inside(&mut series, &theirs, distance);
            thread.instructions(apart(self.expansion.terms));
            self.locked(number, thread, |thread| self.add_series(number, INNER, &series, thread));
        }
        let single = self.series(number, SINGLE, thread);
        self.add_series(number, INNER, &single, thread);
        if let Link::Leaf(leaf) = link {
            self.evaluate(leaf, centre, thread);
            boxes.release_half(leaf, TOLD, 0, thread);
        } else {
            self.locked(number, thread, |thread| boxes.release_half(number, TOLD, 0, thread));
        }
    }

    /// Fields of a leaf's bodies: masses fall towards each other, against the gradient of the potential, which is the conjugate of
    /// its derivative.
    fn evaluate<T: Thread<Region = R>>(&self, leaf: usize, centre: Complex64, thread: &mut T) {
        let inner = self.series(leaf, INNER, thread);
        for place in 0..self.grid.boxes.body_count(leaf, thread) {
            let body = self.grid.boxes.body(leaf, place, thread);
            let distance = self.grid.bodies.place(body, thread) - centre;
            let field = self.grid.bodies.pair(body, FIELD, thread) + self.expansion.inside(&inner, distance);
            self.grid.bodies.set(body, FIELD, -field.conj(), thread);
            thread.instructions(self.instructions_of_terms());
        }
    }
}
