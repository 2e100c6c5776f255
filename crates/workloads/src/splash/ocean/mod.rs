//! Currents in a square basin: stencils on large grids, and an elliptic equation in every time step.

mod jacobian;
mod layout;
mod solver;
mod two_layers;

use jacobian::jacobian;
use layout::Layout;
use solver::{Grid, Solver};
use two_layers::Basin;

use crate::parallel::{Array, Reduction, Share, alone, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Streams;
use crate::thread::Thread;

program! {
    /// The barotropic vorticity equation under wind, on a square of side 1: advection (Arakawa's Jacobian, nine points of two
    /// grids), the Earth's rotation, friction. In every time step vorticity moves on and the stream function is solved for by
    /// multigrid with red-black relaxation, until the residual is small. As in the contiguous Ocean of SPLASH-2, threads own
    /// subgrids as square as can be, each in one piece of its owner's memory; their borders are what is communicated. With
    /// two layers, it is the whole of SPLASH-2's program: twenty-five grids, ten phases a step, two elliptic equations by multigrid of
    /// its own kind, and subgrids with borders into which threads copy what their neighbours have. Its own runs are of six steps.
    Ocean is "ocean": "currents in a basin: stencils on subgrids, red-black multigrid in every time step" {
        /// Distances between grid points across the basin, a power of 2.
        intervals: 128, 4 to 4096, powers of 2;
        /// Time steps: with two layers, no more than some twenty can be solved.
        steps: 2, 0 to 4096;
        /// Layers of water: 1 for vorticity alone, 2 for SPLASH-2's grids and phases, with points between two rims.
        layers: 1, 1 to 2;
    }
}

/// Instructions of a grid point's time step beside loads and the store: some 50 of floating point, addresses, loop.
const ADVANCE: u32 = 66;
/// Instructions to draw a value at random.
const DRAW: u32 = 20;
/// How much the Earth's rotation changes across the basin, as a vorticity.
const BETA: f64 = 1.0;
/// The curl of the wind's stress, at its most.
const WIND: f64 = 1.0;
/// Bottom friction.
const DRAG: f64 = 0.05;
/// Viscosity, per distance of grid points; and the time step likewise.
const VISCOSITY: f64 = 0.1;
const TIME_STEP: f64 = 0.1;
/// The residual that may remain, of the largest vorticity.
const RESIDUAL: f64 = 1e-8;

/// Where the program's regions are: the levels' solutions come first, then their right sides (the finest is vorticity), then
/// vorticity of the other time, then the place of reductions.
struct Regions {
    levels: usize,
}

impl Regions {
    fn vorticity(&self, step: u64) -> usize {
        if step.is_multiple_of(2) { self.levels } else { 2 * self.levels }
    }

    fn reduction(&self) -> usize {
        2 * self.levels + 1
    }
}

impl Ocean {
    /// The program of two layers, if it is that one. It has as many points each way as distances are asked for, and the rim.
    fn two_layers(&self) -> Option<Basin> {
        (self.layers == 2).then(|| Basin::new(self.intervals, self.steps))
    }

    /// From the finest to the one with a single point inside.
    fn layouts(&self, shape: &Shape) -> Vec<Layout> {
        (1..=self.intervals.ilog2()).rev().map(|power| Layout::new(1 << power, shape)).collect()
    }

    /// Vorticity at a point to begin with: the same whoever draws it.
    fn initial(&self, row: usize, column: usize, points: Streams) -> f64 {
        points.stream(row as u64 * self.intervals + column as u64).unit() - 0.5
    }
}

/// Vorticity after a time step, at a point inside.
fn advance<T: Thread>(
    stream: &Grid<'_, T::Region>,
    vorticity: &Grid<'_, T::Region>,
    (row, column): (usize, usize),
    thread: &mut T,
) -> f64 {
    let mut around = |grid: &Grid<'_, T::Region>| {
        let mut values = [[0.0; 3]; 3];
        for (down, of_row) in values.iter_mut().enumerate() {
            for (right, value) in of_row.iter_mut().enumerate() {
                *value = grid.load(thread, row + down - 1, column + right - 1);
            }
        }
        values
    };
    let (currents, spins) = (around(stream), around(vorticity));
    let ([_, [west, _, east], _], [[_, north, _], [left, here, right], [_, south, _]]) = (currents, spins);
    let distance = stream.distance();
    let jacobian = jacobian(&currents, &spins, distance);
    let rotation = BETA * (east - west) / (2.0 * distance);
    let wind = -WIND * (std::f64::consts::PI * row as f64 * distance).sin();
    let spread = VISCOSITY * distance * (north + left + right + south - 4.0 * here) / (distance * distance);
    thread.instructions(ADVANCE);
    here + TIME_STEP * distance * (wind + spread - jacobian - rotation - DRAG * here)
}

impl Program for Ocean {
    const REGIONS: &'static [&'static str] = &["solutions", "right sides", "vorticity", "partial sums"];

    fn region_name(&self, number: usize) -> &'static str {
        if self.layers == 2 {
            return two_layers::REGIONS[number];
        }
        let levels = self.intervals.ilog2() as usize;
        Self::REGIONS[if number < 2 * levels { number / levels } else { number + 2 - 2 * levels }]
    }

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        if let Some(basin) = self.two_layers() {
            return basin.regions(shape);
        }
        let layouts = self.layouts(shape);
        let levels = || layouts.iter().map(|layout| layout.plan(shape));
        levels().chain(levels()).chain([layouts[0].plan(shape), Reduction::<()>::plan(shape)]).collect()
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        if let Some(basin) = self.two_layers() {
            return basin.run(shape, regions, thread);
        }
        let layouts = self.layouts(shape);
        let at = Regions { levels: layouts.len() };
        let share = Share::new(shape, thread.number());
        let grid = |region: usize, level: usize| Grid::new(&layouts[level], Array::new(&regions[region]));
        let vorticity = |step| grid(at.vorticity(step), 0);
        let points = Streams::of(shape.seed);
        for (row, column) in layouts[0].inside(share.number) {
            vorticity(0).store(thread, row, column, self.initial(row, column, points));
            thread.instructions(DRAW);
        }
        thread.barrier();
        thread.measure(true);
        let mut solver = Solver {
            number: share.number,
            solutions: (0..at.levels).map(|level| grid(level, level)).collect(),
            right_sides: (0..at.levels).map(|level| grid(at.levels + level, level)).collect(),
            reduction: Reduction::new(shape, &regions[at.reduction()]),
        };
        solver.solve(RESIDUAL, thread);
        for step in 0..self.steps {
            let (before, after) = (vorticity(step), vorticity(step + 1));
            for (row, column) in layouts[0].inside(share.number) {
                let value = advance(&solver.solutions[0], &before, (row, column), thread);
                after.store(thread, row, column, value);
            }
            thread.barrier();
            solver.right_sides[0] = after;
            solver.solve(RESIDUAL, thread);
        }
        thread.measure(false);
        0
    }

    /// The stream function has the vorticity that was left behind, and all values are those that one thread alone computes.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        if let Some(basin) = self.two_layers() {
            return basin.check(shape, read);
        }
        let layouts = self.layouts(shape);
        let layout = &layouts[0];
        let at = Regions { levels: layouts.len() };
        let value = |region, row, column| element::<f64>(|word| read(region, word), layout.word(row, column));
        let points = || layout.all_inside();
        let vorticity = at.vorticity(self.steps);
        let scale = points().map(|(row, column)| value(vorticity, row, column).abs()).fold(0.0, f64::max);
        points().try_for_each(|(row, column)| {
            let around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)];
            let sum: f64 = around.into_iter().map(|(row, column)| value(0, row, column)).sum();
            let curl = (sum - 4.0 * value(0, row, column)) * (self.intervals * self.intervals) as f64;
            // The solver's bound, and what rounding adds to it.
            let tolerance = 2.0 * RESIDUAL * scale;
            let what = || format!("the curl of the current at row {row}, column {column}");
            Wrong::unless_close(curl, value(vorticity, row, column), tolerance, what)
        })?;
        let (alone_shape, alone) = alone(self, shape);
        let alone_layout = &self.layouts(&alone_shape)[0];
        points().try_for_each(|(row, column)| {
            [(0, "stream function"), (at.vorticity(0), "vorticity"), (at.vorticity(1), "vorticity")]
                .into_iter()
                .try_for_each(|(region, name)| {
                    let expected: f64 = element(|word| alone[region][word], alone_layout.word(row, column));
                    let what = || format!("{name} at row {row}, column {column}");
                    Wrong::unless_close(value(region, row, column), expected, 0.0, what)
                })
        })
    }
}
