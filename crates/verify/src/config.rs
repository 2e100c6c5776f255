//! What to explore: how many caches and lines, and what processors do.

use protocol::Access;
use thiserror::Error;

use crate::origin::{MAX_CACHES, MAX_LINES, Mutation};

/// Highest retry priority that a packed state has room for: that of the Origin.
const MAX_PRIORITY: u8 = 7;

/// One configuration of a protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Caches, each with its processor.
    pub caches: u16,
    /// Lines that they share.
    pub lines: u16,
    /// Processors on each node: 1 or 2. Two share a bit of the sharer vector and a processor interface.
    pub processors_per_node: u16,
    /// What processors do, besides evicting.
    pub accesses: Vec<Access>,
    /// Highest priority of a retried request. It only decides whether a home serves or refuses a request, and the checker
    /// tries every order of retries; a low limit keeps the state space small.
    pub priority_limit: u8,
    /// Whether states that differ only in the names of interchangeable caches and lines count as one.
    pub symmetry: bool,
    /// States beyond which to give up: each takes about 100 bytes.
    pub state_limit: usize,
    /// A fault to plant, to see whether it is found.
    pub mutation: Option<Mutation>,
}

/// A configuration that cannot be explored.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// There is no such protocol.
    #[error("PROTOCOL {name}: unknown; accepted: {accepted}")]
    UnknownProtocol {
        /// What was asked for.
        name: String,
        /// The names that exist.
        accepted: String,
    },
    /// There are more states than allowed.
    #[error("caches {caches}, lines {lines}: more than {limit} states, not all explored")]
    TooManyStates {
        /// How many caches.
        caches: u16,
        /// How many lines.
        lines: u16,
        /// As many states as were allowed.
        limit: usize,
    },
    /// A number is out of range.
    #[error("{what} {value}: out of range; accepted: {least} to {most}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: u16,
        /// Least value accepted.
        least: u16,
        /// Greatest value accepted.
        most: u16,
    },
}

impl Config {
    /// Loads, read prefetches and stores: the requests READ, RDSH, RDEX and UPGRD, and (by evictions) WB.
    pub const CACHED_ACCESSES: [Access; 3] = [Access::Load, Access::ReadPrefetch, Access::Store];

    /// Also write prefetches, which leave a modified line with unmodified contents, and the reads that cache nothing.
    pub const ALL_ACCESSES: [Access; 6] = [
        Access::Load,
        Access::ReadPrefetch,
        Access::Store,
        Access::WritePrefetch,
        Access::UncachedRead,
        Access::PoisonRead,
    ];

    /// States that fit some six gigabytes.
    pub const STATE_LIMIT: usize = 60_000_000;

    /// A configuration with one processor a node. Up to two caches on one line make every kind of access; more caches or
    /// lines make the cached ones only: two million states for three caches, where every kind of access makes 26 million
    /// (explored, and without fault too).
    pub fn new(caches: u16, lines: u16) -> Self {
        let small = caches <= 2 && lines <= 1;
        let accesses = if small { Self::ALL_ACCESSES.to_vec() } else { Self::CACHED_ACCESSES.to_vec() };
        Self {
            caches,
            lines,
            processors_per_node: 1,
            accesses,
            priority_limit: 1,
            symmetry: true,
            state_limit: Self::STATE_LIMIT,
            mutation: None,
        }
    }

    /// Checks that the configuration can be explored.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let ranges = [
            ("caches", self.caches, 1, MAX_CACHES as u16),
            ("lines", self.lines, 1, MAX_LINES as u16),
            ("processors-per-node", self.processors_per_node, 1, 2),
            ("priority-limit", u16::from(self.priority_limit), 0, u16::from(MAX_PRIORITY)),
        ];
        match ranges.into_iter().find(|&(_, value, least, most)| value < least || value > most) {
            Some((what, value, least, most)) => Err(ConfigError::OutOfRange { what, value, least, most }),
            None => Ok(()),
        }
    }
}
