//! The product of two matrices, block by block.

use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::number::{Numbers, Real, SINGLE, words};
use super::rows::Rows;
use super::{DRAW, MULTIPLY_ADD, ROW};

program! {
    /// C = AB for square matrices, as mmult of Hexsel and Topham, section 2: each thread computes a slice of the rows of C, of
    /// which it also has those of A. The rows of B are spread in the same way and all read all of them, block by block so that
    /// a block stays in the cache while all rows of the slice use it.
    ///
    /// With `order` 1 there are no blocks: each element of C is computed at once, its sum in a variable, from a row of A and a
    /// column of B, as the counts of references of Hexsel and Topham's Table 1 have it: two loads of shared data for each
    /// product, and a store for each element of C.
    Mmult is "mmult": "matrix product: each processor computes a slice of rows, all read the second matrix" {
        /// Rows and columns.
        side: 160, 1 to 4096;
        /// Rows and columns of a block; those at the edge may have fewer.
        block: 32, 1 to 4096;
        /// 0: block by block. 1: element by element.
        order: 0, 0 to 1;
        /// Bytes of an element.
        element: 8, 4 to 8, powers of 2;
    }
}

/// The matrices, in the order of their regions.
const LEFT: usize = 0;
const RIGHT: usize = 1;
const PRODUCT: usize = 2;

/// A thread's part of the work, with elements of type `F`.
struct Body<'r, R, F> {
    rows: Rows,
    regions: &'r [R],
    side: usize,
    number: std::marker::PhantomData<F>,
}

impl<'r, R, F: Real> Body<'r, R, F> {
    fn row(&self, region: usize, number: usize) -> Numbers<'r, R, F> {
        self.rows.numbers(&self.regions[region], number)
    }

    /// Adds a block's products to the sums of a row of the product.
    fn add_block<T: Thread<Region = R>>(
        &self,
        number: usize,
        inner: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
        thread: &mut T,
    ) {
        let (left, product) = (self.row(LEFT, number), self.row(PRODUCT, number));
        for inner in inner {
            let (factor, right) = (left.load(thread, inner), self.row(RIGHT, inner));
            thread.instructions(ROW);
            for column in columns.clone() {
                let (other, sum) = (right.load(thread, column), product.load(thread, column));
                thread.instructions(MULTIPLY_ADD);
                product.store(thread, column, sum.more(factor, other));
            }
        }
    }

    /// Computes a row of the product element by element.
    fn compute_row<T: Thread<Region = R>>(&self, number: usize, thread: &mut T) {
        let (left, product) = (self.row(LEFT, number), self.row(PRODUCT, number));
        for column in 0..self.side {
            thread.instructions(ROW);
            let mut sum = F::near(0.0);
            for inner in 0..self.side {
                let factor = left.load(thread, inner);
                sum = sum.more(factor, self.row(RIGHT, inner).load(thread, column));
                thread.instructions(MULTIPLY_ADD);
            }
            product.store(thread, column, sum);
        }
    }
}

impl Mmult {
    fn rows(&self, shape: &Shape) -> Rows {
        let side = self.side as usize;
        let words = if self.element == SINGLE { words::<f32>(side) } else { words::<f64>(side) };
        Rows::new(shape, side, words, false)
    }

    /// The first row or column of each block.
    fn blocks(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.side as usize).step_by(self.block as usize)
    }

    /// A row of a factor.
    fn factor<F: Real>(&self, seed: u64, region: usize, row: usize) -> Vec<F> {
        let mut random = Random::new(seed, (row * 2 + region) as u64);
        (0..self.side).map(|_| F::near(random.unit() - 0.5)).collect()
    }

    /// The body of one thread, with elements of type `F`.
    fn run_with<F: Real, T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) {
        let (rows, side, block) = (self.rows(shape), self.side as usize, self.block as usize);
        let body = Body::<_, F> { rows, regions, side, number: std::marker::PhantomData };
        let own = rows.own(thread.number());
        for number in own.clone() {
            for region in [LEFT, RIGHT] {
                let values = self.factor::<F>(shape.seed, region, number);
                body.row(region, number).fill(thread, values, |thread| thread.instructions(DRAW));
            }
            body.row(PRODUCT, number).fill(thread, (0..side).map(|_| F::near(0.0)), |_| ());
        }
        thread.barrier();
        thread.measure(true);
        if self.order == 1 {
            own.for_each(|number| body.compute_row(number, thread));
        } else {
            for inner in self.blocks() {
                for columns in self.blocks() {
                    let to = |from: usize| from..side.min(from + block);
                    own.clone().for_each(|number| body.add_block(number, to(inner), to(columns), thread));
                }
            }
        }
        thread.measure(false);
    }

    /// Every element is the sum of its products, taken in their order, and the factors are as they were.
    fn check_with<F: Real>(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (rows, side) = (self.rows(shape), self.side as usize);
        let factor = |region| (0..side).map(move |row| self.factor::<F>(shape.seed, region, row)).collect::<Vec<_>>();
        let (left, right) = (factor(LEFT), factor(RIGHT));
        let mut product = vec![vec![F::near(0.0); side]; side];
        for (row, sums) in product.iter_mut().enumerate() {
            for (factor, other) in left[row].iter().zip(&right) {
                sums.iter_mut().zip(other).for_each(|(sum, other)| *sum = sum.more(*factor, *other));
            }
        }
        for (region, expected) in [left, right, product].into_iter().enumerate() {
            for (row, expected) in expected.into_iter().enumerate() {
                for (column, expected) in expected.into_iter().enumerate() {
                    let found: f64 = rows.number::<F>(|word| read(region, word), row, column).into();
                    let what = || format!("element {column} of row {row} of matrix {region}");
                    Wrong::unless_close(found, expected.into(), 0.0, what)?;
                }
            }
        }
        Ok(())
    }
}

impl Program for Mmult {
    const REGIONS: &'static [&'static str] = &["left factor", "right factor", "product"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.rows(shape).plan(shape); 3]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        match self.element {
            SINGLE => self.run_with::<f32, T>(shape, regions, thread),
            _ => self.run_with::<f64, T>(shape, regions, thread),
        }
        0
    }

    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        match self.element {
            SINGLE => self.check_with::<f32>(shape, read),
            _ => self.check_with::<f64>(shape, read),
        }
    }
}
