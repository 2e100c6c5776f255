//! Multigrid in three dimensions: a Poisson equation on a periodic cube or bar.

use super::field::{Field, index, ring};
use super::{DRAW, LINE};
use crate::parallel::{Array, Reduction, Share, Team, alone, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// V-cycles of a 27-point Laplacian: residual, restriction, interpolation, a 27-point smoother, with the weights of the NAS
    /// kernel MG, from which mgrid of SpecOMP2001 descends. Every loop is shared by slices of planes, and each slice reads the
    /// planes next to it: the more threads, the more of what a thread reads is another's (FLASH dissertation, sections 3.2.2 and
    /// 6.1, where remote misses grow sixfold from 8 to 63 processors). There is no fault to repair: what helps is a larger cube.
    ///
    /// The cube of 64 keeps about what the published one of 433 MB (Table 3.2) has to secondary caches of 2 MB if caches have
    /// 32 to 64 kB. A bar keeps something else, too: with the planes of the published cube a thread's slice is as thick as there,
    /// and as much of it lies at its borders, however few points a plane has.
    Mgrid is "mgrid": "multigrid, shared by slices: borders are read by neighbours, more the thinner slices are" {
        /// Distances between points along the edge that is shared, whose last point is next to the first: a power of 2.
        intervals: 64, 4 to 1024, powers of 2;
        /// How many times shorter the other two edges are: 1 for a cube.
        narrower: 1, 1 to 1024, powers of 2;
        /// V-cycles.
        rounds: 2, 1 to 1000;
        /// V-cycles of these that come before what is measured; the last is measured in any case.
        unmeasured: 0, 0 to 10_000;
    }
}

/// Weights of a point itself, of the six next to it, of the twelve across an edge, of the eight across a corner.
type Weights = [f64; 4];
/// The Laplacian in units of the distance of points (NAS MG).
const LAPLACIAN: Weights = [-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0];
/// The smoother: about the inverse of the Laplacian for what changes from point to point (NAS MG, classes S to A).
const SMOOTHER: Weights = [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0];
/// Restriction by full weighting, twice as heavy as a mean since the coarser distance is in the units (NAS MG).
const RESTRICTION: Weights = [0.5, 0.25, 0.125, 0.0625];
/// Points with a charge of either sign, ten of each as in NAS MG, and fewer in small cubes.
const CHARGES: usize = 10;

/// Instructions of a line's sums for a point, beside nine loads: six additions, three private stores, addresses and loop.
const SUMS: u32 = 14;
/// Instructions of weighting a point's sums: seven private loads, eight of floating point, addresses and loop.
const WEIGH: u32 = 20;
/// Instructions to interpolate a point, beside one to eight loads of the coarser grid: up to eight of floating point.
const INTERPOLATE: u32 = 12;
/// Instructions to square a residual and add it.
const SQUARE: u32 = 4;

/// The regions: solutions of all levels, residuals of all levels, charges, a norm for each round, parts of sums, the team's.
const SOLUTION: usize = 0;
const RESIDUAL: usize = 1;
const CHARGE: usize = 2;
const NORMS: usize = 3;
const SUM: usize = 4;
const TEAM: usize = 5;

/// Planes, rows and columns of a level.
type Sides = [usize; 3];

/// The points of a plane.
fn points([_, rows, columns]: Sides, plane: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| [plane, row, column]))
}

/// The room of a level in memory. Lines and planes are longer than the box by the two points that a border would take, as in
/// the original: lines beside each other would else fall into one set of the primary cache.
fn room([planes, rows, columns]: Sides) -> [usize; 3] {
    [planes, rows + 2, columns + 2]
}

/// The words of a level.
fn words(sides: Sides) -> usize {
    room(sides).iter().product()
}

/// A line's sums around each of its points: the point, four beside it, four diagonally beside it in the planes across.
type Sums = [f64; 3];

/// Weighted sum at a point, from its sums and those before and after it.
#[inline]
fn weigh([w0, w1, w2, w3]: Weights, [before, here, after]: [Sums; 3]) -> f64 {
    let edges = here[2] + before[1] + after[1];
    w0 * here[0] + w1 * (before[0] + after[0] + here[1]) + w2 * edges + w3 * (before[2] + after[2])
}

/// A thread's view of all levels, the finest first.
struct Grids<'r, R> {
    sides: Vec<Sides>,
    solutions: Vec<Field<'r, R, f64>>,
    residuals: Vec<Field<'r, R, f64>>,
    charges: Field<'r, R, f64>,
}

impl<R> Grids<'_, R> {
    /// The sums along a line of a field: each point of nine lines is loaded once, and sums are private.
    fn sums<T: Thread<Region = R>>(
        thread: &mut T,
        field: Field<'_, R, f64>,
        [planes, rows, columns]: Sides,
        [plane, row]: [usize; 2],
        sums: &mut Vec<Sums>,
    ) {
        let ([below, _, above], [north, _, south]) = (ring(plane, planes), ring(row, rows));
        thread.instructions(LINE);
        sums.clear();
        for column in 0..columns {
            let mut at = |plane, row| field.load(thread, [plane, row, column]);
            let beside = at(plane, north) + at(plane, south) + at(below, row) + at(above, row);
            let across = at(below, north) + at(below, south) + at(above, north) + at(above, south);
            let here = at(plane, row);
            thread.instructions(SUMS);
            sums.push([here, beside, across]);
        }
    }

    /// Weighs the sums around a point of a line.
    #[inline]
    fn around<T: Thread<Region = R>>(thread: &mut T, weights: Weights, sums: &[Sums], column: usize) -> f64 {
        thread.instructions(WEIGH);
        weigh(weights, ring(column, sums.len()).map(|each| sums[each]))
    }

    /// Residuals of a plane: what is asked for less the Laplacian of the solution. Returns the sum of their squares.
    fn residual<T: Thread<Region = R>>(&self, thread: &mut T, level: usize, plane: usize) -> f64 {
        let (sides, mut sums, mut squares) = (self.sides[level], Vec::new(), 0.0);
        let [_, rows, columns] = sides;
        let asked = if level == 0 { self.charges } else { self.residuals[level] };
        for row in 0..rows {
            Self::sums(thread, self.solutions[level], sides, [plane, row], &mut sums);
            for column in 0..columns {
                let point = [plane, row, column];
                let left = asked.load(thread, point) - Self::around(thread, LAPLACIAN, &sums, column);
                self.residuals[level].store(thread, point, left);
                thread.instructions(SQUARE);
                squares += left * left;
            }
        }
        squares
    }

    /// Smooths a plane: adds to the solution what the residuals ask for.
    fn smooth<T: Thread<Region = R>>(&self, thread: &mut T, level: usize, plane: usize) {
        let (sides, mut sums) = (self.sides[level], Vec::new());
        let [_, rows, columns] = sides;
        for row in 0..rows {
            Self::sums(thread, self.residuals[level], sides, [plane, row], &mut sums);
            for column in 0..columns {
                let point = [plane, row, column];
                let change = Self::around(thread, SMOOTHER, &sums, column);
                let value = self.solutions[level].load(thread, point) + change;
                self.solutions[level].store(thread, point, value);
            }
        }
    }

    /// Restricts residuals to a plane of the next coarser level, and makes its solution zero.
    fn restrict<T: Thread<Region = R>>(&self, thread: &mut T, level: usize, plane: usize) {
        let (coarser, mut sums) = (level + 1, Vec::new());
        let [_, rows, columns] = self.sides[coarser];
        for row in 0..rows {
            Self::sums(thread, self.residuals[level], self.sides[level], [2 * plane, 2 * row], &mut sums);
            for column in 0..columns {
                let value = Self::around(thread, RESTRICTION, &sums, 2 * column);
                self.residuals[coarser].store(thread, [plane, row, column], value);
                self.solutions[coarser].store(thread, [plane, row, column], 0.0);
            }
        }
    }

    /// Adds the next coarser level's solution to a plane: between its points the mean of the two, four or eight around.
    fn interpolate<T: Thread<Region = R>>(&self, thread: &mut T, level: usize, plane: usize) {
        let ([_, rows, columns], coarse) = (self.sides[level], self.sides[level + 1]);
        let around = |(number, coarse): (usize, usize)| [number / 2, number.div_ceil(2) % coarse];
        for row in 0..rows {
            thread.instructions(LINE);
            for column in 0..columns {
                let sides = [(plane, coarse[0]), (row, coarse[1]), (column, coarse[2])].map(around);
                let distinct = [plane, row, column].map(|number| 1 + number % 2);
                let mut sum = 0.0;
                for corner in 0..distinct.iter().product() {
                    let [z, rest] = [corner % distinct[0], corner / distinct[0]];
                    let [y, x] = [rest % distinct[1], rest / distinct[1]];
                    sum += self.solutions[level + 1].load(thread, [sides[0][z], sides[1][y], sides[2][x]]);
                }
                let value = self.solutions[level].load(thread, [plane, row, column]);
                let mean = sum / distinct.iter().product::<usize>() as f64;
                self.solutions[level].store(thread, [plane, row, column], value + mean);
                thread.instructions(INTERPOLATE);
            }
        }
    }

    /// A V-cycle, from the residuals of the finest level to its solution.
    fn cycle<T: Thread<Region = R>>(&self, team: &mut Team<'_, R>, thread: &mut T) {
        let coarsest = self.sides.len() - 1;
        for level in 0..coarsest {
            team.parallel_for(thread, self.sides[level + 1][0], |thread, plane| self.restrict(thread, level, plane));
        }
        team.parallel_for(thread, self.sides[coarsest][0], |thread, plane| self.smooth(thread, coarsest, plane));
        for level in (0..coarsest).rev() {
            let planes = self.sides[level][0];
            team.parallel_for(thread, planes, |thread, plane| self.interpolate(thread, level, plane));
            self.lower(team, thread, level);
            team.parallel_for(thread, planes, |thread, plane| self.smooth(thread, level, plane));
        }
    }

    /// Residuals of a level, all planes. Returns the sum of the squares of a thread's own.
    fn lower<T: Thread<Region = R>>(&self, team: &mut Team<'_, R>, thread: &mut T, level: usize) {
        team.parallel_for(thread, self.sides[level][0], |thread, plane| {
            self.residual(thread, level, plane);
        });
    }
}

impl Mgrid {
    /// Sides of the levels, the finest first: the coarsest has two points along the longest edge. An edge of one point, which is
    /// next to itself, stays so: what is left to solve is the same along it.
    fn sides(&self) -> Vec<Sides> {
        let across = self.intervals / self.narrower;
        let coarsened = |level: u32| [self.intervals, across, across].map(|side: u64| (side >> level).max(1) as usize);
        (0..self.intervals.ilog2()).map(coarsened).collect()
    }

    /// Sides of the finest level.
    fn finest(&self) -> Sides {
        self.sides()[0]
    }

    /// Points of the finest level.
    fn points(&self) -> usize {
        self.finest().iter().product()
    }

    /// Where the charges are: the same number of either sign, so that there is a solution in a periodic box.
    fn charges(&self, seed: u64) -> Vec<([usize; 3], f64)> {
        let (sides, mut random) = (self.finest(), Random::new(seed, 0));
        let mut charges: Vec<([usize; 3], f64)> = Vec::new();
        let count = 2 * CHARGES.min(self.points() / 8);
        while charges.len() < count {
            let point = sides.map(|side| random.below(side));
            if charges.iter().all(|&(other, _)| other != point) {
                charges.push((point, if charges.len().is_multiple_of(2) { 1.0 } else { -1.0 }));
            }
        }
        charges
    }

    /// Zeroes all fields by the slices in which they are used, then lets the master put the charges.
    fn initialise<T: Thread>(
        &self,
        grids: &Grids<'_, T::Region>,
        team: &mut Team<'_, T::Region>,
        thread: &mut T,
        seed: u64,
    ) {
        for (level, &sides) in grids.sides.iter().enumerate() {
            let charges = (level == 0).then_some(grids.charges);
            let fields: Vec<_> = charges.into_iter().chain([grids.solutions[level], grids.residuals[level]]).collect();
            team.prepare(thread, |thread, share| {
                for point in share.block(sides[0]).flat_map(|plane| points(sides, plane)) {
                    fields.iter().for_each(|field| field.store(thread, point, 0.0));
                    thread.instructions(2);
                }
            });
        }
        team.master(thread, |thread| {
            for (point, charge) in self.charges(seed) {
                thread.instructions(3 * DRAW);
                grids.charges.store(thread, point, charge);
            }
        });
    }

    /// The root of the mean square of what is left, from fields as they are at the end: computed point by point.
    fn left(&self, solution: impl Fn([usize; 3]) -> f64, charge: impl Fn([usize; 3]) -> f64) -> f64 {
        let sides = self.finest();
        let mut squares = 0.0;
        for point in (0..sides[0]).flat_map(|plane| points(sides, plane)) {
            let around: [[usize; 3]; 3] = std::array::from_fn(|axis| ring(point[axis], sides[axis]));
            let mut left = charge(point);
            for neighbour in 0..27 {
                let steps: [usize; 3] = [neighbour / 9, neighbour / 3 % 3, neighbour % 3];
                let distance = steps.iter().filter(|&&step| step != 1).count();
                left -= LAPLACIAN[distance] * solution(std::array::from_fn(|axis| around[axis][steps[axis]]));
            }
            squares += left * left;
        }
        (squares / self.points() as f64).sqrt()
    }
}

impl Program for Mgrid {
    const REGIONS: &'static [&'static str] = &["solutions", "residuals", "charges", "norms", "partial sums", "fork"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let levels: usize = self.sides().into_iter().map(words).sum();
        let [solution, residual] = [levels; 2].map(|words| RegionPlan::unplaced(shape, words));
        let charge = RegionPlan::unplaced(shape, words(self.finest()));
        let norms = RegionPlan::unplaced(shape, self.rounds as usize);
        vec![solution, residual, charge, norms, Reduction::<()>::plan(shape), Team::<()>::plan(shape)]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let sides = self.sides();
        let firsts = sides.iter().scan(0, |next, sides| Some(std::mem::replace(next, *next + words(*sides))));
        let firsts: Vec<usize> = firsts.collect();
        let levels = |region: usize| {
            let field = |(&sides, &first): (&Sides, &usize)| Field::new(&regions[region], first, room(sides));
            sides.iter().zip(&firsts).map(field).collect::<Vec<_>>()
        };
        let charges = Field::new(&regions[CHARGE], 0, room(self.finest()));
        let grids = Grids { solutions: levels(SOLUTION), residuals: levels(RESIDUAL), charges, sides: sides.clone() };
        let mut team = Team::new(shape, &regions[TEAM], thread.number());
        let mut sums = Reduction::new(shape, &regions[SUM]);
        let norms = Array::<_, f64>::new(&regions[NORMS]);
        self.initialise(&grids, &mut team, thread, shape.seed);
        team.begin_round(0, self.rounds, self.unmeasured);
        grids.lower(&mut team, thread, 0);
        for round in 0..self.rounds as usize {
            team.begin_round(round as u64, self.rounds, self.unmeasured);
            grids.cycle(&mut team, thread);
            let squares = team.parallel(thread, |thread, share: Share| {
                let planes = share.block(self.intervals as usize);
                let part = planes.map(|plane| grids.residual(thread, 0, plane)).sum();
                sums.sum(thread, part)
            });
            team.master(thread, |thread| {
                norms.store(thread, round, (squares / self.points() as f64).sqrt());
            });
        }
        0
    }

    /// Every point of every level is as a run on one thread leaves it. What is left of the charges, computed by another way
    /// from the solution alone, is what the program says, and is less after each cycle.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (_, expected) = alone(self, shape);
        for (region, words) in expected.iter().enumerate().take(NORMS) {
            for (word, &expected) in words.iter().enumerate() {
                Wrong::unless_equal(read(region, word), expected, || format!("word {word} of region {region}"))?;
            }
        }
        let room = room(self.finest());
        let value = |region| move |point| element(|word| read(region, word), index(room, point));
        let left = self.left(value(SOLUTION), value(CHARGE));
        let charges = self.charges(shape.seed).len() as f64;
        let mut before = (charges / self.points() as f64).sqrt();
        for round in 0..self.rounds as usize {
            let norm: f64 = element(|word| read(NORMS, word), round);
            // A cycle leaves a tenth or so, until there is nothing left but rounding.
            let allowed = (0.5 * before).max(ROUNDING);
            Wrong::unless_close(norm, 0.0, allowed, || format!("what is left after round {round}"))?;
            before = norm;
        }
        Wrong::unless_close(before, left, 1e-9 * left + ROUNDING, || "what is left at the end".to_owned())
    }
}

/// Residual that rounding leaves of charges of 1.
const ROUNDING: f64 = 1e-13;
