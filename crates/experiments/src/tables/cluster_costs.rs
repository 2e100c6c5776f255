//! Latencies of a cluster of SMPs: Lai and Falsafi 2000, Table 3.

use bench::{Experiment, Placement, Plan, State};
use units::{CpuId, NodeId};

use super::cluster_programs::ClusterPrograms;
use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;

/// A row for each latency, in cycles of the processor, and whether operations on pages take as long as published.
pub struct ClusterCosts;

/// Operations on pages, by the words of their mean times ([`ClusterPrograms`]).
const OPERATIONS: [(&str, &str); 3] = [
    ("relocation of a page", "relocation-cycles R-NUMA"),
    ("gathering of a page", "gathering-cycles MigRep"),
    ("copying of a page", "copying-cycles MigRep"),
];
/// A program with many of them.
const PROGRAM: &str = "lu";
/// The column of costs; others hold a cost against limits.
const COST: &str = "cost";
/// The home of all lines.
const HOME: NodeId = NodeId(0);

impl Shape for ClusterCosts {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let next = system.description.topology.processors_per_node as u16;
        let reader = match row {
            "local miss latency" => 0,
            "round-trip remote miss latency" => next,
            _ => return of_pages(scene, row, column),
        };
        let placement = Placement::new(HOME, CpuId(reader), None);
        let plan = Plan::new(Experiment::LmbenchRead, State::Uown, placement, system.settings().clone());
        Ok(Some(system.cycles(system.headline(&plan))))
    }
}

/// The mean time of an operation on pages, in cycles, or whether it is within limits.
fn of_pages(scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
    let Some((_, words)) = OPERATIONS.iter().find(|(name, _)| *name == row) else { return Ok(None) };
    let words = if column == COST { (*words).to_owned() } else { format!("{words} {column}") };
    ClusterPrograms.formula(scene, PROGRAM, &words)
}
