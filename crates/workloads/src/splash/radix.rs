//! A sort by digits, each pass a histogram, its prefix sums, and a permutation all to all.

use std::ops::Range;

use crate::Blocks;
use crate::parallel::{Array, Share, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Streams;
use crate::thread::Thread;

program! {
    /// Every thread counts the digits of its keys; all share the digits to turn the counts into the place at which each
    /// thread's first key of each digit belongs; every thread stores its keys there, one by one, wherever in the machine that
    /// is. Unlike SPLASH-2, which sorts bare 32-bit keys, each key carries the number of its record: 8 bytes move, and the
    /// order is checked to be stable.
    Radix is "radix": "sort by digits: histograms, prefix sums, and a permutation that stores all over the machine" {
        /// Keys to sort.
        keys: 262_144, 1 to 67_108_864;
        /// Values of a digit, a power of 2.
        radix: 1024, 2 to 65_536, powers of 2;
        /// Bits of a key.
        bits: 20, 1 to 32;
    }
}

/// Instructions to count a key beside load, load and store of the count: the digit, addresses, loop. With [`MOVE`], a million keys of
/// 20 bits take as many as with SPLASH-2's program, 51 million (Woo et al., ISCA 1995, Table 1).
const COUNT: u32 = 7;
/// Instructions to add one count to a sum, beside load and store: addresses, loop.
const ADD: u32 = 4;
/// Instructions to move a key, beside loads and stores of the key and of its place: the digit, addresses, loop.
const MOVE: u32 = 10;
/// Instructions to draw a key at random.
const DRAW: u32 = 20;

/// Regions: keys before and after a pass, counts and then places of each thread, sums of each thread's digits.
const COUNTS: usize = 2;
const SUMS: usize = 3;

/// A key, and the number of its record.
type Keys<'r, R> = Array<'r, R, (u32, u32)>;
type Counts<'r, R> = Array<'r, R, u64>;

/// A thread's part of the work.
struct Body<'r, R> {
    share: Share,
    radix: usize,
    counts: Vec<Counts<'r, R>>,
    sums: Vec<Counts<'r, R>>,
}

impl Radix {
    fn passes(&self) -> u32 {
        (self.bits as u32).div_ceil(self.radix.ilog2())
    }

    fn counts(&self, shape: &Shape) -> Blocks {
        Blocks::new(shape, (self.radix as usize).div_ceil(shape.line_words))
    }

    fn sums(shape: &Shape) -> Blocks {
        Blocks::new(shape, 1)
    }

    /// The key of a record.
    fn key(&self, keys: Streams, record: usize) -> u32 {
        keys.stream(record as u64).below(1 << self.bits) as u32
    }
}

impl<R> Body<'_, R> {
    fn own(&self) -> &Counts<'_, R> {
        &self.counts[self.share.number]
    }

    /// The digits whose counts a thread adds up.
    fn digits(&self) -> Range<usize> {
        self.share.block(self.radix)
    }

    fn digit(&self, key: u32, shift: u32) -> usize {
        (key >> shift) as usize & (self.radix - 1)
    }

    fn count<T: Thread<Region = R>>(&self, from: Keys<'_, R>, own: Range<usize>, shift: u32, thread: &mut T) {
        for digit in 0..self.radix {
            self.own().store(thread, digit, 0);
            thread.instructions(1);
        }
        for index in own {
            let (key, _) = from.load(thread, index);
            let digit = self.digit(key, shift);
            let count = self.own().load_dependent(thread, digit);
            self.own().store(thread, digit, count + 1);
            thread.instructions(COUNT);
        }
    }

    /// Turns counts into places: first within the digits that a thread adds up, of all threads in turn, and when the sums of
    /// all are known, by adding those of smaller digits to its own places.
    fn place<T: Thread<Region = R>>(&self, thread: &mut T) {
        let mut sum = 0;
        for digit in self.digits() {
            for counts in &self.counts {
                let count = counts.load(thread, digit);
                counts.store(thread, digit, sum);
                sum += count;
                thread.instructions(ADD);
            }
        }
        self.sums[self.share.number].store(thread, 0, sum);
        thread.barrier();
        let mut before = 0;
        for (number, sum) in self.sums.iter().enumerate() {
            for digit in (Share { number, ..self.share }).block(self.radix) {
                let place = self.own().load(thread, digit) + before;
                self.own().store(thread, digit, place);
                thread.instructions(ADD);
            }
            before += sum.load(thread, 0);
            thread.instructions(ADD);
        }
    }

    fn permute<T: Thread<Region = R>>(
        &self,
        from: Keys<'_, R>,
        to: Keys<'_, R>,
        own: Range<usize>,
        shift: u32,
        thread: &mut T,
    ) {
        for index in own {
            let (key, record) = from.load(thread, index);
            let digit = self.digit(key, shift);
            let place = self.own().load_dependent(thread, digit);
            self.own().store(thread, digit, place + 1);
            to.store(thread, place as usize, (key, record));
            thread.instructions(MOVE);
        }
    }
}

impl Program for Radix {
    const REGIONS: &'static [&'static str] = &["keys", "sorted keys", "counts", "count sums"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let (keys, threads) = (self.keys as usize, shape.threads());
        let array = RegionPlan::first_touch(shape, keys, |key| Share::owner(threads, keys, key));
        let homes = || shape.homes.iter().copied();
        vec![array.clone(), array, self.counts(shape).plan(homes()), Self::sums(shape).plan(homes())]
    }

    fn run<T: Thread>(&self, shape: &Shape, regions: &[T::Region], thread: &mut T) -> u64 {
        let share = Share::new(shape, thread.number());
        let of_each = |region: usize, blocks: Blocks| {
            let of = |number| Array::from(&regions[region], blocks.word(number, 0));
            (0..shape.threads()).map(of).collect()
        };
        let counts = of_each(COUNTS, self.counts(shape));
        let sums = of_each(SUMS, Self::sums(shape));
        let body = Body { share, radix: self.radix as usize, counts, sums };
        let own = share.block(self.keys as usize);
        let (mut from, mut to) = (Keys::new(&regions[0]), Keys::new(&regions[1]));
        let keys = Streams::of(shape.seed);
        for record in own.clone() {
            thread.instructions(DRAW);
            from.store(thread, record, (self.key(keys, record), record as u32));
        }
        thread.barrier();
        thread.measure(true);
        for pass in 0..self.passes() {
            let shift = pass * self.radix.ilog2();
            body.count(from, own.clone(), shift, thread);
            thread.barrier();
            body.place(thread);
            body.permute(from, to, own.clone(), shift, thread);
            thread.barrier();
            (from, to) = (to, from);
        }
        thread.measure(false);
        0
    }

    /// Every record is there once, with its key, behind smaller keys and behind equal keys of earlier records.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let (sorted, keys) = (self.passes() as usize % 2, Streams::of(shape.seed));
        let mut missing = vec![true; self.keys as usize];
        let mut last = None;
        (0..self.keys as usize).try_for_each(|place| {
            let (key, record): (u32, u32) = element(|word| read(sorted, word), place);
            let is_new = missing.get_mut(record as usize).is_some_and(std::mem::take);
            Wrong::unless_equal(u64::from(is_new), 1, || {
                format!("record {record}, at place {place}, times its first place,")
            })?;
            let right = self.key(keys, record as usize);
            Wrong::unless_equal(key.into(), right.into(), || format!("the key of record {record}, at place {place},"))?;
            let follows = last.replace((key, record)) < Some((key, record));
            Wrong::unless_equal(u64::from(follows), 1, || format!("the order at place {place}, where 1 is ascending,"))
        })
    }
}
