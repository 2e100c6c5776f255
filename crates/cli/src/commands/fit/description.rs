//! A description of the measured machine, written, and confirmed by simulating it.

use std::io::Write;
use std::path::Path;

use experiments::fitting::{Analysis, Comparison, compare, disagreement, findings, unloaded};
use record::FitRow;
use report::{Table, View};

use super::Measured;
use crate::commands::compared;
use crate::failure::Failure;
use crate::output::{Output, Whole, print};
use crate::progress;

/// The name of the simulated machine where it is written to no file.
const UNWRITTEN: &str = "described.toml";

/// Describes the measured machine, into a file with its path if there is one, simulates the described machine on the same plans, and
/// prints both side by side. Without a file, a machine that cannot be described from what was measured is not simulated, which is said.
///
/// Returns the disagreement with the simulation, in words; a description that is wanted is written nevertheless, and says so.
///
/// # Errors
/// When a description is wanted and the measurements do not suffice, or a file cannot be written.
pub(super) fn confirm(
    file: Option<(&Path, Whole)>,
    measured: &Measured,
    analyses: &[Analysis],
    output: &mut Output<FitRow>,
    view: &View,
) -> Result<Option<String>, Failure> {
    let found = match findings(&measured.identity, analyses, &measured.records) {
        Ok(found) => found,
        Err(error) if file.is_some() => return Err(Failure::run(error)),
        Err(error) => {
            eprintln!("simulation could not confirm the fit: {error}");
            return Ok(None);
        }
    };
    let name = file.as_ref().map_or_else(|| UNWRITTEN.to_owned(), |(path, _)| path.display().to_string());
    let text = fit::write_description(&name, &found, &unloaded).map_err(Failure::run)?;
    let description = machine::parse(&name, &text).map_err(Failure::run)?.description;
    let compared = || compare(&description, &found, &measured.records, measured.most_caches);
    let rows = progress::during("simulation of the described machine", compared).map_err(Failure::run)?;
    let disagreement = disagreement(&rows);
    if let Some((_, mut file)) = file {
        let warning = disagreement.iter().map(|words| format!("# NOT CONFIRMED by simulation: {words}\n"));
        file.write_all((warning.collect::<String>() + &text).as_bytes())?;
        file.complete()?;
    }
    rows.iter().try_for_each(|row| output.write(&row.row(&measured.name)))?;
    if output.wants_table() {
        print(table(&measured.name, &description.name, &rows).shown(view))?;
    }
    Ok(disagreement)
}

pub(super) fn table(measured: &str, simulated: &str, rows: &[Comparison]) -> Table {
    let title = format!("confirmation: {measured} measured, {simulated} simulated with the same experiments");
    let mut table = compared::table(title, "parameter", rows, true);
    if rows.iter().any(|row| row.simulated.is_none()) {
        table.note("-: measured only; a description has a first and a last cache level");
    }
    table.note("comments in the description state which values were measured, calibrated or assumed");
    table
}
