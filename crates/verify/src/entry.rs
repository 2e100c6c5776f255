//! Entries of the registry: a protocol that can be explored, the faults that can be planted in it, and the run of either.

use std::time::{Duration, Instant};

use crate::config::{Config, ConfigError, Limits};
use crate::explore::{Exploration, Trace};
use crate::litmus::{self, Consistency, Litmus};
use crate::model::Property;

/// A protocol that can be explored.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Name in the registry.
    pub name: &'static str,
    /// Short description.
    pub description: &'static str,
    /// Transition tables of its family, as Markdown: what its agents do with each message in each state.
    pub transitions: &'static str,
    /// Limits of its model.
    pub limits: Limits,
    /// Configurations worth exploring, in the order of their size.
    pub configurations: fn() -> Vec<Config>,
    /// Faults that can be planted in it.
    pub faults: fn() -> Vec<Fault>,
    /// Memory consistency that it guarantees.
    pub consistency: Consistency,
    /// Creates the model and explores it.
    pub explore: fn(&Config) -> Exploration,
    /// Creates the model of a litmus test and explores it.
    pub litmus: fn(&Litmus) -> Exploration,
}

/// A fault that can be planted in one rule of a protocol. A checker that does not find it proves nothing about that
/// rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Name of the fault.
    pub name: &'static str,
    /// Property that the fault violates in the fewest steps.
    pub breaks: Property,
    /// A small configuration in which the fault is found.
    pub config: Config,
}

/// Outcome of an exploration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every reachable state was explored, and every property holds.
    Ok,
    /// A property is violated; a shortest run that violates it.
    Counterexample(Trace),
}

/// One exploration.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Name of the protocol.
    pub protocol: &'static str,
    /// Number of caches.
    pub caches: u16,
    /// Number of lines.
    pub lines: u16,
    /// Distinct states reached (up to symmetry).
    pub states: u64,
    /// Steps taken.
    pub transitions: u64,
    /// Steps from the initial state to the farthest one.
    pub depth: u32,
    /// Host time of the exploration.
    pub time: Duration,
    /// Bytes held by the states and the graph at the end.
    pub memory: usize,
    /// Outcome.
    pub outcome: Outcome,
}

impl Run {
    /// Distinct states per second of host time.
    pub fn states_per_second(&self) -> f64 {
        self.states as f64 / self.time.as_secs_f64()
    }
}

impl Protocol {
    /// Configuration with the accesses that are usual at this size ([`Config::new`]) and that the protocol has.
    pub fn config(&self, caches: u16, lines: u16) -> Config {
        let mut config = Config::new(caches, lines);
        config.accesses.retain(|access| self.limits.accesses.contains(access));
        config
    }

    /// Finds the fault of this name.
    ///
    /// # Errors
    /// [`ConfigError::UnknownMutation`] if there is none.
    pub fn fault(&self, name: &str) -> Result<Fault, ConfigError> {
        let faults = (self.faults)();
        let accepted = faults.iter().map(|fault| fault.name).collect::<Vec<_>>().join(", ");
        faults.into_iter().find(|fault| fault.name == name).ok_or(ConfigError::UnknownMutation {
            protocol: self.name,
            name: name.to_owned(),
            accepted,
        })
    }

    /// Checks that a configuration can be explored.
    ///
    /// # Errors
    /// A number out of range, or an access or a planted fault that the protocol does not have.
    pub fn check(&self, config: &Config) -> Result<(), ConfigError> {
        config.check(self.name, &self.limits)?;
        config.mutation.map_or(Ok(()), |name| self.fault(name).map(|_| ()))
    }

    /// Explores one configuration exhaustively, or until a property is violated.
    ///
    /// # Errors
    /// A configuration that cannot be explored ([`Protocol::check`]), or that has more states than it allows.
    pub fn run(&self, config: &Config) -> Result<Run, ConfigError> {
        self.check(config)?;
        let start = Instant::now();
        self.finish(config, start, (self.explore)(config))
    }

    /// Runs a litmus test: every order in which its accesses can be performed, with every eviction in between.
    ///
    /// # Errors
    /// [`ConfigError::TooManyStates`].
    pub fn run_litmus(&self, litmus: &Litmus) -> Result<Run, ConfigError> {
        let start = Instant::now();
        let explored = (self.litmus)(litmus);
        self.finish(&Config { lines: litmus::LINES as u16, ..litmus::config(litmus) }, start, explored)
    }

    fn finish(&self, config: &Config, start: Instant, explored: Exploration) -> Result<Run, ConfigError> {
        let Config { caches, lines, state_limit: limit, .. } = *config;
        if !explored.complete && explored.counterexample.is_none() {
            return Err(ConfigError::TooManyStates { caches, lines, limit });
        }
        Ok(Run {
            protocol: self.name,
            caches,
            lines,
            states: explored.states as u64,
            transitions: explored.transitions,
            depth: explored.depth as u32,
            time: start.elapsed(),
            memory: explored.memory,
            outcome: explored.counterexample.map_or(Outcome::Ok, Outcome::Counterexample),
        })
    }
}
