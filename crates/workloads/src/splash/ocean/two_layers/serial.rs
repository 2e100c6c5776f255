//! The same computation on whole grids, one point after the other: what results of threads are compared with.
//!
//! It shares no code with the parallel program but constants, and writes the Jacobian as a sum over triangles around the point.

use super::multigrid::{MOST_WORK, REMAINS, SLOW, TOLERANCE, UNKNOWN};
use super::{BOTH, DISTANCE, EIGENVALUE, FRICTION, LOWER, TIME_STEP, UPPER, rotation_of, wind_of};

/// Values at the points of a square, row by row, those of the rim included.
#[derive(Clone, Debug)]
struct Square {
    side: usize,
    values: Vec<f64>,
}

impl Square {
    fn new(points: usize) -> Self {
        let side = points + 2;
        Self { side, values: vec![0.0; side * side] }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.side + column]
    }

    fn put(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.side + column] = value;
    }

    fn is_inside(&self, row: usize, column: usize) -> bool {
        let inside = 1..self.side - 1;
        inside.contains(&row) && inside.contains(&column)
    }

    /// The square whose values `value` gives by row and column.
    fn of(side: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let places = (0..side).flat_map(|row| (0..side).map(move |column| (row, column)));
        Self { side, values: places.map(|(row, column)| value(row, column)).collect() }
    }

    fn neighbours(&self, row: usize, column: usize) -> f64 {
        self.at(row - 1, column) + self.at(row + 1, column) + self.at(row, column - 1) + self.at(row, column + 1)
    }

    fn laplacian(&self) -> Self {
        let square = DISTANCE * DISTANCE;
        Self::of(self.side, |row, column| {
            let inside = self.is_inside(row, column);
            if inside { (self.neighbours(row, column) - 4.0 * self.at(row, column)) / square } else { 0.0 }
        })
    }

    fn combined(&self, weight: f64, other: &Self, other_weight: f64) -> Self {
        Self::of(self.side, |row, column| weight * self.at(row, column) + other_weight * other.at(row, column))
    }

    /// Values counted by the part of the surroundings of their points that is inside.
    fn integral(&self) -> f64 {
        let part = |at: usize| if at == 0 || at == self.side - 1 { 0.5 } else { 1.0 };
        let rows = 0..self.side;
        rows.map(|row| {
            let columns = 0..self.side;
            columns.map(|column| part(row) * part(column) * self.at(row, column)).sum::<f64>()
        })
        .sum()
    }
}

/// The Jacobian of two grids with its sign changed, as a sum of what flows through triangles of a point and two neighbours.
fn carried(one: &Square, other: &Square) -> Square {
    /// Neighbours round a point.
    const ROUND: [(usize, usize); 8] = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)];
    Square::of(one.side, |row, column| {
        if !one.is_inside(row, column) {
            return 0.0;
        }
        let at = |grid: &Square, number: usize| {
            let (down, right) = ROUND[number % 8];
            grid.at(row + down - 1, column + right - 1)
        };
        let here = one.at(row, column);
        // Edges are crossed by what flows between the neighbours on their sides; corners by what flows between edges.
        let flows: f64 = (0..8)
            .map(|number| {
                let (before, behind) = (at(other, number + 7), at(other, number + 1));
                let mut flow = behind - before;
                if number % 2 == 1 {
                    flow += at(other, number + 2) - at(other, number + 6);
                }
                (at(one, number) - here) * flow
            })
            .sum();
        -flows / (12.0 * DISTANCE * DISTANCE)
    })
}

/// The whole state.
pub struct Serial {
    points: usize,
    psi: [Square; 2],
    psim: [Square; 2],
    sums: [Square; 2],
    psib: Square,
    change: [Square; 2],
    vorticity: [Square; 2],
    work2: Square,
    work3: Square,
    work4: [Square; 2],
    work5: [Square; 2],
    work6: Square,
    work7: [Square; 2],
    copies: [Square; 2],
    wind: Square,
    old: [Square; 2],
    /// Solutions and right sides from the finest level on.
    solutions: Vec<Square>,
    right_sides: Vec<Square>,
}

impl Serial {
    /// The state before the first step, with so many levels.
    pub fn new(points: usize, levels: usize) -> Self {
        let (empty, side) = (Square::new(points), points + 2);
        let two = [empty.clone(), empty.clone()];
        let all: Vec<Square> = (0..levels).map(|level| Square::new(points >> level)).collect();
        let mut state = Self {
            points,
            psi: two.clone(),
            psim: two.clone(),
            sums: two.clone(),
            psib: Square::of(side, |row, column| if empty.is_inside(row, column) { 0.0 } else { 1.0 }),
            change: two.clone(),
            vorticity: two.clone(),
            work2: empty.clone(),
            work3: empty.clone(),
            work4: two.clone(),
            work5: two.clone(),
            work6: empty.clone(),
            work7: two.clone(),
            copies: two.clone(),
            wind: Square::of(side, |_, column| wind_of(column, side)),
            old: two,
            solutions: all.clone(),
            right_sides: all,
        };
        let scale = DISTANCE * DISTANCE;
        let psib = state.psib.clone();
        let guess = |row, column| (psib.neighbours(row, column) - scale * psib.at(row, column)) / diagonal(0);
        state.psib = state.solved(&psib, guess);
        state
    }

    /// The solution for a right side, which is that of the rim too, from a guess inside.
    fn solved(&mut self, right_side: &Square, guess: impl Fn(usize, usize) -> f64) -> Square {
        let scale = DISTANCE * DISTANCE;
        self.right_sides[0] = right_side.combined(scale, right_side, 0.0);
        self.solutions[0] = Square::of(right_side.side, |row, column| {
            if right_side.is_inside(row, column) { guess(row, column) } else { right_side.at(row, column) }
        });
        self.solve();
        self.solutions[0].clone()
    }

    fn solve(&mut self) {
        let mut goals = vec![TOLERANCE; self.solutions.len()];
        let (mut level, mut work, mut before) = (0, 0.0, UNKNOWN);
        while work <= MOST_WORK {
            let change = self.relax(level);
            work += 1.0 / 4_f64.powi(level as i32);
            if change < goals[level] && level == 0 {
                return;
            }
            let is_slow = change / before >= SLOW && level + 1 < goals.len();
            before = if change < goals[level] || is_slow { UNKNOWN } else { change };
            if change < goals[level] {
                self.correct(level);
                level -= 1;
            } else if is_slow {
                self.inject(level);
                level += 1;
                goals[level] = REMAINS * change;
            }
        }
    }

    fn relax(&mut self, level: usize) -> f64 {
        let (solution, right_side) = (&mut self.solutions[level], &self.right_sides[level]);
        let (inside, mut largest) = (1..solution.side - 1, 0.0);
        for colour in 0..2 {
            for row in inside.clone() {
                for column in inside.clone().filter(|column| (row + column) % 2 == colour) {
                    let sum = solution.neighbours(row, column) - right_side.at(row, column);
                    let value = sum / diagonal(level);
                    largest = f64::max(largest, (solution.at(row, column) - value).abs());
                    solution.put(row, column, value);
                }
            }
        }
        largest
    }

    /// The next coarser right side: twice the residuals of every other point, each with some of those before it.
    fn inject(&mut self, level: usize) {
        let (finer, coarser) = self.right_sides.split_at_mut(level + 1);
        let (solution, side, coarse) = (&self.solutions[level], &finer[level], &mut coarser[0]);
        let twice = |row: usize, column: usize| {
            2.0 * (side.at(row, column) - solution.neighbours(row, column) + diagonal(level) * solution.at(row, column))
        };
        let last = coarse.side - 1;
        for (row, column) in (1..last).flat_map(|row| (1..last).map(move |column| (row, column))) {
            let [up, left] = [row, column].map(|at| at as f64 / (2.0 * last as f64));
            let is_first = row == 1 || column == 1;
            let other = |up: usize, left: usize| if is_first { 0.0 } else { twice(2 * row - up, 2 * column - left) };
            let along = left * other(0, 2) + (1.0 - left) * twice(2 * row, 2 * column);
            let above = left * other(2, 2) + (1.0 - left) * other(2, 0);
            coarse.put(row, column, up * above + (1.0 - up) * along);
        }
        self.solutions[level + 1].values.fill(0.0);
    }

    /// Adds a level's correction to the next finer one. A finer point is between its own coarser one and the next on its side.
    fn correct(&mut self, level: usize) {
        let (finer, coarser) = self.solutions.split_at_mut(level);
        let (finer, coarser) = (&mut finer[level - 1], &coarser[0]);
        let (points, last) = (coarser.side - 2, finer.side - 1);
        // Its own coarser point, the other, and how near the other is.
        let place = |fine: usize| {
            let own = fine.div_ceil(2);
            if fine % 2 == 1 { (own, own - 1, (points + 1 - own) as f64) } else { (own, own + 1, own as f64) }
        };
        for (row, column) in (1..last).flat_map(|row| (1..last).map(move |column| (row, column))) {
            let ((own, other, down), (here, beside, right)) = (place(row), place(column));
            let (down, right) = (down / last as f64, right / last as f64);
            let along = |row| right * coarser.at(row, beside) + (1.0 - right) * coarser.at(row, here);
            let value = finer.at(row, column) + down * along(other) + (1.0 - down) * along(own);
            finer.put(row, column, value);
        }
    }

    /// A time step.
    pub fn step(&mut self) {
        let (of_upper, of_lower, last) = (UPPER / BOTH, LOWER / BOTH, self.points + 1);
        for layer in 0..2 {
            let plain = self.psi[layer].laplacian();
            self.vorticity[layer] = Square::of(plain.side, |row, column| {
                let is_side = (column == 0 || column == last) && (1..last).contains(&row);
                plain.at(row, column) + rotation_of(if is_side { row } else { column }, last + 1)
            });
            self.work5[layer] = carried(&self.vorticity[layer], &self.psi[layer]);
            self.work4[layer] = self.psim[layer].laplacian().laplacian();
            self.work7[layer] = self.work4[layer].laplacian();
            self.copies[layer] = self.psi[layer].clone();
        }
        self.work2 = self.psi[0].combined(1.0, &self.psi[1], -1.0);
        self.work3 = self.work3.combined(of_lower, &self.psi[1], of_upper);
        self.work6 = carried(&self.work2, &self.work3);
        std::mem::swap(&mut self.psi, &mut self.psim);
        let difference = self.work5[0].combined(1.0, &self.work5[1], -1.0);
        let friction = self.work7[0].combined(FRICTION, &self.work7[1], -FRICTION);
        let forces = self.work6.combined(EIGENVALUE, &self.wind, 1.0 / UPPER);
        let right_side = difference.combined(1.0, &forces, 1.0).combined(1.0, &friction, 1.0);
        let old = self.old[0].clone();
        self.old[0] = self.solved(&right_side, |row, column| old.at(row, column));
        let factor = -self.old[0].integral() / self.psib.integral();
        self.change[0] = self.old[0].combined(1.0, &self.psib, factor);
        let mean = self.work5[0].combined(of_upper, &self.work5[1], of_lower);
        let friction = self.work7[0].combined(FRICTION * of_upper, &self.work7[1], FRICTION * of_lower);
        let right_side = mean.combined(1.0, &friction, 1.0).combined(1.0, &self.wind, 1.0 / BOTH);
        let old = self.old[1].clone();
        self.old[1] = self.solved(&right_side, |row, column| old.at(row, column));
        self.change[1] = self.old[1].clone();
        self.work3 = self.change[1].combined(1.0, &self.change[0], of_lower);
        self.work2 = self.change[1].combined(1.0, &self.change[0], -of_upper);
        self.psi[0] = self.psi[0].combined(1.0, &self.work3, 2.0 * TIME_STEP);
        self.psi[1] = self.psi[1].combined(1.0, &self.work2, 2.0 * TIME_STEP);
    }

    /// The end of the last step.
    pub fn end(&mut self) {
        for layer in 0..2 {
            self.sums[layer] = self.sums[layer].combined(1.0, &self.psim[layer], 1.0);
        }
    }

    /// All grids in the order of [`super::Field`], and the finest level's solution.
    pub fn grids(&self) -> Vec<&[f64]> {
        let [vorticity, work4, work5, work7] = [&self.vorticity, &self.work4, &self.work5, &self.work7];
        let (before, work23) = ([&self.psi, &self.psim, &self.sums], [&self.work2, &self.work3]);
        let first = before.into_iter().flatten().chain([&self.psib]).chain(&self.change).chain(vorticity).chain(work23);
        let then = work4.iter().chain(work5).chain([&self.work6]).chain(work7).chain(&self.copies);
        let all = first.chain(then).chain([&self.wind]).chain(&self.old).chain([&self.solutions[0]]);
        all.map(|square| square.values.as_slice()).collect()
    }
}

/// The factor of a point's own value in its equation.
fn diagonal(level: usize) -> f64 {
    4.0 - EIGENVALUE * DISTANCE * DISTANCE * 4_f64.powi(level as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other form of the Jacobian, on values that have no symmetry.
    #[test]
    fn triangles_make_the_mean_of_three_forms() {
        let value = |seed: usize| move |row: usize, column: usize| ((row * 7 + column * 11 + seed) * 37 % 101) as f64;
        let (one, other) = (Square::of(6, value(3)), Square::of(6, value(58)));
        let found = carried(&one, &other);
        for (row, column) in (1..5).flat_map(|row| (1..5).map(move |column| (row, column))) {
            let around = |grid: &Square| {
                std::array::from_fn(|down| std::array::from_fn(|right| grid.at(row + down - 1, column + right - 1)))
            };
            let expected = -super::super::super::jacobian::jacobian(&around(&one), &around(&other), DISTANCE);
            assert!((found.at(row, column) - expected).abs() < 1e-9 * expected.abs().max(1e-8), "{row} {column}");
        }
    }
}
