//! `ccnuma sweep`: many runs from one file, on any number of processes, that lose nothing when they are killed.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use experiments::parallel;
use experiments::study::{Merged, Shard, Store, Study, StudyRun, Tally, Told, merge, work_off, write_parquet};
use record::{Record, RunState, SimulationRow, SweepRunRow, Work};
use report::View;

use crate::arguments::MOST_JOBS;
use crate::failure::{self, Failure};
use crate::interruption;
use crate::output::{Files, Kind, Output, OutputFlags, print};
use crate::{progress, provenance};

/// Run many simulations from one file: resumable, in parallel, on one machine or by a cluster's scheduler.
#[derive(Args, Debug)]
#[command(after_help = "A study, study.toml; the values of a block combine, and every combination is a run:
  [[sim]]                                    # programs, as `ccnuma sim` runs them
  machines = [\"flash-16p\", \"arctic\", \"mine.toml\"]
  programs = [\"migratory\", { name = \"fft\", points = [256, 1024] }]
  cpus = [1, \"4..16\"]                        # \"4..16\": 4, 8, 16
  placement = [\"first-touch\", \"round-robin\"] # also protocol, scheduler, barrier, locks
  vary = { \"tlb.miss_ns\" = [0, 700] }        # any parameters of machines
  seeds = [0, 1, 2]                          # or \"0..9\"
  [[bench]]                                  # suites, as `ccnuma bench` runs them
  machines = [\"arctic\", \"bwana\"]
  suites = [\"local\", \"remote\"]
Other keys: [[sim]] parameters, matrix, scene, stats, causes, touch-again; [[bench]] protocol, vary, seeds, iterations, lines,
nodes-per-distance. Paths are relative to the study.

Examples:
  ccnuma sweep study.toml                    run what is left, on all cores; then the table, study.sweep/results.parquet
                                             and study.sweep/results.jsonl
  ccnuma sweep study.toml --list             the runs, their keys, and which are done
  ccnuma sweep study.toml -j 2 --into /scratch/study
  ccnuma sweep study.toml --shard 2/8        every eighth run from the second on
  sbatch --array=1-8 --wrap 'ccnuma sweep study.toml --shard slurm'
                                             a job array of Slurm
  ccnuma sweep study.toml --merge --csv=all.csv
                                             the records of all runs
  ccnuma sweep study.toml --run 3f09c2d41a77 one run, by the beginning of its key

Any number of processes may work on one directory. A run is done when its file is there; a process that is killed leaves nothing
that is taken for a result, and its runs go to others. Exit code 1 if a run fails, or a program's check of its own results.")]
pub struct SweepCommand {
    /// The file that says what to run.
    #[arg(value_name = "STUDY")]
    study: PathBuf,
    /// The directory of results, the same for all processes [default: the study's name with .sweep in place of .toml].
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Runs at a time [default: as many as cores].
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// Do every N-th run from the I-th on; slurm takes I and N from the variables of a job array.
    #[arg(long, value_name = "I/N|slurm", conflicts_with_all = ["run", "merge"])]
    shard: Option<String>,
    /// Leave runs that other processes are at to them, and end; otherwise they are waited for, and taken over if their process dies.
    #[arg(long, conflicts_with_all = ["list", "merge"])]
    no_wait: bool,
    /// List the runs with their keys and states, and run none.
    #[arg(long, conflicts_with_all = ["run", "merge"])]
    list: bool,
    /// Do this run alone, by its key or its first digits (repeatable), and print its records.
    #[arg(long, value_name = "KEY", conflicts_with = "merge")]
    run: Vec<String>,
    /// Write and print the results of all runs, and run none. The last process to end does so by itself.
    #[arg(long)]
    merge: bool,
    /// Merge what is done, into partial.parquet and partial.jsonl, though runs are left.
    #[arg(long, requires = "merge")]
    partial: bool,
    #[command(flatten)]
    output: OutputFlags,
}

/// The ending of the directory of results.
const ENDING: &str = "sweep";

impl SweepCommand {
    /// Runs the command. True if nothing failed, and all programs found their results right.
    ///
    /// # Errors
    /// When the study cannot be run, a run fails, or the results cannot be written.
    pub fn run(self) -> Result<bool, Failure> {
        let study = Study::read(&self.study, &provenance::build()).map_err(Failure::input)?;
        study.remarks.iter().for_each(|remark| eprintln!("note: {remark}"));
        let shard = self.shard()?;
        let places: Vec<usize> =
            (0..study.runs.len()).filter(|&place| shard.is_none_or(|shard| shard.has(place))).collect();
        if self.list {
            return self.list(&study, &places).map(|()| true);
        }
        self.check(&study)?;
        if self.merge {
            return self.merge(&study, &self.open()?);
        }
        let named =
            |start: &String| study.named(start).map_err(|problem| Failure::Input(format!("--run {start}: {problem}")));
        let asked = self.run.iter().map(named).collect::<Result<Vec<_>, _>>()?;
        let places = if asked.is_empty() { places } else { asked.clone() };
        if let Some(jobs) = self.jobs {
            parallel::limit(jobs.into()).map_err(Failure::run)?;
        }
        let store = self.open()?;
        let tally = self.work(&study, &store, &places)?;
        if let Some((place, reason)) = tally.failed.first() {
            let (count, all, run) = (tally.failed.len(), places.len(), &study.runs[*place].row.run);
            return Err(Failure::run(format!("{count} of {all} runs failed, the first: {run}: {reason}")));
        }
        if !asked.is_empty() {
            let study = Study { runs: chosen(study.runs, &asked), ..study };
            let merged = merge(&study, &store).map_err(Failure::run)?;
            return self.print(&study, &store, &merged);
        }
        let done = store.done().map_err(Failure::run)?;
        match study.runs.iter().filter(|run| !done.contains(&run.key)).count() {
            0 => {
                store.tidy().map_err(Failure::run)?;
                self.merge(&study, &store)
            }
            left => {
                let (all, folder) = (study.runs.len(), store.folder().display());
                let own = shard.map_or_else(String::new, |shard| format!("shard {} is done: ", shard.name()));
                eprintln!("note: {own}{} of {all} runs are done in {folder}, {left} are left", all - left);
                Ok(tally.wrong == 0)
            }
        }
    }

    /// The directory of results.
    fn folder(&self) -> PathBuf {
        self.into.clone().unwrap_or_else(|| self.study.with_extension(ENDING))
    }

    /// The directory, which is made if need be.
    fn open(&self) -> Result<Store, Failure> {
        let accepted = "a directory that can be made and written to";
        let opened = Store::open(&self.folder(), provenance::of_software());
        opened.map_err(|error| Failure::Input(format!("--into {error}; accepted: {accepted}")))
    }

    /// The directory, which is not made.
    fn look(&self) -> Store {
        Store::look(&self.folder(), provenance::of_software())
    }

    fn shard(&self) -> Result<Option<Shard>, Failure> {
        let Some(text) = self.shard.as_deref() else { return Ok(None) };
        let shard = match text {
            "slurm" => Shard::of_slurm(|name| std::env::var(name).ok()),
            words => words.parse(),
        };
        shard.map(Some).map_err(|error| Failure::Input(format!("--shard {text}: {error}")))
    }

    /// Whether records can be written as they are wanted, before any work: a table of CSV has columns of one kind.
    fn check(&self, study: &Study) -> Result<(), Failure> {
        match kinds(study) {
            (false, true) => self.output.check::<Record>(),
            (true, true) => {
                self.output.refuse_csv("the study has records of two kinds", "--json, or a study of one kind")?;
                self.output.check::<SimulationRow>()
            }
            _ => self.output.check::<SimulationRow>(),
        }
    }

    fn list(&self, study: &Study, places: &[usize]) -> Result<(), Failure> {
        let store = self.look();
        let (done, running) = (store.done().map_err(Failure::run)?, store.running().map_err(Failure::run)?);
        let row = |run: &StudyRun| {
            let state = match (done.contains(&run.key), running.contains(&run.key)) {
                (true, _) => RunState::Done,
                (_, true) => RunState::Running,
                _ => RunState::Left,
            };
            SweepRunRow { state, ..run.row.clone() }
        };
        let rows: Vec<SweepRunRow> = places.iter().map(|&place| row(&study.runs[place])).collect();
        let parameters: Vec<String> = rows.iter().flat_map(|row| row.parameters.keys().cloned()).collect();
        let mut output: Output<SweepRunRow> = self.output.open()?.with_keys("parameters", &parameters);
        rows.iter().try_for_each(|row| output.write(row))?;
        output.complete()?;
        if output.wants_table() {
            print(report::sweep_runs(&rows).shown(&self.output.view()))?;
        }
        output.finish()
    }

    /// Does the runs at `places` that are left, with progress on a terminal.
    fn work(&self, study: &Study, store: &Store, places: &[usize]) -> Result<Tally, Failure> {
        let folder = store.folder().display().to_string();
        interruption::go_on_by("to go on, run it again".to_owned());
        interruption::leave_account(move || Some(format!("what is done is in {folder}")));
        let done = store.done().map_err(Failure::run)?;
        let left: Vec<usize> = places.iter().copied().filter(|&place| !done.contains(&study.runs[place].key)).collect();
        let bar = progress::bar(places.len(), "runs");
        bar.begin_at(places.len() - left.len());
        let running = AtomicUsize::new(0);
        let shown = Mutex::new(bar);
        let told = |told: Told<'_>| {
            // A thread that panicked has left the bar whole.
            let bar = shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let now = match &told {
                Told::Begins(_) => running.fetch_add(1, Ordering::Relaxed) + 1,
                Told::Ended(..) | Told::Failed(..) => running.fetch_sub(1, Ordering::Relaxed) - 1,
                Told::DoneElsewhere(_) => running.load(Ordering::Relaxed),
            };
            bar.running(now);
            match told {
                Told::Begins(_) => {}
                Told::DoneElsewhere(_) => bar.step(),
                Told::Ended(run, executed) => {
                    bar.step();
                    let say = |kind: &str, text: &str| progress::say(format!("{kind}: {}: {text}", run.row.run));
                    executed.warnings.iter().for_each(|warning| say("warning", warning));
                    executed.wrong.iter().for_each(|wrong| say("error", wrong));
                }
                Told::Failed(run, reason) => failure::tell(format!("{}: {reason}", run.row.run)),
            }
        };
        work_off(study, store, &left, !self.no_wait, told).map_err(Failure::run)
    }

    /// Writes the results of all runs into the directory and prints them. True if all programs found their results right.
    fn merge(&self, study: &Study, store: &Store) -> Result<bool, Failure> {
        let merged = merge(study, store).map_err(Failure::run)?;
        let (all, folder) = (study.runs.len(), store.folder());
        if merged.missing > 0 && !self.partial {
            let (missing, folder, study) = (merged.missing, folder.display(), self.study.display());
            return Err(Failure::run(format!(
                "{missing} of {all} runs are not done in {folder}; `ccnuma sweep {study}` does them, --partial merges the others"
            )));
        }
        let stem = if merged.missing > 0 { "partial" } else { "results" };
        // They follow from what is kept: nothing is lost when they are replaced.
        let files = Files { force: true };
        let path = folder.join(format!("{stem}.parquet"));
        let mut table = files.whole("--into", &path, Kind::Parquet)?;
        write_parquet(study, &merged, &mut table).map_err(Failure::run)?;
        table.complete()?;
        let path = folder.join(format!("{stem}.jsonl"));
        let mut lines = files.whole("--into", &path, Kind::JsonLines(<SimulationRow as record::Row>::KIND))?;
        merged.write_lines(study, store, &mut lines)?;
        lines.flush()?;
        lines.complete()?;
        self.print(study, store, &merged)
    }

    /// Prints records, or writes them where they are wanted.
    fn print(&self, study: &Study, store: &Store, merged: &Merged) -> Result<bool, Failure> {
        let (simulations, measurements) = (&merged.simulations, &merged.measurements);
        let stats = simulations.iter().any(|row| row.processors.is_some());
        match kinds(study) {
            (true, false) => {
                let parameters: Vec<String> =
                    simulations.iter().flat_map(|row| row.parameters.keys().cloned()).collect();
                let mut output: Output<SimulationRow> = self.output.open()?.with_keys("parameters", &parameters);
                simulations.iter().try_for_each(|row| output.write(row))?;
                output.complete()?;
                if output.wants_table() {
                    super::sim::print_tables(simulations, stats, &self.output.view())?;
                }
                output.finish()?;
            }
            (false, true) => {
                let mut output: Output<Record> = self.output.open()?;
                measurements.iter().try_for_each(|record| output.write(record))?;
                output.complete()?;
                if output.wants_table() {
                    print_measurements(study, measurements, &self.output.view())?;
                }
                output.finish()?;
            }
            _ => {
                if let Some(path) = self.output.json_file() {
                    let kind = Kind::JsonLines(<SimulationRow as record::Row>::KIND);
                    let mut lines = self.output.files().whole("--json", path, kind)?;
                    merged.write_lines(study, store, &mut lines)?;
                    lines.complete()?;
                }
                if self.output.replaces_table() {
                    merged.runs.iter().try_for_each(|run| print(&run.text))?;
                } else {
                    super::sim::print_one_by_one(&super::sim::tables(simulations, stats), &self.output.view())?;
                    print("\n")?;
                    print_measurements(study, measurements, &self.output.view())?;
                }
            }
        }
        Ok(simulations.iter().all(SimulationRow::is_right))
    }
}

/// Whether a study has programs, and experiments.
fn kinds(study: &Study) -> (bool, bool) {
    let has = |work| study.runs.iter().any(|run| run.row.work == work);
    (has(Work::Sim), has(Work::Bench))
}

/// The runs at `places`.
fn chosen(runs: Vec<StudyRun>, places: &[usize]) -> Vec<StudyRun> {
    runs.into_iter().enumerate().filter(|(place, _)| places.contains(place)).map(|(_, run)| run).collect()
}

/// Prints a table of measurements a machine.
fn print_measurements(study: &Study, records: &[Record], view: &View) -> Result<(), Failure> {
    let mut after = "";
    for machine in &study.machines {
        let own: Vec<Record> = records.iter().filter(|record| record.machine == machine.name).cloned().collect();
        if !own.is_empty() {
            print(format!("{after}{}", report::measurements(&machine.title, &own).shown(view)))?;
            after = "\n";
        }
    }
    Ok(())
}
