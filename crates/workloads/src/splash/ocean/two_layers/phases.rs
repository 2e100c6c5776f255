//! A time step in ten phases between barriers, and the state before the first one.
//!
//! SPLASH-2's program, not its comments, is what is done here. Its third grid of work starts from what it held, where the comment
//! says the upper layer's stream function; on the western and eastern rim, the Earth's rotation is that of the column whose number
//! is the point's row; and both equations have the same own value, whereas that of the layers' mean should have none.

use super::multigrid::Multigrid;
use super::stencils::Pieces;
use super::subgrids::Grid;
use super::{
    BOTH, DISTANCE, EIGENVALUE, FRICTION, Field, LOWER, OF_PSIAI, OF_PSIBI, PSI, PSIM, TEMPARRAY, TIME_STEP, UPPER,
    WORK1, WORK4, WORK5, WORK7, rotation_of, wind_of,
};
use crate::parallel::{Array, Locks};
use crate::thread::Thread;

/// Parts of the depth that the layers have.
pub const OF_UPPER: f64 = UPPER / BOTH;
pub const OF_LOWER: f64 = LOWER / BOTH;
/// All points: corners, the rest of the rim, and those inside.
const ALL: [f64; 3] = [0.25, 0.5, 1.0];
/// Words of the sums: of `psib`, and of `ga` in a step.
const PSIBI: usize = 0;
const PSIAI: usize = 1;

/// Instructions of floating point of two right sides: nine each, loop invariants apart.
const RIGHT_SIDES: u32 = 18;
/// Instructions of a sine, with its argument.
const SINE: u32 = 40;

/// The grids that right sides are made of.
pub const SOURCES: [Field; 6] =
    [Field::Work5Upper, Field::Work5Lower, Field::Work7Upper, Field::Work7Lower, Field::Work6, Field::Tauz];

/// Right sides of both elliptic equations: of the layers' difference (`ga`) and of their mean (`gb`).
pub fn right_sides([upper, lower, upper_friction, lower_friction, between, wind]: [f64; 6]) -> [f64; 2] {
    let forces = EIGENVALUE * between + 1.0 / UPPER * wind;
    let difference = upper - lower + forces + FRICTION * upper_friction - FRICTION * lower_friction;
    let friction = FRICTION * OF_UPPER * upper_friction + FRICTION * OF_LOWER * lower_friction;
    [difference, OF_UPPER * upper + OF_LOWER * lower + 1.0 / BOTH * wind + friction]
}

/// One thread's part of the work.
pub struct Body<'r, R> {
    /// Its points.
    pub pieces: Pieces,
    /// Points each way without the rim.
    pub points: usize,
    /// The grids, by [`Field`].
    pub grids: Vec<Grid<'r, R>>,
    /// Its part of the solver.
    pub multigrid: Multigrid<'r, R>,
    /// The Earth's rotation by column.
    pub rotation: Array<'r, R, f64>,
    /// The sums of all threads.
    pub sums: Array<'r, R, f64>,
    /// The locks that guard them.
    pub locks: Locks<'r, R>,
}

impl<R> Body<'_, R> {
    fn grid(&self, field: Field) -> &Grid<'_, R> {
        &self.grids[field as usize]
    }

    fn copy<T: Thread<Region = R>>(&self, from: Field, to: Field, thread: &mut T) {
        self.pieces.map([self.grid(from)], [self.grid(to)], thread, 0, |value| value);
    }

    fn fill<T: Thread<Region = R>>(&self, field: Field, value: f64, thread: &mut T) {
        self.pieces.fill(self.grid(field), &ALL, value, thread);
    }

    fn laplacian<T: Thread<Region = R>>(&self, from: Field, to: Field, thread: &mut T) {
        self.pieces.laplacian(self.grid(from), self.grid(to), DISTANCE, thread);
    }

    /// Initial values, and the one elliptic equation whose solution all steps use.
    pub fn begin<T: Thread<Region = R>>(&self, thread: &mut T) {
        if self.pieces.place.is_active() {
            let levels = self.multigrid.solutions.iter().chain(&self.multigrid.right_sides);
            self.grids.iter().chain(levels).for_each(|grid| grid.link(self.pieces.place.number, thread));
        }
        if self.pieces.place.number == 0 {
            for column in 0..self.points + 2 {
                self.rotation.store(thread, column, rotation_of(column, self.points + 2));
                thread.instructions(SINE);
            }
        }
        for field in [Field::OldGa, Field::OldGb, Field::Psium, Field::Psilm] {
            self.fill(field, 0.0, thread);
        }
        self.pieces.fill(self.grid(Field::Psib), &[0.25, 0.5], 1.0, thread);
        self.pieces.fill(self.grid(Field::Psib), &[1.0], 0.0, thread);
        thread.barrier();
        self.begin_solving(Field::Psib, thread);
        thread.barrier();
        self.guess(thread);
        self.multigrid.solve(thread);
        self.pieces.map_rows(&self.multigrid.solutions[0], [self.grid(Field::Psib)], thread, 1.0);
        thread.barrier();
        self.add_integral(Field::Psib, PSIBI, OF_PSIBI, thread);
        PSIM.into_iter().chain(PSI).for_each(|field| self.fill(field, 0.0, thread));
        let side = self.points + 2;
        self.pieces.set(self.grid(Field::Tauz), thread, |thread, _, (_, column), _| {
            thread.instructions(SINE);
            wind_of(column, side)
        });
        thread.barrier();
    }

    /// A first guess of `psib`: what its neighbours make of it.
    fn guess<T: Thread<Region = R>>(&self, thread: &mut T) {
        let (psib, scale) = (self.grid(Field::Psib), DISTANCE * DISTANCE);
        let factor = 1.0 / (4.0 - scale * EIGENVALUE);
        // The neighbours' sum is that of the Laplacian with four times the point's value.
        self.pieces.around(psib, &self.multigrid.solutions[0], thread, |sum, here| factor * (sum - scale * here));
    }

    /// A time step.
    pub fn step<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.first_phase(thread);
        thread.barrier();
        self.second_phase(thread);
        thread.barrier();
        self.third_phase(thread);
        thread.barrier();
        self.fourth_phase(thread);
        thread.barrier();
        let to = [self.grid(Field::Ga), self.grid(Field::Gb)];
        self.pieces.map(SOURCES.map(|field| self.grid(field)), to, thread, RIGHT_SIDES, right_sides);
        thread.barrier();
        self.sixth_phase(thread);
        thread.barrier();
        self.add_integral(Field::Ga, PSIAI, OF_PSIAI, thread);
        thread.barrier();
        self.eighth_phase(thread);
        thread.barrier();
        self.ninth_phase(thread);
        thread.barrier();
        self.tenth_phase(thread);
        thread.barrier();
    }

    /// Vorticity of both layers, their difference, a mean of them, and a copy of their stream functions.
    fn first_phase<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.fill(Field::Ga, 0.0, thread);
        self.fill(Field::Gb, 0.0, thread);
        for (psi, work) in PSI.into_iter().zip(WORK1) {
            self.pieces.fill(self.grid(work), &[0.25], 0.0, thread);
            self.laplacian(psi, work, thread);
        }
        let [psi1, psi3, work2, work3] =
            [Field::Psi1, Field::Psi3, Field::Work2, Field::Work3].map(|each| self.grid(each));
        self.pieces.map([psi1, psi3], [work2], thread, 1, |[upper, lower]| [upper - lower]);
        let mean = |[before, lower]: [f64; 2]| [OF_LOWER * before + OF_UPPER * lower];
        self.pieces.map([work3, psi3], [work3], thread, 3, mean);
        PSI.into_iter().zip(TEMPARRAY).for_each(|(psi, copy)| self.copy(psi, copy, thread));
    }

    /// The stream functions of the step before take their places; friction begins; vorticity gets the Earth's.
    fn second_phase<T: Thread<Region = R>>(&self, thread: &mut T) {
        PSIM.into_iter().zip(PSI).for_each(|(before, psi)| self.copy(before, psi, thread));
        for (before, work) in PSIM.into_iter().zip(WORK7) {
            self.pieces.fill(self.grid(work), &[0.25], 0.0, thread);
            self.laplacian(before, work, thread);
        }
        let last = self.points + 1;
        for work in WORK1 {
            self.pieces.set(self.grid(work), thread, |thread, weight, (row, column), before| {
                let is_side = weight == 0.5 && (column == 0 || column == last);
                before + self.rotation.load(thread, if is_side { row } else { column })
            });
        }
    }

    /// Advection of vorticity, and friction's second Laplacian.
    fn third_phase<T: Thread<Region = R>>(&self, thread: &mut T) {
        for layer in 0..2 {
            let sources = [WORK1[layer], TEMPARRAY[layer]].map(|field| self.grid(field));
            self.pieces.advection(sources, self.grid(WORK5[layer]), DISTANCE, thread);
        }
        TEMPARRAY.into_iter().zip(PSIM).for_each(|(copy, before)| self.copy(copy, before, thread));
        WORK7.into_iter().zip(WORK4).for_each(|(from, to)| self.laplacian(from, to, thread));
    }

    /// Advection of the layers' difference, and friction's third Laplacian.
    fn fourth_phase<T: Thread<Region = R>>(&self, thread: &mut T) {
        let sources = [Field::Work2, Field::Work3].map(|field| self.grid(field));
        self.pieces.advection(sources, self.grid(Field::Work6), DISTANCE, thread);
        WORK4.into_iter().zip(WORK7).for_each(|(from, to)| self.laplacian(from, to, thread));
    }

    /// Solves for the layers' difference, whose guess is the solution of the step before.
    fn sixth_phase<T: Thread<Region = R>>(&self, thread: &mut T) {
        self.solve(Field::Ga, Field::OldGa, thread);
    }

    /// Takes from the difference what its integral must not have, and solves for the layers' mean.
    fn eighth_phase<T: Thread<Region = R>>(&self, thread: &mut T) {
        let factor = -self.sums.load(thread, PSIAI) / self.sums.load(thread, PSIBI);
        thread.instructions(crate::parallel::cost::DIVISION);
        let (ga, psib) = (self.grid(Field::Ga), self.grid(Field::Psib));
        self.pieces.map([ga, psib], [ga], thread, 2, |[ga, psib]| [ga + factor * psib]);
        self.solve(Field::Gb, Field::OldGb, thread);
    }

    /// Changes of both stream functions.
    fn ninth_phase<T: Thread<Region = R>>(&self, thread: &mut T) {
        let [ga, gb, work2, work3] = [Field::Ga, Field::Gb, Field::Work2, Field::Work3].map(|field| self.grid(field));
        let changes = |[ga, gb]: [f64; 2]| [gb + OF_LOWER * ga, gb - OF_UPPER * ga];
        self.pieces.map([ga, gb], [work3, work2], thread, 4, changes);
    }

    /// Moves the stream functions of the step before on by two time steps.
    fn tenth_phase<T: Thread<Region = R>>(&self, thread: &mut T) {
        for (psi, work) in PSI.into_iter().zip([Field::Work3, Field::Work2]) {
            let (psi, work) = (self.grid(psi), self.grid(work));
            self.pieces.map([psi, work], [psi], thread, 2, |[psi, change]| [psi + 2.0 * TIME_STEP * change]);
        }
    }

    /// Right side and rim of the finest level.
    fn begin_solving<T: Thread<Region = R>>(&self, field: Field, thread: &mut T) {
        let (grid, Multigrid { solutions, right_sides, .. }) = (self.grid(field), &self.multigrid);
        self.pieces.map_rows(grid, [&right_sides[0]], thread, DISTANCE * DISTANCE);
        self.pieces.copy_rim(grid, &solutions[0], thread);
    }

    fn solve<T: Thread<Region = R>>(&self, field: Field, guess: Field, thread: &mut T) {
        self.begin_solving(field, thread);
        let (grid, guess, solution) = (self.grid(field), self.grid(guess), &self.multigrid.solutions[0]);
        self.pieces.copy_inside(guess, solution, thread);
        self.multigrid.solve(thread);
        if field == Field::Ga && self.pieces.place.number == 0 {
            self.sums.store(thread, PSIAI, 0.0);
        }
        self.pieces.map_rows(solution, [grid, guess], thread, 1.0);
    }

    /// Adds a thread's part of an integral to that of all.
    fn add_integral<T: Thread<Region = R>>(&self, field: Field, sum: usize, lock: usize, thread: &mut T) {
        let part = self.pieces.integral(self.grid(field), thread);
        if self.pieces.place.is_active() {
            self.locks.critical(thread, lock, |thread| {
                let whole = self.sums.load(thread, sum) + part;
                self.sums.store(thread, sum, whole);
            });
        }
    }

    /// Adds the stream functions of the step before to their sums over all days, which here are one.
    pub fn end<T: Thread<Region = R>>(&self, thread: &mut T) {
        for (sum, psim) in [Field::Psium, Field::Psilm].into_iter().zip(PSIM) {
            let (sum, psim) = (self.grid(sum), self.grid(psim));
            self.pieces.map([sum, psim], [sum], thread, 1, |[sum, psim]| [sum + psim]);
        }
    }
}
