//! Minimum, maximum, median, mean, standard deviation and confidence interval of a set of samples, and from how many samples on
//! the last two exist.

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
    /// The sample standard deviation (divisor n - 1); `None` for a single sample, which has no spread.
    pub stdev: Option<f64>,
    /// How many samples there were.
    pub n: u64,
    /// Where the 95 % confidence interval of the median begins; `None` with fewer samples than such an interval takes.
    pub ci_low: Option<f64>,
    /// Where it ends; `None` with `ci_low`.
    pub ci_high: Option<f64>,
}

impl Statistics {
    /// The summary of a measurement that has not been made: no samples, and figures that are not numbers.
    pub const NONE: Self = Self {
        min: f64::NAN,
        max: f64::NAN,
        median: f64::NAN,
        mean: f64::NAN,
        stdev: None,
        n: 0,
        ci_low: None,
        ci_high: None,
    };

    /// Summarises `samples`; `None` if there is none or if one is not a finite number.
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let outside = ranks_outside(n);
        let squares: f64 = sorted.iter().map(|sample| (sample - mean).powi(2)).sum();
        Some(Self {
            min: sorted[0],
            max: sorted[n - 1],
            median: (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
            // Rounding of the sum may put the mean a last digit outside the samples.
            mean: mean.clamp(sorted[0], sorted[n - 1]),
            stdev: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
            n: n as u64,
            ci_low: outside.map(|outside| sorted[outside]),
            ci_high: outside.map(|outside| sorted[n - 1 - outside]),
        })
    }

    /// The 95 % confidence interval of the median, where there are enough samples for one: what tables print, and rules compare.
    ///
    /// The number of samples decides, whatever the limits hold: files of earlier versions gave the range of fewer.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.ci_low.zip(self.ci_high).filter(|_| self.n >= Self::FEWEST_FOR_INTERVAL)
    }

    /// Whether the medians of two sets of samples differ, as far as 95 % intervals that do not overlap can tell. Sets too small
    /// for such an interval never do.
    pub fn differs_from(&self, other: &Self) -> bool {
        let pair = self.interval().zip(other.interval());
        pair.is_some_and(|((low, high), (other_low, other_high))| low > other_high || other_low > high)
    }

    /// The fewest samples whose range is a 95 % interval of the median.
    pub const FEWEST_FOR_INTERVAL: u64 = 6;
}

/// How many of `n` sorted samples lie outside of the 95 % confidence interval of the median, at each end; `None` if `n` is too
/// small for one.
///
/// The interval is that of order statistics, which assumes nothing of the distribution: between the k-th smallest and
/// the k-th largest sample lies the median unless fewer than k of n tosses of a coin show one side (Conover, Practical
/// Nonparametric Statistics, section 3.2). Below six samples even their whole range has less than 95 %.
fn ranks_outside(n: usize) -> Option<usize> {
    const OUTSIDE_EACH_END: f64 = 0.025;
    // In logarithms: 0.5 to the power n underflows for many samples.
    let mut log_term = n as f64 * 0.5_f64.ln();
    let (mut cumulative, mut outside) = (log_term.exp(), None);
    for k in 1..n.div_ceil(2) {
        if cumulative > OUTSIDE_EACH_END {
            break;
        }
        outside = Some(k - 1);
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
        assert!((statistics.stdev.expect("eight samples") - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(statistics.n, 8);
    }

    /// Conover's table A3: the ranks that bound the median are the 2nd and 9th of 10 samples, the 6th and 15th of 20.
    #[test]
    fn the_interval_has_the_tabled_ranks() {
        let ranks = |n: usize| {
            let samples: Vec<f64> = (1..=n).map(|rank| rank as f64).collect();
            let statistics = Statistics::of(&samples).expect("finite samples");
            statistics.interval()
        };
        assert_eq!(ranks(10), Some((2.0, 9.0)));
        assert_eq!(ranks(20), Some((6.0, 15.0)));
        assert_eq!(ranks(6), Some((1.0, 6.0)));
        let (low, high) = ranks(10_000).expect("many samples");
        assert!((4890.0..4910.0).contains(&low) && (5090.0..5111.0).contains(&high), "{low} {high}");
    }

    #[test]
    fn too_few_samples_have_neither_interval_nor_deviation() {
        for n in 1..=8_u32 {
            let samples: Vec<f64> = (1..=n).map(f64::from).collect();
            let statistics = Statistics::of(&samples).expect("finite samples");
            let enough = u64::from(n) >= Statistics::FEWEST_FOR_INTERVAL;
            assert_eq!((statistics.ci_low.is_some(), statistics.interval().is_some()), (enough, enough), "{n} samples");
            assert_eq!(statistics.stdev.is_some(), n > 1, "{n} samples");
        }
        let text = serde_json::to_string(&Statistics::of(&[7.0]).expect("a sample")).expect("a record");
        assert!(text.contains("\"stdev\":null") && text.contains("\"ci_low\":null,\"ci_high\":null"), "{text}");
        let earlier =
            Statistics { ci_low: Some(1.0), ci_high: Some(2.0), n: 2, ..Statistics::of(&[1.0, 2.0]).expect("two") };
        assert_eq!(earlier.interval(), None, "as earlier versions wrote it");
    }

    #[test]
    fn only_separate_intervals_differ() {
        let of = |from: f64| {
            let samples: Vec<f64> = (0..6).map(|step| from + f64::from(step) * 0.4).collect();
            Statistics::of(&samples).expect("finite samples")
        };
        assert!(of(1.0).differs_from(&of(4.0)) && of(4.0).differs_from(&of(1.0)));
        assert!(!of(1.0).differs_from(&of(2.5)));
        let few = Statistics::of(&[9.0; 5]).expect("finite samples");
        assert!(!of(1.0).differs_from(&few) && !few.differs_from(&of(1.0)));
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
            if let Some((low, high)) = forward.interval() {
                prop_assert!(forward.min <= low && low <= forward.median);
                prop_assert!(forward.median <= high && high <= forward.max);
            }
            // Popoviciu's inequality, with the factor n / (n - 1) of the sample variance.
            let n = samples.len() as f64;
            let bound = if n > 1.0 { (forward.max - forward.min) / 2.0 * (n / (n - 1.0)).sqrt() } else { 0.0 };
            prop_assert!(forward.stdev.unwrap_or(0.0) <= bound + 1e-6);
        }
    }
}
