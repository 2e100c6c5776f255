//! Summary of a trace: metrics over each object's life, and the line of times.

use profile::selection::Selection;
use record::SampleRow;
use report::{Column, Table};
use trace::metric::{Metric, Resolved, whole};
use trace::{Event, Trace};

/// Metrics over the life of each object that is wanted.
pub fn rows(trace: &Trace, metrics: &[Resolved], selection: &Selection) -> Vec<SampleRow> {
    let last = trace.ticks().next_back().map_or(0, |tick| tick.time_ns);
    let wanted = |index: &usize| selection.wants(&trace.objects[*index]);
    let overall = whole(trace, metrics).into_iter().filter(|overall| wanted(&overall.object));
    let row = |overall: trace::metric::Overall| {
        let (object, metric) = (&trace.objects[overall.object], &metrics[overall.metric].metric);
        profile::lines::row(last, object, metric, overall.value, overall.estimate)
    };
    overall.map(row).collect()
}

/// The rows as tables, one for each kind of object, an object a line. The first metrics are the most important.
pub fn tables(rows: &[SampleRow], metrics: &[Resolved]) -> Vec<Table> {
    let mut kinds: Vec<&str> = Vec::new();
    for row in rows {
        if !kinds.contains(&row.kind.as_str()) {
            kinds.push(&row.kind);
        }
    }
    kinds.into_iter().map(|kind| table(kind, rows, metrics)).collect()
}

/// The table of a kind of object.
fn table(kind: &str, rows: &[SampleRow], metrics: &[Resolved]) -> Table {
    /// Metrics that are always shown.
    const KEYS: usize = 4;
    let rows: Vec<&SampleRow> = rows.iter().filter(|row| row.kind == kind).collect();
    let used = |metric: &&Metric| metric.of.name() == kind && rows.iter().any(|row| row.metric == metric.name);
    let metrics: Vec<&Metric> = metrics.iter().map(|resolved| &resolved.metric).filter(used).collect();
    let mut columns = vec![Column::text(kind), Column::prose("title").detail(u8::MAX)];
    let column = |(place, metric): (usize, &&Metric)| {
        let rank = u8::try_from((place + 1).saturating_sub(KEYS)).unwrap_or(u8::MAX);
        Column::number(metric.name.as_str(), &metric.unit).detail(rank)
    };
    columns.extend(metrics.iter().enumerate().map(column));
    let mut table = Table::new(format!("whole run, by {kind}"), columns);
    for same in rows.chunk_by(|a, b| a.object == b.object) {
        let cell = |metric: &&Metric| {
            let found = same.iter().find(|row| row.metric == metric.name);
            let number =
                |row: &&&SampleRow| profile::lines::number(row.value, row.estimate, usize::from(metric.digits));
            found.as_ref().map_or_else(String::new, number)
        };
        table.row([same[0].object.clone(), same[0].title.clone()].into_iter().chain(metrics.iter().map(cell)));
    }
    table
}

/// From when to when a trace goes, and how it was sampled.
pub fn times(trace: &Trace) -> String {
    let first = trace.ticks().next().map_or(0, |tick| tick.time_ns);
    let last = trace.ticks().next_back().map_or(0, |tick| tick.time_ns);
    let mut events = trace.events.iter().rev();
    let spent = events.find_map(|(_, event)| match event {
        Event::Summary { sample_ns, .. } => Some(*sample_ns),
        _ => None,
    });
    profile::lines::times(first, last, trace.ticks().len() as u64, spent)
}
