//! The nodes of the octree: what is in an octant, where cells and leaves are, and their words.

use std::ops::Range;

use crate::Blocks;
use crate::program::Shape;

/// Contents of an octant of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Nothing,
    Cell(usize),
    Body(usize),
    Leaf(usize),
}

impl Part {
    /// The part of a word, or of half a word.
    pub fn of(word: u64) -> Self {
        match (word, word % 4) {
            (0, _) => Self::Nothing,
            (_, 1) => Self::Body((word / 4) as usize),
            (_, 2) => Self::Cell((word / 4) as usize),
            _ => Self::Leaf((word / 4) as usize),
        }
    }

    pub fn word(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Body(body) => 4 * body as u64 + 1,
            Self::Cell(cell) => 4 * cell as u64 + 2,
            Self::Leaf(leaf) => 4 * leaf as u64 + 3,
        }
    }
}

/// A centre of mass and the mass.
pub type Moment = [f64; 4];

/// The root is the first cell of the first thread.
pub const ROOT: usize = 0;

/// The words of a cell, by what they hold.
#[derive(Clone, Copy, Debug)]
pub struct CellLayout {
    words: usize,
    /// Eight parts, each in a word or in half a word.
    pub parts: usize,
    pub halves: bool,
    /// The centre of mass with the mass.
    pub moment: usize,
    /// The cost of the bodies, and their number behind it.
    pub cost: usize,
    /// Whether all this is known.
    pub known: usize,
    /// The cell that it is in, if there is a word for that.
    pub parent: Option<usize>,
}

/// A line of 128 bytes.
const PADDED: CellLayout =
    CellLayout { words: 16, parts: 0, halves: false, moment: 8, cost: 12, known: 14, parent: None };
/// The 112 bytes of SPLASH-2's structure with pointers of 32 bits.
const CLOSE: CellLayout =
    CellLayout { words: 14, parts: 10, halves: true, moment: 1, cost: 5, known: 9, parent: Some(7) };
/// The 120 bytes of SPLASH-2's structure for a leaf: its parts are bodies.
const LEAF: CellLayout =
    CellLayout { words: 15, parts: 10, halves: true, moment: 1, cost: 5, known: 9, parent: Some(7) };

/// The cells, or leaves, that each thread may make, in memory of its own.
#[derive(Clone, Copy, Debug)]
pub struct Pools {
    blocks: Blocks,
    /// Those of a thread.
    each: usize,
    pub layout: CellLayout,
}

impl Pools {
    fn new(shape: &Shape, each: usize, layout: CellLayout) -> Self {
        Self { blocks: Blocks::new(shape, (each * layout.words).div_ceil(shape.line_words)), each, layout }
    }

    /// Cells without leaves. Room for the tree of so many bodies: one to two cells for each three bodies are usual, and which
    /// thread makes them is chance.
    pub fn of_cells(shape: &Shape, bodies: usize) -> Self {
        Self::new(shape, 4 * bodies / shape.threads() + 256, PADDED)
    }

    /// Cells of a tree with leaves, one behind the other.
    pub fn of_close_cells(shape: &Shape, bodies: usize) -> Self {
        Self::new(shape, 2 * bodies / shape.threads() + 256, CLOSE)
    }

    /// Leaves.
    pub fn of_leaves(shape: &Shape, bodies: usize) -> Self {
        Self::new(shape, 4 * bodies / shape.threads() + 256, LEAF)
    }

    /// Words of all.
    pub fn words(&self, threads: usize) -> usize {
        self.blocks.word(threads, 0)
    }

    /// The first word of a cell or leaf.
    #[inline]
    pub fn word(&self, number: usize) -> usize {
        self.blocks.word(number / self.each, 0) + number % self.each * self.layout.words
    }

    /// The numbers of a thread's own.
    pub fn of(&self, thread: usize) -> Range<usize> {
        thread * self.each..(thread + 1) * self.each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_as_they_were_stored() {
        for part in
            [Part::Nothing, Part::Cell(ROOT), Part::Body(0), Part::Leaf(0), Part::Cell(7), Part::Body(7), Part::Leaf(7)]
        {
            assert_eq!(Part::of(part.word()), part);
        }
    }
}
