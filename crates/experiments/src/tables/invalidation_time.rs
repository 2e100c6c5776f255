//! The time that invalidations of all writes of a program take: FLASH dissertation, Figure 5.9.

use super::programs::{Point, Runs, SPECOMP, geometric_mean};
use super::{Scene, Shape, upgrades};
use crate::Outcome;
use crate::error::ExperimentError;
use crate::formula::Formula;

/// A row for each program, and `average`; a column for each protocol, in processor cycles, and such as `A over B`.
///
/// As the dissertation has it, writes are counted by how many invalidations each sends, and each count is multiplied by the latency
/// of an upgrade with so many sharers (Figure 5.7), as if no write overlapped another.
pub struct InvalidationTime;

/// The numbers of sharers whose latency is measured; between them it is a straight line.
const SHARERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 60];
/// The row of the geometric mean.
const AVERAGE: &str = "average";

/// How much the latency with [`SHARERS`]`[index]` counts in that with so many: the one next above and the one next below share it.
fn weight(index: usize, sharers: usize) -> f64 {
    let (first, last) = (SHARERS[0], SHARERS[SHARERS.len() - 1]);
    let (own, at) = (SHARERS[index] as f64, sharers.clamp(first, last) as f64);
    let towards = |other: Option<&usize>| {
        let other = *other? as f64;
        let between = (at - own) * (other - own) >= 0.0 && (at - own).abs() <= (other - own).abs();
        between.then(|| 1.0 - (at - own) / (other - own))
    };
    let below = index.checked_sub(1).and_then(|index| SHARERS.get(index));
    towards(below).or(towards(SHARERS.get(index + 1))).unwrap_or(0.0)
}

fn time(scene: &Scene<'_>, program: &str, protocol: &str) -> Result<Option<Formula>, ExperimentError> {
    let runs = Runs { scene, programs: SPECOMP };
    let point = Point { protocol: protocol.to_owned(), ..Point::default() };
    let Some(measurement) = runs.measurement(program, &point)? else { return Ok(None) };
    let mut parts = Vec::new();
    for (index, &sharers) in SHARERS.iter().enumerate() {
        let Some(latency) = upgrades::latency(scene, protocol, sharers)? else { return Ok(None) };
        parts.push(latency);
        parts.push(Formula::reading(measurement.clone(), move |outcome| match outcome {
            Outcome::Program(row) => {
                let writes = row.invalidations.iter().enumerate().skip(1);
                Some(writes.map(|(sharers, &count)| weight(index, sharers) * count as f64).sum())
            }
            _ => None,
        }));
    }
    let sum = |parts: &[f64]| Some(parts.chunks_exact(2).map(|pair| pair[0] * pair[1]).sum());
    Ok(Some(Formula::Computed(parts, sum)))
}

fn of_row(scene: &Scene<'_>, row: &str, protocol: &str) -> Result<Option<Formula>, ExperimentError> {
    if row != AVERAGE {
        return time(scene, row, protocol);
    }
    let all = SPECOMP.iter().map(|program| time(scene, program, protocol)).collect::<Result<Option<Vec<_>>, _>>()?;
    Ok(all.map(|all| Formula::Computed(all, geometric_mean)))
}

impl Shape for InvalidationTime {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        match column.split_once(" over ") {
            None => of_row(scene, row, column),
            Some((one, other)) => {
                let both = of_row(scene, row, one)?.zip(of_row(scene, row, other)?);
                Ok(both.map(|(one, other)| one.over(other)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_between_those_measured_are_on_a_straight_line() {
        let at = |sharers: usize| (0..SHARERS.len()).map(|index| weight(index, sharers)).collect::<Vec<_>>();
        assert_eq!(at(4), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(at(5), [0.0, 0.0, 0.75, 0.25, 0.0, 0.0, 0.0]);
        assert_eq!(at(46), [0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5]);
        assert_eq!(at(63), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "as many as are measured at most");
    }
}
