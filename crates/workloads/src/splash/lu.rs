//! Factors of a dense matrix, block by block.

use std::ops::Range;

use crate::parallel::{Array, cost, element, thread_grid};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// A = LU without pivoting, right-looking, as LU of SPLASH-2: blocks are dealt to a grid of threads in both directions, and
    /// each is changed by its owner alone. In each step the owner of the diagonal block factors it, the owners of the blocks
    /// below and right of it solve with it, and all multiply those into the rest. A block's words follow each other in its
    /// owner's memory, or else the matrix is one array by rows, whose lines and pages several owners share.
    Lu is "lu": "factors of a dense matrix by blocks, each block in one piece or the matrix by rows" {
        /// Rows and columns.
        side: 256, 1 to 8192;
        /// Rows and columns of a block; those at the edge may have fewer.
        block: 16, 1 to 256;
        /// 1: a block's words follow each other. 0: the matrix is stored by rows.
        contiguous: 1, 0 to 1;
    }
}

/// Instructions to subtract a multiple of an element, beside two loads and a store: a multiplication, a subtraction, addresses, loop.
/// SPLASH-2's program has 494 million instructions for a side of 512 (Woo et al., ISCA 1995, Table 1), 11 for each element.
const UPDATE: u32 = 8;
/// Instructions to divide by the pivot, beside two loads and a store: the division, addresses, loop.
const DIVIDE: u32 = cost::DIVISION + 3;
/// Instructions to draw an element at random.
const DRAW: u32 = 20;
/// Relative error that rounding may leave in a product with a vector, for each element of the sum.
const ROUNDING: f64 = 1e-13;

/// Where blocks are, and whose.
#[derive(Clone, Copy)]
struct Layout {
    side: usize,
    block: usize,
    contiguous: bool,
    page_words: usize,
    /// Threads in a column and in a row of their grid.
    grid: (usize, usize),
}

/// A block: the rows and the columns of blocks before it.
type At = (usize, usize);

impl Layout {
    fn new(lu: &Lu, shape: &Shape) -> Self {
        let (wide, narrow) = thread_grid(shape.threads());
        Self {
            side: lu.side as usize,
            block: lu.block as usize,
            contiguous: lu.contiguous == 1,
            page_words: shape.page_words,
            // Wide, as in SPLASH-2.
            grid: (narrow, wide),
        }
    }

    /// Rows, and columns, of blocks.
    fn blocks(&self) -> usize {
        self.side.div_ceil(self.block)
    }

    fn owner(&self, (row, column): At) -> usize {
        row % self.grid.0 * self.grid.1 + column % self.grid.1
    }

    /// The rows or columns of the matrix in a row or column of blocks.
    fn span(&self, number: usize) -> Range<usize> {
        number * self.block..self.side.min((number + 1) * self.block)
    }

    /// The blocks of each thread that come before any of the next one, in one piece on pages of their own: as many as the
    /// thread with most has. SPLASH-2's program asks for a page more than these take, and begins at the next border of a page: pieces
    /// of a power of two of bytes do not all begin in the same set of a cache.
    fn piece(&self) -> (usize, usize) {
        let across = (self.blocks().div_ceil(self.grid.0), self.blocks().div_ceil(self.grid.1));
        let words = across.0 * across.1 * self.block * self.block;
        (across.1, words.next_multiple_of(self.page_words) + self.page_words)
    }

    /// The word of a row of a block, and so of its first element.
    fn row(&self, at: At, row: usize) -> usize {
        if self.contiguous {
            let (across, piece) = self.piece();
            let own = at.0 / self.grid.0 * across + at.1 / self.grid.1;
            self.owner(at) * piece + (own * self.block + row) * self.block
        } else {
            (at.0 * self.block + row) * self.side + at.1 * self.block
        }
    }

    /// The word of an element of the matrix.
    fn word(&self, row: usize, column: usize) -> usize {
        self.row((row / self.block, column / self.block), row % self.block) + column % self.block
    }

    fn plan(&self, shape: &Shape) -> RegionPlan {
        if self.contiguous {
            let piece = self.piece().1;
            RegionPlan::first_touch(shape, shape.threads() * piece, |word| word / piece)
        } else {
            let owner = |word| self.owner((word / self.side / self.block, word % self.side / self.block));
            RegionPlan::first_touch(shape, self.side * self.side, owner)
        }
    }
}

/// An element of the matrix to factor: with so heavy a diagonal, no pivots are needed.
fn input(side: usize, row: usize, seed: u64) -> impl Iterator<Item = f64> {
    let mut random = Random::new(seed, row as u64);
    (0..side).map(move |column| random.unit() - 0.5 + if column == row { side as f64 } else { 0.0 })
}

/// A thread's part of the work.
struct Body<'r, R> {
    number: usize,
    layout: Layout,
    matrix: Array<'r, R, f64>,
}

impl<R> Body<'_, R> {
    /// Its own among `blocks`.
    fn own(&self, blocks: impl Iterator<Item = At>) -> impl Iterator<Item = At> {
        blocks.filter(|&at| self.layout.owner(at) == self.number)
    }

    fn initialise<T: Thread<Region = R>>(&self, seed: u64, thread: &mut T) {
        let blocks = self.layout.blocks();
        for row in 0..self.layout.side {
            let of_row = (0..blocks).map(|column| (row / self.layout.block, column));
            let mut drawn = None;
            for at in self.own(of_row) {
                let values = drawn.get_or_insert_with(|| input(self.layout.side, row, seed).collect::<Vec<_>>());
                let first = self.layout.row(at, row % self.layout.block);
                for (number, column) in self.layout.span(at.1).enumerate() {
                    thread.instructions(DRAW);
                    self.matrix.store(thread, first + number, values[column]);
                }
            }
        }
    }

    /// Subtracts `factor` times one row of a block from another, `columns` elements from the words on.
    #[inline]
    fn subtract<T: Thread<Region = R>>(&self, to: usize, from: usize, columns: usize, factor: f64, thread: &mut T) {
        for column in 0..columns {
            let value = self.matrix.load(thread, to + column) - factor * self.matrix.load(thread, from + column);
            self.matrix.store(thread, to + column, value);
            thread.instructions(UPDATE);
        }
    }

    /// Divides by a pivot. Returns the quotient, which is the factor of its row.
    fn divide<T: Thread<Region = R>>(&self, word: usize, pivot: usize, thread: &mut T) -> f64 {
        let factor = self.matrix.load(thread, word) / self.matrix.load(thread, pivot);
        self.matrix.store(thread, word, factor);
        thread.instructions(DIVIDE);
        factor
    }

    /// Factors a diagonal block, or solves a block below it with it: the steps are the same, and only rows below the pivot's
    /// change.
    fn eliminate<T: Thread<Region = R>>(&self, at: At, thread: &mut T) {
        let diagonal = (at.1, at.1);
        let columns = self.layout.span(at.1).len();
        for pivot in 0..columns {
            let pivot_row = self.layout.row(diagonal, pivot);
            let first = if at == diagonal { pivot + 1 } else { 0 };
            for row in first..self.layout.span(at.0).len() {
                let word = self.layout.row(at, row);
                let factor = self.divide(word + pivot, pivot_row + pivot, thread);
                self.subtract(word + pivot + 1, pivot_row + pivot + 1, columns - pivot - 1, factor, thread);
            }
        }
    }

    /// Multiplies `left` and `above` into a block. With the diagonal block as `left` and the block itself as `above`, it solves
    /// a block right of the diagonal: then only rows above one have a part in it.
    fn multiply<T: Thread<Region = R>>(&self, at: At, left: At, above: At, thread: &mut T) {
        let columns = self.layout.span(at.1).len();
        for inner in 0..self.layout.span(left.1).len() {
            let from = self.layout.row(above, inner);
            let first = if above == at { inner + 1 } else { 0 };
            for row in first..self.layout.span(at.0).len() {
                let factor = self.matrix.load(thread, self.layout.row(left, row) + inner);
                self.subtract(self.layout.row(at, row), from, columns, factor, thread);
            }
        }
    }
}

impl Program for Lu {
    const REGIONS: &'static [&'static str] = &["matrix"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![Layout::new(self, shape).plan(shape)]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let layout = Layout::new(self, shape);
        let body = Body { number: thread.number(), layout, matrix: Array::new(&regions[0]) };
        let blocks = layout.blocks();
        body.initialise(shape.seed, thread);
        thread.barrier();
        thread.measure(true);
        for step in 0..blocks {
            let rest = step + 1..blocks;
            body.own([(step, step)].into_iter()).for_each(|at| body.eliminate(at, thread));
            thread.barrier();
            body.own(rest.clone().map(|row| (row, step))).for_each(|at| body.eliminate(at, thread));
            let right = body.own(rest.clone().map(|column| (step, column)));
            right.for_each(|at| body.multiply(at, (step, step), at, thread));
            thread.barrier();
            let inner = rest.clone().flat_map(|row| rest.clone().map(move |column| (row, column)));
            body.own(inner).for_each(|at| body.multiply(at, (at.0, step), (step, at.1), thread));
        }
        thread.barrier();
        thread.measure(false);
        0
    }

    /// Multiplies a random vector by the factors, one after the other, and by the matrix that they should be.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (layout, side) = (Layout::new(self, shape), self.side as usize);
        let at = |row, column| element::<f64>(|word| read(0, word), layout.word(row, column));
        let mut random = Random::new(shape.seed, u64::MAX);
        // No element is small: each of the factors' has its weight.
        let vector: Vec<f64> = (0..side).map(|_| 1.0 + random.unit()).collect();
        let upper = |row| (row..side).map(|column| at(row, column) * vector[column]).sum();
        let product: Vec<f64> = (0..side).map(upper).collect();
        (0..side).try_for_each(|row| {
            let lower: f64 = (0..row).map(|column| at(row, column) * product[column]).sum();
            let expected: f64 = input(side, row, shape.seed).zip(&vector).map(|(element, value)| element * value).sum();
            let tolerance = ROUNDING * (side * side) as f64;
            let what = || format!("row {row} of the factors' product with a vector");
            Wrong::unless_close(product[row] + lower, expected, tolerance, what)
        })
    }
}
