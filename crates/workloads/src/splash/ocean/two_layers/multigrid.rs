//! An elliptic equation by multigrid as SPLASH-2's program has it: red-black relaxation on one level until it is slow or done.

use super::subgrids::{COPY, EDGES, Grid, Partition, Place};
use crate::parallel::{Array, Locks, cost};
use crate::thread::Thread;

/// The largest change of a point in a sweep of the finest level with which it is solved.
pub const TOLERANCE: f64 = 1e-7;
/// The slowest convergence that is waited for, of a sweep's changes to those of the sweep before: a coarser level takes over then.
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

/// Colours of points, as on a chessboard: points are red whose row and column have an even sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Colour {
    Red,
    Black,
}

/// Rows of a level that make a row of the next coarser one.
struct FineRows<'g, R> {
    row: usize,
    /// The row three above, of which there is none beside the rim: above the border, the neighbour's.
    far: Option<Array<'g, R, f64>>,
    /// The row two above.
    upper: Array<'g, R, f64>,
    /// The row, and those beside it.
    band: [Array<'g, R, f64>; 3],
    /// Right sides of the row two above, and of the row.
    sides: [Array<'g, R, f64>; 2],
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
    /// The factor of a point's own value beside the Laplacian, times the square of the finest level's distance: negative.
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

    /// The factor of a point's own value, its four neighbours' being 1.
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
        let rows = self.fine_rows(level, row, thread);
        let target = self.right_sides[level + 1].row(self.place.number, row, thread);
        let (down, right) = self.place.offset(level + 1);
        let unit = 0.5 / ((self.partition.points >> (level + 1)) + 1) as f64;
        for column in 1..=self.place.size(level + 1).1 {
            let [own, left, upper, upper_left] =
                self.residuals(level, &rows, column, thread).map(|residual| 2.0 * residual);
            let (vertical, horizontal) = ((down + row) as f64 * unit, (right + column) as f64 * unit);
            let lower = horizontal * left + (1.0 - horizontal) * own;
            let higher = horizontal * upper_left + (1.0 - horizontal) * upper;
            target.store(thread, column, vertical * higher + (1.0 - vertical) * lower);
            thread.instructions(RESTRICT);
        }
    }

    /// Follows the pointers to a level's rows that a row of the next coarser one is made of.
    fn fine_rows<T: Thread<Region = R>>(&self, level: usize, row: usize, thread: &mut T) -> FineRows<'_, R> {
        let (solution, right_side) = (&self.solutions[level], &self.right_sides[level]);
        let (number, number_of_rows, row) = (self.place.number, self.place.size(level).0, 2 * row);
        let far = match self.place.neighbour((-1, 0)) {
            _ if row > 2 => Some(solution.row(number, row - 3, thread)),
            Some(owner) => Some(solution.row(owner, number_of_rows - 1, thread)),
            None => None,
        };
        let upper = solution.row(number, row - 2, thread);
        let band = solution.band(number, row, thread);
        let sides = [row - 2, row].map(|row| right_side.row(number, row, thread));
        FineRows { row, far, upper, band, sides }
    }

    /// Residuals at the point of a coarser one, two columns before, two rows above, and both; those others are 0 beside the upper
    /// and left rim.
    fn residuals<T: Thread<Region = R>>(
        &self,
        level: usize,
        rows: &FineRows<'_, R>,
        column: usize,
        thread: &mut T,
    ) -> [f64; 4] {
        let FineRows { row, far, upper, band: [above, here, below], sides: [upper_side, side] } = rows;
        let (column, diagonal) = (2 * column, self.diagonal(level));
        let residual = |[right, left, above, below]: [f64; 4], value: f64, side: f64| {
            side - (right + left + above + below) + diagonal * value
        };
        let before = column - 2;
        let [east, west] = [column + 1, column - 1].map(|column| here.load(thread, column));
        let [north, south, value] = [above, below, here].map(|row| row.load(thread, column));
        let own = residual([east, west, north, south], value, side.load(thread, column));
        let Some(far) = far.filter(|_| before > 0 || !self.place.is_at_rim((0, -1))) else {
            return [own, 0.0, 0.0, 0.0];
        };
        let [far_west, upper_far_west] = self.far_west(level, [(*row, here), (row - 2, upper)], before, thread);
        let [north_west, south_west, value] = [above, below, here].map(|row| row.load(thread, before));
        let left = residual([west, far_west, north_west, south_west], value, side.load(thread, before));
        let [upper_east, upper_west] = [column + 1, column - 1].map(|column| upper.load(thread, column));
        let around = [upper_east, upper_west, far.load(thread, column), north];
        let higher = residual(around, upper.load(thread, column), upper_side.load(thread, column));
        let around = [upper_west, upper_far_west, far.load(thread, before), north_west];
        [own, left, higher, residual(around, upper.load(thread, before), upper_side.load(thread, before))]
    }

    /// Values one column before `column` in rows: before the border, the neighbour's.
    fn far_west<T: Thread<Region = R>>(
        &self,
        level: usize,
        rows: [(usize, &Array<'_, R, f64>); 2],
        column: usize,
        thread: &mut T,
    ) -> [f64; 2] {
        let last = self.place.size(level).1;
        let owner = self.place.neighbour((0, -1)).filter(|_| column == 0);
        rows.map(|(row, own)| match owner {
            Some(owner) => self.solutions[level].row(owner, row, thread).load(thread, last - 1),
            None => own.load(thread, column - 1),
        })
    }

    /// Clears a level's solution, with the border below and to the right, as SPLASH-2's program does.
    fn clear<T: Thread<Region = R>>(&self, level: usize, thread: &mut T) {
        let (rows, columns) = self.place.size(level);
        let last = if self.place.is_active() { rows + 1 } else { 0 };
        for row in 1..=last {
            let target = self.solutions[level].row(self.place.number, row, thread);
            for column in 1..=columns + 1 {
                target.store(thread, column, 0.0);
                thread.instructions(COPY);
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
