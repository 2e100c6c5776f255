//! Latency by area: a line an area, the kinds of pages side by side.

use record::Record;

use super::{conditions, core_clock, cycles, distinct, uncertainty_pct};
use crate::{Axis, Column, Mark, Plot, Series, Table};

/// The table, unless there are no areas.
pub(super) fn table(records: &[&Record], levels: &[String]) -> Option<Table> {
    let areas = distinct(records, |record| record.parameters.array);
    let kinds = distinct(records, |record| record.conditions.pages_asked.clone());
    let first = records.first()?;
    let mut columns = vec![Column::number("size", "")];
    for kind in &kinds {
        let kind = kind.as_deref().unwrap_or("?");
        columns.push(Column::number(format!("{kind} pages"), "ns"));
        columns.push(Column::number("interval", "±%").detail(1));
        columns.push(Column::number("", "cycles"));
    }
    let mut table = Table::new(format!("Load latency by working-set size, CPU {}", first.local), columns);
    for area in areas.into_iter().flatten() {
        let mut cells = vec![area.to_string()];
        for kind in &kinds {
            let cell = records.iter().find(|r| r.parameters.array == Some(area) && r.conditions.pages_asked == *kind);
            match cell {
                Some(record) => cells.extend([
                    format!("{:.2}", record.median),
                    uncertainty_pct(record),
                    cycles(record).map_or_else(String::new, |cycles| format!("{cycles:.1}")),
                ]),
                None => cells.extend(["-".to_owned(), String::new(), String::new()]),
            }
        }
        table.row(cells);
    }
    table.note(conditions(records));
    if let Some(clock) = core_clock(records) {
        table.note(clock);
    }
    for level in levels {
        table.note(level);
    }
    Some(table)
}

/// Latency by area as a plot, a curve for each kind of pages, unless there are no areas.
pub fn area_curves(records: &[Record]) -> Option<Plot> {
    let areas: Vec<&Record> =
        records.iter().filter(|record| record.conditions.series.as_deref() == Some("hierarchy")).collect();
    let kinds = distinct(&areas, |record| record.conditions.pages_asked.clone());
    let curve = |(colour, kind): (usize, &Option<String>)| {
        let of_kind = areas.iter().filter(|record| record.conditions.pages_asked == *kind);
        let points = of_kind.filter_map(|record| Some((record.parameters.array?.0 as f64, record.median)));
        let name = format!("{} pages", kind.as_deref().unwrap_or("unknown"));
        Series { name, points: points.collect(), mark: Mark::Line, colour }
    };
    let series: Vec<Series> = kinds.iter().enumerate().map(curve).collect();
    (!series.is_empty()).then(|| Plot {
        title: "Load latency by working-set size".to_owned(),
        x: Axis::sizes("working-set size"),
        // From a cache to memory are two decades: evenly spaced, the caches would lie on the axis.
        y: Axis::log2("load latency (ns)"),
        series,
    })
}

#[cfg(test)]
mod tests {
    use record::Parameters;
    use units::Bytes;

    use super::super::tests::sample;
    use super::*;

    #[test]
    fn kinds_of_pages_stand_beside_each_other() {
        let area = |kib, median| {
            let parameters = Parameters { array: Some(Bytes::from_kib(kib)), ..Parameters::default() };
            Record { parameters, ..sample("hierarchy", "area-read", "UOWN", median) }
        };
        let (small, large) = (area(16, 2.0), area(1024, 40.0));
        let mut huge = small.clone();
        huge.conditions.pages_asked = Some("thp".into());
        let text = table(&[&small, &large, &huge], &["a note".to_owned()]).expect("areas").to_string();
        let words = |line: usize| text.lines().nth(line).unwrap_or_default().split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(3), ["16", "KiB", "2.00", "25.0", "4.0", "2.00", "25.0", "4.0"], "{text}");
        assert_eq!(words(4), ["1", "MiB", "40.00", "1.2", "80.0", "-"], "{text}");
        assert!(text.ends_with("\na note\n"), "{text}");
        let plot = area_curves(&[small.clone(), large.clone(), huge.clone()]).expect("areas");
        assert_eq!(plot.series.iter().map(|series| series.points.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(plot.series[0].points[1], (1_048_576.0, 40.0));
        assert!(table(&[], &[]).is_none());
    }
}
