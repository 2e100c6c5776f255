//! Lines in blocks of equal size, each block on whole pages of one node.

use units::NodeId;

use crate::program::{Part, RegionPlan, Shape};

/// A region that consists of blocks of lines, such as one for each thread, on the node that first touch would choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    line_words: usize,
    block_words: usize,
}

impl Blocks {
    /// Blocks of at least `lines` lines.
    pub fn new(shape: &Shape, lines: usize) -> Self {
        let block_words = (lines * shape.line_words).next_multiple_of(shape.page_words);
        Self { line_words: shape.line_words, block_words }
    }

    /// Blocks of `lines` lines of `line_words` words, one behind the other wherever pages begin.
    pub const fn close(line_words: usize, lines: usize) -> Self {
        Self { line_words, block_words: lines * line_words }
    }

    /// The first word of a line of a block.
    #[inline]
    pub fn word(&self, block: usize, line: usize) -> usize {
        block * self.block_words + line * self.line_words
    }

    /// The region with a block at each of `homes`.
    pub fn plan(&self, homes: impl IntoIterator<Item = NodeId>) -> RegionPlan {
        let part = |home| Part { home: Some(home), words: self.block_words };
        RegionPlan { parts: homes.into_iter().map(part).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_start_on_pages_and_lines_on_lines() {
        let shape = Shape {
            homes: vec![NodeId(0); 3],
            nodes: 2,
            line_words: 16,
            page_words: 2048,
            seed: 0,
            locks: Default::default(),
        };
        let blocks = Blocks::new(&shape, 129);
        assert_eq!([blocks.word(0, 3), blocks.word(1, 0), blocks.word(2, 128)], [48, 4096, 8192 + 2048]);
        let plan = blocks.plan([NodeId(1), NodeId(0)]);
        assert_eq!(
            plan.parts,
            [Part { home: Some(NodeId(1)), words: 4096 }, Part { home: Some(NodeId(0)), words: 4096 }]
        );
        assert_eq!(plan.words(), 8192);
    }
}
