//! Masses in the plane, by the adaptive fast multipole method: series of boxes, exchanged among those apart.
//!
//! SPLASH-2's program is followed but for its errors. Links say whether a box has parts, where the program looks into the box, which
//! another thread may be changing. Series are made nothing before the pass upwards begins. A W list has all boxes that belong there,
//! also where parts are missing; single bodies act on leaves, too, and on a box with parts once. Fields begin at nothing in every step.

mod bodies;
mod boxes;
mod expansion;
mod grid;
mod lists;
mod merge;
mod passes;
mod squares;
#[cfg(test)]
mod tests;
mod zones;

use bodies::{ACCELERATION, BODY_WORDS, Bodies, COST, FIELD, MASS, NUMBER, PLACE, TIME_STEP, VELOCITY};
use boxes::{Boxes, Link, Pools};
use expansion::{Expansion, direct};
use grid::{Grid, LOCKS};
use lists::Links;
use num_complex::Complex64;
use passes::Passes;
use squares::Square;
use zones::Own;

use crate::Blocks;
use crate::parallel::{Locks, Reduction, alone, element, half_of, with_half};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::thread::Thread;

program! {
    /// The adaptive fast multipole method in two dimensions (Carrier, Greengard and Rokhlin 1988), after FMM of SPLASH-2. In every time
    /// step each thread puts its bodies into a tree of its own, whose leaves have a few bodies at most, and that into the tree of all,
    /// under locks on boxes; the lists of boxes that act on each other are found; the tree is cut into zones of equal cost, one for
    /// each thread; series that stand for masses go up from boxes to those that they are part of, as soon as all parts of a box are
    /// known, over to those apart, and down again; near masses act one by one; bodies move on. As in SPLASH-2's program the first thread
    /// has all bodies to begin with and builds the first tree alone, later each has those of its zone; boxes come from pools of the
    /// threads, and boxes and bodies have the size and the order of its structures.
    Fmm is "fmm": "adaptive fast multipole method: series of boxes up, across and down a quadtree, near bodies one by one" {
        /// Bodies.
        bodies: 8192, 1 to 1_048_576;
        /// Terms of series: 23 for SPLASH-2's precision of a millionth.
        terms: 23, 2 to 40;
        /// Time steps, of a fortieth of a unit.
        steps: 2, 1 to 1000;
        /// Bodies in a leaf, at most.
        leaf: 40, 1 to 40;
        /// Plummer's clusters that bodies are in; 0: bodies are spread evenly.
        clusters: 2, 0 to 2;
    }
}

/// Instructions to draw a body at random: powers, roots, angles.
const DRAW: u32 = 1500;
/// Instructions to compare a place with the bounds so far.
const BOUND: u32 = 6;

/// Regions: bodies, boxes, each thread's list of bodies, locks, the place of reductions, the root.
const BODIES: usize = 0;
const BOXES: usize = 1;
const ORDER: usize = 2;
const LOCK_WORDS: usize = 3;
const BOUNDS: usize = 4;
const ROOT: usize = 5;

/// Bodies whose fields are compared with the sums of all.
const SAMPLE: usize = 256;
/// By how much a further term lessens the error: boxes far from each other have centres at least two sides apart, and their corners
/// are 0.71 sides from their centres (Greengard and Rokhlin 1987, section 3.1), 0.71 / (2 - 0.71). A smaller box and a body of a leaf
/// that it does not touch are at least one and a half sides apart, and 0.71 / 1.5 is less.
const RATIO: f64 = 0.55;
/// The error that rounding leaves.
const ROUNDING: f64 = 1e-11;
/// Errors of results against those of one thread, relative to the largest one: the order of sums depends on who came first.
const ORDER_ERROR: f64 = 1e-9;

/// The lists of bodies that each thread has, in memory of its own: two in a word.
#[derive(Clone, Copy, Debug)]
struct Order {
    first: Blocks,
    others: Blocks,
    /// The most bodies that a thread other than the first may have.
    room: usize,
}

impl Order {
    /// SPLASH-2's program has room for all bodies in the first thread's list, and for four times an equal share in others; here a few
    /// more.
    fn new(shape: &Shape, bodies: usize) -> Self {
        let room = bodies.min(4 * bodies / shape.threads() + 1024);
        let blocks = |bodies: usize| Blocks::new(shape, bodies.div_ceil(2 * shape.line_words));
        Self { first: blocks(bodies), others: blocks(room), room }
    }

    fn word(&self, thread: usize) -> usize {
        thread.checked_sub(1).map_or(0, |before| self.first.word(1, 0) + self.others.word(before, 0))
    }
}

/// A thread's part of the work.
struct Body<'r, R> {
    order: &'r R,
    first_word: usize,
    room: usize,
    /// The number of the thread's bodies.
    count: usize,
    grid: Grid<'r, R>,
    own: Own,
    bounds: Reduction<'r, R>,
    expansion: Expansion,
    links: Links,
}

impl<R> Body<'_, R> {
    /// The bodies of the thread.
    fn bodies<T: Thread<Region = R>>(&self, thread: &mut T) -> Vec<usize> {
        let body = |place: usize| half_of(thread.load(self.order, self.first_word + place / 2), place) as usize;
        (0..self.count).map(body).collect()
    }

    fn put<T: Thread<Region = R>>(&mut self, body: usize, thread: &mut T) {
        if self.count == self.room {
            self.grid.lost += 1;
            return;
        }
        let word = self.first_word + self.count / 2;
        let held = if self.count % 2 == 1 { thread.load(self.order, word) } else { 0 };
        thread.store(self.order, word, with_half(held, self.count, body as u32));
        self.count += 1;
    }

    /// Builds the tree.
    fn build<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        let bodies = self.bodies(thread);
        // The bounds on the right and at the top, and with other signs those on the left and at the bottom.
        let mut bounds = [f64::MIN; 4];
        for &body in &bodies {
            let place = self.grid.bodies.place(body, thread);
            let both = [place.re, place.im, -place.re, -place.im];
            bounds.iter_mut().zip(both).for_each(|(bound, at)| *bound = bound.max(at));
            thread.instructions(BOUND);
        }
        let larger = |one: [f64; 4], other: [f64; 4]| std::array::from_fn(|side| one[side].max(other[side]));
        let [right, top, left, bottom] = self.bounds.combine(thread, bounds, larger);
        let square = Square::around(Complex64::new(-left, -bottom), Complex64::new(right, top));
        self.grid.clear(thread);
        if !bodies.is_empty() {
            self.grid.build(&bodies, square, thread);
        }
        thread.barrier();
        self.own = self.grid.own(thread);
    }

    /// Finds which boxes act on which.
    fn set_lists<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        for link in self.own.downwards() {
            self.grid.set_colleagues(link, &mut self.links, thread);
            self.grid.boxes.follow(link, thread);
        }
        thread.barrier();
        for link in self.own.upwards() {
            self.grid.set_lists(link, &mut self.links, thread);
            self.grid.boxes.follow(link, thread);
        }
    }

    /// Takes the boxes of the thread's zone.
    fn partition<T: Thread<Region = R>>(&mut self, threads: usize, thread: &mut T) {
        for link in self.own.upwards() {
            self.grid.sum_up(link, self.expansion.terms, thread);
            self.grid.boxes.follow(link, thread);
        }
        thread.barrier();
        let mut own = Own::default();
        let passes = Passes { grid: &self.grid, expansion: &self.expansion, links: Vec::new() };
        self.grid.zone(thread.number(), threads, thread, |thread, link| {
            own.put(link, &self.grid, thread);
            link.number().into_iter().for_each(|number| passes.clear(number, thread));
        });
        self.own = own;
        thread.barrier();
    }

    /// Finds the fields, and moves bodies by them.
    fn step<T: Thread<Region = R>>(&mut self, is_first: bool, thread: &mut T) {
        let boxes = &self.grid.boxes;
        let mut passes = Passes { grid: &self.grid, expansion: &self.expansion, links: Vec::new() };
        for link in self.own.upwards() {
            passes.up(link, thread);
            boxes.follow(link, thread);
        }
        for link in self.own.upwards() {
            passes.interact(link, thread);
            boxes.follow(link, thread);
        }
        thread.barrier();
        for link in self.own.downwards() {
            passes.down(link, thread);
            boxes.follow(link, thread);
        }
        for leaf in self.own.leaves() {
            for place in 0..boxes.body_count(leaf, thread) {
                let body = boxes.body(leaf, place, thread);
                self.grid.bodies.advance(body, is_first, thread);
            }
            boxes.follow(Link::Leaf(leaf), thread);
        }
    }

    /// Notes the bodies of the thread's leaves, and what their fields cost.
    fn collect<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        self.count = 0;
        let leaves: Vec<usize> = self.own.leaves().collect();
        for leaf in leaves {
            let bodies = self.grid.boxes.bodies(leaf, thread);
            let cost = u64::from(self.grid.boxes.half(leaf, boxes::COST, thread));
            for &body in &bodies {
                self.grid.bodies.set_cost(body, cost / bodies.len() as u64, thread);
                self.put(body, thread);
            }
        }
        if thread.number() == 0 {
            self.grid.forget(thread);
        }
    }
}

impl Fmm {
    fn pools(&self, shape: &Shape) -> Pools {
        Pools::new(shape, self.bodies as usize, self.leaf as usize)
    }

    fn body<'r, T: Thread>(&self, shape: &Shape, regions: &'r [T::Region], thread: &T) -> Body<'r, T::Region> {
        let (count, number, pools) = (self.bodies as usize, thread.number(), self.pools(shape));
        let order = Order::new(shape, count);
        let first = pools.of(number).start;
        let grid = Grid {
            boxes: Boxes { region: &regions[BOXES], pools },
            bodies: Bodies { region: &regions[BODIES] },
            locks: Locks::new(shape, &regions[LOCK_WORDS], LOCKS),
            root: &regions[ROOT],
            most: self.leaf as usize,
            made: first..first,
            put: Vec::new(),
            lost: 0,
        };
        Body {
            order: &regions[ORDER],
            first_word: order.word(number),
            room: if number == 0 { count } else { order.room },
            count: 0,
            grid,
            own: Own::default(),
            bounds: Reduction::new(shape, &regions[BOUNDS]),
            expansion: Expansion::new(self.terms as usize),
            links: Links::default(),
        }
    }

    /// All have the same charge, which SPLASH-2's program divides by their number twice.
    fn charge(&self) -> f64 {
        (self.bodies as f64).powi(-2)
    }

    /// Fields are the sums over all others, but for the terms that series leave out.
    fn check_fields(&self, at: impl Fn(usize, usize) -> Complex64) -> Result<(), Wrong> {
        // Where bodies were when fields were found.
        let before = |body: usize| {
            let half = at(body, ACCELERATION) * (TIME_STEP / 2.0);
            at(body, PLACE) - (at(body, VELOCITY) - half) * TIME_STEP
        };
        let places: Vec<Complex64> = (0..self.bodies as usize).map(before).collect();
        let (mut error, mut all) = (0.0, 0.0);
        for body in (0..places.len()).step_by((places.len() / SAMPLE).max(1)) {
            let others = places.iter().enumerate().filter(|&(other, _)| other != body);
            let field: Complex64 = others.map(|(_, &from)| direct(places[body] - from, self.charge())).sum();
            error += (at(body, FIELD) + field.conj()).norm_sqr();
            all += field.norm_sqr();
        }
        // A body alone feels nothing.
        let relative = if all == 0.0 { error } else { (error / all).sqrt() };
        let tolerance = ROUNDING + RATIO.powi(self.terms as i32 - 1);
        Wrong::unless_close(relative, 0.0, tolerance, || "the relative error of fields".into())
    }
}

impl Program for Fmm {
    const REGIONS: &'static [&'static str] =
        &["bodies", "boxes", "bodies of threads", "locks", "partial bounds", "root"];
    const DYNAMIC: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let bodies = self.bodies as usize;
        vec![
            RegionPlan::unplaced(shape, bodies * BODY_WORDS),
            self.pools(shape).plan(shape),
            RegionPlan::unplaced(shape, Order::new(shape, bodies).word(shape.threads())),
            Locks::<()>::plan(shape, LOCKS),
            Reduction::<()>::plan(shape),
            RegionPlan::unplaced(shape, 1),
        ]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let mut body = self.body(shape, regions, thread);
        if thread.number() == 0 {
            let initial = bodies::initial(self.bodies as usize, self.clusters, shape.seed);
            for (number, each) in initial.into_iter().enumerate() {
                body.grid.bodies.begin(number, each, self.charge(), thread);
                body.put(number, thread);
                thread.instructions(DRAW);
            }
        }
        for number in body.grid.boxes.pools.of(thread.number()) {
            body.grid.boxes.clear(number, thread);
        }
        thread.barrier();
        thread.measure(true);
        for step in 0..self.steps {
            body.build(thread);
            body.set_lists(thread);
            body.partition(shape.threads(), thread);
            body.step(step == 0, thread);
            body.collect(thread);
        }
        thread.barrier();
        thread.measure(false);
        body.grid.lost
    }

    /// Bodies are where one thread alone brings them, but for the order of sums, and fields are right.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (_, alone) = alone(self, shape);
        let bodies = 0..self.bodies as usize;
        for body in bodies.clone() {
            for field in [NUMBER, bodies::CHARGE, MASS, COST] {
                let word = body * BODY_WORDS + field;
                let what = || format!("word {field} of body {body}");
                Wrong::unless_equal(read(BODIES, word), alone[BODIES][word], what)?;
            }
        }
        for field in (PLACE..COST).filter(|field| *field != NUMBER) {
            let expected = |body: usize| f64::from_bits(alone[BODIES][body * BODY_WORDS + field]);
            let largest = bodies.clone().map(|body| expected(body).abs()).fold(0.0, f64::max);
            for body in bodies.clone() {
                let found = f64::from_bits(read(BODIES, body * BODY_WORDS + field));
                let what = || format!("word {field} of body {body}");
                Wrong::unless_close(found, expected(body), ORDER_ERROR * largest, what)?;
            }
        }
        self.check_fields(|body, field| element(|word| read(BODIES, body * BODY_WORDS + field + word), 0))
    }
}
