//! The flags of `ccnuma bench`, by what they are about.

use std::path::PathBuf;
use std::time::Duration;

use bench::{HostOptions, ListOrder, Settings, Suite, SuiteScope, Traffic};
use clap::{Args, ValueEnum};
use host::memory::PageKind;
use units::Bytes;

use crate::failure::Failure;
use crate::size::Kib;

/// How thoroughly to measure.
#[derive(Args, Debug, Clone)]
pub struct ThoroughnessFlags {
    /// Samples of each measurement [default: 3 in a simulation, 11 on this computer, there 100 for the suite fit].
    #[arg(long, value_name = "N")]
    iterations: Option<u32>,
    /// Cache lines in a requester's list or array [default: by experiment].
    #[arg(long, value_name = "N")]
    lines: Option<u64>,
    /// In suites: nodes measured at each distance [default: all].
    #[arg(long, value_name = "N")]
    nodes_per_distance: Option<usize>,
    /// Random seed: cache replacement in a simulation, order of lists on this computer.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
}

impl ThoroughnessFlags {
    /// The settings of plans and the extent of suites.
    ///
    /// # Errors
    /// When a number is zero that must not be.
    pub fn scope(&self, defaults: Settings) -> Result<SuiteScope, Failure> {
        let mut settings = defaults;
        if self.nodes_per_distance == Some(0) {
            return Err(Failure::flag("--nodes-per-distance", 0, "no measurement would be made", "1 or more"));
        }
        if self.iterations == Some(0) {
            return Err(Failure::flag("--iterations", 0, "no measurement would be made", "1 or more"));
        }
        settings.iterations = self.iterations.unwrap_or(settings.iterations);
        settings.lines = self.lines;
        Ok(SuiteScope { nodes_per_distance: self.nodes_per_distance, ..SuiteScope::whole(settings) })
    }

    /// The options of the simulator.
    pub fn simulation(&self) -> sim::Options {
        sim::Options { seed: self.seed, ..sim::Options::default() }
    }
}

/// The search for the restart latency.
#[derive(Args, Debug)]
#[command(next_help_heading = "Restart search")]
pub(super) struct RestartFlags {
    /// Steps of the moving window [default: 13].
    #[arg(long, value_name = "STEPS")]
    pub(super) window: Option<usize>,
    /// Tolerance of the moving mean, in ns [default: 5].
    #[arg(long, value_name = "NS")]
    pub(super) bound: Option<f64>,
    /// Steps for which it must stay within the tolerance [default: 19].
    #[arg(long, value_name = "STEPS")]
    pub(super) stable: Option<usize>,
    /// Largest number of work instructions tried [default: 256].
    #[arg(long, value_name = "N")]
    pub(super) max_work: Option<u32>,
}

/// Arrays, lists and traffic.
#[derive(Args, Debug)]
#[command(next_help_heading = "Arrays and lists")]
pub(super) struct ArrayFlags {
    /// Array size of area-read, loaded-read, loaded-triad and P3 experiments, in KiB [default: 32768 in a simulation, 65536 on this
    /// computer].
    #[arg(long, value_name = "KIB")]
    array: Option<Kib>,
    /// Stride in that array, in bytes [default: 128 in a simulation, 256 on this computer].
    #[arg(long, value_name = "BYTES")]
    stride: Option<u64>,
    /// Spacing of the elements of latency lists, in lines [default: 1 in a simulation, 4 on this computer].
    #[arg(long, value_name = "LINES")]
    spacing: Option<u64>,
    /// Chunk size of region-read, in KiB [default: 16384].
    #[arg(long, value_name = "KIB")]
    chunk: Option<Kib>,
    /// Ratio of loads to stores of the traffic of loaded-read [default: 1:0].
    #[arg(long, value_name = "READS:WRITES")]
    traffic: Option<String>,
    /// Idle cycles between accesses of the traffic [default: 0].
    #[arg(long, value_name = "CYCLES")]
    pause: Option<u32>,
    /// Round trips per sample of ping-pong [default: 64 in a simulation, 1000 on this computer].
    #[arg(long, value_name = "N")]
    round_trips: Option<u64>,
}

impl ArrayFlags {
    /// Changes `settings` as asked for.
    ///
    /// # Errors
    /// When an array or a mix of traffic makes no sense.
    pub(super) fn apply(&self, settings: &mut Settings) -> Result<(), Failure> {
        settings.array = self.array.map_or(settings.array, |size| size.0);
        settings.chunk = self.chunk.map_or(settings.chunk, |size| size.0);
        settings.stride = self.stride.map_or(settings.stride, Bytes);
        settings.spacing = self.spacing.unwrap_or(settings.spacing);
        settings.round_trips = self.round_trips.unwrap_or(settings.round_trips);
        if let Some(mix) = &self.traffic {
            let numbers =
                mix.split_once(':').and_then(|(reads, writes)| Some((reads.parse().ok()?, writes.parse().ok()?)));
            let Some((reads, writes)) =
                numbers.filter(|&(reads, writes): &(u32, u32)| (1..=64).contains(&reads.saturating_add(writes)))
            else {
                return Err(Failure::flag(
                    "--traffic",
                    mix,
                    "not a mix of reads and writes",
                    "READS:WRITES, together 1 to 64, as in 2:1",
                ));
            };
            settings.traffic = Traffic { reads, writes, ..settings.traffic };
        }
        settings.traffic.pause = self.pause.unwrap_or(settings.traffic.pause);
        Ok(())
    }
}

/// The order of a list, on the command line.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum OrderName {
    /// By address (hardware prefetchers are effective).
    Ascending,
    /// Random over the whole list.
    Random,
    /// Random within a page, page by page.
    PageLocal,
}

/// Flags for real computers alone.
#[derive(Args, Debug)]
#[command(next_help_heading = "This computer only")]
pub(super) struct HostFlags {
    /// Take fewer samples and omit long measurements: a few seconds.
    #[arg(long)]
    pub(super) quick: bool,
    /// Stop sampling after N seconds, but take at least three samples of each measurement; 0: no limit [default: 45, or 7
    /// with --quick, for the overview; 120, or 0 with --quick, for the suite fit; otherwise 0].
    #[arg(long, value_name = "N")]
    pub(super) seconds: Option<u64>,
    /// Write plots into DIRECTORY: latency by size, loaded latency, and heat maps of cores and nodes, as far as measured.
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) svg: Option<PathBuf>,
    /// Pages of the measured memory: base (the kernel's page size), thp, or a huge-page pool such as 2M [default: base; suites
    /// that compare kinds use all].
    #[arg(long, value_name = "KIND")]
    pub(super) pages: Option<String>,
    /// Order of the elements of lists [default: random].
    #[arg(long, value_name = "ORDER")]
    order: Option<OrderName>,
}

impl HostFlags {
    /// Refuses them for a simulated machine.
    ///
    /// # Errors
    /// The first that was given.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let given = [
            ("--quick", self.quick.then(String::new)),
            ("--seconds", self.seconds.map(|seconds| seconds.to_string())),
            ("--svg", self.svg.as_ref().map(|path| path.display().to_string())),
            ("--pages", self.pages.clone()),
            (
                "--order",
                self.order.and_then(|order| order.to_possible_value()).map(|value| value.get_name().to_owned()),
            ),
        ];
        match given.into_iter().find_map(|(flag, value)| Some((flag, value?))) {
            None => Ok(()),
            Some((flag, value)) => {
                Err(Failure::flag(flag, value, "not applicable to a simulated machine", "only with -m host"))
            }
        }
    }

    /// How long samples are taken, where there is a limit.
    pub(super) fn limit(&self, suite: Option<Suite>) -> Option<Duration> {
        let default = match (suite, self.quick) {
            (Some(Suite::Overview), false) => 45,
            (Some(Suite::Overview), true) => 7,
            (Some(Suite::Fit), false) => 120,
            _ => 0,
        };
        Some(self.seconds.unwrap_or(default)).filter(|&seconds| seconds > 0).map(Duration::from_secs)
    }

    /// The options of this computer.
    ///
    /// # Errors
    /// When there is no such kind of pages.
    pub(super) fn options(&self, seed: u64) -> Result<HostOptions, Failure> {
        let pages: Option<PageKind> = match &self.pages {
            None => None,
            Some(kind) => Some(kind.parse().map_err(|error| Failure::input(format!("--pages {kind}: {error}")))?),
        };
        let order = match self.order {
            None | Some(OrderName::Random) => ListOrder::Random,
            Some(OrderName::Ascending) => ListOrder::Ascending,
            Some(OrderName::PageLocal) => ListOrder::PageLocal,
        };
        Ok(HostOptions { pages: pages.unwrap_or_default(), order, seed })
    }
}
