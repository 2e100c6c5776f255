//! What a trace comes to: metrics over each object's life, and the line of times.

use profile::selection::Selection;
use record::SampleRow;
use report::{Column, Table};
use trace::metric::{Resolved, whole};
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

/// The rows as a table, an object a line.
pub fn table(rows: &[SampleRow], metrics: &[Resolved]) -> Table {
    let used: Vec<&Resolved> = metrics.iter().filter(|resolved| rows.iter().any(|row| of(row, resolved))).collect();
    let mut columns = vec![Column::text("loc"), Column::text("")];
    columns.extend(used.iter().map(|resolved| Column::number(&resolved.metric.name, &resolved.metric.unit)));
    let mut table = Table::new("From beginning to end", columns);
    for same in rows.chunk_by(|a, b| a.object == b.object && a.kind == b.kind) {
        let cell = |resolved: &&Resolved| {
            let found = same.iter().find(|row| of(row, resolved));
            found.map_or_else(String::new, |row| {
                let sign = if row.estimate { "~" } else { "" };
                format!("{sign}{:.*}", usize::from(resolved.metric.digits), row.value)
            })
        };
        table.row([same[0].object.clone(), same[0].title.clone()].into_iter().chain(used.iter().map(cell)));
    }
    table
}

/// Whether a row is of this metric.
fn of(row: &SampleRow, resolved: &Resolved) -> bool {
    row.metric == resolved.metric.name && row.kind == resolved.metric.of.name()
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
