//! Minimum, maximum, median, mean and standard deviation of a set of samples.

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
        let squares: f64 = sorted.iter().map(|sample| (sample - mean).powi(2)).sum();
        Some(Self {
            min: sorted[0],
            max: sorted[n - 1],
            median: (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
            // Rounding of the sum may put the mean a last digit outside the samples.
            mean: mean.clamp(sorted[0], sorted[n - 1]),
            stdev: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
            n: n as u64,
        })
    }
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
            // Popoviciu's inequality, with the factor n / (n - 1) of the sample variance.
            let n = samples.len() as f64;
            let bound = if n > 1.0 { (forward.max - forward.min) / 2.0 * (n / (n - 1.0)).sqrt() } else { 0.0 };
            prop_assert!(forward.stdev <= bound + 1e-6);
        }
    }
}
