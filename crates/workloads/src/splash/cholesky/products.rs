//! The numbers of blocks, column by column, and what is done to them, as SPLASH-2's program does it: products two columns at a time, with
//! eight columns of the factors in registers. A product that does not cover its block is made apart and then added.

use std::ops::Range;

use super::blocks::{Blocks, Name};
use super::panels::{FIND, MULTIPLY, Numbers, PANEL, ROW, find};
use super::symbolic::Symbolic;
use super::updates::Update;
use crate::parallel::{Array, cost};
use crate::program::{RegionPlan, Shape};
use crate::thread::Thread;

/// Columns of factors whose multipliers are kept in registers: of a product, and where a block is solved with its diagonal block.
const AT_ONCE: usize = 8;
const SOLVED_AT_ONCE: usize = 4;
/// Instructions to subtract a number times both multipliers: two multiplications, two subtractions, an address. SPLASH-2's program has
/// three instructions for each of floating point (Woo et al., ISCA 1995, Table 1: tk15.O).
const SUBTRACT: u32 = 5;

/// The numbers of all blocks in shared memory, and room for a product of each thread.
pub struct Factor<'r, R> {
    pub symbolic: &'r Symbolic,
    pub blocks: &'r Blocks,
    pub values: &'r R,
    pub rows: &'r R,
    pub products: &'r R,
}

/// The region for products, each thread's on its node.
pub fn plan(shape: &Shape, blocks: &Blocks) -> RegionPlan {
    RegionPlan::by_thread(shape, std::iter::repeat(blocks.room))
}

impl<'r, R> Factor<'r, R> {
    fn array(&self, name: Name) -> Array<'r, R, f64> {
        Array::from(self.values, self.blocks.block(name).first)
    }

    fn width(&self, panel: usize) -> usize {
        self.symbolic.panels[panel].columns.len()
    }

    /// How many rows a block has.
    fn length(&self, name: Name) -> usize {
        self.blocks.block(name).places.len()
    }

    /// The words of the rows of a block.
    fn row_words(&self, (panel, number): Name) -> Range<usize> {
        let (first, places) = (self.symbolic.panels[panel].rows.start, &self.blocks.of[panel][number].places);
        first + places.start..first + places.end
    }

    /// Where rows, given by their words, are in a block with rows of panel `row`, by its list of rows unless it has all of that panel.
    fn rows_in<T: Thread<Region = R>>(&self, words: Range<usize>, block: Name, thread: &mut T) -> Vec<usize> {
        let row = self.blocks.block(block).row;
        if words.len() == self.length(block) {
            return (0..words.len()).collect();
        }
        if self.length(block) == self.width(row) {
            return self.columns_of(words, row, thread);
        }
        find(self.rows, words, self.row_words(block), thread)
    }

    /// Which columns of a panel rows are, given by their words.
    fn columns_of<T: Thread<Region = R>>(&self, words: Range<usize>, panel: usize, thread: &mut T) -> Vec<usize> {
        let columns = &self.symbolic.panels[panel].columns;
        if words.len() == columns.len() {
            return (0..columns.len()).collect();
        }
        thread.instructions(FIND);
        words.map(|word| thread.load(self.rows, word) as usize - columns.start).collect()
    }

    /// Subtracts the product of two blocks of a panel from their target.
    pub fn subtract_product<T: Thread<Region = R>>(&self, panel: usize, lower: usize, upper: usize, thread: &mut T) {
        let target = self.blocks.target(panel, lower, upper);
        let (height, across) = (self.length((panel, lower)), self.length((panel, upper)));
        thread.instructions(PANEL);
        if height == self.length(target) && across == self.width(target.0) {
            self.multiply((panel, lower), (panel, upper), Numbers::Shared(self.array(target)), thread);
            return;
        }
        let first = thread.number() * self.blocks.room;
        self.multiply((panel, lower), (panel, upper), Numbers::Own(self.products, first), thread);
        let rows = self.rows_in(self.row_words((panel, lower)), target, thread);
        let columns = self.columns_of(self.row_words((panel, upper)), target.0, thread);
        for (column, &right) in columns.iter().enumerate() {
            for (row, &down) in rows.iter().enumerate() {
                let at = first + column * height + row;
                let product = f64::from_bits(thread.load_own(self.products, at));
                thread.store_own(self.products, at, 0.0_f64.to_bits());
                self.add(target, (down, right), product, thread);
            }
        }
    }

    fn add<T: Thread<Region = R>>(&self, target: Name, (row, column): (usize, usize), more: f64, thread: &mut T) {
        let (values, at) = (self.array(target), column * self.length(target) + row);
        let before = values.load(thread, at);
        values.store(thread, at, before + more);
        thread.instructions(MULTIPLY);
    }

    /// Subtracts the product of two blocks of a panel from a result with the rows of the lower and a column for each row of the upper
    /// one; of a block with itself, only from the diagonal on.
    fn multiply<T: Thread<Region = R>>(&self, lower: Name, upper: Name, result: Numbers<'_, R>, thread: &mut T) {
        let (rows, columns) = (self.array(lower), self.array(upper));
        let (height, across, width) = (self.length(lower), self.length(upper), self.width(lower.0));
        for start in (0..across).step_by(2) {
            let pair = start..(start + 2).min(across);
            for from in (0..width).step_by(AT_ONCE) {
                let factors = from..(from + AT_ONCE).min(width);
                let mut multipliers = [[0.0; 2]; AT_ONCE];
                for (both, factor) in multipliers.iter_mut().zip(factors.clone()) {
                    for (number, column) in pair.clone().enumerate() {
                        both[number] = columns.load(thread, factor * across + column);
                    }
                }
                let first = if lower == upper { start } else { 0 };
                for row in first..height {
                    // Above the diagonal nothing is wanted.
                    let wanted = pair.clone().filter(|&column| lower != upper || column <= row);
                    let mut left = [0.0; 2];
                    for (number, column) in wanted.clone().enumerate() {
                        left[number] = result.load(thread, column * height + row);
                    }
                    for (both, factor) in multipliers.iter().zip(factors.clone()) {
                        let value = rows.load(thread, factor * height + row);
                        left[0] -= value * both[0];
                        left[1] -= value * both[1];
                        thread.instructions(SUBTRACT);
                    }
                    for (number, column) in wanted.enumerate() {
                        result.store(thread, column * height + row, left[number]);
                    }
                    thread.instructions(ROW);
                }
            }
        }
    }

    /// Adds a part of a subtree's update to a block: the rows of the changes `lower` and `upper` of its root.
    pub fn add_update<T: Thread<Region = R>>(
        &self,
        (update, region): (&Update, &R),
        (lower, upper): (usize, usize),
        target: Name,
        thread: &mut T,
    ) {
        let root = &self.symbolic.panels[update.root];
        let [lower, upper] = [lower, upper].map(|change| root.changes[change].1.clone());
        let words = |places: &Range<usize>| root.rows.start + places.start..root.rows.start + places.end;
        thread.instructions(PANEL);
        let rows = self.rows_in(words(&lower), target, thread);
        let columns = self.columns_of(words(&upper), target.0, thread);
        for (right, column) in columns.into_iter().zip(upper) {
            for (&down, row) in rows.iter().zip(lower.clone()).filter(|&(_, row)| row >= column) {
                let at = update.word(row - root.columns.len(), column - root.columns.len());
                let more = f64::from_bits(thread.load(region, at));
                self.add(target, (down, right), more, thread);
            }
        }
    }

    /// Makes the diagonal block of a panel a part of the factor: column by column, each with those before it.
    pub fn factor<T: Thread<Region = R>>(&self, panel: usize, thread: &mut T) {
        let (values, width) = (self.array((panel, 0)), self.width(panel));
        thread.instructions(PANEL);
        for column in 0..width {
            for before in 0..column {
                let multiplier = values.load(thread, before * width + column);
                for row in column..width {
                    let left = values.load(thread, column * width + row);
                    let product = multiplier * values.load(thread, before * width + row);
                    values.store(thread, column * width + row, left - product);
                    thread.instructions(MULTIPLY);
                }
            }
            let root = values.load(thread, column * width + column).sqrt();
            thread.instructions(cost::SQUARE_ROOT);
            values.store(thread, column * width + column, root);
            for row in column + 1..width {
                let left = values.load(thread, column * width + row);
                values.store(thread, column * width + row, left / root);
                thread.instructions(cost::DIVISION);
            }
        }
    }

    /// Solves a block with the diagonal block of its panel, which makes it a part of the factor: two columns at a time.
    pub fn solve<T: Thread<Region = R>>(&self, name: Name, thread: &mut T) {
        let (values, diagonal) = (self.array(name), self.array((name.0, 0)));
        let (height, width) = (self.length(name), self.width(name.0));
        thread.instructions(PANEL);
        for start in (0..width).step_by(2) {
            let pair = start..(start + 2).min(width);
            for from in (0..start).step_by(SOLVED_AT_ONCE) {
                self.subtract_solved(name, &pair, from..(from + SOLVED_AT_ONCE).min(start), thread);
            }
            for column in pair.clone() {
                if column > start {
                    self.subtract_solved(name, &(column..column + 1), start..column, thread);
                }
                let inverse = 1.0 / diagonal.load(thread, column * width + column);
                thread.instructions(cost::DIVISION);
                for row in 0..height {
                    let left = values.load(thread, column * height + row);
                    values.store(thread, column * height + row, left * inverse);
                    thread.instructions(MULTIPLY);
                }
            }
        }
    }

    /// Subtracts from columns of a block that is being solved what its columns `solved` have of them.
    fn subtract_solved<T: Thread<Region = R>>(
        &self,
        name: Name,
        columns: &Range<usize>,
        solved: Range<usize>,
        thread: &mut T,
    ) {
        let (values, diagonal) = (self.array(name), self.array((name.0, 0)));
        let (height, width) = (self.length(name), self.width(name.0));
        let mut multipliers = [[0.0; 2]; SOLVED_AT_ONCE];
        for (both, before) in multipliers.iter_mut().zip(solved.clone()) {
            for (number, column) in columns.clone().enumerate() {
                both[number] = diagonal.load(thread, before * width + column);
            }
        }
        for row in 0..height {
            let mut left = [0.0; 2];
            for (number, column) in columns.clone().enumerate() {
                left[number] = values.load(thread, column * height + row);
            }
            for (both, before) in multipliers.iter().zip(solved.clone()) {
                let known = values.load(thread, before * height + row);
                left[0] -= known * both[0];
                left[1] -= known * both[1];
                thread.instructions(SUBTRACT);
            }
            for (number, column) in columns.clone().enumerate() {
                values.store(thread, column * height + row, left[number]);
            }
            thread.instructions(ROW);
        }
    }
}
