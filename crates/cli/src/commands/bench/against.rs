//! `ccnuma bench -m MACHINE --against FILE`: the records of a file beside their simulation.

use std::path::Path;

use experiments::ExperimentError;
use experiments::fitting::{Against, Mapping, Repetition, Skipped};
use machine::Description;
use record::{FitRow, Record, Unit};
use report::Table;

use super::BenchCommand;
use crate::commands::{compared, fit};
use crate::failure::Failure;
use crate::output::{Output, print};
use crate::progress;

impl BenchCommand {
    /// Repeats the records of `file` on the machine of `description`.
    ///
    /// # Errors
    /// When the file has no records, they are of a machine of other sizes, or the simulation or the output fails.
    pub(super) fn run_against(&self, file: &Path, description: &Description) -> Result<(), Failure> {
        let contents = fit::records_of("--against", file)?;
        let records: Vec<Record> = contents.rows.iter().map(|(record, _)| record.clone()).collect();
        let Some(first) = records.first() else {
            let accepted = "a file that `ccnuma bench --json=FILE` wrote";
            return Err(Failure::flag("--against", file.display(), "contains no records", accepted));
        };
        let computer = contents.computers.iter().find(|computer| computer.machine == first.machine);
        fit::are_of_one_machine(&contents.rows, computer, ("--against", file))?;
        let mapping = computer.map(Mapping::of).transpose().map_err(Failure::run)?;
        let of_record = |error| of_record(error, file, &contents.lines);
        let repetition = Repetition::new(description, &records, mapping.as_ref()).map_err(of_record)?;
        if repetition.count() == 0 {
            let skipped = repetition.skipped().iter();
            let reasons: Vec<String> = skipped.map(|skipped| of_skipped(skipped, &contents.lines)).collect();
            let problem = format!("no record can be repeated: {}", reasons.join("; "));
            return Err(Failure::flag("--against", file.display(), problem, "records of `ccnuma bench`"));
        }
        let mut output: Output<FitRow> = self.output.open()?;
        let bar = progress::bar(repetition.count(), "records");
        let found = repetition.run(|done| bar.at(done)).map_err(of_record)?;
        drop(bar);
        found.rows.iter().try_for_each(|row| output.write(&row.row(&first.machine)))?;
        output.complete()?;
        if output.wants_table() {
            print(table(&first.machine, &description.name, &found, &contents.lines).shown(&self.output.view()))?;
        }
        output.finish()
    }
}

/// The failure for a record that cannot be repeated, or was not, by its line.
fn of_record(error: ExperimentError, file: &Path, lines: &[usize]) -> Failure {
    let line = |place: usize| lines.get(place).map_or_else(String::new, |line| format!(":{line}"));
    match error {
        ExperimentError::RecordMemory { place, title, machine, node, wanted, free } => {
            let value = format!("{}{}", file.display(), line(place));
            let problem = format!("{title} needs {wanted} on node {node} of {machine}");
            Failure::flag("--against", value, problem, format!("up to {free}"))
        }
        ExperimentError::Repetition { place, source } => {
            Failure::run(format!("--against {}{}: {source}", file.display(), line(place)))
        }
        other => Failure::input(format!("--against {}: {other}", file.display())),
    }
}

/// Records that are not repeated: how many, why, and the line of the first.
fn of_skipped(skipped: &Skipped, lines: &[usize]) -> String {
    let Skipped { reason, number, first } = skipped;
    let place = if *number == 1 { "line" } else { "first on line" };
    lines
        .get(*first)
        .map_or_else(|| format!("{number}, {reason}"), |line| format!("{number}, {reason} ({place} {line})"))
}

fn table(measured: &str, simulated: &str, found: &Against, lines: &[usize]) -> Table {
    let title = format!("{measured} measured, {simulated} simulated with the same experiments");
    let mut table = compared::table(title, "record", &found.rows, false);
    for (what, unit) in [("latencies", Unit::Nanoseconds), ("bandwidths", Unit::MegabytesPerSecond)] {
        if let Some(errors) = found.errors(unit) {
            table.note(format!(
                "{} {what}: median error {:.1} %, 90th percentile {:.1} %, at most {:.1} %",
                errors.count, errors.median_pct, errors.ninetieth_pct, errors.largest_pct
            ));
        }
    }
    found.neighbours.iter().for_each(|remark| table.note(remark.clone()));
    found.skipped.iter().for_each(|skipped| table.note(format!("not repeated: {}", of_skipped(skipped, lines))));
    table
}
