//! A matrix whose rows have owners: each owner's rows follow each other in its memory, each on lines of its own.

use std::iter::StepBy;
use std::ops::Range;

use crate::Blocks;
use crate::parallel::{Array, Element, Share, element};
use crate::program::{RegionPlan, Shape};

/// Where the rows of a matrix are, and whose.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    blocks: Blocks,
    threads: usize,
    count: usize,
    lines: usize,
    interleaved: bool,
}

impl Rows {
    /// `count` rows of `words` words. Interleaved, they are dealt round the threads; else each has some that follow each other.
    pub fn new(shape: &Shape, count: usize, words: usize, interleaved: bool) -> Self {
        let (threads, lines) = (shape.threads(), words.div_ceil(shape.line_words));
        let blocks = Blocks::new(shape, count.div_ceil(threads) * lines);
        Self { blocks, threads, count, lines, interleaved }
    }

    /// The region that the matrix wants, each owner's rows at home with it.
    pub fn plan(&self, shape: &Shape) -> RegionPlan {
        self.blocks.plan(shape.homes.iter().copied())
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

    fn word(&self, row: usize) -> usize {
        let owner = self.owner(row);
        let before = if self.interleaved { row / self.threads } else { row - owner * self.count / self.threads };
        self.blocks.word(owner, before * self.lines)
    }

    /// A row of the matrix in `region`.
    pub fn row<'r, R, E: Element>(&self, region: &'r R, row: usize) -> Array<'r, R, E> {
        Array::from(region, self.word(row))
    }

    /// An element whose region's words `read` gives.
    pub fn element<E: Element>(&self, read: impl Fn(usize) -> u64, row: usize, column: usize) -> E {
        let first = self.word(row);
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
            let shape = Shape { homes, nodes: threads, line_words: 4, page_words: 32, seed: 0 };
            for interleaved in [false, true] {
                let rows = Rows::new(&shape, count, 9, interleaved);
                let plan = rows.plan(&shape);
                let mut words = Vec::new();
                for thread in 0..threads {
                    for row in rows.own(thread) {
                        let first = rows.word(row);
                        assert_eq!(rows.owner(row), thread);
                        assert_eq!(first / plan.parts[0].words, thread, "at home");
                        assert!((first + 9 <= plan.words()) && first.is_multiple_of(4));
                        words.push(first);
                    }
                }
                words.sort_unstable();
                assert_eq!(words.len(), count);
                assert!(words.windows(2).all(|pair| pair[1] - pair[0] >= 12), "three lines each");
            }
        }
    }
}
