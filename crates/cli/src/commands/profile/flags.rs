//! Flags of sampling: how often, of what, by whom.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use host::discovery::{Inventory, KernelFiles};
use host::threads;
use profile::Sources;
use profile::linux::{self, Wanted};
use profile::selection::Selection;
use trace::metric::{Metric, built_in, parse};
use units::CpuId;

use crate::failure::Failure;

/// A time as people write it: `50ms`, `1s`, `200us`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nanoseconds<const BARE: u64>(pub u64);

/// The unit of a bare number: milliseconds after `-s`, as for snrun, and seconds after `sar`, as for sar.
pub const MILLISECONDS: u64 = 1_000_000;
pub const SECONDS: u64 = 1_000_000_000;

impl<const BARE: u64> FromStr for Nanoseconds<BARE> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = match unit.trim() {
            "" => BARE,
            "s" => SECONDS,
            "ms" => MILLISECONDS,
            "us" => 1_000,
            "ns" => 1,
            _ => 0,
        };
        let ns = number.parse::<f64>().map_or(0.0, |number| number * unit as f64);
        // A day is more than anybody waits between two samples.
        let accepted = (1.0..=86_400e9).contains(&ns);
        if accepted {
            Ok(Self(ns as u64))
        } else {
            Err("accepted: a time from 1ns to 86400s, such as 50ms, 1s, 200us".to_owned())
        }
    }
}

/// Which objects and metrics are shown.
#[derive(Args, Debug, Clone)]
pub struct SelectionFlags {
    /// Show this node (repeatable), by number or path; links and threads are then shown only if named as well.
    #[arg(long, short = 'n', value_name = "N")]
    node: Vec<String>,
    /// Show this link or router port (repeatable), by name or path.
    #[arg(long, visible_alias = "port", value_name = "NAME")]
    link: Vec<String>,
    /// Show this thread (repeatable): t0, or its system thread ID.
    #[arg(long, value_name = "NAME")]
    thread: Vec<String>,
    /// Show this metric (repeatable, or comma-separated), or this counter as KIND.NAME [default: the main metrics].
    #[arg(long, short = 'a', value_name = "NAME", value_delimiter = ',')]
    metric: Vec<String>,
    /// Show all available metrics.
    #[arg(long)]
    all: bool,
    /// Also read metrics from this TOML file, in the format of counters/ (repeatable).
    #[arg(long, value_name = "FILE")]
    metrics: Vec<PathBuf>,
}

impl SelectionFlags {
    /// The objects and metrics that the flags name.
    pub fn selection(&self) -> Selection {
        Selection {
            nodes: self.node.clone(),
            links: self.link.clone(),
            threads: self.thread.clone(),
            metrics: self.metric.clone(),
            all: self.all,
            begun: None,
        }
    }

    /// The metrics that are declared: the user's own before those built in.
    ///
    /// # Errors
    /// When a file cannot be read or understood.
    pub fn declared(&self) -> Result<Vec<Metric>, Failure> {
        let mut declared = Vec::new();
        for path in &self.metrics {
            let accepted = "a TOML file as those in counters/";
            let text = input::text(path, input::WRITTEN)
                .map_err(|error| Failure::flag("--metrics", path.display(), error, accepted))?;
            declared.extend(parse(&path.display().to_string(), &text).map_err(Failure::input)?);
        }
        declared.extend(built_in());
        Ok(declared)
    }
}

/// How this computer is sampled.
#[derive(Args, Debug, Clone, Default)]
pub struct SamplerFlags {
    /// Also count this event (repeatable), in the kernel's notation: uncore_imc/cas_count_read/, cpu/event=0xb7,umask=1/.
    #[arg(long, value_name = "UNIT/EVENT/")]
    event: Vec<String>,
    /// Pin the sampler to this CPU; on a simulated machine: the processor that reads the counters and spends the time [default
    /// there: counters are read at no cost].
    #[arg(short = 'r', long, value_name = "CPU")]
    runon: Option<u16>,
    /// Run the sampler at this real-time priority (SCHED_FIFO); requires CAP_SYS_NICE [without P: 1].
    #[arg(long, value_name = "P", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = clap::value_parser!(u8).range(i64::from(*threads::REAL_TIME.start())..=i64::from(*threads::REAL_TIME.end())))]
    rtprio: Option<u8>,
}

impl SamplerFlags {
    /// The simulated processor that reads a simulated machine's counters, if one is to.
    ///
    /// # Errors
    /// When something is asked for that only this computer has.
    pub fn simulated_reader(&self) -> Result<Option<CpuId>, Failure> {
        let refused = |flag, value: String, accepted| {
            Err(Failure::flag(flag, value, "not applicable to a simulated machine", accepted))
        };
        match (self.event.first(), self.rtprio) {
            (Some(event), _) => refused("--event", event.clone(), "--metric COUNTER; see --list"),
            (_, Some(priority)) => refused("--rtprio", priority.to_string(), "--runon CPU"),
            _ => Ok(self.runon.map(CpuId)),
        }
    }

    /// This computer and its sources.
    ///
    /// # Errors
    /// When an event is not there, or the computer cannot be examined.
    pub fn sources(&self, descendants: bool) -> Result<(KernelFiles, Inventory, Sources), Failure> {
        let files = KernelFiles::live();
        let inventory = Inventory::discover(&files).map_err(Failure::run)?;
        if let Some(cpu) = self.runon
            && !inventory.usable_cpus().contains(&CpuId(cpu))
        {
            let accepted = units::ranges(inventory.usable_cpus().iter().map(|cpu| cpu.0));
            let problem = format!("CPU {cpu} is not in this process's affinity mask");
            return Err(Failure::flag("--runon", cpu, problem, format!("CPUs {accepted}")));
        }
        host::children::open_many_files();
        let wanted = Wanted { events: self.event.clone(), descendants };
        // The library's words begin with `event`, as the flag does.
        let refused = |error: linux::EventError| Failure::input(format!("--{error}"));
        let sources = linux::sources(&files, &inventory, &wanted).map_err(refused)?;
        Ok((files, inventory, sources))
    }

    /// Puts the calling thread before others if that was asked for. A program that it starts is not.
    ///
    /// # Errors
    /// When the user may not.
    pub fn come_first(&self) -> Result<(), Failure> {
        self.rtprio.map_or(Ok(()), |priority| threads::run_before_others(priority).map_err(Failure::input))
    }

    /// Moves the calling thread to the CPU that was asked for. To be called after the program was started, which would
    /// inherit it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn move_there(&self, inventory: &Inventory) -> Result<(), Failure> {
        match self.runon {
            Some(cpu) => threads::pin(CpuId(cpu), inventory).map_err(Failure::run),
            None => Ok(()),
        }
    }
}

/// Opens a trace.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn open(path: &Path) -> Result<trace::Trace, Failure> {
    trace::Trace::open(path).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let read = |text: &str| text.parse::<Nanoseconds<MILLISECONDS>>().map(|ns| ns.0);
        let times =
            [("50ms", 50_000_000), ("50", 50_000_000), ("1s", SECONDS), ("0.5s", SECONDS / 2), ("200us", 200_000)];
        for (text, ns) in times {
            assert_eq!(read(text), Ok(ns), "{text}");
        }
        for wrong in ["", "0", "ms", "5min", "-1s", "1e9s", "90000s", "1.2.3"] {
            assert!(read(wrong).expect_err(wrong).contains("accepted"), "{wrong}");
        }
        assert_eq!("2".parse::<Nanoseconds<SECONDS>>().map(|ns| ns.0), Ok(2 * SECONDS));
    }
}
