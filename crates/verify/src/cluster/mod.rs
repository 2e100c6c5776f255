//! The protocol between the nodes of a cluster as a model, together with the buses of its nodes: processors with
//! arbitrary accesses, caches that evict and block caches that replace at any time, buses that are granted to any
//! requester, and an unordered network.
//!
//! The model runs the handlers of the protocol crate, the same that the timing simulator runs. Bus transactions are
//! atomic. One line is explored, because nothing connects two lines; its home is node 0. The other nodes are
//! interchangeable, and so are the processors of a node.

mod check;
mod codec;
mod fault;
mod state;
mod transition;

use protocol::Access;
use protocol::cluster::{DirectoryState, Line, Protocol};
use protocol::contract::{Bus, Started};
use protocol::snoop::Snooping;
use units::{LineAddr, NodeId};

use crate::config::{Config, Limits};
use crate::explore::{Exploration, explore};
use crate::litmus::{self, Consistency, Intent, Litmus, Programmable};
use crate::model::{Model, Violation};
use crate::permutations::permutations;
use codec::{Names, SAME};
use fault::Plant;
pub use state::{ClusterState, ClusterStep};
use state::{LATEST, MAX_CPUS};

/// Home of the line.
const HOME: NodeId = NodeId(0);
/// Address of the line.
const LINE: LineAddr = LineAddr(0);

/// Registry entries: nodes with a MOESI bus or a MESI bus, and writes that wait for acknowledgements or do not.
pub(crate) const PROTOCOLS: &[crate::Protocol] = &[
    registered::<true, false>(
        "cluster",
        "directory between nodes with a MOESI bus and a block cache (Lai and Falsafi 2000)",
    ),
    registered::<false, false>("cluster/mesi", "the same directory between nodes with a MESI bus"),
    registered::<false, true>(
        "cluster/RC",
        "the same with a MESI bus, and writes ahead of acknowledgements, as in DASH",
    ),
];

const fn registered<const OWNED: bool, const EARLY: bool>(
    name: &'static str,
    description: &'static str,
) -> crate::Protocol {
    crate::Protocol {
        name,
        description,
        transitions: protocol::cluster::TRANSITIONS,
        limits: Limits {
            caches: MAX_CPUS as u16,
            lines: 1,
            processors_per_node: MAX_CPUS as u16,
            priority: 1,
            accesses: &[Access::Load, Access::Store, Access::PoisonRead],
        },
        configurations: || {
            [(2, 1), (4, 2), (3, 1), (6, 2)].map(|(cpus, shared)| loads_and_stores(cpus, shared)).to_vec()
        },
        faults: || fault::faults(EARLY).into_iter().map(|planted| planted.fault).collect(),
        consistency: if EARLY { Consistency::Relaxed } else { Consistency::Sequential },
        explore: |config| explore(&ClusterModel::<OWNED>::new(config, EARLY), config.state_limit),
        litmus: run_litmus::<OWNED, EARLY>,
    }
}

fn run_litmus<const OWNED: bool, const EARLY: bool>(litmus: &Litmus) -> Exploration {
    litmus::run(litmus, |config| ClusterModel::<OWNED>::new(config, EARLY))
}

/// Configuration of loads and stores by this number of processors, so many on a node.
fn loads_and_stores(caches: u16, processors_per_node: u16) -> Config {
    Config { accesses: vec![Access::Load, Access::Store], processors_per_node, ..Config::new(caches, 1) }
}

/// Model of one configuration; the bus of every node is MOESI if `OWNED`, and MESI otherwise.
pub struct ClusterModel<const OWNED: bool> {
    protocol: Protocol,
    cpus: usize,
    per_node: usize,
    nodes: usize,
    /// Accesses of processors.
    accesses: Vec<Access>,
    /// Whether the home's own node may poison the line.
    poisons: bool,
    /// Every renaming of nodes under which states are equivalent, the identity first: new names by old ones.
    renamings: Vec<Names>,
    symmetry: bool,
    plant: Option<Plant>,
}

impl<const OWNED: bool> ClusterModel<OWNED> {
    /// Creates the model of a checked configuration. With `early_grant`, writes do not wait for acknowledgements.
    pub fn new(config: &Config, early_grant: bool) -> Self {
        let (cpus, per_node) = (usize::from(config.caches), usize::from(config.processors_per_node));
        let nodes = cpus.div_ceil(per_node);
        let faults = || fault::faults(early_grant).into_iter();
        let planted = config.mutation.and_then(|name| faults().find(|planted| planted.fault.name == name));
        Self {
            protocol: Protocol { early_grant },
            cpus,
            per_node,
            nodes,
            accesses: config.accesses.iter().copied().filter(|&access| access != Access::PoisonRead).collect(),
            poisons: config.accesses.contains(&Access::PoisonRead),
            renamings: renamings(if config.symmetry && cpus % per_node == 0 { nodes } else { 1 }),
            symmetry: config.symmetry,
            plant: planted.map(|planted| planted.plant),
        }
    }

    /// Node of a processor.
    fn node(&self, cpu: usize) -> usize {
        cpu / self.per_node
    }

    /// Processors of a node.
    fn cpus_of(&self, node: usize) -> std::ops::Range<usize> {
        node * self.per_node..((node + 1) * self.per_node).min(self.cpus)
    }
}

/// Renamings of the nodes that keep the name of the home.
fn renamings(nodes: usize) -> Vec<Names> {
    let rename = |others: Vec<u8>| {
        let mut names = SAME;
        (1..).zip(others).for_each(|(old, new): (usize, u8)| names[old] = new + 1);
        names
    };
    permutations(nodes - 1).into_iter().map(rename).collect()
}

impl<const OWNED: bool> Model for ClusterModel<OWNED> {
    type State = ClusterState;
    type Step = ClusterStep;

    fn initial(&self) -> ClusterState {
        ClusterState::initial()
    }

    fn steps(&self, state: &ClusterState, visit: &mut dyn FnMut(ClusterStep, Result<ClusterState, Violation>)) {
        for cpu in 0..self.cpus {
            self.processor_steps(state, cpu, visit);
            self.bus_step(state, self.node(cpu), Some(cpu), visit);
        }
        for node in 0..self.nodes {
            self.replacement(state, node, visit);
            self.bus_step(state, node, None, visit);
        }
        if self.poisons {
            self.poison_steps(state, visit);
        }
        self.deliveries(state, visit);
    }

    fn is_internal(&self, step: ClusterStep) -> bool {
        use ClusterStep::{Access, Evict, Poison, Replace, Restore};
        !matches!(step, Access(..) | Evict(_) | Replace(_) | Poison | Restore)
    }

    /// Least encoding under the renamings.
    fn encode(&self, state: &ClusterState, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        self.pack(state, &self.renamings[0], bytes);
        let mut other = Vec::new();
        for names in &self.renamings[1..] {
            other.clear();
            self.pack(state, names, &mut other);
            if other[..] < bytes[start..] {
                bytes.truncate(start);
                bytes.extend_from_slice(&other);
            }
        }
    }

    fn decode(&self, bytes: &[u8]) -> ClusterState {
        self.unpack(bytes)
    }

    fn is_quiescent(&self, state: &ClusterState) -> bool {
        state.messages().is_empty()
            && !matches!(state.entry.state, DirectoryState::Forwarded { .. })
            && state.lines[..self.nodes].iter().all(Line::is_quiet)
            && state.caches[..self.cpus].iter().all(|cache| cache.request.is_none())
    }

    fn describe(&self, state: &ClusterState) -> String {
        let nodes = (0..self.nodes).map(|node| state.describe_node(node, self.cpus_of(node)));
        format!("{} | {}", nodes.collect::<Vec<_>>().join(" | "), state.describe_home())
    }
}

impl<const OWNED: bool> Programmable for ClusterModel<OWNED> {
    fn intent(&self, step: ClusterStep) -> Intent {
        match step {
            ClusterStep::Access(cpu, access) => Intent::Access(cpu, access),
            ClusterStep::Evict(_) | ClusterStep::Replace(_) => Intent::Evict,
            ClusterStep::Poison
            | ClusterStep::Restore
            | ClusterStep::Bus(..)
            | ClusterStep::DeviceBus(..)
            | ClusterStep::Deliver(_) => Intent::Other,
        }
    }

    fn is_blocked(&self, state: &ClusterState, processor: usize) -> bool {
        Snooping::<OWNED>::access(&mut { state.caches[processor] }, Access::Load) == Started::Blocked
    }

    fn is_waiting(&self, state: &ClusterState, processor: usize) -> bool {
        state.caches[processor].request.is_some()
    }

    fn has_latest(&self, state: &ClusterState, processor: usize) -> bool {
        state.caches[processor].version == LATEST
    }
}
