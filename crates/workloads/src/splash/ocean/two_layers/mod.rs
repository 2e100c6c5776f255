//! Two layers of water in a basin: all grids and phases of SPLASH-2's contiguous Ocean.
//!
//! A time step makes right sides for two elliptic equations out of Laplacians and Jacobians of the layers' stream functions, solves
//! them, and moves the stream functions on. Grids have SPLASH-2's names, as do the phases' numbers. What its program does is kept
//! where its comments, or the physics, ask for something else: see [`phases`]. Its friction is too strong for its time step: values grow
//! without bound in more than the six steps of its runs. After some twenty they are too large for a solution as exact as is asked for,
//! which the check then says.

mod multigrid;
mod phases;
mod serial;
mod stencils;
mod subgrids;
#[cfg(test)]
mod tests;

use multigrid::Multigrid;
use phases::Body;
use serial::Serial;
use stencils::Pieces;
use subgrids::{Grid, Partition, Place};

use crate::Blocks;
use crate::parallel::{Array, Locks, element};
use crate::program::{RegionPlan, Shape, Wrong};
use crate::thread::Thread;

/// Thickness of the layers, and of both: metres.
const UPPER: f64 = 1000.0;
const LOWER: f64 = 4000.0;
const BOTH: f64 = UPPER + LOWER;
/// Friction between the layers and at their sides, for the third power of the Laplacian.
const FRICTION: f64 = -5.12e11;
/// Distance of neighbouring points on the finest level, in metres.
const DISTANCE: f64 = 20_000.0;
/// Time step in seconds: three are a day.
const TIME_STEP: f64 = 28_800.0;
/// The Earth's rotation in the middle of the basin, and its change a metre.
const ROTATION: f64 = 8.3e-5;
const BETA: f64 = 2.0e-11;
/// Gravity between the layers.
const GRAVITY: f64 = 0.02;
/// Strength of the wind's stress.
const WIND: f64 = 0.5e-4;
/// The factor of a point's own value in both elliptic equations, beside the Laplacian, a square metre.
const EIGENVALUE: f64 = -BOTH * ROTATION * ROTATION / (UPPER * LOWER * GRAVITY);

/// Regions.
pub const REGIONS: [&str; 6] = ["grids", "solutions", "right sides", "rotation", "sums", "locks"];
const GRIDS: usize = 0;
const SOLUTIONS: usize = 1;
const RIGHT_SIDES: usize = 2;
const ROTATIONS: usize = 3;
const SUMS: usize = 4;
const LOCKS: usize = 5;

/// Locks.
const OF_PSIBI: usize = 0;
const OF_PSIAI: usize = 1;
const OF_CHANGE: usize = 2;

/// The grids of a thread's block, in the order of their memory. Of two, the first belongs to the upper layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Psi1,
    Psi3,
    Psim1,
    Psim3,
    Psium,
    Psilm,
    Psib,
    Ga,
    Gb,
    Work1Upper,
    Work1Lower,
    Work2,
    Work3,
    Work4Upper,
    Work4Lower,
    Work5Upper,
    Work5Lower,
    Work6,
    Work7Upper,
    Work7Lower,
    Temparray1,
    Temparray3,
    Tauz,
    OldGa,
    OldGb,
}

impl Field {
    const ALL: [Self; 25] = [
        Self::Psi1,
        Self::Psi3,
        Self::Psim1,
        Self::Psim3,
        Self::Psium,
        Self::Psilm,
        Self::Psib,
        Self::Ga,
        Self::Gb,
        Self::Work1Upper,
        Self::Work1Lower,
        Self::Work2,
        Self::Work3,
        Self::Work4Upper,
        Self::Work4Lower,
        Self::Work5Upper,
        Self::Work5Lower,
        Self::Work6,
        Self::Work7Upper,
        Self::Work7Lower,
        Self::Temparray1,
        Self::Temparray3,
        Self::Tauz,
        Self::OldGa,
        Self::OldGb,
    ];
}

/// Grids of both layers.
const PSI: [Field; 2] = [Field::Psi1, Field::Psi3];
const PSIM: [Field; 2] = [Field::Psim1, Field::Psim3];
const WORK1: [Field; 2] = [Field::Work1Upper, Field::Work1Lower];
const WORK4: [Field; 2] = [Field::Work4Upper, Field::Work4Lower];
const WORK5: [Field; 2] = [Field::Work5Upper, Field::Work5Lower];
const WORK7: [Field; 2] = [Field::Work7Upper, Field::Work7Lower];
const TEMPARRAY: [Field; 2] = [Field::Temparray1, Field::Temparray3];

/// The program: points each way without the rim, and time steps.
pub struct Basin {
    points: usize,
    steps: u64,
}

impl Basin {
    /// A basin of so many points each way, without the rim, for so many time steps.
    pub fn new(points: u64, steps: u64) -> Self {
        Self { points: points as usize, steps }
    }

    fn partition(&self, shape: &Shape) -> Partition {
        Partition::new(self.points, shape.threads())
    }

    /// Words of a thread's block: of its grids, and of all levels of a grid that has them.
    fn blocks(partition: &Partition, shape: &Shape) -> [usize; 2] {
        let levels: usize = (0..partition.levels).map(|level| partition.words(level)).sum();
        [Field::ALL.len() * partition.words(0), levels].map(|words| words.next_multiple_of(shape.page_words))
    }

    fn sums(shape: &Shape) -> Blocks {
        Blocks::new(shape, 2)
    }

    /// The memory of the program.
    pub fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let partition = self.partition(shape);
        let [grids, levels] = Self::blocks(&partition, shape);
        let of_threads = |words| RegionPlan::by_thread(shape, vec![words; partition.threads()]);
        vec![
            of_threads(grids),
            of_threads(levels),
            of_threads(levels),
            RegionPlan::first_touch(shape, self.points + 2, |_| 0),
            Self::sums(shape).plan(shape.homes.iter().copied().take(1)),
            Locks::<()>::plan(shape, 3),
        ]
    }

    fn grids<'g, R>(region: &'g R, partition: &Partition, shape: &Shape) -> Vec<Grid<'g, R>> {
        let [block, _] = Self::blocks(partition, shape);
        let grid = |field: &Field| Grid::new(region, partition, 0, *field as usize * partition.words(0), block);
        Field::ALL.iter().map(grid).collect()
    }

    fn levels<'g, R>(region: &'g R, partition: &Partition, shape: &Shape) -> Vec<Grid<'g, R>> {
        let [_, block] = Self::blocks(partition, shape);
        // The coarsest comes first in memory.
        let first = |level: usize| (level + 1..partition.levels).map(|coarser| partition.words(coarser)).sum();
        (0..partition.levels).map(|level| Grid::new(region, partition, level, first(level), block)).collect()
    }

    /// Body of one thread.
    pub fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let partition = self.partition(shape);
        let place = Place::new(partition, thread.number());
        let (locks, sums) = (Locks::new(shape, &regions[LOCKS], 3), Self::sums(shape));
        let body = Body {
            pieces: Pieces::new(place),
            points: self.points,
            grids: Self::grids(&regions[GRIDS], &partition, shape),
            multigrid: Multigrid {
                place,
                partition,
                solutions: Self::levels(&regions[SOLUTIONS], &partition, shape),
                right_sides: Self::levels(&regions[RIGHT_SIDES], &partition, shape),
                eigenvalue: EIGENVALUE * DISTANCE * DISTANCE,
                change: Array::from(&regions[SUMS], sums.word(0, 1)),
                lock: (locks, OF_CHANGE),
            },
            rotation: Array::new(&regions[ROTATIONS]),
            sums: Array::from(&regions[SUMS], sums.word(0, 0)),
            locks,
        };
        body.begin(thread);
        thread.measure(true);
        (0..self.steps).for_each(|_| body.step(thread));
        body.end(thread);
        thread.barrier();
        thread.measure(false);
        0
    }

    /// The solutions of both elliptic equations have the right sides that the last step left behind; pointers lead to rows; and all
    /// grids are those of a computation on whole grids.
    pub fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let partition = self.partition(shape);
        let grids = Self::grids(&(), &partition, shape);
        let mut whole = Vec::new();
        for (field, grid) in Field::ALL.into_iter().zip(&grids) {
            whole.push(gathered(&format!("{field:?}"), &partition, grid, |word| read(GRIDS, word))?);
        }
        for (name, region) in [("q_multi", SOLUTIONS), ("rhs_multi", RIGHT_SIDES)] {
            for grid in &Self::levels(&(), &partition, shape) {
                whole.push(gathered(name, &partition, grid, |word| read(region, word))?);
            }
        }
        self.check_solutions(&whole)?;
        let mut serial = Serial::new(self.points, partition.levels);
        (0..self.steps).for_each(|_| serial.step());
        serial.end();
        let names = Field::ALL.iter().map(|field| format!("{field:?}")).chain(["q_multi".to_owned()]);
        let side = self.points + 2;
        for ((name, found), expected) in names.zip(&whole).zip(serial.grids()) {
            let scale = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            for (place, (&found, &expected)) in found.iter().zip(expected).enumerate() {
                let what = || format!("{name} at row {}, column {}", place / side, place % side);
                Wrong::unless_close(found, expected, ROUNDING * scale, what)?;
            }
        }
        let rotation = |column| element::<f64>(|word| read(ROTATIONS, word), column);
        (0..side).try_for_each(|column| {
            let what = || format!("the rotation of column {column}");
            Wrong::unless_close(rotation(column), rotation_of(column, side), 0.0, what)
        })
    }

    /// Relaxing a point once more changes it by no more than the solver tolerates.
    fn check_solutions(&self, whole: &[Vec<f64>]) -> Result<(), Wrong> {
        if self.steps == 0 {
            return Ok(());
        }
        let side = self.points + 2;
        let at = |field: Field, place: usize| whole[field as usize][place];
        let scale = DISTANCE * DISTANCE;
        for place in (1..=self.points).flat_map(|row| (1..=self.points).map(move |column| row * side + column)) {
            let sources = phases::SOURCES.map(|field| at(field, place));
            for (field, right_side) in [Field::OldGa, Field::OldGb].into_iter().zip(phases::right_sides(sources)) {
                let around = [place - side, place + side, place - 1, place + 1];
                let sum: f64 = around.into_iter().map(|place| at(field, place)).sum();
                let relaxed = (sum - scale * right_side) / (4.0 - EIGENVALUE * scale);
                let what = || format!("{field:?} at row {}, column {}", place / side, place % side);
                Wrong::unless_close(at(field, place), relaxed, 1.01 * multigrid::TOLERANCE, what)?;
            }
        }
        Ok(())
    }
}

/// How far rounding leads in a few steps from a computation whose sums have another order, of a grid's largest value: some 1e-11 in
/// six steps.
const ROUNDING: f64 = 1e-9;

/// The Earth's rotation along a column of a basin that is `side` points wide with its rim.
fn rotation_of(column: usize, side: usize) -> f64 {
    ROTATION + BETA * (column as f64 * DISTANCE - 0.5 * (side - 1) as f64 * DISTANCE)
}

/// The curl of the wind's stress along a column.
fn wind_of(column: usize, side: usize) -> f64 {
    let half = 0.5 * (side - 1) as f64 * DISTANCE;
    let phase = std::f64::consts::PI * column as f64 * DISTANCE / half;
    if column == 0 { 0.0 } else { -WIND * std::f64::consts::PI / half * phase.sin() }
}

/// A grid in one piece, without borders between subgrids, if each pointer leads to its row.
fn gathered(
    name: &str,
    partition: &Partition,
    grid: &Grid<'_, ()>,
    read: impl Fn(usize) -> u64,
) -> Result<Vec<f64>, Wrong> {
    let ((rows, columns), points) = (partition.size(grid.level), partition.points >> grid.level);
    let side = points + 2;
    let mut whole = vec![0.0; side * side];
    for place in (0..partition.threads()).map(|number| Place::new(*partition, number)) {
        let (down, right) = place.offset(grid.level);
        for row in 0..rows + 2 {
            let (pointer, start) = grid.words(place.number, row);
            let what = || format!("the pointer to row {row} of {name} of thread {}", place.number);
            Wrong::unless_equal(read(pointer), start as u64, what)?;
            let is_own = |at: usize, count: usize, before, behind| {
                (1..=count).contains(&at) || at == 0 && place.is_at_rim(before) || at > count && place.is_at_rim(behind)
            };
            let columns = (0..columns + 2).filter(|&column| is_own(column, columns, (0, -1), (0, 1)));
            for column in columns.filter(|_| is_own(row, rows, (-1, 0), (1, 0))) {
                whole[(down + row) * side + right + column] = f64::from_bits(read(start + column));
            }
        }
    }
    Ok(whole)
}
