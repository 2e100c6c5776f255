//! `ccnuma verify`: every reachable state of a protocol.

use std::io::Write;

use clap::{Args, ValueEnum};
use record::{VerificationResult, VerificationRow};
use verify::{Config, ConfigError, Outcome, Protocol, Run};

use crate::failure::Failure;
use crate::output::{Output, OutputFlags, print};

/// Model-check a coherence protocol: explore every reachable state, print a shortest counterexample if there is one.
#[derive(Args, Debug)]
#[command(after_help = "Protocols: origin, sci, moesi, moesi-cluster.

Examples:
  ccnuma verify origin                         three caches, one line
  ccnuma verify origin --caches 2 --lines 2 --stats
  ccnuma verify origin --accesses all          with prefetches, uncached and poisoning reads: 26 million states
  ccnuma verify origin --mutation skip-wait    a planted fault is found
  ccnuma verify sci --caches 4                 a longer list of sharers: 3.5 million states
  ccnuma verify origin --all --json            every configuration worth exploring

Exit code 1 if a property is broken.")]
pub struct VerifyCommand {
    /// The protocol.
    #[arg(value_name = "PROTOCOL")]
    protocol: String,
    /// How many caches take part.
    #[arg(long, value_name = "N", default_value_t = 3)]
    caches: u16,
    /// How many lines they share.
    #[arg(long, value_name = "N", default_value_t = 1)]
    lines: u16,
    /// Processors on each node.
    #[arg(long, value_name = "N", default_value_t = 1)]
    processors_per_node: u16,
    /// What processors do besides evicting, as far as the protocol has it [default: all of it up to 2 caches and 1 line,
    /// cached accesses beyond].
    #[arg(long, value_name = "WHICH")]
    accesses: Option<Accesses>,
    /// Plant a fault in the protocol, to see whether it is found.
    #[arg(long, value_name = "NAME")]
    mutation: Option<String>,
    /// Give up beyond so many states; each takes about 100 bytes.
    #[arg(long, value_name = "N", default_value_t = Config::STATE_LIMIT)]
    max_states: usize,
    /// Explore all configurations that are worth it, the smallest first.
    #[arg(long, conflicts_with_all = ["caches", "lines", "processors_per_node", "accesses"])]
    all: bool,
    /// Also print transitions, states a second and memory.
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    output: OutputFlags,
}

/// What processors do, besides evicting.
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

impl VerifyCommand {
    /// Runs the command. True if every property holds.
    ///
    /// # Errors
    /// When there is no such protocol, it cannot be explored so, or the output fails.
    pub fn run(self) -> Result<bool, Failure> {
        let protocol = verify::protocol(&self.protocol).map_err(of_config)?;
        let configurations = self.configurations(&protocol)?;
        configurations.iter().try_for_each(|config| protocol.check(config)).map_err(of_config)?;
        let mut output: Output<VerificationRow> = self.output.open()?;
        let (mut rows, mut runs) = (Vec::new(), Vec::new());
        for config in &configurations {
            let run = protocol.run(config).map_err(of_config)?;
            let row = row(&run, config);
            output.write(&row)?;
            rows.push(row);
            runs.push(run);
            if matches!(runs.last().map(|run| &run.outcome), Some(Outcome::Counterexample(_))) {
                break;
            }
        }
        if output.wants_table() {
            print(report::verifications("", &rows))?;
            for run in runs.iter().filter(|_| self.stats) {
                print(statistics(run))?;
            }
        }
        let broken = runs.iter().find_map(|run| match &run.outcome {
            Outcome::Counterexample(trace) => Some(trace),
            Outcome::Ok => None,
        });
        match broken {
            Some(trace) if output.wants_table() => print(format!("\n{trace}"))?,
            // Standard output holds records alone.
            Some(trace) => write!(std::io::stderr(), "{trace}")?,
            None => {}
        }
        Ok(broken.is_none())
    }

    fn configurations(&self, protocol: &Protocol) -> Result<Vec<Config>, Failure> {
        let mutation = self.mutation.as_deref().map(|name| planted(protocol, name)).transpose()?;
        let mut configurations = if self.all {
            (protocol.configurations)()
        } else {
            let config = protocol.config(self.caches, self.lines);
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

fn planted(protocol: &Protocol, name: &str) -> Result<&'static str, Failure> {
    let accepted = || (protocol.faults)().iter().map(|fault| fault.name).collect::<Vec<_>>().join(", ");
    let fault = protocol.fault(name).map_err(|_| Failure::flag("--mutation", name, "no such fault", accepted()))?;
    Ok(fault.name)
}

fn row(run: &Run, config: &Config) -> VerificationRow {
    VerificationRow {
        protocol: match config.mutation {
            Some(mutation) => format!("{}+{mutation}", run.protocol),
            None => run.protocol.to_owned(),
        },
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
