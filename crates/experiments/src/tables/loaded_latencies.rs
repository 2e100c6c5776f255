//! Servers under load: the latency of a read by the bandwidth of all reads, as Intel MLC measures it.

use std::sync::Arc;

use bench::{Experiment, Plan, Settings, State, Traffic, load_of_all};

use super::servers::MACHINES;
use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::measurement::Measurement;
use crate::outcome::Outcome;
use crate::system::System;

/// A curve for each machine.
pub struct LoadedLatencies;

/// Delays between the reads of a processor, in cycles: close to each other where bandwidths saturate.
const DELAYS: [u32; 10] = [20_000, 150, 100, 75, 60, 50, 40, 30, 20, 0];

impl Shape for LoadedLatencies {
    fn other_machines(&self) -> &'static [&'static str] {
        const NAMES: [&str; 2] = [MACHINES[0].1, MACHINES[2].1];
        &NAMES
    }

    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let of = |&(name, machine): &(&str, &'static str)| Some((machine, row.strip_prefix(name)?.trim()));
        let Some((machine, load)) = MACHINES.iter().find_map(of) else { return Ok(None) };
        let system = scene.systems.get(machine)?;
        let point = |delay: u32| curve(&system, &[delay]);
        let at = load.strip_prefix("at ").and_then(|load| load.strip_suffix(" MB/s")?.parse::<f64>().ok());
        Ok(match (load, at, column) {
            ("idle", _, "latency") => point(DELAYS[0]).map(|of| Formula::Computed(of, |point| Some(point[0]))),
            ("saturated", _, "latency") => point(0).map(|of| Formula::Computed(of, |point| Some(point[0]))),
            ("saturated", _, "bandwidth") => point(0).map(|of| Formula::Computed(of, |point| Some(point[1]))),
            ("twice the idle latency", _, "bandwidth") => {
                curve(&system, &DELAYS).map(|of| Formula::Computed(of, |curve| knee(&points(curve))))
            }
            (_, Some(bandwidth), "latency") => curve(&system, &DELAYS).map(|of| {
                Formula::ComputedBy(of, Arc::new(move |curve: &[f64]| latency_at(&points(curve), bandwidth)))
            }),
            _ => None,
        })
    }
}

/// The latency and the bandwidth at each delay, one after the other; `None` on a machine of one processor.
fn curve(system: &System, delays: &[u32]) -> Option<Vec<Formula>> {
    let placement = load_of_all(&system.layout)?;
    let point = |&pause: &u32| {
        let traffic = Traffic { reads: 1, writes: 0, pause };
        let settings = Settings { traffic, ..system.settings().clone() };
        let plan = Plan::new(Experiment::LoadedRead, State::Uown, placement.clone(), settings);
        let measurement = Measurement::of_plan(system.name(), &plan);
        let latency = Formula::median(measurement.clone(), "latency");
        let bandwidth = Formula::one_of_several(measurement, "bandwidth", |outcome| match outcome {
            Outcome::Bench(outcome) => outcome.companion.as_ref().map(|traffic| traffic.median),
            _ => None,
        });
        [latency, bandwidth]
    };
    Some(delays.iter().flat_map(point).collect())
}

/// The points of a curve, by ascending bandwidth: bandwidth and latency.
fn points(curve: &[f64]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = curve.chunks_exact(2).map(|point| (point[1], point[0])).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

/// The latency at a bandwidth; `None` beyond the curve.
fn latency_at(points: &[(f64, f64)], bandwidth: f64) -> Option<f64> {
    let pair = points.windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&bandwidth))?;
    Some(between(pair[0], pair[1], bandwidth))
}

/// The bandwidth at which the latency is twice that of the least load; `None` if it never is.
fn knee(points: &[(f64, f64)]) -> Option<f64> {
    let twice = 2.0 * points.first()?.1;
    let pair = points.windows(2).find(|pair| pair[0].1 < twice && pair[1].1 >= twice)?;
    let turned = |(bandwidth, latency): (f64, f64)| (latency, bandwidth);
    Some(between(turned(pair[0]), turned(pair[1]), twice))
}

/// The ordinate at `x` of the straight line between two points.
fn between(from: (f64, f64), to: (f64, f64), x: f64) -> f64 {
    if to.0 == from.0 { from.1 } else { from.1 + (to.1 - from.1) * (x - from.0) / (to.0 - from.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published curve of the E5-2699 v3, in any order: latency and bandwidth.
    const CURVE: [f64; 10] = [294.0, 116e3, 101.0, 3e3, 109.0, 41e3, 207.0, 104.5e3, 124.0, 73e3];

    #[test]
    fn curves_are_read_between_their_points() {
        let points = points(&CURVE);
        assert_eq!(latency_at(&points, 73e3), Some(124.0));
        assert_eq!(latency_at(&points, 57e3), Some(116.5));
        assert_eq!(latency_at(&points, 120e3), None);
        assert_eq!(knee(&points).map(|bandwidth| (bandwidth / 100.0).round()), Some(1026.0));
        assert_eq!(knee(&points[..2]), None);
    }
}
