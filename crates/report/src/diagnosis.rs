//! The findings of a diagnosis: a table, and below it what each follows from and what to change.

use record::FindingRow;

use crate::{Cell, Column, Table, Tone};

/// A line per finding, the largest gain first, with evidence, remedy and trial in notes below; then, in the words of the diagnosis, that
/// there is none (`nothing`), and what could not be examined (`limits`).
pub fn findings(rows: &[FindingRow], nothing: &str, limits: Option<&str>) -> Table {
    let columns = vec![
        Column::number("#", ""),
        Column::text("finding"),
        Column::prose("data"),
        Column::prose("place").detail(1),
        Column::number("cost", "% of time"),
        Column::number("at most", "% of time"),
        Column::number("gain", "% of time"),
    ];
    let mut table = Table::new("findings", columns).named_by(2);
    for row in rows {
        let percent = |value: Option<f64>| value.map_or_else(Cell::default, |value| format!("{value:.1}").into());
        table.row([
            row.rank.to_string().into(),
            row.class.clone().into(),
            row.object.clone().unwrap_or_default().into(),
            row.place.clone().unwrap_or_default().into(),
            Cell::new(format!("{:.1}", row.cost_pct), tone(row.cost_pct)),
            percent(row.bound_pct),
            percent(row.gain_pct),
        ]);
        table.note(format!("{}. {}: {}.", row.rank, row.class, row.evidence));
        table.note(format!("   remedy: {}.", row.remedy));
        if let (Some(gain), Some(trial)) = (row.gain_pct, &row.trial) {
            table.note(format!("   tried: {trial}; the run was {gain:.1} % shorter."));
        }
    }
    if rows.is_empty() {
        table.note(nothing);
    }
    if let Some(limits) = limits {
        table.note(limits);
    }
    if !rows.is_empty() {
        table.note(
            "cost: estimated share of all processors' time; at most: upper bound on the gain, all else unchanged; gain: measured with \
             the remedy applied, which can end other losses, too",
        );
    }
    table
}

/// The tone of a cost in percent of the time.
fn tone(cost_pct: f64) -> Tone {
    match cost_pct {
        cost if cost >= 20.0 => Tone::Bad,
        cost if cost >= 5.0 => Tone::Doubtful,
        _ => Tone::Plain,
    }
}
