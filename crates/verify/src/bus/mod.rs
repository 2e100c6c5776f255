//! Bus protocols as models: caches with arbitrary accesses and evictions, an arbiter that grants the bus to any
//! requester, and the handlers of the protocol crate, the same that the timing simulator runs.
//!
//! Transactions are atomic, and only one line is explored, because nothing connects two lines. A further participant may
//! stand for the rest of a larger machine, which is one unbounded opponent ([`Beyond`]).

mod check;
mod fault;
mod state;
mod transition;

use protocol::Access;
use protocol::contract::{Bus, BusAgent, Started};
use protocol::snoop::Rights;
use protocol::{ProtocolError, Version};
use units::{CpuId, NodeId};

pub use fault::{BusPlant, PlantedBus};
pub use state::{BusState, BusStep, LATEST, MAX_CACHES, STALE, age};

use crate::config::Config;
use crate::entry::Fault;
use crate::explore::{Exploration, explore};
use crate::litmus::{self, Intent, Litmus, Programmable};
use crate::model::{Model, Violation};

/// A bus protocol as the explorer needs it: its encoding and its faults.
pub trait ExploredBus: Bus {
    /// Packs a line at a cache. No field names a cache, so caches are interchangeable.
    fn pack_cache(line: &Self::CacheLine) -> u8;

    /// Unpacks a line at a cache.
    fn unpack_cache(byte: u8) -> Self::CacheLine;

    /// Faults of caches and memory.
    fn faults<O: Beyond<Self>>() -> Vec<PlantedBus<Self, O>>;

    /// Description of a line at a cache, for traces.
    fn describe_cache(line: &Self::CacheLine) -> String;
}

/// A participant besides the caches, with all that lies behind it.
pub trait Beyond<B: Bus>: BusAgent<B> + Copy + PartialEq + Default + Send + Sync + 'static {
    /// Step of what lies behind the bus.
    type Step: Copy + std::fmt::Display;

    /// Rights of the caches on the bus, all together.
    fn rights(&self) -> Rights;

    /// Contents beyond the bus; meaningless, and stale, while the caches have the right to write.
    fn contents(&mut self) -> Option<&mut Version>;

    /// Ends the participant's own transaction, which had these contents on the bus.
    fn hand_over(&mut self, memory: &mut Version, on_bus: Option<Version>);

    /// Calls `visit` with every step that what lies beyond can take, what it leaves there and in memory, and whether it
    /// stores.
    fn steps(&self, memory: Version, visit: &mut dyn FnMut(Self::Step, Self, Version, bool));

    /// Whether a step is an answer to a request of the participant, and not one that may never occur.
    fn is_internal(step: Self::Step) -> bool;

    /// Whether nothing is outstanding.
    fn is_quiet(&self) -> bool;

    /// Packs the state.
    fn pack(&self) -> u8;

    /// Unpacks the state.
    fn unpack(byte: u8) -> Self;

    /// Faults that can be planted.
    fn faults() -> Vec<PlantedBus<B, Self>>;

    /// Description of the state, for traces.
    fn describe(&self) -> String;
}

/// Nothing: the bus is the whole machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Alone;

/// A step that never occurs.
#[derive(Clone, Copy, Debug)]
pub enum NoStep {}

impl std::fmt::Display for NoStep {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl<B: Bus> BusAgent<B> for Alone {
    fn snoop(&mut self, _: NodeId, _: B::Command) -> Result<B::Reply, ProtocolError> {
        Ok(B::Reply::default())
    }

    fn request(&self) -> Option<B::Command> {
        None
    }

    fn complete(&mut self) {}
}

impl<B: ExploredBus> Beyond<B> for Alone {
    type Step = NoStep;

    fn rights(&self) -> Rights {
        Rights::Write
    }

    fn contents(&mut self) -> Option<&mut Version> {
        None
    }

    fn hand_over(&mut self, _: &mut Version, _: Option<Version>) {}

    fn steps(&self, _: Version, _: &mut dyn FnMut(NoStep, Self, Version, bool)) {}

    fn is_internal(step: NoStep) -> bool {
        match step {}
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn pack(&self) -> u8 {
        0
    }

    fn unpack(_: u8) -> Self {
        Self
    }

    fn faults() -> Vec<PlantedBus<B, Self>> {
        B::faults()
    }

    fn describe(&self) -> String {
        String::new()
    }
}

/// Explores a configuration of a bus protocol.
pub fn explore_bus<B: ExploredBus, O: Beyond<B>>(config: &Config) -> Exploration {
    explore(&BusModel::<B, O>::new(config), config.state_limit)
}

/// Runs a litmus test on a bus protocol. It does not involve what lies beyond the bus, which has no program.
pub fn run_bus_litmus<B: ExploredBus, O: Beyond<B>>(litmus: &Litmus) -> Exploration {
    litmus::run(litmus, BusModel::<B, O>::new)
}

/// Registry entries of the faults of a bus protocol.
pub fn bus_faults<B: ExploredBus, O: Beyond<B>>() -> Vec<Fault> {
    O::faults().into_iter().map(|PlantedBus { name, breaks, config, .. }| Fault { name, breaks, config }).collect()
}

/// Model of one configuration of a bus protocol.
pub struct BusModel<B: ExploredBus, O: Beyond<B>> {
    caches: usize,
    accesses: Vec<Access>,
    symmetry: bool,
    plant: Option<BusPlant<B, O>>,
}

impl<B: ExploredBus, O: Beyond<B>> BusModel<B, O> {
    /// Creates the model of a checked configuration.
    pub fn new(config: &Config) -> Self {
        let planted = config.mutation.and_then(|name| O::faults().into_iter().find(|fault| fault.name == name));
        Self {
            caches: usize::from(config.caches),
            accesses: config.accesses.clone(),
            symmetry: config.symmetry,
            plant: planted.map(|fault| fault.plant),
        }
    }

    fn cpus(&self) -> impl Iterator<Item = CpuId> + use<B, O> {
        (0..self.caches as u16).map(CpuId)
    }
}

impl<B: ExploredBus, O: Beyond<B>> Model for BusModel<B, O> {
    type State = BusState<B, O>;
    type Step = BusStep<B, O>;

    fn initial(&self) -> Self::State {
        BusState::initial()
    }

    fn steps(&self, state: &Self::State, visit: &mut dyn FnMut(Self::Step, Result<Self::State, Violation>)) {
        for cpu in self.cpus() {
            self.processor_steps(state, cpu, visit);
            self.bus_step(state, Some(cpu), visit);
        }
        self.bus_step(state, None, visit);
        self.steps_beyond(state, visit);
    }

    fn is_internal(&self, step: Self::Step) -> bool {
        match step {
            BusStep::Access(..) | BusStep::Evict(_) => false,
            BusStep::Bus(..) => true,
            BusStep::Beyond(step) => O::is_internal(step),
        }
    }

    fn encode(&self, state: &Self::State, bytes: &mut Vec<u8>) {
        bytes.extend([state.beyond.pack(), state.memory.0 as u8]);
        let start = bytes.len();
        bytes.extend(state.caches[..self.caches].iter().map(B::pack_cache));
        if self.symmetry {
            bytes[start..].sort_unstable();
        }
    }

    fn decode(&self, bytes: &[u8]) -> Self::State {
        let mut state = BusState { beyond: O::unpack(bytes[0]), memory: Version(bytes[1].into()), ..self.initial() };
        for (line, &byte) in state.caches.iter_mut().zip(&bytes[2..]) {
            *line = B::unpack_cache(byte);
        }
        state
    }

    fn is_quiescent(&self, state: &Self::State) -> bool {
        state.beyond.is_quiet() && self.cpus().all(|cpu| B::request(&state.caches[cpu.index()]).is_none())
    }

    fn describe(&self, state: &Self::State) -> String {
        state.describe(self.caches)
    }
}

impl<B: ExploredBus, O: Beyond<B>> Programmable for BusModel<B, O> {
    fn intent(&self, step: Self::Step) -> Intent {
        match step {
            BusStep::Access(cpu, access) => Intent::Access(cpu.index(), access),
            BusStep::Evict(_) => Intent::Evict,
            BusStep::Bus(..) | BusStep::Beyond(_) => Intent::Other,
        }
    }

    fn is_blocked(&self, state: &Self::State, processor: usize) -> bool {
        B::access(&mut { state.caches[processor] }, Access::Load) == Started::Blocked
    }

    fn is_waiting(&self, state: &Self::State, processor: usize) -> bool {
        B::request(&state.caches[processor]).is_some()
    }

    fn has_latest(&self, state: &Self::State, processor: usize) -> bool {
        *B::contents(&mut { state.caches[processor] }) == LATEST
    }
}
