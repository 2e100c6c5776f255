//! Configurations of an exploration: the number of caches and lines, and the accesses of processors.

use protocol::Access;
use thiserror::Error;

/// One configuration of a protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Caches, each with its processor.
    pub caches: u16,
    /// Lines that they share.
    pub lines: u16,
    /// Processors per node. On the Origin, two share a bit of the sharer vector and a processor interface; in a cluster,
    /// they share a bus.
    pub processors_per_node: u16,
    /// Accesses that processors make, besides evictions.
    pub accesses: Vec<Access>,
    /// Highest priority of a retried request. It only decides whether a home serves or NACKs a request, and the checker
    /// tries every order of retries; a low limit keeps the state space small. Protocols without priorities ignore it.
    pub priority_limit: u8,
    /// Whether states that differ only in the names of interchangeable caches and lines count as one.
    pub symmetry: bool,
    /// Number of states beyond which exploration stops: each takes about 100 bytes.
    pub state_limit: usize,
    /// Planted fault, by its name among those of the protocol: exploration must find it.
    pub mutation: Option<&'static str>,
}

/// Capacity of a protocol's model.
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
    /// Accesses that its processors can make, besides evictions.
    pub accesses: &'static [Access],
}

/// Error for a configuration that cannot be explored.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// The protocol does not exist.
    #[error("PROTOCOL {name}: unknown protocol; accepted: {accepted}")]
    UnknownProtocol {
        /// Name given.
        name: String,
        /// Accepted names.
        accepted: String,
    },
    /// The configuration has more states than allowed.
    #[error(
        "caches {caches}, lines {lines}: state limit of {limit} reached before all states were explored; raise \
         --max-states"
    )]
    TooManyStates {
        /// Number of caches.
        caches: u16,
        /// Number of lines.
        lines: u16,
        /// Number of states allowed.
        limit: usize,
    },
    /// The protocol does not have the access.
    #[error("accesses {access:?}: not known to protocol {protocol}; accepted: {accepted:?}")]
    UnknownAccess {
        /// The protocol.
        protocol: &'static str,
        /// Access given.
        access: Access,
        /// Accepted accesses.
        accepted: &'static [Access],
    },
    /// The protocol does not have the planted fault.
    #[error("mutation {name}: unknown fault of protocol {protocol}; accepted: {accepted}")]
    UnknownMutation {
        /// The protocol.
        protocol: &'static str,
        /// Name given.
        name: String,
        /// Accepted names.
        accepted: String,
    },
    /// A number is out of range.
    #[error("{what} {value}: out of range; accepted: {least} to {most}")]
    OutOfRange {
        /// Name of the number.
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

    /// Also write prefetches, which leave a modified line with unmodified contents, and the reads that are not cached.
    pub const ALL_ACCESSES: [Access; 6] = [
        Access::Load,
        Access::ReadPrefetch,
        Access::Store,
        Access::WritePrefetch,
        Access::UncachedRead,
        Access::PoisonRead,
    ];

    /// State limit that fits in some six gigabytes.
    pub const STATE_LIMIT: usize = 60_000_000;

    /// Creates a configuration with one processor per node. Up to two caches on one line make every access; more caches
    /// or lines make only the cached ones: two million states for three caches, against 26 million with every access
    /// (explored, and also without a violation).
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

    /// Checks that the configuration is within the limits of a model.
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
