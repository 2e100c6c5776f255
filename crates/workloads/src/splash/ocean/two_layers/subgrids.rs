//! Grids in subgrids with borders, each in one piece of its owner's memory, behind pointers to its rows.

use std::ops::Range;

use crate::parallel::{Array, thread_grid};
use crate::thread::Thread;

/// Subgrids of a basin: as many each way as the grid of threads has, on all levels.
///
/// SPLASH-2's program takes powers of 2 for the threads and needs two points each way for each. Of another number, the largest power
/// of 2 in it has subgrids here, and fewer threads have on a small grid; the rest only come to barriers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Points each way, without the rim.
    pub points: usize,
    down: usize,
    across: usize,
    /// Grids of half the points each way, one below the other: the finest is level 0. The coarsest has two rows for each row of
    /// threads.
    pub levels: usize,
}

impl Partition {
    /// The subgrids of so many points each way for so many threads.
    pub fn new(points: usize, threads: usize) -> Self {
        let (down, across) = thread_grid(1 << threads.max(1).ilog2());
        let (down, across) = (down.min(points / 2), across.min(points / 2));
        Self { points, down, across, levels: (points / (2 * down)).ilog2() as usize + 1 }
    }

    /// Threads that have subgrids.
    pub fn threads(&self) -> usize {
        self.down * self.across
    }

    /// Rows and columns of a subgrid, without its border.
    pub fn size(&self, level: usize) -> (usize, usize) {
        ((self.points >> level) / self.down, (self.points >> level) / self.across)
    }

    /// Words of a subgrid: a pointer to each row, and the rows, those of the border included.
    pub fn words(&self, level: usize) -> usize {
        let (rows, columns) = self.size(level);
        (rows + 2) * (1 + columns + 2)
    }
}

/// The way to a neighbour in the grid of threads: rows down, and columns to the right.
pub type Direction = (isize, isize);

/// Ways to the neighbours that share an edge.
pub const EDGES: [Direction; 4] = [(-1, 0), (1, 0), (0, -1), (0, 1)];
const CORNERS: [Direction; 4] = [(-1, -1), (1, -1), (-1, 1), (1, 1)];

/// Points of a subgrid that follow each other in a row.
#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    /// The row of the subgrid: 0 is that of the border, or of the rim.
    pub row: usize,
    /// The columns, likewise.
    pub columns: Range<usize>,
    /// The part of a point's surroundings that is in the basin.
    pub weight: f64,
}

/// The first row, or column, of the border on a side of `count`, and the last one of points before it.
fn border(side: isize, count: usize) -> usize {
    if side < 0 { 0 } else { count + 1 }
}

/// The row, or column, in which a neighbour on a side keeps what lies in the border.
fn source(side: isize, count: usize) -> usize {
    if side < 0 { count } else { 1 }
}

/// A thread's place in the basin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The number of the thread.
    pub number: usize,
    partition: Partition,
}

impl Place {
    /// The place of a thread.
    pub fn new(partition: Partition, number: usize) -> Self {
        Self { number, partition }
    }

    /// Whether it has subgrids.
    pub fn is_active(&self) -> bool {
        self.number < self.partition.threads()
    }

    /// Rows and columns of its subgrids, without borders.
    pub fn size(&self, level: usize) -> (usize, usize) {
        if self.is_active() { self.partition.size(level) } else { (0, 0) }
    }

    /// Rows above its first one, and columns before.
    pub fn offset(&self, level: usize) -> (usize, usize) {
        let (rows, columns) = self.partition.size(level);
        (self.number / self.partition.across * rows, self.number % self.partition.across * columns)
    }

    /// The thread whose subgrids lie there; none beyond the rim of the basin.
    pub fn neighbour(&self, (down, right): Direction) -> Option<usize> {
        let Partition { down: rows, across, .. } = self.partition;
        let row = (self.number / across).checked_add_signed(down).filter(|&row| row < rows)?;
        let column = (self.number % across).checked_add_signed(right).filter(|&column| column < across)?;
        self.is_active().then_some(row * across + column)
    }

    /// Whether the rim of the basin lies there.
    pub fn is_at_rim(&self, direction: Direction) -> bool {
        self.is_active() && self.neighbour(direction).is_none()
    }

    /// Its points on the finest level, those on the rim included, in the order in which SPLASH-2's phases go through them: corners,
    /// rows and columns of the rim, rows.
    pub fn pieces(&self) -> Vec<Piece> {
        let (rows, columns) = self.size(0);
        let sides = |upright: bool| {
            let way = move |side| if upright { (side, 0) } else { (0, side) };
            [-1, 1].into_iter().filter(move |&side| self.is_at_rim(way(side)))
        };
        let one = |row, side, weight| {
            let column = border(side, columns);
            Piece { row, columns: column..column + 1, weight }
        };
        let whole = |row, weight| Piece { row, columns: 1..columns + 1, weight };
        let corners =
            CORNERS.into_iter().filter(|&(down, right)| self.is_at_rim((down, 0)) && self.is_at_rim((0, right)));
        corners
            .map(|(down, right)| one(border(down, rows), right, 0.25))
            .chain(sides(true).map(|side| whole(border(side, rows), 0.5)))
            .chain(sides(false).flat_map(|side| (1..=rows).map(move |row| one(row, side, 0.5))))
            .chain((1..=rows).map(|row| whole(row, 1.0)))
            .collect()
    }

    /// First and last of its rows, and of its columns, on the finest level, those on the rim included.
    fn extent(&self) -> (Range<usize>, Range<usize>) {
        let (rows, columns) = self.size(0);
        let along = |count, [before, behind]: [Direction; 2]| {
            usize::from(!self.is_at_rim(before))..count + 1 + usize::from(self.is_at_rim(behind))
        };
        (along(rows, [(-1, 0), (1, 0)]), along(columns, [(0, -1), (0, 1)]))
    }

    /// Its points on the finest level, those on the rim included, row by row.
    pub fn rows(&self) -> Vec<Piece> {
        let (rows, columns) = self.extent();
        rows.map(|row| Piece { row, columns: columns.clone(), weight: 1.0 }).collect()
    }

    /// Its points on the rim on the finest level.
    pub fn rim(&self) -> Vec<Piece> {
        let (rows, columns) = self.extent();
        let (height, width) = self.size(0);
        let upright = [-1, 1].into_iter().filter(|&side| self.is_at_rim((side, 0)));
        let across = [-1, 1].into_iter().filter(|&side| self.is_at_rim((0, side)));
        let of_rows = upright.map(|side| Piece { row: border(side, height), columns: columns.clone(), weight: 0.5 });
        let of_columns = across.flat_map(|side| {
            let column = border(side, width);
            rows.clone().map(move |row| Piece { row, columns: column..column + 1, weight: 0.5 })
        });
        of_rows.chain(of_columns).collect()
    }

    /// Copies points of the neighbour on a side into the border there, by their numbers along it.
    pub fn copy_edge<T: Thread>(
        &self,
        grid: &Grid<'_, T::Region>,
        (down, right): Direction,
        along: impl Iterator<Item = usize>,
        thread: &mut T,
    ) {
        let Some(owner) = self.neighbour((down, right)) else { return };
        let (rows, columns) = self.size(grid.level);
        if right == 0 {
            let own = grid.row(self.number, border(down, rows), thread);
            let other = grid.row(owner, source(down, rows), thread);
            along.for_each(|column| copy(&other, column, &own, column, thread));
        } else {
            for row in along {
                let (own, other) = (grid.row(self.number, row, thread), grid.row(owner, row, thread));
                copy(&other, source(right, columns), &own, border(right, columns), thread);
            }
        }
    }

    /// Copies what a neighbour keeps of a corner of the border: beside the rim, a point on it.
    pub fn copy_corner<T: Thread>(&self, grid: &Grid<'_, T::Region>, (down, right): Direction, thread: &mut T) {
        let (rows, columns) = self.size(grid.level);
        let (inside, beside) = (self.neighbour((down, 0)).is_some(), self.neighbour((0, right)).is_some());
        let way = (if inside { down } else { 0 }, if beside { right } else { 0 });
        let Some(owner) = self.neighbour(way).filter(|&owner| owner != self.number) else { return };
        let (to_row, to_column) = (border(down, rows), border(right, columns));
        let from_row = if inside { source(down, rows) } else { to_row };
        let from_column = if beside { source(right, columns) } else { to_column };
        let (own, other) = (grid.row(self.number, to_row, thread), grid.row(owner, from_row, thread));
        copy(&other, from_column, &own, to_column, thread);
    }

    /// Copies all that lies in the border on the four sides.
    pub fn copy_edges<T: Thread>(&self, grid: &Grid<'_, T::Region>, thread: &mut T) {
        let (rows, columns) = self.size(grid.level);
        for direction in EDGES {
            let count = if direction.1 == 0 { columns } else { rows };
            self.copy_edge(grid, direction, 1..=count, thread);
        }
    }

    /// Copies all that lies in the border, its corners included.
    pub fn copy_border<T: Thread>(&self, grid: &Grid<'_, T::Region>, thread: &mut T) {
        CORNERS.into_iter().for_each(|direction| self.copy_corner(grid, direction, thread));
        self.copy_edges(grid, thread);
    }
}

/// Instructions to copy a value, beside its load and store: addresses, loop.
pub const COPY: u32 = 3;

fn copy<T: Thread>(
    from: &Array<'_, T::Region, f64>,
    from_column: usize,
    to: &Array<'_, T::Region, f64>,
    to_column: usize,
    thread: &mut T,
) {
    let value = from.load(thread, from_column);
    to.store(thread, to_column, value);
    thread.instructions(COPY);
}

/// One grid: a subgrid of each thread.
#[derive(Debug)]
pub struct Grid<'g, R> {
    region: &'g R,
    /// The subgrid's first word in a thread's block of the region, and words of the block.
    first: usize,
    block: usize,
    /// Rows and columns of a subgrid with its border.
    height: usize,
    width: usize,
    /// The level, the finest being 0.
    pub level: usize,
}

impl<R> Clone for Grid<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Grid<'_, R> {}

impl<'g, R> Grid<'g, R> {
    /// The grid of a level whose subgrids begin at word `first` of each thread's `block` words of a region.
    pub fn new(region: &'g R, partition: &Partition, level: usize, first: usize, block: usize) -> Self {
        let (rows, columns) = partition.size(level);
        Self { region, first, block, height: rows + 2, width: columns + 2, level }
    }

    /// The word of the pointer to a row, and the row's first word.
    pub fn words(&self, owner: usize, row: usize) -> (usize, usize) {
        let first = owner * self.block + self.first;
        (first + row, first + self.height + row * self.width)
    }

    /// Sets a thread's pointers to rows.
    pub fn link<T: Thread<Region = R>>(&self, owner: usize, thread: &mut T) {
        for row in 0..self.height {
            let (pointer, start) = self.words(owner, row);
            thread.store(self.region, pointer, start as u64);
            thread.instructions(COPY);
        }
    }

    /// Follows the pointer to a row of a thread's subgrid.
    #[inline]
    pub fn row<T: Thread<Region = R>>(&self, owner: usize, row: usize, thread: &mut T) -> Array<'g, R, f64> {
        let start = thread.load(self.region, owner * self.block + self.first + row);
        Array::from(self.region, start as usize)
    }

    /// The row above a row, that row, and the one below.
    #[inline]
    pub fn band<T: Thread<Region = R>>(&self, owner: usize, row: usize, thread: &mut T) -> [Array<'g, R, f64>; 3] {
        [row - 1, row, row + 1].map(|row| self.row(owner, row, thread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPLASH-2's own splits of 128 points: four columns and eight rows of threads, and levels down to 16 points.
    #[test]
    fn threads_are_in_a_grid_with_two_points_each_on_the_coarsest_level() {
        let of = |points, threads| {
            let partition = Partition::new(points, threads);
            (partition.down, partition.across, partition.levels)
        };
        assert_eq!([of(128, 32), of(128, 1), of(128, 2), of(128, 8)], [(8, 4, 4), (1, 1, 7), (2, 1, 6), (4, 2, 5)]);
        // Too many threads, and no power of 2.
        assert_eq!([of(4, 64), of(8, 6), of(8, 63)], [(2, 2, 1), (2, 2, 2), (4, 4, 1)]);
        assert_eq!((Partition::new(128, 32).size(0), Partition::new(128, 32).size(3)), ((16, 32), (2, 4)));
    }

    #[test]
    fn every_point_is_in_one_piece() {
        for threads in [1, 2, 4, 6, 8, 16, 32] {
            let partition = Partition::new(16, threads);
            let mut seen = vec![0; 18 * 18];
            let mut area = 0.0;
            for place in (0..threads).map(|number| Place::new(partition, number)) {
                let (down, right) = place.offset(0);
                for piece in place.pieces() {
                    area += piece.weight * piece.columns.len() as f64;
                    piece.columns.for_each(|column| seen[(down + piece.row) * 18 + right + column] += 1);
                }
                let points = |pieces: Vec<Piece>| pieces.iter().map(|piece| piece.columns.len()).sum::<usize>();
                assert_eq!(points(place.pieces()), points(place.rows()));
            }
            assert!(seen.iter().all(|&count| count == 1), "{threads} threads");
            assert_eq!(area, 17.0 * 17.0);
        }
    }
}
