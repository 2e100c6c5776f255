//! Latency against load: a curve for each mix of reads and writes.

use record::Record;

use super::{conditions, distinct, uncertainty_pct};
use crate::quantity::Scale;
use crate::{Axis, Column, Mark, Plot, Series, Table};

/// A point of a curve: the latency, and the traffic beside it.
struct Point<'a> {
    mix: (u32, u32),
    pause: u32,
    latency: &'a Record,
    traffic_mb_per_s: f64,
}

/// Loads and stores in a row of the traffic beside a latency.
fn mix(record: &Record) -> Option<(u32, u32)> {
    Some((record.parameters.reads?, record.parameters.writes?))
}

/// The points of the curves; a latency without its traffic is none.
fn points<'a>(records: &[&'a Record]) -> Vec<Point<'a>> {
    let parameters = |record: &Record| Some((mix(record)?, record.parameters.pause_cycles?));
    let latencies = records.iter().filter(|record| record.experiment == "loaded-read");
    let point = |latency: &&'a Record| {
        let (mix, pause) = parameters(latency)?;
        let traffic = records
            .iter()
            .find(|other| other.experiment == "loaded-traffic" && parameters(other) == parameters(latency))?;
        Some(Point { mix, pause, latency, traffic_mb_per_s: traffic.median })
    };
    latencies.filter_map(point).collect()
}

/// The table, unless there are no curves.
pub(super) fn table(records: &[&Record]) -> Option<Table> {
    let points = points(records);
    let first = points.first()?;
    let others = first.latency.locals.len() + first.latency.remotes.len() - 1;
    let scale = Scale::of_bandwidths(points.iter().map(|point| point.traffic_mb_per_s));
    let columns = vec![
        Column::text("reads : writes"),
        Column::number("pause", "cycles"),
        Column::number("traffic", scale.unit),
        Column::number("latency", "ns"),
        Column::number("interval", "±%"),
    ];
    let processors = if others == 1 { "1 other CPU".to_owned() } else { format!("{others} other CPUs") };
    let title =
        format!("Loaded latency: load latency of CPU {} under the traffic of {processors}", first.latency.local);
    let mut table = Table::new(title, columns);
    for Point { mix: (reads, writes), pause, latency, traffic_mb_per_s } in &points {
        table.row([
            format!("{reads} : {writes}"),
            pause.to_string(),
            scale.number(*traffic_mb_per_s),
            format!("{:.1}", latency.median),
            uncertainty_pct(latency),
        ]);
    }
    let latencies: Vec<&Record> = points.iter().map(|point| point.latency).collect();
    table.note(conditions(&latencies));
    table.note(
        "traffic: one line per load or store; each store also reads its line (write-allocate), which is not counted",
    );
    Some(table)
}

/// The curves as a plot, unless there are none.
pub fn load_curves(records: &[Record]) -> Option<Plot> {
    let all: Vec<&Record> = records.iter().collect();
    let points = points(&all);
    let mixes = distinct(&all, mix);
    let series: Vec<Series> = mixes
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(colour, (reads, writes))| {
            let of_mix = points.iter().filter(|point| point.mix == (reads, writes));
            let mut points: Vec<(f64, f64)> =
                of_mix.map(|point| (point.traffic_mb_per_s / 1000.0, point.latency.median)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series { name: format!("{reads} reads : {writes} writes"), points, mark: Mark::Line, colour }
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    (!series.is_empty()).then(|| Plot {
        title: "Loaded latency".to_owned(),
        x: Axis::linear("traffic (GB/s)"),
        y: Axis::linear("load latency (ns)"),
        series,
    })
}

#[cfg(test)]
mod tests {
    use record::{Parameters, Unit};
    use units::CpuId;

    use super::super::tests::sample;
    use super::*;

    fn point(pause: u32, latency: f64, traffic: f64) -> [Record; 2] {
        let named = |name: &str, median| {
            let mut record = sample("loaded", name, "UOWN", median);
            record.parameters =
                Parameters { array: None, offset: None, reads: Some(2), writes: Some(1), pause_cycles: Some(pause) };
            record.locals = vec![CpuId(0), CpuId(1)];
            record
        };
        let mut beside = named("loaded-traffic", traffic);
        beside.unit = Unit::MegabytesPerSecond;
        [named("loaded-read", latency), beside]
    }

    #[test]
    fn latencies_are_paired_with_their_traffic() {
        let records: Vec<Record> = [point(0, 200.0, 9000.0), point(64, 100.0, 4000.0)].concat();
        let text = table(&records.iter().collect::<Vec<_>>()).expect("a curve").to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["2", ":", "1", "64", "4.00", "100.0", "0.5"]), "{text}");
        let plot = load_curves(&records).expect("a curve");
        assert_eq!(plot.series[0].points, [(4.0, 100.0), (9.0, 200.0)]);
        assert!(load_curves(&[]).is_none());
    }
}
