//! The search for a stable stretch of restart latencies, and the curves that it leaves.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use units::Duration;

use crate::PlanError;

/// How far to search (Prestor 2001 section 4.2.3).
///
/// With n work instructions after each load, the restart latency is the back-to-back time less the time of the same
/// kernel on a list of one element, which hits in the first-level cache. n grows one at a time; the search ends when the
/// mean over a moving window stays put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartSearch {
    /// Steps in the moving window.
    pub window: usize,
    /// How far the moving mean may wander from where a stable stretch began, either way.
    pub bound: Duration,
    /// Steps of a stable stretch that end the search.
    pub stable: usize,
    /// The last kernel of the series.
    pub max_work: u32,
    /// How often each step is measured; the minimum counts.
    pub repetitions: u32,
    /// Whether to go on to the last kernel and to measure hits in the second-level cache as well, for a diagram like
    /// Prestor 2001 Figures 4.4 to 4.6.
    pub whole_curve: bool,
}

impl Default for RestartSearch {
    /// The defaults of the thesis: a window of 13, a bound of 5 ns, a stable stretch of 19.
    fn default() -> Self {
        Self { window: 13, bound: Duration(5000), stable: 19, max_work: 256, repetitions: 1, whole_curve: false }
    }
}

impl RestartSearch {
    /// Checks the parameters.
    ///
    /// # Errors
    /// When one of them is zero, or the series is too short to tell a stable stretch.
    pub(crate) fn validate(&self) -> Result<(), PlanError> {
        let refuse = |flag, value: String, accepted: &str| {
            Err(PlanError::new(flag, value, "the restart search would not terminate", accepted))
        };
        if self.window == 0 {
            return refuse("--window", self.window.to_string(), "1 or more");
        }
        if self.stable == 0 {
            return refuse("--stable", self.stable.to_string(), "1 or more");
        }
        if self.repetitions == 0 {
            return refuse("--iterations", self.repetitions.to_string(), "1 or more");
        }
        let least = self.window + self.stable - 2;
        if (self.max_work as usize) < least {
            return refuse("--max-work", self.max_work.to_string(), &format!("{least} or more"));
        }
        Ok(())
    }
}

/// The times of one kernel of the series, in nanoseconds a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestartPoint {
    /// Work instructions after the load.
    pub work: u32,
    /// On a list of one element, in the first-level cache.
    pub l1_ns: f64,
    /// On a list in the second-level cache, if it was asked for.
    pub l2_ns: Option<f64>,
    /// On the prepared lines.
    pub back_to_back_ns: f64,
    /// Back-to-back less first-level time.
    pub restart_ns: f64,
}

/// The curves of a search, and where it settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestartCurve {
    /// A point for each number of work instructions, from 0.
    pub points: Vec<RestartPoint>,
    /// The stable stretch that the figures are taken from: indices of `points`.
    pub stable: Range<usize>,
}

impl RestartCurve {
    /// The points of the stable stretch.
    pub fn window(&self) -> &[RestartPoint] {
        &self.points[self.stable.clone()]
    }
}

/// Watches a growing series for the end of a stable stretch.
pub(crate) struct Settling {
    search: RestartSearch,
    window: VecDeque<f64>,
    /// The moving mean with which the current stretch began.
    anchor_ns: f64,
    /// Moving means in the current stretch.
    length: usize,
}

impl Settling {
    /// Nothing has been seen yet.
    pub(crate) fn new(search: RestartSearch) -> Self {
        Self { search, window: VecDeque::with_capacity(search.window + 1), anchor_ns: 0.0, length: 0 }
    }

    /// Takes the next value; whether the stretch is now long enough.
    pub(crate) fn push(&mut self, value_ns: f64) -> bool {
        self.window.push_back(value_ns);
        if self.window.len() > self.search.window {
            self.window.pop_front();
        }
        if self.window.len() < self.search.window {
            return false;
        }
        let mean = self.window.iter().sum::<f64>() / self.window.len() as f64;
        // Compared with the start of the stretch, not with the mean before: the curve begins with a descent of one
        // processor cycle a step, which is less than the bound.
        if self.length > 0 && (mean - self.anchor_ns).abs() <= self.search.bound.as_ns() {
            self.length += 1;
        } else {
            self.anchor_ns = mean;
            self.length = 1;
        }
        self.length >= self.search.stable
    }
}

/// The stable stretch of a series of restart latencies, as indices; `None` if it never settles.
pub(crate) fn stable_stretch(values_ns: impl IntoIterator<Item = f64>, search: RestartSearch) -> Option<Range<usize>> {
    let mut settling = Settling::new(search);
    let last = values_ns.into_iter().position(|value| settling.push(value))?;
    Some(last + 1 - search.stable..last + 1)
}

/// One curve of several searches for the same latency, step by step the least of their times, with the figures that they
/// give: the saws of all their stable stretches. `None` without searches.
pub(crate) fn merged(curves: &[RestartCurve], search: RestartSearch) -> Option<(Vec<f64>, RestartCurve)> {
    let (first, others) = curves.split_first()?;
    let saw = |curve: &RestartCurve| curve.window().iter().map(|point| point.restart_ns).collect::<Vec<f64>>();
    if others.is_empty() {
        return Some((saw(first), first.clone()));
    }
    let mut points = curves.iter().map(|curve| &curve.points).max_by_key(|points| points.len())?.clone();
    for point in curves.iter().flat_map(|curve| &curve.points) {
        let merged = &mut points[point.work as usize];
        merged.l1_ns = merged.l1_ns.min(point.l1_ns);
        merged.back_to_back_ns = merged.back_to_back_ns.min(point.back_to_back_ns);
        merged.restart_ns = merged.back_to_back_ns - merged.l1_ns;
    }
    let settled = stable_stretch(points.iter().map(|point| point.restart_ns), search);
    let stable = settled.unwrap_or_else(|| first.stable.clone());
    Some((curves.iter().flat_map(saw).collect(), RestartCurve { points, stable }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Flat back-to-back time up to a knee, then a saw: what Figure 4.4 of the thesis looks like.
    fn saw(knee: usize, cycle_ns: f64, tooth: usize, floor_ns: f64) -> impl Iterator<Item = f64> {
        (0..).map(move |n| {
            if n < knee { floor_ns + (knee - n) as f64 * cycle_ns } else { floor_ns + (n % tooth) as f64 * cycle_ns }
        })
    }

    #[test]
    fn the_slow_descent_is_not_taken_for_a_stable_stretch() {
        // 4 ns a step is less than the bound of 5 ns; comparing neighbours would settle at once.
        let values = saw(40, 4.0, 5, 285.0).take(257);
        let stable = stable_stretch(values, RestartSearch::default()).expect("the saw settles");
        assert!(stable.start >= 40, "{stable:?}");
        assert_eq!(stable.len(), 19);
    }

    #[test]
    fn a_series_that_keeps_falling_never_settles() {
        let falling = (0..257).map(|n| 2000.0 - 4.0 * f64::from(n));
        assert_eq!(stable_stretch(falling, RestartSearch::default()), None);
    }

    #[test]
    fn a_series_too_short_to_settle_is_refused() {
        let search = RestartSearch { max_work: 29, ..RestartSearch::default() };
        let error = search.validate().expect_err("13 + 19 values are 0..=30");
        assert_eq!(error.to_string(), "--max-work 29: the restart search would not terminate; accepted: 30 or more");
        // And the number named is enough for a constant series.
        let constant = std::iter::repeat_n(300.0, 31);
        assert_eq!(stable_stretch(constant, RestartSearch::default()), Some(12..31));
    }

    proptest! {
        #[test]
        fn the_floor_of_a_saw_is_found(
            knee in 5usize..80, cycle in 2.5..5.2f64, tooth in 2usize..7, floor in 200.0..1500.0f64,
        ) {
            let values: Vec<f64> = saw(knee, cycle, tooth, floor).take(257).collect();
            let stable = stable_stretch(values.iter().copied(), RestartSearch::default()).expect("the saw settles");
            let least = values[stable].iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!((least - floor).abs() < 1e-9, "{} for {}", least, floor);
        }
    }
}
