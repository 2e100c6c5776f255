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

/// Bytes of an element that takes half a word, as the parameter of programs has them.
pub const SINGLE: u64 = 4;

/// 64-bit words that `count` numbers take.
pub fn words<N: Number>(count: usize) -> usize {
    (count * N::BYTES).div_ceil(WORD)
}

/// The word of a row that a number is in.
#[inline]
pub fn place<N: Number>(index: usize) -> usize {
    index * N::BYTES / WORD
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
    pub fn load<T: Thread<Region = R>>(&self, thread: &mut T, index: usize) -> N {
        extract(thread.load(self.region, self.first + place::<N>(index)), index)
    }

    /// Stores a number.
    #[inline]
    pub fn store<T: Thread<Region = R>>(&self, thread: &mut T, index: usize, value: N) {
        let word = self.first + place::<N>(index);
        if N::BYTES == WORD {
            thread.store(self.region, word, value.bits());
        } else {
            thread.store_part(self.region, word, value.bits() << shift::<N>(index), mask::<N>(index));
        }
    }

    /// Stores numbers from the first on, and calls `before` before each.
    pub fn fill<T: Thread<Region = R>>(
        &self,
        thread: &mut T,
        values: impl IntoIterator<Item = N>,
        mut before: impl FnMut(&mut T),
    ) {
        for (index, value) in values.into_iter().enumerate() {
            before(thread);
            self.store(thread, index, value);
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

/// The bits of a number in its word.
#[inline]
fn mask<N: Number>(index: usize) -> u64 {
    u64::MAX >> (64 - 8 * N::BYTES) << shift::<N>(index)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::parallel::Alone;

    #[test]
    fn halves_of_a_word_do_not_touch_each_other() {
        let words = vec![Cell::new(u64::MAX); 4];
        let numbers = Numbers::<_, f32>::new(&words, 1);
        numbers.store(&mut Alone, 4, 1.5);
        assert_eq!(words[3].get() >> 32, u64::from(u32::MAX));
        numbers.store(&mut Alone, 5, -2.0);
        assert_eq!([4, 5].map(|index| numbers.load(&mut Alone, index)), [1.5, -2.0]);
        assert_eq!(words[2].get(), u64::MAX);
        let doubles = Numbers::<_, f64>::new(&words, 0);
        doubles.fill(&mut Alone, [0.5, 0.25], |_| ());
        assert_eq!([0, 1].map(|index| f64::from_bits(words[index].get())), [0.5, 0.25]);
    }

    #[test]
    fn words_are_as_many_as_numbers_take() {
        assert_eq!((words::<u32>(5), words::<u64>(5)), (3, 5));
    }
}
