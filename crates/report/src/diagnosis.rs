//! The findings of a diagnosis: a table, and below it what each follows from and what to change.

use record::FindingRow;

use crate::{Column, Table};

/// A line per finding, what gains most first, with evidence and remedy in notes below; then, in the words of the diagnosis, that there is
/// none (`nothing`), and what could not be examined (`limits`).
pub fn findings(rows: &[FindingRow], nothing: &str, limits: Option<&str>) -> Table {
    let columns = vec![
        Column::number("", ""),
        Column::text("finding"),
        Column::text("data"),
        Column::text("place"),
        Column::number("cost", "% of time"),
        Column::number("at most", "% of time"),
        Column::number("gain", "% of time"),
        Column::text("tried"),
    ];
    let mut table = Table::new("findings", columns);
    for row in rows {
        table.row([
            row.rank.to_string(),
            row.class.clone(),
            row.object.clone().unwrap_or_default(),
            row.place.clone().unwrap_or_default(),
            format!("{:.1}", row.cost_pct),
            row.bound_pct.map_or_else(String::new, |bound| format!("{bound:.1}")),
            row.gain_pct.map_or_else(String::new, |gain| format!("{gain:.1}")),
            row.trial.clone().filter(|_| row.gain_pct.is_some()).unwrap_or_default(),
        ]);
        table.note(format!("{}. {}: {}.", row.rank, row.class, row.evidence));
        table.note(format!("   {}.", row.remedy));
    }
    if rows.is_empty() {
        table.note(nothing);
    }
    if let Some(limits) = limits {
        table.note(limits);
    }
    table.note(
        "cost: of all processors' time, as estimated; at most: a bound, what no remedy gains more than while all other work takes what \
         it does; gain: measured, by how much the run became shorter when the remedy was tried",
    );
    table
}
