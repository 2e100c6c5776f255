//! The table of measured figures beside simulated ones, a line each.

use experiments::fitting::Comparison;
use record::Unit;
use report::{Cell, Column, Table, Tone};

/// Comparisons as a table, whose first column is headed `what`. A confirmation has a column that says which are not confirmed.
pub fn table(title: String, what: &str, rows: &[Comparison], is_confirmation: bool) -> Table {
    let mut columns = vec![
        Column::text(what),
        Column::number("measured", ""),
        Column::number("simulated", ""),
        Column::text("unit"),
        Column::number("error", "%"),
    ];
    columns.extend(is_confirmation.then(|| Column::text("result")));
    let mut table = Table::new(title, columns);
    for row in rows {
        let dash = || "-".to_owned();
        let toned = |text: String| if row.agrees { text.into() } else { Cell::new(text, Tone::Bad) };
        let result = if row.agrees { "" } else { "NOT CONFIRMED" };
        let cells = [
            Cell::from(row.name.clone()),
            figure(row.measured, row.unit).into(),
            row.simulated.map_or_else(dash, |simulated| figure(simulated, row.unit)).into(),
            row.unit.to_string().into(),
            toned(row.error_pct().map_or_else(dash, |error| format!("{error:+.1}"))),
        ];
        table.row(cells.into_iter().chain(is_confirmation.then(|| toned(result.to_owned()))));
    }
    table
}

/// A figure with the digits that its unit deserves beside another.
fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes | Unit::Count | Unit::MegabytesPerSecond => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}
