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

/// The rows as a table, an object a line; metrics of several kinds of objects that have the same name share a column.
pub fn table(rows: &[SampleRow], metrics: &[Resolved]) -> Table {
    let mut headings: Vec<(&str, &str)> = Vec::new();
    for Resolved { metric, .. } in metrics {
        let heading = (metric.name.as_str(), metric.unit.as_str());
        let used = rows.iter().any(|row| (row.metric.as_str(), row.unit.as_str()) == heading);
        if used && !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    let mut columns = vec![Column::text("loc"), Column::text("")];
    columns.extend(headings.iter().map(|(name, unit)| Column::number(*name, unit)));
    let mut table = Table::new("From beginning to end", columns);
    let digits = |row: &SampleRow| {
        let declared = metrics.iter().map(|resolved| &resolved.metric);
        let mut same = declared.filter(|metric| metric.name == row.metric && metric.of.name() == row.kind);
        same.next().map_or(0, |metric| usize::from(metric.digits))
    };
    for same in rows.chunk_by(|a, b| a.object == b.object && a.kind == b.kind) {
        let cell = |(name, unit): &(&str, &str)| {
            let found = same.iter().find(|row| row.metric == *name && row.unit == *unit);
            found.map_or_else(String::new, |row| profile::lines::number(row.value, row.estimate, digits(row)))
        };
        table.row([same[0].object.clone(), same[0].title.clone()].into_iter().chain(headings.iter().map(cell)));
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
