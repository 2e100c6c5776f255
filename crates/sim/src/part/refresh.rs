//! Refresh of DRAM, at fixed intervals.

use engine::Grid;
use units::{Duration, Time};

/// Refresh, which holds a memory, or a rank of it, from each multiple of an interval on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refresh {
    interval: Grid,
    length: Duration,
}

impl Refresh {
    /// A refresh of this length in every `interval`.
    pub const fn new(interval: Duration, length: Duration) -> Self {
        Self { interval: Grid::new(interval), length }
    }

    /// From the start of one refresh to the start of the next.
    pub const fn interval(&self) -> Duration {
        self.interval.period()
    }

    /// The first moment from `time` on that is in no refresh.
    #[inline]
    pub fn free(&self, time: Time) -> Time {
        self.free_earlier(time, Duration::ZERO)
    }

    /// As [`Self::free`], where refreshes come by `earlier` before the multiples of their interval.
    #[inline]
    pub fn free_earlier(&self, time: Time, earlier: Duration) -> Time {
        let (_, phase) = self.interval.split(time + earlier);
        if phase < self.length { time + (self.length - phase) } else { time }
    }

    /// The mean wait of an access for a refresh, where nothing else delays it.
    pub fn mean_wait(&self) -> Duration {
        Duration(self.length.0 * self.length.0 / (2 * self.interval().0))
    }

    /// Refresh time between `start` and `end`; zero if `end` is not later.
    pub fn between(&self, start: Time, end: Time) -> Duration {
        let before = |time: Time| {
            let (whole, part) = self.interval.split(time);
            self.length * whole + self.length.min(part)
        };
        if end > start { before(end) - before(start) } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each moment is tested against the refreshes one by one.
        #[test]
        fn free_moments_are_the_first_outside_of_refreshes(
            interval in 2u64..200,
            share in 0u64..100,
            start in 0u64..1000,
            length in 0u64..500,
            earlier in 0u64..200,
        ) {
            let refresh = Refresh::new(Duration(interval), Duration(interval * share / 100));
            let within = |time: u64| time % interval < interval * share / 100;
            let end = start + length;
            let counted = (start..end).filter(|&time| within(time)).count() as u64;
            prop_assert_eq!(refresh.between(Time(start), Time(end)), Duration(counted));
            let first = (start..).find(|&time| !within(time + earlier)).expect("some moment is free");
            prop_assert_eq!(refresh.free_earlier(Time(start), Duration(earlier)), Time(first));
        }

        /// The mean over all moments of an interval.
        #[test]
        fn mean_waits_are_those_of_all_moments(interval in 2u64..200, share in 0u64..100) {
            let refresh = Refresh::new(Duration(interval), Duration(interval * share / 100));
            let waits: u64 = (0..interval).map(|time| refresh.free(Time(time)).since(Time(time)).0).sum();
            // Moments are whole: each waits half a unit longer than those before it on average.
            prop_assert!(refresh.mean_wait().0.abs_diff(waits / interval) <= 1);
        }
    }
}
