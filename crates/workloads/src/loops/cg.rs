//! Conjugate gradients on a random sparse matrix.

use crate::parallel::{Array, Element, Reduction, Share, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::{DIVIDE, DRAW, MULTIPLY_ADD, ROW};

program! {
    /// Solves Ax = b by conjugate gradients, with the sharing of the NAS kernel CG (Bailey and others, 1991): the matrix is
    /// symmetric, positive definite and sparse, with elements in random places, stored by rows; threads share by rows. The
    /// product with the direction p reads p all over: each of its lines is read by many threads, and then changed by one
    /// (Prestor 2001, section 6.3).
    Cg is "cg": "conjugate gradients on a random sparse matrix: a vector read by all and written by its owners" {
        /// Rows and columns: unknowns.
        rows: 7000, 1 to 1_048_576;
        /// Elements drawn for each row left or right of the diagonal; the same number mirrored comes on top.
        drawn: 8, 0 to 256;
        /// Iterations, unless the residual has vanished before.
        iterations: 15, 1 to 1000;
    }
}

/// Below this fraction of the right side's square, the residual's is nothing but rounding, and iterations end.
const VANISHED: f64 = 1e-28;
/// How far rounding may take an unknown from where a serial solution has it. Unknowns are below 1, and the matrix, dominated by
/// its diagonal, makes no more of an error than it was.
const ROUNDING: f64 = 1e-10;

/// The regions, in their order: of the matrix, where each row starts, and the column and the value of each element; vectors;
/// parts of sums.
const STARTS: usize = 0;
const COLUMNS: usize = 1;
const VALUES: usize = 2;
const X: usize = 3;
const R: usize = 4;
const P: usize = 5;
const Q: usize = 6;
const SUMS: usize = 7;

/// A system of equations, elements by rows.
struct System {
    starts: Vec<u64>,
    elements: Vec<(u64, f64)>,
    right: Vec<f64>,
}

impl System {
    fn row(&self, row: usize) -> &[(u64, f64)] {
        &self.elements[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    fn product(&self, vector: &[f64]) -> Vec<f64> {
        let product = |row: usize| self.row(row).iter().map(|&(column, value)| value * vector[column as usize]).sum();
        (0..vector.len()).map(product).collect()
    }

    /// Solution after as many iterations that begin with zero.
    fn solve(&self, iterations: u64) -> Vec<f64> {
        let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
        let (mut x, mut r, mut p) = (vec![0.0; self.right.len()], self.right.clone(), self.right.clone());
        let mut square = dot(&r, &r);
        let enough = VANISHED * square;
        for _ in 0..iterations {
            if square <= enough {
                break;
            }
            let q = self.product(&p);
            let step = square / dot(&p, &q);
            x.iter_mut().zip(&p).for_each(|(x, p)| *x += step * p);
            r.iter_mut().zip(&q).for_each(|(r, q)| *r -= step * q);
            let before = std::mem::replace(&mut square, dot(&r, &r));
            p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + square / before * *p);
        }
        x
    }
}

impl Cg {
    /// The system: each drawn element is mirrored, and the diagonal exceeds the sum of the magnitudes of all others in its row
    /// by 1. Of the right side, elements are drawn too.
    fn system(&self, seed: u64) -> System {
        let count = self.rows as usize;
        let mut rows: Vec<Vec<(u64, f64)>> = vec![Vec::new(); count];
        let mut right = Vec::with_capacity(count);
        for row in 0..count {
            let mut random = Random::new(seed, row as u64);
            for _ in 0..self.drawn {
                let (column, value) = (random.below(count), random.unit() - 0.5);
                if column != row {
                    rows[row].push((column as u64, value));
                    rows[column].push((row as u64, value));
                }
            }
            right.push(random.unit() - 0.5);
        }
        let mut starts = vec![0];
        let mut elements = Vec::new();
        for (number, mut row) in rows.into_iter().enumerate() {
            row.push((number as u64, 1.0 + row.iter().map(|(_, value)| value.abs()).sum::<f64>()));
            row.sort_by_key(|&(column, _)| column);
            elements.extend(row);
            starts.push(elements.len() as u64);
        }
        System { starts, elements, right }
    }
}

/// A thread's part of the work.
struct Body<'r, R> {
    regions: &'r [R],
    share: Share,
    count: usize,
}

impl<'r, R> Body<'r, R> {
    fn array<E: Element>(&self, name: usize) -> Array<'r, R, E> {
        Array::new(&self.regions[name])
    }

    fn own(&self) -> std::ops::Range<usize> {
        self.share.block(self.count)
    }

    /// Stores its rows, and its parts of the vectors. Returns its part of the square of the right side.
    fn initialise<T: Thread<Region = R>>(&self, thread: &mut T, system: &System) -> f64 {
        let mut square = 0.0;
        for row in self.own() {
            self.array(STARTS).store(thread, row, system.starts[row]);
            for (number, &(column, value)) in (system.starts[row] as usize..).zip(system.row(row)) {
                thread.instructions(2 * DRAW);
                self.array(COLUMNS).store(thread, number, column);
                self.array(VALUES).store(thread, number, value);
            }
            let right = system.right[row];
            thread.instructions(DRAW + MULTIPLY_ADD);
            for (name, value) in [(X, 0.0), (R, right), (P, right), (Q, 0.0)] {
                self.array(name).store(thread, row, value);
            }
            square += right * right;
        }
        if self.share.number + 1 == self.share.threads {
            self.array(STARTS).store(thread, self.count, system.starts[self.count]);
        }
        square
    }

    /// q = Ap for its rows. Returns its part of the product of p and q.
    fn multiply<T: Thread<Region = R>>(&self, thread: &mut T) -> f64 {
        let (starts, columns) = (self.array::<u64>(STARTS), self.array::<u64>(COLUMNS));
        let (values, p, q) = (self.array::<f64>(VALUES), self.array::<f64>(P), self.array::<f64>(Q));
        let mut product = 0.0;
        for row in self.own() {
            let bounds = starts.load(thread, row) as usize..starts.load(thread, row + 1) as usize;
            thread.instructions(ROW);
            let mut sum = 0.0;
            for number in bounds {
                let (value, column) = (values.load(thread, number), columns.load(thread, number));
                sum += value * p.load_dependent(thread, column as usize);
                thread.instructions(MULTIPLY_ADD);
            }
            q.store(thread, row, sum);
            product += p.load(thread, row) * sum;
            thread.instructions(MULTIPLY_ADD);
        }
        product
    }

    /// x += step p and r -= step q for its part. Returns its part of the square of r.
    fn advance<T: Thread<Region = R>>(&self, thread: &mut T, step: f64) -> f64 {
        let [x, r, p, q] = [X, R, P, Q].map(|name| self.array::<f64>(name));
        let mut square = 0.0;
        for row in self.own() {
            let next = x.load(thread, row) + step * p.load(thread, row);
            x.store(thread, row, next);
            let rest = r.load(thread, row) - step * q.load(thread, row);
            r.store(thread, row, rest);
            square += rest * rest;
            thread.instructions(3 * MULTIPLY_ADD);
        }
        square
    }

    /// p = r + factor p for its part.
    fn turn<T: Thread<Region = R>>(&self, thread: &mut T, factor: f64) {
        let [r, p] = [R, P].map(|name| self.array::<f64>(name));
        for row in self.own() {
            let next = r.load(thread, row) + factor * p.load(thread, row);
            thread.instructions(MULTIPLY_ADD);
            p.store(thread, row, next);
        }
    }
}

impl Program for Cg {
    const REGIONS: &'static [&'static str] = &["row starts", "columns", "values", "x", "r", "p", "q", "partial sums"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (system, threads, count) = (self.system(shape.seed), shape.threads(), self.rows as usize);
        let owner = |row: usize| Share::owner(threads, count, row.min(count - 1));
        // A row's owner stores its elements. The last row that starts no later is the one that has an element.
        let row_of = |element: usize| system.starts.partition_point(|&start| start <= element as u64) - 1;
        let matrix = RegionPlan::first_touch(shape, system.elements.len(), |element| owner(row_of(element)));
        let starts = RegionPlan::first_touch(shape, count + 1, owner);
        let vector = RegionPlan::first_touch(shape, count, owner);
        let [x, r, p, q] = std::array::from_fn(|_| vector.clone());
        vec![starts, matrix.clone(), matrix, x, r, p, q, Reduction::<()>::plan(shape)]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let body = Body { regions, share: Share::new(shape, thread.number()), count: self.rows as usize };
        let mut sums = Reduction::new(shape, &regions[SUMS]);
        let part = body.initialise(thread, &self.system(shape.seed));
        let mut square = sums.sum(thread, part);
        let enough = VANISHED * square;
        thread.measure(true);
        for _ in 0..self.iterations {
            if square <= enough {
                break;
            }
            let part = body.multiply(thread);
            let step = square / sums.sum(thread, part);
            let part = body.advance(thread, step);
            let before = std::mem::replace(&mut square, sums.sum(thread, part));
            thread.instructions(2 * DIVIDE);
            body.turn(thread, square / before);
            thread.barrier();
        }
        thread.measure(false);
        0
    }

    /// The matrix is as it was, the unknowns are those of a serial solution, and what the program holds for their residual is.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (system, count) = (self.system(shape.seed), self.rows as usize);
        let vector = |name| (0..count).map(|row| element(|word| read(name, word), row)).collect::<Vec<f64>>();
        system.starts.iter().enumerate().try_for_each(|(row, &start)| {
            Wrong::unless_equal(read(STARTS, row), start, || format!("the start of row {row}"))
        })?;
        system.elements.iter().enumerate().try_for_each(|(number, &(column, value))| {
            Wrong::unless_equal(read(COLUMNS, number), column, || format!("the column of element {number}"))?;
            Wrong::unless_equal(read(VALUES, number), value.to_bits(), || format!("the bits of element {number}"))
        })?;
        let (x, residual) = (vector(X), vector(R));
        let (solution, product) = (system.solve(self.iterations), system.product(&x));
        (0..count).try_for_each(|row| {
            Wrong::unless_close(x[row], solution[row], ROUNDING, || format!("unknown {row}"))?;
            let left = system.right[row] - product[row];
            // An error of x comes multiplied by a row, of which the diagonal is more than half.
            let scale = system.row(row).iter().map(|(_, value)| value.abs()).sum::<f64>();
            Wrong::unless_close(residual[row], left, ROUNDING * scale, || format!("residual {row}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{Declared, Settings};

    #[test]
    fn the_matrix_is_symmetric_and_dominated_by_its_diagonal() {
        let cg = Cg { rows: 50, drawn: 5, iterations: 1 };
        let system = cg.system(3);
        let mut dense = vec![vec![0.0; 50]; 50];
        for (number, row) in dense.iter_mut().enumerate() {
            system.row(number).iter().for_each(|&(column, value)| row[column as usize] += value);
        }
        for (number, row) in dense.iter().enumerate() {
            let others: f64 = row.iter().map(|value| value.abs()).sum::<f64>() - row[number];
            assert!(others > 0.0 && row[number] > others, "row {number}: {others} beside {}", row[number]);
            assert!(row.iter().zip(&dense).all(|(value, other)| (value - other[number]).abs() < 1e-15), "row {number}");
        }
    }

    #[test]
    fn the_default_number_of_iterations_solves_the_system() {
        let cg = Cg { rows: 500, ..Cg::with(&Settings::default()) };
        let system = cg.system(1);
        let norm = |vector: Vec<f64>| vector.into_iter().map(|value| value * value).sum::<f64>().sqrt();
        let product = system.product(&system.solve(cg.iterations));
        let left = norm(system.right.iter().zip(product).map(|(right, product)| right - product).collect());
        let right = norm(system.right.clone());
        assert!(left < 1e-6 * right, "{left} of {right} is left");
    }
}
