//! A program of the user's own: no workload of ours, but the same record comes of it.

use std::collections::BTreeSet;

use machine::{Description, Topology};
use record::{CheckResult, SimulationRow};
use sim::{Simulator, ThreadReport};
use units::{CpuId, Duration, NodeId};

use super::statistics::{self, Parts};
use super::thread_order::thread_order;
use super::{digest, policies, protocol};
use crate::error::ExperimentError;

/// A program that was run on a simulated machine without this crate's doing.
pub struct OwnProgram<'a> {
    /// The machine.
    pub description: &'a Description,
    /// The program's name in the record.
    pub name: &'a str,
    /// How many processors it could use; all without.
    pub cpus: Option<u16>,
    /// Seed of the hardware's random choices.
    pub seed: u64,
    /// Whether misses were told apart by their causes.
    pub causes: bool,
    /// The names of the scheduler, of how threads met, and of how they took locks ([`policies`]).
    pub policies: [&'a str; 3],
}

impl OwnProgram<'_> {
    /// The processors that a program may use: the first `cpus` of the machine, all without, in the order in which threads take them.
    ///
    /// # Errors
    /// When the machine has fewer.
    pub fn processors(description: &Description, cpus: Option<u16>) -> Result<Vec<CpuId>, ExperimentError> {
        let topology = Topology::new(description);
        let most = topology.hardware_threads() as usize;
        let asked = cpus.map_or(most, usize::from);
        if asked == 0 || asked > most {
            return Err(ExperimentError::Processors { machine: description.name.clone(), asked, most });
        }
        Ok(thread_order(description, &topology, asked))
    }

    /// The record of a run of which `reports` tell.
    pub fn record(&self, simulator: &Simulator, reports: &[ThreadReport]) -> SimulationRow {
        let topology = simulator.topology();
        let used: BTreeSet<NodeId> = reports.iter().filter_map(|report| topology.node_of(report.cpu)).collect();
        let whole = reports.iter().map(|report| report.finished).max().map(|end| Duration(end.0)).unwrap_or_default();
        let time = simulator.measured_time().unwrap_or(whole);
        let nodes = (0..topology.nodes().len() as u16).map(NodeId);
        let counted = nodes.filter_map(|node| Some((node, simulator.statistics(node)?)));
        let parts = Parts {
            processors: reports
                .iter()
                .map(|report| statistics::processor(report, simulator.stall_terms(report.cpu), None))
                .collect(),
            controllers: counted.map(|(node, counted)| statistics::controller(node, &counted, time)).collect(),
            told: self.causes,
            used: used.len().max(1),
        };
        let row = SimulationRow {
            program: self.name.to_owned(),
            machine: self.description.name.clone(),
            protocol: protocol(self.description).to_owned(),
            cpus: self.cpus.map_or_else(|| topology.hardware_threads(), u32::from),
            threads: reports.len() as u32,
            seed: self.seed,
            placement: policies::placement_name(&self.description.os),
            scheduler: self.policies[0].to_owned(),
            processes: 1,
            barrier: self.policies[1].to_owned(),
            locks: self.policies[2].to_owned(),
            result: CheckResult::Ok,
            machine_digest: digest(self.description),
            ..SimulationRow::default()
        };
        statistics::summarise(row, reports, parts)
    }
}
