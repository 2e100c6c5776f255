//! `ccnuma reproduce`: published results, ours beside theirs.

use std::path::PathBuf;

use clap::Args;
use experiments::{Detail, Finished, Outcomes, Reproduction};
use record::{PublicationRow, ReproductionRow, SimulationRow};
use report::View;

use super::bench::ThoroughnessFlags;
use super::sim::journal::Journal;
use crate::failure::Failure;
use crate::interruption;
use crate::output::{Output, OutputFlags, beside, draw, drawn, is_device, make_drawings, print};
use crate::progress;

/// Reproduce published results: simulated and published figures with the error.
#[derive(Args, Debug)]
#[command(
    after_help = "Papers: prestor (L. Prestor's thesis of 2001 on the Origin 2000), seidl (S. Seidl's study of 1997 on the same),
flash (the FLASH dissertation; flash/sharing is an additional study: its protocols on synthetic sharing patterns),
hexsel (R. Hexsel and N. Topham on SCI rings), lai (A.-C. Lai and B. Falsafi on clusters of SMPs), servers (published
measurements of servers of today: mlc and rome).
Figures to which a machine was calibrated are marked *; all others are predictions. Tables whose published figures are not in
this repository show simulated figures only.

Examples:
  ccnuma reproduce                          list tables, figures and studies
  ccnuma reproduce prestor/4.6              one table
  ccnuma reproduce prestor/figure-4.6 --svg plots
                                            one figure, drawn into plots/
  ccnuma reproduce prestor --json=prestor.jsonl
  ccnuma reproduce flash --quick            the FLASH dissertation in minutes, with smaller data sets
  ccnuma reproduce flash --json=flash.jsonl --resume
                                            continues an earlier run with that file
  ccnuma reproduce --all --json=all.jsonl   everything: hours, unless --quick"
)]
pub struct ReproduceCommand {
    /// A paper, or one of its tables or figures: prestor, prestor/4.6, prestor/figure-4.6, flash/A.1 [default: list all].
    #[arg(value_name = "PAPER[/TABLE]")]
    selection: Option<String>,
    /// List tables, figures and studies, of one paper or of all, without running them.
    #[arg(long)]
    list: bool,
    /// Reproduce all papers.
    #[arg(long, conflicts_with_all = ["selection", "list"])]
    all: bool,
    /// Write the plots of the tables and figures into DIRECTORY.
    #[arg(long, value_name = "DIRECTORY")]
    svg: Option<PathBuf>,
    /// Smaller data sets and fewer processor counts: minutes instead of hours. Figures for other processor counts are omitted.
    #[arg(long)]
    quick: bool,
    /// With --json=FILE: continue an earlier run with that file. Finished program runs are kept in FILE.runs.part until all are
    /// done.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    thoroughness: ThoroughnessFlags,
    #[command(flatten)]
    output: OutputFlags,
}

impl ReproduceCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// When there is no such table, a measurement fails or the output does.
    pub fn run(self) -> Result<(), Failure> {
        let selection = self.selection.as_deref().unwrap_or_default();
        // An empty word, as of a variable that is not set, asks for no more than none does.
        if self.list || !self.all && selection.is_empty() {
            return self.list(selection);
        }
        interruption::go_on_by(Journal::how_to_go_on(self.output.json_file()));
        let scope = self.thoroughness.scope(bench::Settings::simulated())?;
        let scope = bench::SuiteScope { quick: self.quick, ..scope };
        let reproduction = Reproduction::prepare(selection, scope).map_err(Failure::input)?;
        if let Some(directory) = &self.svg {
            make_drawings(directory)?;
        }
        self.output.check::<ReproductionRow>()?;
        let journal = self.journal()?;
        let mut output: Output<ReproductionRow> = self.output.open()?;
        output.tell_early(tables_so_far(&reproduction, self.output.view()));
        for machine in reproduction.machines() {
            output.describe(&experiments::bare_description_row(&machine))?;
        }
        let bar = progress::bar(reproduction.measurements().len(), "measurements");
        let finished = |done| bar.at(done);
        let options = self.thoroughness.simulation();
        let (outcomes, failures) = reproduction.run(options, &journal, finished, |row| output.write(&row))?;
        drop(bar);
        if failures.is_empty() {
            journal.close()?;
        }
        output.complete()?;
        if output.wants_table() {
            print_tables(&reproduction, &outcomes, &self.output.view())?;
        }
        if let Some(directory) = &self.svg {
            draw(self.output.files(), directory, drawn(reproduction.plots(&outcomes)))?;
        }
        output.finish()?;
        match failures.first() {
            None => Ok(()),
            Some(first) => {
                let (count, machine) = (failures.len(), &first.measurement.machine);
                Err(Failure::run(format!("{count} measurements failed, first on {machine}: {}", first.error)))
            }
        }
    }
}

impl ReproduceCommand {
    /// Lists what a selection names.
    fn list(&self, selection: &str) -> Result<(), Failure> {
        let rows = experiments::catalogue::publications(selection).map_err(Failure::input)?;
        let mut output: Output<PublicationRow> = self.output.open()?;
        rows.iter().try_for_each(|row| output.write(row))?;
        output.complete()?;
        if output.wants_table() {
            print(report::publications(&rows).shown(&self.output.view()))?;
        }
        output.finish()
    }

    /// Where runs of programs are kept until all are over: beside the file of --json, if there is one.
    fn journal(&self) -> Result<Journal, Failure> {
        let file = self.output.json_file().filter(|file| !is_device(file));
        let runs = file.map(|file| beside(file, "runs"));
        Journal::open(runs.as_deref(), self.resume, self.output.files(), Detail { parts: true, causes: false })
    }
}

impl Finished for Journal {
    fn known(&self, identity: &str) -> Option<SimulationRow> {
        Journal::known(self, identity).cloned()
    }

    fn note(&self, row: &SimulationRow) -> Result<(), String> {
        Journal::note(self, row);
        Ok(())
    }
}

/// The tables of rows that an interrupted run has: as far as they go, those of figures beside each other.
fn tables_so_far(reproduction: &Reproduction, view: View) -> impl Fn(&[ReproductionRow]) -> String + Send + use<> {
    let about = |table: &experiments::PreparedTable| {
        let published = table.published();
        let columns: Vec<String> = published.columns.iter().map(|column| column.name.clone()).collect();
        (published.paper.clone(), published.id.clone(), table.heading(), published.row_heading.clone(), columns)
    };
    let tables: Vec<_> = reproduction.tables().iter().map(about).collect();
    move |rows| {
        let mut text = String::new();
        for (paper, id, heading, row_heading, columns) in &tables {
            let of_it = rows.iter().filter(|row| row.paper == *paper && row.table == *id);
            let rows: Vec<ReproductionRow> = of_it.cloned().collect();
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            if !rows.is_empty() {
                text += &format!("{}\n", report::comparison(heading, row_heading, &columns, &rows).shown(&view));
            }
        }
        text
    }
}

/// Prints every table that has a figure of ours, and how far all of them are from the published ones.
///
/// # Errors
/// When standard output fails.
pub fn print_tables(reproduction: &Reproduction, outcomes: &Outcomes, view: &View) -> Result<(), Failure> {
    let mut summaries = Vec::new();
    for table in reproduction.tables() {
        let published = table.published();
        let rows = table.rows(outcomes);
        let name = table.heading();
        let columns: Vec<&str> = published.columns.iter().map(|column| column.name.as_str()).collect();
        print(format!("{}\n", report::comparison(&name, &published.row_heading, &columns, &rows).shown(view)))?;
        if rows.iter().any(|row| row.theirs.is_some()) {
            summaries.extend(table.summaries(&rows));
        }
    }
    if !summaries.is_empty() {
        print(report::summaries("Errors against the published figures", &summaries).shown(view))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use experiments::measurement::{Measurement, ProgramRun, Scheduled, Subject};
    use experiments::{Outcome, run_once};
    use sim::{Options, Scheduling};
    use workloads::{Settings, Workload};

    use super::*;
    use crate::output::Files;

    /// So many small programs at once under a scheduler.
    fn scheduled(processes: u16) -> Measurement {
        let settings = Settings::default().with("points", 256);
        let workload = Workload::new("fft", &settings).expect("a program");
        let scheduling = Scheduling::default();
        let run = ProgramRun::new(workload, 4);
        Measurement {
            machine: "flash-4p".into(),
            subject: Subject::Scheduled(Scheduled { run, processes, scheduling }),
        }
    }

    fn row(measurement: &Measurement, journal: &Journal) -> SimulationRow {
        let description = machine::load(&measurement.machine).expect("a machine");
        let options = Options { seed: 5, ..Options::default() };
        match run_once(&description, measurement, options, journal).expect("it runs") {
            Outcome::Program(row) => *row,
            other => panic!("{other:?} is no program"),
        }
    }

    /// The record of the second of two runs that were over is torn: the first is taken, the second is run again.
    #[test]
    fn runs_under_a_scheduler_go_on_where_a_journal_was_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path().join("figures.jsonl.runs");
        let open = |resume| {
            Journal::open(Some(&runs), resume, Files::default(), Detail { parts: true, causes: false })
                .expect("a journal")
        };
        let journal = open(false);
        let [alone, both] = [1, 2].map(|processes| row(&scheduled(processes), &journal));
        assert!(both.time_ns > alone.time_ns && (alone.processes, both.processes) == (1, 2));
        drop(journal);
        let part = beside(&runs, "part");
        let text = std::fs::read_to_string(&part).expect("a journal");
        // The first says something that no run would, so it must be the one that is taken.
        let marked = text.replacen(&format!("\"refusals\":{},", alone.refusals), "\"refusals\":4711,", 1);
        std::fs::write(&part, &marked[..marked.len() - 40]).expect("torn");
        let journal = open(true);
        assert_eq!(row(&scheduled(1), &journal), SimulationRow { refusals: 4711, ..alone });
        assert_eq!(row(&scheduled(2), &journal), both);
        drop(journal);
        let whole = std::fs::read_to_string(&part).expect("a journal");
        assert_eq!(whole.lines().count(), 2, "{whole}");
    }
}
