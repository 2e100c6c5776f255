//! The protocols that can be explored, by name, and the run of one.

use std::time::{Duration, Instant};

use protocol::Access;

use crate::config::{Config, ConfigError};
use crate::explore::{Exploration, Trace, explore};
use crate::origin::Origin;

/// A protocol that can be explored.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it is, in a few words.
    pub description: &'static str,
    explore: fn(&Config) -> Exploration,
    /// The configurations that are worth exploring, in the order of their size.
    pub configurations: fn() -> Vec<Config>,
}

/// A new protocol is a line here.
const PROTOCOLS: &[Protocol] = &[Protocol {
    name: "origin",
    description: "SGI Origin 2000: directory, MESI caches, speculative replies, backoff (Prestor 2001, Chapters 3 and 4)",
    explore: |config| explore(&Origin::new(config), config.state_limit),
    configurations: origin_configurations,
}];

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
pub const fn protocols() -> &'static [Protocol] {
    PROTOCOLS
}

/// The protocol of this name.
///
/// # Errors
/// [`ConfigError::UnknownProtocol`] if there is none.
pub fn protocol(name: &str) -> Result<Protocol, ConfigError> {
    PROTOCOLS.iter().find(|protocol| protocol.name == name).copied().ok_or_else(|| {
        let accepted = PROTOCOLS.iter().map(|protocol| protocol.name).collect::<Vec<_>>().join(", ");
        ConfigError::UnknownProtocol { name: name.to_owned(), accepted }
    })
}

impl Protocol {
    /// Explores one configuration exhaustively, or until a property is broken.
    ///
    /// # Errors
    /// When the configuration is out of range, or has more states than it allows.
    pub fn run(&self, config: &Config) -> Result<Run, ConfigError> {
        config.check()?;
        let start = Instant::now();
        let explored = (self.explore)(config);
        if !explored.complete && explored.counterexample.is_none() {
            let Config { caches, lines, state_limit: limit, .. } = *config;
            return Err(ConfigError::TooManyStates { caches, lines, limit });
        }
        Ok(Run {
            protocol: self.name,
            caches: config.caches,
            lines: config.lines,
            states: explored.states as u64,
            transitions: explored.transitions,
            depth: explored.depth as u32,
            time: start.elapsed(),
            memory: explored.memory,
            outcome: explored.counterexample.map_or(Outcome::Ok, Outcome::Counterexample),
        })
    }
}

/// Small ones first, so that a fault shows itself soon. Stores alone reach every invalidation and intervention between
/// two processors of a node and two of another, and leave the state space small.
fn origin_configurations() -> Vec<Config> {
    let on_one_node = Config { processors_per_node: 2, ..Config::new(2, 1) };
    let on_two_nodes = Config { processors_per_node: 2, accesses: vec![Access::Store], ..Config::new(4, 1) };
    let unevenly = Config { processors_per_node: 2, ..Config::new(3, 1) };
    vec![Config::new(2, 1), on_one_node, on_two_nodes, Config::new(2, 2), Config::new(3, 1), unevenly]
}
