//! Air that carries a pollutant and heat: transport along three axes, mixing along the vertical.

use std::f64::consts::TAU;

use super::field::{Field, index, ring};
use super::{DRAW, LINE};
use crate::parallel::{Array, Reduction, Share, SharedSums, Team, alone, cost, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// The spread of a pollutant in a windy, stratified layer of air, in the manner of apsi of SpecOMP2001: upwind transport of
    /// pollutant and heat by fluxes, turbulence that follows from stability and shear, implicit mixing of every column, and in
    /// each step sums over all air. Threads share by `breadth`, and inner loops go up the columns.
    ///
    /// Untuned, fields are stored level by level and touched first by a loop over levels, whereas all others go over breadth,
    /// width and level: what a thread uses is spread evenly over all P nodes, a part in P on its own, and each step up a column
    /// is to another page, too many for a TLB. Sums that nobody declared as reductions share lines (FLASH dissertation, 6.2.3).
    /// `tuned` 1 stores columns in one piece, in the order of the loops, and touches them first as they are used: nothing is
    /// left that blocking could help. 2 has proper reductions, too. They are opt1 and opt2 of Figure 6.7.
    ///
    /// Eight fields of 2.4 MB are nearly five times what 63 caches of 64 kB hold; the published 1631 MB (Table 3.2) are thirteen
    /// times what those of 2 MB hold. What loops touch on their way up a column is too many pages for a TLB, but no more than half
    /// the lines of such a cache, so that the next column finds them. A slice of a field is some pages of 16 kB, so that tuned
    /// fields can be where they are used.
    Apsi is "apsi": "air quality: fields stored across the loops and placed anyhow, sums that share lines; tuned 1 and 2 repair it",
        fitted to ["flash/figure-6.7 rows tuned=0 columns at 63"] {
        /// Columns along the dimension that is shared.
        breadth: 126, 3 to 4096;
        /// Columns along the other.
        width: 196, 3 to 1024;
        /// Levels of a column.
        levels: 12, 2 to 1024;
        /// Steps.
        rounds: 2, 1 to 10_000;
        /// Steps of these that come before what is measured; the last is measured in any case.
        unmeasured: 0, 0 to 10_000;
        /// 1: fields are stored and placed as they are used. 2: sums are reductions, too.
        tuned: 0, 0 to 2;
    }
}

/// The largest part of a cell that wind carries away in a step, along each axis.
const WIND: f64 = 0.15;
/// Mixing without stratification, in squares of a cell's height in a step.
const MIXING: f64 = 0.8;
/// How much warmer the air is a level higher, and by how much that varies.
const WARMER: f64 = 0.05;
const NOISE: f64 = 0.04;
/// Pollutant everywhere, and at the middle of the puff.
const BACKGROUND: f64 = 0.01;
const PUFF: f64 = 1.0;

/// Instructions of transport beside loads and stores: six faces of two quantities, four each, sums, addresses and loop.
const TRANSPORT: u32 = 75;
/// Instructions of mixing: differences, squares, a division, addresses and loop.
const TURBULENCE: u32 = 18 + cost::DIVISION;
/// Instructions of a cell of a column's equations: the matrix with a division, two right sides, back, addresses and loop.
const COLUMN: u32 = 30 + cost::DIVISION;
/// Instructions of a cell's part of four sums.
const SUM: u32 = 8;
/// Instructions of a cell and step that stand for all that the published program computes besides: 725 cycles make one processor
/// miss in its translation buffer every 233, as 22.3 billion times in 23085 s do (section 6.2.3, Table 3.2). Calibrated on these
/// two figures, of which no file under `reference/` has any; without them processors wait for memory nearly all the time, and this
/// program asks least of memory (3.2.2).
const BESIDES: u32 = 2900;
/// Instructions to begin a cell: winds of two waves each, a puff, noise.
const BEGIN: u32 = 300;

/// The fields, one behind the other in a region.
const POLLUTANT: usize = 0;
const HEAT: usize = 1;
const NEXT_POLLUTANT: usize = 2;
const NEXT_HEAT: usize = 3;
/// Winds through a cell's faces towards larger numbers, along breadth, width and levels.
const WINDS: [usize; 3] = [4, 5, 6];
/// Mixing through a cell's upper face.
const TURBULENT: usize = 7;
const FIELDS: usize = 8;
/// The regions: fields, sums of each step, undeclared parts of sums, declared ones, the team's.
const AIR: usize = 0;
const HISTORY: usize = 1;
const PARTS: usize = 2;
const SUMS: usize = 3;
const TEAM: usize = 4;
/// Lines in one way of the R10000's primary cache, 16 KiB.
const WAY: usize = 128;

/// Columns whose parts of undeclared sums are added up before they go to memory. With each column's alone, 63 processors do
/// little else than wait for those lines, whereas the published program scales to 73 % of 8 (FLASH dissertation, 6.2.3; the speedup
/// of 46 in Figure 6.7): calibrated on that figure.
const STRIP: usize = 28;

/// Pollutant, heat, the square of pollutant, its height.
const VARIABLES: usize = 4;

/// Flux through a face between two cells.
#[inline]
fn upwind(wind: f64, before: f64, after: f64) -> f64 {
    wind * if wind > 0.0 { before } else { after }
}

/// Mixing between two cells from their heat and the winds along them: less the more stable, more the more shear.
#[inline]
fn turbulence([lower, upper]: [f64; 2], shear: f64) -> f64 {
    let stability = (upper - lower).max(0.0);
    MIXING / (1.0 + 10.0 * stability / (0.01 + shear * shear))
}

/// One thread's part. Points are given by breadth, width and level, in whichever order they are stored.
struct Body<'r, R> {
    region: &'r R,
    program: Apsi,
    /// Words from a field to the next.
    apart: usize,
}

impl<R> Body<'_, R> {
    #[inline]
    fn load<T: Thread<Region = R>>(&self, thread: &mut T, name: usize, point: [usize; 3]) -> f64 {
        Field::new(self.region, name * self.apart, self.program.stored()).load(thread, self.program.place(point))
    }

    #[inline]
    fn store<T: Thread<Region = R>>(&self, thread: &mut T, name: usize, point: [usize; 3], value: f64) {
        Field::new(self.region, name * self.apart, self.program.stored()).store(
            thread,
            self.program.place(point),
            value,
        );
    }

    /// The columns of the slices that a thread has.
    fn columns(&self, share: Share) -> impl Iterator<Item = [usize; 2]> + use<R> {
        let [breadth, width, _] = self.program.sides();
        share.block(breadth).flat_map(move |slice| (0..width).map(move |column| [slice, column]))
    }

    /// Stores what there is at the start: tuned by slices, else by levels, which is as it is stored in either case.
    fn initialise<T: Thread<Region = R>>(&self, thread: &mut T, share: Share, seed: u64) {
        let [outer, middle, inner] = self.program.stored();
        for row in share.block(outer * middle) {
            for last in 0..inner {
                let point = self.program.point([row / middle, row % middle, last]);
                for (name, value) in self.program.first(point, seed).into_iter().enumerate() {
                    self.store(thread, name, point, value);
                }
                thread.instructions(BEGIN + DRAW);
            }
        }
    }

    /// Mixing in its columns.
    fn mix<T: Thread<Region = R>>(&self, thread: &mut T, share: Share) {
        let top = self.program.sides()[2] - 1;
        for [slice, column] in self.columns(share) {
            thread.instructions(LINE);
            for level in 0..top {
                let cells = [[slice, column, level], [slice, column, level + 1]];
                let heat = cells.map(|cell| self.load(thread, HEAT, cell));
                let [along, across] = [WINDS[0], WINDS[1]].map(|wind| {
                    let [lower, upper] = cells.map(|cell| self.load(thread, wind, cell));
                    upper - lower
                });
                thread.instructions(TURBULENCE);
                self.store(thread, TURBULENT, cells[0], turbulence(heat, along.hypot(across) / WIND));
            }
        }
    }

    /// Transport of pollutant and heat into its cells.
    fn transport<T: Thread<Region = R>>(&self, thread: &mut T, share: Share) {
        let sides = self.program.sides();
        for [slice, column] in self.columns(share) {
            thread.instructions(LINE);
            for level in 0..sides[2] {
                let here = [slice, column, level];
                let mut values = [POLLUTANT, HEAT].map(|name| self.load(thread, name, here));
                let middle = values;
                for axis in 0..3 {
                    let [before, _, after] = ring(here[axis], sides[axis]).map(|number| {
                        let mut point = here;
                        point[axis] = number;
                        point
                    });
                    let winds = [before, here].map(|face| self.load(thread, WINDS[axis], face));
                    for (each, name) in [POLLUTANT, HEAT].into_iter().enumerate() {
                        let beside = [before, after].map(|point| self.load(thread, name, point));
                        values[each] += upwind(winds[0], beside[0], middle[each]);
                        values[each] -= upwind(winds[1], middle[each], beside[1]);
                    }
                }
                thread.instructions(TRANSPORT + BESIDES);
                self.store(thread, NEXT_POLLUTANT, here, values[0]);
                self.store(thread, NEXT_HEAT, here, values[1]);
            }
        }
    }

    /// Solves the equations of a column: what a cell gives its neighbours by mixing, it has no more. Returns its part of sums.
    fn column<T: Thread<Region = R>>(&self, thread: &mut T, [slice, column]: [usize; 2]) -> [f64; VARIABLES] {
        let levels = self.program.sides()[2];
        let at = |level| [slice, column, level];
        // Eliminated so far: what a cell takes of the next one above, and its two right sides.
        let mut rows: Vec<(f64, [f64; 2])> = Vec::with_capacity(levels);
        let mut below = 0.0;
        for level in 0..levels {
            let above = if level + 1 < levels { self.load(thread, TURBULENT, at(level)) } else { 0.0 };
            let right = [NEXT_POLLUTANT, NEXT_HEAT].map(|name| self.load(thread, name, at(level)));
            let (taken, known) = rows.last().copied().unwrap_or_default();
            let inverse = 1.0 / (1.0 + above + below * (1.0 - taken));
            rows.push((above * inverse, std::array::from_fn(|each| (right[each] + below * known[each]) * inverse)));
            below = above;
        }
        let (mut sums, mut upper) = ([0.0; VARIABLES], [0.0; 2]);
        for (level, (taken, known)) in rows.into_iter().enumerate().rev() {
            upper = std::array::from_fn(|each| known[each] + taken * upper[each]);
            self.store(thread, POLLUTANT, at(level), upper[0]);
            self.store(thread, HEAT, at(level), upper[1]);
            thread.instructions(COLUMN + SUM);
            sums = add(sums, parts(upper, level));
        }
        sums
    }

    /// Solves its columns and sums them up. What the sums are knows at least the master.
    fn settle<T: Thread<Region = R>>(
        &self,
        team: &mut Team<'_, R>,
        thread: &mut T,
        undeclared: &SharedSums<'_, R>,
        sums: &mut Reduction<'_, R>,
    ) -> [f64; VARIABLES] {
        if self.program.tuned == 2 {
            return team.parallel(thread, |thread, share| {
                let part =
                    self.columns(share).fold([0.0; VARIABLES], |sum, column| add(sum, self.column(thread, column)));
                sums.combine(thread, part, add)
            });
        }
        team.parallel(thread, |thread, share| {
            (0..VARIABLES).for_each(|variable| undeclared.clear(thread, variable));
            // Columns of a strip are in one slice: they are counted from the slice's first.
            let columns: Vec<_> = self.columns(share).collect();
            for strip in columns.chunk_by(|one, other| one[0] == other[0] && other[1] % STRIP != 0) {
                let part = strip.iter().fold([0.0; VARIABLES], |sum, &column| add(sum, self.column(thread, column)));
                part.into_iter().enumerate().for_each(|(each, part)| undeclared.add(thread, each, part));
            }
        });
        let totals = |thread: &mut T| std::array::from_fn(|variable| undeclared.total(thread, variable));
        team.master(thread, totals).unwrap_or_default()
    }
}

/// A cell's part of the sums.
fn parts([pollutant, heat]: [f64; 2], level: usize) -> [f64; VARIABLES] {
    [pollutant, heat, pollutant * pollutant, pollutant * level as f64]
}

fn add(one: [f64; VARIABLES], other: [f64; VARIABLES]) -> [f64; VARIABLES] {
    std::array::from_fn(|each| one[each] + other[each])
}

impl Apsi {
    /// Breadth, width and levels.
    fn sides(&self) -> [usize; 3] {
        [self.breadth, self.width, self.levels].map(|side| side as usize)
    }

    /// Words from a field to the next: the same point of all of them falls into sets of the primary cache as far from each other
    /// as can be.
    fn apart(&self, shape: &Shape) -> usize {
        let way = WAY * shape.line_words;
        self.sides().iter().product::<usize>().next_multiple_of(way) + way / FIELDS
    }

    /// The sides in the order in which points are stored.
    fn stored(&self) -> [usize; 3] {
        self.place(self.sides())
    }

    /// A point in the order in which it is stored.
    #[inline]
    fn place(&self, [slice, column, level]: [usize; 3]) -> [usize; 3] {
        if self.tuned == 0 { [level, slice, column] } else { [slice, column, level] }
    }

    /// A point from the order in which it is stored.
    fn point(&self, [outer, middle, inner]: [usize; 3]) -> [usize; 3] {
        if self.tuned == 0 { [middle, inner, outer] } else { [outer, middle, inner] }
    }

    /// The fields of a cell at the start: whirling winds, none through the top, and a puff somewhere.
    fn first(&self, point: [usize; 3], seed: u64) -> [f64; FIELDS] {
        let sides = self.sides();
        let mut places = Random::new(seed, u64::MAX);
        let shift: [f64; 3] = std::array::from_fn(|_| places.unit());
        let part: [f64; 3] = std::array::from_fn(|axis| point[axis] as f64 / sides[axis] as f64);
        let mut random = Random::new(seed, index(sides, point) as u64);
        let wave = |axis: usize, times: f64| (TAU * (times * part[axis] + shift[axis])).sin();
        let mut winds = [0.6 * wave(1, 1.0) + 0.3 * part[2], 0.7 * wave(0, 2.0), 0.5 * wave(0, 1.0) * wave(1, 2.0)];
        if point[2] + 1 == sides[2] {
            winds[2] = 0.0;
        }
        let far = (0..3).map(|axis| (part[axis] - 0.25 - 0.5 * shift[axis]).powi(2)).sum::<f64>();
        let pollutant = BACKGROUND + PUFF * (-40.0 * far).exp();
        let heat = 1.0 + WARMER * point[2] as f64 + NOISE * random.unit();
        let [along, across, up] = winds.map(|wind| WIND * wind);
        [pollutant, heat, 0.0, 0.0, along, across, up, 0.0]
    }

    /// The sums over all cells of fields.
    fn sums(&self, mut cell: impl FnMut([usize; 3]) -> [f64; 2]) -> [f64; VARIABLES] {
        let [breadth, width, levels] = self.sides();
        (0..breadth * width * levels).fold([0.0; VARIABLES], |sums, place| {
            let point = [place / levels / width, place / levels % width, place % levels];
            add(sums, parts(cell(point), point[2]))
        })
    }
}

impl Program for Apsi {
    const REGIONS: &'static [&'static str] = &["fields", "history", "undeclared sums", "partial sums", "fork"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let fields = RegionPlan::unplaced(shape, FIELDS * self.apart(shape));
        let history = RegionPlan::unplaced(shape, self.rounds as usize * VARIABLES);
        let parts = SharedSums::<()>::plan(shape, VARIABLES);
        vec![fields, history, parts, Reduction::<()>::plan(shape), Team::<()>::plan(shape)]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let body = Body { region: &regions[AIR], program: *self, apart: self.apart(shape) };
        let history = Array::<_, [f64; VARIABLES]>::new(&regions[HISTORY]);
        let undeclared = SharedSums::new(shape, &regions[PARTS], thread.number());
        let mut sums = Reduction::new(shape, &regions[SUMS]);
        let mut team = Team::new(shape, &regions[TEAM], thread.number());
        team.prepare(thread, |thread, share| body.initialise(thread, share, shape.seed));
        for round in 0..self.rounds as usize {
            team.begin_round(round as u64, self.rounds, self.unmeasured);
            team.parallel(thread, |thread, share| body.mix(thread, share));
            team.parallel(thread, |thread, share| body.transport(thread, share));
            let totals = body.settle(&mut team, thread, &undeclared, &mut sums);
            team.master(thread, |thread| history.store(thread, round, totals));
        }
        0
    }

    /// Every field is as a run on one thread leaves it; pollutant and heat are as much as at the start in every step, and the
    /// sums of the last step are those of the fields.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (_, serial) = alone(self, shape);
        for (word, &expected) in serial[AIR].iter().enumerate() {
            let what = || format!("element {} of field {}", word % self.apart(shape), word / self.apart(shape));
            Wrong::unless_equal(read(AIR, word), expected, what)?;
        }
        let history = |round| -> [f64; VARIABLES] { element(|word| read(HISTORY, word), round) };
        let first = self.sums(|point| {
            let fields = self.first(point, shape.seed);
            [fields[POLLUTANT], fields[HEAT]]
        });
        let last = self.sums(|point| {
            let place = index(self.stored(), self.place(point));
            [POLLUTANT, HEAT].map(|name| f64::from_bits(read(AIR, name * self.apart(shape) + place)))
        });
        let rounding = |sum: f64| 1e-10 * sum;
        for round in 0..self.rounds as usize {
            for (name, (found, expected)) in
                ["pollutant", "heat"].into_iter().zip(history(round).into_iter().zip(first))
            {
                Wrong::unless_close(found, expected, rounding(expected), || format!("{name} after step {round}"))?;
            }
        }
        for (each, (found, expected)) in history(self.rounds as usize - 1).into_iter().zip(last).enumerate() {
            Wrong::unless_close(found, expected, rounding(expected), || format!("sum {each} of the last step"))?;
        }
        Ok(())
    }
}
