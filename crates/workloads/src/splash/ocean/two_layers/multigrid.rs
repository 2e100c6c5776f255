//! An elliptic equation by multigrid as SPLASH-2's program has it: red-black relaxation on one level until it is slow or done.

use super::subgrids::{EDGES, Grid, Partition, Place};
use crate::parallel::{Array, Locks, cost};
use crate::thread::Thread;

/// The largest change of a point in a sweep of the finest level with which it is solved.
pub const TOLERANCE: f64 = 1e-7;
/// What the changes of a sweep may be of those of the sweep before: with more, a coarser level takes over.
pub const SLOW: f64 = 0.6;
/// The part of a level's changes that remains when the next coarser one is done.
pub const REMAINS: f64 = 0.3;
/// No more sweeps of the finest level than this, those of coarser ones counting by their points.
pub const MOST_WORK: f64 = 1e4;
/// A change larger than any: that of a level's sweep before its first.
pub const UNKNOWN: f64 = 1e30;

/// Instructions of a relaxed point: other arithmetic, six loads and the store go beside the division.
const RELAX: u32 = cost::DIVISION;
/// Instructions of a coarser point's right side, beside twenty loads and the store: four residuals, three interpolations, weights.
const RESTRICT: u32 = 52;
/// Instructions of a coarser point's correction, beside nine loads of it, and a load and a store of four points: ten interpolations.
const INTERPOLATE: u32 = 48;
/// Instructions to decide what comes after a sweep.
const DECIDE: u32 = 30;
const CLEAR: u32 = 3;

/// Colours of points, as on a chessboard: points are red whose row and column have an even sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Colour {
    Red,
    Black,
}

/// One thread's part in solving.
pub struct Multigrid<'g, R> {
    /// Its place.
    pub place: Place,
    /// The subgrids of all threads.
    pub partition: Partition,
    /// Solutions from the finest level on, and below it corrections.
    pub solutions: Vec<Grid<'g, R>>,
    /// Right sides likewise, times the square of the distance of points.
    pub right_sides: Vec<Grid<'g, R>>,
    /// What a point's value counts beyond its four neighbours', times the square of the finest level's distance: negative.
    pub eigenvalue: f64,
    /// The largest change of the sweep, and the lock that guards it.
    pub change: Array<'g, R, f64>,
    /// The locks, and which of them is meant.
    pub lock: (Locks<'g, R>, usize),
}

impl<R> Multigrid<'_, R> {
    /// Improves the finest level's solution until a sweep changes no point by more than is tolerated. All threads call it; a
    /// barrier comes first, and one last.
    pub fn solve<T: Thread<Region = R>>(&self, thread: &mut T) {
        let mut tolerances = vec![TOLERANCE; self.partition.levels];
        let (mut level, mut work, mut before) = (0, 0.0, UNKNOWN);
        while work <= MOST_WORK {
            let change = self.sweep(level, thread);
            work += 0.25_f64.powi(level as i32);
            thread.instructions(DECIDE);
            if change < tolerances[level] {
                if level == 0 {
                    return;
                }
                self.interpolate(level, thread);
                level -= 1;
                before = UNKNOWN;
            } else if level + 1 < self.partition.levels && change / before >= SLOW {
                self.restrict(level, thread);
                level += 1;
                tolerances[level] = REMAINS * change;
                self.clear(level, thread);
                before = UNKNOWN;
            } else {
                before = change;
            }
        }
    }

    /// What a point's own value counts.
    fn diagonal(&self, level: usize) -> f64 {
        4.0 - self.eigenvalue * 4_f64.powi(level as i32)
    }

    /// Relaxes the points of one colour, then of the other. Returns the largest change of all threads'.
    fn sweep<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) -> f64 {
        if self.place.number == 0 {
            self.change.store(thread, 0, 0.0);
        }
        thread.barrier();
        self.copy_colour(level, Colour::Black, thread);
        let red = self.relax(level, Colour::Red, thread);
        thread.barrier();
        self.copy_colour(level, Colour::Red, thread);
        let change = self.relax(level, Colour::Black, thread).max(red);
        if self.place.is_active() {
            let (locks, lock) = &self.lock;
            locks.critical(thread, *lock, |thread| {
                if change > self.change.load(thread, 0) {
                    self.change.store(thread, 0, change);
                }
            });
        }
        thread.barrier();
        let largest = self.change.load(thread, 0);
        thread.barrier();
        largest
    }

    /// Copies neighbours' points of a colour into the border: sides of subgrids are even, so all have the same chessboard.
    fn copy_colour<T: Thread<Region = R>>(&self, level: usize, colour: Colour, thread: &mut T) {
        let (rows, columns) = self.place.size(level);
        for (down, right) in EDGES {
            let is_last = (down < 0 || right < 0) == (colour == Colour::Red);
            let (first, count) = (if is_last { 2 } else { 1 }, if right == 0 { columns } else { rows });
            self.place.copy_edge(&self.solutions[level], (down, right), (first..=count).step_by(2), thread);
        }
    }

    /// Gives the points of a colour the values that their neighbours ask for. Returns the largest change.
    fn relax<T: Thread<Region = R>>(&self, level: usize, colour: Colour, thread: &mut T) -> f64 {
        let (number, (rows, columns)) = (self.place.number, self.place.size(level));
        let (solution, right_side) = (&self.solutions[level], &self.right_sides[level]);
        let (diagonal, mut largest) = (self.diagonal(level), 0.0_f64);
        for first in [2, 1] {
            let column = if colour == Colour::Red { first } else { 3 - first };
            for row in (first..=rows).step_by(2) {
                let [above, here, below] = solution.band(number, row, thread);
                let right_sides = right_side.row(number, row, thread);
                for column in (column..=columns).step_by(2) {
                    let horizontal = here.load(thread, column + 1) + here.load(thread, column - 1);
                    let sum = horizontal + above.load(thread, column) + below.load(thread, column);
                    let value = (sum - right_sides.load(thread, column)) / diagonal;
                    largest = largest.max((here.load(thread, column) - value).abs());
                    here.store(thread, column, value);
                    thread.instructions(RELAX);
                }
            }
        }
        largest
    }

    /// Makes the next coarser level's right side of residuals. Border points of neighbours are looked at, which these have filled
    /// before a barrier.
    fn restrict<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) {
        let right_side = &self.right_sides[level];
        let (rows, columns) = self.place.size(level);
        self.place.copy_border(&self.solutions[level], thread);
        if self.place.neighbour((-1, -1)).is_some() {
            self.place.copy_corner(right_side, (-1, -1), thread);
        }
        self.place.copy_edge(right_side, (-1, 0), (2..=columns).step_by(2), thread);
        self.place.copy_edge(right_side, (0, -1), (2..=rows).step_by(2), thread);
        thread.barrier();
        for row in 1..=self.place.size(level + 1).0 {
            self.restrict_row(level, row, thread);
        }
    }

    fn restrict_row<T: Thread<Region = R>>(&self, level: usize, row: usize, thread: &mut T) {
        let (number, (rows, columns)) = (self.place.number, self.place.size(level));
        let (solution, right_side) = (&self.solutions[level], &self.right_sides[level]);
        let fine = 2 * row;
        let [upper, above, here, below] = [0, 1, 2, 3].map(|down| solution.row(number, fine + down - 2, thread));
        let [upper_side, side] = [fine - 2, fine].map(|row| right_side.row(number, row, thread));
        let target = self.right_sides[level + 1].row(number, row, thread);
        let is_left = self.place.is_at_rim((0, -1));
        // The row above the upper one: beyond the border, the neighbour's. There is none at the rim.
        let far = match self.place.neighbour((-1, 0)) {
            Some(owner) if row == 1 => Some(solution.row(owner, rows - 1, thread)),
            _ if row == 1 => None,
            _ => Some(solution.row(number, fine - 3, thread)),
        };
        let (diagonal, (down, right)) = (self.diagonal(level), self.place.offset(level + 1));
        let residual = |around: [f64; 4], value: f64, side: f64| {
            let [right, left, above, below] = around;
            2.0 * (side - (right + left + above + below) + diagonal * value)
        };
        let unit = 0.5 / ((self.partition.points >> (level + 1)) + 1) as f64;
        for coarse in 1..=columns / 2 {
            let at = 2 * coarse;
            let (right_of, left_of) = (here.load(thread, at + 1), here.load(thread, at - 1));
            let (above_it, below_it, it) = (above.load(thread, at), below.load(thread, at), here.load(thread, at));
            let own = residual([right_of, left_of, above_it, below_it], it, side.load(thread, at));
            let mut others = [0.0; 3];
            if let Some(far) = far.filter(|_| coarse > 1 || !is_left) {
                // The column before the one to the left: beyond the border, the neighbour's.
                let owner = self.place.neighbour((0, -1)).filter(|_| coarse == 1);
                let before = |own: &Array<'_, R, f64>, fine: usize, thread: &mut T| match owner {
                    Some(owner) => solution.row(owner, fine, thread).load(thread, columns - 1),
                    None => own.load(thread, at - 3),
                };
                let left_before = before(&here, fine, thread);
                let upper_before = before(&upper, fine - 2, thread);
                let (above_left, below_left) = (above.load(thread, at - 2), below.load(thread, at - 2));
                let left = here.load(thread, at - 2);
                others[0] = residual([left_of, left_before, above_left, below_left], left, side.load(thread, at - 2));
                let (upper_right, upper_left) = (upper.load(thread, at + 1), upper.load(thread, at - 1));
                let around = [upper_right, upper_left, far.load(thread, at), above_it];
                others[1] = residual(around, upper.load(thread, at), upper_side.load(thread, at));
                let around = [upper_left, upper_before, far.load(thread, at - 2), above_left];
                others[2] = residual(around, upper.load(thread, at - 2), upper_side.load(thread, at - 2));
            }
            let (vertical, horizontal) = ((down + row) as f64 * unit, (right + coarse) as f64 * unit);
            let lower = horizontal * others[0] + (1.0 - horizontal) * own;
            let higher = horizontal * others[2] + (1.0 - horizontal) * others[1];
            target.store(thread, coarse, vertical * higher + (1.0 - vertical) * lower);
            thread.instructions(RESTRICT);
        }
    }

    /// Clears a level's solution, with the border below and to the right, as SPLASH-2's program does.
    fn clear<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) {
        let (rows, columns) = self.place.size(level);
        let last = if self.place.is_active() { rows + 1 } else { 0 };
        for row in 1..=last {
            let target = self.solutions[level].row(self.place.number, row, thread);
            for column in 1..=columns + 1 {
                target.store(thread, column, 0.0);
                thread.instructions(CLEAR);
            }
        }
    }

    /// Adds a level's correction to the four points of the next finer one that belong to each of its points.
    fn interpolate<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) {
        let (number, (rows, columns)) = (self.place.number, self.place.size(level));
        self.place.copy_border(&self.solutions[level], thread);
        let (down, right) = self.place.offset(level);
        let coarse = self.partition.points >> level;
        let unit = 1.0 / (2 * coarse + 1) as f64;
        // Weights of the neighbours before and behind a point, for the finer points on their sides.
        let weights = |place: usize| [(coarse - (place - 1)) as f64 * unit, place as f64 * unit];
        for row in 1..=rows {
            let corrections = self.solutions[level].band(number, row, thread);
            let targets = [2 * row - 1, 2 * row].map(|row| self.solutions[level - 1].row(number, row, thread));
            let vertical = weights(down + row);
            for column in 1..=columns {
                let [above, here, below] =
                    corrections.each_ref().map(|row| [0, 1, 2].map(|right| row.load(thread, column + right - 1)));
                for (side, horizontal) in weights(right + column).into_iter().enumerate() {
                    let between = |row: [f64; 3]| horizontal * row[2 * side] + (1.0 - horizontal) * row[1];
                    for (at, other) in [above, below].into_iter().enumerate() {
                        let change = vertical[at] * between(other) + (1.0 - vertical[at]) * between(here);
                        let finer = 2 * column - 1 + side;
                        let value = targets[at].load(thread, finer) + change;
                        targets[at].store(thread, finer, value);
                    }
                }
                thread.instructions(INTERPOLATE);
            }
        }
    }
}
