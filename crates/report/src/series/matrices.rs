//! Matrices: between every two processors, and between every two nodes.

use record::{Record, Unit};
use units::{CpuId, NodeId};

use super::{conditions, distinct};
use crate::{Column, Table};

/// More processors than this make a matrix that nobody can read on a terminal.
const MOST_PROCESSORS: usize = 32;

/// A matrix for each transaction and home; a summary by nearness if there are too many processors.
pub(super) fn cores(records: &[&Record]) -> Vec<Table> {
    let mut tables = Vec::new();
    for (experiment, state) in distinct(records, |record| (record.experiment.clone(), record.state.clone())) {
        let of: Vec<&Record> =
            records.iter().copied().filter(|r| r.experiment == experiment && r.state == state).collect();
        for home in [HomeOf::Reader, HomeOf::Owner, HomeOf::Third] {
            let here: Vec<&Record> = of.iter().copied().filter(|record| home.is(record)).collect();
            if !here.is_empty() {
                tables.push(between_processors(&format!("{}, {}", what(&experiment), home.name()), &here));
            }
        }
    }
    tables
}

/// On whose node the lines are.
#[derive(Clone, Copy)]
enum HomeOf {
    Reader,
    Owner,
    Third,
}

impl HomeOf {
    fn is(self, record: &Record) -> bool {
        match self {
            Self::Reader => record.xhops == 0,
            Self::Owner => record.xhops > 0 && record.yhops == Some(0),
            Self::Third => record.xhops > 0 && record.yhops != Some(0),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Reader => "lines of the requester's node",
            Self::Owner => "lines of the owner's node",
            Self::Third => "lines of a third node",
        }
    }
}

/// What an experiment does to a line of another processor.
fn what(experiment: &str) -> &str {
    match experiment {
        "lmbench-read" => "Load of a line that another CPU has modified",
        "lmbench-rdex" => "Store to a line that another CPU has modified",
        "lmbench-cas" => "Compare-and-swap of a line that another CPU has modified",
        "ping-pong" => "A line handed back and forth by compare-and-swap, one way",
        other => other,
    }
}

fn between_processors(title: &str, records: &[&Record]) -> Table {
    let local = |record: &Record| record.local;
    let remote = |record: &Record| record.remotes.first().copied().unwrap_or(CpuId(0));
    let mut all: Vec<CpuId> = records.iter().flat_map(|record| [local(record), remote(record)]).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() > MOST_PROCESSORS {
        return by_relation(title, records);
    }
    let mut columns = vec![Column::text("CPU")];
    columns.extend(all.iter().map(|cpu| Column::number(cpu.to_string(), "ns")));
    let mut table = Table::new(title, columns);
    for &row in &all {
        let mut cells = vec![row.to_string()];
        cells.extend(all.iter().map(|&column| {
            let found = records.iter().find(|r| local(r) == row && remote(r) == column);
            found.map_or_else(|| "-".to_owned(), |record| format!("{:.1}", record.median))
        }));
        table.row(cells);
    }
    table.note(conditions(records));
    table
}

/// The range of all pairs of one nearness.
fn by_relation(title: &str, records: &[&Record]) -> Table {
    let columns = vec![
        Column::text("owner"),
        Column::number("pairs", ""),
        Column::number("fastest", "ns"),
        Column::number("median", "ns"),
        Column::number("slowest", "ns"),
    ];
    let mut table = Table::new(title, columns);
    for relation in distinct(records, |record| record.conditions.relation.clone()) {
        let of = records.iter().filter(|record| record.conditions.relation == relation);
        let mut medians: Vec<f64> = of.map(|record| record.median).collect();
        medians.sort_by(f64::total_cmp);
        let digits = |value: f64| format!("{value:.1}");
        let (first, middle, last) = (medians[0], medians[medians.len() / 2], medians[medians.len() - 1]);
        let name = relation.unwrap_or_else(|| "another CPU".to_owned());
        table.row([name, medians.len().to_string(), digits(first), digits(middle), digits(last)]);
    }
    table.note(format!("{}; --json has every pair", conditions(records)));
    table
}

/// A matrix for each experiment: processors' nodes down, memory's nodes across.
pub(super) fn nodes(records: &[&Record]) -> Vec<Table> {
    let matrix = |(experiment, unit): (String, Unit)| {
        let of: Vec<&Record> = records.iter().copied().filter(|record| record.experiment == experiment).collect();
        let homes = distinct(&of, |record| record.home);
        let mut columns = vec![Column::text("from CPU")];
        columns.extend(homes.iter().map(|home| Column::number(format!("node {home}"), &unit.to_string())));
        let mut table = Table::new(between_nodes(&experiment), columns);
        for local in distinct(&of, |record| record.locals.clone()) {
            let mut cells = vec![range(&local)];
            cells.extend(homes.iter().map(|&home: &NodeId| {
                let found = of.iter().find(|r| r.home == home && r.locals == local);
                let digits = if unit == Unit::Nanoseconds { 1 } else { 0 };
                found.map_or_else(|| "-".to_owned(), |record| format!("{:.digits$}", record.median))
            }));
            table.row(cells);
        }
        table.note(conditions(&of));
        table
    };
    distinct(records, |record| (record.experiment.clone(), record.unit)).into_iter().map(matrix).collect()
}

fn between_nodes(experiment: &str) -> String {
    match experiment {
        "lmbench-read" => "Latency of memory, by node".to_owned(),
        "bw-read" => "Bandwidth of loads by one CPU, by node".to_owned(),
        "bwmp-read" => "Bandwidth of loads by all CPUs of a node, by node".to_owned(),
        other => other.to_owned(),
    }
}

/// Processors as the first, and how many more.
pub(super) fn range(cpus: &[CpuId]) -> String {
    match cpus {
        [] => "-".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    fn pair(local: u16, remote: u16, median: f64) -> Record {
        let mut record = sample("cores", "lmbench-cas", "DEXT", median);
        (record.local, record.remotes) = (CpuId(local), vec![CpuId(remote)]);
        (record.yhops, record.zhops) = (Some(0), Some(0));
        record.conditions.relation = Some("same socket".into());
        record
    }

    #[test]
    fn requesters_are_lines_and_owners_columns() {
        let (there, back) = (pair(0, 1, 50.0), pair(1, 0, 60.0));
        let tables = cores(&[&there, &back]);
        assert_eq!(tables.len(), 1);
        let text = tables[0].to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["0", "-", "50.0"]) && lines.contains(&vec!["1", "60.0", "-"]), "{text}");
    }

    #[test]
    fn many_processors_are_summarised_by_nearness() {
        let records: Vec<Record> = (1..40).map(|cpu| pair(0, cpu, f64::from(cpu))).collect();
        let text = cores(&records.iter().collect::<Vec<_>>())[0].to_string();
        let words: Vec<&str> = text.lines().nth(3).unwrap_or_default().split_whitespace().collect();
        assert_eq!(words, ["same", "socket", "39", "1.0", "20.0", "39.0"], "{text}");
    }

    #[test]
    fn memory_stands_across() {
        let near = sample("nodes", "lmbench-read", "UOWN", 90.0);
        let mut far = sample("nodes", "lmbench-read", "UOWN", 140.0);
        far.home = NodeId(1);
        let text = nodes(&[&near, &far])[0].to_string();
        assert!(
            text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == ["0", "90.0", "140.0"]),
            "{text}"
        );
    }
}
