//! Stars that attract each other: an octree built by all threads in every time step, and walked for every star.

mod bodies;
mod cells;
mod cube;
mod curve;
mod leaves;
mod own;
mod tree;

use std::ops::Range;

use bodies::{Bodies, BodyLayout};
use cells::{Moment, Part, Pools, ROOT};
use cube::{BOUND, Bounds, Coordinates, Cube, SharedBounds};
use leaves::Leaves;
use own::Own;
use tree::Tree;

use crate::parallel::{Locks, Share, alone, cost, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::splash::vector::{Vector, minus, plus, square, times};
use crate::thread::Thread;

program! {
    /// The method of Barnes and Hut (1986) on Plummer's cluster, after Barnes of SPLASH: in every time step all threads put their
    /// bodies into one octree, under locks on its cells, and sum its cells up; the tree's leaves, in the order of Hilbert's curve, are
    /// cut into zones of equal cost, one for each thread; for each body the tree is walked, and what is far enough away counts as one;
    /// bodies move on. The tree's form depends on where bodies are alone: one body in a leaf, as in SPLASH, or up to ten, as in
    /// SPLASH-2, whose structures for bodies and cells are smaller and not padded, which goes from body to body through the tree, and
    /// which keeps what its threads have of their own in memory, too.
    Barnes is "barnes": "Barnes-Hut: an octree built under locks, walked for every body, shared by costzones" {
        /// Bodies.
        bodies: 4096, 2 to 1_048_576;
        /// Time steps, of a fortieth of a unit.
        steps: 2, 1 to 1000;
        /// A cell counts as one if its side is less than so many hundredths of its distance; 0: bodies only.
        opening: 100, 0 to 200;
        /// Bodies in a leaf, at most. 1: there are no leaves beside bodies.
        leaf: 1, 1 to 10;
        /// Plummer's clusters that bodies are in. 2: those of SPLASH-2, three times as wide, the second being the first once more.
        clusters: 1, 1 to 2;
    }
}

/// As SPLASH has them: the time step, and the distance within which forces are softened.
const TIME_STEP: f64 = 0.025;
const SOFTENING: f64 = 0.05;

/// Instructions to see whether a cell counts as one: the square of the distance, a comparison, the walk.
const LOOK: u32 = 16;
/// Instructions of a force: distance, root, division, and products that neither hides.
const FORCE: u32 = cost::SQUARE_ROOT + cost::DIVISION + 18;
/// Instructions to move a body, beside loads and stores.
const MOVE: u32 = 18;
/// Instructions to draw a body at random: powers, roots, angles.
const DRAW: u32 = 1500;
/// Locks that the cells share, as many as SPLASH-2's program has, and the one of the bounds.
const CELL_LOCKS: usize = 2048;
const BOUNDS_LOCK: usize = CELL_LOCKS;
const LOCK_COUNT: usize = CELL_LOCKS + 1;

/// Regions: bodies, cells, the bodies in the order of the tree, locks, bounds, leaves, what threads have of their own.
const BODIES: usize = 0;
const CELLS: usize = 1;
const ORDER: usize = 2;
const LOCKS: usize = 3;
const BOUNDS: usize = 4;
const LEAVES: usize = 5;
const OWN: usize = 6;

/// Bodies whose accelerations are compared with the sums of all forces.
const SAMPLE: usize = 256;
/// How far these may be apart, relative to the sums, if every cell counts as one that is as far away as it is wide: twice what
/// clusters have. It goes with the square of the opening.
const CLUSTER_ERROR: f64 = 0.15;
/// The same where rounding is all.
const ROUNDING: f64 = 1e-10;

/// Acceleration and potential that come from a mass.
fn pull(place: Vector, [x, y, z, mass]: Moment) -> (Vector, f64) {
    let apart = minus([x, y, z], place);
    let near = 1.0 / (square(apart) + SOFTENING * SOFTENING).sqrt();
    (times(apart, mass * near * near * near), -mass * near)
}

/// A thread's part of the work.
struct Body<'r, R> {
    share: Share,
    opening: f64,
    bodies: Bodies<'r, R>,
    order: &'r R,
    tree: Tree<'r, R>,
    bounds: SharedBounds<'r, R>,
    variables: Option<Own<'r, R>>,
    /// The thread's bodies, by their places in the order.
    own: Range<usize>,
}

impl<'r, R> Body<'r, R> {
    fn body<T: Thread<Region = R>>(&self, place: usize, thread: &mut T) -> usize {
        thread.load(self.order, place) as usize
    }

    /// Widens the bounds of all bodies to those of the thread's.
    fn widen<T: Thread<Region = R>>(&self, own: Bounds, thread: &mut T) {
        self.tree.locks.critical(thread, BOUNDS_LOCK, |thread| self.bounds.widen(own, thread));
        thread.barrier();
    }

    /// Builds the tree, with the centres of mass. Returns how many bodies found no place in it.
    fn build<T: Thread<Region = R>>(&mut self, thread: &mut T) -> u64 {
        self.tree.cube = self.bounds.cube(thread);
        self.tree.clear(thread);
        if self.share.number == 0 {
            self.bounds.clear(thread);
        }
        thread.barrier();
        let mut lost = 0;
        for place in self.own.clone() {
            let body = self.body(place, thread);
            lost += u64::from(!self.tree.insert(body, thread));
        }
        thread.barrier();
        self.tree.sum_up(thread);
        thread.barrier();
        lost
    }

    /// Takes the bodies of the thread's zone.
    fn partition<T: Thread<Region = R>>(&mut self, thread: &mut T) {
        let (order, mut first, mut count) = (self.order, None, 0);
        self.tree.zone(self.share.number, self.share.threads, thread, |thread, place, body| {
            thread.store(order, place, body as u64);
            first.get_or_insert(place);
            count += 1;
        });
        let first = first.unwrap_or(0);
        self.own = first..first + count;
        thread.barrier();
    }

    /// The thread does something with its variables in memory, if they are there.
    fn with_own<T>(&self, thread: &mut T, act: impl FnOnce(&Own<'r, R>, &mut T)) {
        if let Some(own) = &self.variables {
            act(own, thread);
        }
    }

    /// Acceleration and potential of a body, and from how many masses they come.
    fn force<T: Thread<Region = R>>(
        &self,
        body: usize,
        parts: &mut Vec<(Part, f64)>,
        thread: &mut T,
    ) -> (Vector, f64, u64) {
        let place = self.bodies.place(body, thread);
        self.with_own(thread, Own::begin);
        let (mut acceleration, mut potential, mut count) = ([0.0; 3], 0.0, 0);
        parts.push((Part::Cell(ROOT), self.tree.cube.side));
        while let Some((part, side)) = parts.pop() {
            let moment = match part {
                Part::Nothing => continue,
                Part::Body(other) => {
                    self.with_own(thread, Own::compare);
                    if other == body {
                        continue;
                    }
                    self.with_own(thread, Own::measure);
                    self.bodies.moment(other, thread)
                }
                Part::Cell(_) | Part::Leaf(_) => {
                    let [x, y, z, mass] = self.tree.moment(part, thread);
                    self.with_own(thread, Own::look);
                    thread.instructions(LOOK);
                    if side * side >= self.opening * self.opening * square(minus([x, y, z], place)) {
                        self.tree.inner(part, thread, |inner| parts.push((inner, side / 2.0)));
                        continue;
                    }
                    [x, y, z, mass]
                }
            };
            let (towards, bound) = pull(place, moment);
            self.with_own(thread, Own::pull);
            thread.instructions(FORCE);
            acceleration = plus(acceleration, towards);
            potential += bound;
            count += 1;
        }
        self.with_own(thread, Own::end);
        (acceleration, potential, count)
    }

    fn forces<T: Thread<Region = R>>(&self, thread: &mut T) {
        let mut parts = Vec::new();
        for place in self.own.clone() {
            let body = self.body(place, thread);
            let pulled = self.force(body, &mut parts, thread);
            self.bodies.pulled(body, pulled, thread);
        }
        thread.barrier();
    }

    /// Velocities are half a time step behind places (leapfrog).
    fn advance<T: Thread<Region = R>>(&self, thread: &mut T) {
        let (layout, mut bounds) = (self.bodies.layout, Bounds::NONE);
        for place in self.own.clone() {
            let body = self.body(place, thread);
            let acceleration = self.bodies.vector(body, layout.acceleration, thread);
            let velocity = plus(self.bodies.vector(body, layout.velocity, thread), times(acceleration, TIME_STEP));
            let place = plus(self.bodies.place(body, thread), times(velocity, TIME_STEP));
            self.bodies.set(body, layout.velocity, velocity, thread);
            self.bodies.set(body, 0, place, thread);
            bounds = bounds.with(place);
            thread.instructions(MOVE + BOUND);
        }
        self.widen(bounds, thread);
    }
}

impl Barnes {
    fn has_leaves(&self) -> bool {
        self.leaf > 1
    }

    fn body_layout(&self) -> BodyLayout {
        if self.has_leaves() { BodyLayout::CLOSE } else { BodyLayout::PADDED }
    }

    fn cells(&self, shape: &Shape) -> Pools {
        let bodies = self.bodies as usize;
        if self.has_leaves() { Pools::of_close_cells(shape, bodies) } else { Pools::of_cells(shape, bodies) }
    }
}

impl Program for Barnes {
    const REGIONS: &'static [&'static str] =
        &["bodies", "cells", "order", "locks", "bounds", "leaves", "variables of threads"];
    const DYNAMIC: bool = true;

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let bodies = self.bodies as usize;
        let mut plans = vec![
            RegionPlan::unplaced(shape, bodies * self.body_layout().stride),
            RegionPlan::unplaced(shape, self.cells(shape).words(shape.threads())),
            RegionPlan::unplaced(shape, bodies),
            Locks::<()>::plan(shape, LOCK_COUNT),
            SharedBounds::<()>::plan(shape),
        ];
        if self.has_leaves() {
            plans.push(RegionPlan::unplaced(shape, Pools::of_leaves(shape, bodies).words(shape.threads())));
            plans.push(Own::<()>::plan(shape));
        }
        plans
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (share, count) = (Share::new(shape, thread.number()), self.bodies as usize);
        let bodies = Bodies { region: &regions[BODIES], layout: self.body_layout() };
        let leaves = self.has_leaves().then(|| Leaves::new(&regions[LEAVES], shape, count, self.leaf as usize));
        let tree = Tree {
            cells: &regions[CELLS],
            pools: self.cells(shape),
            leaves,
            bodies,
            locks: Locks::new(shape, &regions[LOCKS], LOCK_COUNT),
            lock_count: CELL_LOCKS,
            made: 0..0,
            cube: Cube::default(),
            latest: (vec![ROOT], Coordinates::default()),
        };
        let variables = self.has_leaves().then(|| Own::new(shape, &regions[OWN], thread.number()));
        let bounds = SharedBounds::new(shape, &regions[BOUNDS]);
        if thread.number() == 0 {
            bounds.clear(thread);
        }
        let (opening, own, mut around) = (self.opening as f64 / 100.0, share.block(count), Bounds::NONE);
        for body in own.clone() {
            let initial = bodies::initial(body, count, self.clusters, shape.seed);
            bodies.begin(body, initial, 1.0 / count as f64, thread);
            thread.store(&regions[ORDER], body, body as u64);
            thread.instructions(DRAW);
            around = around.with(initial.0);
        }
        let mut body = Body { share, opening, bodies, order: &regions[ORDER], tree, bounds, variables, own };
        thread.barrier();
        body.widen(around, thread);
        thread.measure(true);
        let mut lost = 0;
        for _ in 0..self.steps {
            lost += body.build(thread);
            body.partition(thread);
            body.forces(thread);
            body.advance(thread);
        }
        thread.measure(false);
        lost
    }

    /// Every body is in the order once, is where one thread alone brings it, within the same bounds, and was pulled as all others
    /// together pull it but for what clusters are off.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let bodies = 0..self.bodies as usize;
        let (_, alone) = alone(self, shape);
        let layout = self.body_layout();
        let at =
            |body: usize, field: usize| element::<Vector>(|word| read(BODIES, layout.word(body) + field + word), 0);
        let mut missing = vec![true; bodies.len()];
        for place in bodies.clone() {
            let body = read(ORDER, place);
            let is_new = missing.get_mut(body as usize).is_some_and(std::mem::take);
            Wrong::unless_equal(is_new.into(), 1, || format!("body {body}, at place {place}, times its first place,"))?;
        }
        for (body, result) in bodies.clone().flat_map(|body| layout.results().map(move |result| (body, result))) {
            let (word, what) = (layout.word(body) + result, || format!("word {result} of body {body}"));
            Wrong::unless_equal(read(BODIES, word), alone[BODIES][word], what)?;
        }
        for word in SharedBounds::<()>::words(shape) {
            Wrong::unless_equal(read(BOUNDS, word), alone[BOUNDS][word], || format!("word {word} of the bounds"))?;
        }
        // Where bodies were when they were last pulled.
        let before = |body| minus(at(body, 0), times(at(body, layout.velocity), TIME_STEP));
        let mass = 1.0 / self.bodies as f64;
        let moments: Vec<Moment> = bodies.clone().map(before).map(|[x, y, z]| [x, y, z, mass]).collect();
        let (mut error, mut all) = (0.0, 0.0);
        for body in bodies.step_by((moments.len() / SAMPLE).max(1)) {
            let place = before(body);
            let others = moments.iter().enumerate().filter(|&(other, _)| other != body);
            let direct = others.fold([0.0; 3], |sum, (_, moment)| plus(sum, pull(place, *moment).0));
            error += square(minus(at(body, layout.acceleration), direct));
            all += square(direct);
        }
        let opening = self.opening as f64 / 100.0;
        let tolerance = ROUNDING + CLUSTER_ERROR * opening * opening;
        Wrong::unless_close((error / all).sqrt(), 0.0, tolerance, || "the relative error of accelerations".into())
    }
}
