//! A description of the measured machine, written and tried out.

use std::io::Write;
use std::path::Path;

use experiments::fitting::{Analysis, Comparison, compare, findings};
use report::{Column, Table};

use super::Measured;
use crate::failure::Failure;
use crate::output::{Whole, print};
use crate::progress;

/// Writes the description to `path`, into `file`, simulates the machine that it describes, and prints both machines' latencies side by
/// side unless standard output is for records.
///
/// # Errors
/// When the measurements do not suffice, or the file cannot be written.
pub(super) fn write(
    path: &Path,
    mut file: Whole,
    measured: &Measured,
    analyses: &[Analysis],
    wants_table: bool,
) -> Result<(), Failure> {
    let found = findings(&measured.identity, analyses, &measured.records).map_err(Failure::run)?;
    let name = path.display().to_string();
    let text = fit::write_description(&name, &found).map_err(Failure::run)?;
    file.write_all(text.as_bytes())?;
    file.complete()?;
    let description = machine::parse(&name, &text).map_err(Failure::run)?.description;
    let compared = || compare(&description, &found, &measured.records);
    let rows = progress::during("simulation of the described machine", compared).map_err(Failure::run)?;
    match wants_table {
        true => print(table(&measured.name, &description.name, &rows)),
        false => Ok(()),
    }
}

fn table(measured: &str, simulated: &str, rows: &[Comparison]) -> Table {
    let mut table = Table::new(
        format!("{measured} beside {simulated}, the machine that was described"),
        vec![
            Column::text(""),
            Column::number("measured", "ns"),
            Column::number("simulated", "ns"),
            Column::number("simulated less measured", "%"),
        ],
    );
    for Comparison { name, measured_ns, simulated_ns } in rows {
        let error = (simulated_ns - measured_ns) / measured_ns * 100.0;
        table.row([name.clone(), format!("{measured_ns:.2}"), format!("{simulated_ns:.2}"), format!("{error:+.1}")]);
    }
    table.note("the comments of the description say what was measured, calibrated and assumed");
    table
}
