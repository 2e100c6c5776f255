//! `ccnuma run -m MACHINE`: a program on a simulated machine, and what the machine's counters say meanwhile.

use std::ffi::OsString;
use std::io::BufWriter;
use std::path::Path;

use experiments::ExperimentError;
use experiments::profiling::{self, ProfileRequest};
use machine::Description;
use profile::selection::Selection;
use record::SampleRow;
use sim::SimError;
use trace::ObjectKind;
use trace::metric::{Metric, Resolved};
use units::{CpuId, Duration, NodeId};

use super::observable::list_simulated;
use super::watched::words;
use crate::commands::sim::own::{Common, OwnFlags, ended_well};
use crate::commands::sim::single;
use crate::failure::{self, Failure};
use crate::output::{Kind, Output, OutputFlags, Stream};
use crate::{progress, runtime};

/// A run to be looked at.
pub struct SimulatedRun<'a> {
    /// The machine, as it is named.
    pub machine: &'a str,
    /// The program and its flags, as `ccnuma sim` takes them.
    pub command: &'a [OsString],
    /// Nanoseconds from one sample to the next, if it is said.
    pub sample_ns: Option<u64>,
    /// The processor that reads counters and pays for it.
    pub reader: Option<CpuId>,
    /// The objects and metrics that are wanted.
    pub selection: Selection,
    /// The metrics that are declared.
    pub declared: Vec<Metric>,
    /// Where the records go, and how files are written.
    pub records: &'a OutputFlags,
}

/// A run that has ended.
pub struct Recorded {
    /// The objects and metrics to show.
    pub shown: Selection,
    /// The status that a program of the user's own ended with, and zero or one for whether another found its results right.
    pub status: i32,
    /// Whether the program was one of the user's own.
    pub own: bool,
    /// Where the records go: open since the input was found good.
    pub output: Output<SampleRow>,
}

impl SimulatedRun<'_> {
    /// Runs the program and writes the trace to `path`.
    ///
    /// # Errors
    /// When the input cannot be used, the simulation fails, or the file cannot be written.
    pub fn record(self, path: &Path) -> Result<Recorded, Failure> {
        if self.command.first().is_some_and(|program| program.as_encoded_bytes().contains(&b'/')) {
            return self.record_own(path);
        }
        let simulation = single(self.machine, self.command)?;
        let request = self.request(simulation.description())?;
        profiling::check(simulation.description(), &simulation.threads(), &request).map_err(failure)?;
        let (output, file) = self.open(path)?;
        let file = BufWriter::new(file);
        let record = || profiling::record(&simulation, &request, Box::new(file)).map_err(failure);
        let (simulated, _) = progress::during(format!("{} on {}", simulation.workload().name(), self.machine), record)?;
        if let Some(wrong) = &simulated.wrong {
            failure::tell(format!("{}: wrong results: {wrong}", simulation.workload().name()));
        }
        let shown = self.shown(simulation.description(), simulation.cpus())?;
        Ok(Recorded { shown, status: simulated.wrong.is_some().into(), own: false, output })
    }

    /// The same with a program of the user's own, whose path was given.
    fn record_own(self, path: &Path) -> Result<Recorded, Failure> {
        let launch = runtime::launch(self.command)?;
        let machine = load(self.machine)?;
        let request = self.request(&machine)?;
        profiling::check(&machine, &[], &request).map_err(failure)?;
        let there = std::path::absolute(path).map_err(Failure::run)?;
        // Whoever cannot write it says so now, by its flag.
        let (output, _) = self.open(path)?;
        let common = Common { profile: Some((request, there)), ..Common::default() };
        let (row, answer) = OwnFlags::default().answer(&launch, &machine, None, &common)?;
        ended_well(&launch, answer.status);
        let shown = self.shown(&machine, row.threads as usize)?;
        let shown = Selection { begun: Some(row.threads.into()), ..shown };
        Ok(Recorded { shown, status: answer.status, own: true, output })
    }

    /// Opens the files of records and trace.
    fn open(&self, path: &Path) -> Result<(Output<SampleRow>, Stream), Failure> {
        self.records.files().check("--output", path, Kind::Trace)?;
        Ok((self.records.open()?, self.records.files().stream("--output", path, Kind::Trace)?))
    }

    fn request(&self, machine: &Description) -> Result<ProfileRequest, Failure> {
        let topology = machine::Topology::new(machine);
        let node = |name: &String| topology.node_named(name);
        let nodes: Result<Vec<NodeId>, _> = self.selection.nodes.iter().map(node).collect();
        let nodes = nodes.map_err(|error| Failure::input(format!("--node {error}")))?;
        let mut ports = Vec::new();
        for name in &self.selection.links {
            ports.extend(topology.ports_named(name).map_err(|error| Failure::input(format!("--link {error}")))?);
        }
        let metrics = match self.selection.all {
            true => self.all_metrics(machine)?,
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
            command: words(self.command),
        })
    }

    /// All that there are but those of ports that cannot be had together with their utilisation.
    fn all_metrics(&self, machine: &Description) -> Result<Vec<String>, Failure> {
        let all = profiling::metrics(machine, &self.declared).map_err(Failure::input)?;
        let counts_queues = |metric: &Metric| ["damq", "age"].iter().any(|counter| metric.formula.contains(counter));
        let of_others = |resolved: &Resolved| {
            let metric = &resolved.metric;
            metric.of != ObjectKind::Link || (!self.selection.links.is_empty() && !counts_queues(metric))
        };
        Ok(all.into_iter().filter(of_others).map(|resolved| resolved.metric.name).collect())
    }

    /// The selection to show, with all threads if a metric of theirs was asked for and none of them was named.
    fn shown(&self, machine: &Description, threads: usize) -> Result<Selection, Failure> {
        let all = profiling::metrics(machine, &self.declared).map_err(Failure::input)?;
        let mut shown = self.selection.clone();
        let asked = |resolved: &Resolved| shown.metrics.contains(&resolved.metric.name);
        let of_threads = all.iter().any(|resolved| resolved.metric.of == ObjectKind::Thread && asked(resolved));
        if shown.threads.is_empty() && of_threads {
            shown.threads = (0..threads).map(|thread| format!("t{thread}")).collect();
        }
        let topology = machine::Topology::new(machine);
        let named = shown.nodes.iter().filter_map(|name| topology.node_named(name).ok());
        shown.nodes = named.map(|node| node.0.to_string()).collect();
        let named = shown.links.iter().filter_map(|name| topology.ports_named(name).ok()).flatten();
        shown.links = named.map(|(router, port)| format!("r{}:{port}", router.0)).collect();
        Ok(shown)
    }
}

/// The machine that is asked for.
fn load(machine: &str) -> Result<Description, Failure> {
    experiments::variant::load(machine).map_err(|error| Failure::input(format!("-m {machine}: {error}")))
}

/// The failure of a run: one of its input, where something was asked for that there is not.
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
pub fn list(machine: &str, declared: &[Metric], flags: &OutputFlags) -> Result<(), Failure> {
    let description = load(machine)?;
    let metrics = profiling::metrics(&description, declared).map_err(Failure::input)?;
    list_simulated(&description.name, &metrics, flags)
}
