//! `ccnuma dump`: what a trace holds, sample by sample.

use std::io::{self, BufWriter};
use std::path::PathBuf;

use clap::Args;
use profile::export;
use profile::lines::Lines;
use record::SampleRow;
use trace::Trace;
use trace::metric::{Evaluator, Resolved};

use super::flags::{Nanoseconds, SECONDS, SelectionFlags, open};
use super::{preamble, summary};
use crate::failure::Failure;
use crate::output::{Kind, Output, OutputFlags, print};
use crate::provenance;

/// Print metrics over time from a trace file, or convert it to other formats.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma dump prog.arrows                            main metrics of all objects over time
  ccnuma dump prog.arrows --node 1 --metric local --from 0.5s --to 2s
  ccnuma dump prog.arrows --thread t0 --metric thread.run_ns --json=t0.jsonl
  ccnuma dump prog.arrows --perfetto prog.pftrace    for ui.perfetto.dev: objects as tracks
  ccnuma dump prog.arrows --parquet prog.parquet     for DuckDB, pandas, polars")]
pub struct DumpCommand {
    /// The trace file.
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    #[command(flatten)]
    selection: SelectionFlags,
    /// Skip samples before this time.
    #[arg(long, value_name = "TIME")]
    from: Option<Nanoseconds<SECONDS>>,
    /// Skip samples after this time.
    #[arg(long, value_name = "TIME")]
    to: Option<Nanoseconds<SECONDS>>,
    /// Write the whole trace in Perfetto format.
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Write metrics as Parquet, with the columns of --json.
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

impl DumpCommand {
    /// Prints it.
    pub fn run(self) -> Result<(), Failure> {
        let trace = open(&self.trace)?;
        for warning in &trace.warnings {
            eprintln!("warning: {}: {warning}", self.trace.display());
        }
        let selection = self.selection.selection();
        selection.check(&trace.objects).map_err(Failure::input)?;
        let declared = self.selection.declared()?;
        let metrics =
            selection.metrics(&declared, &trace.counters, &trace.preamble.constants).map_err(Failure::input)?;
        let mut output: Output<SampleRow> = self.output.open()?.of(&provenance::of_trace(&trace.preamble));
        if let Some(path) = &self.perfetto {
            let mut file = BufWriter::new(self.output.files().whole("--perfetto", path, Kind::Perfetto)?);
            export::perfetto(&trace, &metrics, &mut file)?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.complete()?;
        }
        let mut parquet = match &self.parquet {
            Some(path) => {
                let file = self.output.files().whole("--parquet", path, Kind::Parquet)?;
                Some(export::Parquet::new(file).map_err(Failure::run)?)
            }
            None => None,
        };
        let exported = self.perfetto.is_some() || self.parquet.is_some();
        let table = output.wants_table() && !exported;
        let shown = trace.objects.iter().filter(|object| selection.wants(object));
        let width = shown.clone().map(|object| object.name.len()).max().unwrap_or(0);
        let view = self.output.view();
        let mut lines = Lines::new(&metrics, width, view.width());
        if table {
            print(report::paragraph(&preamble::headline(&trace.preamble), &view))?;
        }
        self.each(&trace, &metrics, |time, object, values| {
            let about = &trace.objects[object];
            if !selection.wants(about) {
                return Ok(());
            }
            if table {
                print(lines.line(time, about, values.iter().copied()).unwrap_or_default())?;
            }
            for (resolved, value) in metrics.iter().zip(values) {
                let Some((value, estimate)) = *value else { continue };
                let row = profile::lines::row(time, about, &resolved.metric, value, estimate);
                output.write(&row)?;
                if let Some(parquet) = &mut parquet {
                    parquet.write(&row).map_err(Failure::run)?;
                }
            }
            Ok(())
        })?;
        if let Some(parquet) = parquet {
            parquet.finish().map_err(Failure::run)?.complete()?;
        }
        if table {
            let closing = format!("\n{}{}: {}", lines.left_out(), self.trace.display(), summary::times(&trace));
            print(report::paragraph(&closing, &view))?;
        }
        output.finish()
    }

    /// Tells `found` the metrics of every object at every sample within the times asked for.
    fn each(
        &self,
        trace: &Trace,
        metrics: &[Resolved],
        mut found: impl FnMut(u64, usize, &[Option<(f64, bool)>]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (from, to) = (self.from.map_or(0, |time| time.0), self.to.map_or(u64::MAX, |time| time.0));
        let mut evaluator = Evaluator::new(metrics.to_vec(), &trace.counters);
        trace.objects.iter().for_each(|object| evaluator.object(object));
        for tick in trace.ticks().take_while(|tick| tick.time_ns <= to) {
            evaluator.tick(tick.time_ns, tick.rows());
            if tick.time_ns < from {
                continue;
            }
            for (object, _) in tick.rows() {
                let values: Vec<_> = (0..metrics.len()).map(|metric| evaluator.value(metric, object)).collect();
                found(tick.time_ns, object, &values)?;
            }
        }
        Ok(())
    }
}
