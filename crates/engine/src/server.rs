//! Servers: resources that serve one customer at a time.

use units::{Duration, Time};

use crate::Grid;

/// A server with occupancy: it serves requests one at a time in the order of their reservations, and counts its busy
/// time and their queueing time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    free_at: Time,
    busy: Duration,
    queued: Duration,
    served: u64,
}

impl Server {
    /// Reserves the server for `occupancy` from the first moment at or after `now` at which it is free that lies on
    /// `grid`. Returns the start of the service.
    #[inline]
    pub fn reserve(&mut self, now: Time, grid: Grid, occupancy: Duration) -> Time {
        self.reserve_from(now, now, grid, occupancy)
    }

    /// Reserves as [`Self::reserve`] does, for a customer that arrives at `now` and cannot be served before `earliest`.
    /// The time from `now` to the start counts as queueing.
    #[inline]
    pub fn reserve_from(&mut self, now: Time, earliest: Time, grid: Grid, occupancy: Duration) -> Time {
        let start = grid.edge(earliest.max(self.free_at));
        self.queued += start - now;
        self.busy += occupancy;
        self.served += 1;
        self.free_at = start + occupancy;
        start
    }

    /// Extends the last reservation.
    #[inline]
    pub fn prolong(&mut self, by: Duration) {
        self.busy += by;
        self.free_at += by;
    }

    /// Time at which the last reservation ends.
    #[inline]
    pub const fn free_at(&self) -> Time {
        self.free_at
    }

    /// Total busy time: the sum of all reservations.
    pub const fn busy(&self) -> Duration {
        self.busy
    }

    /// Busy time before `time`: the sum of all reservations less the part after `time`, which is computed as if
    /// reservations left no gaps there. The result is exact if no reservation ends after `time`, or if those that do
    /// are contiguous.
    pub fn busy_before(&self, time: Time) -> Duration {
        self.busy - self.free_at.since(time).min(self.busy)
    }

    /// Total queueing time of all customers, alignment to the grid included.
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
        let grid = Grid::new(Duration(20));
        assert_eq!(bus.reserve(Time(1), grid, Duration(30)), Time(20));
        // The server is free at 50: a customer at 49 or 50 gets the next edge, 60.
        assert_eq!(bus.reserve(Time(49), grid, Duration(20)), Time(60));
        assert_eq!(bus.reserve(Time(80), grid, Duration(20)), Time(80));
        assert_eq!((bus.busy(), bus.served()), (Duration(70), 3));
        assert_eq!(bus.queued(), Duration(19 + 11));
        assert_eq!(bus.reserve_from(Time(100), Time(105), Grid::ANY, Duration(1)), Time(105));
        assert_eq!(bus.queued(), Duration(19 + 11 + 5));
        // The server is held from 80 to 100 and from 105 to 106; the gap before 105 is not recorded any more.
        assert_eq!([100, 105, 106, 200].map(|time| bus.busy_before(Time(time))), [65, 70, 71, 71].map(Duration));
    }
}
