//! Poisson's equation on a square by multigrid with red-black relaxation.

use super::layout::Layout;
use crate::parallel::{Array, Reduction};
use crate::thread::Thread;

/// Instructions of a relaxed point beside five loads and the store: six of floating point, addresses, loop.
const RELAX: u32 = 10;
/// Instructions of a residual beside six loads: eight of floating point, addresses, loop.
const DEFECT: u32 = 12;
/// Instructions to add nine weighted residuals.
const RESTRICT: u32 = 14;
/// Instructions to interpolate a correction, beside one to four loads of it, load and store of the point.
const INTERPOLATE: u32 = 8;
/// Relaxations before a grid's errors are passed on to the next coarser one, and after its correction came back.
const BEFORE: usize = 2;
const AFTER: usize = 1;
/// No more cycles than this: each leaves about a tenth of the error, so a solver in order needs far fewer.
const CYCLES: usize = 40;

/// Values at the points of a grid.
pub struct Grid<'g, R> {
    layout: &'g Layout,
    values: Array<'g, R, f64>,
}

impl<'g, R> Grid<'g, R> {
    /// The values of an array, laid out as said.
    pub fn new(layout: &'g Layout, values: Array<'g, R, f64>) -> Self {
        Self { layout, values }
    }

    /// The distance of neighbouring points.
    pub fn distance(&self) -> f64 {
        self.layout.distance()
    }

    /// Loads the value of a point.
    #[inline]
    pub fn load<T: Thread<Region = R>>(&self, thread: &mut T, row: usize, column: usize) -> f64 {
        self.values.load(thread, self.layout.word(row, column))
    }

    /// Stores the value of a point.
    #[inline]
    pub fn store<T: Thread<Region = R>>(&self, thread: &mut T, row: usize, column: usize, value: f64) {
        self.values.store(thread, self.layout.word(row, column), value);
    }

    /// The sum of a point's four neighbours.
    #[inline]
    fn neighbours<T: Thread<Region = R>>(&self, thread: &mut T, row: usize, column: usize) -> f64 {
        let (north, south) = (self.load(thread, row - 1, column), self.load(thread, row + 1, column));
        let (west, east) = (self.load(thread, row, column - 1), self.load(thread, row, column + 1));
        north + south + (west + east)
    }
}

/// One thread's part in solving: grids from the finest on, and the place where residuals are compared.
pub struct Solver<'g, R> {
    /// Its number.
    pub number: usize,
    /// The solution, and below it corrections.
    pub solutions: Vec<Grid<'g, R>>,
    /// The Laplacian that the solution is to have, and below it residuals.
    pub right_sides: Vec<Grid<'g, R>>,
    /// Where the largest residual is found.
    pub reduction: Reduction<'g, R>,
}

impl<R> Solver<'_, R> {
    /// Improves the solution until no residual is larger than `most` times the largest value of the right side. All threads
    /// call it, and have passed a barrier after the right side was stored; there is a barrier at the end.
    pub fn solve<T: Thread<Region = R>>(&mut self, most: f64, thread: &mut T) {
        let mut scale: f64 = 0.0;
        let right_side = &self.right_sides[0];
        for (row, column) in right_side.layout.inside(self.number) {
            scale = scale.max(right_side.load(thread, row, column).abs());
            thread.instructions(3);
        }
        let allowed = most * self.reduction.max(thread, scale);
        for _ in 0..CYCLES {
            self.cycle(0, thread);
            let mut largest: f64 = 0.0;
            for (row, column) in self.solutions[0].layout.inside(self.number) {
                largest = largest.max(self.residual(0, row, column, thread).abs());
            }
            if self.reduction.max(thread, largest) <= allowed {
                break;
            }
        }
    }

    /// A V-cycle from a level on.
    fn cycle<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) {
        let coarser = level + 1;
        if coarser == self.solutions.len() {
            // A single point has no neighbours but the rim: relaxing it is solving.
            return self.relax(level, thread);
        }
        (0..BEFORE).for_each(|_| self.relax(level, thread));
        self.restrict(level, thread);
        thread.barrier();
        self.cycle(coarser, thread);
        self.interpolate(level, thread);
        thread.barrier();
        (0..AFTER).for_each(|_| self.relax(level, thread));
    }

    /// Gives each point, first of one colour and then of the other, the value that its neighbours ask for.
    fn relax<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) {
        let (solution, right_side) = (&self.solutions[level], &self.right_sides[level]);
        let square = solution.distance() * solution.distance();
        for colour in 0..2 {
            for (row, column) in solution.layout.coloured(self.number, colour) {
                let sum = solution.neighbours(thread, row, column);
                let value = (sum - square * right_side.load(thread, row, column)) * 0.25;
                solution.store(thread, row, column, value);
                thread.instructions(RELAX);
            }
            thread.barrier();
        }
    }

    /// By how much the Laplacian at a point differs from the right side.
    #[inline]
    fn residual<T: Thread<Region = R>>(&self, level: usize, row: usize, column: usize, thread: &mut T) -> f64 {
        let solution = &self.solutions[level];
        let sum = solution.neighbours(thread, row, column) - 4.0 * solution.load(thread, row, column);
        thread.instructions(DEFECT);
        self.right_sides[level].load(thread, row, column) - sum / (solution.distance() * solution.distance())
    }

    /// The coarser level's right side: residuals around each of its points, near ones counting more. Its solution starts at 0.
    fn restrict<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) {
        /// Weights of the rows, and of the columns, before, at and behind a point.
        const WEIGHTS: [f64; 3] = [0.25, 0.5, 0.25];
        let (solution, right_side) = (&self.solutions[level + 1], &self.right_sides[level + 1]);
        for (row, column) in solution.layout.inside(self.number) {
            let mut sum = 0.0;
            for (down, vertical) in WEIGHTS.into_iter().enumerate() {
                for (right, horizontal) in WEIGHTS.into_iter().enumerate() {
                    let at = (2 * row + down - 1, 2 * column + right - 1);
                    sum += vertical * horizontal * self.residual(level, at.0, at.1, thread);
                }
            }
            right_side.store(thread, row, column, sum);
            solution.store(thread, row, column, 0.0);
            thread.instructions(RESTRICT);
        }
    }

    /// Adds the coarser level's correction, between its points the mean of those around.
    fn interpolate<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) {
        let (solution, correction) = (&self.solutions[level], &self.solutions[level + 1]);
        for (row, column) in solution.layout.inside(self.number) {
            let (rows, columns) = ([row / 2, row.div_ceil(2)], [column / 2, column.div_ceil(2)]);
            let mut mean = |row: usize| {
                let first = correction.load(thread, row, columns[0]);
                if column % 2 == 0 { first } else { (first + correction.load(thread, row, columns[1])) * 0.5 }
            };
            let upper = mean(rows[0]);
            let change = if row % 2 == 0 { upper } else { (upper + mean(rows[1])) * 0.5 };
            let value = solution.load(thread, row, column) + change;
            solution.store(thread, row, column, value);
            thread.instructions(INTERPOLATE);
        }
    }
}
