//! Latencies of a cluster of SMPs: Lai and Falsafi 2000, Table 3.

use bench::{Experiment, Placement, Plan, State};
use units::{CpuId, NodeId};

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;

/// A row for each latency, in cycles of the processor.
pub struct ClusterCosts;

/// The home of all lines.
const HOME: NodeId = NodeId(0);

impl Shape for ClusterCosts {
    fn formula(&self, scene: &Scene<'_>, row: &str, _column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let next = system.description.topology.processors_per_node as u16;
        let reader = match row {
            "local miss latency" => 0,
            "round-trip remote miss latency" => next,
            _ => return Ok(None),
        };
        let placement = Placement::new(HOME, CpuId(reader), None);
        let plan = Plan::new(Experiment::LmbenchRead, State::Uown, placement, system.settings().clone());
        Ok(Some(system.cycles(system.headline(&plan))))
    }
}
