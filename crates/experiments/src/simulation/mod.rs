//! Running a parallel program on a simulated machine.

pub mod attribution;
mod jobs;
mod own;
pub mod policies;
mod processors;
mod recorded;
mod statistics;
mod sweep;
pub(crate) mod thread_order;
pub(crate) mod trial;

pub use jobs::{Synchronisation, run_together, run_watched};
pub use own::OwnProgram;
pub use processors::Processors;
pub use sweep::{Sweep, Variations};

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::PathBuf;
use std::time::Duration;

use execution::{Executable, Relocation, SharedRegion, WORD};
use machine::description::{HomeKind, PlacementKind, SliceKind};
use machine::{Description, Topology};
use record::{Attribution, CheckResult, DescriptionRow, ProgramRow, SimulationRow};
use rustc_hash::FxHasher;
use sim::{Options, PagingCounters, Scheduling, SchedulingCounters, Simulator, ThreadReport};
use units::{Bytes, CpuId, NodeId};
use workloads::{LockKind, Parameter, Shape, Workload, Wrong};

use crate::error::ExperimentError;
use thread_order::thread_order;

/// A program and the machine to run it on: checked, not yet run.
#[derive(Clone, Debug)]
pub struct Simulation {
    description: Description,
    workload: Executable,
    shape: Shape,
    /// The processor of each thread.
    processors: Vec<CpuId>,
    options: Options,
    synchronisation: Synchronisation,
    /// The file into which its references are recorded, if they are.
    record: Option<PathBuf>,
    scheduling: Option<Scheduling>,
    /// Where its memory is, if not where the program says.
    relocation: Relocation,
}

/// Results of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulated {
    /// The record, with its controllers and processors.
    pub row: SimulationRow,
    /// The fault of the program's results, if there is one.
    pub wrong: Option<String>,
    /// Paging by the operating system.
    pub paging: PagingCounters,
    /// By region, the node of each page in the end; `None` if nobody has touched it.
    pub homes: Vec<Vec<Option<NodeId>>>,
    /// Losses by place, if they were asked for ([`Options::attribute`]).
    pub attribution: Option<Attribution>,
    /// Scheduling of each thread by the operating system.
    pub scheduling: Vec<SchedulingCounters>,
    /// From the start of the simulation until the last thread had ended.
    pub finished: units::Duration,
    /// How long the simulation took on the host: the only part that differs between equal runs.
    pub took: Duration,
    /// References that were simulated one by one, from the start of each thread to its end.
    pub references: u64,
    /// Misses of the coherent caches in that time.
    pub transactions: u64,
}

impl Simulated {
    /// How fast the host was, in words.
    pub fn speed(&self) -> String {
        let SimulationRow { program, machine, protocol, cpus, .. } = &self.row;
        let seconds = self.took.as_secs_f64();
        let rate = |count: u64| count as f64 / seconds / 1e6;
        let (references, transactions) = (rate(self.references), rate(self.transactions));
        format!(
            "{program} on {cpus} processors of {machine}, {protocol}: {seconds:.2} s, {references:.2} million references \
             and {transactions:.2} million transactions a second"
        )
    }
}

/// The parameters of a program as records.
pub fn program_rows(program: &Workload) -> Vec<ProgramRow> {
    let row = |(parameter, value): (&Parameter, u64)| ProgramRow {
        program: program.name().to_owned(),
        summary: program.summary().to_owned(),
        parameter: parameter.name.to_owned(),
        default: value,
        least: parameter.least,
        most: parameter.most,
        meaning: parameter.meaning.to_owned(),
    };
    program.parameters().into_iter().map(row).collect()
}

/// The name of the protocol of a machine, as `ccnuma verify` takes it: SCI's, a server's design or the Origin's, unless it can be
/// chosen.
pub(crate) fn protocol(description: &Description) -> &str {
    if description.sci.is_some() {
        return "sci";
    }
    if let Some(home) = &description.home {
        let inclusive = description.l3_slice.as_ref().is_some_and(|slice| slice.kind == SliceKind::Inclusive);
        return match (home.kind, inclusive) {
            (HomeKind::HomeSnoop, true) => "server/haswell",
            (HomeKind::HomeSnoop, false) => "server/snoop",
            (HomeKind::EarlySnoop, true) => "server/early",
            (HomeKind::EarlySnoop, false) => "server/snoop-early",
            (HomeKind::Directory, _) if home.entries == 0 => "server/directory",
            (HomeKind::Directory, true) => "server/cod",
            (HomeKind::Directory, false) => "server/skylake",
            (HomeKind::ProbeFilter, _) => "server/zen",
        };
    }
    let directory = description.directory.as_ref().map(|directory| &directory.protocol);
    directory.or(description.bus.as_ref().map(|bus| &bus.protocol)).map_or("origin", String::as_str)
}

/// The record of all that a machine's description says, with where each value stands.
pub fn description_row(machine: &machine::Resolved) -> DescriptionRow {
    DescriptionRow { description: machine.to_toml(), ..bare_description_row(&machine.description) }
}

/// The same of a description of which it is not known where its values stand.
pub fn bare_description_row(description: &Description) -> DescriptionRow {
    let (machine, machine_digest) = (description.name.clone(), digest(description));
    DescriptionRow { machine, machine_digest, description: description.to_toml() }
}

/// A hash of all that a description says, in hexadecimal.
pub(crate) fn digest(description: &Description) -> String {
    let mut hasher = FxHasher::default();
    hasher.write(description.to_toml().as_bytes());
    format!("{:016x}", hasher.finish())
}

impl Simulation {
    /// `workload` on the first `cpus` processors of the machine of `description`, on all of them if there is no such number.
    /// Random choices of program and hardware follow from the seed of `options`.
    ///
    /// # Errors
    /// When the machine has fewer processors or the program speaks of more, or a node has too little memory.
    pub fn new(
        description: Description,
        workload: impl Into<Executable>,
        cpus: Option<u16>,
        options: Options,
    ) -> Result<Self, ExperimentError> {
        let topology = Topology::new(&description);
        let processors = topology.hardware_threads() as usize;
        let workload = workload.into();
        let threads = cpus.map_or_else(|| workload.threads().unwrap_or(processors), usize::from);
        if let Some(own) = workload.threads().filter(|&own| own != threads || own > processors) {
            let (program, asked) = (workload.name().to_owned(), threads.min(processors));
            return Err(ExperimentError::RecordedThreads { program, asked, own });
        }
        if threads == 0 || threads > processors {
            let machine = description.name;
            return Err(ExperimentError::Processors { machine, asked: threads, most: processors });
        }
        workload.check_threads(threads)?;
        let order = thread_order(&description, &topology, threads);
        let shape = Shape {
            homes: order.iter().filter_map(|&cpu| topology.node_of(cpu)).collect(),
            nodes: topology.nodes().len(),
            line_words: (description.coherent_cache().line.0 / WORD) as usize,
            page_words: (description.tlb.page.0 / WORD) as usize,
            seed: options.seed,
            locks: LockKind::default(),
        };
        let (synchronisation, scheduling, relocation, record) = Default::default();
        let processors = order;
        let simulation =
            Self { description, workload, shape, processors, options, synchronisation, scheduling, relocation, record };
        simulation.check_memory()?;
        Ok(simulation)
    }

    /// The same with what it loses told by line ([`Simulated::attribution`]), or not.
    pub fn attributed(mut self, attribute: bool) -> Self {
        self.options.attribute = attribute;
        self
    }

    /// The same on another machine, with memory elsewhere than the program says if `relocation` is about some.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn on(&self, description: Description, relocation: Relocation) -> Result<Self, ExperimentError> {
        let threads = self.cpus() as u16;
        let moved = Self::new(description, self.workload.clone(), Some(threads), self.options)?;
        let moved = moved.with_synchronisation(self.synchronisation)?;
        let moved = self.scheduling.map_or(Ok(moved.clone()), |scheduling| moved.with_scheduling(scheduling))?;
        Ok(Self { relocation, ..moved })
    }

    /// The machine.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The program.
    pub fn workload(&self) -> &Executable {
        &self.workload
    }

    /// Whether it replays a recording, the content of which its identity does not tell.
    pub fn is_replay(&self) -> bool {
        matches!(self.workload, Executable::Replay(_))
    }

    /// The identity that tells it from other runs, as its record has it ([`SimulationRow::identity`]).
    pub fn identity(&self) -> String {
        self.identity_among(1)
    }

    /// The same if so many `processes` like it share the machine, it included ([`run_together`]).
    pub fn identity_among(&self, processes: u16) -> String {
        SimulationRow { processes: processes.into(), ..self.row(true) }.identity()
    }

    /// Names of its threads, and the processors that they begin on.
    pub fn threads(&self) -> Vec<(String, CpuId)> {
        let name = |thread: usize| format!("{}: thread {thread}", self.workload.name());
        self.processors.iter().enumerate().map(|(thread, &cpu)| (name(thread), cpu)).collect()
    }

    /// The names of its program's parameters.
    pub fn parameters(&self) -> Vec<String> {
        self.workload.parameters().into_iter().map(|(parameter, _)| parameter.name.to_owned()).collect()
    }

    /// How many processors take part.
    pub fn cpus(&self) -> usize {
        self.shape.threads()
    }

    /// Whether the machine has room for the program, and every node for what it is to hold if the program says so.
    fn check_memory(&self) -> Result<(), ExperimentError> {
        let (program, machine) = (self.workload.name().to_owned(), self.description.name.clone());
        let free = self.description.free_memory().0;
        let mut wanted: BTreeMap<Option<NodeId>, u64> = BTreeMap::new();
        let heeded = self.description.os.placement == PlacementKind::Planned;
        for part in self.workload.regions(&self.shape).iter().flat_map(|plan| &plan.parts) {
            *wanted.entry(part.home.filter(|_| heeded)).or_default() += part.words as u64 * WORD;
        }
        let (whole, all) = (wanted.values().sum(), free * self.shape.nodes as u64);
        let crowded = wanted.into_iter().find_map(|(home, bytes)| Some((home.filter(|_| bytes > free)?, bytes)));
        if let Some((node, bytes)) = crowded {
            let (wanted, free) = (Bytes(bytes), Bytes(free));
            return Err(ExperimentError::NodeMemory { program, machine, node, wanted, free });
        }
        if whole > all {
            return Err(ExperimentError::MachineMemory { program, machine, wanted: Bytes(whole), free: Bytes(all) });
        }
        Ok(())
    }

    /// Runs the program on a new machine: the outcome depends on nothing that ran before it.
    ///
    /// # Errors
    /// When the machine cannot be simulated, or the simulation fails.
    pub fn run(&self) -> Result<Simulated, ExperimentError> {
        match &self.record {
            Some(path) => self.run_recorded(path),
            None => self.run_with(None),
        }
    }

    /// The fault of the results in words, if there is one.
    fn verdict(&self, wrong_loads: u64, regions: &[SharedRegion]) -> Option<String> {
        let left: Result<(), Wrong> = self.workload.check(&self.shape, &|region, word| regions[region].get(word));
        match (left, wrong_loads) {
            (Ok(()), 0) => None,
            (Ok(()), count) => Some(format!("{count} loads returned wrong values")),
            (Err(wrong), _) => Some(wrong.to_string()),
        }
    }

    fn controllers(&self, simulator: &Simulator, reports: &[ThreadReport]) -> Vec<record::ControllerStatistics> {
        let lengths = reports.iter().map(|report| report.finished - report.started);
        let time = simulator.measured_time().unwrap_or_else(|| lengths.max().unwrap_or_default());
        let nodes = (0..self.shape.nodes as u16).map(NodeId);
        let counted = nodes.filter_map(|node| Some((node, simulator.statistics(node)?)));
        counted.map(|(node, counted)| statistics::controller(node, &counted, time)).collect()
    }

    /// The record, with nothing counted yet.
    pub(crate) fn row(&self, right: bool) -> SimulationRow {
        let parameters = self.workload.parameters();
        SimulationRow {
            program: self.workload.name().to_owned(),
            machine: self.description.name.clone(),
            protocol: protocol(&self.description).to_owned(),
            cpus: self.shape.threads() as u32,
            threads: self.shape.threads() as u32,
            parameters: parameters.iter().map(|(parameter, value)| (parameter.name.to_owned(), *value)).collect(),
            seed: self.options.seed,
            placement: policies::placement_name(&self.description.os),
            scheduler: policies::scheduler_name(self.scheduling),
            processes: 1,
            barrier: policies::barrier_name(self.synchronisation.barrier).to_owned(),
            locks: policies::locks_name(self.synchronisation.locks).to_owned(),
            result: if right { CheckResult::Ok } else { CheckResult::Wrong },
            machine_digest: digest(&self.description),
            ..SimulationRow::default()
        }
    }
}
