//! `ccnuma bench`: what a memory access costs, by state, request and placement.

use bench::{Experiment, Layout, Placement, Plan, PlanError, Settings, State, Suite, SuiteScope};
use clap::Args;
use experiments::formula::Measurement;
use experiments::{Outcome, Outcomes, Reproduction, parallel, run_plan};
use machine::Resolved;
use record::Record;
use units::{Bytes, CpuId, Duration, NodeId};

use crate::failure::Failure;
use crate::output::{Output, OutputFlags, print};
use crate::platform::MachineFlag;
use crate::progress;

/// Measure latencies and bandwidths of coherence transactions.
#[derive(Args, Debug)]
#[command(after_help = "Experiments:
  lmbench-read lmbench-rdex lmbench-upgrd     back-to-back latency of loads, stores, upgrades
  restart-read restart-rdex                   restart latency
  bw-read bw-rdsh bw-rdex bw-zero bw-upgrd    bandwidth
  bwmp-read                                   bandwidth of several readers, stopped together
  p3-ru p3-rmw                                one point of a P3 diagram (--array, --stride)

Examples:
  ccnuma bench -m arctic --suite local
      the table of local results, beside the published one where there is one
  ccnuma bench -m arctic --home 1 --local 2 --remote 0 --state CEXM lmbench-read --json
      CPU 2 reads lines of node 1 that CPU 0 owned and dropped
  ccnuma bench -m arctic --suite interventions --csv=interventions.csv
  ccnuma bench -m mine.toml --local 0 --local 1 bwmp-read")]
pub struct BenchCommand {
    #[command(flatten)]
    machine: MachineFlag,
    /// What to measure, one or more; without any, the suite.
    #[arg(value_name = "EXPERIMENT", conflicts_with = "suite")]
    experiments: Vec<String>,
    /// Run a suite whose placements follow from the topology: local remote interventions invalidations all
    /// [default: local].
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["state", "home", "local", "remote"])]
    suite: Option<String>,
    /// Coherence state of the lines: UOWN SHRD CEXH CEXM DEXD DEXT [default: UOWN].
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// The node whose memory holds the lines [default: 0].
    #[arg(long, value_name = "NODE")]
    home: Option<u16>,
    /// A requesting CPU (repeatable) [default: the first CPU of the home].
    #[arg(long, value_name = "CPU")]
    local: Vec<u16>,
    /// A CPU that owns or shares the lines (repeatable).
    #[arg(long, value_name = "CPU")]
    remote: Vec<u16>,
    #[command(flatten)]
    thoroughness: ThoroughnessFlags,
    /// Array of a P3 experiment, in KiB.
    #[arg(long, value_name = "KIB", default_value_t = 32 << 10)]
    array: u64,
    /// Stride of a P3 experiment, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 128)]
    stride: u64,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    restart: RestartFlags,
}

/// How thoroughly to measure.
#[derive(Args, Debug, Clone)]
pub struct ThoroughnessFlags {
    /// How often each measurement is repeated [default: 3].
    #[arg(long, value_name = "N")]
    iterations: Option<u32>,
    /// Lines in a requester's list or array [default: by experiment].
    #[arg(long, value_name = "N")]
    lines: Option<u64>,
    /// In suites, how many nodes to visit at each distance [default: all].
    #[arg(long, value_name = "N")]
    nodes_per_distance: Option<usize>,
    /// Seed of the hardware's random choices (cache replacement).
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl ThoroughnessFlags {
    /// The settings of plans and the extent of suites.
    ///
    /// # Errors
    /// When a number is zero that must not be.
    pub fn scope(&self) -> Result<SuiteScope, Failure> {
        let mut settings = Settings::simulated();
        if self.nodes_per_distance == Some(0) {
            return Err(Failure::flag("--nodes-per-distance", 0, "nothing would be measured", "1 or more"));
        }
        if self.iterations == Some(0) {
            return Err(Failure::flag("--iterations", 0, "nothing would be measured", "1 or more"));
        }
        settings.iterations = self.iterations.unwrap_or(settings.iterations);
        settings.lines = self.lines;
        Ok(SuiteScope { settings, nodes_per_distance: self.nodes_per_distance })
    }

    /// The options of the simulator.
    pub fn simulation(&self) -> sim::Options {
        sim::Options { seed: self.seed, ..sim::Options::default() }
    }
}

/// The search for the restart latency.
#[derive(Args, Debug)]
#[command(next_help_heading = "Restart search")]
struct RestartFlags {
    /// Steps in the moving window [default: 13].
    #[arg(long, value_name = "STEPS")]
    window: Option<usize>,
    /// How far the moving mean may wander either way, in ns [default: 5].
    #[arg(long, value_name = "NS")]
    bound: Option<f64>,
    /// Steps for which it must stay put [default: 19].
    #[arg(long, value_name = "STEPS")]
    stable: Option<usize>,
    /// The most work instructions to try [default: 256].
    #[arg(long, value_name = "N")]
    max_work: Option<u32>,
}

impl BenchCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// When the input cannot be used, a measurement fails or the output does.
    pub fn run(self) -> Result<(), Failure> {
        let machine = self.machine.resolved()?;
        let scope = self.scope()?;
        let layout = Layout::simulated(&machine.description).map_err(Failure::input)?;
        if !self.experiments.is_empty() {
            let plans = self.plans(&layout, &scope.settings)?;
            let records = self.measure(&machine, &plans, |_, _| ())?;
            return match &records {
                Some(records) => print(report::measurements(&machine.description.title, records)),
                None => Ok(()),
            };
        }
        self.refuse_placement()?;
        let suite: Suite = self.suite.as_deref().unwrap_or("local").parse().map_err(Failure::input)?;
        let plans = suite.plans(&layout, &scope).map_err(Failure::input)?;
        let tables = Reproduction::of_suite(suite, &machine.description, scope).map_err(Failure::input)?;
        let mut outcomes = Outcomes::new();
        let keep = |plan: &Plan, outcome| {
            outcomes.insert(Measurement::of_plan(&machine.description.name, plan), Outcome::Bench(Box::new(outcome)));
        };
        if self.measure(&machine, &plans, keep)?.is_some() {
            super::reproduce::print_tables(&tables, &outcomes)?;
        }
        Ok(())
    }

    fn scope(&self) -> Result<SuiteScope, Failure> {
        let mut scope = self.thoroughness.scope()?;
        let search = &mut scope.settings.restart;
        search.window = self.restart.window.unwrap_or(search.window);
        search.stable = self.restart.stable.unwrap_or(search.stable);
        search.max_work = self.restart.max_work.unwrap_or(search.max_work);
        if let Some(bound) = self.restart.bound {
            if !(bound.is_finite() && bound > 0.0) {
                return Err(Failure::flag(
                    "--bound",
                    bound,
                    "the restart search cannot end",
                    "a positive number of ns",
                ));
            }
            search.bound = Duration::from_ns(bound);
        }
        let kib = self.array;
        if kib == 0 || kib > 1 << 20 {
            return Err(Failure::flag("--array", kib, "no such array", "1 to 1048576 KiB"));
        }
        scope.settings.array = Bytes::from_kib(kib);
        scope.settings.stride = Bytes(self.stride);
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
                Err(Failure::flag(flag, value, "a placement needs an EXPERIMENT", names))
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

    /// Runs the plans on all cores and writes their records in order. The records, if a table is wanted.
    fn measure(
        &self,
        machine: &Resolved,
        plans: &[Plan],
        mut keep: impl FnMut(&Plan, bench::Outcome),
    ) -> Result<Option<Vec<Record>>, Failure> {
        let mut output: Output<Record> = self.output.open()?;
        self.output.describe_machine(None, &machine.to_toml())?;
        let bar = progress::bar(plans.len(), "experiments");
        let (options, description) = (self.thoroughness.simulation(), &machine.description);
        let mut records = Vec::new();
        let work = |plan: &Plan| run_plan(description, plan, options);
        let deliver = |index: usize, result: Result<bench::Outcome, _>| -> Result<(), Failure> {
            let outcome = result.map_err(Failure::run)?;
            for warning in &outcome.warnings {
                bar.suspend(|| eprintln!("warning: {} {}: {warning}", outcome.record.experiment, outcome.record.state));
            }
            output.write(&outcome.record)?;
            records.push(outcome.record.clone());
            keep(&plans[index], outcome);
            Ok::<(), Failure>(())
        };
        let result = parallel::in_order(plans, work, |done| bar.set_position(done as u64), deliver);
        bar.finish_and_clear();
        result?;
        Ok(output.wants_table().then_some(records))
    }
}
