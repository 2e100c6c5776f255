//! The protocol of servers as a model: cores with arbitrary accesses, every replacement at any time, and a network that
//! keeps order only where the protocol needs it.
//!
//! The model runs the handlers of the protocol crate, the same that the timing simulator runs. With one line, replacements
//! occur at any time, so that capacity has no part in it. With two lines, every snoop filter, inclusive L3 and probe filter has
//! room for one, and a request of the other line waits for a replacement.

mod check;
mod codec;
mod fault;
mod state;
mod transition;

use protocol::Access;
use protocol::server::{Design, HomeKind, L3, Sharing};
use units::NodeId;

use crate::config::{Config, Limits};
use crate::explore::{Exploration, explore};
use crate::litmus::{self, Consistency, Intent, Litmus, Programmable};
use crate::model::{Model, Property, Violation};
use fault::Plant;
use state::{LATEST, MAX_CORES, MAX_LINES};
pub use state::{ServerState, ServerStep};

/// Home of every line.
const HOME: NodeId = NodeId(0);

/// A property and the problem that violates it.
type Violated = (Property, String);

/// A variant of the protocol.
#[derive(Clone, Copy, Debug)]
struct Variant {
    l3: L3,
    sharing: Sharing,
    home: HomeKind,
    /// Whether the home is the same box as the caching agent of cluster 0.
    local: bool,
}

const HASWELL: usize = 0;
const EARLY: usize = 1;
const COD: usize = 2;
const DIRECTORY: usize = 3;
const SKYLAKE: usize = 4;
const SNOOP: usize = 5;
const SNOOP_EARLY: usize = 6;
const ZEN: usize = 7;

const VARIANTS: [Variant; 8] = [
    Variant { l3: L3::Inclusive, sharing: Sharing::Mesif, home: HomeKind::HomeSnoop, local: true },
    Variant { l3: L3::Inclusive, sharing: Sharing::Mesif, home: HomeKind::EarlySnoop, local: true },
    Variant { l3: L3::Inclusive, sharing: Sharing::Mesif, home: HomeKind::Directory { cached: true }, local: true },
    Variant { l3: L3::Victim, sharing: Sharing::Mesif, home: HomeKind::Directory { cached: false }, local: true },
    Variant { l3: L3::Victim, sharing: Sharing::Mesif, home: HomeKind::Directory { cached: true }, local: true },
    Variant { l3: L3::Victim, sharing: Sharing::Mesif, home: HomeKind::HomeSnoop, local: true },
    Variant { l3: L3::Victim, sharing: Sharing::Mesif, home: HomeKind::EarlySnoop, local: true },
    Variant { l3: L3::Victim, sharing: Sharing::Moesi, home: HomeKind::ProbeFilter, local: false },
];

/// Registry entries.
pub(crate) const PROTOCOLS: &[crate::Protocol] = &[
    registered::<HASWELL>("server/haswell", "server: inclusive L3, home snoop, MESIF"),
    registered::<EARLY>("server/early", "server: inclusive L3, early snoop between two clusters, MESIF"),
    registered::<COD>("server/cod", "server: inclusive L3, directory bits in memory with a directory cache, MESIF"),
    registered::<DIRECTORY>("server/directory", "server: victim L3, snoop filter, directory bits in memory, MESIF"),
    registered::<SKYLAKE>("server/skylake", "server: the same with a directory cache and opportunistic snoops"),
    registered::<SNOOP>("server/snoop", "server: victim L3, snoop filter, home snoop, MESIF"),
    registered::<SNOOP_EARLY>("server/snoop-early", "server: the same with early snoop between two clusters"),
    registered::<ZEN>("server/zen", "server: core complexes with victim L3, probe filter, MOESI"),
];

const fn registered<const VARIANT: usize>(name: &'static str, description: &'static str) -> crate::Protocol {
    crate::Protocol {
        name,
        description,
        transitions: protocol::server::TRANSITIONS,
        limits: Limits {
            caches: MAX_CORES as u16,
            lines: MAX_LINES as u16,
            processors_per_node: MAX_CORES as u16,
            priority: 1,
            accesses: &[
                Access::Load,
                Access::InstructionFetch,
                Access::Store,
                Access::WritePrefetch,
                Access::UncachedRead,
            ],
        },
        configurations: || vec![loads_and_stores(2, 2, 1), loads_and_stores(2, 1, 1), loads_and_stores(3, 2, 1)],
        faults: || fault::faults(&VARIANTS[VARIANT]).into_iter().map(|planted| planted.fault).collect(),
        consistency: Consistency::Sequential,
        explore: |config| explore(&ServerModel::new(config, VARIANTS[VARIANT]), config.state_limit),
        litmus: run_litmus::<VARIANT>,
    }
}

/// Runs a litmus test without replacements, with which it would have millions of states, on two clusters.
fn run_litmus<const VARIANT: usize>(litmus: &Litmus) -> Exploration {
    litmus::run(&Litmus { evictions: false, ..*litmus }, |config| {
        let processors_per_node = config.caches.div_ceil(2);
        ServerModel::new(&Config { processors_per_node, ..config.clone() }, VARIANTS[VARIANT])
    })
}

/// Configuration of loads and stores by this number of cores, so many in a cluster, to this number of lines.
fn loads_and_stores(caches: u16, processors_per_node: u16, lines: u16) -> Config {
    Config { accesses: vec![Access::Load, Access::Store], processors_per_node, ..Config::new(caches, lines) }
}

/// Model of one configuration. A node of the configuration is a cluster; early snoop has two clusters at most.
pub struct ServerModel {
    design: Design,
    /// Cluster whose caching agent is the same box as the home.
    local: Option<NodeId>,
    cores: usize,
    per_cluster: usize,
    clusters: usize,
    lines: usize,
    accesses: Vec<Access>,
    plant: Option<Plant>,
}

impl ServerModel {
    /// Creates the model of a checked configuration.
    fn new(config: &Config, variant: Variant) -> Self {
        let cores = usize::from(config.caches);
        let mut per_cluster = usize::from(config.processors_per_node);
        if variant.home == HomeKind::EarlySnoop {
            per_cluster = per_cluster.max(cores.div_ceil(2));
        }
        let clusters = cores.div_ceil(per_cluster);
        let design = Design {
            clusters: clusters as u16,
            cores: per_cluster as u16,
            l3: variant.l3,
            sharing: variant.sharing,
            home: variant.home,
        };
        debug_assert_eq!(design.check(), Ok(()));
        let faults = || fault::faults(&variant).into_iter();
        let planted = config.mutation.and_then(|name| faults().find(|planted| planted.fault.name == name));
        Self {
            design,
            local: variant.local.then_some(NodeId(0)),
            cores,
            per_cluster,
            clusters,
            lines: usize::from(config.lines),
            accesses: config.accesses.clone(),
            plant: planted.map(|planted| planted.plant),
        }
    }

    /// Cluster of a core.
    fn cluster(&self, core: usize) -> usize {
        core / self.per_cluster
    }
}

impl Model for ServerModel {
    type State = ServerState;
    type Step = ServerStep;

    fn initial(&self) -> ServerState {
        ServerState::initial()
    }

    fn steps(&self, state: &ServerState, visit: &mut dyn FnMut(ServerStep, Result<ServerState, Violation>)) {
        for line in 0..self.lines {
            for core in 0..self.cores {
                self.core_steps(state, line, core, visit);
            }
            self.replacements(state, line, visit);
        }
        self.deliveries(state, visit);
    }

    /// Replacements are internal where messages may wait for them.
    fn is_internal(&self, step: ServerStep) -> bool {
        match step {
            ServerStep::Access(..) | ServerStep::Evict(..) => false,
            ServerStep::EvictL3(..) | ServerStep::EvictFilter(..) | ServerStep::EvictEntry(_) => self.lines > 1,
            ServerStep::Deliver(..) => true,
        }
    }

    fn encode(&self, state: &ServerState, bytes: &mut Vec<u8>) {
        self.pack(state, bytes);
    }

    fn decode(&self, bytes: &[u8]) -> ServerState {
        self.unpack(bytes)
    }

    fn is_quiescent(&self, state: &ServerState) -> bool {
        (0..self.lines).all(|line| self.is_quiet(state, line))
    }

    fn describe(&self, state: &ServerState) -> String {
        state.describe(self.cores, self.clusters, self.lines)
    }
}

impl Programmable for ServerModel {
    fn intent(&self, step: ServerStep) -> Intent {
        match step {
            ServerStep::Access(core, _, access) => Intent::Access(core.into(), access),
            ServerStep::Evict(..)
            | ServerStep::EvictL3(..)
            | ServerStep::EvictFilter(..)
            | ServerStep::EvictEntry(_) => Intent::Evict,
            ServerStep::Deliver(..) => Intent::Other,
        }
    }

    fn is_blocked(&self, state: &ServerState, processor: usize) -> bool {
        state.lines[0].cores[processor].request.is_some()
    }

    fn is_waiting(&self, state: &ServerState, processor: usize) -> bool {
        state.lines[0].cores[processor].request.is_some()
    }

    fn has_latest(&self, state: &ServerState, processor: usize) -> bool {
        state.lines[0].cores[processor].contents == LATEST
    }
}
