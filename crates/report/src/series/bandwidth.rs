//! Bandwidths: what is done to memory down, how many processors do it across.

use record::Record;

use super::{conditions, distinct, uncertainty_pct};
use crate::quantity::Scale;
use crate::{Column, Table};

/// The table, unless there are no bandwidths.
pub(super) fn table(records: &[&Record]) -> Option<Table> {
    records.first()?;
    let crews = distinct(records, |record| record.locals.len());
    let scale = Scale::of_bandwidths(records.iter().map(|record| record.median));
    let mut columns = vec![Column::text("experiment"), Column::prose("operation")];
    for crew in &crews {
        let heading = if *crew == 1 { "1 CPU".to_owned() } else { format!("{crew} CPUs") };
        columns.extend([Column::number(heading, scale.unit), Column::number("interval", "±%").detail(1)]);
    }
    let mut table = Table::new("Memory bandwidth", columns);
    for experiment in distinct(records, |record| record.experiment.clone()) {
        let mut cells = vec![experiment.clone(), what(&experiment).to_owned()];
        for &crew in &crews {
            let found = records.iter().find(|r| r.experiment == experiment && r.locals.len() == crew);
            match found {
                Some(record) => {
                    cells.extend([scale.number(record.median), uncertainty_pct(record)]);
                }
                None => cells.extend(["-".to_owned(), String::new()]),
            }
        }
        table.row(cells);
    }
    table.note(conditions(records));
    table.note("stream-*: bytes read and written by the loop, as STREAM counts them; others: whole cache lines");
    Some(table)
}

fn what(experiment: &str) -> &'static str {
    match experiment {
        "bw-read" => "load one word per line",
        "bw-rdsh" => "load with prefetch",
        "bw-read-nt" => "load with non-temporal prefetch",
        "bw-write-nt" => "non-temporal stores of whole lines",
        "stream-copy" => "c = a",
        "stream-scale" => "b = s c",
        "stream-add" => "c = a + b",
        "stream-triad" => "a = b + s c",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use units::CpuId;

    use super::super::tests::sample;
    use super::*;

    #[test]
    fn crews_stand_across() {
        let one = sample("bandwidth", "stream-copy", "UOWN", 8000.0);
        let mut two = sample("bandwidth", "stream-copy", "UOWN", 15000.0);
        two.locals = vec![CpuId(0), CpuId(1)];
        let text = table(&[&one, &two]).expect("bandwidths").to_string();
        assert!(text.contains("1 CPU") && text.contains("2 CPUs"), "{text}");
        let words: Vec<&str> = text.lines().nth(3).unwrap_or_default().split_whitespace().collect();
        assert_eq!(words, ["stream-copy", "c", "=", "a", "8.00", "0.0", "15.00", "0.0"], "{text}");
    }
}
