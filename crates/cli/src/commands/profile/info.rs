//! `ccnuma info`: what a trace holds.

use std::path::{Path, PathBuf};

use clap::Args;
use profile::selection::Selection;
use record::TraceInfoRow;
use trace::metric::{Resolved, built_in};
use trace::{Event, Trace};

use super::{flags, preamble, summary};
use crate::failure::Failure;
use crate::output::{Output, OutputFlags, print};
use crate::provenance;

/// Show the contents of trace files: machine, objects, available metrics, times.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma info prog.arrows
  ccnuma info prog.arrows --counters     also raw counters, and what was unavailable
  ccnuma info *.arrows --json

A trace is an Arrow IPC stream: in Python, pyarrow.ipc.open_stream(FILE).read_pandas() reads it.")]
pub struct InfoCommand {
    /// The trace files.
    #[arg(value_name = "FILE", required = true)]
    traces: Vec<PathBuf>,
    /// Also list the counters, and what was available and unavailable.
    #[arg(long)]
    counters: bool,
    #[command(flatten)]
    output: OutputFlags,
}

impl InfoCommand {
    /// Prints it.
    pub fn run(self) -> Result<(), Failure> {
        let traces: Vec<Trace> = self.traces.iter().map(|path| flags::open(path)).collect::<Result<_, _>>()?;
        let mut output: Output<TraceInfoRow> = self.output.open()?;
        for (path, trace) in self.traces.iter().zip(&traces) {
            output = output.of(&provenance::of_trace(&trace.preamble));
            for warning in &trace.warnings {
                eprintln!("warning: {}: {warning}", path.display());
            }
            let (metrics, _) = Resolved::derive(&built_in(), &trace.counters, &trace.preamble.constants);
            for row in rows(path, trace, &metrics) {
                output.write(&row)?;
            }
            if output.wants_table() {
                self.tell(trace, &metrics)?;
            }
        }
        if output.wants_table() {
            for (path, trace) in self.traces.iter().zip(&traces) {
                print(format!("{}: {}\n", path.display(), summary::times(trace)))?;
            }
        }
        output.finish()
    }

    fn tell(&self, trace: &Trace, metrics: &[Resolved]) -> Result<(), Failure> {
        let view = self.output.view();
        print(preamble::text(&trace.preamble, trace.objects.iter(), metrics, &view))?;
        if self.counters {
            let counters = profile::selection::counter_metrics(&trace.counters);
            let (counters, _) = Resolved::derive(&counters, &trace.counters, &trace.preamble.constants);
            print(format!("\ncounters\n{}", preamble::metrics(&counters).shown(&view)))?;
            print(report::paragraph(&format!("\n{}", preamble::sight(&trace.preamble.sources)), &view))?;
        }
        for line in trace.events.iter().filter_map(|(time, event)| described(*time, event)) {
            print(report::paragraph(&line, &view))?;
        }
        print("\n")
    }
}

/// An event in one line, but for objects that came and went, of which there can be many.
fn described(time_ns: u64, event: &Event) -> Option<String> {
    let said = match event {
        Event::Exit { code: Some(code), .. } => format!("the program ended with exit status {code}"),
        Event::Exit { signal, .. } => format!("the program was ended by signal {}", signal.unwrap_or_default()),
        Event::Note { text } => text.clone(),
        Event::Summary { late, .. } if *late > 0 => {
            format!("{late} late readings of narrow counters: a wrap-around may be missing")
        }
        _ => return None,
    };
    Some(format!("{:.3}: {said}", time_ns as f64 * 1e-9))
}

/// All of it as records.
fn rows(path: &Path, trace: &Trace, metrics: &[Resolved]) -> Vec<TraceInfoRow> {
    let row = |about: &str, name: &str, unit: &str, text: String| {
        let [about, name, unit] = [about, name, unit].map(str::to_owned);
        TraceInfoRow { trace: path.display().to_string(), about, name, unit, text }
    };
    let preamble = &trace.preamble;
    let mut rows = vec![row("machine", "", "", preamble.machine.clone())];
    rows.push(row("command", "", "", preamble.command.join(" ")));
    let all = Selection::default();
    let objects = trace.objects.iter().filter(|object| all.wants(object));
    rows.extend(objects.map(|object| row("object", &object.name, object.kind.name(), object.title.clone())));
    rows.extend(
        metrics.iter().map(|Resolved { metric, .. }| row("metric", &metric.name, &metric.unit, metric.what.clone())),
    );
    let counters = trace.counters.iter();
    rows.extend(counters.map(|counter| row("counter", &counter.column(), &counter.unit, counter.what.clone())));
    for source in &preamble.sources {
        rows.extend(source.sees.iter().map(|sees| row("sees", &source.name, "", sees.clone())));
        rows.extend(
            source.blind.iter().map(|blind| {
                row("blind", &source.name, "", format!("{}: {}; {}", blind.what, blind.why, blind.advice))
            }),
        );
    }
    rows.extend(trace.events.iter().filter_map(|(time, event)| Some(row("event", "", "", described(*time, event)?))));
    rows.extend(trace.warnings.iter().map(|warning| row("warning", "", "", warning.to_string())));
    rows.push(row("time", "", "", summary::times(trace)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told() {
        let told = |event| described(1_500_000_000, &event);
        let exit = |code, signal| Event::Exit { code, signal };
        assert_eq!(told(exit(Some(3), None)).as_deref(), Some("1.500: the program ended with exit status 3"));
        assert_eq!(told(exit(None, Some(9))).as_deref(), Some("1.500: the program was ended by signal 9"));
        assert_eq!(told(Event::Gone { index: 0 }), None);
    }
}
