//! Gaussian elimination without pivoting, and back substitution.

use std::ops::Range;

use crate::parallel::Share;
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::number::{Real, SINGLE, words};
use super::rows::Rows;
use super::{DIVIDE, DRAW, MULTIPLY_ADD, ROW};

program! {
    /// Solves a system of linear equations whose matrix is diagonally dominant, as ge of Hexsel and Topham, section 2: in each
    /// stage one row is scaled by its owner, and after a barrier all subtract multiples of it from their own rows below. Back
    /// substitution then takes as many stages, in which all read one number. The right side is the last column.
    ///
    /// With `shrinking` 1 the rows below the pivot are divided anew in each stage, in blocks: a parallel loop over the rows that
    /// are left, as a compiler for parallel machines makes it. Blocks move down with the pivot, so that rows migrate from
    /// thread to thread, as Hexsel and Topham state of their program (section 4, Sharing-list length).
    Ge is "ge": "Gaussian elimination without pivoting: in each stage all read one row and update their own" {
        /// Equations, and unknowns.
        side: 256, 1 to 8192;
        /// 1: rows are dealt round the threads, all of which have work to the end. 0: each has rows that follow each other.
        interleaved: 1, 0 to 1;
        /// 1: rows below the pivot are divided among all threads in each stage. 0: they stay with their owners.
        shrinking: 0, 0 to 1;
        /// Bytes of an element.
        element: 8, 4 to 8, powers of 2;
    }
}

impl Ge {
    fn rows(&self, shape: &Shape) -> Rows {
        let count = self.side as usize + 1;
        let words = if self.element == SINGLE { words::<f32>(count) } else { words::<f64>(count) };
        Rows::new(shape, self.side as usize, words, self.interleaved == 1)
    }

    /// The unknowns, from 1 to 2.
    fn solution(&self, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, self.side);
        (0..self.side).map(|_| 1.0 + random.unit()).collect()
    }

    /// A row with its right side. Its diagonal element exceeds the sum of all others.
    fn equation<F: Real>(&self, seed: u64, row: usize, solution: &[f64]) -> Vec<F> {
        let mut random = Random::new(seed, row as u64);
        let mut equation: Vec<f64> = (0..self.side).map(|_| random.unit() - 0.5).collect();
        equation[row] += self.side as f64;
        equation.push(equation.iter().zip(solution).map(|(factor, unknown)| factor * unknown).sum());
        equation.into_iter().map(F::near).collect()
    }

    /// The rows of `range` that a thread changes in a stage: its own among them, or its block of them.
    fn part(&self, rows: &Rows, number: usize, range: Range<usize>) -> impl Iterator<Item = usize> {
        let shrinking = (self.shrinking == 1).then(|| {
            let block = Share { number, threads: rows.threads() }.block(range.len());
            range.start + block.start..range.start + block.end
        });
        let own = shrinking.is_none().then(|| rows.own(number).filter(move |row| range.contains(row)));
        shrinking.into_iter().flatten().chain(own.into_iter().flatten())
    }

    /// The thread that scales the pivot row of a stage: its owner, or the one that changed it last.
    fn scales(&self, rows: &Rows, stage: usize) -> usize {
        if self.shrinking == 1 { 0 } else { rows.owner(stage) }
    }

    /// The body of one thread, with elements of type `F`.
    fn run_with<F: Real, T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) {
        let (rows, side, own) = (self.rows(shape), self.side as usize, thread.number());
        let row = |number| rows.numbers::<_, F>(&regions[0], number);
        let solution = self.solution(shape.seed);
        for number in rows.own(own) {
            let equation = self.equation::<F>(shape.seed, number, &solution);
            row(number).fill(thread, equation, |thread| thread.instructions(DRAW));
        }
        thread.barrier();
        thread.measure(true);
        for stage in 0..side {
            let pivot = row(stage);
            if self.scales(&rows, stage) == own {
                thread.instructions(ROW + DIVIDE);
                let scale = pivot.load(thread, stage).inverse();
                for column in stage..=side {
                    let element = pivot.load(thread, column);
                    thread.instructions(MULTIPLY_ADD);
                    pivot.store(thread, column, element.times(scale));
                }
            }
            thread.barrier();
            for each in self.part(&rows, own, stage + 1..side).map(row) {
                thread.instructions(ROW);
                let factor = each.load(thread, stage);
                for column in stage + 1..=side {
                    let (above, element) = (pivot.load(thread, column), each.load(thread, column));
                    thread.instructions(MULTIPLY_ADD);
                    each.store(thread, column, element.less(factor, above));
                }
            }
            if self.shrinking == 1 {
                // The next pivot row may be another thread's until here.
                thread.barrier();
            }
        }
        for stage in (1..side).rev() {
            // The unknown's row has been changed for the last time.
            thread.barrier();
            let unknown = row(stage).load(thread, side);
            for each in self.part(&rows, own, 0..stage).map(row) {
                let (factor, element) = (each.load(thread, stage), each.load(thread, side));
                thread.instructions(ROW + MULTIPLY_ADD);
                each.store(thread, side, element.less(factor, unknown));
            }
        }
        thread.measure(false);
    }

    /// The unknowns are those from which the right side was computed, and all else is what a serial elimination leaves.
    fn check_with<F: Real>(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (rows, side, solution) = (self.rows(shape), self.side as usize, self.solution(shape.seed));
        let found = |row, column| -> f64 { rows.number::<F>(|word| read(0, word), row, column).into() };
        let mut matrix: Vec<Vec<F>> = (0..side).map(|row| self.equation(shape.seed, row, &solution)).collect();
        for stage in 0..side {
            let (above, below) = matrix.split_at_mut(stage + 1);
            let pivot = &mut above[stage];
            let scale = pivot[stage].inverse();
            pivot[stage..].iter_mut().for_each(|value| *value = value.times(scale));
            for row in below {
                let factor = row[stage];
                (stage + 1..=side).for_each(|column| row[column] = row[column].less(factor, pivot[column]));
            }
        }
        let tolerance = F::ROUNDING * self.side as f64;
        (0..side).try_for_each(|row| {
            (0..side).try_for_each(|column| {
                Wrong::unless_close(found(row, column), matrix[row][column].into(), 0.0, || {
                    format!("element {column} of row {row}")
                })
            })?;
            Wrong::unless_close(found(row, side), solution[row], tolerance, || format!("unknown {row}"))
        })
    }
}

impl Program for Ge {
    const REGIONS: &'static [&'static str] = &["equations"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        vec![self.rows(shape).plan(shape)]
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
