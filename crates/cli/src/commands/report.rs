//! `ccnuma report`: a page about a run, for a browser.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use experiments::picture::loaded_picture;
use experiments::profiling::{ProfileRequest, traced};
use record::{FindingRow, Record};
use report::html::{Page, page};
use trace::Trace;

use super::diagnose::{RunFlags, diagnosed};
use super::sim::flags::after_help;
use crate::failure::Failure;
use crate::output::{ForceFlag, Kind, Whole, print};
use crate::platform::MachinesFlag;
use crate::progress;

const EXAMPLES: &str = "Examples:
  ccnuma report -m flash-scaled-16p art -o art.html
                                      run, diagnose and sample; one HTML page
  ccnuma run -o fft.trace -- ./fft    a trace of a program on this computer
  ccnuma report fft.trace -o fft.html
                                      and its report
  ccnuma bench --suite cores --json=cores.jsonl; ccnuma report cores.jsonl -o cores.html
                                      heat maps of measurements
  ccnuma diagnose -m arctic radix --json=radix.jsonl
  ccnuma report radix.trace --findings radix.jsonl -o radix.html

The page is one self-contained file. Timelines of nodes, links and threads zoom together.";

/// Samples of a simulated run that a page shows.
const SAMPLES: u64 = 500;

/// Write an HTML report of a run: findings, time breakdown, data, source lines, machine, timelines.
#[derive(Args, Debug)]
#[command(after_help = after_help(EXAMPLES))]
pub struct ReportCommand {
    #[command(flatten)]
    machines: MachinesFlag,
    /// With -m: the program to run; otherwise a trace from `ccnuma run`, or records from `ccnuma bench --json=FILE`.
    #[arg(value_name = "PROGRAM|TRACE")]
    subject: String,
    /// Output file.
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Findings to show with a trace, from `ccnuma diagnose --json=FILE`.
    #[arg(long, value_name = "FILE", conflicts_with = "names")]
    findings: Option<PathBuf>,
    /// Propose remedies without trying them.
    #[arg(long)]
    no_trials: bool,
    #[command(flatten)]
    force: ForceFlag,
    #[command(flatten)]
    run: RunFlags,
}

impl ReportCommand {
    /// Runs the command. True if a program that was run found its results right.
    ///
    /// # Errors
    /// When the input cannot be used, a simulation fails or the page cannot be written.
    pub fn run(self) -> Result<bool, Failure> {
        if self.machines.is_given() {
            return self.of_program();
        }
        match records_in(Path::new(&self.subject)) {
            true => self.of_records(),
            false => self.of_trace(),
        }
    }

    fn of_program(&self) -> Result<bool, Failure> {
        let (simulation, fewer) = self.run.simulations(&self.machines, &self.subject)?;
        let file = self.page()?;
        let found = diagnosed(&simulation, fewer.as_ref(), !self.no_trials)?;
        let row = &found.row;
        let interval = units::Duration::from_ns((row.run_ns / SAMPLES as f64).max(1.0));
        let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let topology = machine::Topology::new(simulation.description());
        let of = |router: &machine::Router| router.ports().map(|(port, _)| (router.id, port)).collect::<Vec<_>>();
        let ports = topology.routers().iter().flat_map(of).collect();
        let request = ProfileRequest { interval: Some(interval), command, ports, ..ProfileRequest::default() };
        let traced = progress::during("sampling", || traced(&simulation, &request));
        let (_, trace) = traced.map_err(Failure::run)?;
        let findings = found.rows();
        let facts = [
            ("time", format!("{:.1} us", row.time_ns / 1000.0)),
            ("processors", row.cpus.to_string()),
            ("threads", row.threads.to_string()),
            ("protocol", row.protocol.clone()),
            ("placement", row.placement.clone()),
            ("references", row.references.to_string()),
            ("L2 misses", format!("{} ({:.1} % of them local)", row.secondary_misses, row.local_pct)),
        ];
        write(
            file,
            &Page {
                title: format!("{} on {}", row.program, row.machine),
                facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
                run: Some(row),
                findings: &findings,
                lines: found.lines(),
                figures: Vec::new(),
                picture: Some(loaded_picture(simulation.description(), Some(&trace), Some(row))),
                trace: Some(&trace),
            },
        )?;
        self.say_where()?;
        Ok(found.wrong.is_none())
    }

    fn of_trace(&self) -> Result<bool, Failure> {
        let accepted =
            "a trace from `ccnuma run -o FILE`, records from `ccnuma bench --json=FILE`, or -m MACHINE and a program";
        let trace = Trace::open(Path::new(&self.subject))
            .map_err(|error| Failure::flag("TRACE", &self.subject, error, accepted))?;
        let findings = self.findings.as_deref().map(read_findings).transpose()?.unwrap_or_default();
        let preamble = &trace.preamble;
        let described = preamble.simulated.then(|| machine::parse(&preamble.machine, &preamble.description).ok());
        let picture = described.flatten().map(|machine| loaded_picture(&machine.description, Some(&trace), None));
        let facts = [
            ("machine", preamble.machine.clone()),
            ("command", preamble.command.join(" ")),
            ("clock", preamble.clock.clone()),
        ];
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let file = self.page()?;
        write(
            file,
            &Page {
                title: if preamble.command.is_empty() { preamble.machine.clone() } else { preamble.command.join(" ") },
                facts: facts.map(|(name, value)| (name.to_owned(), value)).collect(),
                findings: &findings,
                picture,
                trace: Some(&trace),
                ..Page::default()
            },
        )?;
        self.say_where().map(|()| true)
    }

    /// The page of records that `ccnuma bench` wrote: heat maps and plots.
    fn of_records(&self) -> Result<bool, Failure> {
        let refused = |problem: String| {
            Failure::flag("RECORDS", &self.subject, problem, "records from `ccnuma bench --json=FILE`")
        };
        let text = input::text(Path::new(&self.subject), input::HELD).map_err(|error| refused(error.to_string()))?;
        let contents = record::read::<Record>(&text).map_err(|error| refused(error.to_string()))?;
        let records: Vec<Record> = contents.rows.into_iter().map(|(record, _)| record).collect();
        let plots = [report::area_curves(&records), report::load_curves(&records)];
        let plots = plots.into_iter().flatten().map(|plot| plot.svg());
        let matrices = report::matrices(&records).into_iter().map(|(_, matrix)| matrix.svg());
        let figures: Result<Vec<String>, _> = matrices.chain(plots).collect();
        let figures = figures.map_err(Failure::run)?;
        if figures.is_empty() {
            return Err(refused("contains no matrix and no curve (suites cores, nodes, hierarchy, loaded)".to_owned()));
        }
        let machine = records.first().map_or_else(String::new, |record| record.machine.clone());
        let facts = vec![("machine".to_owned(), machine), ("records".to_owned(), records.len().to_string())];
        let file = self.page()?;
        write(file, &Page { title: format!("Measurements: {}", self.subject), facts, figures, ..Page::default() })?;
        self.say_where().map(|()| true)
    }

    /// The page, begun: nothing is run for a file that cannot be written.
    fn page(&self) -> Result<Whole, Failure> {
        self.force.files().whole("--output", &self.output, Kind::Page)
    }

    fn say_where(&self) -> Result<(), Failure> {
        print(format!("{}\n", self.output.display()))
    }
}

/// Whether a file holds JSON lines rather than a trace.
fn records_in(path: &Path) -> bool {
    let mut first = [0];
    // Opening a pipe would wait for its writer.
    if !path.is_file() {
        return false;
    }
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut first));
    read.is_ok_and(|count| count == 1) && first == *b"{"
}

fn write(mut file: Whole, about: &Page<'_>) -> Result<(), Failure> {
    let text = page(about).map_err(Failure::run)?;
    file.write_all(text.as_bytes())?;
    file.complete()
}

/// The findings in a file.
fn read_findings(path: &Path) -> Result<Vec<FindingRow>, Failure> {
    let refused = |problem: String| {
        Failure::flag("--findings", path.display(), problem, "what `ccnuma diagnose --json=FILE` wrote")
    };
    let text = input::text(path, input::HELD).map_err(|error| refused(format!("cannot be read: {error}")))?;
    let contents = record::read(&text).map_err(|error| refused(error.to_string()))?;
    Ok(contents.rows.into_iter().map(|(finding, _)| finding).collect())
}
