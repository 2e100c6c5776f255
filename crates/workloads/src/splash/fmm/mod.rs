//! Masses in a square, by the fast multipole method: series of boxes, exchanged among those apart.

mod bins;
mod boxes;
mod expansion;

use std::ops::Range;

use bins::Bins;
use boxes::Square;
use expansion::{Expansion, Series, direct};
use num_complex::Complex64;

use crate::Blocks;
use crate::parallel::{Array, Share, alone, cost, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// The fast multipole method in two dimensions (Greengard and Rokhlin 1987), after FMM of SPLASH-2: in every time step bodies
    /// are sorted into the smallest boxes of a square; series that stand for their masses go up from boxes to those that they are
    /// part of, over to those apart, and down again; near masses act one by one; bodies move on, thrown back by the walls.
    /// SPLASH-2 divides boxes where bodies are many; here all are divided equally often, and bodies are spread evenly.
    Fmm is "fmm": "fast multipole method: series of boxes up, across and down a quadtree, near bodies one by one" {
        /// Bodies.
        bodies: 8192, 1 to 1_048_576;
        /// Levels of boxes: the smallest are so many times halved.
        levels: 5, 2 to 10;
        /// Terms of series beside the first.
        terms: 16, 1 to 40;
        /// Time steps.
        steps: 2, 1 to 1000;
    }
}

const TIME_STEP: f64 = 0.01;

/// Instructions to multiply two complex numbers, add and scale them: ten of floating point, addresses, loop.
const TERM: u32 = 14;
/// Instructions to begin with two boxes: their distance, a division, a logarithm.
const PAIR: u32 = 120 + cost::DIVISION;
/// Instructions of a mass that acts by itself: distance, division, logarithm.
const DIRECT: u32 = 70 + cost::DIVISION;
/// Instructions to move a body, beside loads and stores.
const MOVE: u32 = 20;
/// Instructions to draw a body at random.
const DRAW: u32 = 60;

/// Words of a body: place, velocity, mass; then potential, field and place when these were found.
const BODY_WORDS: usize = 16;
const VELOCITY: usize = 2;
const MASS: usize = 4;
const POTENTIAL: usize = 5;
const FIELD: usize = 6;
const FOUND_AT: usize = 8;
const END: usize = 10;

/// Regions: bodies, their order, where boxes start in it, counts, series from outside and from inside.
const BODIES: usize = 0;
const ORDER: usize = 1;
const STARTS: usize = 2;
const COUNTS: usize = 3;
const OUTSIDE: usize = 4;
const INSIDE: usize = 5;

/// Bodies whose fields are compared with the sums of all.
const SAMPLE: usize = 256;
/// By how much a further term lessens the error: boxes apart are at least two sides from each other, and their corners are
/// 0.71 sides from their centres (Greengard and Rokhlin, section 3.1), 0.71 / (2 - 0.71).
const RATIO: f64 = 0.55;
/// The error that rounding leaves.
const ROUNDING: f64 = 1e-11;

/// A thread's part of the work.
struct Body<'r, R> {
    share: Share,
    levels: u32,
    terms: usize,
    expansion: Expansion,
    bins: Bins<'r, R>,
    outside: &'r R,
    inside: &'r R,
    /// The thread's boxes of the lowest level.
    leaves: Range<usize>,
}

impl Fmm {
    fn counts(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, 1 + Square::count(self.levels as u32).div_ceil(shape.line_words))
    }

    /// Place and mass of a body to begin with.
    fn initial(&self, body: usize, seed: u64) -> (Complex64, f64) {
        let mut random = Random::new(seed, body as u64);
        let place = Complex64::new(random.unit(), random.unit());
        (place, (0.5 + random.unit()) / self.bodies as f64)
    }
}

/// A place and velocity of which the walls of the square have thrown back what is outside.
fn mirror(place: f64, velocity: f64) -> (f64, f64) {
    let thrown = if place < 0.0 { -place } else { 2.0 - place };
    match place {
        0.0..=1.0 => (place, velocity),
        // Too fast for one mirror.
        _ => (thrown.clamp(0.0, 1.0), -velocity),
    }
}

impl<R> Body<'_, R> {
    /// The boxes of a level that are the thread's.
    fn own(&self, level: u32) -> impl Iterator<Item = Square> + use<R> {
        let range = if level == self.levels { self.leaves.clone() } else { self.share.block(Square::count(level)) };
        range.map(move |number| Square { level, number })
    }

    /// Takes leaves that follow each other, as much work as others do: their masses act on near ones, each leaf has those apart.
    fn partition<T: Thread<Region = R>>(&mut self, bodies: usize, thread: &mut T) {
        let leaves = Square::count(self.levels);
        let of_body =
            9.0 * bodies as f64 / leaves as f64 * f64::from(DIRECT) + 3.0 * (self.terms as f64) * f64::from(TERM);
        let of_leaf = 27.0 * (f64::from(PAIR) + (self.terms * self.terms) as f64 * f64::from(TERM));
        let work = |bodies: f64, leaf: usize| bodies * of_body + leaf as f64 * of_leaf;
        let total = work(bodies as f64, leaves);
        let mut cut = |number: usize| {
            let wanted = total * number as f64 / self.share.threads as f64;
            let (mut low, mut high) = (0, leaves);
            while low < high {
                let middle = (low + high) / 2;
                let before = self.bins.starts.load(thread, middle) as f64;
                thread.instructions(8);
                if work(before, middle) < wanted { low = middle + 1 } else { high = middle }
            }
            low
        };
        let first = cut(self.share.number);
        // The last one ends where leaves do, whatever rounding says.
        let last = self.share.number + 1 == self.share.threads;
        self.leaves = first..if last { leaves } else { cut(self.share.number + 1) };
    }

    fn load<T: Thread<Region = R>>(&self, region: &R, of: Square, thread: &mut T) -> Series {
        let first = of.index() * (self.terms + 1);
        (first..=first + self.terms).map(|term| Array::new(region).load(thread, term)).collect()
    }

    fn store<T: Thread<Region = R>>(&self, region: &R, of: Square, series: &Series, thread: &mut T) {
        let first = of.index() * (self.terms + 1);
        for (number, &term) in series.iter().enumerate() {
            Array::new(region).store(thread, first + number, term);
        }
    }

    /// Place and mass of each body in a leaf, with its number.
    fn bodies<T: Thread<Region = R>>(&self, leaf: Square, thread: &mut T) -> Vec<(usize, Complex64, f64)> {
        let (from, to) = (self.bins.starts.load(thread, leaf.number), self.bins.starts.load(thread, leaf.number + 1));
        let body = |place: u64| {
            let body = self.bins.order.load(thread, place as usize) as usize;
            let place: Complex64 = Array::from(self.bins.bodies, body * BODY_WORDS).load_dependent(thread, 0);
            (body, place, Array::from(self.bins.bodies, body * BODY_WORDS + MASS).load(thread, 0))
        };
        (from..to).map(body).collect()
    }

    /// Terms of a series that are each multiplied with each of another.
    fn squared<T: Thread>(&self, thread: &mut T) {
        thread.instructions(PAIR + TERM * (self.terms * self.terms) as u32);
    }

    /// Outside series of boxes: of the smallest by their bodies, of larger ones by their parts.
    fn up<T: Thread<Region = R>>(&self, thread: &mut T) {
        for leaf in self.own(self.levels) {
            let mut series = self.expansion.zero();
            for (_, place, mass) in self.bodies(leaf, thread) {
                self.expansion.add_mass(&mut series, place - leaf.centre(), mass);
                thread.instructions(TERM * self.terms as u32);
            }
            self.store(self.outside, leaf, &series, thread);
        }
        thread.barrier();
        for level in (2..self.levels).rev() {
            for whole in self.own(level) {
                let mut series = self.expansion.zero();
                for part in whole.parts() {
                    let theirs = self.load(self.outside, part, thread);
                    self.expansion.add_outside(&mut series, &theirs, part.centre() - whole.centre());
                    self.squared(thread);
                }
                self.store(self.outside, whole, &series, thread);
            }
            thread.barrier();
        }
    }

    /// Inside series of boxes: by that of the box that they are part of, and by the outside series of boxes apart from them.
    fn down<T: Thread<Region = R>>(&self, thread: &mut T) {
        for level in 2..=self.levels {
            for part in self.own(level) {
                let mut series = self.expansion.zero();
                if level > 2 {
                    let whole = part.parent();
                    let theirs = self.load(self.inside, whole, thread);
                    self.expansion.add_inside(&mut series, &theirs, part.centre() - whole.centre());
                    self.squared(thread);
                }
                for apart in part.apart() {
                    let theirs = self.load(self.outside, apart, thread);
                    self.expansion.add_apart(&mut series, &theirs, apart.centre() - part.centre());
                    self.squared(thread);
                }
                self.store(self.inside, part, &series, thread);
            }
            thread.barrier();
        }
    }

    /// Potential and field at each body of the thread's leaves.
    fn fields<T: Thread<Region = R>>(&self, thread: &mut T) {
        for leaf in self.own(self.levels) {
            let series = self.load(self.inside, leaf, thread);
            let near: Vec<_> = leaf.near().collect();
            for (body, place, _) in self.bodies(leaf, thread) {
                let (mut potential, mut field) = self.expansion.inside(&series, place - leaf.centre());
                thread.instructions(2 * TERM * self.terms as u32);
                for &other in &near {
                    for (number, from, mass) in self.bodies(other, thread) {
                        if number != body {
                            let (more, pull) = direct(place - from, mass);
                            (potential, field) = (potential + more, field + pull);
                            thread.instructions(DIRECT);
                        }
                    }
                }
                let words = body * BODY_WORDS;
                Array::from(self.bins.bodies, words + POTENTIAL).store(thread, 0, potential);
                Array::from(self.bins.bodies, words + FIELD).store(thread, 0, field);
                Array::from(self.bins.bodies, words + FOUND_AT).store(thread, 0, place);
            }
        }
        thread.barrier();
    }

    /// Masses fall towards each other: against the gradient of the potential, which is the field's conjugate.
    fn advance<T: Thread<Region = R>>(&self, bodies: usize, thread: &mut T) {
        for body in self.share.block(bodies) {
            let at = |field: usize| Array::<_, Complex64>::from(self.bins.bodies, body * BODY_WORDS + field);
            let field = at(FIELD).load(thread, 0);
            let velocity = at(VELOCITY).load(thread, 0) - TIME_STEP * field.conj();
            let place = at(0).load(thread, 0) + TIME_STEP * velocity;
            let [x, y] = [(place.re, velocity.re), (place.im, velocity.im)].map(|(place, speed)| mirror(place, speed));
            at(0).store(thread, 0, Complex64::new(x.0, y.0));
            at(VELOCITY).store(thread, 0, Complex64::new(x.1, y.1));
            thread.instructions(MOVE);
        }
        thread.barrier();
    }
}

impl Program for Fmm {
    const REGIONS: &'static [&'static str] =
        &["bodies", "order", "box starts", "counts", "outer series", "inner series"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (bodies, leaves) = (self.bodies as usize, Square { level: self.levels as u32, number: 0 });
        let boxes = leaves.index() + Square::count(leaves.level);
        let series = RegionPlan::unplaced(shape, boxes * (self.terms as usize + 1) * 2);
        vec![
            RegionPlan::unplaced(shape, bodies * BODY_WORDS),
            RegionPlan::unplaced(shape, bodies),
            RegionPlan::unplaced(shape, Square::count(leaves.level) + 1),
            self.counts(shape).plan(shape.homes.iter().copied()),
            series.clone(),
            series,
        ]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (share, bodies) = (Share::new(shape, thread.number()), self.bodies as usize);
        for body in share.block(bodies) {
            let (place, mass) = self.initial(body, shape.seed);
            let at = |field: usize| Array::<_, Complex64>::from(&regions[BODIES], body * BODY_WORDS + field);
            at(0).store(thread, 0, place);
            at(VELOCITY).store(thread, 0, Complex64::default());
            Array::from(&regions[BODIES], body * BODY_WORDS + MASS).store(thread, 0, mass);
            thread.instructions(DRAW);
        }
        let levels = self.levels as u32;
        let bins = Bins {
            level: levels,
            share,
            bodies: &regions[BODIES],
            order: Array::new(&regions[ORDER]),
            starts: Array::new(&regions[STARTS]),
            region: &regions[COUNTS],
            blocks: self.counts(shape),
        };
        let terms = self.terms as usize;
        let (outside, inside) = (&regions[OUTSIDE], &regions[INSIDE]);
        let expansion = Expansion::new(terms);
        let mut body = Body { share, levels, terms, expansion, bins, outside, inside, leaves: 0..0 };
        thread.barrier();
        thread.measure(true);
        for _ in 0..self.steps {
            body.bins.sort(bodies, thread);
            body.partition(bodies, thread);
            body.up(thread);
            body.down(thread);
            body.fields(thread);
            body.advance(bodies, thread);
        }
        thread.measure(false);
        0
    }

    /// Bodies are where one thread alone brings them, and potentials and fields are the sums over all others, but for the terms
    /// that series leave out.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (_, alone) = alone(self, shape);
        let bodies = 0..self.bodies as usize;
        for word in bodies.clone().flat_map(|body| body * BODY_WORDS..body * BODY_WORDS + END) {
            let what = || format!("word {} of body {}", word % BODY_WORDS, word / BODY_WORDS);
            Wrong::unless_equal(read(BODIES, word), alone[BODIES][word], what)?;
        }
        let at =
            |body: usize, field: usize| element::<Complex64>(|word| read(BODIES, body * BODY_WORDS + field + word), 0);
        let masses: Vec<_> =
            bodies.clone().map(|body| (at(body, FOUND_AT), self.initial(body, shape.seed).1)).collect();
        let (mut error, mut all, mut off, mut total) = (0.0, 0.0, 0.0_f64, 0.0_f64);
        for body in bodies.step_by((masses.len() / SAMPLE).max(1)) {
            let others = masses.iter().enumerate().filter(|&(other, _)| other != body);
            let exact = others.map(|(_, &(from, mass))| direct(masses[body].0 - from, mass));
            let (potential, field) =
                exact.fold((0.0, Complex64::default()), |sum, each| (sum.0 + each.0, sum.1 + each.1));
            let found = f64::from_bits(read(BODIES, body * BODY_WORDS + POTENTIAL));
            off += (found - potential).powi(2);
            total += potential.powi(2);
            error += (at(body, FIELD) - field).norm_sqr();
            all += field.norm_sqr();
        }
        // A body alone feels nothing.
        let relative = |off: f64, all: f64| if all == 0.0 { off } else { (off / all).sqrt() };
        let tolerance = ROUNDING + RATIO.powi(self.terms as i32);
        Wrong::unless_close(relative(off, total), 0.0, tolerance, || "the relative error of potentials".into())?;
        Wrong::unless_close(relative(error, all), 0.0, tolerance, || "the relative error of fields".into())
    }
}
