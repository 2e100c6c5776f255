//! Shallow water: stencils on thirteen grids.

use std::f64::consts::{PI, TAU};

use crate::loops::Rows;
use crate::parallel::{Team, cost};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::{DRAW, LINE};

program! {
    /// The shallow-water equations on a periodic grid, by Sadourny's scheme that conserves potential enstrophy (1975), leapfrog
    /// with smoothing in time: the algorithm and the memory behaviour of swim of SpecOMP2001. In each step three sweeps go over
    /// all grids, each a parallel section: mass fluxes, vorticity and height; the new velocities and pressure; smoothing.
    /// Every thread has rows that follow each other, and reads one more on either side: almost all misses are local, however
    /// many threads there are (FLASH dissertation, section 3.2 and Figure 3.5). Chapter 6 finds no fault to mend in it.
    Swim is "swim": "shallow-water stencils on thirteen grids: local streams, and rows of two neighbours" {
        /// Rows and columns of a grid.
        side: 384, 3 to 8192;
        /// Steps in time.
        rounds: 4, 1 to 10_000;
        /// Steps of these that come before what is measured; the last is measured in any case.
        unmeasured: 0, 0 to 10_000;
    }
}

/// Metres between points of the grid.
const DISTANCE: f64 = 1e5;
/// Seconds of a step.
const STEP: f64 = 90.0;
/// How much of the second difference in time smoothing adds to the past.
const SMOOTHING: f64 = 1e-3;
/// The largest value of the stream function from which the first velocities come, in square metres a second.
const STREAM: f64 = 1e6;
/// Mean pressure over density, in square metres a square second.
const PRESSURE: f64 = 5e4;

/// Instructions for a point beside loads and stores. Fluxes: three each; vorticity seven and a division; height six; addresses
/// and loop six.
const FLUXES: u32 = 25 + cost::DIVISION;
/// Each velocity nine, pressure four, addresses and loop eight.
const ADVANCE: u32 = 30;
/// Each of three fields three, addresses and loop eight.
const SMOOTH: u32 = 17;
/// To begin a point: two sines, two cosines, and what is made of them.
const BEGIN: u32 = 200;

/// A grid: velocities along rows' numbers and columns' numbers, pressure; mass fluxes, vorticity, height; the next and the last
/// step's velocities and pressure.
type Name = usize;
const U: Name = 0;
const V: Name = 1;
const P: Name = 2;
const FLUX_U: Name = 3;
const FLUX_V: Name = 4;
const VORTICITY: Name = 5;
const HEIGHT: Name = 6;
const NEXT_U: Name = 7;
const NEXT_V: Name = 8;
const NEXT_P: Name = 9;
const LAST_U: Name = 10;
const LAST_V: Name = 11;
const LAST_P: Name = 12;
const GRIDS: usize = 13;

/// Where a neighbour is in a direction.
type Side = usize;
const BEFORE: Side = 0;
const HERE: Side = 1;
const AFTER: Side = 2;

/// The grids around a point.
trait Around {
    /// The value of a grid at the point or its neighbour by row and by column.
    fn at(&mut self, grid: Name, row: Side, column: Side) -> f64;

    fn here(&mut self, grid: Name) -> f64 {
        self.at(grid, HERE, HERE)
    }
}

/// Mass fluxes, vorticity and height.
fn fluxes(grids: &mut impl Around) -> [f64; 4] {
    let (p, above) = (grids.here(P), grids.at(P, BEFORE, HERE));
    let (left, corner) = (grids.at(P, HERE, BEFORE), grids.at(P, BEFORE, BEFORE));
    let (u, u_left, u_below) = (grids.here(U), grids.at(U, HERE, BEFORE), grids.at(U, AFTER, HERE));
    let (v, v_above, v_right) = (grids.here(V), grids.at(V, BEFORE, HERE), grids.at(V, HERE, AFTER));
    let turn = 4.0 / DISTANCE * ((v - v_above) - (u - u_left));
    [
        0.5 * (p + above) * u,
        0.5 * (p + left) * v,
        turn / (p + above + left + corner),
        p + 0.25 * (u_below * u_below + u * u + v_right * v_right + v * v),
    ]
}

/// The next velocities and pressure, `time` seconds after the last ones.
fn advance(grids: &mut impl Around, time: f64) -> [f64; 3] {
    let (z, z_right, z_below) =
        (grids.here(VORTICITY), grids.at(VORTICITY, HERE, AFTER), grids.at(VORTICITY, AFTER, HERE));
    let (h, h_above, h_left) = (grids.here(HEIGHT), grids.at(HEIGHT, BEFORE, HERE), grids.at(HEIGHT, HERE, BEFORE));
    let (flux_u, u_below) = (grids.here(FLUX_U), grids.at(FLUX_U, AFTER, HERE));
    let (flux_v, v_right) = (grids.here(FLUX_V), grids.at(FLUX_V, HERE, AFTER));
    let v_around = v_right + grids.at(FLUX_V, BEFORE, AFTER) + grids.at(FLUX_V, BEFORE, HERE) + flux_v;
    let u_around = u_below + flux_u + grids.at(FLUX_U, HERE, BEFORE) + grids.at(FLUX_U, AFTER, BEFORE);
    let slope = time / DISTANCE;
    [
        grids.here(LAST_U) + time / 8.0 * (z_right + z) * v_around - slope * (h - h_above),
        grids.here(LAST_V) - time / 8.0 * (z_below + z) * u_around - slope * (h - h_left),
        grids.here(LAST_P) - slope * (u_below - flux_u) - slope * (v_right - flux_v),
    ]
}

/// New values of now, which are the next ones, and then new last values, which are those of now, smoothed.
fn smooth(grids: &mut impl Around, smoothing: f64) -> [f64; 6] {
    let now = [U, V, P].map(|grid| grids.here(grid));
    let next = [NEXT_U, NEXT_V, NEXT_P].map(|grid| grids.here(grid));
    let last = [LAST_U, LAST_V, LAST_P].map(|grid| grids.here(grid));
    let smoothed = |each: usize| now[each] + smoothing * (next[each] - 2.0 * now[each] + last[each]);
    [next[0], next[1], next[2], smoothed(0), smoothed(1), smoothed(2)]
}

/// Pass over the grids, from point to point: a thread's over its rows, or the check's over all.
trait Sweep: Around {
    /// A step begins.
    fn begin_round(&mut self, round: u64);

    /// Computes `to` at every point in `cost` instructions.
    fn sweep<const N: usize>(&mut self, to: [Name; N], cost: u32, compute: impl Fn(&mut Self) -> [f64; N]);
}

/// All steps. The first has no last step: it begins and ends in the middle of a leap.
fn steps(sweeps: &mut impl Sweep, rounds: u64) {
    for round in 0..rounds {
        sweeps.begin_round(round);
        let (time, smoothing) = if round == 0 { (STEP, 0.0) } else { (2.0 * STEP, SMOOTHING) };
        sweeps.sweep([FLUX_U, FLUX_V, VORTICITY, HEIGHT], FLUXES, |grids| fluxes(grids));
        sweeps.sweep([NEXT_U, NEXT_V, NEXT_P], ADVANCE, |grids| advance(grids, time));
        sweeps.sweep([U, V, P, LAST_U, LAST_V, LAST_P], SMOOTH, |grids| smooth(grids, smoothing));
    }
}

/// A number, and those before and after it of `count` in a ring.
fn ring(number: usize, count: usize) -> [usize; 3] {
    [(number + count - 1) % count, number, (number + 1) % count]
}

/// A thread's rows of all grids.
struct Shared<'t, 'r, T: Thread> {
    thread: &'t mut T,
    team: Team<'r, T::Region>,
    region: &'t T::Region,
    rows: Rows,
    program: Swim,
    /// The rows and the columns around the point.
    at: [[usize; 3]; 2],
}

impl<T: Thread> Around for Shared<'_, '_, T> {
    #[inline]
    fn at(&mut self, grid: Name, row: Side, column: Side) -> f64 {
        let [rows, columns] = &self.at;
        self.rows.row_of(self.region, grid, rows[row]).load(self.thread, columns[column])
    }
}

impl<T: Thread> Sweep for Shared<'_, '_, T> {
    fn begin_round(&mut self, round: u64) {
        self.team.begin_round(round, self.program.rounds, self.program.unmeasured);
    }

    fn sweep<const N: usize>(&mut self, to: [Name; N], cost: u32, compute: impl Fn(&mut Self) -> [f64; N]) {
        let side = self.program.side as usize;
        self.team.fork(self.thread);
        for row in self.rows.own(self.thread.number()) {
            self.thread.instructions(LINE);
            for column in 0..side {
                self.at = [ring(row, side), ring(column, side)];
                let values = compute(self);
                self.thread.instructions(cost);
                for (grid, value) in to.into_iter().zip(values) {
                    self.rows.row_of(self.region, grid, row).store(self.thread, column, value);
                }
            }
        }
        self.team.join(self.thread);
    }
}

/// All grids, each by rows.
struct Serial {
    grids: Vec<Vec<f64>>,
    side: usize,
    at: [[usize; 3]; 2],
}

impl Around for Serial {
    fn at(&mut self, grid: Name, row: Side, column: Side) -> f64 {
        self.grids[grid][self.at[0][row] * self.side + self.at[1][column]]
    }
}

impl Sweep for Serial {
    fn begin_round(&mut self, _: u64) {}

    fn sweep<const N: usize>(&mut self, to: [Name; N], _: u32, compute: impl Fn(&mut Self) -> [f64; N]) {
        for point in 0..self.side * self.side {
            self.at = [ring(point / self.side, self.side), ring(point % self.side, self.side)];
            let values = compute(self);
            to.into_iter().zip(values).for_each(|(grid, value)| self.grids[grid][point] = value);
        }
    }
}

impl Swim {
    fn rows(&self, shape: &Shape) -> Rows {
        Rows::several(shape, GRIDS, self.side as usize, self.side as usize)
    }

    /// The first velocities and pressure of a row: whirls, and a little noise on the pressure.
    fn begin(&self, seed: u64, row: usize) -> impl Iterator<Item = [f64; 3]> + use<> {
        let (side, mut random) = (self.side as f64, Random::new(seed, row as u64));
        let stream = move |row: usize, column: usize| {
            let sine = |number: usize| (TAU * (number as f64 + 0.5) / side).sin();
            STREAM * sine(row) * sine(column)
        };
        let wave = move |number: usize| (2.0 * TAU * number as f64 / side).cos();
        let amplitude = (PI * STREAM / (side * DISTANCE)).powi(2);
        (0..self.side as usize).map(move |column| {
            let here = stream(row, column);
            let u = (here - stream(row, column + 1)) / DISTANCE;
            let v = (stream(row + 1, column) - here) / DISTANCE;
            [u, v, PRESSURE + amplitude * (wave(row) + wave(column)) + random.unit()]
        })
    }
}

/// Initial value of each grid.
fn fill([u, v, p]: [f64; 3]) -> [f64; GRIDS] {
    let mut values = [0.0; GRIDS];
    [U, LAST_U].into_iter().for_each(|grid| values[grid] = u);
    [V, LAST_V].into_iter().for_each(|grid| values[grid] = v);
    [P, LAST_P].into_iter().for_each(|grid| values[grid] = p);
    values
}

impl Program for Swim {
    const REGIONS: &'static [&'static str] = &["grids", "fork"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let words = self.rows(shape).plan(shape).words();
        vec![RegionPlan::unplaced(shape, words), Team::<()>::plan(shape)]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (rows, region) = (self.rows(shape), &regions[0]);
        let mut team = Team::new(shape, &regions[1], thread.number());
        team.prepare(thread, |thread, share| {
            for row in rows.own(share.number) {
                for (column, fields) in self.begin(shape.seed, row).enumerate() {
                    thread.instructions(BEGIN + DRAW);
                    for (grid, value) in fill(fields).into_iter().enumerate() {
                        rows.row_of(region, grid, row).store(thread, column, value);
                    }
                }
            }
        });
        steps(&mut Shared { thread, team, region, rows, program: *self, at: [[0; 3]; 2] }, self.rounds);
        0
    }

    /// Every grid is what serial sweeps leave, and the mass is what it was: what leaves a point comes to another.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (rows, side) = (self.rows(shape), self.side as usize);
        let mut serial = Serial { grids: vec![Vec::new(); GRIDS], side, at: [[0; 3]; 2] };
        for values in (0..side).flat_map(|row| self.begin(shape.seed, row)).map(fill) {
            serial.grids.iter_mut().zip(values).for_each(|(grid, value)| grid.push(value));
        }
        let mass: f64 = serial.grids[P].iter().sum();
        steps(&mut serial, self.rounds);
        let found = |grid, point| rows.element_of::<f64>(|word| read(0, word), grid, point / side, point % side);
        for (grid, expected) in serial.grids.iter().enumerate() {
            for (point, &expected) in expected.iter().enumerate() {
                Wrong::unless_close(found(grid, point), expected, 0.0, || format!("point {point} of grid {grid}"))?;
            }
        }
        // Each point and step may round.
        let tolerance = f64::EPSILON * mass * (self.rounds as f64 + side as f64);
        Wrong::unless_close((0..side * side).map(|point| found(P, point)).sum(), mass, tolerance, || "mass".to_owned())
    }
}
