//! `ccnuma sim`: a program on a simulated machine, and where the time went.

pub(super) mod flags;
pub(super) mod journal;
pub(super) mod own;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, Parser};
use experiments::{Detail, Processors, Simulation, Sweep, Variations, description_row, parallel};
use record::{ProgramRow, SimulationRow};
use report::{Table, View};
use workloads::Workload;

use crate::arguments;
use crate::failure::{self, Failure};
use crate::interruption;
use crate::output::{Kind, Output, OutputFlags, Whole, note_unknown_column, print};
use crate::platform::MachinesFlag;
use crate::progress;
use flags::{ParameterFlags, Variation};
use journal::Journal;
use own::{Common, OwnFlags, OwnVariations};

/// Run a program on a simulated machine: run time, misses, time breakdown, controller utilisation.
#[derive(Args, Debug)]
#[command(after_help = flags::after_help(flags::EXAMPLES))]
pub struct SimCommand {
    #[command(flatten)]
    machines: MachinesFlag,
    /// Programs to run: names, or reference traces to replay (from --record, drmemtrace or lackey).
    #[arg(value_name = "PROGRAM", required_unless_present_any = ["list", "command"])]
    programs: Vec<String>,
    /// Number of processors, starting with the first; several values make several runs; 4..64 means the powers of two from 4
    /// to 64 [default: all].
    #[arg(long, value_name = "N", value_delimiter = ',')]
    cpus: Vec<Processors>,
    /// Directory protocol instead of the machine's (FLASH machines); several names make several runs.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    protocol: Vec<String>,
    /// Page placement: planned (as the program requests), first-touch, round-robin, fixed=NODE, mld (memory locality
    /// domains) or mld=RADIUS, each with +migration and +replication behind it if wanted.
    #[arg(long, value_name = "POLICY", value_delimiter = ',')]
    placement: Vec<String>,
    /// Migrate pages to the node that first touches them in the measured part, for data that one thread initialised.
    #[arg(long)]
    touch_again: bool,
    /// Scheduler: none, batch, gang or run-queue, optionally with /cache-affinity, /memory-affinity, /pinned or
    /// /pinned-in-order.
    #[arg(long, value_name = "POLICY", value_delimiter = ',')]
    scheduler: Vec<String>,
    /// Barrier: ideal (no cost beyond waiting for the last thread), llsc or spin (shared counter and flag), at-memory
    /// (fetch-and-op at memory), tree; for your own program also own (that of its libraries), futex.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    barrier: Vec<String>,
    /// Locks: llsc or spin (test-and-test-and-set), at-memory (ticket lock with fetch-and-op at memory); for your own program,
    /// including condition variables and OpenMP locks, also own (those of its libraries), futex, queue (each waiter spins on its own
    /// word).
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    locks: Vec<String>,
    /// Make a run for each value of KEY (repeatable): protocol, placement, scheduler, barrier, locks, or a machine parameter
    /// such as tlb.miss_ns.
    #[arg(long, value_name = "KEY=V1,V2")]
    vary: Vec<Variation>,
    /// Also print and record statistics of each controller and processor. Prints the simulation speed on standard error.
    #[arg(long)]
    stats: bool,
    /// Classify misses by cause (cold, capacity, conflict, true and false sharing) and by data structure. Takes several times
    /// as long.
    #[arg(long)]
    causes: bool,
    /// Random seed, of the programs and of the simulated hardware.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// List the programs and their parameters.
    #[arg(long, conflicts_with_all = ["programs", "names"])]
    list: bool,
    /// Write the time breakdown as stacked bars into FILE (SVG).
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Reuse the records of finished runs in the file of --json, and run the rest.
    #[arg(long)]
    resume: bool,
    /// Record the memory references of the (single) run in FILE, to be replayed on other machines.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    parameters: ParameterFlags,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    output: OutputFlags,
}

impl SimCommand {
    /// Runs the command. True if all programs found their results right.
    ///
    /// # Errors
    /// When the input cannot be used, a simulation fails or the output does.
    pub fn run(self) -> Result<bool, Failure> {
        if self.list {
            return self.list_programs().map(|()| true);
        }
        if !self.own.command.is_empty() {
            return self.run_own();
        }
        let sweep = self.sweep()?;
        let simulations = sweep.simulations().map_err(Failure::input)?;
        self.output.check::<SimulationRow>()?;
        let recording = self.recording(simulations.len())?;
        let simulations = recorded(simulations, recording.as_ref());
        let drawing = self.drawing()?;
        let detail = Detail { parts: self.stats, causes: self.causes };
        let journal = Journal::open(self.output.json_file(), self.resume, self.output.files(), detail)?;
        let parameters: Vec<String> = simulations.iter().flat_map(Simulation::parameters).collect();
        let mut output: Output<SimulationRow> = self.output.open()?.with_keys("parameters", &parameters);
        let view = self.output.view();
        output.tell_early(move |rows| report::simulations("", rows).shown(&view));
        interruption::go_on_by(Journal::how_to_go_on(self.output.json_file()));
        sweep.machines.iter().try_for_each(|machine| output.describe(&description_row(machine)))?;
        let rows = simulate(&simulations, self.stats, journal, &mut output)?;
        output.complete()?;
        if output.wants_table() {
            print_tables(&rows, self.stats, &self.output.view())?;
        }
        draw(drawing, &rows)?;
        recording.map_or(Ok(()), Whole::complete)?;
        output.finish()?;
        Ok(rows.iter().all(SimulationRow::is_right))
    }

    /// Runs a program of the user's own.
    fn run_own(&self) -> Result<bool, Failure> {
        let (variations, policies) = own_variations(self.varied())?;
        let machines = self.machines.varied(&variations)?;
        let cpus: Vec<u16> = self.cpus.iter().flat_map(|processors| processors.0.iter().copied()).collect();
        let runs = machines.len() * cpus.len().max(1) * policies.all().len();
        let launch = self.own.launch(&machines, &cpus, &self.output)?;
        self.output.check::<SimulationRow>()?;
        let recording = self.recording(runs)?;
        let drawing = self.drawing()?;
        let record = recording.as_ref().map(|recording| std::path::absolute(recording.path())).transpose();
        let record = record.map_err(Failure::run)?;
        let (seed, causes, stats) = (self.seed, self.causes, self.stats);
        let mut common = Common { seed, causes, stats, record, ..Common::default() };
        let mut output: Output<SimulationRow> = self.output.open()?;
        let view = self.output.view();
        output.tell_early(move |rows| report::simulations("", rows).shown(&view));
        machines.iter().try_for_each(|machine| output.describe(&description_row(machine)))?;
        let (rows, well) = self.own.run(&launch, &machines, &cpus, &policies, &mut common, &mut output)?;
        output.complete()?;
        if output.wants_table() {
            print_tables(&rows, self.stats, &self.output.view())?;
        }
        draw(drawing, &rows)?;
        recording.map_or(Ok(()), Whole::complete)?;
        output.finish()?;
        Ok(well)
    }

    /// The file to draw into.
    fn drawing(&self) -> Result<Option<Whole>, Failure> {
        self.svg.as_deref().map(|path| self.output.files().whole("--svg", path, Kind::Svg)).transpose()
    }

    /// The file to record in, which one run alone can have.
    fn recording(&self, runs: usize) -> Result<Option<Whole>, Failure> {
        let Some(path) = &self.record else { return Ok(None) };
        if runs != 1 {
            let path = path.display();
            return Err(Failure::input(format!("--record {path}: {runs} runs; accepted: one program on one machine")));
        }
        self.output.files().whole("--record", path, Kind::References).map(Some)
    }

    /// The runs that are asked for.
    fn sweep(&self) -> Result<Sweep, Failure> {
        self.own.refuse()?;
        let variations = self.variations()?;
        Ok(Sweep {
            machines: self.machines.varied(&variations)?,
            variations,
            programs: self.programs.clone(),
            parameters: self.parameters.values.clone(),
            data: self.parameters.data()?,
            cpus: self.cpus.iter().flat_map(|processors| processors.0.iter().copied()).collect(),
            seeds: Vec::new(),
            options: sim::Options { seed: self.seed, attribute: self.causes, ..sim::Options::default() },
        })
    }

    /// Variations of the runs, by flags of their own or by `--vary`.
    fn variations(&self) -> Result<Variations, Failure> {
        let mut variations = Variations::default();
        for Varied { flag, key, values } in self.varied() {
            variations.add(key, values).map_err(|error| Failure::input(format!("{flag} {error}")))?;
        }
        Ok(variations)
    }

    /// The policies and parameters that are varied, by flags of their own or by `--vary`.
    fn varied(&self) -> impl Iterator<Item = Varied<'_>> {
        let own = [
            ("--protocol", "protocol", &self.protocol),
            ("--placement", "placement", &self.placement),
            ("--scheduler", "scheduler", &self.scheduler),
            ("--barrier", "barrier", &self.barrier),
            ("--locks", "locks", &self.locks),
        ];
        let own = own.into_iter().filter(|(_, _, values)| !values.is_empty());
        let own = own.map(|(flag, key, values)| Varied { flag, key, values: values.as_slice() });
        let again = self.touch_again.then(|| Varied { flag: "--touch-again", key: "os.touch_again", values: &YES[..] });
        own.chain(again).chain(self.vary.iter().map(|Variation { key, values }| Varied { flag: "--vary", key, values }))
    }

    fn list_programs(&self) -> Result<(), Failure> {
        let rows: Vec<_> = Workload::all().iter().flat_map(experiments::program_rows).collect();
        let table = report::programs(&rows);
        self.output.check_columns([&table])?;
        let mut output: Output<ProgramRow> = self.output.open()?;
        rows.iter().try_for_each(|row| output.write(row))?;
        output.complete()?;
        if output.wants_table() {
            print(table.shown(&self.output.view()))?;
        }
        output.finish()
    }
}

/// The value of flags without one.
static YES: LazyLock<[String; 1]> = LazyLock::new(|| ["true".to_owned()]);

/// A policy or parameter that a flag varies, and the values.
pub(super) struct Varied<'a> {
    pub flag: &'a str,
    pub key: &'a str,
    pub values: &'a [String],
}

/// The same where a program of the user's own runs, whose threads follow policies of their own.
///
/// # Errors
/// When nothing of that name can be varied, or there is no such policy.
pub(super) fn own_variations<'a>(
    asked: impl Iterator<Item = Varied<'a>>,
) -> Result<(Variations, OwnVariations), Failure> {
    let (mut variations, mut own) = (Variations::default(), OwnVariations::default());
    for Varied { flag, key, values } in asked {
        let refused = |error: experiments::ExperimentError| Failure::input(format!("{flag} {error}"));
        if !own.add(key, values).map_err(refused)? {
            variations.add(key, values).map_err(refused)?;
        }
    }
    Ok((variations, own))
}

/// The one run that `words` ask for, a program with flags as after `ccnuma sim`, on a machine.
///
/// # Errors
/// When there is no such machine, program or flag, or several runs are asked for.
pub(super) fn single(machine: &str, words: &[OsString]) -> Result<Simulation, Failure> {
    let before = ["ccnuma sim", "--machine", machine].map(str::to_owned);
    let parsed = arguments::parse::<Single>(before.iter().map(OsString::from).chain(words.iter().cloned()));
    let command = parsed.map_err(|error| Failure::input(error.render().to_string().trim_end()))?.command;
    let mut simulations = command.sweep()?.simulations().map_err(Failure::input)?;
    match (simulations.pop(), simulations.len()) {
        (Some(simulation), 0) => Ok(simulation),
        (_, others) => {
            let words = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
            Err(Failure::input(format!("{words}: {} runs; accepted: one program on one machine", others + 1)))
        }
    }
}

/// The words after the `--` of another command.
#[derive(Parser)]
struct Single {
    #[command(flatten)]
    command: SimCommand,
}

/// Prints what came out: a line a run, where the time went, speedups if there are any, and the parts if `stats` says so.
pub(super) fn print_tables(rows: &[SimulationRow], stats: bool, view: &View) -> Result<(), Failure> {
    let tables = tables(rows, stats);
    note_unknown_column(view, &tables);
    print_one_by_one(&tables, view)
}

/// The tables of what came out, those of the parts among them if `stats` says so.
pub(super) fn tables(rows: &[SimulationRow], stats: bool) -> Vec<Table> {
    let mut tables = vec![report::simulations("", rows)];
    tables.extend(report::time_split(rows).into_iter().chain(report::speedups(rows)));
    tables.extend(rows.iter().filter_map(report::regions));
    tables.extend(rows.iter().filter(|_| stats).flat_map(report::simulation_statistics));
    tables
}

/// Prints tables, each after an empty line but the first.
pub(super) fn print_one_by_one(tables: &[Table], view: &View) -> Result<(), Failure> {
    for (number, table) in tables.iter().enumerate() {
        print(format!("{}{}", if number > 0 { "\n" } else { "" }, table.shown(view)))?;
    }
    Ok(())
}

/// Draws where the time went, if that was asked for.
fn draw(file: Option<Whole>, rows: &[SimulationRow]) -> Result<(), Failure> {
    let Some(mut file) = file else { return Ok(()) };
    let svg = report::time_bars(rows).svg().map_err(Failure::run)?;
    file.write_all(svg.as_bytes())?;
    file.complete()
}

/// The simulations, the only one of them recorded if there is a file for it.
fn recorded(simulations: Vec<Simulation>, recording: Option<&Whole>) -> Vec<Simulation> {
    match recording.map(Whole::path) {
        Some(path) => simulations.into_iter().map(|simulation| simulation.recorded_in(path.to_owned())).collect(),
        None => simulations,
    }
}

/// The label of the progress bar.
fn what(simulations: &[Simulation]) -> String {
    match simulations {
        [one] => format!("{} on {}", one.workload().name(), one.description().name),
        _ => "simulations".to_owned(),
    }
}

/// A run that is over, or was before.
struct Done {
    row: SimulationRow,
    wrong: Option<String>,
    speed: Option<String>,
}

/// The run of a simulation: from the journal, or now.
fn run(simulation: &Simulation, stats: bool, journal: &Journal) -> Result<Done, Failure> {
    // A file of references may hold others than when the record was made.
    if !simulation.is_replay()
        && let Some(row) = journal.known(&simulation.identity())
    {
        let wrong = (!row.is_right()).then(|| "the recorded results are wrong".to_owned());
        return Ok(Done { row: row.clone(), wrong, speed: None });
    }
    let simulated = simulation.run().map_err(Failure::run)?;
    let speed = stats.then(|| simulated.speed());
    let row = if stats { simulated.row } else { simulated.row.without_parts() };
    journal.note(&row);
    Ok(Done { row, wrong: simulated.wrong, speed })
}

/// Runs all simulations on all cores, those on many processors first, and writes their records in order, with their parts if
/// `stats` says so. What is over is in the journal at once.
fn simulate(
    simulations: &[Simulation],
    stats: bool,
    journal: Journal,
    output: &mut Output<SimulationRow>,
) -> Result<Vec<SimulationRow>, Failure> {
    let remarks: BTreeSet<String> = simulations.iter().flat_map(|each| each.workload().remarks()).collect();
    remarks.iter().for_each(|remark| eprintln!("note: {remark}"));
    let bar = progress::bar(simulations.len(), what(simulations));
    let mut rows = Vec::new();
    let early = output.clone();
    let deliver = |place: usize, done: Result<Done, Failure>| -> Result<(), Failure> {
        let Done { row, wrong, speed } = done?;
        if let Some(wrong) = &wrong {
            failure::tell(format!("{} on {}: {wrong}", row.program, row.machine));
        }
        if let Some(speed) = &speed {
            progress::say(speed);
        }
        output.write_all(place, [&row])?;
        rows.push(row);
        Ok(())
    };
    let jobs: Vec<(usize, &Simulation)> = simulations.iter().enumerate().collect();
    let cost = |(_, simulation): &(usize, &Simulation)| simulation.cpus() as u64;
    let work = |&(place, simulation): &(usize, &Simulation)| {
        let done = run(simulation, stats, &journal)?;
        early.note(place, vec![done.row.clone()]);
        Ok(done)
    };
    parallel::longest_first(&jobs, cost, work, |done| bar.at(done), deliver)?;
    drop(bar);
    journal.close()?;
    Ok(rows)
}
