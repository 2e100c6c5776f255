//! The Origin protocol as a model: processors with arbitrary accesses and evictions, an unordered network, and the
//! handlers of the protocol crate, the same that the timing simulator runs.
//!
//! The network is a multiset: any message in flight may arrive next, so every order that a real network produces is
//! explored. A home with a nearly full output queue is explored with and without backoff. A NACKed request may be
//! retried at any time, and a deferred intervention may be answered at any time after the request has completed.

mod check;
mod describe;
mod mutation;
mod packed;
mod step;
mod symmetry;
mod transition;
mod version;

use protocol::origin::{CacheContext, Geometry, HomeContext};
use protocol::{Access, Version};
use units::{CpuId, LineAddr, NodeId};

pub use packed::State;
pub use step::OriginStep;

use crate::config::{Config, Limits};
use crate::explore::explore;
use crate::litmus::{self, Consistency, Intent, Programmable};
use crate::model::{Model, Violation};
use crate::registry::Protocol;
use mutation::Mutation;
use packed::{MAX_CACHES, MAX_LINES, cache, pending};
use symmetry::{Renaming, Symmetry};

/// Registry entry of the protocol.
pub(crate) const PROTOCOL: Protocol = Protocol {
    name: "origin",
    description: "SGI Origin 2000: directory, MESI caches, speculative replies, backoff (Prestor 2001, Chapters 3 and 4)",
    limits: Limits {
        caches: MAX_CACHES as u16,
        lines: MAX_LINES as u16,
        processors_per_node: 2,
        // Capacity of a packed state, which is also the Origin's own limit.
        priority: 7,
        accesses: &Access::ALL,
    },
    configurations,
    faults: Mutation::faults,
    consistency: Consistency::Sequential,
    explore: |config| explore(&Origin::new(config), config.state_limit),
    litmus: |litmus| litmus::run(litmus, Origin::new),
};

/// Configurations, small ones first, so that a fault is found soon. Stores alone reach every invalidation and
/// intervention between two processors of a node and two of another, and keep the state space small.
fn configurations() -> Vec<Config> {
    let on_one_node = Config { processors_per_node: 2, ..Config::new(2, 1) };
    let on_two_nodes = Config { processors_per_node: 2, accesses: vec![Access::Store], ..Config::new(4, 1) };
    let unevenly = Config { processors_per_node: 2, ..Config::new(3, 1) };
    vec![Config::new(2, 1), on_one_node, on_two_nodes, Config::new(2, 2), Config::new(3, 1), unevenly]
}

/// Model of one configuration.
#[derive(Clone, Debug)]
pub struct Origin {
    config: Config,
    geometry: Geometry,
    symmetry: Symmetry,
    mutation: Option<Mutation>,
}

impl Origin {
    /// Creates the model of a checked configuration.
    pub fn new(config: &Config) -> Self {
        let (caches, lines) = (usize::from(config.caches), usize::from(config.lines));
        let geometry = Geometry {
            nodes: config.caches.div_ceil(config.processors_per_node),
            processors_per_node: config.processors_per_node,
            priority_limit: config.priority_limit,
        };
        let renamings = if config.symmetry { Renaming::all(caches, lines, geometry) } else { Renaming::identity() };
        let symmetry = Symmetry::new(renamings, caches, lines);
        Self { config: config.clone(), geometry, symmetry, mutation: config.mutation.and_then(Mutation::named) }
    }

    fn caches(&self) -> usize {
        usize::from(self.config.caches)
    }

    fn lines(&self) -> usize {
        usize::from(self.config.lines)
    }

    fn node_of(&self, cpu: usize) -> usize {
        self.geometry.node_of(CpuId(cpu as u16)).index()
    }

    fn cache_context(&self, cpu: CpuId, line: usize) -> CacheContext {
        CacheContext { cpu, line: LineAddr(line as u64), home: NodeId(0), geometry: self.geometry }
    }

    fn home_context(&self, output_queue_nearly_full: bool) -> HomeContext {
        HomeContext { node: NodeId(0), geometry: self.geometry, output_queue_nearly_full }
    }

    /// Whether a processor may miss on `line`. With two lines, a processor blocks on a miss and its cache holds one
    /// line at a time; otherwise the lines would not interact.
    fn may_miss(&self, state: &State, cpu: usize, line: usize) -> bool {
        (0..self.lines()).all(|other| {
            let word = state.cache(other, cpu);
            let idle = cache::STATE.get(word) == 0 && cache::PENDING.get(word) != pending::REQUEST;
            other == line || idle
        })
    }

    /// Accesses that processors make.
    fn accesses(&self) -> &[Access] {
        &self.config.accesses
    }
}

impl Model for Origin {
    type State = State;
    type Step = OriginStep;

    fn initial(&self) -> State {
        State::initial()
    }

    fn steps(&self, state: &State, visit: &mut impl FnMut(OriginStep, Result<State, Violation>)) {
        for line in 0..self.lines() {
            for cpu in 0..self.caches() {
                self.processor_steps(state, line, CpuId(cpu as u16), visit);
            }
        }
        self.deliveries(state, visit);
    }

    fn is_internal(&self, step: OriginStep) -> bool {
        !matches!(step, OriginStep::Access { .. } | OriginStep::Evict { .. })
    }

    fn encode(&self, state: &State, bytes: &mut Vec<u8>) {
        let canonical = self.symmetry.canonical(state);
        for line in 0..self.lines() {
            for cpu in 0..self.caches() {
                bytes.extend_from_slice(&canonical.cache(line, cpu).to_le_bytes());
            }
            bytes.extend_from_slice(&canonical.entries[line].to_le_bytes());
        }
        for word in canonical.messages() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn decode(&self, bytes: &[u8]) -> State {
        let mut words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let mut next = || words.next().unwrap_or_default();
        let mut state = State::initial();
        for line in 0..self.lines() {
            for cpu in 0..self.caches() {
                *state.cache_mut(line, cpu) = next();
            }
            state.entries[line] = next();
        }
        for word in words {
            state.send(word);
        }
        state
    }

    fn is_quiescent(&self, state: &State) -> bool {
        state.messages().is_empty() && (0..self.lines()).all(|line| self.line_is_quiet(state, line))
    }

    fn describe(&self, state: &State) -> String {
        self.describe_state(state)
    }
}

impl Programmable for Origin {
    fn intent(&self, step: OriginStep) -> Intent {
        match step {
            OriginStep::Access { cpu, access, .. } => Intent::Access(cpu.index(), access),
            OriginStep::Evict { .. } => Intent::Evict,
            OriginStep::Retry { .. } | OriginStep::ServeDeferred { .. } | OriginStep::Deliver { .. } => Intent::Other,
        }
    }

    fn is_blocked(&self, state: &State, processor: usize) -> bool {
        cache::PENDING.get(state.cache(0, processor)) != pending::NONE
    }

    fn is_waiting(&self, state: &State, processor: usize) -> bool {
        cache::PENDING.get(state.cache(0, processor)) == pending::REQUEST
    }

    fn has_latest(&self, state: &State, processor: usize) -> bool {
        Version(cache::VERSION.get(state.cache(0, processor))) == version::LATEST
    }
}
