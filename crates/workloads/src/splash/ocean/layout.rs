//! A square grid in subgrids, each in one piece of its owner's memory.

use std::ops::Range;

use crate::parallel::thread_grid;
use crate::program::{RegionPlan, Shape};

/// Where the points of a grid are, those of the rim included, and whose.
///
/// The point with numbers (i, j) and that with (2i, 2j) of a grid twice as fine have the same owner.
#[derive(Clone, Debug)]
pub struct Layout {
    intervals: usize,
    /// First rows, and first columns, of subgrids; and the end of the last.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// Words of a subgrid, whole pages.
    piece: usize,
    /// Parts of a point's word by its row and by its column.
    of_row: Vec<usize>,
    of_column: Vec<usize>,
}

impl Layout {
    /// A grid of `intervals` distances between points each way, for the threads of `shape`.
    pub fn new(intervals: usize, shape: &Shape) -> Self {
        let (down, across) = thread_grid(shape.threads());
        let starts = |parts: usize| -> Vec<usize> {
            let start = |part: usize| if part == parts { intervals + 1 } else { (part * intervals).div_ceil(parts) };
            (0..=parts).map(start).collect()
        };
        let (rows, columns) = (starts(down), starts(across));
        let longest = |starts: &[usize]| starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        let width = longest(&columns);
        let piece = (longest(&rows) * width).next_multiple_of(shape.page_words);
        let parts = |starts: &[usize], piece: usize, width: usize| {
            let spans = starts.windows(2).enumerate();
            spans.flat_map(|(part, pair)| (0..pair[1] - pair[0]).map(move |own| part * piece + own * width)).collect()
        };
        let (of_row, of_column) = (parts(&rows, across * piece, width), parts(&columns, piece, 1));
        Self { intervals, rows, columns, piece, of_row, of_column }
    }

    /// The distance of neighbouring points, the basin's side being 1.
    pub fn distance(&self) -> f64 {
        1.0 / self.intervals as f64
    }

    /// The word of a point.
    #[inline]
    pub fn word(&self, row: usize, column: usize) -> usize {
        self.of_row[row] + self.of_column[column]
    }

    /// The memory of the grid.
    pub fn plan(&self, shape: &Shape) -> RegionPlan {
        RegionPlan::first_touch(shape, self.piece * shape.threads(), |word| word / self.piece)
    }

    fn spans(&self, thread: usize) -> (Range<usize>, Range<usize>) {
        let across = self.columns.len() - 1;
        let inner = |starts: &[usize], part: usize| starts[part].max(1)..starts[part + 1].min(self.intervals);
        (inner(&self.rows, thread / across), inner(&self.columns, thread % across))
    }

    /// The points of a thread, row by row, without the rim.
    #[inline]
    pub fn inside(&self, thread: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (rows, columns) = self.spans(thread);
        rows.flat_map(move |row| columns.clone().map(move |column| (row, column)))
    }

    /// Points of a thread that have one colour, as on a chessboard.
    #[inline]
    pub fn coloured(&self, thread: usize, colour: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (rows, columns) = self.spans(thread);
        rows.flat_map(move |row| {
            let first = columns.start + (row + columns.start + colour) % 2;
            (first.min(columns.end)..columns.end).step_by(2).map(move |column| (row, column))
        })
    }

    /// All points, without the rim.
    pub fn all_inside(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let intervals = self.intervals;
        (1..intervals).flat_map(move |row| (1..intervals).map(move |column| (row, column)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use units::NodeId;

    use super::*;

    #[test]
    fn every_point_has_a_word_and_an_owner_at_home_on_all_levels() {
        for threads in [1, 2, 6, 8, 63] {
            let homes = (0..threads as u16).map(NodeId).collect();
            let shape =
                Shape { homes, nodes: threads, line_words: 4, page_words: 16, seed: 0, locks: Default::default() };
            let (fine, coarse) = (Layout::new(16, &shape), Layout::new(8, &shape));
            let words: BTreeSet<usize> = (0..17)
                .flat_map(|row| (0..17).map(move |column| (row, column)))
                .map(|(row, column)| fine.word(row, column))
                .collect();
            assert_eq!(words.len(), 17 * 17);
            assert!(words.last().is_some_and(|&last| last < fine.plan(&shape).words()));
            let mut points: Vec<_> = (0..threads).flat_map(|thread| fine.inside(thread)).collect();
            for thread in 0..threads {
                assert!(fine.inside(thread).all(|(row, column)| fine.word(row, column) / fine.piece == thread));
                let of_fine: BTreeSet<_> = fine.inside(thread).collect();
                assert!(coarse.inside(thread).all(|(row, column)| of_fine.contains(&(2 * row, 2 * column))));
                let colours: BTreeSet<_> = (0..2).flat_map(|colour| fine.coloured(thread, colour)).collect();
                assert_eq!(colours, of_fine);
                assert!(fine.coloured(thread, 1).all(|(row, column)| (row + column) % 2 == 1));
            }
            points.sort_unstable();
            assert_eq!(points, fine.all_inside().collect::<Vec<_>>());
        }
    }
}
