//! STREAM: what long arrays stream at, through memory and back.

use crate::Blocks;
use crate::parallel::{Array, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

use super::DRAW;

program! {
    /// McCalpin's four loops over three arrays, a barrier after each: c = a; b = 3c; c = a + b; a = b + 3c (Prestor 2001, section
    /// 6.2). Every thread has a part of each array. That it streams through memory takes parts whose three are larger
    /// together than the secondary cache. Compiled with prefetch, it asks for lines so far ahead: to read where it loads, to
    /// write where it stores.
    Stream is "stream": "STREAM's copy, scale, add and triad, with prefetch or without, from local memory or one node's" {
        /// Words that each thread has of each array.
        words: 262_144, 1 to 16_777_216;
        /// How often the four loops are run.
        rounds: 1, 1 to 200;
        /// How many lines ahead it prefetches; 0 is not at all.
        prefetch: 0, 0 to 64;
        /// 1: all arrays are on the first thread's node. 0: each part is where its thread touched it first.
        one_node: 0, 0 to 1;
    }
}

/// The scalar, STREAM's.
const SCALAR: f64 = 3.0;
/// Instructions to copy a word, beside load and store: an address, the loop. A scalar multiple or a sum is one more, both two.
const COPY: u32 = 2;

/// Lines by which each array begins later than the one before, as STREAM's OFFSET: parts as large as a cache, or a multiple of
/// it, would all compete for the same sets. Three times as many are less than one way of the R10000's primary cache.
const OFFSET: usize = 42;

/// An array, or its region.
type Name = usize;
const A: Name = 0;
const B: Name = 1;
const C: Name = 2;

/// One of the loops: where it loads, where it stores, what it computes, and in how many instructions.
struct Kernel<const N: usize> {
    from: [Name; N],
    to: Name,
    compute: fn([f64; N]) -> f64,
    cost: u32,
}

const COPY_LOOP: Kernel<1> = Kernel { from: [A], to: C, compute: |[a]| a, cost: COPY };
const SCALE_LOOP: Kernel<1> = Kernel { from: [C], to: B, compute: |[c]| SCALAR * c, cost: COPY + 1 };
const ADD_LOOP: Kernel<2> = Kernel { from: [A, B], to: C, compute: |[a, b]| a + b, cost: COPY + 1 };
const TRIAD_LOOP: Kernel<2> = Kernel { from: [B, C], to: A, compute: |[b, c]| b + SCALAR * c, cost: COPY + 2 };

/// A thread's parts of the arrays.
struct Parts<'r, R> {
    arrays: [Array<'r, R, f64>; 3],
    words: usize,
    line: usize,
    /// Words from here to where it prefetches.
    ahead: usize,
}

impl<R> Parts<'_, R> {
    fn run<T: Thread<Region = R>, const N: usize>(&self, thread: &mut T, kernel: &Kernel<N>) {
        let (from, to) = (kernel.from.map(|name| self.arrays[name]), self.arrays[kernel.to]);
        for first in (0..self.words).step_by(self.line) {
            if self.ahead > 0 && first + self.ahead < self.words {
                from.iter().for_each(|array| array.prefetch_shared(thread, first + self.ahead));
                to.prefetch_exclusive(thread, first + self.ahead);
            }
            for index in first..self.words.min(first + self.line) {
                let value = (kernel.compute)(from.map(|array| array.load(thread, index)));
                thread.instructions(kernel.cost);
                to.store(thread, index, value);
            }
        }
        thread.barrier();
    }
}

impl Stream {
    fn blocks(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, (self.words as usize).div_ceil(shape.line_words) + C * OFFSET)
    }

    /// The first word of a thread's part of an array.
    fn first(&self, shape: &Shape, thread: usize, name: Name) -> usize {
        self.blocks(shape).word(thread, name * OFFSET)
    }

    /// Initial values of a thread's part of `a`, from 1 to 2.
    fn input(&self, seed: u64, thread: usize) -> impl Iterator<Item = f64> + use<> {
        let mut random = Random::new(seed, thread as u64);
        (0..self.words).map(move |_| 1.0 + random.unit())
    }
}

impl Program for Stream {
    const REGIONS: &'static [&'static str] = &["a", "b", "c"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let first = shape.homes[0];
        let homes = shape.homes.iter().map(|&own| if self.one_node == 1 { first } else { own });
        vec![self.blocks(shape).plan(homes); 3]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let (line, words) = (shape.line_words, self.words as usize);
        let arrays = [A, B, C].map(|name| Array::from(&regions[name], self.first(shape, thread.number(), name)));
        let parts = Parts { arrays, words, line, ahead: self.prefetch as usize * line };
        for (index, value) in self.input(shape.seed, thread.number()).enumerate() {
            thread.instructions(DRAW);
            for (name, value) in [(A, value), (B, 2.0), (C, 0.0)] {
                arrays[name].store(thread, index, value);
            }
        }
        thread.barrier();
        thread.measure(true);
        for _ in 0..self.rounds {
            parts.run(thread, &COPY_LOOP);
            parts.run(thread, &SCALE_LOOP);
            parts.run(thread, &ADD_LOOP);
            parts.run(thread, &TRIAD_LOOP);
        }
        thread.measure(false);
        0
    }

    /// Every word is what the loops make of it.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        for thread in 0..shape.threads() {
            for (index, mut a) in self.input(shape.seed, thread).enumerate() {
                let (mut b, mut c) = (0.0, 0.0);
                for _ in 0..self.rounds {
                    b = SCALAR * a;
                    c = a + b;
                    a = b + SCALAR * c;
                }
                for (name, expected) in [(A, a), (B, b), (C, c)] {
                    let found = element(|word| read(name, self.first(shape, thread, name) + word), index);
                    let what = || format!("word {index} of thread {thread} in array {name}");
                    Wrong::unless_close(found, expected, 0.0, what)?;
                }
            }
        }
        Ok(())
    }
}
