//! The layout in which Intel MLC (Memory Latency Checker, version 3.7) prints: latency matrix, peak bandwidths by mix, bandwidth
//! matrix, loaded latencies, and transfers between caches by the home of the line.

use std::collections::BTreeMap;
use std::fmt::Write;

use record::{MLC_MIXES, MlcMix, Record, Unit};
use units::{CpuId, NodeId};

/// The text of the records of the suite `mlc`. Parts without records are left out; what is `planned` and not among the records is shown
/// as missing.
pub fn mlc(title: &str, records: &[Record], planned: &[Record]) -> String {
    let missing = planned.iter().filter(|plan| !records.iter().any(|record| is_of(record, plan)));
    let records = &[records, &missing.cloned().collect::<Vec<_>>()].concat()[..];
    let nodes = nodes_of(records);
    let mut text = format!("{title}\n");
    matrix(&mut text, records, &nodes, &["lmbench-read"], "Measuring idle latencies (in ns)...");
    peaks(&mut text, records);
    let bandwidths = "Measuring Memory Bandwidths between nodes within system\nBandwidths are in MB/sec (1 MB/sec = 1,000,000 \
                      Bytes/sec)\nUsing all the CPUs of a node\nUsing Read-only traffic type";
    matrix(&mut text, records, &nodes, &["bwmp-read", "bw-read"], bandwidths);
    loaded(&mut text, records);
    transfers(&mut text, records, &nodes);
    text
}

/// Whether a record is of the measurement of another: of its experiment, in its place.
fn is_of(record: &Record, other: &Record) -> bool {
    let place = |of: &Record| (of.home, of.locals.clone(), of.remotes.clone());
    let kind = |of: &Record| (of.experiment.clone(), of.state.clone(), of.conditions.series.clone());
    record.parameters == other.parameters && place(record) == place(other) && kind(record) == kind(other)
}

/// A figure in a column, `-` if there is none.
fn cell(figure: f64, width: usize, digits: usize) -> String {
    if figure.is_nan() { format!("{:>width$}", "-") } else { format!("{figure:>width$.digits$}") }
}

/// Records of a series.
fn of<'a>(records: &'a [Record], series: &'a str) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(move |record| record.conditions.series.as_deref() == Some(series))
}

/// Nodes of the processors that read them locally.
fn nodes_of(records: &[Record]) -> BTreeMap<CpuId, NodeId> {
    let local = of(records, "nodes").filter(|record| record.xhops == 0);
    local.map(|record| (record.local, record.home)).collect()
}

/// A matrix: processors' nodes down, memory's nodes across. Of several experiments for a cell, the first that there is.
fn matrix(text: &mut String, records: &[Record], nodes: &BTreeMap<CpuId, NodeId>, experiments: &[&str], heading: &str) {
    let mut rows: BTreeMap<(u16, CpuId), BTreeMap<NodeId, f64>> = BTreeMap::new();
    for &experiment in experiments.iter().rev() {
        for record in of(records, "nodes").filter(|record| record.experiment == experiment) {
            // Processors without memory of their own stand last.
            let node = nodes.get(&record.local).map_or(u16::MAX, |node| node.0);
            rows.entry((node, record.local)).or_default().insert(record.home, record.median);
        }
    }
    let mut homes: Vec<NodeId> = rows.values().flat_map(|row| row.keys().copied()).collect();
    homes.sort_unstable();
    homes.dedup();
    if homes.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}\n\t\tNuma node");
    let _ = writeln!(text, "Numa node\t{}", line(homes.iter().map(|home| format!("{:>6}", home.0))));
    for ((node, cpu), row) in &rows {
        let cells = homes.iter().map(|home| cell(row.get(home).copied().unwrap_or(f64::NAN), 6, 1));
        let name = if *node == u16::MAX { format!("CPU {cpu}") } else { node.to_string() };
        let _ = writeln!(text, "{name:>8}\t{}", line(cells));
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join("\t")
}

/// Bandwidths of memory without delays, by the mix of its reads and writes.
fn peaks(text: &mut String, records: &[Record]) {
    let of_mix = |mix: MlcMix| {
        let is_of = |record: &&Record| {
            let at = &record.parameters;
            record.experiment == "loaded-traffic"
                && (at.reads, at.writes, at.pause_cycles) == (Some(mix.loads), Some(mix.stores), Some(0))
        };
        of(records, "loaded").find(is_of).map(|record| (mix.name, record.median * mix.lines_per_access()))
    };
    // A step of the triad reads two lines, and one more that it writes back later.
    let triad = of(records, "loaded").find(|record| record.experiment == "triad-traffic");
    let triad = triad.map(|record| ("Stream-triad like", record.median * 4.0 / 3.0));
    let probe = of(records, "loaded").find(|record| record.experiment == "loaded-traffic").map(|record| record.local);
    let found: Vec<(&str, f64)> = MLC_MIXES.into_iter().filter_map(of_mix).chain(triad).collect();
    if found.is_empty() {
        return;
    }
    text.push_str(
        "\nMeasuring Peak Injection Memory Bandwidths for the system\nBandwidths are in MB/sec (1 MB/sec = 1,000,000 \
         Bytes/sec)\nUsing traffic with the following read-write ratios; a line that a store reads counts as read\n",
    );
    if let Some(cpu) = probe {
        let _ = writeln!(text, "Without CPU {cpu}, which measures the latency beside this traffic");
    }
    for (name, bandwidth) in found {
        let _ = writeln!(text, "{name:<17}:\t{}", cell(bandwidth, 9, 1));
    }
}

/// Latency and bandwidth by the delay that each loading processor injects, from the most traffic to the least.
fn loaded(text: &mut String, records: &[Record]) {
    let reads_only = || of(records, "loaded").filter(|record| record.parameters.writes == Some(0));
    let mut points: Vec<(u32, f64, f64)> = Vec::new();
    for latency in reads_only().filter(|record| record.unit == Unit::Nanoseconds) {
        let Some(pause) = latency.parameters.pause_cycles else { continue };
        let traffic = reads_only()
            .find(|other| other.experiment == "loaded-traffic" && other.parameters.pause_cycles == Some(pause));
        if let Some(traffic) = traffic {
            points.push((pause, latency.median, traffic.median));
        }
    }
    if points.is_empty() {
        return;
    }
    points.sort_by_key(|&(pause, ..)| pause);
    text.push_str("\nMeasuring Loaded Latencies for the system\nUsing Read-only traffic type\n");
    text.push_str("Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n");
    for (pause, latency, traffic) in points {
        let _ = writeln!(text, " {pause:05}\t{}\t{}", cell(latency, 6, 2), cell(traffic, 9, 1));
    }
}

/// Transfers between caches: within a node, and between nodes by the home of the line.
fn transfers(text: &mut String, records: &[Record], nodes: &BTreeMap<CpuId, NodeId>) {
    let all: Vec<&Record> = of(records, "transfers").collect();
    if all.is_empty() {
        return;
    }
    text.push_str("\nMeasuring cache-to-cache transfer latency (in ns)...\n");
    let within = |state: &str| {
        let found = all.iter().find(|record| record.state == state && record.zhops == Some(0));
        found.map(|record| record.median)
    };
    for (name, state) in [("HIT ", "CEXH"), ("HITM", "DEXD")] {
        if let Some(latency) = within(state) {
            let _ = writeln!(text, "Local Socket L2->L2 {name} latency\t{}", cell(latency, 0, 1));
        }
    }
    for (place, at_writer) in [("writer", true), ("reader", false)] {
        let between = all.iter().filter(|record| record.zhops != Some(0));
        let here = between.filter(|record| if at_writer { record.yhops == Some(0) } else { record.xhops == 0 });
        let mut cells: BTreeMap<(NodeId, NodeId), f64> = BTreeMap::new();
        for record in here {
            let writer = record.remotes.first().and_then(|cpu| nodes.get(cpu));
            if let (Some(&reader), Some(&writer)) = (nodes.get(&record.local), writer) {
                cells.insert((writer, reader), record.median);
            }
        }
        let mut names: Vec<NodeId> = cells.keys().flat_map(|&(writer, reader)| [writer, reader]).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            continue;
        }
        let _ = writeln!(text, "Remote Socket L2->L2 HITM latency (data address homed in {place} socket)");
        let _ = writeln!(text, "\t\t\tReader Numa Node");
        let _ = writeln!(text, "Writer Numa Node\t{}", line(names.iter().map(|name| format!("{:>6}", name.0))));
        for &writer in &names {
            let of = |&reader: &NodeId| cells.get(&(writer, reader)).copied().unwrap_or(f64::NAN);
            let row = names.iter().map(|reader| cell(of(reader), 6, 1));
            let _ = writeln!(text, "{:>16}\t{}", writer.0, line(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::tests::sample;

    fn placed(series: &str, experiment: &str, state: &str, (home, local): (u16, u16), value: f64) -> Record {
        let mut record = sample(series, experiment, state, value);
        (record.home, record.local, record.locals) = (NodeId(home), CpuId(local), vec![CpuId(local)]);
        record.xhops = u32::from(home != local / 4);
        record
    }

    #[test]
    fn it_prints_as_mlc_does() {
        let mut records = Vec::new();
        for (home, local, time) in [(0, 0, 81.4), (1, 0, 131.1), (0, 4, 131.0), (1, 4, 81.5)] {
            records.push(placed("nodes", "lmbench-read", "UOWN", (home, local), time));
        }
        let mut hitm = placed("transfers", "lmbench-read", "DEXD", (1, 0), 113.9);
        (hitm.remotes, hitm.yhops, hitm.zhops) = (vec![CpuId(4)], Some(0), Some(1));
        records.push(hitm);
        let text = mlc("two sockets", &records, &[]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["Numa", "node", "0", "1"]), "{text}");
        assert!(lines.contains(&vec!["0", "81.4", "131.1"]) && lines.contains(&vec!["1", "131.0", "81.5"]), "{text}");
        assert!(text.contains("homed in writer socket") && !text.contains("homed in reader socket"), "{text}");
        assert!(lines.contains(&vec!["1", "113.9", "-"]), "{text}");
        assert!(!text.contains("Loaded") && !text.contains("Peak"), "{text}");
    }

    #[test]
    fn loaded_latencies_and_the_mixes_of_peaks_are_printed() {
        let mut records = Vec::new();
        for (reads, writes, pause, traffic) in [(1, 0, 0, 200e3), (1, 0, 100, 50e3), (2, 1, 0, 150e3), (0, 1, 0, 90e3)]
        {
            for (experiment, value) in [("loaded-read", 100.0 + traffic / 1e3), ("loaded-traffic", traffic)] {
                let mut record = sample("loaded", experiment, "UOWN", value);
                let at = &mut record.parameters;
                (at.reads, at.writes, at.pause_cycles) = (Some(reads), Some(writes), Some(pause));
                record.unit = if experiment == "loaded-read" { Unit::Nanoseconds } else { Unit::MegabytesPerSecond };
                records.push(record);
            }
        }
        records.push(sample("loaded", "triad-traffic", "UOWN", 120e3));
        let text = mlc("two sockets", &records, &[]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["Stream-triad", "like:", "160000.0"]), "{text}");
        assert!(
            lines.contains(&vec!["00000", "300.00", "200000.0"]) && lines.contains(&vec!["00100", "150.00", "50000.0"])
        );
        assert!(lines.contains(&vec!["ALL", "Reads", ":", "200000.0"]), "{text}");
        // Two loads and a store are three reads of memory and a write.
        assert!(lines.contains(&vec!["3:1", "Reads-Writes", ":", "200000.0"]), "{text}");
        assert!(lines.contains(&vec!["1:1", "Reads-Writes", ":", "180000.0"]) && !text.contains("2:1"), "{text}");
    }

    /// A run that ended early has the lines of a whole one.
    #[test]
    fn what_is_planned_and_not_measured_is_shown_as_missing() {
        let mut planned = Vec::new();
        for (home, local) in [(0, 0), (1, 0), (0, 4), (1, 4)] {
            planned.push(placed("nodes", "lmbench-read", "UOWN", (home, local), f64::NAN));
        }
        for (experiment, unit) in [("loaded-read", Unit::Nanoseconds), ("loaded-traffic", Unit::MegabytesPerSecond)] {
            let mut record = sample("loaded", experiment, "UOWN", f64::NAN);
            (record.unit, record.median) = (unit, f64::NAN);
            let at = &mut record.parameters;
            (at.reads, at.writes, at.pause_cycles) = (Some(1), Some(0), Some(0));
            planned.push(record);
        }
        // The bandwidth of one processor does not stand in for that of a node which has yet to be measured.
        planned.push(placed("nodes", "bwmp-read", "UOWN", (0, 0), f64::NAN));
        let alone = placed("nodes", "bw-read", "UOWN", (0, 0), 16e3);
        let records = [placed("nodes", "lmbench-read", "UOWN", (0, 4), 131.0), alone];
        let text = mlc("two sockets", &records, &planned);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for line in [&["0", "-", "-"][..], &["1", "131.0", "-"], &["ALL", "Reads", ":", "-"], &["00000", "-", "-"]] {
            assert!(lines.contains(&line.to_vec()), "{line:?}: {text}");
        }
        assert!(!text.contains("NaN") && !text.contains("cache-to-cache") && !text.contains("16000"), "{text}");
    }
}
