//! Matrices: between every two processors, and between every two nodes.

use std::collections::BTreeMap;

use record::{Record, Unit};
use units::{CpuId, NodeId};

use super::{conditions, distinct};
use crate::matrix::Matrix;
use crate::{Column, Table, View};

/// All matrices of records, each with a name for a file: between processors, then between nodes.
pub fn matrices(records: &[Record]) -> Vec<(String, Matrix)> {
    let of = |series: &str| -> Vec<&Record> {
        records.iter().filter(|record| record.conditions.series.as_deref() == Some(series)).collect()
    };
    let cores = between_processors(&of("cores")).into_iter().map(|(matrix, _)| ("cores", matrix));
    let nodes = nodes(&of("nodes")).into_iter().map(|matrix| ("nodes", matrix));
    let numbered = |(number, (name, matrix)): (usize, (&str, Matrix))| (format!("{name}-{}", number + 1), matrix);
    let (cores, nodes): (Vec<_>, Vec<_>) = (cores.collect(), nodes.collect());
    [cores, nodes].into_iter().flat_map(|each| each.into_iter().enumerate()).map(numbered).collect()
}

/// A matrix for each transaction and home; a summary by nearness, too, if there is no room for the numbers.
pub(super) fn cores(records: &[&Record], view: &View) -> Vec<Table> {
    let tables = |(matrix, records): (Matrix, Vec<&Record>)| {
        let summary = (!matrix.has_room_for_numbers(view)).then(|| by_relation(&matrix.title, &records));
        let map = matrix.has_room(view).then(|| matrix.table(view));
        map.into_iter().chain(summary)
    };
    between_processors(records).into_iter().flat_map(tables).collect()
}

/// A matrix for each transaction and home, and the records in it.
fn between_processors<'r>(records: &[&'r Record]) -> Vec<(Matrix, Vec<&'r Record>)> {
    let mut found = Vec::new();
    for (experiment, state) in distinct(records, |record| (record.experiment.clone(), record.state.clone())) {
        let of: Vec<&Record> =
            records.iter().copied().filter(|r| r.experiment == experiment && r.state == state).collect();
        for home in [HomeOf::Reader, HomeOf::Owner, HomeOf::Third] {
            let here: Vec<&Record> = of.iter().copied().filter(|record| home.is(record)).collect();
            if !here.is_empty() {
                found.push((pairs(&format!("{}, {}", what(&experiment), home.name()), &here), here));
            }
        }
    }
    found
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
            Self::Reader => "home = requester's node",
            Self::Owner => "home = owner's node",
            Self::Third => "home = a third node",
        }
    }
}

/// The operation of an experiment on a line of another processor.
fn what(experiment: &str) -> &str {
    match experiment {
        "lmbench-read" => "Load of a line modified by another CPU",
        "lmbench-rdex" => "Store to a line modified by another CPU",
        "lmbench-cas" => "Compare-and-swap on a line modified by another CPU",
        "ping-pong" => "Line handed back and forth by compare-and-swap (one-way latency)",
        other => other,
    }
}

/// Requesters down, owners across.
fn pairs(title: &str, records: &[&Record]) -> Matrix {
    let local = |record: &Record| record.local;
    let remote = |record: &Record| record.remotes.first().copied().unwrap_or(CpuId(0));
    let mut all: Vec<CpuId> = records.iter().flat_map(|record| [local(record), remote(record)]).collect();
    all.sort_unstable();
    all.dedup();
    let medians: BTreeMap<(CpuId, CpuId), f64> =
        records.iter().map(|record| ((local(record), remote(record)), record.median)).collect();
    let line = |&row: &CpuId| all.iter().map(|&column| medians.get(&(row, column)).copied()).collect();
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    Matrix {
        title: title.to_owned(),
        down: "requester CPU".to_owned(),
        across: "owner CPU".to_owned(),
        unit: "ns".to_owned(),
        digits: 1,
        rows: names.clone(),
        columns: names,
        values: all.iter().map(line).collect(),
        note: conditions(records),
    }
}

/// The range of all pairs of one nearness.
fn by_relation(title: &str, records: &[&Record]) -> Table {
    let columns = vec![
        Column::text("owner's place"),
        Column::number("pairs", ""),
        Column::number("fastest", "ns"),
        Column::number("median", "ns"),
        Column::number("slowest", "ns"),
    ];
    let mut table = Table::new(format!("{title}, by distance"), columns);
    for relation in distinct(records, |record| record.conditions.relation.clone()) {
        let of = records.iter().filter(|record| record.conditions.relation == relation);
        let mut medians: Vec<f64> = of.map(|record| record.median).collect();
        medians.sort_by(f64::total_cmp);
        let digits = |value: f64| format!("{value:.1}");
        let (first, middle, last) = (medians[0], medians[medians.len() / 2], medians[medians.len() - 1]);
        let name = relation.unwrap_or_else(|| "another CPU".to_owned());
        table.row([name, medians.len().to_string(), digits(first), digits(middle), digits(last)]);
    }
    table.note(format!("{}; --wide shows every pair, --json records it", conditions(records)));
    table
}

/// A matrix for each experiment: processors' nodes down, memory's nodes across.
pub(super) fn nodes(records: &[&Record]) -> Vec<Matrix> {
    let matrix = |(experiment, unit): (String, Unit)| {
        let of: Vec<&Record> = records.iter().copied().filter(|record| record.experiment == experiment).collect();
        let (homes, crews) = (distinct(&of, |record| record.home), distinct(&of, |record| record.locals.clone()));
        // Bandwidths in GB/s.
        let (name, one, digits) = match unit {
            Unit::MegabytesPerSecond => ("GB/s".to_owned(), 1000.0, 2),
            _ => (unit.to_string(), 1.0, 1),
        };
        let value = |local: &[CpuId], home: &NodeId| {
            of.iter().find(|r| r.home == *home && r.locals == local).map(|record| record.median / one)
        };
        Matrix {
            title: between_nodes(&experiment),
            down: "from CPU".to_owned(),
            across: "memory of node".to_owned(),
            unit: name,
            digits,
            rows: crews.iter().map(|crew| range(crew)).collect(),
            columns: homes.iter().map(ToString::to_string).collect(),
            values: crews.iter().map(|crew| homes.iter().map(|home| value(crew, home)).collect()).collect(),
            note: conditions(&of),
        }
    };
    distinct(records, |record| (record.experiment.clone(), record.unit)).into_iter().map(matrix).collect()
}

fn between_nodes(experiment: &str) -> String {
    match experiment {
        "lmbench-read" => "Memory latency by node".to_owned(),
        "bw-read" => "Read bandwidth of one CPU by node".to_owned(),
        "bwmp-read" => "Read bandwidth of all CPUs of a node by node".to_owned(),
        other => other.to_owned(),
    }
}

/// Processors as the first, and how many more.
pub(super) fn range(cpus: &[CpuId]) -> String {
    match cpus {
        [] => "-".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()),
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
        let tables = cores(&[&there, &back], &View::of_width(80));
        assert_eq!(tables.len(), 1);
        let text = tables[0].to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["0", "-", "50.0▁"]) && lines.contains(&vec!["1", "60.0█", "-"]), "{text}");
    }

    #[test]
    fn many_processors_are_a_map_and_are_summarised_by_nearness() {
        let records: Vec<Record> = (1..40).map(|cpu| pair(0, cpu, f64::from(cpu))).collect();
        let records: Vec<&Record> = records.iter().collect();
        let tables = cores(&records, &View::of_width(80));
        let map = tables[0].shown(&View::of_width(80));
        assert!(map.contains(" ▁▁▁▁▁▂▂"), "{map}");
        let text = tables[1].to_string();
        let words: Vec<&str> = text.lines().nth(3).unwrap_or_default().split_whitespace().collect();
        assert_eq!(words, ["same", "socket", "39", "1.0", "20.0", "39.0"], "{text}");
        assert_eq!(cores(&records, &View::wide()).len(), 1, "there is room for all numbers");
        let narrow = cores(&records, &View::of_width(40));
        assert_eq!(narrow.len(), 1, "no room for a map: {narrow:?}");
    }

    #[test]
    fn memory_stands_across() {
        let near = sample("nodes", "lmbench-read", "UOWN", 90.0);
        let mut far = sample("nodes", "lmbench-read", "UOWN", 140.0);
        far.home = NodeId(1);
        let text = nodes(&[&near, &far])[0].table(&View::wide()).to_string();
        assert!(
            text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == ["0", "90.0▁", "140.0█"]),
            "{text}"
        );
        let named = matrices(&[near, far, pair(0, 1, 50.0)]);
        assert_eq!(named.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["cores-1", "nodes-1"]);
    }
}
