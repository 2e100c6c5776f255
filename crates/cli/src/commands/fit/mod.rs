//! `ccnuma fit`: models of the memory hierarchy from measurements, and machine descriptions from models.

mod data;
mod description;
mod probe;
mod server;

use std::path::{Path, PathBuf};

use clap::Args;
pub use data::{are_of_one_machine, records_of};
use experiments::fitting::{Analysis, AnnouncedCache, Identity, Model, Surroundings, analyse, beside_announced};
use experiments::{System, Systems};
use record::{ComputerRow, FitRow, Format, Provenance, Record, RecordWriter, Row};
use report::View;

use crate::failure::Failure;
use crate::output::{Files, Kind, Output, OutputFlags, Whole, draw, drawn, make_drawings, print};
use crate::platform::{Machine, MachineFlag};
use crate::progress;
use crate::size::Mib;

/// Fit a model of the memory hierarchy to measurements: parameters with errors.
#[derive(Args, Debug)]
#[command(after_help = "Models:
  caches   sizes, lines, ways, TLB: from a P3 diagram and lists of growing size
  remote   local latency, remote penalty, router delay: from memory latencies of every node
  seidl    the hierarchy as a step function: from random windows of growing size; for a described machine with the
           constants of Seidl's paper, otherwise with as many levels as the data support

Fitted values are printed with those of the machine's description if there is one, or, on this computer, with those
announced by the kernel. Parameters that the data do not determine have no value.

--machine-out describes a server as it is: cores, caches and nodes as announced, times and bandwidths fitted by the
simulator on the experiments of `ccnuma bench --suite fit`; the file names what was assumed. Records of other simulated
machines make a description in the shape of the Origin. What was described is simulated with the same experiments, and
measured and simulated figures are compared. Exit code 1 (not confirmed) if a time differs by more than 5 % plus 1 ns, or a
bandwidth by more than 10 %; in the shape of the Origin, a time by 10 % plus a cycle, or a size by a factor of 1.5.

Examples:
  ccnuma fit                             measure this computer and fit all models
  ccnuma fit --machine-out mine.toml     describe it, to simulate it by `ccnuma bench -m mine.toml`
  ccnuma bench --suite fit --json=all.jsonl
  ccnuma fit all.jsonl --machine-out mine.toml
  ccnuma bench -m mine.toml --against all.jsonl
                                         the same in steps, and every record beside its simulation
  ccnuma fit -m dresden --model remote   recover the parameters of a simulated machine
  ccnuma fit -m dresden --model seidl --svg plots
                                         residuals of Seidl's model, drawn into plots/
  ccnuma bench -m arctic --suite remote --json=remote.jsonl
  ccnuma fit remote.jsonl --model remote from records measured before")]
pub struct FitCommand {
    #[command(flatten)]
    machine: MachineFlag,
    /// Files of records from `ccnuma bench --json=FILE` or `--data-out`; without files, the required measurements are made.
    #[arg(value_name = "DATA")]
    data: Vec<PathBuf>,
    /// Model to fit: seidl remote caches all.
    #[arg(long, value_name = "MODEL", default_value = ALL)]
    model: String,
    /// Largest size of the window probe, in MiB [default: 8192 in a simulation, 1024 on this computer].
    #[arg(long, value_name = "MIB")]
    largest: Option<Mib>,
    /// Largest number of cache levels [default: as announced by the kernel for this computer, otherwise no limit].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=MOST_CACHES))]
    most_caches: Option<u8>,
    /// Write the measured records to FILE, one JSON object per line.
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    data_out: Option<PathBuf>,
    /// Write a description of the measured machine to FILE, and confirm it by simulation.
    #[arg(long, value_name = "FILE")]
    machine_out: Option<PathBuf>,
    /// Write plots of measurements, models and residuals into DIRECTORY.
    #[arg(long, value_name = "DIRECTORY")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

/// Levels of caches that a computer can have, generously.
const MOST_CACHES: i64 = 8;
/// The name that stands for every model.
const ALL: &str = "all";

/// Measurements, and what is known of the machine that they are from.
struct Measured {
    /// The machine's name in the records.
    name: String,
    records: Vec<Record>,
    /// Where they come from.
    provenance: Provenance,
    /// The machine, if it is described.
    system: Option<std::rc::Rc<System>>,
    /// Facts that a description needs beside measurements.
    identity: Identity,
    /// The caches of the machine's first processor, as it announces them.
    announced: Vec<AnnouncedCache>,
    /// How many caches there are at most, if that is known.
    most_caches: Option<usize>,
    /// The machine's structure as it announces it, where records of the suite `fit` have it beside them.
    computer: Option<ComputerRow>,
}

impl FitCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// When the input cannot be used, no model can be fitted, or the output fails.
    pub fn run(self) -> Result<(), Failure> {
        let models = self.models()?;
        self.output.check::<FitRow>()?;
        let (description, records) = self.begin_files()?;
        let measured = match self.data.is_empty() {
            true => self.measure(&models, records)?,
            false => data::read(&self.data, &self.machine, self.most_caches())?,
        };
        let mut output: Output<FitRow> = self.output.open()?.of(&measured.provenance);
        if let Some(path) = self.machine_out.as_deref()
            && let Some(computer) = measured.computer.as_ref()
        {
            let file = description.map(|file| (path, file)).expect("begun above");
            let differs = server::describe(file, computer, &measured.records, &mut output, &self.output.view())?;
            output.finish()?;
            return confirmed(differs);
        }
        let (analyses, failures) = progress::during("fit", || analysed(&models, &measured));
        if let (true, Some(first)) = (analyses.is_empty(), failures.first()) {
            let tip = "; records of `bench --suite fit` make a machine's description: --machine-out FILE.toml";
            return Err(Failure::run(format!("{first}{}", if measured.computer.is_some() { tip } else { "" })));
        }
        for analysis in &analyses {
            let rows = analysis.rows(&measured.name);
            rows.iter().try_for_each(|row| output.write(row))?;
            if output.wants_table() {
                print(Self::table(analysis, &rows, &measured.name, &self.output.view()))?;
            }
        }
        failures.iter().for_each(|failure| eprintln!("not fitted: {failure}"));
        if let Some(directory) = &self.svg {
            draw_all(self.output.files(), &analyses, directory)?;
        }
        // One model alone does not tell all that a machine is. Beside what is described stands what its description holds.
        let unknown = measured.system.is_none() && self.model == ALL;
        let file = self.machine_out.as_deref().zip(description);
        let differs = match unknown || file.is_some() {
            true => description::confirm(file, &measured, &analyses, &mut output, &self.output.view())?,
            false => None,
        };
        output.finish()?;
        confirmed(differs)
    }

    fn most_caches(&self) -> Option<usize> {
        self.most_caches.map(usize::from)
    }

    fn models(&self) -> Result<Vec<Model>, Failure> {
        if self.model == ALL {
            let all = Model::ALL.into_iter();
            // A description needs no random windows.
            return Ok(all.filter(|model| self.machine_out.is_none() || *model != Model::Seidl).collect());
        }
        let model: Model = self.model.parse().map_err(Failure::input)?;
        if let Some(path) = &self.machine_out {
            let problem = format!("a description needs all models, not only {model}");
            return Err(Failure::flag("--machine-out", path.display(), problem, "--model all"));
        }
        Ok(vec![model])
    }

    /// The files of the description and of the records are begun before anything is measured, so that no measurement is lost for a
    /// misspelt folder.
    fn begin_files(&self) -> Result<(Option<Whole>, Option<Whole>), Failure> {
        if let Some(path) = &self.machine_out
            && path.extension().is_none_or(|extension| extension != "toml")
        {
            let problem = "the name of a machine file must end in .toml";
            return Err(Failure::flag("--machine-out", path.display(), problem, "FILE.toml"));
        }
        if let Some(directory) = &self.svg {
            make_drawings(directory)?;
        }
        let begin = |flag, path: &Option<PathBuf>, kind| {
            path.as_deref().map(|path| self.output.files().whole(flag, path, kind)).transpose()
        };
        let description = begin("--machine-out", &self.machine_out, Kind::Machine)?;
        Ok((description, begin("--data-out", &self.data_out, Kind::JsonLines(Record::KIND))?))
    }

    /// Measures what the models need, and writes it into `file`, if there is one.
    fn measure(&self, models: &[Model], file: Option<Whole>) -> Result<Measured, Failure> {
        let largest = self.largest.map(|size| size.0);
        let measured = match self.machine.machine()? {
            Machine::Host if self.machine_out.is_some() => server::measure_host()?,
            Machine::Host => probe::host(models, largest, self.most_caches())?,
            Machine::Simulated(resolved) if self.machine_out.is_some() && resolved.description.server.is_some() => {
                server::measure_simulated(&resolved.description)?
            }
            Machine::Simulated(resolved) => {
                let mut surroundings = Surroundings::simulated(&resolved.description);
                surroundings.largest_area = largest.unwrap_or(surroundings.largest_area);
                probe::simulated(models, &resolved.description, &surroundings, self.most_caches())?
            }
        };
        if let Some(mut file) = file {
            let mut writer = RecordWriter::new(Format::JsonLines, &mut file, measured.provenance.clone());
            measured.computer.iter().try_for_each(|computer| writer.describe(computer))?;
            measured.records.iter().try_for_each(|record| writer.write(record))?;
            drop(writer);
            file.complete()?;
        }
        Ok(measured)
    }

    /// The table of a model, with its notes.
    fn table(analysis: &Analysis, rows: &[FitRow], machine: &str, view: &View) -> String {
        let mut table = report::fits(&format!("{machine}: {}", title(analysis.model)), rows);
        analysis.notes.iter().for_each(|note| table.note(note));
        format!("{}\n", table.shown(view))
    }
}

/// An error if the simulation of the described machine differs, in these words.
fn confirmed(differs: Option<String>) -> Result<(), Failure> {
    let told =
        |words| format!("NOT CONFIRMED: the simulation of the fitted machine differs from the measurements: {words}");
    differs.map_or(Ok(()), |words| Err(Failure::run(told(words))))
}

fn title(model: Model) -> &'static str {
    match model {
        Model::Seidl => "memory hierarchy from random windows (Seidl 1997)",
        Model::Remote => "latency by distance (Prestor 2001 section 4.3.2)",
        Model::Caches => "caches and TLB (Prestor 2001 section 2.1)",
    }
}

/// Analyses of the models that can be fitted, and why the others cannot.
fn analysed(models: &[Model], measured: &Measured) -> (Vec<Analysis>, Vec<String>) {
    let (mut analyses, mut failures) = (Vec::new(), Vec::new());
    for &model in models {
        match analyse(model, &measured.records, measured.system.as_deref(), measured.most_caches) {
            Ok(mut analysis) => {
                beside_announced(&mut analysis, &measured.announced);
                analyses.push(analysis);
            }
            Err(error) => failures.push(error.to_string()),
        }
    }
    (analyses, failures)
}

fn draw_all(files: Files, analyses: &[Analysis], directory: &Path) -> Result<(), Failure> {
    let of_model = |analysis: &Analysis| {
        let named = |(name, plot): &(String, _)| (format!("{}-{name}", analysis.model), Clone::clone(plot));
        analysis.plots.iter().map(named).collect::<Vec<_>>()
    };
    draw(files, directory, drawn(analyses.iter().flat_map(of_model).collect()))
}

/// The machine of `description` as analyses need it.
fn system_of(description: machine::Description) -> Result<std::rc::Rc<System>, Failure> {
    let scope = bench::SuiteScope::whole(bench::Settings::simulated());
    Systems::new(scope).add(description).map_err(Failure::input)
}

/// The identity of a simulated machine.
fn identity_of(description: &machine::Description) -> Identity {
    let topology = &description.topology;
    Identity {
        title: format!("as measured: {}", description.title),
        nodes: topology.nodes(),
        processors: topology.processors,
        node_memory: topology.node_memory,
        line: description.coherent_cache().line,
    }
}
