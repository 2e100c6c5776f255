//! The protocols that can be explored, by name, and the run of one.

use std::time::{Duration, Instant};

use crate::config::{Config, ConfigError, Limits};
use crate::explore::{Exploration, Trace};
use crate::litmus::{self, Consistency, Litmus};
use crate::model::Property;
use crate::{moesi, msi, origin, sci};

/// A protocol that can be explored.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it is, in a few words.
    pub description: &'static str,
    /// What its model has room for.
    pub limits: Limits,
    /// The configurations that are worth exploring, in the order of their size.
    pub configurations: fn() -> Vec<Config>,
    /// The faults that can be planted in it.
    pub faults: fn() -> Vec<Fault>,
    /// The order of memory that it promises.
    pub consistency: Consistency,
    /// Builds the model and explores it.
    pub(crate) explore: fn(&Config) -> Exploration,
    /// Builds the model of a litmus test and explores it.
    pub(crate) litmus: fn(&Litmus) -> Exploration,
}

/// A fault that can be planted in one rule of a protocol. A checker that does not find it shows nothing about that rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// The property that it breaks by the fewest steps.
    pub breaks: Property,
    /// A small configuration in which it shows.
    pub config: Config,
}

/// The families of protocols; a new one is a line here.
const FAMILIES: &[&[Protocol]] = &[&[origin::PROTOCOL], msi::PROTOCOLS, sci::PROTOCOLS, moesi::PROTOCOLS];

/// How an exploration ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every reachable state was seen, and every property holds.
    Ok,
    /// A property does not hold: a shortest way to break it.
    Counterexample(Trace),
}

/// One exploration.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The protocol.
    pub protocol: &'static str,
    /// Caches that took part.
    pub caches: u16,
    /// Lines that they shared.
    pub lines: u16,
    /// Distinct states reached (up to symmetry).
    pub states: u64,
    /// Steps taken.
    pub transitions: u64,
    /// Steps from the initial state to the farthest one.
    pub depth: u32,
    /// Host time that it took.
    pub time: Duration,
    /// Bytes held by the states and the graph at the end.
    pub memory: usize,
    /// How it ended.
    pub outcome: Outcome,
}

impl Run {
    /// Distinct states a second of host time.
    pub fn states_per_second(&self) -> f64 {
        self.states as f64 / self.time.as_secs_f64()
    }
}

/// Every protocol.
pub fn protocols() -> impl Iterator<Item = &'static Protocol> {
    FAMILIES.iter().copied().flatten()
}

/// The protocol of this name.
///
/// # Errors
/// [`ConfigError::UnknownProtocol`] if there is none.
pub fn protocol(name: &str) -> Result<Protocol, ConfigError> {
    protocols().find(|protocol| protocol.name == name).copied().ok_or_else(|| {
        let accepted = protocols().map(|protocol| protocol.name).collect::<Vec<_>>().join(", ");
        ConfigError::UnknownProtocol { name: name.to_owned(), accepted }
    })
}

impl Protocol {
    /// A configuration with the accesses that are usual at this size ([`Config::new`]) and known to the protocol.
    pub fn config(&self, caches: u16, lines: u16) -> Config {
        let mut config = Config::new(caches, lines);
        config.accesses.retain(|access| self.limits.accesses.contains(access));
        config
    }

    /// The fault of this name.
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
    /// When a number is out of range, or an access or a planted fault is not one of the protocol's.
    pub fn check(&self, config: &Config) -> Result<(), ConfigError> {
        config.check(self.name, &self.limits)?;
        config.mutation.map_or(Ok(()), |name| self.fault(name).map(|_| ()))
    }

    /// Explores one configuration exhaustively, or until a property is broken.
    ///
    /// # Errors
    /// When the configuration cannot be explored ([`Protocol::check`]), or has more states than it allows.
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
