//! The preamble of samples: machine, objects, metrics, and what is unavailable (Prestor 2001, Figures 5.3 and 5.5).

use std::fmt::Write;

use profile::lines::utc;
use report::{Column, Table, View};
use trace::metric::Resolved;
use trace::{Object, Preamble, SourceDescription};

/// The machine, the time, and the command.
pub fn headline(preamble: &Preamble) -> String {
    let mut text = preamble.machine.clone();
    if preamble.started_unix_ns > 0 {
        let _infallible = write!(text, "  {}", utc(preamble.started_unix_ns));
    }
    text.push('\n');
    if !preamble.command.is_empty() {
        let _infallible = writeln!(text, "{}", preamble.command.join(" "));
    }
    text
}

/// The objects and what each is.
pub fn objects<'a>(objects: impl Iterator<Item = &'a Object>) -> Table {
    let mut table = Table::new("", vec![Column::text("object"), Column::prose("title")]);
    objects.for_each(|object| table.row([object.name.clone(), object.title.clone()]));
    table
}

/// The metrics and what each is.
pub fn metrics(metrics: &[Resolved]) -> Table {
    let columns = vec![Column::text("metric"), Column::text("unit"), Column::prose("meaning")];
    let mut table = Table::new("", columns);
    for Resolved { metric, .. } in metrics {
        table.row([metric.name.clone(), metric.unit.clone(), metric.what.clone()]);
    }
    table
}

/// All of it.
pub fn text<'a>(
    preamble: &Preamble,
    shown: impl Iterator<Item = &'a Object>,
    resolved: &[Resolved],
    view: &View,
) -> String {
    let mut text = report::paragraph(&headline(preamble), view);
    for table in [objects(shown), metrics(resolved)].iter().filter(|table| !table.is_empty()) {
        let _infallible = write!(text, "\n{}", table.shown(view));
    }
    text
}

/// Data that the sources provide, and data that are unavailable and why, a line each.
pub fn sight(sources: &[SourceDescription]) -> String {
    let mut text = String::new();
    for sees in sources.iter().flat_map(|source| &source.sees) {
        let _infallible = writeln!(text, "available: {sees}");
    }
    for blind in sources.iter().flat_map(|source| &source.blind) {
        let advice = if blind.advice.is_empty() { String::new() } else { format!("; {}", blind.advice) };
        let _infallible = writeln!(text, "unavailable: {} ({}){advice}", blind.what, blind.why);
    }
    text
}

/// Data that are unavailable, in one line.
pub fn hidden(sources: &[SourceDescription]) -> String {
    let hidden: Vec<&str> = sources.iter().flat_map(|source| &source.blind).map(|blind| blind.what.as_str()).collect();
    match hidden.is_empty() {
        true => String::new(),
        false => format!("unavailable: {} (reasons: ccnuma sar --list)\n", hidden.join(", ")),
    }
}
