//! `ccnuma bench`: what a memory access costs, by state, request and placement.

mod against;
mod flags;
mod host;
mod simulated;

use std::path::PathBuf;

use bench::{Experiment, Layout, Placement, Plan, PlanError, Settings, State, Suite, SuiteScope};
use clap::Args;
use record::Record;
use report::View;
use units::{CpuId, Duration, NodeId};

use crate::failure::Failure;
use crate::output::{OutputFlags, note_unknown_column};
use crate::platform::{Machine, MachineFlag};
use crate::progress;
pub use flags::ThoroughnessFlags;
use flags::{ArrayFlags, HostFlags, RestartFlags};

/// Measure latencies and bandwidths of coherence transactions.
#[derive(Args, Debug)]
#[command(after_help = "Experiments:
  lmbench-read lmbench-rdex lmbench-upgrd     back-to-back latency of loads, stores, upgrades
  restart-read restart-rdex                   restart latency
  bw-read bw-rdsh bw-rdex bw-zero bw-upgrd    bandwidth
  bwmp-read                                   aggregate bandwidth of several readers
  bw-read-nt bw-write-nt                      bandwidth of non-temporal accesses
  stream-copy -scale -add -triad              bandwidth of the STREAM loops
  lmbench-cas ping-pong                       compare-and-swap; one-way latency of a line handed back and forth
  area-read                                   latency of random accesses to an array (--array, --stride)
  loaded-read                                 loaded latency, with traffic of other CPUs (--traffic, --pause)
  loaded-triad                                the same, the other CPUs running STREAM's triad
  p3-ru p3-rmw                                one point of a P3 diagram (--array, --stride)

Examples:
  ccnuma bench
      this computer: hierarchy, transactions by owner, bandwidths, loaded latency
  ccnuma bench --quick --pages 2M
      the same in a few seconds, on pages of a huge-page pool
  ccnuma bench --home 0 --local 1 --remote 0 --state DEXD lmbench-read
      CPU 1 of this computer reads lines of node 0 modified by CPU 0
  ccnuma bench -m arctic --suite local
      local results with published ones where available
  ccnuma bench -m arctic --home 1 --local 2 --remote 0 --state CEXM lmbench-read --json
      CPU 2 reads lines of node 1 owned and silently evicted by CPU 0
  ccnuma bench -m arctic --suite interventions --csv=interventions.csv
  ccnuma bench -m mine.toml --local 0 --local 1 bwmp-read
  ccnuma bench --suite fit --json=all.jsonl
      what `ccnuma fit all.jsonl --machine-out mine.toml` describes this computer from
  ccnuma bench -m mine.toml --against all.jsonl
      every record of the file beside its simulation")]
pub struct BenchCommand {
    #[command(flatten)]
    machine: MachineFlag,
    /// Experiments to run [default: the suite].
    #[arg(value_name = "EXPERIMENT", conflicts_with = "suite")]
    experiments: Vec<String>,
    /// Run a suite, with placements derived from the topology: local remote interventions invalidations random-sharers
    /// hierarchy places cores nodes bandwidth loaded regions mlc fit overview all [default: overview of this computer, local of a
    /// simulated one].
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["state", "home", "local", "remote"])]
    suite: Option<String>,
    /// Coherence state of the lines: UOWN SHRD CEXH CEXM DEXD DEXT [default: UOWN].
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Home node of the lines [default: 0].
    #[arg(long, value_name = "NODE")]
    home: Option<u16>,
    /// Requesting CPU (repeatable) [default: the first CPU of the home node].
    #[arg(long, value_name = "CPU")]
    local: Vec<u16>,
    /// CPU that owns or shares the lines (repeatable).
    #[arg(long, value_name = "CPU")]
    remote: Vec<u16>,
    /// Repeat the records of FILE, from `ccnuma bench --json=FILE`, on the simulated machine: measured, simulated and error of each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["experiments", "suite", "state", "home", "local", "remote", "iterations"])]
    against: Option<PathBuf>,
    #[command(flatten)]
    thoroughness: ThoroughnessFlags,
    #[command(flatten)]
    array: ArrayFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    host: HostFlags,
    #[command(flatten)]
    restart: RestartFlags,
}

/// The tables of records, each after an empty line but the first.
fn tables(title: &str, records: &[Record], view: &View) -> String {
    let levels = experiments::fitting::levels_in_words(records);
    let tables = report::series_tables(title, records, &levels, view);
    note_unknown_column(view, &tables);
    let mut shown: Vec<String> = tables.iter().map(|table| table.shown(view)).collect();
    shown.extend(experiments::fitting::pairs_in_words(records).map(|words| report::paragraph(&words, view)));
    shown.join("\n")
}

/// A note on a suite that has nothing to measure.
fn note_if_nothing(plans: &[Plan]) {
    if plans.is_empty() {
        progress::say("note: nothing to measure: the experiments of this suite need more processors or nodes");
    }
}

/// The tables of a suite, or its text in the layout of Intel MLC.
fn suite_tables(suite: Suite, title: &str, records: &[Record], view: &View) -> String {
    if suite == Suite::Mlc { report::mlc(title, records, &[]) } else { tables(title, records, view) }
}

/// The text of those records of the suite `mlc` that there are, with what is missing.
fn unfinished_mlc(
    title: &str,
    plans: &[Plan],
    layout: &Layout,
) -> Result<impl Fn(&[Record]) -> String + Send + use<>, Failure> {
    let planned: Vec<Vec<Record>> =
        plans.iter().map(|plan| plan.unmeasured(layout)).collect::<Result<_, _>>().map_err(Failure::input)?;
    let (planned, title) = (planned.concat(), title.to_owned());
    Ok(move |records: &[Record]| report::mlc(&title, records, &planned))
}

impl BenchCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// When the input cannot be used, a measurement fails or the output does.
    pub fn run(self) -> Result<(), Failure> {
        match self.machine.machine()? {
            Machine::Host if self.against.is_some() => {
                let file = self.against.iter().map(|file| file.display().to_string()).collect::<String>();
                let accepted = "with -m and a simulated machine, as from `ccnuma fit FILE --machine-out mine.toml`";
                Err(Failure::flag("--against", file, "this computer was measured, not simulated", accepted))
            }
            Machine::Host => self.run_on_host(),
            Machine::Simulated(machine) => self.run_simulated(&machine),
        }
    }

    /// The scope of the measurements: that of `defaults`, where no flag asks for something else.
    fn scope(&self, defaults: Settings) -> Result<SuiteScope, Failure> {
        let mut scope = self.thoroughness.scope(defaults)?;
        self.array.apply(&mut scope.settings)?;
        let search = &mut scope.settings.restart;
        search.window = self.restart.window.unwrap_or(search.window);
        search.stable = self.restart.stable.unwrap_or(search.stable);
        search.max_work = self.restart.max_work.unwrap_or(search.max_work);
        if let Some(bound) = self.restart.bound {
            if !(bound.is_finite() && bound > 0.0) {
                return Err(Failure::flag(
                    "--bound",
                    bound,
                    "the restart search would not terminate",
                    "a positive number of ns",
                ));
            }
            search.bound = Duration::from_ns(bound);
        }
        Ok(scope)
    }

    /// A suite derives its placements: those that were given would be ignored.
    fn refuse_placement(&self) -> Result<(), Failure> {
        let given = [
            ("--state", self.state.clone()),
            ("--home", self.home.map(|home| home.to_string())),
            ("--local", self.local.first().map(ToString::to_string)),
            ("--remote", self.remote.first().map(ToString::to_string)),
        ];
        match given.into_iter().find_map(|(flag, value)| Some((flag, value?))) {
            None => Ok(()),
            Some((flag, value)) => {
                let names = Experiment::ALL.map(Experiment::name).join(" ");
                Err(Failure::flag(flag, value, "requires an EXPERIMENT", names))
            }
        }
    }

    /// The plans of the experiments named one by one.
    fn plans(&self, layout: &Layout, settings: &Settings) -> Result<Vec<Plan>, Failure> {
        let state: State = self.state.as_deref().unwrap_or("UOWN").parse().map_err(Failure::input)?;
        let home = NodeId(self.home.unwrap_or(0));
        let mut locals: Vec<CpuId> = self.local.iter().copied().map(CpuId).collect();
        if locals.is_empty() {
            locals.extend(layout.cpus_of(home).first());
        }
        let remotes: Vec<CpuId> = self.remote.iter().copied().map(CpuId).collect();
        let plan = |name: &String| -> Result<Plan, PlanError> {
            let experiment: Experiment = name.parse()?;
            let placement = Placement { home, locals: locals.clone(), remotes: remotes.clone() };
            let plan = Plan::new(experiment, state, placement, settings.clone());
            plan.validate(layout)?;
            Ok(plan)
        };
        self.experiments.iter().map(|name| plan(name).map_err(Failure::input)).collect()
    }
}
