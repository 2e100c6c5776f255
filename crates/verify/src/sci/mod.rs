//! SCI's typical set as a model: processors with arbitrary loads, stores and replacements, packets that arrive in any
//! order, and the handlers of the protocol crate, the same that the timing simulator runs.
//!
//! A cache has at most one transaction outstanding on a line, so at most one packet per cache is in flight. Only one
//! line is explored, because nothing in the protocol connects two lines.

mod check;
mod mutation;
mod state;
mod step;
mod transition;

use protocol::Access;
use protocol::sci::{CacheContext, Operation};
use units::{CpuId, LineAddr, NodeId};

use crate::config::{Config, Limits};
use crate::explore::explore;
use crate::litmus::{self, Consistency, Intent, Programmable};
use crate::model::{Model, Violation};
use crate::permutations::permutations;
use crate::registry::{Fault, Protocol};
use mutation::Mutation;
use state::{LATEST, MAX_CACHES, State};
use step::Step;

/// Registry entry of the protocol.
pub(crate) const PROTOCOLS: &[Protocol] = &[Protocol {
    name: "sci",
    description: "SCI's typical set: a doubly linked list of sharers, without ordering of packets (IEEE 1596-1992)",
    limits: Limits {
        caches: MAX_CACHES as u16,
        lines: 1,
        processors_per_node: 1,
        priority: 1,
        accesses: &[Access::Load, Access::Store],
    },
    configurations: || vec![config(2), config(3), config(4)],
    faults: || Mutation::ALL.iter().map(|&(name, breaks)| Fault { name, breaks, config: config(3) }).collect(),
    consistency: Consistency::Sequential,
    explore: |config| explore(&Sci::new(config), config.state_limit),
    litmus: |litmus| litmus::run(litmus, Sci::new),
}];

fn config(caches: u16) -> Config {
    Config { accesses: vec![Access::Load, Access::Store], ..Config::new(caches, 1) }
}

/// Home: the node of the line's memory.
const HOME: NodeId = NodeId(0);

/// Model of one configuration.
#[derive(Clone, Debug)]
pub struct Sci {
    caches: usize,
    operations: Vec<Operation>,
    /// Every renaming of the caches under which states are equivalent, the identity first.
    renamings: Vec<Vec<u8>>,
    mutation: Option<Mutation>,
}

impl Sci {
    /// Creates the model of a checked configuration.
    pub fn new(config: &Config) -> Self {
        let caches = usize::from(config.caches);
        let mut operations = vec![Operation::Rollout];
        operations.extend(config.accesses.iter().map(|access| match access {
            Access::Store => Operation::Store,
            _ => Operation::Load,
        }));
        let mut renamings = permutations(caches);
        renamings.truncate(if config.symmetry { renamings.len() } else { 1 });
        Self { caches, operations, renamings, mutation: config.mutation.and_then(Mutation::named) }
    }

    fn cpus(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.caches as u16).map(CpuId)
    }

    fn context(&self, cpu: CpuId) -> CacheContext {
        CacheContext { cpu, line: LineAddr(0), home: HOME }
    }
}

impl Model for Sci {
    type State = State;
    type Step = Step;

    fn initial(&self) -> State {
        State::initial()
    }

    fn steps(&self, state: &State, visit: &mut impl FnMut(Step, Result<State, Violation>)) {
        for cpu in self.cpus() {
            self.processor_steps(state, cpu, visit);
            self.delivery(state, cpu, visit);
        }
    }

    fn is_internal(&self, step: Step) -> bool {
        matches!(step, Step::Deliver(..))
    }

    /// Least encoding under the renamings that bring the caches into the order of their fingerprints: usually one.
    fn encode(&self, state: &State, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let fingerprints = state.fingerprints(self.caches);
        let mut length = 0;
        for renaming in &self.renamings {
            if self.renamings.len() > 1 && !orders(renaming, &fingerprints) {
                continue;
            }
            state.encode(renaming, bytes);
            if length == 0 {
                length = bytes.len() - start;
                continue;
            }
            let (known, other) = bytes[start..].split_at_mut(length);
            if *other < *known {
                known.copy_from_slice(other);
            }
            bytes.truncate(start + length);
        }
    }

    fn decode(&self, bytes: &[u8]) -> State {
        State::decode(self.caches, bytes)
    }

    fn is_quiescent(&self, state: &State) -> bool {
        self.cpus().all(|cpu| state.caches[cpu.index()].state.is_stable())
    }

    fn describe(&self, state: &State) -> String {
        state.describe(self.caches)
    }
}

impl Programmable for Sci {
    fn intent(&self, step: Step) -> Intent {
        match step {
            Step::Operate(cpu, Operation::Load) => Intent::Access(cpu.index(), Access::Load),
            Step::Operate(cpu, Operation::Store) => Intent::Access(cpu.index(), Access::Store),
            Step::Operate(_, Operation::Rollout) => Intent::Evict,
            Step::Deliver(..) => Intent::Other,
        }
    }

    fn is_blocked(&self, state: &State, processor: usize) -> bool {
        !state.caches[processor].state.is_stable()
    }

    fn is_waiting(&self, state: &State, processor: usize) -> bool {
        !state.caches[processor].state.is_stable()
    }

    fn has_latest(&self, state: &State, processor: usize) -> bool {
        state.caches[processor].version == LATEST
    }
}

/// Whether a renaming puts the fingerprints in ascending order.
fn orders(renaming: &[u8], fingerprints: &[u64; MAX_CACHES]) -> bool {
    let mut ordered = [0; MAX_CACHES];
    for (&new, &fingerprint) in renaming.iter().zip(fingerprints) {
        ordered[usize::from(new)] = fingerprint;
    }
    ordered[..renaming.len()].is_sorted()
}
