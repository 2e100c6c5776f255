//! `ccnuma sim -- ./program`: a program of the user's own on a simulated machine.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use experiments::diagnosis::{self, Diagnosis};
use experiments::policies::{self, OwnBarrier, OwnLocks};
use experiments::profiling::ProfileRequest;
use experiments::{ExperimentError, OwnProgram, Relocation};
use frontend::launch::{Launch, Progress};
use frontend::request::{Answer, Request};
use machine::{Description, Resolved};
use record::{Attribution, SimulationRow};
use units::Bytes;

use crate::failure::{self, Failure};
use crate::interruption::Itself;
use crate::output::{Output, OutputFlags};
use crate::size::{Kib, Size};
use crate::{progress, runtime};

/// The flags that only programs of the user's own heed.
#[derive(Args, Debug, Default)]
pub struct OwnFlags {
    /// A program built with `ccnuma cc`, `cxx` or `fc`, and its arguments; {cpus} in them is replaced by the number of
    /// processors, as in ./fft -p{cpus}.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["programs", "list", "resume"])]
    pub command: Vec<OsString>,
    /// Instructions charged per reference of your own program where the compiler has not counted them [default: 2].
    #[arg(long, value_name = "N")]
    instructions: Option<u32>,
    /// Default stack size of the threads of your own program, in KiB [default: 8192].
    #[arg(long, value_name = "KIB")]
    stack: Option<Kib>,
    /// Simulated time without any store after which spinning threads of your own program count as deadlocked, in milliseconds
    /// [default: 1000].
    #[arg(long, value_name = "MS")]
    spin_limit: Option<u64>,
    /// Time calls of your own program return this computer's time.
    #[arg(long)]
    host_time: bool,
    /// Only count the references of your own program: no caches, and only the time of its instructions.
    #[arg(long)]
    no_caches: bool,
}

/// How a program's threads meet, take locks and are scheduled, by name ([`policies`]).
#[derive(Clone, Debug)]
pub struct OwnPolicies {
    pub scheduler: String,
    pub barrier: String,
    pub locks: String,
}

impl Default for OwnPolicies {
    fn default() -> Self {
        let (barrier, locks) = (OwnBarrier::default().name(), OwnLocks::default().name());
        Self { scheduler: policies::scheduler_name(None), barrier: barrier.to_owned(), locks: locks.to_owned() }
    }
}

/// The policies that runs of own programs are varied in, each with its values.
#[derive(Default)]
pub struct OwnVariations {
    schedulers: Vec<String>,
    barriers: Vec<String>,
    locks: Vec<String>,
}

impl OwnVariations {
    /// Adds values to what `key` is to be, if it is a policy that own programs' threads follow. Returns whether it is.
    ///
    /// # Errors
    /// When there is none of this name, or it has no meaning for such a program.
    pub fn add(&mut self, key: &str, values: &[String]) -> Result<bool, ExperimentError> {
        for value in values {
            match key {
                "scheduler" => self.schedulers.push(policies::scheduler_name(policies::own_scheduler(value)?)),
                "barrier" => self.barriers.push(OwnBarrier::named(value)?.name().to_owned()),
                "locks" => self.locks.push(OwnLocks::named(value)?.name().to_owned()),
                _ => return Ok(false),
            }
        }
        Ok(matches!(key, "scheduler" | "barrier" | "locks"))
    }

    /// Every combination, the locks varying fastest.
    pub fn all(&self) -> Vec<OwnPolicies> {
        let OwnPolicies { scheduler, barrier, locks } = OwnPolicies::default();
        let or = |values: &[String], value: String| if values.is_empty() { vec![value] } else { values.to_vec() };
        let (schedulers, barriers) = (or(&self.schedulers, scheduler), or(&self.barriers, barrier));
        let locks = or(&self.locks, locks);
        let mut all = Vec::new();
        for scheduler in &schedulers {
            for barrier in &barriers {
                all.extend(locks.iter().map(|locks| OwnPolicies {
                    scheduler: scheduler.clone(),
                    barrier: barrier.clone(),
                    locks: locks.clone(),
                }));
            }
        }
        all
    }
}

/// How a run of a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    /// With status zero.
    Well,
    /// With another.
    Badly,
    /// Because somebody interrupted it.
    Interrupted,
}

/// Settings that all runs have in common.
#[derive(Default)]
pub struct Common {
    /// How threads meet, take locks and are scheduled, if all runs have it alike.
    pub policies: OwnPolicies,
    /// Seed of the hardware's random choices.
    pub seed: u64,
    /// Whether misses are told apart by their causes.
    pub causes: bool,
    /// Whether what each processor and controller did is told, too.
    pub stats: bool,
    /// The file into which references are recorded, if they are.
    pub record: Option<PathBuf>,
    /// Which counters are read, and the file that the trace of them goes to, if any are.
    pub profile: Option<(ProfileRequest, PathBuf)>,
}

/// The values of flags that are not given.
const INSTRUCTIONS: u32 = 2;
const STACK: Kib = Size(Bytes::from_kib(8192));
const SPIN_LIMIT_MS: u64 = 1000;

impl OwnFlags {
    /// Refuses the flags of a program of the user's own where a built-in one runs.
    ///
    /// # Errors
    /// When one was given.
    pub fn refuse(&self) -> Result<(), Failure> {
        let given = [
            ("--instructions", self.instructions.is_some()),
            ("--stack", self.stack.is_some()),
            ("--spin-limit", self.spin_limit.is_some()),
            ("--host-time", self.host_time),
            ("--no-caches", self.no_caches),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Failure::input(format!("{flag}: applies to your own program after --"))),
            None => Ok(()),
        }
    }

    /// The program, once it is known that it can be run on each machine, on each number of processors.
    ///
    /// # Errors
    /// When there is no such program, or a machine has fewer processors.
    pub fn launch(&self, machines: &[Resolved], cpus: &[u16], output: &OutputFlags) -> Result<Launch, Failure> {
        let launch = runtime::launch(&self.command)?.beside_records(output.replaces_table());
        for machine in machines {
            cpus.iter().try_for_each(|&cpus| on(&launch, &machine.description, Some(cpus)).map(drop))?;
        }
        Ok(launch)
    }

    /// Runs the program on each machine, on each number of processors (all of the machine's if there are none), unless it is
    /// interrupted. The records, and whether the program ended well each time.
    ///
    /// # Errors
    /// When the program cannot be run, or the simulation fails.
    pub fn run(
        &self,
        launch: &Launch,
        machines: &[Resolved],
        cpus: &[u16],
        varied: &OwnVariations,
        common: &mut Common,
        output: &mut Output<SimulationRow>,
    ) -> Result<(Vec<SimulationRow>, bool), Failure> {
        let launch = ending_early(launch.clone());
        let launch =
            if machines.len() * cpus.len().max(1) * varied.all().len() > 1 { launch.repeated() } else { launch };
        let (mut rows, mut well) = (Vec::new(), true);
        let numbers: Vec<Option<u16>> =
            if cpus.is_empty() { vec![None] } else { cpus.iter().copied().map(Some).collect() };
        for machine in machines {
            for &cpus in &numbers {
                for policies in varied.all() {
                    common.policies = policies;
                    let (row, ended) = self.run_once(&launch, machine, cpus, common)?;
                    output.write(&row)?;
                    rows.push(row);
                    match ended {
                        Ended::Interrupted => return Ok((rows, well)),
                        Ended::Badly => well = false,
                        Ended::Well => {}
                    }
                }
            }
        }
        Ok((rows, well))
    }

    fn run_once(
        &self,
        launch: &Launch,
        machine: &Resolved,
        cpus: Option<u16>,
        common: &Common,
    ) -> Result<(SimulationRow, Ended), Failure> {
        let (row, answer) = self.answer(launch, &machine.description, cpus, common)?;
        let row = match answer.attribution {
            Some(told) => named(row, told, launch)?.row,
            None => row,
        };
        if common.stats
            && let Some(speed) = answer.speed
        {
            eprintln!("{speed}");
        }
        let ended = match ended_well(launch, answer.status) {
            _ if answer.interrupted => Ended::Interrupted,
            true => Ended::Well,
            false => Ended::Badly,
        };
        let row = if common.stats { row } else { row.without_parts() };
        Ok((row, ended))
    }

    /// Runs the program once: its record, and what else came of it. Notes are told on standard error.
    ///
    /// # Errors
    /// When the simulation fails.
    pub fn answer(
        &self,
        launch: &Launch,
        machine: &Description,
        cpus: Option<u16>,
        common: &Common,
    ) -> Result<(SimulationRow, Answer), Failure> {
        let launch = &on(launch, machine, cpus)?;
        let request = self.request(launch, machine, cpus, common);
        let far = Arc::new(Mutex::new(None));
        let told = far.clone();
        let watched = launch.clone().told(move |progress| *entered(&told) = Some(progress));
        let how_far = move || {
            let Progress { simulated, threads } = (*entered(&far))?;
            Some(format!("{} simulated, {threads} threads", simulated.rounded()))
        };
        let mut answer =
            progress::beside_program(launch.name(), how_far, || watched.run(request)).map_err(Failure::run)?;
        for note in &answer.notes {
            eprintln!("note: {}: {note}", launch.name());
        }
        match (answer.row.take(), answer.error.take()) {
            (Some(row), None) => {
                if let Some(told) = left_out(&row) {
                    eprintln!("note: {}: {told}", launch.name());
                }
                Ok((row, answer))
            }
            // The request cannot be met: the program has not begun.
            (None, Some(error)) if answer.status == 2 => Err(Failure::input(error)),
            (_, error) => {
                let problem = error.unwrap_or_else(|| "no record was written".to_owned());
                Err(Failure::run(format!("{}: {problem}", launch.name())))
            }
        }
    }

    /// The request to the program's runtime.
    fn request(&self, launch: &Launch, machine: &Description, cpus: Option<u16>, common: &Common) -> Request {
        Request {
            program: launch.name(),
            machine: machine.to_toml(),
            cpus,
            barrier: common.policies.barrier.clone(),
            locks: common.policies.locks.clone(),
            scheduler: common.policies.scheduler.clone(),
            seed: common.seed,
            causes: common.causes,
            lock_step: false,
            no_caches: self.no_caches,
            host_time: self.host_time,
            instructions: self.instructions.unwrap_or(INSTRUCTIONS),
            spin_limit_ms: self.spin_limit.unwrap_or(SPIN_LIMIT_MS),
            stack: self.stack.unwrap_or(STACK).0.0,
            record: common.record.clone(),
            profile: common.profile.clone(),
            relocation: Relocation::default(),
            progress: None,
            answer: PathBuf::new(),
        }
    }

    /// Runs the program again on a machine, with its pages elsewhere, unseen: its record, or why there is none.
    pub fn again(
        &self,
        launch: &Launch,
        cpus: Option<u16>,
        common: &Common,
    ) -> impl Fn(&Description, &Relocation) -> Result<SimulationRow, String> {
        let (policies, seed) = (common.policies.clone(), common.seed);
        move |machine, relocation| {
            let processors = OwnProgram::processors(machine, cpus).map_err(|error| error.to_string())?;
            let launch = launch.on(processors.len());
            let common = Common { seed, policies: policies.clone(), ..Common::default() };
            let request = self.request(&launch, machine, cpus, &common);
            let run = launch.run_unseen(Request { relocation: relocation.clone(), ..request });
            completed(run.map_err(|error| error.to_string())?)
        }
    }

    /// Tries what can be tried of the remedies that `found` proposes: the program runs again, unseen.
    ///
    /// # Errors
    /// When the machine cannot be changed as a remedy has it.
    pub fn try_remedies(
        &self,
        found: &mut Diagnosis,
        launch: &Launch,
        machine: &Description,
        cpus: Option<u16>,
        common: &Common,
    ) -> Result<(), Failure> {
        let failed = FailedTrials::default();
        let again = |machine: &Description, relocation: &Relocation, policy: Option<(&str, &str)>| {
            let mut policies = common.policies.clone();
            match policy {
                Some(("barrier", kind)) => kind.clone_into(&mut policies.barrier),
                Some((_, kind)) => kind.clone_into(&mut policies.locks),
                None => {}
            }
            let common = Common { seed: common.seed, policies, ..Common::default() };
            let row = self.again(launch, cpus, &common)(machine, relocation);
            Some(row.map_err(|problem| failed.note(problem)).ok()?.time_ns)
        };
        let tried = progress::growing("simulations", |told| found.try_own(machine, again, told));
        for problem in failed.told() {
            eprintln!("note: {}: trial of a remedy failed: {problem}", launch.name());
        }
        tried.map_err(Failure::run)
    }
}

/// The record of a run that came to its end, or why it did not.
fn completed(answer: Answer) -> Result<SimulationRow, String> {
    match answer {
        Answer { error: Some(error), .. } => Err(error),
        Answer { interrupted: true, .. } => Err("interrupted".to_owned()),
        Answer { status: 0, row: Some(row), .. } => Ok(row),
        Answer { status: 0, .. } => Err("no record was written".to_owned()),
        Answer { status, .. } => Err(format!("exit status {status}")),
    }
}

/// A program that ends with what it has done when the command is interrupted: as long as there is a copy of this, the command ends
/// itself.
pub fn ending_early(launch: Launch) -> Launch {
    let itself = Itself::begin();
    launch.interrupted(move || itself.is_interrupted())
}

/// The data that a lock guards, whoever has panicked.
fn entered<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why runs that were to try remedies came to nothing.
#[derive(Default)]
struct FailedTrials(Mutex<BTreeSet<String>>);

impl FailedTrials {
    fn note(&self, problem: String) {
        entered(&self.0).insert(problem);
    }

    fn told(self) -> BTreeSet<String> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program as it is started where it may use the first `cpus` processors of a machine, all of them if there is no such number.
///
/// # Errors
/// When the machine has fewer.
fn on(launch: &Launch, machine: &Description, cpus: Option<u16>) -> Result<Launch, Failure> {
    let processors = OwnProgram::processors(machine, cpus).map_err(Failure::input)?;
    Ok(launch.on(processors.len()))
}

/// The diagnosis of an own program, by the names that it has for its data. Names that are lacking are noted on standard error.
///
/// # Errors
/// When the program's file cannot be read.
pub fn named(row: SimulationRow, told: Attribution, launch: &Launch) -> Result<Diagnosis, Failure> {
    let (diagnosis, lacking) = diagnosis::of_own(row, told, launch.file()).map_err(Failure::run)?;
    for advice in lacking {
        eprintln!("note: {}: {advice}", launch.name());
    }
    Ok(diagnosis)
}

/// The measured part of a program that does not name one itself, and how much was left out.
fn left_out(row: &SimulationRow) -> Option<String> {
    let advice = "ccnuma_roi_begin() and ccnuma_roi_end() of ccnuma.h select another part";
    match row.measured.as_deref() {
        Some("sections") if row.run_ns > row.time_ns => Some(format!(
            "measured from the first to the last parallel section: {:.3} of {:.3} ms; {advice}",
            row.time_ns / 1e6,
            row.run_ns / 1e6,
        )),
        Some("whole") => Some(format!("measured as a whole (no parallel section); {advice}")),
        _ => None,
    }
}

/// Whether a program ended well; says so if not.
pub fn ended_well(launch: &Launch, status: i32) -> bool {
    if status != 0 {
        failure::tell(format!("{}: exit status {status}", launch.name()));
    }
    status == 0
}
