//! Running one measurement on a fresh simulated machine.

use bench::seidl::{Point, Probe};
use bench::{Layout, Plan, Platform, Settings, SimulatedPlatform};
use machine::Description;
use record::{Record, SimulationRow};
use units::CpuId;
use workloads::BarrierKind;

use crate::error::ExperimentError;
use crate::measurement::{Looks, Measurement, ProgramRun, Scheduled, Subject};
use crate::profiling::{ProfileRequest, Timeline, trace_of};
use crate::shared_region;
use crate::simulation::{Synchronisation, run_together};
use crate::utilisation::{self, Profile};
use crate::{Outcome, Simulated, Simulation};

/// Runs `measurement` on a new machine of `description`: the outcome depends on nothing that ran before.
///
/// # Errors
/// When the measurement is impossible on the machine, or the simulation fails.
pub fn run(
    description: &Description,
    measurement: &Measurement,
    options: sim::Options,
) -> Result<Outcome, ExperimentError> {
    run_once(description, measurement, options, &())
}

/// As [`run`], but a program of which an equal run has `finished` is not run again.
///
/// # Errors
/// As [`run`].
pub fn run_once(
    description: &Description,
    measurement: &Measurement,
    options: sim::Options,
    finished: &dyn Finished,
) -> Result<Outcome, ExperimentError> {
    match &measurement.subject {
        Subject::Bench(plan) => Ok(Outcome::Bench(Box::new(run_plan(description, plan, options)?))),
        Subject::Windows(point) => Ok(Outcome::Windows(Box::new(run_windows(description, *point, options)?))),
        Subject::RemoteReads(reads) => Ok(Outcome::RemoteReads(reads.run(description, options)?)),
        Subject::Program(run) => Ok(Outcome::Program(Box::new(program_once(description, *run, options, finished)?))),
        Subject::Utilisation(readers) => {
            Ok(Outcome::Utilisation(Box::new(utilisation::run(description, *readers, options)?)))
        }
        Subject::Profile(run, looks) => {
            let (row, timeline) = looked_at(&prepared(description, *run, options)?, *looks)?;
            Ok(Outcome::Profile(Box::new(Profile { row, timeline })))
        }
        Subject::Scheduled(scheduled) => {
            Ok(Outcome::Program(Box::new(scheduled_once(description, *scheduled, options, finished)?)))
        }
        Subject::SharedRegion { threads } => Ok(Outcome::Traffic(shared_region::run(description, *threads, options)?)),
    }
}

/// Runs Seidl's probe at one point on a new machine of `description`, from its first processor, with all of its memory.
///
/// # Errors
/// When the area exceeds the memory, or the simulation fails.
pub fn run_windows(description: &Description, point: Point, options: sim::Options) -> Result<Record, ExperimentError> {
    let mut platform = SimulatedPlatform::new(description.clone(), options)?;
    let layout = platform.layout();
    let cpu = layout.cpus().next().unwrap_or(CpuId(0));
    let probe = Probe::new(layout, cpu, |_| description.topology.node_memory)?;
    let mut records = probe.run(&mut platform, &[point], |_| ())?;
    Ok(records.remove(0))
}

/// How thoroughly suites measure a simulated machine of this layout, unless it is said otherwise. Sharers keep their copies where a
/// dropped one would be forgotten.
pub fn suite_settings(layout: &Layout) -> Settings {
    let sharers_drop = layout.forgets_dropped.then_some(false);
    Settings { sharers_drop, ..Settings::simulated() }
}

/// Runs `plan` on a new machine of `description`.
///
/// # Errors
/// As [`run`].
pub fn run_plan(
    description: &Description,
    plan: &Plan,
    options: sim::Options,
) -> Result<bench::Outcome, ExperimentError> {
    let mut platform = SimulatedPlatform::new(description.clone(), options)?;
    Ok(plan.run(&mut platform)?)
}

/// Runs a program on a new machine of `description`; its figures count only if its results are right.
///
/// # Errors
/// When it does not fit the machine, the simulation fails, or its results are wrong.
pub fn run_program(
    description: &Description,
    run: ProgramRun,
    options: sim::Options,
) -> Result<SimulationRow, ExperimentError> {
    right(&prepared(description, run, options)?).map(|simulated| simulated.row)
}

/// Runs of programs that are over, from an interrupted invocation or this one.
pub trait Finished: Sync {
    /// The record of the run of this identity ([`SimulationRow::identity`]), with its parts, if it is over.
    fn known(&self, identity: &str) -> Option<SimulationRow>;

    /// A run is over.
    ///
    /// # Errors
    /// When that cannot be noted, in words.
    fn note(&self, row: &SimulationRow) -> Result<(), String>;
}

/// Nothing is over.
impl Finished for () {
    fn known(&self, _identity: &str) -> Option<SimulationRow> {
        None
    }

    fn note(&self, _row: &SimulationRow) -> Result<(), String> {
        Ok(())
    }
}

/// As [`run_program`], unless an equal run has `finished`; what is new is noted there.
fn program_once(
    description: &Description,
    run: ProgramRun,
    options: sim::Options,
    finished: &dyn Finished,
) -> Result<SimulationRow, ExperimentError> {
    let simulation = prepared(description, run, options)?;
    unless_known(&simulation, 1, finished, || Ok(right(&simulation)?.row))
}

/// The record of the run of `processes` like `simulation`, from those that have `finished` or of `run`, which is noted there.
fn unless_known(
    simulation: &Simulation,
    processes: u16,
    finished: &dyn Finished,
    run: impl FnOnce() -> Result<SimulationRow, ExperimentError>,
) -> Result<SimulationRow, ExperimentError> {
    if let Some(row) = finished.known(&simulation.identity_among(processes)).filter(SimulationRow::is_right) {
        return Ok(row);
    }
    let row = run()?;
    let program = || simulation.workload().name().to_owned();
    finished.note(&row).map_err(|reason| ExperimentError::NotKept { program: program(), reason })?;
    Ok(row)
}

/// Runs equal programs at once on a new machine of `description`: what the last of them to end has to say, but that its time is
/// that from the start of all until it has ended, if there are several. Threads look at a word until the last has come to a
/// barrier: an ideal barrier would give processors to others that threads of the FLASH dissertation's programs keep. Equal runs
/// that have `finished` are not run again; what is new is noted there.
fn scheduled_once(
    description: &Description,
    scheduled: Scheduled,
    options: sim::Options,
    finished: &dyn Finished,
) -> Result<SimulationRow, ExperimentError> {
    let Scheduled { run, processes, scheduling } = scheduled;
    let run = ProgramRun { barrier: Some(BarrierKind::LlSc), ..run };
    let simulation = prepared(description, run, options)?;
    let simulation = simulation.with_scheduling(scheduling)?;
    unless_known(&simulation, processes, finished, || together(&simulation, processes))
}

/// Runs so many `processes` like `simulation` at once: the record of the last to end.
fn together(simulation: &Simulation, processes: u16) -> Result<SimulationRow, ExperimentError> {
    let all = run_together(&vec![simulation.clone(); usize::from(processes)])?;
    if let Some(wrong) = all.iter().find_map(|each| each.wrong.clone()) {
        return Err(ExperimentError::WrongResult { program: simulation.workload().name().to_owned(), wrong });
    }
    let last = all.into_iter().max_by_key(|each| each.finished);
    let machine = || simulation.description().name.clone();
    let Simulated { mut row, finished, .. } =
        last.ok_or_else(|| ExperimentError::Processors { machine: machine(), asked: 0, most: 0 })?;
    if processes > 1 {
        row.time_ns = finished.as_ns();
    }
    Ok(row)
}

fn prepared(description: &Description, run: ProgramRun, options: sim::Options) -> Result<Simulation, ExperimentError> {
    let synchronisation = Synchronisation { barrier: run.barrier, ..Synchronisation::default() };
    Simulation::new(description.clone(), run.workload, Some(run.cpus), options)?.with_synchronisation(synchronisation)
}

/// The outcome of a simulation if its program's results are right.
fn right(simulation: &Simulation) -> Result<Simulated, ExperimentError> {
    checked(simulation, simulation.run()?)
}

/// The same, with what its trace says of some metrics of its nodes.
fn looked_at(simulation: &Simulation, looks: Looks) -> Result<(SimulationRow, Timeline), ExperimentError> {
    let request = ProfileRequest {
        metrics: looks.metrics.iter().map(|&metric| metric.to_owned()).collect(),
        interval: Some(looks.interval),
        ..ProfileRequest::default()
    };
    let (simulated, timeline) = trace_of(simulation, &request)?;
    Ok((checked(simulation, simulated)?.row, timeline))
}

fn checked(simulation: &Simulation, mut simulated: Simulated) -> Result<Simulated, ExperimentError> {
    match simulated.wrong.take() {
        None => Ok(simulated),
        Some(wrong) => Err(ExperimentError::WrongResult { program: simulation.workload().name().to_owned(), wrong }),
    }
}
