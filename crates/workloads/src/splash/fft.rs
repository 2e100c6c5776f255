//! A complex one-dimensional Fourier transform in six steps, three of them transposes.

use std::ops::Range;

use num_complex::Complex64;

use crate::Blocks;
use crate::parallel::{Array, Element, Share, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// Bailey's six-step transform, as the FFT of SPLASH-2 has it: the points are a square matrix of which every thread owns
    /// rows that follow each other. It transposes, transforms its rows, multiplies by roots of unity, transposes, transforms its
    /// rows, and transposes. Only the transposes communicate, all to all, patch by patch; in which order a thread visits the
    /// others is `stagger` (Prestor 2001, section 6.5 on the FFT kernel, Figures 6.5 to 6.7).
    Fft is "fft": "Fourier transform in six steps: three transposes all to all, and local transforms between them" {
        /// Points to transform, a power of 4.
        points: 65_536, 16 to 16_777_216, powers of 4;
        /// Whose patches a transpose copies first: 0 those of thread 0, for all; 1 the next one's; 2 in a scrambled order.
        stagger: 1, 0 to 2;
    }
}

/// Instructions of a butterfly beside its loads and stores: ten of floating point, addresses, and its part of the loop.
const BUTTERFLY: u32 = 14;
/// Instructions to multiply a point by its root: six of floating point, addresses, loop.
const MULTIPLY: u32 = 9;
/// Instructions to copy or swap points, beside loads and stores: addresses, loop.
const COPY: u32 = 3;
/// Instructions to compute a root of unity: sine and cosine.
const ROOT: u32 = 100;
/// Instructions to draw a point at random.
const DRAW: u32 = 20;

/// The regions, in their order.
const DATA: usize = 0;
const TRANSPOSED: usize = 1;
const ROOTS: usize = 2;
const ROW_ROOTS: usize = 3;

type Points<'r, R> = Array<'r, R, Complex64>;

/// A thread's part of the work.
struct Body {
    share: Share,
    /// Points in a row, and rows.
    side: usize,
    /// Points in a cache line, at least one.
    line: usize,
    stagger: u64,
}

impl Fft {
    fn side(&self) -> usize {
        1 << (self.points.ilog2() / 2)
    }

    /// Each thread's own roots for transforms of rows.
    fn row_roots(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, (self.side() / 2 * Complex64::WORDS).div_ceil(shape.line_words))
    }

    /// The points to be transformed, those of a row.
    fn input(row: usize, side: usize, seed: u64) -> impl Iterator<Item = Complex64> {
        let mut random = Random::new(seed, row as u64);
        (0..side).map(move |_| Complex64::new(random.unit() - 0.5, random.unit() - 0.5))
    }
}

impl Body {
    fn rows(&self, thread: usize) -> Range<usize> {
        Share { number: thread, ..self.share }.block(self.side)
    }

    /// The threads whose patches a transpose copies, in order, all of them once.
    ///
    /// Staggered, no two threads visit the same one at once as long as they keep step. What is scrambled in the third order the
    /// thesis does not say beyond "binary": here, thread and reversed number of the step are combined bit by bit, so that
    /// partners change over and the first is half the machine away.
    fn visits(&self) -> impl Iterator<Item = usize> + use<> {
        let Share { number, threads } = self.share;
        let (stagger, bits) = (self.stagger, threads.next_power_of_two().trailing_zeros());
        let reversed = move |step: usize| step.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
        let visit = move |step: usize| match stagger {
            0 => step,
            1 => (number + 1 + step) % threads,
            _ => number ^ reversed((step + 1) % (1 << bits)),
        };
        (0..1 << bits)
            .filter(move |&step| stagger > 1 || step < threads)
            .map(visit)
            .filter(move |&other| other < threads)
    }

    /// Draws the rows, and computes the roots by which their points are multiplied and those for transforms of rows.
    fn initialise<T: Thread>(
        &self,
        seed: u64,
        regions: &[T::Region],
        row_roots: Points<'_, T::Region>,
        thread: &mut T,
    ) {
        let (data, roots) = (Points::new(&regions[DATA]), Points::new(&regions[ROOTS]));
        let side = self.side;
        for row in self.rows(self.share.number) {
            for (column, point) in Fft::input(row, side, seed).enumerate() {
                thread.instructions(DRAW);
                data.store(thread, row * side + column, point);
            }
            for column in 0..side {
                thread.instructions(ROOT);
                let turns = -((row * column) as f64) / (side * side) as f64;
                roots.store(thread, row * side + column, root(turns));
            }
        }
        for number in 0..side / 2 {
            thread.instructions(ROOT);
            row_roots.store(thread, number, root(-(number as f64) / side as f64));
        }
    }

    /// Fills own rows of `to` with columns of `from`, in blocks of lines: every line that is fetched is used up.
    fn transpose<T: Thread>(&self, from: Points<'_, T::Region>, to: Points<'_, T::Region>, thread: &mut T) {
        let (side, own) = (self.side, self.rows(self.share.number));
        for other in self.visits() {
            let theirs = self.rows(other);
            for row in theirs.clone().step_by(self.line) {
                for column in own.clone().step_by(self.line) {
                    for row in row..theirs.end.min(row + self.line) {
                        for column in column..own.end.min(column + self.line) {
                            let point = from.load(thread, row * side + column);
                            to.store(thread, column * side + row, point);
                            thread.instructions(COPY);
                        }
                    }
                }
            }
        }
    }

    /// Transforms a row where it is: bits of the numbers reversed, then butterflies over ever larger distances.
    fn transform<T: Thread>(
        &self,
        points: Points<'_, T::Region>,
        roots: Points<'_, T::Region>,
        row: usize,
        thread: &mut T,
    ) {
        let (side, first) = (self.side, row * self.side);
        let bits = side.trailing_zeros();
        for number in 0..side {
            let reversed = number.reverse_bits() >> (usize::BITS - bits);
            thread.instructions(COPY);
            if number < reversed {
                let (one, other) = (points.load(thread, first + number), points.load(thread, first + reversed));
                points.store(thread, first + number, other);
                points.store(thread, first + reversed, one);
            }
        }
        for stage in 0..bits {
            let distance = 1 << stage;
            for start in (first..first + side).step_by(2 * distance) {
                for number in 0..distance {
                    let (upper, lower) = (start + number, start + number + distance);
                    let root = roots.load(thread, number << (bits - 1 - stage));
                    let (one, other) = (points.load(thread, upper), points.load(thread, lower) * root);
                    points.store(thread, upper, one + other);
                    points.store(thread, lower, one - other);
                    thread.instructions(BUTTERFLY);
                }
            }
        }
    }

    /// Multiplies a row by its roots.
    fn twist<T: Thread>(
        &self,
        points: Points<'_, T::Region>,
        roots: Points<'_, T::Region>,
        row: usize,
        thread: &mut T,
    ) {
        for index in row * self.side..(row + 1) * self.side {
            let product = points.load(thread, index) * roots.load(thread, index);
            points.store(thread, index, product);
            thread.instructions(MULTIPLY);
        }
    }
}

/// The number of magnitude 1 at `turns` whole turns.
fn root(turns: f64) -> Complex64 {
    Complex64::cis(std::f64::consts::TAU * turns)
}

impl Program for Fft {
    const REGIONS: &'static [&'static str] = &["data", "transposed", "roots", "row roots"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (side, threads) = (self.side(), shape.threads());
        let words = self.points as usize * Complex64::WORDS;
        let matrix =
            RegionPlan::first_touch(shape, words, |word| Share::owner(threads, side, word / Complex64::WORDS / side));
        vec![matrix.clone(), matrix.clone(), matrix, self.row_roots(shape).plan(shape.homes.iter().copied())]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let line = (shape.line_words / Complex64::WORDS).max(1);
        let share = Share::new(shape, thread.number());
        let body = Body { share, side: self.side(), line, stagger: self.stagger };
        let points = |region: usize| Points::new(&regions[region]);
        let (data, transposed, roots) = (points(DATA), points(TRANSPOSED), points(ROOTS));
        let row_roots = Points::from(&regions[ROW_ROOTS], self.row_roots(shape).word(share.number, 0));
        let rows = body.rows(share.number);
        body.initialise(shape.seed, regions, row_roots, thread);
        thread.barrier();
        thread.measure(true);
        body.transpose(data, transposed, thread);
        for row in rows.clone() {
            body.transform(transposed, row_roots, row, thread);
            body.twist(transposed, roots, row, thread);
        }
        thread.barrier();
        body.transpose(transposed, data, thread);
        for row in rows {
            body.transform(data, row_roots, row, thread);
        }
        thread.barrier();
        body.transpose(data, transposed, thread);
        thread.barrier();
        thread.measure(false);
        0
    }

    /// Compares every point with a serial transform of another kind.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let side = self.side();
        let input: Vec<_> = (0..side).flat_map(|row| Self::input(row, side, shape.seed)).collect();
        let expected = recursive(&input, 1);
        // Points have magnitudes about the square root of their number; rounding adds up far more slowly.
        let tolerance = 1e-12 * side as f64;
        let close = |region: usize, index: usize, expected: Complex64, what: &str| {
            let found: Complex64 = element(|word| read(region, word), index);
            let parts = [(found.re, expected.re, "real"), (found.im, expected.im, "imaginary")];
            parts.into_iter().try_for_each(|(found, expected, part)| {
                Wrong::unless_close(found, expected, tolerance, || format!("{part} part of {what} {index}"))
            })
        };
        expected.into_iter().enumerate().try_for_each(|(index, expected)| {
            close(TRANSPOSED, index, expected, "point")?;
            // Input of the last transpose.
            close(DATA, index % side * side + index / side, expected, "untransposed point")
        })
    }
}

/// The transform of every `stride`th of `points`: even and odd ones apart, then together (Danielson and Lanczos).
fn recursive(points: &[Complex64], stride: usize) -> Vec<Complex64> {
    let count = points.len().div_ceil(stride);
    if count == 1 {
        return vec![points[0]];
    }
    let (even, odd) = (recursive(points, 2 * stride), recursive(&points[stride..], 2 * stride));
    let pairs = || even.iter().zip(&odd).enumerate();
    let turned = |number: usize, odd: &Complex64| odd * root(-(number as f64) / count as f64);
    let sums = pairs().map(|(number, (even, odd))| even + turned(number, odd));
    sums.chain(pairs().map(|(number, (even, odd))| even - turned(number, odd))).collect()
}
