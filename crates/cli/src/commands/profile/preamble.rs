//! What stands before samples: machine, objects, metrics, and what cannot be seen (Prestor 2001, Figures 5.3 and 5.5).

use std::fmt::Write;

use profile::lines::utc;
use trace::metric::Resolved;
use trace::{Object, Preamble, SourceDescription};

/// The machine, the time, what was started, objects, metrics.
pub fn text<'a>(
    preamble: &Preamble,
    objects: impl Iterator<Item = &'a Object> + Clone,
    metrics: &[Resolved],
) -> String {
    let mut text = preamble.machine.clone();
    if preamble.started_unix_ns > 0 {
        let _infallible = write!(text, "  {}", utc(preamble.started_unix_ns));
    }
    text.push('\n');
    if !preamble.command.is_empty() {
        let _infallible = writeln!(text, "{}", preamble.command.join(" "));
    }
    let width = objects.clone().map(|object| object.name.len()).max().unwrap_or(0);
    for object in objects {
        let _infallible = writeln!(text, "{:<width$} = {}", object.name, object.title);
    }
    let width = metrics.iter().map(|resolved| resolved.metric.name.len()).max().unwrap_or(0);
    for Resolved { metric, .. } in metrics {
        let unit = if metric.unit.is_empty() { String::new() } else { format!(" ({})", metric.unit) };
        let _infallible = writeln!(text, "{:<width$} = {}{unit}", metric.name, metric.what);
    }
    text
}

/// What the sources see and do not, a line each.
pub fn sight(sources: &[SourceDescription]) -> String {
    let mut text = String::new();
    for source in sources {
        for sees in &source.sees {
            let _infallible = writeln!(text, "sees {sees}");
        }
    }
    for blind in sources.iter().flat_map(|source| &source.blind) {
        let advice = if blind.advice.is_empty() { String::new() } else { format!("; {}", blind.advice) };
        let _infallible = writeln!(text, "does not see {}: {}{advice}", blind.what, blind.why);
    }
    text
}
