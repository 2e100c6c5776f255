//! Unowned lines at every distance: Prestor 2001 Tables 4.11, 4.12, 4.13 and Figure 4.7.

use bench::{Experiment, Series, State};
use report::Plot;
use units::NodeId;

use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;

/// A row for each distance from the home, averaged over the nodes that far away.
pub struct ByDistance;

impl Shape for ByDistance {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let Ok(hops) = row.parse::<u32>() else { return Ok(None) };
        let at = |experiment, hops| system.mean_at(Series::Unowned, experiment, State::Uown, hops);
        // At the home itself there is nothing to compare with.
        let against_home = |experiment| at(experiment, hops).zip(at(experiment, 0)).filter(|_| hops > 0);
        Ok(match column {
            "nodes" => Some(Formula::Known(system.nodes_at(hops) as f64)),
            "back-to-back latency" => at(Experiment::LmbenchRead, hops),
            "READ bandwidth" => at(Experiment::BwRead, hops),
            "zero bandwidth" => at(Experiment::BwZero, hops),
            "latency increase" => against_home(Experiment::LmbenchRead).map(|(far, near)| far.percent_above(near)),
            "READ decrease" => against_home(Experiment::BwRead).map(|(far, near)| far.percent_below(near)),
            "zero decrease" => against_home(Experiment::BwZero).map(|(far, near)| far.percent_below(near)),
            _ => None,
        })
    }

    fn rows(&self, scene: &Scene<'_>) -> Result<Vec<String>, ExperimentError> {
        Ok((0..=scene.system()?.farthest()).map(|hops| hops.to_string()).collect())
    }
}

/// The axis of what is drawn node by node.
pub(super) const BY_NODE: &str = "node, in order of distance from the home";

/// A row for each node, the home first and then by distance.
pub struct ByNode;

impl Shape for ByNode {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let Ok(node) = row.parse().map(NodeId) else { return Ok(None) };
        if !system.layout.has_node(node) {
            return Ok(None);
        }
        let from = |experiment| system.unowned_from(node, experiment);
        Ok(match column {
            "hops" => Some(Formula::Known(system.layout.hops(system.home(), node).into())),
            "back-to-back latency" => from(Experiment::LmbenchRead),
            "restart latency" => from(Experiment::RestartRead),
            "READ bandwidth" => from(Experiment::BwRead),
            "RDEX bandwidth" => from(Experiment::BwRdex),
            "zero bandwidth" => from(Experiment::BwZero),
            _ => None,
        })
    }

    fn rows(&self, scene: &Scene<'_>) -> Result<Vec<String>, ExperimentError> {
        Ok(scene.system()?.nodes_from_home().iter().map(ToString::to_string).collect())
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let latencies = &["back-to-back latency", "restart latency"];
        let bandwidths = &["READ bandwidth", "RDEX bandwidth", "zero bandwidth"];
        reproduced.latencies_and_bandwidths(BY_NODE, Reproduced::columns_by_position, [latencies, bandwidths])
    }
}

/// Latency that each kind of link adds, by the nodes that it lies before (Figure 4.7, read off Table 4.13).
pub struct LinkSteps;

impl Shape for LinkSteps {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let mean = |nodes: &[u16]| {
            let latencies = nodes.iter().map(|&node| system.unowned_from(NodeId(node), Experiment::LmbenchRead));
            latencies.collect::<Option<Vec<_>>>().map(Formula::mean)
        };
        let step = |far: &[u16], near: &[u16]| mean(far).zip(mean(near)).map(|(far, near)| far.less(near));
        // The rows say in brackets which nodes they compare.
        Ok(match row.split(" (").next() {
            _ if column != "back-to-back latency" => None,
            Some("a second router over the backplane") => step(&[2, 3], &[0]),
            Some("a cable between modules for a backplane") => step(&[4, 5, 8, 9], &[2, 3]),
            Some("a cable between 32P cubes for one between modules") => step(&[16, 17], &[4, 5, 8, 9]),
            Some("a second cable for the backplane") => step(&[12, 13], &[6, 7, 10, 11]),
            _ => None,
        })
    }
}
