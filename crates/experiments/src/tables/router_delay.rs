//! The delay of a router, from remote latencies: Prestor 2001 Table 4.14.

use bench::{Experiment, Series, State};

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::system::System;

/// A row for each hop and their average; two columns for each machine: how many nodes, and the delay of that hop.
pub struct RouterDelay;

/// Time that a message pays once for leaving its node and entering another, in nanoseconds (Prestor 2001 section 4.3.2).
const REMOTE_PENALTY_NS: f64 = 230.0;

impl Shape for RouterDelay {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let Some((machine, what)) = column.rsplit_once(' ') else { return Ok(None) };
        let system = scene.systems.get(machine)?;
        Ok(match (what, row.parse::<u32>()) {
            ("nodes", Ok(hop)) => Some(Formula::Known(system.nodes_at(hop) as f64)),
            ("delay", Ok(hop)) => delay(&system, hop),
            ("delay", Err(_)) if row == "avg" => average(&system),
            _ => None,
        })
    }
}

/// The latency at this distance less that one hop nearer, and less the remote penalty at the first hop.
fn delay(system: &System, hop: u32) -> Option<Formula> {
    let latency = |hops| system.mean_at(Series::Unowned, Experiment::LmbenchRead, State::Uown, hops);
    let step = latency(hop)?.less(latency(hop.checked_sub(1)?)?);
    Some(if hop == 1 { step.less(Formula::Known(REMOTE_PENALTY_NS)) } else { step })
}

/// The mean of the delays, each weighted by how many nodes are that far away.
fn average(system: &System) -> Option<Formula> {
    let mut weights_and_delays = Vec::new();
    for hop in 1..=system.farthest() {
        weights_and_delays.extend([Formula::Known(system.nodes_at(hop) as f64), delay(system, hop)?]);
    }
    Some(Formula::Computed(weights_and_delays, |values| {
        let (mut nodes, mut sum) = (0.0, 0.0);
        for pair in values.chunks_exact(2) {
            nodes += pair[0];
            sum += pair[0] * pair[1];
        }
        (nodes > 0.0).then_some(sum / nodes)
    }))
}
