//! `ccnuma run`: starts a program and samples what it does to the machine.

use std::io::BufWriter;
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use profile::lines::unix_now;
use profile::selection::Selection;
use profile::session::{Program, drive, exit_event};
use profile::{CounterSource, Sampler};
use record::SampleRow;
use trace::{Preamble, Trace, TraceWriter};

use super::flags::{MILLISECONDS, Nanoseconds, SamplerFlags, SelectionFlags};
use super::simulated::{self, SimulatedRun};
use super::{preamble, sar, summary};
use crate::failure::Failure;
use crate::interruption::interruption;
use crate::output::{Output, OutputFlags, create, print};
use crate::platform::HOST;

/// How long a program that was interrupted with us has to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// Start a program, sample it and the machine into a trace, and tell what it did when it has ended.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma run -- ./prog -n 100                  sample every 10 ms into prog.arrows
  ccnuma run -s 50ms --node 0 --node 1 --metric local,cpu -o t.arrows -- mpirun -n 4 ./prog
  ccnuma run -m arctic -s 50us --node 1 --node 2 --metric alocal -- fft --cpus 8
                                               a program of `ccnuma sim` on a simulated machine
  ccnuma run --list                            the metrics that can be computed here, and what cannot and why
  ccnuma info prog.arrows; ccnuma dump prog.arrows --thread t0 --metric cpu

The program keeps its standard output; what it did follows. Its threads, and whatever processes it starts, are followed.
Exit code 1 if the program fails.")]
pub struct RunCommand {
    /// Run a program of `ccnuma sim` on this simulated machine, with the flags it has there, and look at the machine's counters.
    #[arg(short = 'm', long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Time from sample to sample: milliseconds, or with a unit [default: 10ms, or as narrow counters need].
    #[arg(short = 's', long, value_name = "TIME")]
    sample: Option<Nanoseconds<MILLISECONDS>>,
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    sampler: SamplerFlags,
    /// List the metrics that can be computed here, and what cannot be seen and why.
    #[arg(long)]
    list: bool,
    /// The trace file [default: PROGRAM.arrows].
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    records: OutputFlags,
    /// The program and its arguments.
    #[arg(value_name = "PROGRAM", last = true, required_unless_present = "list")]
    command: Vec<String>,
}

impl RunCommand {
    /// Runs the program; false if it failed.
    pub fn run(self) -> Result<bool, Failure> {
        if let Some(machine) = self.machine.as_deref().filter(|&machine| machine != HOST) {
            return self.run_simulated(machine);
        }
        let (files, inventory, mut sources) = self.sampler.sources(true)?;
        let mut sampler = Sampler::new(sources.counters(), self.sample.map(|time| time.0));
        let mut preamble = Preamble {
            machine: profile::linux::title(&files, &inventory),
            command: self.command.clone(),
            started_unix_ns: unix_now(),
            clock: "CLOCK_MONOTONIC".to_owned(),
            ..Preamble::default()
        };
        sampler.describe(&sources, &mut preamble);
        preamble.sources = sources.descriptions();
        let declared = self.selection.declared()?;
        if self.list {
            return sar::list(&declared, &sources, &preamble).map(|()| true);
        }
        let selection = self.selection.selection();
        if selection.threads.is_empty() {
            selection.check(sources.objects()).map_err(Failure::input)?;
        }
        selection.metrics(&declared, sources.counters(), &preamble.constants).map_err(Failure::input)?;
        Program::find(&self.command[0]).map_err(|error| self.cannot_be_started(&error))?;
        let mut output: Output<SampleRow> = self.records.open()?;
        let path = self.output.clone().unwrap_or_else(|| default_trace(&self.command[0]));
        let file = create("--output", &path)?;
        let mut writer = TraceWriter::new(BufWriter::new(file), &preamble, sources.counters()).map_err(Failure::run)?;
        let interrupted = interruption()?;
        let mut program = Program::start(&self.command).map_err(|error| self.cannot_be_started(&error))?;
        self.sampler.move_there(&inventory)?;
        let mut since = None;
        drive(&mut sources, &mut sampler, &mut writer, |_, _| {
            if interrupted.load(Ordering::Relaxed) && since.get_or_insert_with(Instant::now).elapsed() > GRACE {
                program.terminate();
            }
            Ok::<_, Failure>(match program.ended() {
                Some(status) => ControlFlow::Break(Some(exit_event(status))),
                None => ControlFlow::Continue(()),
            })
        })?;
        writer.finish().map_err(Failure::run)?.into_inner().map_err(Failure::run)?;
        let trace = super::flags::open(&path)?;
        self.tell(&trace, &path, &declared, &selection, &mut output)?;
        let status = program.ended();
        if let Some(status) = status.filter(|status| !status.success()) {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit status {code}"),
                (None, signal) => format!("signal {}", signal.unwrap_or_default()),
            };
            eprintln!("{}: ended with {how}", self.command[0]);
        }
        Ok(status.is_some_and(|status| status.success()))
    }

    /// The same on a simulated machine; false if the program's results are wrong.
    fn run_simulated(&self, machine: &str) -> Result<bool, Failure> {
        let declared = self.selection.declared()?;
        if self.list {
            return simulated::list(machine, &declared).map(|()| true);
        }
        let mut output: Output<SampleRow> = self.records.open()?;
        let path = self.output.clone().unwrap_or_else(|| default_trace(&self.command[0]));
        let run = SimulatedRun {
            machine,
            command: &self.command,
            sample_ns: self.sample.map(|time| time.0),
            reader: self.sampler.simulated_reader()?,
            selection: self.selection.selection(),
            declared: declared.clone(),
        };
        let (shown, right) = run.record(&path)?;
        let trace = super::flags::open(&path)?;
        self.tell(&trace, &path, &declared, &shown, &mut output)?;
        Ok(right)
    }

    fn cannot_be_started(&self, error: &std::io::Error) -> Failure {
        Failure::flag("PROGRAM", &self.command[0], format!("cannot be started: {error}"), "a program that can be run")
    }

    /// Prints what the program did over its whole life.
    fn tell(
        &self,
        trace: &Trace,
        path: &Path,
        declared: &[trace::metric::Metric],
        selection: &Selection,
        output: &mut Output<SampleRow>,
    ) -> Result<(), Failure> {
        let metrics =
            selection.metrics(declared, &trace.counters, &trace.preamble.constants).map_err(Failure::input)?;
        let rows = summary::rows(trace, &metrics, selection);
        for row in &rows {
            output.write(row)?;
        }
        if output.wants_table() {
            let shown = trace.objects.iter().filter(|object| selection.wants(object));
            print(preamble::text(&trace.preamble, shown, &metrics))?;
            print(preamble::sight(&trace.preamble.sources))?;
            print(format!("\n{}", summary::table(&rows, &metrics)))?;
            print(format!("\n{}{}\n", path.display(), summary::times(trace)))?;
        }
        Ok(())
    }
}

/// Where the trace goes if nobody says: the program's name, here.
fn default_trace(program: &str) -> PathBuf {
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    PathBuf::from(format!("{name}.arrows"))
}
