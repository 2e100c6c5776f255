//! Typed views of a region: elements of one or several words, loaded and stored as such.

use std::marker::PhantomData;

use crate::thread::Thread;

/// Values that can be kept in words of shared memory.
pub trait Element: Copy {
    /// How many 64-bit words it takes.
    const WORDS: usize;

    /// It, from its words: `word` gives each by its number and is asked in order.
    fn gather(word: impl FnMut(usize) -> u64) -> Self;

    /// Its words, given to `put` with their numbers and in order.
    fn scatter(self, put: impl FnMut(usize, u64));
}

impl Element for u64 {
    const WORDS: usize = 1;

    #[inline]
    fn gather(mut word: impl FnMut(usize) -> u64) -> Self {
        word(0)
    }

    #[inline]
    fn scatter(self, mut put: impl FnMut(usize, u64)) {
        put(0, self);
    }
}

impl Element for f64 {
    const WORDS: usize = 1;

    #[inline]
    fn gather(mut word: impl FnMut(usize) -> u64) -> Self {
        Self::from_bits(word(0))
    }

    #[inline]
    fn scatter(self, mut put: impl FnMut(usize, u64)) {
        put(0, self.to_bits());
    }
}

/// A pair in one word, such as a key and what belongs to it: the first in the lower half.
impl Element for (u32, u32) {
    const WORDS: usize = 1;

    #[inline]
    fn gather(mut word: impl FnMut(usize) -> u64) -> Self {
        let both = word(0);
        (both as u32, (both >> 32) as u32)
    }

    #[inline]
    fn scatter(self, mut put: impl FnMut(usize, u64)) {
        put(0, u64::from(self.0) | u64::from(self.1) << 32);
    }
}

impl<const N: usize> Element for [f64; N] {
    const WORDS: usize = N;

    #[inline]
    fn gather(mut word: impl FnMut(usize) -> u64) -> Self {
        std::array::from_fn(|number| f64::from_bits(word(number)))
    }

    #[inline]
    fn scatter(self, mut put: impl FnMut(usize, u64)) {
        self.into_iter().enumerate().for_each(|(number, part)| put(number, part.to_bits()));
    }
}

/// Elements that follow each other in a region, from a word on.
#[derive(Debug)]
pub struct Array<'r, R, E> {
    region: &'r R,
    first: usize,
    element: PhantomData<E>,
}

impl<R, E> Clone for Array<'_, R, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, E> Copy for Array<'_, R, E> {}

impl<'r, R, E: Element> Array<'r, R, E> {
    /// The elements of `region` from its first word on.
    pub fn new(region: &'r R) -> Self {
        Self::from(region, 0)
    }

    /// The elements of `region` from word `first` on.
    pub fn from(region: &'r R, first: usize) -> Self {
        Self { region, first, element: PhantomData }
    }

    /// The first word of an element.
    #[inline]
    pub fn word(&self, index: usize) -> usize {
        self.first + index * E::WORDS
    }

    /// Loads an element whose address is known: a load a word.
    #[inline]
    pub fn load<T: Thread<Region = R>>(&self, thread: &mut T, index: usize) -> E {
        let first = self.word(index);
        E::gather(|word| thread.load(self.region, first + word))
    }

    /// Loads an element whose address was computed from the value of the latest load.
    #[inline]
    pub fn load_dependent<T: Thread<Region = R>>(&self, thread: &mut T, index: usize) -> E {
        let first = self.word(index);
        E::gather(|word| match word {
            0 => thread.load_dependent(self.region, first),
            _ => thread.load(self.region, first + word),
        })
    }

    /// Stores an element: a store a word.
    #[inline]
    pub fn store<T: Thread<Region = R>>(&self, thread: &mut T, index: usize, element: E) {
        let first = self.word(index);
        element.scatter(|word, value| thread.store(self.region, first + word, value));
    }

    /// Asks for a copy of the line of an element to read, and waits for nothing.
    #[inline]
    pub fn prefetch_shared<T: Thread<Region = R>>(&self, thread: &mut T, index: usize) {
        thread.prefetch_shared(self.region, self.word(index));
    }

    /// Asks for a copy of the line of an element to write, and waits for nothing.
    #[inline]
    pub fn prefetch_exclusive<T: Thread<Region = R>>(&self, thread: &mut T, index: usize) {
        thread.prefetch_exclusive(self.region, self.word(index));
    }
}

/// Element number `index` of a region whose words `read` gives: what a check looks at when all threads have ended.
pub(crate) fn element<E: Element>(read: impl Fn(usize) -> u64, index: usize) -> E {
    E::gather(|word| read(index * E::WORDS + word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;

    fn round_trip<E: Element + PartialEq + std::fmt::Debug>(elements: &[E]) {
        let mut words = Vec::new();
        for each in elements {
            each.scatter(|number, word| {
                assert_eq!(number, words.len() % E::WORDS);
                words.push(word);
            });
        }
        for (index, each) in elements.iter().enumerate() {
            assert_eq!(element::<E>(|word| words[word], index), *each);
        }
    }

    #[test]
    fn elements_come_back_as_they_were_stored() {
        round_trip(&[-0.5, f64::MAX, 1e-300]);
        round_trip(&[(1, u32::MAX), (u32::MAX, 7)]);
        round_trip(&[[1.0, -2.0, 3.5], [4.0, 5.0, 6.0]]);
        round_trip(&[Complex64::new(1.0, -2.0), Complex64::new(0.25, 4.0)]);
        round_trip(&[u64::MAX, 3]);
    }
}
