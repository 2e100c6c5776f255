//! `ccnuma verify`: every reachable state of a protocol, and random programs on machines that run it.

mod random;
mod servers;

use std::io::Write;

use clap::{Args, ValueEnum};
use record::{VerificationResult, VerificationRow};
use report::VerificationLines as Lines;
use verify::{Config, ConfigError, Consistency, Litmus, Outcome, Protocol, Run};

use crate::failure::Failure;
use crate::output::{Output, OutputFlags, print};
use crate::progress;
use random::{RandomFlags, RandomRun, in_range};

/// Model-check a coherence protocol: explore all reachable states and print a shortest counterexample if there is one. Or test
/// it with random programs on a simulated machine (--random).
#[derive(Args, Debug)]
#[command(
    after_help = "Protocols: origin sci moesi mesi moesi-cluster; of nodes with their buses: cluster cluster/mesi cluster/RC;
of servers: server/haswell server/early server/cod server/directory server/skylake server/snoop
server/snoop-early server/zen;
of FLASH: bit-vector bit-vector/RH bit-vector/IC bit-vector/IR cv=2 cv=2/LB broadcast limited-pointer
limited-pointer/B dynamic-pointer dynamic-pointer/IR dynamic-pointer/RAC hybrid hybrid/all-shared hybrid/IC hybrid/IR
hybrid/RAC.

Examples:
  ccnuma verify origin                         three caches, one line
  ccnuma verify origin --caches 2 --lines 2 --stats
  ccnuma verify origin --accesses all          with prefetches, uncached and poisoning reads: 26 million states
  ccnuma verify origin --mutation skip-wait    an injected fault is found
  ccnuma verify sci --caches 4                 a longer sharing list: 3.5 million states
  ccnuma verify cluster --caches 4 --processors-per-node 2
  ccnuma verify server/skylake --processors-per-node 2    three cores in two sockets
  ccnuma verify hybrid --all --json            all recommended configurations, and the litmus tests
  ccnuma verify hybrid/IR --litmus message-passing
  ccnuma verify origin --transitions           what the home does with each message in each state
  ccnuma verify --all                          every protocol
  ccnuma verify --random hybrid/RAC --seeds 50 --nodes 64 --lines 4096 --stats
  ccnuma verify --random server/zen --nodes 8 --cores 64    eight sockets
  ccnuma verify --random --json                every simulated protocol, all loads and stores checked

--random accepts any FLASH protocol at full size (cv=N, cv=N/LB and limited-pointer=N for any N; with /IC, /IR, /RAC), origin, the
systems of clusters (cluster/mig-rep, cluster/r-numa ...), and those of servers, of which server/cod and server/snc divide sockets.
In its rows, `states` is the number of loads and stores checked, `depth` the number of misses on the most contended line.

Exit code 1 if a property is violated. Litmus tests may violate sequential consistency in protocols that do not guarantee it."
)]
pub struct VerifyCommand {
    /// The protocol.
    #[arg(value_name = "PROTOCOL", required_unless_present_any = ["all", "random"])]
    protocol: Option<String>,
    /// Number of caches.
    #[arg(long, value_name = "N", default_value_t = 3)]
    caches: u16,
    /// Number of lines [default: 1; --random: 2048].
    #[arg(long, value_name = "N")]
    lines: Option<u32>,
    /// Processors per node.
    #[arg(long, value_name = "N", default_value_t = 1)]
    processors_per_node: u16,
    /// Accesses besides evictions, as far as the protocol supports them [default: all for up to 2 caches and 1 line, otherwise
    /// cached accesses].
    #[arg(long, value_name = "WHICH")]
    accesses: Option<Accesses>,
    /// Inject this fault into the protocol, to test the checker.
    #[arg(long, value_name = "NAME", requires = "protocol")]
    mutation: Option<String>,
    /// Stop after N states; each takes about 100 bytes.
    #[arg(long, value_name = "N", default_value_t = Config::STATE_LIMIT)]
    max_states: usize,
    /// Explore all recommended configurations, smallest first, run all litmus tests, and a random test if a machine runs the
    /// protocol; without PROTOCOL: for every protocol.
    #[arg(long, conflicts_with_all = ["caches", "lines", "processors_per_node", "accesses"])]
    all: bool,
    /// Run a litmus test: message-passing, store-buffering or independent-reads; message-passing/x86 and the like on
    /// processors that reorder.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["all", "mutation", "caches", "lines", "processors_per_node", "accesses"])]
    litmus: Option<String>,
    /// Explore nothing, and print the transition tables of PROTOCOL's family: what its agents do with each message in each
    /// state, which cases cannot occur, and why.
    #[arg(
        long,
        requires = "protocol",
        conflicts_with_all = [
            "caches", "lines", "processors_per_node", "accesses", "mutation", "max_states", "all", "litmus", "stats", "random",
            "seeds", "first_seed", "nodes", "cores", "references", "json", "csv", "columns", "force"
        ]
    )]
    transitions: bool,
    /// Also print transitions, states per second and memory.
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    random: RandomFlags,
    #[command(flatten)]
    output: OutputFlags,
}

/// Operations of processors, besides evictions.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Accesses {
    /// Loads and stores.
    Basic,
    /// Also prefetches for reading: READ, RDSH, RDEX, UPGRD and WB.
    Cached,
    /// Also prefetches for writing, and uncached and poisoning reads.
    All,
}

impl Accesses {
    fn list(self) -> Vec<protocol::Access> {
        match self {
            Self::Basic => vec![protocol::Access::Load, protocol::Access::Store],
            Self::Cached => Config::CACHED_ACCESSES.to_vec(),
            Self::All => Config::ALL_ACCESSES.to_vec(),
        }
    }
}

/// One exploration to be done.
enum Job {
    /// Any accesses of processors.
    Explore(Protocol, Config),
    /// The accesses of a litmus test.
    Litmus(Protocol, Litmus),
    /// No exploration: random programs on a simulated machine.
    Random(Box<RandomRun>),
}

/// Outcome of a job.
struct Done {
    row: VerificationRow,
    /// Text of `--stats`.
    statistics: String,
    /// How a property is broken.
    counterexample: Option<String>,
}

impl Job {
    /// The label of its row.
    fn label(&self) -> String {
        match self {
            Self::Explore(protocol, config) => {
                let mutation = config.mutation.map(|mutation| format!("+{mutation}")).unwrap_or_default();
                format!("{}{mutation}", protocol.name)
            }
            Self::Litmus(protocol, litmus) => format!("{}: {}", protocol.name, litmus.name),
            Self::Random(run) => run.label().to_owned(),
        }
    }

    /// How many steps of progress it is.
    fn steps(&self) -> usize {
        match self {
            Self::Explore(..) | Self::Litmus(..) => 1,
            Self::Random(run) => run.tests(),
        }
    }

    fn run(&self, step: &dyn Fn()) -> Result<Done, Failure> {
        let run = match self {
            Self::Explore(protocol, config) => protocol.run(config),
            Self::Litmus(protocol, litmus) => protocol.run_litmus(litmus),
            Self::Random(run) => return Ok(run.run(step)),
        };
        let run = run.map_err(of_config)?;
        let counterexample = match &run.outcome {
            Outcome::Counterexample(trace) => Some(trace.to_string()),
            Outcome::Ok => None,
        };
        step();
        Ok(Done { row: row(self.label(), &run), statistics: statistics(&run), counterexample })
    }

    /// Whether a counterexample is what the protocol is known for.
    fn may_fail(&self) -> bool {
        matches!(self, Self::Litmus(protocol, _) if protocol.consistency == Consistency::Relaxed)
    }
}

impl VerifyCommand {
    /// Runs the command. True if every property holds that the protocols promise.
    ///
    /// # Errors
    /// When there is no such protocol, it cannot be explored so, or the output fails.
    pub fn run(self) -> Result<bool, Failure> {
        if let (Some(name), true) = (&self.protocol, self.transitions) {
            let protocol = verify::protocol(name).map_err(of_config)?;
            print(report::document(&transitions(protocol.transitions), &self.output.view()))?;
            return Ok(true);
        }
        let jobs = self.jobs()?;
        let mut output: Output<VerificationRow> = self.output.open()?;
        let view = self.output.view();
        let lines = Lines::new(jobs.iter().map(Job::label), &view);
        let (mut statistics, mut broken) = (String::new(), None);
        let unit = if self.random.random { "tests" } else { "runs" };
        let bar = progress::bar(jobs.iter().map(Job::steps).sum(), unit);
        if output.wants_table() {
            progress::aside(|| print(lines.heading()))?;
        }
        for job in &jobs {
            let done = job.run(&|| bar.step())?;
            output.write(&done.row)?;
            if output.wants_table() {
                // As it comes: who reads it through a pipe sees it now.
                progress::aside(|| print(lines.line(&done.row)))?;
            }
            statistics += &done.statistics;
            let expected = job.may_fail();
            if let Some(trace) = done.counterexample.filter(|_| jobs.len() == 1 || !expected) {
                broken = Some((trace, expected));
                break;
            }
        }
        drop(bar);
        if output.wants_table() && self.stats {
            print(report::paragraph(&statistics, &view))?;
        }
        let wants_table = output.wants_table();
        output.finish()?;
        let Some((trace, expected)) = broken else { return Ok(true) };
        if wants_table {
            print(report::paragraph(&format!("\n{trace}"), &view))?;
        } else {
            // Standard output holds records alone.
            write!(std::io::stderr(), "{trace}")?;
        }
        Ok(expected)
    }

    /// The jobs to do, checked.
    fn jobs(&self) -> Result<Vec<Job>, Failure> {
        if self.random.random {
            let runs = self.random.runs(self.protocol.as_deref(), self.lines, self.mutation.as_deref())?;
            return Ok(runs.into_iter().map(|run| Job::Random(Box::new(run))).collect());
        }
        let protocols = match &self.protocol {
            Some(name) => vec![verify::protocol(name).map_err(of_config)?],
            None => verify::protocols().copied().collect(),
        };
        let mut jobs = Vec::new();
        for protocol in protocols {
            for config in self.configurations(&protocol)? {
                protocol.check(&config).map_err(of_config)?;
                jobs.push(Job::Explore(protocol, config));
            }
            let plain = self.all && self.mutation.is_none();
            let litmus = Litmus::every().filter(|litmus| plain || self.litmus.as_deref() == Some(litmus.name));
            jobs.extend(litmus.map(|litmus| Job::Litmus(protocol, litmus)));
            let short = if plain { RandomRun::short(protocol.name)? } else { None };
            jobs.extend(short.map(|run| Job::Random(Box::new(run))));
        }
        if let (Some(name), true) = (&self.litmus, jobs.is_empty()) {
            let accepted = Litmus::every().map(|litmus| litmus.name).collect::<Vec<_>>().join(", ");
            return Err(Failure::flag("--litmus", name, "unknown litmus test", accepted));
        }
        Ok(jobs)
    }

    fn configurations(&self, protocol: &Protocol) -> Result<Vec<Config>, Failure> {
        let mutation = self.mutation.as_deref().map(|name| planted(protocol, name)).transpose()?;
        let mut configurations = if self.all {
            (protocol.configurations)()
        } else if self.litmus.is_some() {
            vec![]
        } else {
            // A number beyond what any model has room for is refused with the model's own range.
            let lines = self.lines.map_or(1, |lines| u16::try_from(lines).unwrap_or(u16::MAX));
            let config = protocol.config(self.caches, lines);
            vec![Config { processors_per_node: self.processors_per_node, ..config }]
        };
        for config in &mut configurations {
            config.mutation = mutation;
            config.state_limit = self.max_states;
            if let Some(accesses) = self.accesses {
                config.accesses = accesses.list();
                config.accesses.retain(|access| protocol.limits.accesses.contains(access));
            }
        }
        Ok(configurations)
    }
}

/// Transition tables without the paragraph that tells how they are generated, which concerns the repository alone.
pub fn transitions(tables: &str) -> String {
    let paragraphs = tables.split("\n\n").filter(|paragraph| !paragraph.starts_with("Generated from"));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn planted(protocol: &Protocol, name: &str) -> Result<&'static str, Failure> {
    let accepted = || (protocol.faults)().iter().map(|fault| fault.name).collect::<Vec<_>>().join(", ");
    let fault = protocol.fault(name).map_err(|_| Failure::flag("--mutation", name, "unknown fault", accepted()))?;
    Ok(fault.name)
}

fn row(protocol: String, run: &Run) -> VerificationRow {
    VerificationRow {
        protocol,
        caches: run.caches.into(),
        lines: run.lines.into(),
        states: run.states,
        depth: run.depth,
        result: match run.outcome {
            Outcome::Ok => VerificationResult::Ok,
            Outcome::Counterexample(_) => VerificationResult::Counterexample,
        },
        seconds: run.time.as_secs_f64(),
    }
}

fn statistics(run: &Run) -> String {
    let (rate, mib) = (run.states_per_second(), run.memory as f64 / f64::from(1 << 20));
    let (caches, lines, transitions) = (run.caches, run.lines, run.transitions);
    format!("{caches} caches, {lines} lines: {transitions} transitions, {rate:.0} states/s, {mib:.1} MiB\n")
}

/// A number that is out of range belongs to the flag of the same name.
fn of_config(error: ConfigError) -> Failure {
    match error {
        ConfigError::OutOfRange { .. } => Failure::input(format!("--{error}")),
        ConfigError::UnknownProtocol { .. }
        | ConfigError::UnknownAccess { .. }
        | ConfigError::UnknownMutation { .. } => Failure::input(error),
        ConfigError::TooManyStates { .. } => Failure::run(error),
    }
}
