//! Numbers of four or eight bytes in the rows of a matrix.

use std::marker::PhantomData;

use crate::thread::Thread;

/// A number that takes a word, or half of one.
pub trait Number: Copy {
    /// Bytes that it takes: 4 or 8.
    const BYTES: usize;

    /// Its bits, at the lower end.
    fn bits(self) -> u64;

    /// The number of these bits.
    fn of(bits: u64) -> Self;
}

/// A floating-point number.
pub trait Real: Number + Into<f64> {
    /// Relative error that rounding may leave in an unknown of a dominant system, for each of them: far more than it does.
    const ROUNDING: f64;

    /// The nearest to `value`.
    fn near(value: f64) -> Self;

    /// `self` - `factor` * `other`, rounded twice.
    fn less(self, factor: Self, other: Self) -> Self;

    /// `self` + `factor` * `other`, rounded twice.
    fn more(self, factor: Self, other: Self) -> Self;

    /// `self` * `factor`.
    fn times(self, factor: Self) -> Self;

    /// 1 / `self`.
    fn inverse(self) -> Self;
}

macro_rules! number {
    ($($type:ty: $bytes:literal, $bits:expr, $of:expr;)*) => {
        $(impl Number for $type {
            const BYTES: usize = $bytes;

            #[inline]
            fn bits(self) -> u64 {
                $bits(self)
            }

            #[inline]
            fn of(bits: u64) -> Self {
                $of(bits)
            }
        })*
    };
}

number! {
    u64: 8, |value| value, |bits| bits;
    u32: 4, u64::from, |bits| bits as u32;
    f64: 8, f64::to_bits, f64::from_bits;
    f32: 4, |value: f32| value.to_bits().into(), |bits| f32::from_bits(bits as u32);
}

macro_rules! real {
    ($($type:ty: $rounding:literal;)*) => {
        $(impl Real for $type {
            const ROUNDING: f64 = $rounding;

            #[inline]
            fn near(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn less(self, factor: Self, other: Self) -> Self {
                self - factor * other
            }

            #[inline]
            fn more(self, factor: Self, other: Self) -> Self {
                self + factor * other
            }

            #[inline]
            fn times(self, factor: Self) -> Self {
                self * factor
            }

            #[inline]
            fn inverse(self) -> Self {
                1.0 / self
            }
        })*
    };
}

real! {
    f64: 1e-14;
    f32: 1e-5;
}

/// Bytes in a word.
const WORD: usize = 8;

/// 64-bit words that `count` numbers take.
pub fn words<N: Number>(count: usize) -> usize {
    (count * N::BYTES).div_ceil(WORD)
}

/// The word of a row that a number is in.
#[inline]
pub fn place<N: Number>(index: usize) -> usize {
    index * N::BYTES / WORD
}

/// A number, and the word that it was loaded in.
#[derive(Clone, Copy, Debug)]
pub struct Loaded<N> {
    /// The number.
    pub value: N,
    /// Its word, which a store to half of it keeps the rest of.
    pub word: u64,
}

/// Numbers that follow each other from the first word of a row on.
pub struct Numbers<'r, R, N> {
    region: &'r R,
    first: usize,
    number: PhantomData<N>,
}

impl<R, N> Clone for Numbers<'_, R, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, N> Copy for Numbers<'_, R, N> {}

impl<'r, R, N: Number> Numbers<'r, R, N> {
    /// The numbers of `region` from word `first` on.
    pub fn new(region: &'r R, first: usize) -> Self {
        Self { region, first, number: PhantomData }
    }

    /// Loads a number whose address is known.
    #[inline]
    pub fn load<T: Thread<Region = R>>(&self, thread: &mut T, index: usize) -> Loaded<N> {
        let word = thread.load(self.region, self.first + place::<N>(index));
        Loaded { value: extract(word, index), word }
    }

    /// Stores a number into `word`, what the word holds at present. Returns what it holds then.
    #[inline]
    pub fn store<T: Thread<Region = R>>(&self, thread: &mut T, index: usize, value: N, word: u64) -> u64 {
        let new = insert(word, index, value);
        thread.store(self.region, self.first + place::<N>(index), new);
        new
    }

    /// As [`Self::store`], of a number whose neighbours are stored in their order; `word` is what the one before returned.
    #[inline]
    pub fn store_next<T: Thread<Region = R>>(&self, thread: &mut T, index: usize, value: N, word: u64) -> u64 {
        self.store(thread, index, value, if shift::<N>(index) == 0 { 0 } else { word })
    }

    /// Stores numbers from the first on, and calls `before` before each.
    pub fn fill<T: Thread<Region = R>>(
        &self,
        thread: &mut T,
        values: impl IntoIterator<Item = N>,
        mut before: impl FnMut(&mut T),
    ) {
        let mut word = 0;
        for (index, value) in values.into_iter().enumerate() {
            before(thread);
            word = self.store_next(thread, index, value, word);
        }
    }
}

/// Bits of its word below a number.
#[inline]
fn shift<N: Number>(index: usize) -> usize {
    index * N::BYTES % WORD * 8
}

/// A number from its word.
#[inline]
pub fn extract<N: Number>(word: u64, index: usize) -> N {
    N::of(word >> shift::<N>(index))
}

/// The word with a number in its place.
#[inline]
fn insert<N: Number>(word: u64, index: usize, value: N) -> u64 {
    let shift = shift::<N>(index);
    let mask = u64::MAX >> (64 - 8 * N::BYTES) << shift;
    word & !mask | value.bits() << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_word_do_not_touch_each_other() {
        let word = insert(insert(u64::MAX, 4, 1.5_f32), 5, -2.0_f32);
        assert_eq!((extract::<f32>(word, 4), extract::<f32>(word, 5)), (1.5, -2.0));
        assert_eq!(extract::<f32>(insert(word, 5, 0.25_f32), 4), 1.5);
        assert_eq!(insert(7, 3, 9_u64), 9);
        assert_eq!((words::<u32>(5), words::<u64>(5)), (3, 5));
    }
}
