//! Activations of rows in a rank: only so many within a certain time, for the sake of its power supply.

use std::collections::VecDeque;

use units::{Duration, Time};

/// Activations within the time of which [`super::DramTiming::four_activations`] tells.
const MOST: usize = 4;

/// The activations of a rank that may hold up others, past ones and planned ones, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Activations(VecDeque<Time>);

impl Activations {
    /// Plans an activation at `wanted` or as soon after it as those planned already allow, four of which take `four`. Later calls are
    /// for no time before `now`. Returns its time.
    pub(super) fn plan(&mut self, wanted: Time, now: Time, four: Duration) -> Time {
        if four == Duration::ZERO {
            return wanted;
        }
        while self.0.front().is_some_and(|&first| first + four <= now) {
            self.0.pop_front();
        }
        let mut at = wanted;
        loop {
            let place = self.0.partition_point(|&other| other <= at);
            match self.hindrance(place, at, four) {
                None => {
                    self.0.insert(place, at);
                    return at;
                }
                Some(later) => at = later,
            }
        }
    }

    /// The earliest time after `at` to try, if an activation then, behind `place` others, makes too many within `four`.
    fn hindrance(&self, place: usize, at: Time, four: Duration) -> Option<Time> {
        for before in 0..=MOST.min(place) {
            let first = if before == 0 { at } else { self.0[place - before] };
            let last = if before == MOST { Some(at) } else { self.0.get(place + (MOST - before) - 1).copied() };
            if last.is_some_and(|last| last.since(first) < four) {
                return Some(if before == MOST { first + four } else { self.0[place].max(at + Duration(1)) });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fifth_waits_and_one_that_was_planned_for_later_holds_up_none_before_it() {
        let (now, four) = (Time(0), Duration(40));
        let mut rank = Activations::default();
        let mut plan = |at| rank.plan(Time(at), now, four).0;
        assert_eq!([plan(10), plan(90), plan(10), plan(10), plan(10)], [10, 90, 10, 10, 10]);
        assert_eq!([plan(10), plan(49), plan(70)], [50, 50, 70]);
        assert_eq!([plan(60), plan(65)], [60, 90], "between 50, 50, 70 and 90, and 40 after the second of them");
    }

    proptest! {
        /// No five activations are within the time.
        #[test]
        fn no_more_than_four(wanted in prop::collection::vec((0u64..30, 0u64..100), 1..80)) {
            let (mut rank, mut all, mut now) = (Activations::default(), Vec::new(), Time(0));
            for (later, ahead) in wanted {
                now += Duration(later);
                let at = rank.plan(now + Duration(ahead), now, Duration(50));
                prop_assert!(at >= now + Duration(ahead));
                all.push(at);
            }
            all.sort_unstable();
            prop_assert!(all.windows(5).all(|five| five[4].since(five[0]) >= Duration(50)));
        }
    }
}
