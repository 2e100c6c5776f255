//! What to explore: how many caches and lines, and what processors do.

use protocol::Access;
use thiserror::Error;

/// One configuration of a protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Caches, each with its processor.
    pub caches: u16,
    /// Lines that they share.
    pub lines: u16,
    /// Processors on each node. On the Origin, two share a bit of the sharer vector and a processor interface.
    pub processors_per_node: u16,
    /// What processors do, besides evicting.
    pub accesses: Vec<Access>,
    /// Highest priority of a retried request. It only decides whether a home serves or refuses a request, and the checker
    /// tries every order of retries; a low limit keeps the state space small. Protocols without priorities ignore it.
    pub priority_limit: u8,
    /// Whether states that differ only in the names of interchangeable caches and lines count as one.
    pub symmetry: bool,
    /// States beyond which to give up: each takes about 100 bytes.
    pub state_limit: usize,
    /// A fault to plant, by its name among those of the protocol, to see whether it is found.
    pub mutation: Option<&'static str>,
}

/// What a model of a protocol has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most caches.
    pub caches: u16,
    /// Most lines.
    pub lines: u16,
    /// Most processors on a node.
    pub processors_per_node: u16,
    /// Highest retry priority.
    pub priority: u8,
    /// What its processors can do, besides evicting.
    pub accesses: &'static [Access],
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
    /// The protocol has no such access.
    #[error("accesses {access:?}: not known to protocol {protocol}; accepted: {accepted:?}")]
    UnknownAccess {
        /// The protocol.
        protocol: &'static str,
        /// What was asked for.
        access: Access,
        /// What it knows.
        accepted: &'static [Access],
    },
    /// The protocol has no such planted fault.
    #[error("mutation {name}: no such fault in protocol {protocol}; accepted: {accepted}")]
    UnknownMutation {
        /// The protocol.
        protocol: &'static str,
        /// What was asked for.
        name: String,
        /// The names that exist.
        accepted: String,
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

    /// Checks that a model with these limits has room for the configuration.
    pub(crate) fn check(&self, protocol: &'static str, limits: &Limits) -> Result<(), ConfigError> {
        let ranges = [
            ("caches", self.caches, 1, limits.caches),
            ("lines", self.lines, 1, limits.lines),
            ("processors-per-node", self.processors_per_node, 1, limits.processors_per_node),
            ("priority-limit", u16::from(self.priority_limit), 0, u16::from(limits.priority)),
        ];
        if let Some((what, value, least, most)) =
            ranges.into_iter().find(|&(_, value, least, most)| value < least || value > most)
        {
            return Err(ConfigError::OutOfRange { what, value, least, most });
        }
        match self.accesses.iter().find(|access| !limits.accesses.contains(access)) {
            Some(&access) => Err(ConfigError::UnknownAccess { protocol, access, accepted: limits.accesses }),
            None => Ok(()),
        }
    }
}
