//! The product of two matrices, block by block.

use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::rows::Rows;
use super::{DRAW, MULTIPLY_ADD, ROW};

program! {
    /// C = AB for square matrices, as mmult of Hexsel and Topham, section 2: each thread computes a slice of the rows of C, of
    /// which it also has those of A. The rows of B are spread in the same way and all read all of them, block by block so that
    /// a block stays in the cache while all rows of the slice use it.
    Mmult is "mmult": "matrix product: each processor computes a slice of rows, all read the second matrix" {
        /// Rows and columns.
        side: 160, 1 to 4096;
        /// Rows and columns of a block; those at the edge may have fewer.
        block: 32, 1 to 4096;
    }
}

/// The matrices, in the order of their regions.
const LEFT: usize = 0;
const RIGHT: usize = 1;
const PRODUCT: usize = 2;

impl Mmult {
    fn rows(&self, shape: &Shape) -> Rows {
        Rows::new(shape, self.side as usize, self.side as usize, false)
    }

    /// The first row or column of each block.
    fn blocks(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.side as usize).step_by(self.block as usize)
    }

    /// A row of a factor.
    fn factor(&self, seed: u64, region: usize, row: usize) -> Vec<f64> {
        let mut random = Random::new(seed, (row * 2 + region) as u64);
        (0..self.side).map(|_| random.unit() - 0.5).collect()
    }
}

impl Program for Mmult {
    const REGIONS: &'static [&'static str] = &["left factor", "right factor", "product"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.rows(shape).plan(shape); 3]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (rows, side, block) = (self.rows(shape), self.side as usize, self.block as usize);
        let row = |region: usize, number| rows.row::<_, f64>(&regions[region], number);
        let own = rows.own(thread.number());
        for number in own.clone() {
            for region in [LEFT, RIGHT] {
                for (column, value) in self.factor(shape.seed, region, number).into_iter().enumerate() {
                    thread.instructions(DRAW);
                    row(region, number).store(thread, column, value);
                }
            }
            (0..side).for_each(|column| row(PRODUCT, number).store(thread, column, 0.0));
        }
        thread.barrier();
        thread.measure(true);
        for inner in self.blocks() {
            for columns in self.blocks() {
                for number in own.clone() {
                    let (left, product) = (row(LEFT, number), row(PRODUCT, number));
                    for inner in inner..side.min(inner + block) {
                        let (factor, right) = (left.load(thread, inner), row(RIGHT, inner));
                        thread.instructions(ROW);
                        for column in columns..side.min(columns + block) {
                            let (other, sum) = (right.load(thread, column), product.load(thread, column));
                            thread.instructions(MULTIPLY_ADD);
                            product.store(thread, column, sum + factor * other);
                        }
                    }
                }
            }
        }
        thread.measure(false);
        0
    }

    /// Every element is the sum of its products, taken in their order, and the factors are as they were.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (rows, side) = (self.rows(shape), self.side as usize);
        let factor = |region| (0..side).map(move |row| self.factor(shape.seed, region, row)).collect::<Vec<_>>();
        let (left, right) = (factor(LEFT), factor(RIGHT));
        let mut product = vec![vec![0.0; side]; side];
        for (row, sums) in product.iter_mut().enumerate() {
            for (factor, other) in left[row].iter().zip(&right) {
                sums.iter_mut().zip(other).for_each(|(sum, other)| *sum += factor * other);
            }
        }
        for (region, expected) in [left, right, product].into_iter().enumerate() {
            for (row, expected) in expected.into_iter().enumerate() {
                for (column, expected) in expected.into_iter().enumerate() {
                    let found = rows.element(|word| read(region, word), row, column);
                    let what = || format!("element {column} of row {row} of matrix {region}");
                    Wrong::unless_close(found, expected, 0.0, what)?;
                }
            }
        }
        Ok(())
    }
}
