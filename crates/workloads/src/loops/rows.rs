//! Matrices whose rows have owners: each owner's rows follow each other in its memory, each on lines of its own.

use std::iter::StepBy;
use std::ops::Range;

use crate::Blocks;
use crate::parallel::{Array, Element, Share, element};
use crate::program::{RegionPlan, Shape};

use super::number::{Number, Numbers, extract, place};

/// Where the rows of a matrix are, or of several of equal size, and whose.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    blocks: Blocks,
    threads: usize,
    count: usize,
    lines: usize,
    /// Lines from an owner's part of a matrix to its part of the next.
    apart: usize,
    interleaved: bool,
}

/// Lines in one way of the R10000's primary cache: 16 KiB.
const WAY: usize = 128;

impl Rows {
    /// `count` rows of `words` words. Interleaved, they are dealt round the threads; else each has some that follow each other.
    pub fn new(shape: &Shape, count: usize, words: usize, interleaved: bool) -> Self {
        let (threads, lines) = (shape.threads(), words.div_ceil(shape.line_words));
        let apart = count.div_ceil(threads) * lines;
        Self { blocks: Blocks::new(shape, apart), threads, count, lines, apart, interleaved }
    }

    /// `matrices` of `count` rows of `words` words in one region, each thread's rows following each other. The same element of
    /// all of them falls into sets of the primary cache as far from each other as can be: loops touch it in many at once.
    pub fn several(shape: &Shape, matrices: usize, count: usize, words: usize) -> Self {
        let one = Self::new(shape, count, words, false);
        let apart = one.apart.next_multiple_of(WAY) + (WAY / matrices).max(1);
        Self { blocks: Blocks::new(shape, matrices * apart), apart, ..one }
    }

    /// The region that the matrix wants, each owner's rows at home with it.
    pub fn plan(&self, shape: &Shape) -> RegionPlan {
        self.blocks.plan(shape.homes.iter().copied())
    }

    /// How many threads have rows.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Whose a row is.
    pub fn owner(&self, row: usize) -> usize {
        if self.interleaved { row % self.threads } else { Share::owner(self.threads, self.count, row) }
    }

    /// The rows of a thread, in order.
    pub fn own(&self, number: usize) -> StepBy<Range<usize>> {
        let share = Share { number, threads: self.threads };
        if self.interleaved { share.cyclic(self.count) } else { share.block(self.count).step_by(1) }
    }

    fn word(&self, matrix: usize, row: usize) -> usize {
        let owner = self.owner(row);
        let before = if self.interleaved { row / self.threads } else { row - owner * self.count / self.threads };
        self.blocks.word(owner, matrix * self.apart + before * self.lines)
    }

    /// A row of one of several matrices in `region`.
    pub fn row_of<'r, R, E: Element>(&self, region: &'r R, matrix: usize, row: usize) -> Array<'r, R, E> {
        Array::from(region, self.word(matrix, row))
    }

    /// The numbers of a row of the matrix in `region`.
    pub fn numbers<'r, R, N: Number>(&self, region: &'r R, row: usize) -> Numbers<'r, R, N> {
        Numbers::new(region, self.word(0, row))
    }

    /// A number whose region's words `read` gives.
    pub fn number<N: Number>(&self, read: impl Fn(usize) -> u64, row: usize, column: usize) -> N {
        extract(read(self.word(0, row) + place::<N>(column)), column)
    }

    /// An element of one of several matrices.
    pub fn element_of<E: Element>(&self, read: impl Fn(usize) -> u64, matrix: usize, row: usize, column: usize) -> E {
        let first = self.word(matrix, row);
        element(|word| read(first + word), column)
    }
}

#[cfg(test)]
mod tests {
    use units::NodeId;

    use super::*;

    #[test]
    fn rows_lie_with_their_owners_and_apart() {
        for (threads, count) in [(1, 5), (3, 7), (4, 8), (8, 3)] {
            let homes = (0..threads as u16).map(NodeId).collect();
            let shape =
                Shape { homes, nodes: threads, line_words: 4, page_words: 32, seed: 0, locks: Default::default() };
            let one = [false, true].map(|interleaved| (1, Rows::new(&shape, count, 9, interleaved)));
            for (matrices, rows) in one.into_iter().chain([(3, Rows::several(&shape, 3, count, 9))]) {
                let plan = rows.plan(&shape);
                let mut words = Vec::new();
                for (thread, matrix) in
                    (0..threads).flat_map(|thread| (0..matrices).map(move |matrix| (thread, matrix)))
                {
                    for row in rows.own(thread) {
                        let first = rows.word(matrix, row);
                        assert_eq!(rows.owner(row), thread);
                        assert_eq!(first / plan.parts[0].words, thread, "at home");
                        assert!((first + 9 <= plan.words()) && first.is_multiple_of(4));
                        words.push(first);
                    }
                }
                words.sort_unstable();
                assert_eq!(words.len(), matrices * count);
                assert!(words.windows(2).all(|pair| pair[1] - pair[0] >= 12), "three lines each");
            }
        }
    }
}
