//! Lines that more and more nodes share: Prestor 2001 Table 4.19, Figures 4.12 and 4.13, and Table A.1.

use bench::Experiment;
use report::{Axis, Plot};
use units::NodeId;

use super::distance::{BY_NODE, ByNode};
use super::{Reproduced, Scene, Shape};
use crate::error::ExperimentError;
use crate::formula::Formula;
use crate::system::System;

/// A row for each number of sharers; the home's own node is the first sharer, and the nearest come next.
pub struct BySharers;

impl Shape for BySharers {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let Ok(count) = row.parse::<usize>() else { return Ok(None) };
        let Some(newest) = newest_sharer(&system, count) else { return Ok(None) };
        let with = |experiment| system.with_sharers(count, experiment);
        Ok(match column {
            "node" => Some(Formula::Known(newest.0.into())),
            "hops" => Some(Formula::Known(system.layout.hops(system.home(), newest).into())),
            "RDEX latency" => with(Experiment::LmbenchRdex),
            "UPGRD latency" => with(Experiment::LmbenchUpgrd),
            "RDEX bandwidth" => with(Experiment::BwRdex),
            "UPGRD bandwidth" => with(Experiment::BwUpgrd),
            "zero bandwidth" => with(Experiment::BwZero),
            _ => None,
        })
    }

    fn rows(&self, scene: &Scene<'_>) -> Result<Vec<String>, ExperimentError> {
        let most = scene.system()?.layout.nodes().len();
        Ok((1..=most).map(|sharers| sharers.to_string()).collect())
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let latencies = &["RDEX latency", "UPGRD latency"];
        let bandwidths = &["RDEX bandwidth", "UPGRD bandwidth", "zero bandwidth"];
        reproduced.latencies_and_bandwidths("sharers", Reproduced::columns_by_row, [latencies, bandwidths])
    }
}

/// The node that the list of `count` sharers ends with.
fn newest_sharer(system: &System, count: usize) -> Option<NodeId> {
    system.nodes_from_home().get(count.checked_sub(1)?).copied()
}

/// Latency that sharers add to that of the farthest of them (Figure 4.12).
pub struct SharersOverUnowned;

impl Shape for SharersOverUnowned {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let Ok(count) = row.parse::<usize>() else { return Ok(None) };
        let Some(newest) = newest_sharer(&system, count).filter(|_| column == "RDEX over unowned") else {
            return Ok(None);
        };
        let unowned = system.unowned_from(newest, Experiment::LmbenchRead);
        Ok(system.with_sharers(count, Experiment::LmbenchRdex).zip(unowned).map(|(shared, alone)| shared.less(alone)))
    }
}

/// How the bandwidths of invalidations compare (Figure 4.13).
pub struct SharersBandwidthRatios;

impl Shape for SharersBandwidthRatios {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let system = scene.system()?;
        let Ok(count) = row.parse::<usize>() else { return Ok(None) };
        let with = |sharers, experiment| system.with_sharers(sharers, experiment);
        let parts = match column {
            "UPGRD over RDEX bandwidth" => with(count, Experiment::BwUpgrd).zip(with(count, Experiment::BwRdex)),
            "zero over its one-sharer bandwidth" => with(count, Experiment::BwZero).zip(with(1, Experiment::BwZero)),
            _ => None,
        };
        Ok(parts.map(|(part, whole)| part.over(whole)))
    }
}

/// Remote and invalidation results of one machine side by side: a row for each node by distance, which also is the one
/// that the row's sharers end with (Table A.1).
pub struct ByNodeAndSharers;

impl Shape for ByNodeAndSharers {
    fn formula(&self, scene: &Scene<'_>, row: &str, column: &str) -> Result<Option<Formula>, ExperimentError> {
        let nodes = scene.system()?.nodes_from_home();
        let Some(position) = nodes.iter().position(|node| node.to_string() == row) else { return Ok(None) };
        let sharers = position + 1;
        match column.strip_prefix("invalidate ") {
            Some(column) => BySharers.formula(scene, &sharers.to_string(), column),
            None if column == "sharers" => Ok(Some(Formula::Known(sharers as f64))),
            None => ByNode.formula(scene, row, column),
        }
    }

    fn rows(&self, scene: &Scene<'_>) -> Result<Vec<String>, ExperimentError> {
        ByNode.rows(scene)
    }

    fn plots(&self, reproduced: &Reproduced<'_>) -> Vec<(String, Plot)> {
        let plot = |columns: &[&str], y: &str| {
            reproduced.plot(Axis::linear(BY_NODE), Axis::linear(y), reproduced.columns_by_position(columns))
        };
        let remote = &["back-to-back latency", "restart latency"];
        let invalidate = &["invalidate RDEX latency", "invalidate UPGRD latency"];
        let bandwidth = &["invalidate RDEX bandwidth", "invalidate UPGRD bandwidth", "invalidate zero bandwidth"];
        vec![
            ("remote-latency".to_owned(), plot(remote, "latency (ns)")),
            ("invalidate-latency".to_owned(), plot(invalidate, "latency (ns)")),
            ("invalidate-bandwidth".to_owned(), plot(bandwidth, "bandwidth (MB/s)")),
        ]
    }
}
