//! Random choices that are the same on every run and every host.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

/// The sequences of a seed, for programs that begin one for every element of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams(u64);

impl Streams {
    /// The sequences of `seed`.
    pub(crate) fn of(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed).next_u64())
    }

    /// The sequence number `stream`; streams are independent of each other.
    pub(crate) fn stream(self, stream: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(self.0 ^ stream))
    }
}

impl Random {
    /// The sequence number `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Streams::of(seed).stream(stream)
    }

    /// The next number, below `bound`.
    #[inline]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// The next number from 0 up to, and without, 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        /// As many bits as a double's significand has.
        const BITS: u32 = 53;
        (self.0.next_u64() >> (u64::BITS - BITS)) as f64 / (1_u64 << BITS) as f64
    }

    /// The next number of a normal distribution of mean 0 and variance 1, nearly: twelve even chances make one. Never beyond 6.
    #[inline]
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// The next vector of length 1 in space, all directions equally likely: heights on a sphere are (Archimedes).
    pub(crate) fn direction(&mut self) -> [f64; 3] {
        let height = 2.0 * self.unit() - 1.0;
        let (sine, cosine) = (std::f64::consts::TAU * self.unit()).sin_cos();
        let across = (1.0 - height * height).sqrt();
        [across * cosine, across * sine, height]
    }

    /// True in `percent` of all cases.
    #[inline]
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        (self.below(100) as u64) < percent
    }
}

/// The numbers below `count` in random order (Fisher and Yates).
pub(crate) fn order(count: usize, seed: u64) -> Vec<usize> {
    /// Apart from the streams of threads and rounds, which count from 0.
    const STREAM: u64 = u64::MAX;
    let mut random = Random::new(seed, STREAM);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_every_number_once_and_depends_on_the_seed() {
        let mut shuffled = order(100, 1);
        assert_ne!(shuffled, order(100, 2));
        assert_eq!(shuffled, order(100, 1));
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn chances_are_as_frequent_as_they_say() {
        let mut random = Random::new(0, 0);
        let count = (0..10_000).filter(|_| random.chance(30)).count();
        assert!((2700..3300).contains(&count), "{count}");
        assert!((0..1000).all(|_| random.chance(100)) && (0..1000).all(|_| !random.chance(0)));
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let numbers = |stream| (0..8).scan(Random::new(5, stream), |r, _| Some(r.below(1 << 30))).collect::<Vec<_>>();
        assert_ne!(numbers(0), numbers(1));
    }
}
