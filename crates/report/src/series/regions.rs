//! A map of latency by region of memory, a character a chunk.

use std::collections::BTreeSet;

use record::{Record, Statistics};
use units::{Bytes, NodeId};

use crate::{Column, Table};

/// Chunks in a line of the map.
const WIDTH: usize = 64;
/// From the fastest chunk to the slowest.
const SHADES: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The map of each node and what it says.
pub(super) fn tables(records: &[&Record]) -> Vec<Table> {
    let homes: BTreeSet<NodeId> = records.iter().map(|record| record.home).collect();
    let of_node = |home| -> Vec<&Record> { records.iter().copied().filter(|record| record.home == home).collect() };
    homes.into_iter().filter_map(|home| table(&of_node(home))).collect()
}

/// The map of a node.
fn table(records: &[&Record]) -> Option<Table> {
    let mut chunks: Vec<(Bytes, &Record)> =
        records.iter().filter_map(|record| Some((record.parameters.offset?, *record))).collect();
    chunks.sort_by_key(|(offset, _)| *offset);
    let medians: Vec<f64> = chunks.iter().map(|(_, record)| record.median).collect();
    let all = Statistics::of(&medians)?;
    let (first, chunk) = (chunks[0].1, chunks.get(1).map_or(Bytes(0), |(offset, _)| *offset));
    let title = format!("Latency by region of the memory of node {}, CPU {}", first.home, first.local);
    let columns = vec![Column::text("from"), Column::text(format!("one character per {chunk}"))];
    let mut table = Table::new(title, columns);
    let shade = |median: f64| {
        let place = (median - all.min) / (all.max - all.min).max(f64::MIN_POSITIVE);
        SHADES[((place * SHADES.len() as f64) as usize).min(SHADES.len() - 1)]
    };
    for line in chunks.chunks(WIDTH) {
        let map: String = line.iter().map(|(_, record)| shade(record.median)).collect();
        table.row([line[0].0.to_string(), map]);
    }
    table.note(format!(
        "{} = {:.1} ns, {} = {:.1} ns; median {:.1} ns",
        SHADES[0], all.min, SHADES[7], all.max, all.median
    ));
    table.note(verdict(&chunks, all.median));
    Some(table)
}

/// How many chunks are told apart from the median one.
fn verdict(chunks: &[(Bytes, &Record)], median: f64) -> String {
    let total = chunks.len();
    let intervals: Vec<(f64, f64)> = chunks.iter().filter_map(|(_, record)| record.statistics().interval()).collect();
    if intervals.len() < total {
        let fewest = Statistics::FEWEST_FOR_INTERVAL;
        return format!("fewer than {fewest} samples per chunk: chunks cannot be compared");
    }
    let slower = intervals.iter().filter(|(low, _)| *low > median * (1.0 + TOLERANCE)).count();
    let faster = intervals.iter().filter(|(_, high)| *high < median * (1.0 - TOLERANCE)).count();
    match slower + faster {
        0 => format!("none of {total} chunks differs from the median by more than {:.0} %", 100.0 * TOLERANCE),
        _ => format!(
            "{slower} of {total} chunks are slower than the median by more than {0:.0} %, {faster} faster (95 % intervals): the memory \
             of this node may consist of several devices",
            100.0 * TOLERANCE
        ),
    }
}

/// The relative differences between latencies of equal memory, by banks and refresh.
const TOLERANCE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use record::Parameters;

    use super::super::tests::sample;
    use super::*;

    #[test]
    fn slow_chunks_stand_out() {
        let chunk = |number: u64, median| {
            let parameters = Parameters { offset: Some(Bytes(number << 24)), ..Parameters::default() };
            Record { parameters, ..sample("regions", "region-read", "UOWN", median) }
        };
        let records: Vec<Record> = (0..70).map(|n| chunk(n, if n % 35 == 0 { 150.0 } else { 100.0 })).collect();
        let text = table(&records.iter().collect::<Vec<_>>()).expect("a map").to_string();
        assert!(text.contains("one character per 16 MiB") && text.contains("2 of 70 chunks are slower"), "{text}");
        assert!(text.lines().any(|line| line.contains("0 B") && line.contains("█▁▁▁")), "{text}");
        // Another node has a map of its own.
        let other = records.iter().map(|record| Record { home: NodeId(1), ..record.clone() });
        let both: Vec<Record> = records.iter().cloned().chain(other).collect();
        let maps = tables(&both.iter().collect::<Vec<_>>());
        assert_eq!(maps.len(), 2);
        assert!(maps[1].to_string().contains("of node 1") && maps[1].to_string().contains("2 of 70 chunks"));
        let even: Vec<Record> = (0..3).map(|n| chunk(n, 100.0)).collect();
        assert!(table(&even.iter().collect::<Vec<_>>()).expect("a map").to_string().contains("none of 3 chunks"));
        let few: Vec<Record> = even.into_iter().map(|record| Record { n: 5, ..record }).collect();
        let text = table(&few.iter().collect::<Vec<_>>()).expect("a map").to_string();
        assert!(text.contains("fewer than 6 samples per chunk"), "{text}");
    }
}
