//! States and steps of a bus protocol's model.

use std::fmt;

use protocol::contract::Bus;
use protocol::snoop::Rights;
use protocol::{Access, Version};
use units::CpuId;

use super::{Beyond, ExploredBus};
use crate::directory::verb;
pub use crate::directory::{JUST_STORED, LATEST, STALE};

/// Most caches on the bus.
pub const MAX_CACHES: usize = 8;

/// The line in every cache, in memory, and beyond the bus.
#[derive(Clone)]
pub struct BusState<B: Bus, O> {
    pub(super) caches: [B::CacheLine; MAX_CACHES],
    pub(super) beyond: O,
    /// Contents of memory; meaningless, and [`STALE`], while the caches have no right to the line.
    pub(super) memory: Version,
}

impl<B: Bus, O: PartialEq> PartialEq for BusState<B, O> {
    fn eq(&self, other: &Self) -> bool {
        (&self.caches, &self.beyond, self.memory) == (&other.caches, &other.beyond, other.memory)
    }
}

impl<B: ExploredBus, O: Beyond<B>> BusState<B, O> {
    /// Initial state: nothing is cached, and memory or what lies beyond has the latest contents, according to the
    /// rights.
    pub(super) fn initial() -> Self {
        let mut beyond = O::default();
        let here = beyond.rights() != Rights::None;
        if let Some(contents) = beyond.contents() {
            *contents = if here { STALE } else { LATEST };
        }
        let memory = if here { LATEST } else { STALE };
        Self { caches: [B::CacheLine::default(); MAX_CACHES], beyond, memory }
    }

    /// Renumbers all contents after a store by `cpu`, or beyond the bus: all other contents are older.
    pub(super) fn renumber(&mut self, cpu: Option<CpuId>) {
        self.memory = STALE;
        if let Some(contents) = self.beyond.contents() {
            *contents = if cpu.is_none() { LATEST } else { STALE };
        }
        for (other, line) in self.caches.iter_mut().enumerate() {
            *B::contents(line) = if cpu.is_some_and(|cpu| cpu.index() == other) { LATEST } else { STALE };
        }
    }

    /// Description of the state in one line, for traces.
    pub(super) fn describe(&self, caches: usize) -> String {
        let lines = self.caches[..caches].iter().map(|line| {
            let age = if B::copy(line).is_valid() { age(*B::contents(&mut { *line })) } else { "" };
            format!("{}{age} | ", B::describe_cache(line))
        });
        format!("{}memory{}{}", lines.collect::<String>(), age(self.memory), self.beyond.describe())
    }
}

/// Age of contents in traces.
pub fn age(version: Version) -> &'static str {
    if version == LATEST { "" } else { " stale" }
}

/// One step.
pub enum BusStep<B: Bus, O: Beyond<B>> {
    /// A processor accesses the line.
    Access(CpuId, Access),
    /// A cache evicts the line.
    Evict(CpuId),
    /// A cache, or the further participant, performs its bus request.
    Bus(Option<CpuId>, B::Command),
    /// A step of what lies beyond the bus.
    Beyond(O::Step),
}

impl<B: Bus, O: Beyond<B>> Clone for BusStep<B, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Bus, O: Beyond<B>> Copy for BusStep<B, O> {}

impl<B: Bus, O: Beyond<B>> fmt::Display for BusStep<B, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Access(cpu, access) => write!(f, "{cpu:?}: {} the line", verb(*access)),
            Self::Evict(cpu) => write!(f, "{cpu:?}: evicts the line"),
            Self::Bus(Some(cpu), command) => write!(f, "bus: {} by {cpu:?}", B::mnemonic(*command)),
            Self::Bus(None, command) => write!(f, "bus: {} by the device", B::mnemonic(*command)),
            Self::Beyond(step) => write!(f, "{step}"),
        }
    }
}
