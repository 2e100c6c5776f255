//! Samples that fall into two groups: a median between them, or of one of them, is not what was measured.

use record::{Statistics, Warning};

/// Each group has this share of the samples at least; fewer are stragglers.
const LEAST_SHARE: f64 = 0.2;
/// The gap between the groups is this share of the lower one's median at least.
const LEAST_GAP: f64 = 0.15;
/// And so many times the width of either group.
const GAP_OVER_WIDTH: f64 = 1.5;
/// Fewer samples show nothing.
const FEWEST: usize = 6;

/// The groups as a warning, if there are two.
pub(crate) fn two(values: &[f64]) -> Option<Warning> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < FEWEST {
        return None;
    }
    let gap_after = |i: &usize| sorted[i + 1] - sorted[*i];
    let widest = (0..sorted.len() - 1).max_by(|a, b| gap_after(a).total_cmp(&gap_after(b)))?;
    let (lower, upper) = sorted.split_at(widest + 1);
    let width = |group: &[f64]| group[group.len() - 1] - group[0];
    let enough = lower.len().min(upper.len()) as f64 >= LEAST_SHARE * sorted.len() as f64;
    let gap = gap_after(&widest);
    let (low, high) = (Statistics::of(lower)?, Statistics::of(upper)?);
    let apart = gap >= LEAST_GAP * low.median && gap >= GAP_OVER_WIDTH * width(lower).max(width(upper));
    (enough && apart).then_some(Warning::TwoGroups {
        lower: low.median,
        lower_n: low.n,
        upper: high.median,
        upper_n: high.n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_are_told_from_stragglers_and_from_scatter() {
        let groups = [37.0, 37.4, 5.9, 36.8, 5.3, 5.5, 37.1, 5.6];
        let Some(Warning::TwoGroups { lower, lower_n: 4, upper, upper_n: 4 }) = two(&groups) else {
            panic!("{:?}", two(&groups))
        };
        assert!((5.3..5.9).contains(&lower) && (36.8..37.4).contains(&upper));
        let straggler = [37.0, 37.4, 37.2, 36.8, 37.3, 90.0];
        assert_eq!(two(&straggler), None);
        let scatter: Vec<f64> = (0..20).map(|step| 50.0 + f64::from(step)).collect();
        assert_eq!(two(&scatter), None);
        assert_eq!(two(&[1.0, 1.0, 9.0, 9.0]), None);
    }
}
