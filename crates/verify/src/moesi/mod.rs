//! The snooping bus as a model: caches with arbitrary loads, stores and evictions, an arbiter that grants the bus to
//! any requester, and the handlers of the protocol crate, the same that the timing simulator runs.
//!
//! The protocol `moesi` is the bus alone. In `moesi-cluster` a cluster device takes part, and the other nodes of the
//! cluster are one unbounded opponent: it issues recalls, grants the rights that the device requests, and stores
//! whenever the node has no right to the line. Bus transactions are atomic, and only one line is explored, because
//! nothing connects two lines.

mod check;
mod mutation;
mod state;
mod transition;

use protocol::Access;
use protocol::snoop::{Device, Operation, Rights};
use units::CpuId;

use crate::config::{Config, Limits};
use crate::explore::{Exploration, explore};
use crate::litmus::{self, Consistency, Intent, Programmable};
use crate::model::{Model, Violation};
use crate::registry::{Fault, Protocol};
use mutation::Mutation;
use state::{LATEST, MAX_CACHES, State, Step};

/// Registry entries of the bus alone, and of the bus with a cluster device.
pub(crate) const PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "moesi",
        description: "snooping MOESI bus of an SMP node: atomic transactions, owners supply (Lai and Falsafi 2000, Section 5)",
        limits: LIMITS,
        configurations,
        faults: || faults(Mutation::OF_CACHES),
        consistency: Consistency::Sequential,
        explore: |config| run(config, false),
        litmus: |litmus| litmus::run(litmus, |config| Bus::new(config, false)),
    },
    Protocol {
        name: "moesi-cluster",
        description: "the same bus with a cluster device, and other nodes that take the line away and give it back",
        limits: LIMITS,
        configurations,
        faults: || faults(Mutation::OF_DEVICES),
        consistency: Consistency::Sequential,
        explore: |config| run(config, true),
        litmus: |litmus| litmus::run(litmus, |config| Bus::new(config, true)),
    },
];

const LIMITS: Limits = Limits {
    caches: MAX_CACHES as u16,
    lines: 1,
    processors_per_node: 1,
    priority: 1,
    accesses: &[Access::Load, Access::Store],
};

fn config(caches: u16) -> Config {
    Config { accesses: LIMITS.accesses.to_vec(), ..Config::new(caches, 1) }
}

fn configurations() -> Vec<Config> {
    vec![config(2), config(3), config(4)]
}

fn faults(mutations: &[Mutation]) -> Vec<Fault> {
    mutations
        .iter()
        .map(|&mutation| Fault { name: mutation.name(), breaks: mutation.breaks(), config: config(3) })
        .collect()
}

fn run(config: &Config, cluster: bool) -> Exploration {
    explore(&Bus::new(config, cluster), config.state_limit)
}

/// Model of one configuration.
pub struct Bus {
    caches: usize,
    operations: Vec<Operation>,
    /// Whether a cluster device takes part. If not, the node has every right for ever.
    cluster: bool,
    symmetry: bool,
    mutation: Option<Mutation>,
}

impl Bus {
    /// Creates the model of a checked configuration, with or without a cluster device.
    pub fn new(config: &Config, cluster: bool) -> Self {
        let mut operations = vec![Operation::Evict];
        operations.extend(config.accesses.iter().map(|access| match access {
            Access::Store => Operation::Store,
            _ => Operation::Load,
        }));
        let mutation = config.mutation.and_then(Mutation::named);
        let (caches, symmetry) = (usize::from(config.caches), config.symmetry);
        Self { caches, operations, cluster, symmetry, mutation }
    }

    fn cpus(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.caches as u16).map(CpuId)
    }
}

impl Model for Bus {
    type State = State;
    type Step = Step;

    fn initial(&self) -> State {
        let rights = if self.cluster { Rights::None } else { Rights::Write };
        State::initial(Device { rights, ..Device::default() })
    }

    fn steps(&self, state: &State, visit: &mut impl FnMut(Step, Result<State, Violation>)) {
        for cpu in self.cpus() {
            self.processor_steps(state, cpu, visit);
            self.bus_step(state, Some(cpu), visit);
        }
        if self.cluster {
            self.bus_step(state, None, visit);
            self.cluster_steps(state, visit);
        }
    }

    fn is_internal(&self, step: Step) -> bool {
        matches!(step, Step::Bus(..) | Step::Grant(_))
    }

    fn encode(&self, state: &State, bytes: &mut Vec<u8>) {
        state.encode(self.caches, self.symmetry, bytes);
    }

    fn decode(&self, bytes: &[u8]) -> State {
        State::decode(bytes)
    }

    fn is_quiescent(&self, state: &State) -> bool {
        let device_quiet = state.device.fetch.is_none() && state.device.recall.is_none();
        device_quiet && self.cpus().all(|cpu| state.caches[cpu.index()].request.is_none())
    }

    fn describe(&self, state: &State) -> String {
        state.describe(self.caches, self.cluster)
    }
}

/// Litmus tests do not involve the other nodes of the cluster, which have no program.
impl Programmable for Bus {
    fn intent(&self, step: Step) -> Intent {
        match step {
            Step::Operate(cpu, Operation::Load) => Intent::Access(cpu.index(), Access::Load),
            Step::Operate(cpu, Operation::Store) => Intent::Access(cpu.index(), Access::Store),
            Step::Operate(_, Operation::Evict) => Intent::Evict,
            Step::Bus(..) | Step::Grant(_) | Step::Recall(_) | Step::StoreOutside => Intent::Other,
        }
    }

    fn is_blocked(&self, state: &State, processor: usize) -> bool {
        state.caches[processor].request.is_some()
    }

    fn is_waiting(&self, state: &State, processor: usize) -> bool {
        state.caches[processor].request.is_some()
    }

    fn has_latest(&self, state: &State, processor: usize) -> bool {
        state.caches[processor].version == LATEST
    }
}
