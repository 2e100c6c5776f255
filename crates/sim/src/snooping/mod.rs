//! The processors and memories of nodes on a snooping bus each (Culler, Singh and Gupta, Parallel Computer Architecture, 1999,
//! chapter 6), with any protocol that keeps the contract of buses ([`Bus`]).
//!
//! A machine of one such node is [`crate::smp`]; machines of several join them by a device that is a further participant of
//! each bus ([`crate::cluster`]). What differs between them is [`OnBus`].
//! 1. A miss or a dirty eviction becomes a bus request at its processor's pins, and waits for the address wires.
//! 2. Memory starts to read with the address phase. When the combined reply is there, all caches and memory have changed
//!    their states at once (`System::snoop`): this is the order of the node's accesses. If the device puts the transaction off,
//!    nothing has happened, and it waits for the device.
//! 3. The data, from memory or from the owner's cache, take the data wires when they are ready. When the line is in the
//!    requester's cache the transaction is complete, and the next one on that line may start.

mod check;
mod event;
mod on_bus;
mod snoop;
mod steps;
mod timing;

use machine::Topology;
use machine::description::Description;
use protocol::contract::Bus;
use units::{CpuId, Duration, LineAddr, NodeId, Time};

use crate::SimError;
use crate::kernel::EnvelopeId;
use crate::map::LineMap;
use crate::part::{Banks, BanksTiming, SnoopingBus};
use crate::processor::PostKind;
use crate::statistics::{Histogram, NodeStatistics, Tally};
use crate::system::Held;

pub use event::{BusEvent, Requester, Transaction};
pub use on_bus::OnBus;
pub use timing::NodeBusTiming;

/// The buses of all nodes, with the processors and memories on them.
pub struct Buses<B: Bus> {
    /// Times of each bus.
    pub timing: NodeBusTiming,
    /// The positions of lines.
    pub lines: LineMap,
    /// By node.
    pub nodes: Vec<NodeBus>,
    /// The transactions that processors have outstanding, by processor.
    outstanding: Vec<Vec<Outstanding<B>>>,
}

/// The bus of a node, and the memories on it.
pub struct NodeBus {
    /// The wires.
    pub wires: SnoopingBus<EnvelopeId>,
    /// The processors on the bus.
    pub processors: Vec<CpuId>,
    /// The memories, among which lines lie in turn.
    memories: Vec<Banks>,
    /// Transactions by mnemonic.
    sent: Vec<Tally>,
    invalidations: Histogram,
}

/// A processor's bus transaction, from its request to the end of its data.
#[derive(Clone, Copy, Debug)]
struct Outstanding<B: Bus> {
    id: EnvelopeId,
    line: LineAddr,
    /// The protocol's state of the line at the processor: its copy, and its bus request until that is granted.
    cache: B::CacheLine,
    /// The processor's request or notice.
    kind: PostKind,
    /// The time at which memory has the line for the data wires.
    read: Time,
    /// Whether memory takes the data, too.
    memory_write: bool,
}

impl<B: Bus> Buses<B> {
    /// Idle buses, one a node of `topology`.
    ///
    /// # Errors
    /// The description has no bus.
    pub fn new(description: &Description, topology: &Topology, lines: LineMap) -> Result<Self, SimError> {
        let bus = SimError::table(description.bus.as_ref(), description, "snooping-bus")?;
        let spec = SimError::table(description.banks.as_ref(), description, "snooping-bus")?;
        let timing = NodeBusTiming::new(bus, description.coherent_cache().line.0);
        let memory = Banks::new(BanksTiming::new(description, spec, bus.clock));
        let node = |id| NodeBus {
            wires: SnoopingBus::new(timing.wires),
            processors: topology.cpus_of(id).collect(),
            memories: vec![memory.clone(); description.memory.controllers as usize],
            sent: Vec::new(),
            invalidations: Histogram::default(),
        };
        let nodes = topology.nodes().iter().map(|entry| node(entry.id)).collect();
        Ok(Self { timing, lines, nodes, outstanding: vec![Vec::new(); topology.processors() as usize] })
    }

    /// The bus of `node`.
    #[inline]
    pub fn node(&mut self, node: NodeId) -> &mut NodeBus {
        &mut self.nodes[node.index()]
    }

    /// The memory of its home that a line lies in, and the number of the line there.
    #[inline]
    pub fn memory(&mut self, line: LineAddr) -> (&mut Banks, u64) {
        let (memory, number) = self.lines.memory(line);
        (&mut self.nodes[self.lines.home(line).index()].memories[memory], number)
    }

    /// The memory of `node` that a line would lie in there, and the number of the line: for frames of lines of other nodes.
    #[inline]
    pub fn memory_on(&mut self, node: NodeId, line: LineAddr) -> (&mut Banks, u64) {
        let (memory, number) = self.lines.memory(line);
        (&mut self.nodes[node.index()].memories[memory], number)
    }

    /// From the start of an access to memory to its first data.
    pub fn memory_access(&self) -> Duration {
        self.nodes.first().map_or(Duration::ZERO, |node| node.memories[0].access())
    }

    /// The least time from a processor's request at its pins to the data of local memory on the bus. The combined reply and
    /// the read of memory overlap.
    pub fn unloaded_read(&self, asked: Duration) -> Duration {
        let (wires, clock) = (&self.timing.wires, self.timing.wires.clock.period());
        let start = (asked + wires.arbitration).align_up(clock);
        (start + wires.snoop.max(wires.address + self.memory_access())).align_up(clock)
    }

    /// Statistics of the bus of a node.
    pub fn statistics(&self, node: NodeId) -> NodeStatistics {
        let NodeBus { wires, sent, invalidations, .. } = &self.nodes[node.index()];
        NodeStatistics {
            busy: wires.address().busy(),
            queued: wires.address().queued(),
            bus_busy: wires.data().busy(),
            memory_busy: self.nodes[node.index()].memory_busy(Time::MAX),
            sent: sent.clone(),
            invalidations: invalidations.clone(),
            ..NodeStatistics::default()
        }
    }

    /// Occupancies of a node's bus before `time`.
    pub fn held(&self, node: NodeId, time: Time) -> Held {
        let node = &self.nodes[node.index()];
        Held {
            bus: node.wires.data().busy_before(time),
            controller: node.wires.address().busy_before(time),
            queued: node.wires.address().queued(),
            memory: node.memory_busy(time),
        }
    }
}

impl NodeBus {
    /// Occupancy of all channels of the memories before `time`.
    fn memory_busy(&self, time: Time) -> Duration {
        Banks::all_busy_before(&self.memories, time)
    }

    /// Counts a transaction, and the copies that it invalidated if it was for a write.
    fn count(&mut self, name: &'static str, invalidated: Option<u16>) {
        match self.sent.iter_mut().find(|tally| tally.name == name) {
            Some(tally) => tally.count += 1,
            None => self.sent.push(Tally { name, count: 1, busy: Duration::ZERO }),
        }
        if let Some(invalidated) = invalidated {
            self.invalidations.count(invalidated);
        }
    }
}
