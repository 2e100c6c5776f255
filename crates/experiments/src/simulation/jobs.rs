//! Processes on a simulated machine: how their threads meet, and who decides where they run.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

use execution::{SharedRegion, SimulatedThread};
use sim::{Job, Program, Scheduling, Simulator, ThreadReport, places};
use units::{CpuId, Time};
use workloads::{Barrier, BarrierKind, LockKind, Record};

use super::statistics::{self, Parts};
use super::{Simulated, Simulation};
use crate::error::ExperimentError;

/// Barriers and locks by which threads wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Synchronisation {
    /// How they meet. Without: all go on when the last one has come, at no cost, so that what is left is what the program's own
    /// references and its imbalance cost. That is the default: the FLASH dissertation finds that how a barrier is built matters
    /// little (6.3), and counts of references follow from the program alone.
    pub barrier: Option<BarrierKind>,
    /// How they take locks.
    pub locks: LockKind,
}

/// A program with its memory, before it runs and after.
struct Prepared<'s> {
    simulation: &'s Simulation,
    regions: Rc<Vec<SharedRegion>>,
    found: Rc<Found>,
    programs: Vec<Program>,
}

/// Results of the threads of a program.
#[derive(Default)]
struct Found {
    /// Loads that gave what they must not give.
    wrong: Cell<u64>,
}

impl Simulation {
    /// The same with threads that wait for each other otherwise.
    ///
    /// # Errors
    /// When a node has too little memory for what locks of another kind want, or those of a recording were to be of another kind.
    pub fn with_synchronisation(mut self, synchronisation: Synchronisation) -> Result<Self, ExperimentError> {
        if self.is_replay() && synchronisation.locks != self.synchronisation.locks {
            let name = self.workload.name().to_owned();
            return Err(execution::ExecutableError::Recorded { name, flag: "locks".to_owned() }.into());
        }
        self.synchronisation = synchronisation;
        self.shape.locks = synchronisation.locks;
        self.check_memory()?;
        Ok(self)
    }

    /// The same under a scheduler of the operating system. Without, every thread has the processor of its number, and nothing
    /// disturbs it.
    ///
    /// # Errors
    /// When a node has too little memory for what the threads that start there place on it.
    pub fn with_scheduling(mut self, scheduling: Scheduling) -> Result<Self, ExperimentError> {
        self.scheduling = Some(scheduling);
        self.settle(0)?;
        Ok(self)
    }

    /// Puts the program's memory where its threads start if it is process number `job`.
    fn settle(&mut self, job: usize) -> Result<(), ExperimentError> {
        let Some(scheduling) = self.scheduling else { return Ok(()) };
        let topology = machine::Topology::new(&self.description);
        let threads = self.shape.threads();
        let starts = places(scheduling.space, topology.hardware_threads() as usize, threads, job, self.options.seed);
        self.shape.homes = starts.into_iter().filter_map(|cpu: CpuId| topology.node_of(cpu)).collect();
        self.check_memory()
    }

    /// The program with its memory on the machine.
    fn prepare(&self, simulator: &mut Simulator, record: Option<&Record>) -> Result<Prepared<'_>, ExperimentError> {
        let plans = self.workload.regions(&self.shape);
        let page = self.description.tlb.page;
        let place = |plan| SharedRegion::relocated(simulator, plan, page, &self.relocation);
        let regions: Result<Vec<_>, _> = plans.iter().map(place).collect();
        let mut regions = regions?;
        let barrier = match self.synchronisation.barrier {
            Some(kind) => {
                let plan = Barrier::<Rc<SharedRegion>>::plan(&self.shape);
                Some((kind, Rc::new(SharedRegion::new(simulator, &plan, page)?)))
            }
            None => None,
        };
        self.relocation.separate(simulator, &mut regions, self.description.coherent_cache().line, page)?;
        let (regions, found) = (Rc::new(regions), Rc::new(Found::default()));
        let program = |number| self.program(number, &regions, &found, barrier.clone(), record.cloned());
        let programs = (0..self.shape.threads()).map(program).collect();
        Ok(Prepared { simulation: self, regions, found, programs })
    }

    /// The program of thread `number`. Its wrong loads are added to `found`.
    fn program(
        &self,
        number: usize,
        regions: &Rc<Vec<SharedRegion>>,
        found: &Rc<Found>,
        barrier: Option<(BarrierKind, Rc<SharedRegion>)>,
        record: Option<Record>,
    ) -> Program {
        let (workload, shape) = (self.workload.clone(), self.shape.clone());
        let (regions, found) = (regions.clone(), found.clone());
        Box::new(move |thread: &mut sim::Thread<'_>| {
            let barrier = barrier.map(|(kind, region)| Barrier::new(kind, &shape, region));
            let mut thread = SimulatedThread::new(thread, number, barrier);
            let wrong = workload.run(&shape, &regions, &mut thread, record);
            found.wrong.set(found.wrong.get() + wrong);
        })
    }
}

/// Runs programs at the same time on the machine of the first, under its scheduler: several without one under the default. The
/// outcome depends on nothing that ran before.
///
/// # Errors
/// When the machine cannot be simulated, a node has too little memory, or the simulation fails.
pub fn run_together(simulations: &[Simulation]) -> Result<Vec<Simulated>, ExperimentError> {
    run_watched(simulations, |_| Ok(()))
}

impl Simulation {
    /// Runs it by itself, recorded or not.
    pub(super) fn run_with(&self, record: Option<Record>) -> Result<Simulated, ExperimentError> {
        let mut alone = run_all(std::slice::from_ref(self), record.as_ref(), |_| Ok(()))?;
        Ok(alone.swap_remove(0))
    }
}

/// As [`run_together`], but the machine is shown to `watch` before anything runs on it.
///
/// # Errors
/// As there, and what `watch` says.
pub fn run_watched(
    simulations: &[Simulation],
    watch: impl FnOnce(&mut Simulator) -> Result<(), ExperimentError>,
) -> Result<Vec<Simulated>, ExperimentError> {
    run_all(simulations, None, watch)
}

fn run_all(
    simulations: &[Simulation],
    record: Option<&Record>,
    watch: impl FnOnce(&mut Simulator) -> Result<(), ExperimentError>,
) -> Result<Vec<Simulated>, ExperimentError> {
    let Some(first) = simulations.first() else { return Ok(Vec::new()) };
    let start = Instant::now();
    let scheduling = first.scheduling.or((simulations.len() > 1).then(Scheduling::default));
    let mut simulations = simulations.to_vec();
    for (job, simulation) in simulations.iter_mut().enumerate() {
        simulation.scheduling = scheduling;
        simulation.settle(job)?;
    }
    let mut simulator = Simulator::new(&first.description, first.options)?;
    watch(&mut simulator)?;
    let prepared: Result<Vec<_>, _> = simulations.iter().map(|each| each.prepare(&mut simulator, record)).collect();
    let mut prepared = prepared?;
    let programs = prepared.iter_mut().map(|each| std::mem::take(&mut each.programs));
    let reports = match scheduling {
        None => simulations
            .iter()
            .zip(programs)
            .map(|(each, programs)| simulator.run(each.processors.iter().copied().zip(programs).collect()))
            .collect::<Result<_, _>>()
            .map_err(|source| ExperimentError::Run { program: first.workload.name().to_owned(), source }),
        Some(scheduling) => {
            let job =
                |(simulation, threads): (&Simulation, _)| Job { name: simulation.workload.name().to_owned(), threads };
            simulator.run_jobs(simulations.iter().zip(programs).map(job).collect(), scheduling).map_err(Into::into)
        }
    };
    // Threads that wait for one whose trace could not be read wait in vain: the fault of the trace is the reason to tell.
    simulations.iter().try_for_each(|each| each.workload.read_to_the_end())?;
    let reports: Vec<Vec<ThreadReport>> = reports?;
    let (took, processes) = (start.elapsed(), simulations.len() as u32);
    let finish = |(each, reports): (Prepared<'_>, Vec<ThreadReport>)| {
        let (mut row, wrong) = each.finish(&simulator, &reports);
        row.processes = processes;
        let page = each.simulation.description.tlb.page;
        let homes = each.regions.iter().map(|region| region.homes(&simulator, page)).collect();
        let paging = simulator.paging().clone();
        let scheduling = reports.iter().map(|report| report.scheduling).collect();
        let finished = reports.iter().map(|report| report.finished.since(Time::ZERO)).max().unwrap_or_default();
        let tell = || each.simulation.attribution(&simulator, &row, &each.regions, &reports);
        let attribution = each.simulation.options.attribute.then(tell);
        row.regions = attribution.as_ref().map(record::Attribution::by_object);
        let sum = |of: fn(&ThreadReport) -> u64| reports.iter().map(of).sum();
        let references = sum(|report| report.whole.simulated_references());
        let transactions = sum(|report| report.whole.secondary_misses);
        Simulated { row, wrong, paging, homes, attribution, scheduling, finished, took, references, transactions }
    };
    Ok(prepared.into_iter().zip(reports).map(finish).collect())
}

impl Prepared<'_> {
    /// The record, and what is wrong with the results.
    fn finish(&self, simulator: &Simulator, reports: &[ThreadReport]) -> (record::SimulationRow, Option<String>) {
        let simulation = self.simulation;
        let wrong = simulation.verdict(self.found.wrong.get(), &self.regions);
        let mixed = simulation.workload.has_private_references();
        let processors = reports.iter().map(|report| {
            let mix = mixed.then(|| statistics::mix(&report.counters));
            statistics::processor(report, simulator.stall_terms(report.cpu), mix)
        });
        let parts = Parts {
            processors: processors.collect(),
            controllers: simulation.controllers(simulator, reports),
            told: simulation.options.miss_causes || simulation.options.attribute,
            used: simulation.shape.homes.iter().collect::<BTreeSet<_>>().len(),
        };
        (statistics::summarise(simulation.row(wrong.is_none()), reports, parts), wrong)
    }
}
