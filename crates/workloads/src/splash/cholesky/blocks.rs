//! Blocks of a factor: the rows of a panel that are columns of one other panel. A grid of threads owns them in both directions, as in
//! SPLASH-2 (Rothberg and Gupta, "An efficient block-oriented approach to parallel sparse Cholesky factorization", 1993).

use std::ops::Range;

use super::panels::{FIND, MULTIPLY, PANEL, ROW};
use super::symbolic::Symbolic;
use crate::parallel::{Array, cost, thread_grid};
use crate::program::Shape;
use crate::thread::Thread;

/// A block of a panel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The panel whose columns its rows are.
    pub row: usize,
    /// Its rows, as places in those of its panel.
    pub places: Range<usize>,
    /// Its first word, whose rows follow each other.
    pub first: usize,
    /// How many products of other blocks are subtracted from it.
    pub products: usize,
}

/// A block by its panel and its number there; the first one of a panel is that of the diagonal.
pub type Name = (usize, usize);

/// All blocks.
pub struct Blocks {
    /// By panel, in the order of their rows.
    pub of: Vec<Vec<Block>>,
    /// Words of all.
    pub words: usize,
    /// Threads in a column and in a row of their grid.
    grid: (usize, usize),
}

impl Blocks {
    /// The blocks of a factor. Those of a thread follow each other on pages of their own, and each begins a line.
    pub fn new(shape: &Shape, symbolic: &Symbolic) -> Self {
        let of = symbolic.panels.iter().enumerate().map(|(number, panel)| {
            let diagonal = (number, 0..panel.columns.len());
            let all = std::iter::once(diagonal).chain(panel.changes.iter().cloned());
            all.map(|(row, places)| Block { row, places, first: 0, products: 0 }).collect()
        });
        let mut blocks = Self { of: of.collect(), words: 0, grid: thread_grid(shape.threads()) };
        blocks.place(shape, symbolic);
        blocks.count_products();
        blocks
    }

    fn place(&mut self, shape: &Shape, symbolic: &Symbolic) {
        let mut own = vec![Vec::new(); shape.threads()];
        for name in self.names() {
            own[self.owner(name)].push(name);
        }
        for names in own {
            self.words = self.words.next_multiple_of(shape.page_words);
            for (panel, number) in names {
                let block = &mut self.of[panel][number];
                block.first = self.words;
                let numbers = block.places.len() * symbolic.panels[panel].columns.len();
                self.words += numbers.next_multiple_of(shape.line_words);
            }
        }
    }

    fn count_products(&mut self) {
        let mut targets = Vec::new();
        for panel in 0..self.of.len() {
            for lower in 1..self.of[panel].len() {
                targets.extend((1..=lower).map(|upper| self.target(panel, lower, upper)));
            }
        }
        targets.into_iter().for_each(|(panel, number)| self.of[panel][number].products += 1);
    }

    /// All blocks, panel by panel.
    pub fn names(&self) -> Vec<Name> {
        let of_panel = |panel: usize| (0..self.of[panel].len()).map(move |number| (panel, number));
        (0..self.of.len()).flat_map(of_panel).collect()
    }

    pub fn block(&self, (panel, number): Name) -> &Block {
        &self.of[panel][number]
    }

    /// The thread that stores to a block.
    pub fn owner(&self, name: Name) -> usize {
        self.block(name).row % self.grid.0 * self.grid.1 + name.0 % self.grid.1
    }

    /// The block from which the product of two blocks of a panel is subtracted.
    pub fn target(&self, panel: usize, lower: usize, upper: usize) -> Name {
        let (row, column) = (self.of[panel][lower].row, self.of[panel][upper].row);
        // The rows of a panel are among those of every panel that it changes.
        (column, self.of[column].partition_point(|block| block.row < row))
    }

    /// The threads that need a block of the factor: a diagonal one those of its panel, another one those of its products.
    pub fn needed_by(&self, (panel, number): Name) -> Vec<usize> {
        let count = self.of[panel].len();
        let mut threads: Vec<usize> = match number {
            0 => (1..count).map(|other| self.owner((panel, other))).collect(),
            _ => (1..count).map(|other| self.owner(self.target(panel, number.max(other), number.min(other)))).collect(),
        };
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// The word of a row of a panel.
    pub fn row(&self, symbolic: &Symbolic, panel: usize, place: usize) -> usize {
        let number = self.of[panel].partition_point(|block| block.places.end <= place);
        let block = &self.of[panel][number];
        block.first + (place - block.places.start) * symbolic.panels[panel].columns.len()
    }
}

/// The numbers of all blocks in shared memory.
pub struct Factor<'r, R> {
    pub symbolic: &'r Symbolic,
    pub blocks: &'r Blocks,
    pub values: &'r R,
    pub rows: &'r R,
}

impl<'r, R> Factor<'r, R> {
    fn array(&self, name: Name) -> Array<'r, R, f64> {
        Array::from(self.values, self.blocks.block(name).first)
    }

    fn width(&self, panel: usize) -> usize {
        self.symbolic.panels[panel].columns.len()
    }

    /// The words of the rows of a block.
    fn row_words(&self, (panel, number): Name) -> Range<usize> {
        let (first, places) = (self.symbolic.panels[panel].rows.start, &self.blocks.of[panel][number].places);
        first + places.start..first + places.end
    }

    /// Where the rows of one block are in another, as places there.
    fn find<T: Thread<Region = R>>(&self, one: Name, other: Name, thread: &mut T) -> Vec<usize> {
        let words = self.row_words(other);
        let (mut at, mut there) = (0, thread.load(self.rows, words.start));
        let find = |word: usize| {
            let row = thread.load(self.rows, word);
            thread.instructions(FIND);
            while there != row {
                at += 1;
                there = thread.load(self.rows, words.start + at);
                thread.instructions(FIND);
            }
            at
        };
        self.row_words(one).map(find).collect()
    }

    /// Subtracts the product of two blocks of a panel from their target: two columns at a time.
    pub fn subtract_product<T: Thread<Region = R>>(&self, panel: usize, lower: usize, upper: usize, thread: &mut T) {
        let target = self.blocks.target(panel, lower, upper);
        let (rows, columns, results) = (self.array((panel, lower)), self.array((panel, upper)), self.array(target));
        let (width, wide) = (self.width(panel), self.width(target.0));
        thread.instructions(PANEL);
        let found = self.find((panel, lower), target, thread);
        let first = self.symbolic.panels[target.0].columns.start;
        let places: Vec<usize> =
            self.row_words((panel, upper)).map(|word| thread.load(self.rows, word) as usize - first).collect();
        for start in (0..places.len()).step_by(2) {
            let pair = start..(start + 2).min(places.len());
            let mut multipliers = vec![[0.0; 2]; width];
            for (number, row) in pair.clone().enumerate() {
                for (column, both) in multipliers.iter_mut().enumerate() {
                    both[number] = columns.load(thread, row * width + column);
                }
            }
            // Above the diagonal nothing is wanted.
            let from = if lower == upper { start } else { 0 };
            for row in from..found.len() {
                let mut sums = [0.0; 2];
                for (column, both) in multipliers.iter().enumerate() {
                    let value = rows.load(thread, row * width + column);
                    sums[0] += value * both[0];
                    sums[1] += value * both[1];
                    thread.instructions(MULTIPLY);
                }
                for (number, column) in pair.clone().enumerate().filter(|&(_, column)| lower != upper || column <= row)
                {
                    let at = found[row] * wide + places[column];
                    let before = results.load(thread, at);
                    results.store(thread, at, before - sums[number]);
                }
                thread.instructions(ROW);
            }
        }
    }

    /// Makes the diagonal block of a panel a part of the factor.
    pub fn factor<T: Thread<Region = R>>(&self, panel: usize, thread: &mut T) {
        let (values, width) = (self.array((panel, 0)), self.width(panel));
        thread.instructions(PANEL);
        for row in 0..width {
            for column in 0..=row {
                let mut left = values.load(thread, row * width + column);
                for before in 0..column {
                    let product =
                        values.load(thread, row * width + before) * values.load(thread, column * width + before);
                    left -= product;
                    thread.instructions(MULTIPLY);
                }
                let done = if column == row {
                    thread.instructions(cost::SQUARE_ROOT);
                    left.sqrt()
                } else {
                    thread.instructions(cost::DIVISION);
                    left / values.load(thread, column * width + column)
                };
                values.store(thread, row * width + column, done);
            }
            thread.instructions(ROW);
        }
    }

    /// Solves a block with the diagonal block of its panel, which makes it a part of the factor.
    pub fn solve<T: Thread<Region = R>>(&self, name: Name, thread: &mut T) {
        let (values, diagonal, width) = (self.array(name), self.array((name.0, 0)), self.width(name.0));
        thread.instructions(PANEL);
        let inverses: Vec<f64> = (0..width)
            .map(|column| {
                thread.instructions(cost::DIVISION);
                1.0 / diagonal.load(thread, column * width + column)
            })
            .collect();
        for row in 0..self.blocks.block(name).places.len() {
            let mut done: Vec<f64> = Vec::with_capacity(width);
            for column in 0..width {
                let mut left = values.load(thread, row * width + column);
                for (before, known) in done.iter().enumerate() {
                    left -= known * diagonal.load(thread, column * width + before);
                    thread.instructions(MULTIPLY);
                }
                done.push(left * inverses[column]);
            }
            for (column, value) in done.into_iter().enumerate() {
                values.store(thread, row * width + column, value);
            }
            thread.instructions(ROW);
        }
    }
}
