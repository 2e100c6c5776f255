//! Latency by area: a line an area, the kinds of pages side by side.

use record::Record;
use units::Bytes;

use super::{conditions, cycles, distinct, parameter, uncertainty_pct};
use crate::{Column, Table};

/// The table, unless there are no areas.
pub(super) fn table(records: &[&Record]) -> Option<Table> {
    let areas = distinct(records, |record| parameter(record, "array"));
    let kinds = distinct(records, |record| record.conditions.pages_asked.clone());
    let first = records.first()?;
    let mut columns = vec![Column::number("area", "")];
    for kind in &kinds {
        let kind = kind.as_deref().unwrap_or("?");
        columns.push(Column::number(format!("{kind} pages"), "ns"));
        columns.push(Column::number("interval", "±%"));
        columns.push(Column::number("", "cycles"));
    }
    let mut table =
        Table::new(format!("Latency of loads all over an area, CPU {}", first.local.as_slice()[0]), columns);
    for area in areas.into_iter().flatten() {
        let mut cells = vec![Bytes(area).to_string()];
        for kind in &kinds {
            let cell =
                records.iter().find(|r| parameter(r, "array") == Some(area) && r.conditions.pages_asked == *kind);
            match cell {
                Some(record) => cells.extend([
                    format!("{:.2}", record.median),
                    format!("{:.1}", uncertainty_pct(record)),
                    cycles(record).map_or_else(String::new, |cycles| format!("{cycles:.1}")),
                ]),
                None => cells.extend(["-".to_owned(), String::new(), String::new()]),
            }
        }
        table.row(cells);
    }
    table.note(conditions(records));
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn kinds_of_pages_stand_beside_each_other() {
        let small = sample("hierarchy", "area-read(array=16384,stride=256)", "UOWN", 2.0);
        let large = sample("hierarchy", "area-read(array=1048576,stride=256)", "UOWN", 40.0);
        let mut huge = small.clone();
        huge.conditions.pages_asked = Some("thp".into());
        let text = table(&[&small, &large, &huge]).expect("areas").to_string();
        let words = |line: usize| text.lines().nth(line).unwrap_or_default().split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(3), ["16", "KiB", "2.00", "25.0", "4.0", "2.00", "25.0", "4.0"], "{text}");
        assert_eq!(words(4), ["1", "MiB", "40.00", "1.2", "80.0", "-"], "{text}");
        assert!(table(&[]).is_none());
    }
}
