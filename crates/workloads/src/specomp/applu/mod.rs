//! Successive over-relaxation of a gas in a box, by blocks of five by five.

mod gas;
mod layout;

use gas::{BLOCK, Block, State};
use layout::{KINDS, Pieces};

use super::{DRAW, LINE};
use crate::parallel::{Array, Reduction, Team, alone, cost, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// Symmetric successive over-relaxation for the steady state of a compressible, viscous gas between walls of given state:
    /// for each step of pseudo-time the change at every point, then a sweep that solves a block of equations for each point
    /// from one corner to the other, and one back, as in applu of SpecOMP2001 and the NAS program LU from which it descends.
    /// Threads have the same piece of every plane, and planes follow each other in waves.
    ///
    /// Blocks of a plane are scratch: four for each point, made anew for each plane, and most of what misses. They are stored
    /// down the grid of threads, and untuned they are initialised in that order, a share each, but used by threads that are
    /// numbered across: few have their own on their node (FLASH dissertation 6.2.2 and Figure 6.6). With many threads a share
    /// fits into a cache, which hides the fault and speeds up more than linearly. `tuned` initialises them by their users. If
    /// the number of threads is a prime both orders are the same.
    ///
    /// The planes of 34 have to caches of 64 kB what those of a box of 1474 MB (Table 3.2, about 195 along an edge) have to
    /// caches of 2 MB: an eighth of the blocks is nearly twice a cache, a sixty-third a quarter of one. Three fields of
    /// states, 2.3 MB each, are more than the caches of 63 hold.
    Applu is "applu": "over-relaxation by blocks in waves; scratch placed by another loop than the one that uses it" {
        /// Points along an edge of a plane, walls included.
        side: 34, 4 to 512;
        /// Planes, walls included.
        planes: 50, 3 to 512;
        /// Steps of pseudo-time.
        rounds: 1, 1 to 1000;
        /// Steps of these that come before what is measured; the last is measured in any case.
        unmeasured: 0, 0 to 10_000;
        /// Whether scratch is initialised by those who use it.
        tuned: 0, 0 to 1;
    }
}

/// Over-relaxation (NAS LU).
const RELAXATION: f64 = 1.2;
/// Pseudo-time of a step.
const STEP: f64 = 0.5;
/// How far states are from the steady ones at the start, of 1.
const DISTURBANCE: f64 = 0.05;

/// Instructions of a block beside its loads and stores: some 75 of floating point for each of two derivatives, a division.
const MAKE: u32 = 150 + cost::DIVISION;
/// Instructions of three products of a block and a state: 75 multiply-adds, addresses.
const PRODUCTS: u32 = 90;
/// Instructions to solve a block: 55 multiply-adds of elimination, 10 of substitution, five reciprocals, five divisions.
const SOLVE: u32 = 80 + 10 * cost::DIVISION;
/// Instructions of a change: six fluxes of 15, seven of what diffuses of 12, sums of 75, seven reciprocals of densities.
const CHANGE: u32 = 250 + 7 * cost::DIVISION;
/// Instructions of a state of the solution: five polynomials.
const SOLUTION: u32 = 60;
/// Instructions to scale and add, or to square and add, five numbers.
const FIVE: u32 = 8;

/// The regions: states, changes, forces, blocks, a norm for each round and the last, parts of sums, the team's.
const STATES: usize = 0;
const CHANGES: usize = 1;
const FORCES: usize = 2;
const SCRATCH: usize = 3;
const NORMS: usize = 4;
const SUMS: usize = 5;
const TEAM: usize = 6;

/// The neighbour of a point along an axis: 0 the columns', 1 the rows', 2 the planes'.
fn beside(point: [usize; 3], axis: usize, back: bool) -> [usize; 3] {
    let mut beside = point;
    let number = &mut beside[2 - axis];
    *number = if back { *number + 1 } else { *number - 1 };
    beside
}

/// States before and after a point along each axis.
fn around(point: [usize; 3], mut state: impl FnMut([usize; 3]) -> State) -> [[State; 2]; 3] {
    std::array::from_fn(|axis| [false, true].map(|back| state(beside(point, axis, back))))
}

/// One thread's part.
struct Body<'r, R> {
    number: usize,
    pieces: Pieces,
    distance: f64,
    states: Array<'r, R, f64>,
    changes: Array<'r, R, f64>,
    forces: Array<'r, R, f64>,
    scratch: Array<'r, R, f64>,
}

impl<R> Body<'_, R> {
    fn load<T: Thread<Region = R>>(&self, field: Array<'_, R, f64>, thread: &mut T, point: [usize; 3]) -> State {
        let first = self.pieces.word(point);
        std::array::from_fn(|part| field.load(thread, first + part))
    }

    fn store<T: Thread<Region = R>>(&self, field: Array<'_, R, f64>, thread: &mut T, point: [usize; 3], state: State) {
        let first = self.pieces.word(point);
        state.into_iter().enumerate().for_each(|(part, value)| field.store(thread, first + part, value));
    }

    /// The points of a plane in the thread's piece, without walls, the other way round if `back`.
    fn piece(&self, plane: usize, back: bool) -> Vec<[usize; 3]> {
        let [rows, columns] = self.pieces.inside(self.number);
        let mut points: Vec<_> = rows.flat_map(|row| columns.clone().map(move |column| [plane, row, column])).collect();
        if back {
            points.reverse();
        }
        points
    }

    /// The points of all planes.
    fn inside(&self) -> impl Iterator<Item = [usize; 3]> + '_ {
        (1..self.pieces.sides()[0] - 1).flat_map(|plane| self.piece(plane, false))
    }

    /// Stores what there is at the start, walls included, and makes scratch zero, as used or in the order in which it is stored.
    fn initialise<T: Thread<Region = R>>(&self, thread: &mut T, model: &Model, tuned: bool) {
        let [rows, columns] = self.pieces.own(self.number);
        for plane in 0..self.pieces.sides()[0] {
            for point in rows.clone().flat_map(|row| columns.clone().map(move |column| [plane, row, column])) {
                self.store(self.states, thread, point, model.first(point));
                self.store(self.changes, thread, point, [0.0; 5]);
                self.store(self.forces, thread, point, model.force(point));
                thread.instructions(5 * DRAW + 8 * SOLUTION + CHANGE);
            }
        }
        let piece = if tuned { self.pieces.used(self.number) } else { self.number };
        for word in self.pieces.stored(piece) {
            self.scratch.store(thread, word, 0.0);
            thread.instructions(2);
        }
    }

    /// Changes at all points in a step. Returns the sum of the squares of the thread's own.
    fn change<T: Thread<Region = R>>(&self, thread: &mut T) -> f64 {
        let mut squares = 0.0;
        for point in self.inside() {
            let here = self.load(self.states, thread, point);
            let neighbours = around(point, |other| self.load(self.states, thread, other));
            let force = self.load(self.forces, thread, point);
            let flow = gas::change(&here, &neighbours, self.distance);
            let change = std::array::from_fn(|part| STEP * (flow[part] + force[part]));
            thread.instructions(CHANGE + FIVE);
            self.store(self.changes, thread, point, change);
            squares += change.iter().map(|part| part * part).sum::<f64>();
        }
        squares
    }

    /// The word at which a block begins: of the thread's piece, a kind after the other.
    fn block_word(&self, kind: usize, count: usize, cell: usize) -> usize {
        self.pieces.stored(self.pieces.used(self.number)).start + (kind * count + cell) * BLOCK
    }

    /// Makes the blocks of a plane for a sweep: of each point, and of its neighbours on the side whence the sweep comes.
    fn make_blocks<T: Thread<Region = R>>(&self, thread: &mut T, points: &[[usize; 3]], back: bool) {
        let side = if back { 1.0 } else { -1.0 };
        for (cell, &point) in points.iter().enumerate() {
            for kind in 0..KINDS {
                let block = match kind.checked_sub(1) {
                    None => gas::own_block(&self.load(self.states, thread, point), STEP, self.distance),
                    Some(axis) => {
                        let state = self.load(self.states, thread, beside(point, axis, back));
                        gas::neighbour_block(&state, axis, side, STEP, self.distance)
                    }
                };
                thread.instructions(MAKE);
                let first = self.block_word(kind, points.len(), cell);
                for (word, &value) in block.iter().flatten().enumerate() {
                    self.scratch.store(thread, first + word, value);
                }
            }
        }
    }

    /// Solves the blocks of a plane, a point after the other.
    fn solve_blocks<T: Thread<Region = R>>(&self, thread: &mut T, points: &[[usize; 3]], back: bool) {
        let cells = if back { Vec::from_iter((0..points.len()).rev()) } else { Vec::from_iter(0..points.len()) };
        for cell in cells {
            let point = points[cell];
            let block = |thread: &mut T, kind: usize| -> Block {
                let first = self.block_word(kind, points.len(), cell);
                let mut word = |number: usize| self.scratch.load(thread, first + number);
                std::array::from_fn(|row| std::array::from_fn(|column| word(5 * row + column)))
            };
            let before = self.load(self.changes, thread, point);
            // Going back, what comes is a correction of what going forth has left.
            let mut right = if back { [0.0; 5] } else { before };
            for axis in 0..3 {
                let neighbour = self.load(self.changes, thread, beside(point, axis, back));
                let part = block(thread, axis + 1);
                gas::subtract_product(&mut right, RELAXATION, &part, &neighbour);
            }
            let own = block(thread, 0);
            let solved = gas::solve(own, right);
            thread.instructions(PRODUCTS + SOLVE + FIVE);
            let after = if back { std::array::from_fn(|part| before[part] + solved[part]) } else { solved };
            self.store(self.changes, thread, point, after);
        }
    }

    /// A sweep in waves, with a barrier after each.
    fn sweep<T: Thread<Region = R>>(&self, thread: &mut T, back: bool) {
        for wave in 0..self.pieces.waves() {
            if let Some(plane) = self.pieces.plane(self.number, wave, back) {
                let points = self.piece(plane, false);
                thread.instructions(LINE);
                self.make_blocks(thread, &points, back);
                self.solve_blocks(thread, &points, back);
            }
            thread.barrier();
        }
    }

    /// Adds the changes to the states.
    fn advance<T: Thread<Region = R>>(&self, thread: &mut T) {
        let factor = 1.0 / (RELAXATION * (2.0 - RELAXATION));
        for point in self.inside() {
            let change = self.load(self.changes, thread, point);
            let mut state = self.load(self.states, thread, point);
            state.iter_mut().zip(change).for_each(|(part, change)| *part += factor * change);
            thread.instructions(FIVE);
            self.store(self.states, thread, point, state);
        }
    }
}

/// The solution and what follows from it.
struct Model {
    sides: [usize; 3],
    distance: f64,
    seed: u64,
}

impl Model {
    /// The steady state at a point: air that streams a little everywhere.
    fn steady(&self, point: [usize; 3]) -> State {
        let [z, y, x] = std::array::from_fn(|axis| point[axis] as f64 / (self.sides[axis] - 1) as f64);
        let momentum = [0.2 + 0.1 * y * (1.0 - z), 0.1 * x * x - 0.05 * z, 0.1 * (y - x) * z];
        let [along, across, up] = momentum;
        [1.0 + 0.1 * x * y + 0.05 * z * z, along, across, up, 2.5 + 0.2 * x * (1.0 - y) + 0.1 * z]
    }

    /// The state at the start: on walls the steady one, elsewhere near it.
    fn first(&self, point: [usize; 3]) -> State {
        let inside = (0..3).all(|axis| (1..self.sides[axis] - 1).contains(&point[axis]));
        let mut random = Random::new(self.seed, super::field::index(self.sides, point) as u64);
        let size = if inside { DISTURBANCE } else { 0.0 };
        self.steady(point).map(|part| part * (1.0 + size * (random.unit() - 0.5)))
    }

    /// Force that keeps the steady state steady at a point: nothing on walls.
    fn force(&self, point: [usize; 3]) -> State {
        if (0..3).any(|axis| point[axis] == 0 || point[axis] + 1 == self.sides[axis]) {
            return [0.0; 5];
        }
        gas::change(&self.steady(point), &around(point, |other| self.steady(other)), self.distance).map(|part| -part)
    }
}

impl Applu {
    fn pieces(&self, shape: &Shape) -> Pieces {
        Pieces::new(shape, self.side as usize, self.planes as usize)
    }

    /// The distance of points in the plane, and so between planes.
    fn distance(&self) -> f64 {
        1.0 / (self.side - 1) as f64
    }

    fn model(&self, seed: u64) -> Model {
        Model { sides: [self.planes, self.side, self.side].map(|side| side as usize), distance: self.distance(), seed }
    }
}

impl Program for Applu {
    const REGIONS: &'static [&'static str] =
        &["states", "changes", "forces", "scratch blocks", "norms", "partial sums", "fork"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let pieces = self.pieces(shape);
        let [states, changes, forces] = std::array::from_fn(|_| pieces.plan(shape));
        let norms = RegionPlan::unplaced(shape, self.rounds as usize + 1);
        let [sums, team] = [Reduction::<()>::plan(shape), Team::<()>::plan(shape)];
        vec![states, changes, forces, pieces.scratch_plan(shape), norms, sums, team]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (number, model) = (thread.number(), self.model(shape.seed));
        let [states, changes, forces, scratch, norms] =
            [STATES, CHANGES, FORCES, SCRATCH, NORMS].map(|region| Array::<_, f64>::new(&regions[region]));
        let pieces = self.pieces(shape);
        let body = Body { number, pieces, distance: self.distance(), states, changes, forces, scratch };
        let mut team = Team::new(shape, &regions[TEAM], number);
        let mut sums = Reduction::new(shape, &regions[SUMS]);
        team.prepare(thread, |thread, _| body.initialise(thread, &model, self.tuned == 1));
        for round in 0..=self.rounds {
            team.begin_round(round, self.rounds, self.unmeasured);
            let squares = team.parallel(thread, |thread, _| {
                let part = body.change(thread);
                sums.sum(thread, part)
            });
            team.master(thread, |thread| norms.store(thread, round as usize, squares.sqrt()));
            if round < self.rounds {
                team.parallel(thread, |thread, _| body.sweep(thread, false));
                team.parallel(thread, |thread, _| body.sweep(thread, true));
                team.parallel(thread, |thread, _| body.advance(thread));
            }
        }
        0
    }

    /// Every state, change and force is as a run on one thread leaves it, states are nearer to the steady ones than at the
    /// start, and the last norm is that of what the states left behind would change.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (pieces, model) = (self.pieces(shape), self.model(shape.seed));
        let (serial_shape, serial) = alone(self, shape);
        let of_serial = self.pieces(&serial_shape);
        let (mut far, mut near, mut squares) = (0.0, 0.0, 0.0);
        let state = |point| -> State { std::array::from_fn(|part| word(read, STATES, pieces.word(point) + part)) };
        let [planes, rows, columns] = pieces.sides();
        for place in 0..planes * rows * columns {
            let point = [place / columns / rows, place / columns % rows, place % columns];
            let (first, serial_first) = (pieces.word(point), of_serial.word(point));
            for (region, part) in [STATES, CHANGES, FORCES].into_iter().flat_map(|each| (0..5).map(move |p| (each, p)))
            {
                let expected = serial[region][serial_first + part];
                let what = || format!("part {part} at {point:?} of region {region}");
                Wrong::unless_equal(read(region, first + part), expected, what)?;
            }
            let distance = |state: State| -> f64 {
                state.iter().zip(model.steady(point)).map(|(part, steady)| (part - steady).powi(2)).sum()
            };
            far += distance(model.first(point));
            near += distance(state(point));
            let force = model.force(point);
            if force != [0.0; 5] {
                let flow = gas::change(&state(point), &around(point, state), self.distance());
                squares += (0..5).map(|part| (STEP * (flow[part] + force[part])).powi(2)).sum::<f64>();
            }
        }
        Wrong::unless_close(near, 0.0, 0.9 * far, || "the square of the distance to the steady state".to_owned())?;
        let norm = word(read, NORMS, self.rounds as usize);
        Wrong::unless_close(norm, squares.sqrt(), 1e-9 * norm, || "what would still change".to_owned())
    }
}

/// A number that a run left behind.
fn word(read: &dyn Fn(usize, usize) -> u64, region: usize, word: usize) -> f64 {
    element(|word| read(region, word), word)
}
