//! Transactions by place: a line for each nearness of the owner and each home, a column for each state and request.

use record::Record;
use units::NodeId;

use super::{conditions, distinct};
use crate::{Column, Table};

/// Where something was measured: how near the remote processor is, who it is, where the lines are.
#[derive(Clone, PartialEq, Debug)]
struct Place {
    relation: Option<String>,
    remote: Option<u16>,
    home: NodeId,
}

fn place(record: &Record) -> Place {
    let remote = record.remotes.first().map(|cpu| cpu.0);
    Place { relation: record.conditions.relation.clone(), remote, home: record.home }
}

/// The table, unless nothing was measured by place.
pub(super) fn table(records: &[&Record]) -> Option<Table> {
    let first = records.first()?;
    let transactions = distinct(records, |record| (record.state.clone(), record.experiment.clone()));
    let mut columns = vec![Column::text("owner or sharer"), Column::number("CPU", ""), Column::number("home", "node")];
    columns.extend(transactions.iter().map(|(state, experiment)| Column::number(heading(state, experiment), "ns")));
    let title = format!("Coherence transactions of CPU {} by owner and home", first.local);
    let mut table = Table::new(title, columns).named_by(3);
    for row in distinct(records, place) {
        let mut cells = vec![
            row.relation.clone().unwrap_or_else(|| if row.remote.is_some() { "another" } else { "none" }.to_owned()),
            row.remote.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string()),
            row.home.to_string(),
        ];
        cells.extend(transactions.iter().map(|(state, experiment)| {
            let found = records.iter().find(|r| place(r) == row && r.state == *state && r.experiment == *experiment);
            found.map_or_else(|| "-".to_owned(), |record| format!("{:.1}", record.median))
        }));
        table.row(cells);
    }
    table.note(conditions(records));
    if let Some(note) = restart(records) {
        table.note(note);
    }
    Some(table)
}

/// `UOWN` above `READ`, the request by the name that the experiments' names end in.
fn heading(state: &str, experiment: &str) -> String {
    let request = match experiment.split_once('-') {
        Some(("lmbench", request)) => request.to_uppercase(),
        Some(("restart", request)) => format!("{} restart", request.to_uppercase()),
        _ => experiment.to_owned(),
    };
    format!("{state}\n{request}")
}

/// Whether the restart latency is told apart from the back-to-back latency of the same lines.
fn restart(records: &[&Record]) -> Option<String> {
    let of = |experiment: &str| records.iter().find(|r| r.experiment == experiment && r.state == "UOWN");
    let (back_to_back, restart) = (of("lmbench-read")?, of("restart-read")?);
    let interval = |record: &Record| match record.statistics().interval() {
        Some((low, high)) => format!("{:.1} ({low:.1} to {high:.1}) ns", record.median),
        None => format!("{:.1} ns", record.median),
    };
    let verdict = match back_to_back.statistics().differs_from(&restart.statistics()) {
        true => "differs from",
        false => "does not differ significantly from",
    };
    let (restart, back_to_back) = (interval(restart), interval(back_to_back));
    Some(format!("UOWN: restart latency {restart} {verdict} back-to-back latency {back_to_back}"))
}

/// The same transactions with more and more lines between one element and the next: where figures grow with the distance,
/// caches fetch more than a line at a time.
pub(super) fn spacing(records: &[&Record]) -> Option<Table> {
    let first = records.first()?;
    let strides = distinct(records, |record| record.conditions.stride);
    let mut columns = vec![Column::text("transaction")];
    columns.extend(strides.iter().map(|stride| {
        let stride = stride.map_or_else(|| "?".to_owned(), |stride| stride.to_string());
        Column::number(format!("spacing {stride}"), "ns")
    }));
    let title = format!("Latency by spacing of lines, CPU {}", first.local);
    let mut table = Table::new(title, columns);
    for (state, experiment) in distinct(records, |record| (record.state.clone(), record.experiment.clone())) {
        let mut cells = vec![format!("{state} {experiment}")];
        cells.extend(strides.iter().map(|stride| {
            let same = |r: &&&Record| r.state == state && r.experiment == experiment && r.conditions.stride == *stride;
            records.iter().find(same).map_or_else(|| "-".to_owned(), |record| format!("{:.1}", record.median))
        }));
        table.row(cells);
    }
    table.note(conditions(records));
    Some(table)
}

#[cfg(test)]
mod tests {
    use units::{Bytes, CpuId};

    use super::super::tests::sample;
    use super::*;

    #[test]
    fn owners_are_lines_and_transactions_columns() {
        let mut owned = sample("places", "lmbench-read", "DEXD", 120.0);
        (owned.remotes, owned.conditions.relation) = (vec![CpuId(4)], Some("same socket".into()));
        let unowned = sample("places", "lmbench-read", "UOWN", 90.0);
        let restart = sample("places", "restart-read", "UOWN", 89.5);
        let text = table(&[&unowned, &restart, &owned]).expect("places").to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["none", "-", "0", "90.0", "89.5", "-"]), "{text}");
        assert!(lines.contains(&vec!["same", "socket", "4", "0", "-", "-", "120.0"]), "{text}");
        assert!(text.contains("restart latency 89.5 (89.0 to 90.0) ns does not differ significantly from"), "{text}");
    }

    #[test]
    fn distances_between_lines_are_columns() {
        let near = sample("spacing", "lmbench-read", "UOWN", 60.0);
        let mut far = sample("spacing", "lmbench-read", "UOWN", 100.0);
        far.conditions.stride = Some(Bytes(512));
        let text = spacing(&[&near, &far]).expect("two distances").to_string();
        assert!(text.contains("spacing 256 B") && text.contains("spacing 512 B"), "{text}");
        assert!(
            text.lines()
                .any(|line| line.split_whitespace().collect::<Vec<_>>() == ["UOWN", "lmbench-read", "60.0", "100.0"]),
            "{text}"
        );
    }
}
