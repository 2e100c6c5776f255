//! `ccnuma sar`: what nodes and links do now.

use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use profile::lines::{Lines, times, unix_now};
use profile::session::{Keeper, drive};
use profile::{CounterSource, Live, Sampler, Sources, Tee};
use record::SampleRow;
use trace::{Event, ObjectKind, Preamble, TraceWriter};

use super::flags::{Nanoseconds, SECONDS, SamplerFlags, SelectionFlags};
use super::observable::list;
use super::preamble;
use crate::failure::Failure;
use crate::interruption::Itself;
use crate::output::{Kind, Output, OutputFlags, print};
use crate::provenance;

/// Activity monitor: print metrics of this computer's nodes and links, sample by sample.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma sar 1 5                     five samples of the main metrics, one per second
  ccnuma sar 100ms --node 0 --metric local,free
  ccnuma sar --list                  available metrics, and unavailable ones with the reason
  ccnuma sar 1 --screen              bars for each node and link; q quits
  ccnuma sar 1 60 -o night.arrows    write a trace file, for ccnuma info and ccnuma dump

`-`: no value (nothing was counted); `~`: estimate.")]
pub struct SarCommand {
    /// Sampling interval: seconds, or with a unit, such as 50ms.
    #[arg(value_name = "INTERVAL", default_value = "1")]
    interval: Nanoseconds<SECONDS>,
    /// Number of samples [default: until interrupted].
    #[arg(value_name = "COUNT")]
    count: Option<u64>,
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    sampler: SamplerFlags,
    /// List available metrics, and unavailable ones with the reason.
    #[arg(long)]
    list: bool,
    /// Full-screen view with bars; needs a terminal.
    #[cfg(feature = "screen")]
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    screen: bool,
    /// Also write a trace file.
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    records: OutputFlags,
}

impl SarCommand {
    /// Samples until the end.
    pub fn run(self) -> Result<(), Failure> {
        let (files, inventory, mut sources) = self.sampler.sources(false)?;
        let mut sampler = Sampler::new(sources.counters(), Some(self.interval.0));
        let mut preamble = Preamble {
            machine: profile::linux::title(&files, &inventory),
            processor: inventory.processor.model.clone(),
            started_unix_ns: unix_now(),
            clock: "CLOCK_MONOTONIC".to_owned(),
            ..Preamble::default()
        };
        sampler.describe(&sources, &mut preamble);
        preamble.sources = sources.descriptions();
        let declared = self.selection.declared()?;
        if self.list {
            return list(&declared, &sources, &preamble, &self.records, &inventory);
        }
        let selection = self.selection.selection();
        selection.check(sources.objects()).map_err(Failure::input)?;
        let metrics = selection.metrics(&declared, sources.counters(), &preamble.constants).map_err(Failure::input)?;
        self.sampler.come_first()?;
        let trace = self.output.as_deref();
        trace.map_or(Ok(()), |path| self.records.files().check("--output", path, Kind::Trace))?;
        let mut output: Output<SampleRow> = self.records.open()?.of(&provenance::of_host(&inventory));
        let trace = trace.map(|path| self.records.files().stream("--output", path, Kind::Trace)).transpose()?;
        let shown: Vec<_> = sources.objects().iter().filter(|object| selection.wants(object)).collect();
        let view = self.records.view();
        #[cfg(feature = "screen")]
        let screen = self.screen;
        #[cfg(not(feature = "screen"))]
        let screen = false;
        if output.wants_table() && !screen {
            let head = preamble::headline(&preamble) + &preamble::hidden(&preamble.sources);
            print(report::paragraph(&head, &view))?;
        }
        self.sampler.move_there(&inventory)?;
        let width = shown.iter().map(|object| object.name.len()).max().unwrap_or(0);
        let lines = Lines::new(&metrics, width, view.width());
        let left_out = lines.left_out();
        let mut show = Show { lines, selection };
        let live = Live::new(metrics, sources.counters());
        let finish = output.clone();
        let mut look: Box<Look<'_>> = match screen {
            #[cfg(feature = "screen")]
            true => {
                let mut screen = super::screen::Screen::open(&preamble, show.selection.clone())?;
                Box::new(move |live, time| screen.draw(live, time))
            }
            _ => Box::new(move |live, time| show.sample(live, time, &mut output).map(ControlFlow::Continue)),
        };
        match trace {
            Some(file) => {
                let mut writer =
                    TraceWriter::new(BufWriter::new(file), &preamble, sources.counters()).map_err(Failure::run)?;
                self.sample(&mut sources, &mut sampler, &mut writer, live, &mut look)?;
                writer.finish().map_err(Failure::run)?.into_inner().map_err(Failure::run)?;
            }
            None => self.sample(&mut sources, &mut sampler, &mut Nowhere, live, &mut look)?,
        }
        drop(look);
        let Event::Summary { ticks, sample_ns, .. } = sampler.summary() else { return Ok(()) };
        if !self.records.replaces_table() {
            let closing = format!("\n{left_out}{}\n", times(0, sampler.time_ns(), ticks, Some(sample_ns)));
            print(report::paragraph(&closing, &view))?;
        }
        finish.finish()
    }

    fn sample<K: Keeper>(
        &self,
        sources: &mut Sources,
        sampler: &mut Sampler,
        trace: &mut K,
        mut live: Live,
        look: &mut Look<'_>,
    ) -> Result<(), Failure> {
        let itself = Itself::begin();
        let mut samples = 0;
        let mut both = Tee(trace, &mut live);
        drive(sources, sampler, &mut both, |Tee(_, live), sampled| {
            if sampled {
                // The first sample is where all counts begin.
                let time = live.time_ns();
                if samples > 0 && look(live, time)?.is_break() {
                    return Ok(ControlFlow::Break(None));
                }
                samples += 1;
            }
            let done = self.count.is_some_and(|count| samples > count) || itself.is_interrupted();
            Ok(if done { ControlFlow::Break(None) } else { ControlFlow::Continue(()) })
        })
    }
}

/// Shows a sample at a time in nanoseconds; whoever looks may have had enough.
type Look<'a> = dyn FnMut(&Live, u64) -> Result<ControlFlow<()>, Failure> + 'a;

/// Prints samples as lines or records.
struct Show {
    lines: Lines,
    selection: profile::selection::Selection,
}

impl Show {
    fn sample(&mut self, live: &Live, time: u64, output: &mut Output<SampleRow>) -> Result<(), Failure> {
        for object in live.sampled() {
            let about = &live.objects()[object];
            if !self.selection.wants(about) {
                continue;
            }
            let values = (0..live.metrics().len()).map(|metric| live.value(metric, object));
            // Counts of the whole machine would need a heading of their own for every sample.
            let asked = self.selection.all || !self.selection.metrics.is_empty();
            if output.wants_table() && (asked || about.kind != ObjectKind::Machine) {
                let line = self.lines.line(time, about, values.clone());
                print(line.unwrap_or_default())?;
            }
            for (resolved, value) in live.metrics().iter().zip(values) {
                if let Some((value, estimate)) = value {
                    output.write(&profile::lines::row(time, about, &resolved.metric, value, estimate))?;
                }
            }
        }
        Ok(())
    }
}

/// Where a trace goes that nobody asked for.
struct Nowhere;

impl profile::Sink for Nowhere {
    fn object(&mut self, _: u64, _: &trace::Object) -> Result<(), trace::WriteError> {
        Ok(())
    }
    fn event(&mut self, _: u64, _: &Event) -> Result<(), trace::WriteError> {
        Ok(())
    }
    fn sample(&mut self, _: u64, _: u32, _: &[trace::Value]) -> Result<(), trace::WriteError> {
        Ok(())
    }
}

impl Keeper for Nowhere {}
