//! Tables of fitted parameters.

use record::{FitRow, Unit};

use crate::{Column, Table};

/// A line per parameter: what was found, with its error, and what the machine's description holds. A parameter that the data
/// do not determine has no number but the reason.
pub fn fits(title: &str, rows: &[FitRow]) -> Table {
    let any_held = rows.iter().any(|row| row.held.is_some());
    let mut columns = vec![
        Column::text("parameter"),
        Column::text("symbol").detail(2),
        Column::number("fitted", ""),
        Column::number("+-", ""),
        Column::text("unit"),
    ];
    if any_held {
        columns.extend([Column::number("described", ""), Column::number("difference", "%")]);
    }
    columns.push(Column::prose("remark"));
    let mut table = Table::new(title, columns);
    for row in rows {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| digits(value, row.unit));
        let mut cells = vec![
            row.parameter.clone(),
            row.symbol.clone(),
            number(row.value),
            number(row.error.filter(|error| *error > 0.0)),
            row.unit.to_string(),
        ];
        if any_held {
            let deviation = row.deviation_pct.map_or_else(|| "-".to_owned(), |pct| format!("{pct:+.1}"));
            cells.extend([number(row.held), deviation]);
        }
        cells.push(if row.value.is_none() { format!("not determined: {}", row.note) } else { String::new() });
        table.row(cells);
    }
    table
}

/// As many digits as the figure deserves: times by size, counts and bytes whole.
fn digits(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds if value.abs() < 100.0 => format!("{value:.2}"),
        Unit::Nanoseconds | Unit::MegabytesPerSecond | Unit::Cycles | Unit::Megaflops => format!("{value:.1}"),
        Unit::Ratio | Unit::Percent => format!("{value:.2}"),
        Unit::Count | Unit::Bytes => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(value: Option<f64>, held: Option<f64>) -> FitRow {
        FitRow {
            machine: "dresden".into(),
            model: "remote".into(),
            parameter: "router delay".into(),
            symbol: "delay".into(),
            unit: Unit::Nanoseconds,
            value,
            error: value.map(|_| 2.04),
            held,
            deviation_pct: Some(-1.55),
            note: if value.is_none() { "one distance".into() } else { String::new() },
        }
    }

    #[test]
    fn found_stands_beside_held() {
        let text = fits("Fit", &[row(Some(108.17), Some(108.5))]).to_string();
        let last: Vec<_> = text.lines().last().expect("a row").split_whitespace().collect();
        assert_eq!(last, ["router", "delay", "delay", "108.2", "2.04", "ns", "108.5", "-1.6"]);
    }

    #[test]
    fn what_is_not_determined_has_no_number_but_a_reason() {
        let text = fits("Fit", &[row(None, None)]).to_string();
        assert!(text.lines().last().expect("a row").ends_with("ns    not determined: one distance"), "{text}");
        assert!(!text.contains("held"));
    }
}
