//! Grids of times: the edges of a clock, refreshes at fixed intervals.

use units::{Duration, Time};

/// The multiples of a period since the start of the run. Events round their times to grids all the time, so a grid holds the
/// reciprocal of its period: a multiplication takes the place of the division, which takes several times as long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    period: Duration,
    /// 2^64 over the period in picoseconds, less one if that is a whole number.
    reciprocal: u64,
}

impl Grid {
    /// All times.
    pub const ANY: Self = Self::new(Duration(1));

    /// The multiples of `period`; all times if that is zero.
    pub const fn new(period: Duration) -> Self {
        let period = Duration(if period.0 == 0 { 1 } else { period.0 });
        Self { period, reciprocal: u64::MAX / period.0 }
    }

    /// The period.
    #[inline]
    pub const fn period(self) -> Duration {
        self.period
    }

    /// The number of whole periods before or at `time`, and the time since the last of them.
    #[inline]
    pub const fn split(self, time: Time) -> (u64, Duration) {
        self.divide(time.since(Time::ZERO))
    }

    /// The number of whole periods in `length`, and the rest.
    #[inline]
    pub const fn divide(self, length: Duration) -> (u64, Duration) {
        // The quotient is exact or one too low, because the reciprocal is less than one too low.
        let quotient = ((length.0 as u128 * self.reciprocal as u128) >> 64) as u64;
        let rest = length.0 - quotient * self.period.0;
        if rest >= self.period.0 { (quotient + 1, Duration(rest - self.period.0)) } else { (quotient, Duration(rest)) }
    }

    /// The first edge at or after `time`.
    #[inline]
    pub const fn edge(self, time: Time) -> Time {
        let last = time.0 + (self.period.0 - 1);
        let (_, rest) = self.split(Time(last));
        Time(last - rest.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_grid_without_a_period_holds_all_times() {
        assert_eq!(Grid::new(Duration::ZERO), Grid::ANY);
        assert_eq!([0, 1, 77].map(|time| Grid::ANY.edge(Time(time))), [0, 1, 77].map(Time));
    }

    proptest! {
        /// Multiplications give what divisions give, also for times of months and for powers of two.
        #[test]
        fn agrees_with_division(
            period in prop_oneof![1u64..100_000, (0u32..40).prop_map(|bits| 1 << bits), 1u64..1 << 40],
            time in prop_oneof![0u64..1_000_000, 0..1u64 << 62],
            near in 0u64..3,
        ) {
            let grid = Grid::new(Duration(period));
            for time in [time, (time / period * period).saturating_sub(1) + near] {
                prop_assert_eq!(grid.split(Time(time)), (time / period, Duration(time % period)));
                prop_assert_eq!(grid.edge(Time(time)), Time(time).align_up(Duration(period)));
            }
        }
    }
}
