//! `ccnuma run -m MACHINE`: a program on a simulated machine, and what the machine's counters say meanwhile.

use std::io::BufWriter;
use std::path::Path;

use experiments::profiling::{self, ProfileRequest};
use experiments::{ExperimentError, Simulation};
use profile::selection::Selection;
use sim::SimError;
use trace::metric::{Metric, Resolved};
use trace::{ObjectKind, Preamble};
use units::{CpuId, Duration, NodeId};

use super::preamble;
use crate::commands::sim::single;
use crate::failure::Failure;
use crate::output::{create, print};

/// A run to be looked at.
pub struct SimulatedRun<'a> {
    /// The machine, as it is named.
    pub machine: &'a str,
    /// The program and its flags, as `ccnuma sim` takes them.
    pub command: &'a [String],
    /// Nanoseconds from one sample to the next, if it is said.
    pub sample_ns: Option<u64>,
    /// The processor that reads counters and pays for it.
    pub reader: Option<CpuId>,
    /// What is wanted.
    pub selection: Selection,
    /// The metrics that are declared.
    pub declared: Vec<Metric>,
}

impl SimulatedRun<'_> {
    /// Runs the program and writes the trace to `path`. What to show of it, and whether the program found its results right.
    ///
    /// # Errors
    /// When the input cannot be used, the simulation fails, or the file cannot be written.
    pub fn record(self, path: &Path) -> Result<(Selection, bool), Failure> {
        let simulation = single(self.machine, self.command)?;
        let request = self.request(&simulation)?;
        let file = BufWriter::new(create("--output", path)?);
        let (simulated, _) = profiling::record(&simulation, &request, Box::new(file)).map_err(failure)?;
        if let Some(wrong) = &simulated.wrong {
            eprintln!("error: {}: wrong results: {wrong}", simulation.workload().name());
        }
        Ok((self.shown(&simulation)?, simulated.wrong.is_none()))
    }

    fn request(&self, simulation: &Simulation) -> Result<ProfileRequest, Failure> {
        let topology = machine::Topology::new(simulation.description());
        let node = |number: &u64| topology.node_named(&number.to_string());
        let nodes: Result<Vec<NodeId>, _> = self.selection.nodes.iter().map(node).collect();
        let nodes = nodes.map_err(|error| Failure::input(format!("--node {error}")))?;
        let mut ports = Vec::new();
        for name in &self.selection.links {
            ports.extend(topology.ports_named(name).map_err(|error| Failure::input(format!("--link {error}")))?);
        }
        let metrics = match self.selection.all {
            true => self.all_metrics(simulation)?,
            false => self.selection.metrics.clone(),
        };
        Ok(ProfileRequest {
            nodes,
            ports,
            metrics,
            interval: self.sample_ns.map(|ns| Duration(ns * 1000)),
            reader: self.reader,
            queue_channel: 0,
            declared: self.declared.clone(),
            command: self.command.to_vec(),
        })
    }

    /// All that there are but those of ports that cannot be had together with their utilisation.
    fn all_metrics(&self, simulation: &Simulation) -> Result<Vec<String>, Failure> {
        let all = profiling::metrics(simulation.description(), &self.declared).map_err(Failure::input)?;
        let counts_queues = |metric: &Metric| ["damq", "age"].iter().any(|counter| metric.formula.contains(counter));
        let of_others = |resolved: &Resolved| {
            let metric = &resolved.metric;
            metric.of != ObjectKind::Link || (!self.selection.links.is_empty() && !counts_queues(metric))
        };
        Ok(all.into_iter().filter(of_others).map(|resolved| resolved.metric.name).collect())
    }

    /// What was asked for; of threads, all of them if a metric of theirs was asked for and none of them was named.
    fn shown(&self, simulation: &Simulation) -> Result<Selection, Failure> {
        let all = profiling::metrics(simulation.description(), &self.declared).map_err(Failure::input)?;
        let mut shown = self.selection.clone();
        let asked = |resolved: &Resolved| shown.metrics.contains(&resolved.metric.name);
        let of_threads = all.iter().any(|resolved| resolved.metric.of == ObjectKind::Thread && asked(resolved));
        if shown.threads.is_empty() && of_threads {
            shown.threads = (0..simulation.cpus()).map(|thread| format!("t{thread}")).collect();
        }
        let topology = machine::Topology::new(simulation.description());
        let named = shown.links.iter().filter_map(|name| topology.ports_named(name).ok()).flatten();
        shown.links = named.map(|(router, port)| format!("r{}:{port}", router.0)).collect();
        Ok(shown)
    }
}

/// What was asked for that there is not, or what has failed.
fn failure(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Policy { .. }
        | ExperimentError::Simulator(SimError::NoSuchProcessor { .. } | SimError::Unwatchable { .. }) => {
            Failure::input(error)
        }
        other => Failure::run(other),
    }
}

/// Prints the metrics that can be had of a machine.
///
/// # Errors
/// When there is no such machine.
pub fn list(machine: &str, declared: &[Metric]) -> Result<(), Failure> {
    let description = machine::load(machine).map_err(Failure::input)?;
    let metrics = profiling::metrics(&description, declared).map_err(Failure::input)?;
    let preamble = Preamble { machine: format!("{} (simulated)", description.name), ..Preamble::default() };
    print(preamble::text(&preamble, [].iter(), &metrics))
}
