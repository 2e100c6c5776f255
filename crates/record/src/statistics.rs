//! Minimum, maximum, median, mean, standard deviation and confidence interval of a set of samples.

use serde::{Deserialize, Serialize};

/// The summary of the samples of one experiment, in the unit of the samples.
///
/// These are the five figures that `snbench` prints for each requester (Prestor 2001 section 4.2), and their number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// The smallest sample: the reported figure of a latency.
    pub min: f64,
    /// The largest sample: the reported figure of a bandwidth.
    pub max: f64,
    /// The middle sample, or the mean of the two middle ones.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation (divisor n - 1); zero for a single sample.
    pub stdev: f64,
    /// How many samples there were.
    pub n: u64,
    /// Where the 95 % confidence interval of the median begins.
    pub ci_low: f64,
    /// Where the 95 % confidence interval of the median ends.
    pub ci_high: f64,
}

impl Statistics {
    /// Summarises `samples`; `None` if there is none or if one is not a finite number.
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let below = ranks_outside(n);
        let squares: f64 = sorted.iter().map(|sample| (sample - mean).powi(2)).sum();
        Some(Self {
            min: sorted[0],
            max: sorted[n - 1],
            median: (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
            // Rounding of the sum may put the mean a last digit outside the samples.
            mean: mean.clamp(sorted[0], sorted[n - 1]),
            stdev: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
            n: n as u64,
            ci_low: sorted[below],
            ci_high: sorted[n - 1 - below],
        })
    }

    /// Whether the medians of two sets of samples differ, as far as 95 % intervals that do not overlap can tell.
    pub fn differs_from(&self, other: &Self) -> bool {
        self.ci_low > other.ci_high || other.ci_low > self.ci_high
    }
}

/// How many of `n` sorted samples lie outside of the 95 % confidence interval of the median, at each end.
///
/// The interval is that of order statistics, which assumes nothing of the distribution: between the k-th smallest and
/// the k-th largest sample lies the median unless fewer than k of n tosses of a coin show one side (Conover, Practical
/// Nonparametric Statistics, section 3.2). Below six samples even their whole range has less than 95 %, and is given.
fn ranks_outside(n: usize) -> usize {
    const OUTSIDE_EACH_END: f64 = 0.025;
    // In logarithms: 0.5 to the power n underflows for many samples.
    let mut log_term = n as f64 * 0.5_f64.ln();
    let (mut cumulative, mut outside) = (log_term.exp(), 0);
    for k in 1..n.div_ceil(2) {
        if cumulative > OUTSIDE_EACH_END {
            break;
        }
        outside = k - 1;
        log_term += ((n - k + 1) as f64 / k as f64).ln();
        cumulative += log_term.exp();
    }
    outside
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_samples() {
        let statistics = Statistics::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("eight finite samples");
        assert_eq!((statistics.min, statistics.max, statistics.median, statistics.mean), (2.0, 9.0, 4.5, 5.0));
        assert!((statistics.stdev - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(statistics.n, 8);
    }

    /// Conover's table A3: the ranks that bound the median are the 2nd and 9th of 10 samples, the 6th and 15th of 20.
    #[test]
    fn the_interval_has_the_tabled_ranks() {
        let ranks = |n: usize| {
            let samples: Vec<f64> = (1..=n).map(|rank| rank as f64).collect();
            let statistics = Statistics::of(&samples).expect("finite samples");
            (statistics.ci_low, statistics.ci_high)
        };
        assert_eq!(ranks(10), (2.0, 9.0));
        assert_eq!(ranks(20), (6.0, 15.0));
        assert_eq!(ranks(6), (1.0, 6.0));
        assert_eq!(ranks(3), (1.0, 3.0));
        assert_eq!(ranks(1), (1.0, 1.0));
        let (low, high) = ranks(10_000);
        assert!((4890.0..4910.0).contains(&low) && (5090.0..5111.0).contains(&high), "{low} {high}");
    }

    #[test]
    fn only_separate_intervals_differ() {
        let of = |from: f64| Statistics::of(&[from, from + 1.0, from + 2.0]).expect("finite samples");
        assert!(of(1.0).differs_from(&of(4.0)) && of(4.0).differs_from(&of(1.0)));
        assert!(!of(1.0).differs_from(&of(2.5)));
    }

    #[test]
    fn nothing_to_summarise() {
        assert_eq!(Statistics::of(&[]), None);
        assert_eq!(Statistics::of(&[1.0, f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn ordered_and_independent_of_the_order_of_samples(mut samples in prop::collection::vec(-1e6..1e6f64, 1..40)) {
            let forward = Statistics::of(&samples).expect("finite samples");
            samples.reverse();
            prop_assert_eq!(Statistics::of(&samples).expect("finite samples"), forward);
            prop_assert!(forward.min <= forward.median && forward.median <= forward.max);
            prop_assert!(forward.min <= forward.mean && forward.mean <= forward.max);
            prop_assert!(forward.min <= forward.ci_low && forward.ci_low <= forward.median);
            prop_assert!(forward.median <= forward.ci_high && forward.ci_high <= forward.max);
            // Popoviciu's inequality, with the factor n / (n - 1) of the sample variance.
            let n = samples.len() as f64;
            let bound = if n > 1.0 { (forward.max - forward.min) / 2.0 * (n / (n - 1.0)).sqrt() } else { 0.0 };
            prop_assert!(forward.stdev <= bound + 1e-6);
        }
    }
}
