//! Clock domains, and resources that serve one customer at a time.

use units::{Duration, Hertz, Time};

/// A clock domain: edges at multiples of the period from the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    period: Duration,
}

impl Clock {
    /// The domain of a clock with this frequency.
    pub fn new(frequency: Hertz) -> Self {
        Self { period: frequency.period() }
    }

    /// One cycle.
    #[inline]
    pub const fn period(self) -> Duration {
        self.period
    }

    /// `cycles` of this clock.
    #[inline]
    pub fn cycles(self, cycles: u32) -> Duration {
        self.period * u64::from(cycles)
    }

    /// The first edge at or after `time`.
    #[inline]
    pub const fn edge(self, time: Time) -> Time {
        time.align_up(self.period)
    }
}

/// A resource with occupancy: serves in the order of the requests, one at a time, and keeps its own account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    free_at: Time,
    busy: Duration,
    queued: Duration,
    served: u64,
}

impl Server {
    /// Reserves the server for `occupancy` from the first moment at or after `now` when it is free, and at a multiple
    /// of `grid` (zero for any moment). Returns the start of the service.
    #[inline]
    pub fn reserve(&mut self, now: Time, grid: Duration, occupancy: Duration) -> Time {
        self.reserve_from(now, now, grid, occupancy)
    }

    /// As [`Self::reserve`], for a customer who came at `now` and is not served before `earliest` for reasons of the server's
    /// own: that is waiting, too.
    #[inline]
    pub fn reserve_from(&mut self, now: Time, earliest: Time, grid: Duration, occupancy: Duration) -> Time {
        let mut start = earliest.max(self.free_at);
        if grid != Duration::ZERO {
            start = start.align_up(grid);
        }
        self.queued += start - now;
        self.busy += occupancy;
        self.served += 1;
        self.free_at = start + occupancy;
        start
    }

    /// The latest reservation lasts longer than was said.
    #[inline]
    pub fn prolong(&mut self, by: Duration) {
        self.busy += by;
        self.free_at += by;
    }

    /// When the last reservation ends.
    #[inline]
    pub const fn free_at(&self) -> Time {
        self.free_at
    }

    /// Total time reserved.
    pub const fn busy(&self) -> Duration {
        self.busy
    }

    /// Total time reserved before `time`: all of it but what is reserved after `time`, as if no gaps were there. Exact where nothing is,
    /// or where what is follows without gaps.
    pub fn busy_before(&self, time: Time) -> Duration {
        self.busy - self.free_at.since(time).min(self.busy)
    }

    /// Total time that customers waited, alignment to the grid included.
    pub const fn queued(&self) -> Duration {
        self.queued
    }

    /// Number of reservations.
    pub const fn served(&self) -> u64 {
        self.served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_ready_before_the_grid_ready_on_it() {
        let mut bus = Server::default();
        let grid = Duration(20);
        assert_eq!(bus.reserve(Time(1), grid, Duration(30)), Time(20));
        // Free at 50: a customer at 49 or 50 gets the next edge, 60.
        assert_eq!(bus.reserve(Time(49), grid, Duration(20)), Time(60));
        assert_eq!(bus.reserve(Time(80), grid, Duration(20)), Time(80));
        assert_eq!((bus.busy(), bus.served()), (Duration(70), 3));
        assert_eq!(bus.queued(), Duration(19 + 11));
        assert_eq!(bus.reserve_from(Time(100), Time(105), Duration::ZERO, Duration(1)), Time(105));
        assert_eq!(bus.queued(), Duration(19 + 11 + 5));
        // Held from 80 to 100 and from 105 to 106: of the gap before 105 it is not known any more that it was one.
        assert_eq!([100, 105, 106, 200].map(|time| bus.busy_before(Time(time))), [65, 70, 71, 71].map(Duration));
    }

    #[test]
    fn cycles_of_a_fast_clock_land_on_its_edges() {
        let clock = Clock::new(Hertz::from_mhz(300.0));
        assert_eq!(clock.period(), Duration(3333));
        assert_eq!(clock.edge(Time(3334)), Time(6666));
        assert_eq!(clock.cycles(3), Duration(9999));
    }
}
