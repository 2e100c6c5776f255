//! Gaussian elimination without pivoting, and back substitution.

use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::rows::Rows;
use super::{DIVIDE, DRAW, MULTIPLY_ADD, ROW};

program! {
    /// Solves a system of linear equations whose matrix is diagonally dominant, as ge of Hexsel and Topham, section 2: in each
    /// stage one row is scaled by its owner, and after a barrier all subtract multiples of it from their own rows below. Back
    /// substitution then takes as many stages, in which all read one number. The right side is the last column.
    Ge is "ge": "Gaussian elimination without pivoting: in each stage all read one row and change their own" {
        /// Equations, and unknowns.
        side: 256, 1 to 8192;
        /// 1: rows are dealt round the threads, all of which have work to the end. 0: each has rows that follow each other.
        interleaved: 1, 0 to 1;
    }
}

/// Relative error that rounding may leave in an unknown, for each of them: far more than it does in a dominant matrix.
const ROUNDING: f64 = 1e-14;

impl Ge {
    fn rows(&self, shape: &Shape) -> Rows {
        Rows::new(shape, self.side as usize, self.side as usize + 1, self.interleaved == 1)
    }

    /// The unknowns, from 1 to 2.
    fn solution(&self, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, self.side);
        (0..self.side).map(|_| 1.0 + random.unit()).collect()
    }

    /// A row with its right side. Its diagonal element exceeds the sum of all others.
    fn equation(&self, seed: u64, row: usize, solution: &[f64]) -> Vec<f64> {
        let mut random = Random::new(seed, row as u64);
        let mut equation: Vec<f64> = (0..self.side).map(|_| random.unit() - 0.5).collect();
        equation[row] += self.side as f64;
        equation.push(equation.iter().zip(solution).map(|(factor, unknown)| factor * unknown).sum());
        equation
    }
}

impl Program for Ge {
    const REGIONS: &'static [&'static str] = &["equations"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.rows(shape).plan(shape)]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (rows, side, own) = (self.rows(shape), self.side as usize, thread.number());
        let row = |number| rows.row::<_, f64>(&regions[0], number);
        let solution = self.solution(shape.seed);
        for number in rows.own(own) {
            for (column, value) in self.equation(shape.seed, number, &solution).into_iter().enumerate() {
                thread.instructions(DRAW);
                row(number).store(thread, column, value);
            }
        }
        thread.barrier();
        thread.measure(true);
        for stage in 0..side {
            let pivot = row(stage);
            if rows.owner(stage) == own {
                thread.instructions(ROW + DIVIDE);
                let scale = 1.0 / pivot.load(thread, stage);
                for column in stage..=side {
                    let value = pivot.load(thread, column);
                    thread.instructions(MULTIPLY_ADD);
                    pivot.store(thread, column, value * scale);
                }
            }
            thread.barrier();
            for each in rows.own(own).filter(|&each| each > stage).map(row) {
                thread.instructions(ROW);
                let factor = each.load(thread, stage);
                for column in stage + 1..=side {
                    let (above, value) = (pivot.load(thread, column), each.load(thread, column));
                    thread.instructions(MULTIPLY_ADD);
                    each.store(thread, column, value - factor * above);
                }
            }
        }
        for stage in (1..side).rev() {
            // The unknown's row has been changed for the last time.
            thread.barrier();
            let unknown = row(stage).load(thread, side);
            for each in rows.own(own).take_while(|&each| each < stage).map(row) {
                let (factor, value) = (each.load(thread, stage), each.load(thread, side));
                thread.instructions(ROW + MULTIPLY_ADD);
                each.store(thread, side, value - factor * unknown);
            }
        }
        thread.measure(false);
        0
    }

    /// The unknowns are those from which the right side was computed, and all else is what a serial elimination leaves.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (rows, side, solution) = (self.rows(shape), self.side as usize, self.solution(shape.seed));
        let found = |row, column| rows.element::<f64>(|word| read(0, word), row, column);
        let mut matrix: Vec<_> = (0..side).map(|row| self.equation(shape.seed, row, &solution)).collect();
        for stage in 0..side {
            let (above, below) = matrix.split_at_mut(stage + 1);
            let pivot = &mut above[stage];
            let scale = 1.0 / pivot[stage];
            pivot[stage..].iter_mut().for_each(|value| *value *= scale);
            for row in below {
                let factor = row[stage];
                (stage + 1..=side).for_each(|column| row[column] -= factor * pivot[column]);
            }
        }
        let tolerance = ROUNDING * self.side as f64;
        (0..side).try_for_each(|row| {
            (0..side).try_for_each(|column| {
                Wrong::unless_close(found(row, column), matrix[row][column], 0.0, || {
                    format!("element {column} of row {row}")
                })
            })?;
            Wrong::unless_close(found(row, side), solution[row], tolerance, || format!("unknown {row}"))
        })
    }
}
