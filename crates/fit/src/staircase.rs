//! The levels behind noisy times: a staircase of few steps through the times of accesses to arrays of growing size.
//!
//! Noise on a computer that others use, too, is heavy-tailed: most times are right to a percent, some are a multiple. So nothing
//! here rests on one point or on a mean:
//!
//! 1. An access to a larger array takes no less. The monotone curve with the least absolute residuals in the logarithm (isotonic
//!    median regression, by pooling adjacent violators) is what the times say without their spikes.
//! 2. A level is a stretch of the curve that is flat, what lies between two is a ramp. Of all divisions into flats and ramps the one is
//!    taken that costs least (dynamic programming, so that the optimum is global). A point on a flat costs its squared residual in
//!    units of the scatter; every flat costs the two parameters that describe it, every point on a ramp one, and a point that is far
//!    off its flat no more than one, too (an outlier with a mean of its own), at the price that the Bayesian information criterion
//!    puts on a parameter. Where it is known how many levels there can be, it is the best division into no more.

use crate::least_squares::Uncertain;

/// How far a flat bends either way, as a share of its time, without any noise: translation, prefetching, the pace of the clock and
/// the part of a cache that others displace. The scatter is taken to be no less. Recorded curves give the same levels from 0.06 to
/// 0.12.
const BEND: f64 = 0.1;
/// Scatter beyond which neighbouring levels would flow together: the scatter is taken to be no more.
const MOST_SCATTER: f64 = 0.15;
/// A level takes so many times as long as the one before: what translation misses and wrongly predicted ways add to the hits
/// of one level stays below.
pub const LEVEL: f64 = 1.6;
/// The arrays on the flat of a level between others extend over this factor at least. A cache is built four times or more as large as
/// the one before it, and a part of that is ramp; the end of a cache of which others displace a part dwells for less. This is all that
/// is taken as known of hierarchies, beside [`LEVEL`].
const EXTENT: f64 = 3.0;
/// Those of the last level, which end with the measurement.
const LAST_EXTENT: f64 = 2.0;
/// Times farther from the monotone curve, in standard deviations, contradict their neighbours.
const OUTLIER: f64 = 2.0;
/// From the median absolute deviation to the standard deviation of a normal distribution.
const NORMAL: f64 = 1.4826;

/// A level: arrays with about the same time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Stair {
    /// The largest of the arrays that the flat was found in, in bytes.
    pub(crate) last: u64,
    /// The middle time of the flat, in nanoseconds, and how far the times of its arrays are from it: the median, scaled to the standard
    /// deviation of a normal distribution.
    pub(crate) time: Uncertain,
}

/// The staircase through a series of times.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Staircase {
    /// The levels, fastest first; at least one.
    pub(crate) stairs: Vec<Stair>,
    /// Each array with its time on the monotone curve, in nanoseconds.
    pub(crate) curve: Vec<(u64, f64)>,
    /// Whether each time is farther from the monotone curve than the others scatter.
    pub(crate) outlying: Vec<bool>,
    /// Whether each array is between two levels: its time decides where the one ends and the other begins.
    pub(crate) between: Vec<bool>,
}

impl Staircase {
    /// The staircase of `most` levels at most (one at least) through `sizes`: arrays in bytes, ascending, and times in nanoseconds,
    /// all positive.
    pub(crate) fn through(sizes: &[(u64, f64)], most: usize) -> Self {
        let times: Vec<f64> = sizes.iter().map(|size| size.1.ln()).collect();
        let curve = isotonic(&times);
        let deviations: Vec<f64> = times.iter().zip(&curve).map(|(time, on_curve)| (time - on_curve).abs()).collect();
        let scatter = (NORMAL * median(&deviations)).clamp(BEND, MOST_SCATTER);
        let extents: Vec<u64> = sizes.iter().map(|size| size.0).collect();
        let flats = division(&flats(&extents, &times, &curve, scatter), times.len(), most);
        let mut between = vec![true; sizes.len()];
        flats.iter().for_each(|flat| between[flat.first..=flat.last].fill(false));
        let stair = |flat: &Flat| {
            let value = flat.level.exp();
            let apart: Vec<f64> = times[flat.first..=flat.last].iter().map(|time| (time.exp() - value).abs()).collect();
            Stair { last: sizes[flat.last].0, time: Uncertain { value, error: NORMAL * median(&apart) } }
        };
        Self {
            stairs: flats.iter().map(stair).collect(),
            between,
            outlying: deviations.iter().map(|deviation| *deviation > OUTLIER * scatter).collect(),
            curve: sizes.iter().zip(&curve).map(|(size, time)| (size.0, time.exp())).collect(),
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The lower of two middle values: noise adds to times.
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// The monotone sequence nearest to `values` in absolute residuals: violators are pooled, each pool has its median.
fn isotonic(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(Vec<f64>, f64)> = Vec::new();
    for &value in values {
        let (mut members, mut middle) = (vec![value], value);
        while let Some((before, _)) = pools.pop_if(|(_, before)| *before > middle) {
            members.extend(before);
            middle = median(&members);
        }
        pools.push((members, middle));
    }
    pools.iter().flat_map(|(members, middle)| std::iter::repeat_n(*middle, members.len())).collect()
}

/// A flat stretch, by the indices of its first and last point, its level as a logarithm, and what it costs.
#[derive(Clone, Copy, Debug)]
struct Flat {
    first: usize,
    last: usize,
    level: f64,
    cost: f64,
}

/// The price of a parameter by the Bayesian information criterion.
fn parameter(points: usize) -> f64 {
    (points as f64).ln()
}

/// Every stretch that may be a level, in the order of their ends.
fn flats(sizes: &[u64], times: &[f64], curve: &[f64], scatter: f64) -> Vec<Flat> {
    let points = times.len();
    let parameter = parameter(points);
    let residual = |time: f64, level: f64| ((time - level) / scatter).powi(2).min(parameter);
    let mut all: Vec<Flat> = Vec::new();
    for last in 0..points {
        for first in 0..=last {
            let extent = if last + 1 < points { EXTENT } else { LAST_EXTENT };
            if first > 0 && (sizes[last] as f64) < extent * sizes[first] as f64 {
                break;
            }
            // Levels are read off the monotone curve, residuals off the times: pooled points are no evidence of a flat.
            let level = median(&curve[first..=last]);
            let residuals: Vec<f64> = times[first..=last].iter().map(|&time| residual(time, level)).collect();
            // Outliers at its ends would lengthen it for nothing.
            if residuals[0] >= parameter || residuals[last - first] >= parameter {
                continue;
            }
            all.push(Flat { first, last, level, cost: 2.0 * parameter + residuals.iter().sum::<f64>() });
        }
    }
    all
}

/// A division up to the end of a flat: the least cost, and the flat before it, by index.
type Best = Option<(f64, Option<usize>)>;

/// The division into `most` of these flats at most, and ramps between them, that costs least.
fn division(all: &[Flat], points: usize, most: usize) -> Vec<Flat> {
    let ramp = |length: usize| length as f64 * parameter(points);
    let first = |flat: &Flat| Some((ramp(flat.first) + flat.cost, None));
    // The best divisions that end in each flat: of one flat, of two, and so on.
    let mut layers: Vec<Vec<Best>> = vec![all.iter().map(first).collect()];
    while layers.len() < most && layers[layers.len() - 1].iter().any(Option::is_some) {
        let next = one_more(all, &layers[layers.len() - 1], ramp);
        layers.push(next);
    }
    let whole = |&(layer, index): &(usize, usize)| {
        let (cost, _) = layers[layer][index]?;
        Some((cost + ramp(points - 1 - all[index].last), (layer, index)))
    };
    let ends = (0..layers.len()).flat_map(|layer| (0..all.len()).map(move |index| (layer, index)));
    let best = ends.filter_map(|end| whole(&end)).min_by(|a, b| a.0.total_cmp(&b.0));
    let mut chosen = Vec::new();
    let mut next = best.map(|(_, end)| end);
    while let Some((layer, index)) = next {
        chosen.push(all[index]);
        let before = layers[layer][index].and_then(|(_, before)| before);
        next = before.map(|before| (layer - 1, before));
    }
    chosen.reverse();
    chosen
}

/// The best divisions of one flat more than those of `layer`.
fn one_more(all: &[Flat], layer: &[Best], ramp: impl Fn(usize) -> f64) -> Vec<Best> {
    let best = |flat: &Flat| -> Best {
        // Flats are in the order of their ends: those that end before this one begins come first.
        let ended = all.partition_point(|other| other.last < flat.first);
        let after = |other: usize| {
            let (cost, _) = layer[other]?;
            let faster = flat.level - all[other].level >= LEVEL.ln();
            faster.then(|| (cost + ramp(flat.first - all[other].last - 1) + flat.cost, Some(other)))
        };
        (0..ended).filter_map(after).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    all.iter().map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: usize = usize::MAX;

    #[test]
    fn where_fewer_levels_are_possible_the_best_of_so_many_are_found() {
        let times = [1.0, 1.0, 1.0, 4.0, 4.1, 4.0, 8.0, 8.1, 8.0, 40.0, 40.1, 40.0];
        let sizes: Vec<(u64, f64)> = (0..).map(|i| 4096u64 << i).zip(times).collect();
        let levels = |most| -> Vec<f64> {
            let found = Staircase::through(&sizes, most);
            found.stairs.iter().map(|stair| stair.time.value.round()).collect()
        };
        assert_eq!(levels(ANY), [1.0, 4.0, 8.0, 40.0]);
        let three = levels(3);
        assert_eq!((three.len(), three[0], three[2]), (3, 1.0, 40.0), "{three:?}");
        assert_eq!(levels(1).len(), 1);
    }

    #[test]
    fn pools_have_their_median_and_monotone_times_stay() {
        assert_eq!(isotonic(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
        assert_eq!(isotonic(&[1.0, 9.0, 1.0, 1.0, 4.0]), [1.0, 1.0, 1.0, 1.0, 4.0]);
        // Neither does one time that is too short pull down those before it.
        assert_eq!(isotonic(&[1.0, 4.0, 4.0, 4.0, 1.0, 4.0]), [1.0, 4.0, 4.0, 4.0, 4.0, 4.0]);
        assert_eq!(isotonic(&[]), [0.0; 0]);
    }

    #[test]
    fn spikes_make_no_levels_and_ramps_are_none() {
        let sizes = |times: &[f64]| (0..).map(|i| 4096u64 << i).zip(times.iter().copied()).collect::<Vec<_>>();
        let found =
            Staircase::through(&sizes(&[1.0, 1.02, 30.0, 1.0, 4.0, 4.1, 4.0, 9.0, 16.0, 16.2, 16.0, 90.0, 16.3]), ANY);
        let levels: Vec<f64> = found.stairs.iter().map(|stair| stair.time.value.round()).collect();
        assert_eq!(levels, [1.0, 4.0, 16.0], "{found:?}");
        let outlying: Vec<usize> = (0..13).filter(|&index| found.outlying[index]).collect();
        assert_eq!(outlying, [2, 11]);
        let creeping: Vec<f64> = (0..12).map(|step| 10.0 * 1.04f64.powi(step)).collect();
        assert_eq!(Staircase::through(&sizes(&creeping), ANY).stairs.len(), 1);
    }
}
