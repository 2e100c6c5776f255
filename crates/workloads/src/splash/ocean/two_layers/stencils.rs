//! Values of grids made from those of others at the same points, or around them.

use super::super::jacobian::jacobian;
use super::subgrids::{COPY, Grid, Piece, Place};
use crate::parallel::Array;
use crate::thread::Thread;

/// Instructions of a point beside floating point, loads and stores: addresses, loop.
const OVERHEAD: u32 = 4;
/// Instructions of a point's Laplacian, beside five loads and the store: six of floating point.
const LAPLACIAN: u32 = 6 + OVERHEAD;
/// Instructions of a point's Jacobian, beside seventeen loads and the store: forty of floating point, addresses of seven rows.
const JACOBIAN: u32 = 40 + 2 * OVERHEAD;
/// Instructions to add a weighted value, beside its load.
const ADD: u32 = 2 + OVERHEAD;

/// A thread with its points on the finest level.
pub struct Pieces {
    /// Its place.
    pub place: Place,
    all: Vec<Piece>,
    rows: Vec<Piece>,
    rim: Vec<Piece>,
}

impl Pieces {
    /// The points of a thread.
    pub fn new(place: Place) -> Self {
        Self { place, all: place.pieces(), rows: place.rows(), rim: place.rim() }
    }

    /// Values of all points that `value` makes of those of other grids, with so many instructions of floating point.
    pub fn map<T: Thread, const I: usize, const O: usize>(
        &self,
        from: [&Grid<'_, T::Region>; I],
        to: [&Grid<'_, T::Region>; O],
        thread: &mut T,
        floating: u32,
        value: impl Fn([f64; I]) -> [f64; O],
    ) {
        self.store(&self.all, from, to, thread, floating, value);
    }

    /// Values times a factor, row by row with those on the rim, as SPLASH-2's program goes before and after solving.
    pub fn map_rows<T: Thread, const O: usize>(
        &self,
        from: &Grid<'_, T::Region>,
        to: [&Grid<'_, T::Region>; O],
        thread: &mut T,
        factor: f64,
    ) {
        for piece in &self.rows {
            let source = from.row(self.place.number, piece.row, thread);
            let targets = to.map(|grid| grid.row(self.place.number, piece.row, thread));
            for column in piece.columns.clone() {
                let value = source.load(thread, column) * factor;
                targets.iter().for_each(|target| target.store(thread, column, value));
                thread.instructions(OVERHEAD);
            }
        }
    }

    /// Copies points on the rim of the basin.
    pub fn copy_rim<T: Thread>(&self, from: &Grid<'_, T::Region>, to: &Grid<'_, T::Region>, thread: &mut T) {
        self.store(&self.rim, [from], [to], thread, 0, |value| value);
    }

    /// Copies points within the rim.
    pub fn copy_inside<T: Thread>(&self, from: &Grid<'_, T::Region>, to: &Grid<'_, T::Region>, thread: &mut T) {
        self.store(self.inside(), [from], [to], thread, 0, |value| value);
    }

    /// Stores a value in all points of a weight: 0.25 is for corners of the basin, 0.5 for the rest of the rim, 1 for points inside.
    pub fn fill<T: Thread>(&self, grid: &Grid<'_, T::Region>, weights: &[f64], value: f64, thread: &mut T) {
        for piece in self.all.iter().filter(|piece| weights.contains(&piece.weight)) {
            let row = grid.row(self.place.number, piece.row, thread);
            for column in piece.columns.clone() {
                row.store(thread, column, value);
                thread.instructions(COPY);
            }
        }
    }

    /// Stores in each point what `value` makes of its weight and of its row and column in the basin.
    pub fn set<T: Thread>(
        &self,
        grid: &Grid<'_, T::Region>,
        thread: &mut T,
        value: impl Fn(&mut T, f64, (usize, usize), f64) -> f64,
    ) {
        let (down, right) = self.place.offset(0);
        for piece in &self.all {
            let row = grid.row(self.place.number, piece.row, thread);
            for column in piece.columns.clone() {
                let before = row.load(thread, column);
                let value = value(thread, piece.weight, (down + piece.row, right + column), before);
                row.store(thread, column, value);
                thread.instructions(OVERHEAD);
            }
        }
    }

    /// The sum of a thread's values, each for the part of its surroundings that is in the basin.
    pub fn integral<T: Thread>(&self, grid: &Grid<'_, T::Region>, thread: &mut T) -> f64 {
        let mut sum = 0.0;
        for piece in &self.all {
            let row = grid.row(self.place.number, piece.row, thread);
            for column in piece.columns.clone() {
                sum += piece.weight * row.load(thread, column);
                thread.instructions(ADD);
            }
        }
        sum
    }

    fn inside(&self) -> &[Piece] {
        &self.all[self.all.len() - self.place.size(0).0..]
    }

    fn store<T: Thread, const I: usize, const O: usize>(
        &self,
        pieces: &[Piece],
        from: [&Grid<'_, T::Region>; I],
        to: [&Grid<'_, T::Region>; O],
        thread: &mut T,
        floating: u32,
        value: impl Fn([f64; I]) -> [f64; O],
    ) {
        let number = self.place.number;
        for piece in pieces {
            let sources = from.map(|grid| grid.row(number, piece.row, thread));
            let targets = to.map(|grid| grid.row(number, piece.row, thread));
            for column in piece.columns.clone() {
                let values = value(sources.map(|row| row.load(thread, column)));
                targets.iter().zip(values).for_each(|(row, value)| row.store(thread, column, value));
                thread.instructions(floating + OVERHEAD);
            }
        }
    }

    /// Stores inside what `value` makes of the sum of a point's four neighbours and of its own value. Neighbours' points come into
    /// the border first.
    pub fn around<T: Thread>(
        &self,
        from: &Grid<'_, T::Region>,
        to: &Grid<'_, T::Region>,
        thread: &mut T,
        value: impl Fn(f64, f64) -> f64,
    ) {
        let number = self.place.number;
        self.place.copy_edges(from, thread);
        for piece in self.inside() {
            let [above, here, below] = from.band(number, piece.row, thread);
            let target = to.row(number, piece.row, thread);
            for column in piece.columns.clone() {
                let vertical = below.load(thread, column) + above.load(thread, column);
                let sum = vertical + here.load(thread, column + 1) + here.load(thread, column - 1);
                let value = value(sum, here.load(thread, column));
                target.store(thread, column, value);
                thread.instructions(LAPLACIAN);
            }
        }
    }

    /// The Laplacian of a grid, 0 on the rim. Neighbours' points come into the border first.
    pub fn laplacian<T: Thread>(
        &self,
        from: &Grid<'_, T::Region>,
        to: &Grid<'_, T::Region>,
        distance: f64,
        thread: &mut T,
    ) {
        let factor = 1.0 / (distance * distance);
        self.around(from, to, thread, |sum, here| factor * (sum - 4.0 * here));
        self.fill(to, &[0.5], 0.0, thread);
    }

    /// The Jacobian of two grids with its sign changed, 0 on the rim. Neighbours' points come into both borders first.
    pub fn advection<T: Thread>(
        &self,
        [one, other]: [&Grid<'_, T::Region>; 2],
        to: &Grid<'_, T::Region>,
        distance: f64,
        thread: &mut T,
    ) {
        let number = self.place.number;
        self.fill(to, &[0.25], 0.0, thread);
        self.place.copy_border(other, thread);
        self.place.copy_border(one, thread);
        for piece in self.inside() {
            let (ones, others) = (one.band(number, piece.row, thread), other.band(number, piece.row, thread));
            let target = to.row(number, piece.row, thread);
            for column in piece.columns.clone() {
                let around = |row: &Array<'_, T::Region, f64>, thread: &mut T| {
                    [0, 1, 2].map(|right| row.load(thread, column + right - 1))
                };
                let first = std::array::from_fn(|down| around(&ones[down], thread));
                // No form of it has the second grid's value at the point itself.
                let [left, right] = [column - 1, column + 1].map(|column| others[1].load(thread, column));
                let second = [around(&others[0], thread), [left, 0.0, right], around(&others[2], thread)];
                target.store(thread, column, -jacobian(&first, &second, distance));
                thread.instructions(JACOBIAN);
            }
        }
        self.fill(to, &[0.5], 0.0, thread);
    }
}
