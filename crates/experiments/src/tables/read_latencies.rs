//! Read latencies by protocol: FLASH dissertation, Table 5.2.

use bench::{Experiment, Placement, Plan, State};
use units::NodeId;

use super::{Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::system::System;

/// A row for each protocol; the least and the greatest latency over a set of placements for each kind of miss.
///
/// The section says of remote placements only that the best are within a cluster and the worst reach another metacube. Here the
/// requester is node 0. The best cases have home and owner in its cluster; the worst are the slowest of those with the home, and
/// for three hops with home and owner side by side, in any cluster of the other metacubes.
pub struct ReadLatencies;

/// The nodes of a cluster router (FLASH dissertation, Appendix A).
const CLUSTER: u16 = 4;
/// The nodes of a metacube (the same).
const METACUBE: u16 = 16;
/// The node that reads.
const REQUESTER: NodeId = NodeId(0);

impl Shape for ReadLatencies {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.under(row)?;
        let (clusters, near) = (farther_clusters(&system), NodeId(1));
        let far = |measured: &dyn Fn(NodeId) -> Option<Formula>| {
            let latencies = clusters.iter().map(|&home| measured(home)).collect::<Option<Vec<_>>>();
            latencies.filter(|latencies| !latencies.is_empty()).map(Formula::greatest)
        };
        let ns = match column {
            "local read" => unowned(&system, REQUESTER),
            "least remote read" => unowned(&system, near),
            "greatest remote read" => far(&|home| unowned(&system, home)),
            "least three-hop read" => dirty(&system, near),
            "greatest three-hop read" => far(&|home| dirty(&system, home)),
            _ => None,
        };
        Ok(ns.map(|ns| system.cycles(ns)))
    }
}

/// The first node of each cluster outside of the requester's metacube.
fn farther_clusters(system: &System) -> Vec<NodeId> {
    (METACUBE..).step_by(CLUSTER.into()).map(NodeId).take_while(|&node| system.layout.has_node(node)).collect()
}

/// A line of `home` that no cache has.
fn unowned(system: &System, home: NodeId) -> Option<Formula> {
    latency(system, State::Uown, home, None)
}

/// A line of `home` that the node after it has modified.
fn dirty(system: &System, home: NodeId) -> Option<Formula> {
    latency(system, State::Dexd, home, Some(NodeId(home.0 + 1)))
}

fn latency(system: &System, state: State, home: NodeId, owner: Option<NodeId>) -> Option<Formula> {
    let first = |node: NodeId| system.layout.cpus_of(node).first().copied();
    let owner = match owner {
        Some(node) => Some(first(node)?),
        None => None,
    };
    let placement = Placement::new(home, first(REQUESTER)?, owner);
    let plan = Plan::new(Experiment::LmbenchRead, state, placement, system.settings().clone());
    plan.validate(&system.layout).ok()?;
    Some(system.headline(&plan))
}
