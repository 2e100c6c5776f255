//! `ccnuma run`: starts a program and samples what it does to the machine.

use std::ffi::{OsStr, OsString};
use std::io::BufWriter;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use clap::Args;
use profile::selection::Selection;
use profile::session::Program;
use profile::{CounterSource, Sampler};
use record::SampleRow;
use trace::{Trace, TraceWriter};

use super::flags::{MILLISECONDS, Nanoseconds, SamplerFlags, SelectionFlags};
use super::simulated::{self, Recorded, SimulatedRun};
use super::{observable, preamble, summary, watched};
use crate::failure::Failure;
use crate::output::{Kind, Output, OutputFlags, Stream, is_device, print};
use crate::platform::HOST;
use crate::provenance;

/// Run a program, sample it and the machine into a trace file, and print a summary at the end.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma run -- ./prog -n 100                  sample every 10 ms into prog.arrows
  ccnuma run -s 50ms --node 0 --node 1 --metric local,cpu -o t.arrows -- mpirun -n 4 ./prog
  ccnuma run -m arctic -s 50us --node 1 --node 2 --metric alocal -- fft --cpus 8
                                               a program of `ccnuma sim` on a simulated machine
  ccnuma run -m arctic -s 50us -- ./fft -p8    your own program, built with `ccnuma cc`, by its path
  ccnuma run --list                            available metrics, and unavailable ones with the reason
  ccnuma info prog.arrows; ccnuma dump prog.arrows --thread t0 --metric cpu

The program's standard output is unchanged; the summary goes to standard error, or as records to --json or --csv. Threads and
child processes are included. The exit code is the program's, or 128 plus the signal number if a signal ended it.")]
pub struct RunCommand {
    /// Run a program of `ccnuma sim` (with its flags there) on this simulated machine, or one built with `ccnuma cc` (by its path),
    /// and sample the machine's counters.
    #[arg(short = 'm', long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Sampling interval: milliseconds, or with a unit [default: 10ms, or as required by narrow counters].
    #[arg(short = 's', long, value_name = "TIME")]
    sample: Option<Nanoseconds<MILLISECONDS>>,
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    sampler: SamplerFlags,
    /// List available metrics, and unavailable ones with the reason.
    #[arg(long)]
    list: bool,
    /// Trace file; an existing one is renamed to FILE.old [default: PROGRAM.arrows].
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    records: OutputFlags,
    /// The program and its arguments.
    #[arg(value_name = "PROGRAM", last = true, required_unless_present = "list")]
    command: Vec<OsString>,
}

impl RunCommand {
    /// Runs the program; its exit code.
    pub fn run(self) -> Result<ExitCode, Failure> {
        if let Some(machine) = self.machine.as_deref().filter(|&machine| machine != HOST) {
            return self.run_simulated(machine);
        }
        let (files, inventory, mut sources) = self.sampler.sources(true)?;
        let mut sampler = Sampler::new(sources.counters(), self.sample.map(|time| time.0));
        let preamble = watched::preamble(&files, &inventory, &self.command, &sampler, &sources);
        let declared = self.selection.declared()?;
        if self.list {
            return observable::list(&declared, &sources, &preamble, &self.records, &inventory)
                .map(|()| ExitCode::SUCCESS);
        }
        let selection = self.selection.selection();
        if selection.threads.is_empty() {
            selection.check(sources.objects()).map_err(Failure::input)?;
        }
        selection.metrics(&declared, sources.counters(), &preamble.constants).map_err(Failure::input)?;
        Program::find(&self.command[0]).map_err(|error| watched::cannot_be_started(&self.command[0], &error))?;
        self.sampler.come_first()?;
        let path = self.trace()?;
        self.records.files().check("--output", &path, Kind::Trace)?;
        let mut output: Output<SampleRow> = self.records.open()?.of(&provenance::of_host(&inventory));
        let file = self.records.files().stream("--output", &path, Kind::Trace)?;
        let mut writer = TraceWriter::new(BufWriter::new(file), &preamble, sources.counters()).map_err(Failure::run)?;
        let begun = || self.sampler.move_there(&inventory);
        let watched = watched::watch(&self.command, &mut sources, &mut sampler, &mut writer, begun, || {})?;
        let whole = watched.written.and_then(|()| finished(writer));
        // A trace that could not be written to its end is told, too, as far as it goes.
        match (super::flags::open(&path), &whole) {
            (Ok(trace), _) => self.tell(&trace, &path, &declared, &selection, &mut output, true)?,
            (Err(failure), Ok(())) => return Err(failure),
            (Err(_), Err(_)) => {}
        }
        if let Some(status) = watched.status.filter(|status| !status.success()) {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit status {code}"),
                (None, signal) => format!("signal {}", signal.unwrap_or_default()),
            };
            eprintln!("{}: ended with {how}", self.command[0].display());
        }
        whole?;
        output.finish()?;
        Ok(watched.status.map_or(ExitCode::FAILURE, exit_code))
    }

    /// The same on a simulated machine; exit code 1 if results of a built-in program are wrong.
    fn run_simulated(&self, machine: &str) -> Result<ExitCode, Failure> {
        let declared = self.selection.declared()?;
        if self.list {
            return simulated::list(machine, &declared, &self.records).map(|()| ExitCode::SUCCESS);
        }
        let path = self.trace()?;
        let run = SimulatedRun {
            machine,
            command: &self.command,
            sample_ns: self.sample.map(|time| time.0),
            reader: self.sampler.simulated_reader()?,
            selection: self.selection.selection(),
            declared: declared.clone(),
            records: &self.records,
        };
        let Recorded { shown, status, own, mut output } = run.record(&path)?;
        let trace = super::flags::open(&path)?;
        self.tell(&trace, &path, &declared, &shown, &mut output, own)?;
        output.finish()?;
        Ok(ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)))
    }

    /// The file of the trace, which is read again for the summary.
    fn trace(&self) -> Result<PathBuf, Failure> {
        let path = self.output.clone().unwrap_or_else(|| default_trace(&self.command[0]));
        match is_device(&path) {
            true => Err(Failure::flag("--output", path.display(), "a trace is read again", "a regular file")),
            false => Ok(path),
        }
    }

    /// Prints what the program did over its whole life: on standard error if standard output is the program's `own`.
    fn tell(
        &self,
        trace: &Trace,
        path: &Path,
        declared: &[trace::metric::Metric],
        selection: &Selection,
        output: &mut Output<SampleRow>,
        own: bool,
    ) -> Result<(), Failure> {
        let metrics =
            selection.metrics(declared, &trace.counters, &trace.preamble.constants).map_err(Failure::input)?;
        let rows = summary::rows(trace, &metrics, selection);
        for row in &rows {
            output.write(row)?;
        }
        output.complete()?;
        if output.wants_table() {
            let view = if own { self.records.view_on_error() } else { self.records.view() };
            let about = preamble::headline(&trace.preamble) + &preamble::hidden(&trace.preamble.sources);
            let tables = summary::tables(&rows, &metrics);
            let tables: Vec<String> = tables.iter().map(|table| table.shown(&view)).collect();
            let closing = format!("{}: {}", path.display(), summary::times(trace));
            let [about, closing] = [about, closing].map(|text| report::paragraph(&text, &view));
            let text = format!("{about}\n{}\n{closing}", tables.join("\n"));
            match own {
                true => eprint!("{text}"),
                false => print(text)?,
            }
        }
        Ok(())
    }
}

/// The trace, complete.
fn finished(writer: TraceWriter<BufWriter<Stream>>) -> Result<(), Failure> {
    let file = writer.finish()?;
    file.into_inner().map(drop).map_err(|error| error.into_error().into())
}

/// The exit code that a shell would have of a program: its own, or 128 and the signal's number.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

/// Where the trace goes if nobody says: the program's name, here.
fn default_trace(program: &OsStr) -> PathBuf {
    let mut name = Path::new(program).file_name().unwrap_or_default().to_owned();
    name.push(".arrows");
    name.into()
}
