//! A node without a controller chip: processors and memory on a snooping bus (Culler, Singh and Gupta, Parallel Computer
//! Architecture, 1999, chapter 6), with any protocol that keeps the contract of buses ([`Bus`]).
//!
//! This is the shortest kind of machine: the parts are a [`SnoopingBus`] and memories of [`Banks`], and this file composes them.
//! 1. A miss or a dirty eviction becomes a bus request at its processor's pins, and waits for the address wires.
//! 2. Memory starts to read with the address phase. When the combined reply is there, all caches and memory have changed
//!    their states at once (`System::snoop`): this is the order of the machine's accesses.
//! 3. The data, from memory or from the owner's cache, take the data wires when they are ready. When the line is in the
//!    requester's cache the transaction is complete, and the next one on that line may start.

mod bus;
mod check;
mod registry;

use engine::Grid;
use machine::VirtualNetwork;
use machine::description::BusSpec;
use protocol::contract::{Bus, Started};
use protocol::{Access, Version};
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId, Time};

use crate::SimError;
use crate::incoherence::Incoherence;
use crate::kernel::{self, EnvelopeId, Event, NodeEvent, Reach};
use crate::map::{LineMap, LineTable};
use crate::part::{Banks, BanksTiming, SnoopingBus, SnoopingBusTiming};
use crate::processor::{Post, PostKind, ProcessorTiming};
use crate::statistics::{Histogram, NodeStatistics, Tally};
use crate::system::{Blueprint, Controller, Held, System};
use crate::wire::Network;

pub use registry::register_bus;
pub(crate) use registry::{machine, unloaded};

/// The bus, the memory on it, and the transactions that its processors have outstanding.
pub struct Smp<B: Bus> {
    timing: SmpTiming,
    bus: SnoopingBus<EnvelopeId>,
    /// The memories, among which lines lie in turn.
    memories: Vec<Banks>,
    contents: LineTable<Version>,
    lines: LineMap,
    /// By processor.
    outstanding: Vec<Vec<Outstanding<B>>>,
    /// Transactions by mnemonic.
    sent: Vec<Tally>,
    invalidations: Histogram,
}

/// Times of the bus besides those of its part.
#[derive(Clone, Copy, Debug)]
struct SmpTiming {
    bus: SnoopingBusTiming,
    /// The time for the data of a line to cross.
    line: Duration,
    /// From the start of a line of data to its critical part at the processor.
    critical: Duration,
    /// From the read-out of an owner's cache to its data at the bus.
    supply: Duration,
    /// From the combined reply to the completion of a transaction without data.
    completion: Duration,
    /// From the completion of a request until its miss register is free.
    release: Duration,
}

impl SmpTiming {
    fn new(bus: &BusSpec, line: u64) -> Self {
        let cycles = |count: u32| bus.clock.period() * u64::from(count);
        let line = bus.clock.period() * line.div_ceil(bus.width.0);
        let wires = SnoopingBusTiming {
            clock: Grid::new(bus.clock.period()),
            outstanding: bus.outstanding as usize,
            arbitration: cycles(bus.arbitration_cycles),
            address: cycles(bus.address_cycles),
            snoop: cycles(bus.snoop_cycles),
            data: line + cycles(bus.turnaround_cycles),
        };
        Self {
            bus: wires,
            line,
            critical: cycles(bus.critical_cycles),
            supply: cycles(bus.supply_cycles),
            completion: cycles(bus.completion_cycles),
            release: cycles(bus.release_cycles),
        }
    }
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

/// A bus transaction, as its events name it.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    cpu: CpuId,
    line: LineAddr,
}

/// The steps of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SmpEvent {
    /// The request is at the processor's pins.
    Request(EnvelopeId),
    /// The combined snoop reply is there.
    Reply(EnvelopeId),
    /// The data are ready for the data wires.
    Data(EnvelopeId),
    /// The transaction is complete.
    Complete(EnvelopeId),
}

impl NodeEvent for SmpEvent {
    #[inline]
    fn pack(self) -> (u8, u32, u32) {
        match self {
            Self::Request(id) => (0, 0, id.0),
            Self::Reply(id) => (1, 0, id.0),
            Self::Data(id) => (2, 0, id.0),
            Self::Complete(id) => (3, 0, id.0),
        }
    }

    #[inline]
    fn unpack(kind: u8, _first: u32, second: u32) -> Self {
        let id = EnvelopeId(second);
        [Self::Request(id), Self::Reply(id), Self::Data(id), Self::Complete(id)][usize::from(kind)]
    }

    /// A combined reply changes the copies of all caches.
    #[inline]
    fn reach(self) -> Option<Reach> {
        matches!(self, Self::Reply(_)).then_some(Reach::Everywhere)
    }
}

impl kernel::Message for Transaction {
    /// A machine of one node sends nothing through a network.
    fn probes(&self) -> bool {
        false
    }

    /// A machine of one node sends nothing through a network.
    fn network(&self) -> VirtualNetwork {
        VirtualNetwork::Request
    }

    /// A machine of one node sends nothing through a network.
    fn carries_line(&self) -> bool {
        false
    }
}

impl<B: Bus> Controller for Smp<B> {
    type Message = Transaction;
    type Event = SmpEvent;
    const WRITE_PREFETCHES_STORE: bool = true;

    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError> {
        let (description, topology) = (blueprint.description, blueprint.network.topology());
        let bus = SimError::table(description.bus.as_ref(), description, "snooping-bus")?;
        let spec = SimError::table(description.banks.as_ref(), description, "snooping-bus")?;
        let timing = SmpTiming::new(bus, description.coherent_cache().line.0);
        let memory = Banks::new(BanksTiming::new(description, spec, bus.clock));
        Ok(Self {
            timing,
            bus: SnoopingBus::new(timing.bus),
            memories: vec![memory; description.memory.controllers as usize],
            contents: LineTable::new(topology.nodes().len(), blueprint.lines),
            lines: blueprint.lines,
            outstanding: vec![Vec::new(); topology.processors() as usize],
            sent: Vec::new(),
            invalidations: Histogram::default(),
        })
    }

    fn release(&self) -> Duration {
        self.timing.release
    }

    fn announces_clean(&self) -> bool {
        false
    }

    /// A request that is granted now changes other caches when its combined reply is there.
    fn lookahead(&self) -> Duration {
        self.timing.bus.snoop
    }

    /// The combined reply and the read of memory overlap.
    fn unloaded_read(&self, _network: &Network, processor: &ProcessorTiming, _from: NodeId, _to: NodeId) -> Duration {
        let timing = self.timing;
        let turnaround = processor.turnaround(timing.critical, timing.line);
        let start = (turnaround + timing.bus.arbitration).align_up(timing.bus.clock.period());
        let ready = timing.bus.snoop.max(timing.bus.address + self.memories[0].access());
        (start + ready).align_up(timing.bus.clock.period())
    }

    const NETWORKS: &'static [VirtualNetwork] = &[];

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.contents.extend(node, lines);
    }

    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        let Post { at, kind, line, copy, .. } = *post;
        let mut cache = B::held(copy.state, copy.version);
        let started = match kind {
            PostKind::Request(Access::PoisonRead) => return system.fail(SimError::NoUncached { cpu }),
            PostKind::Request(access) => B::access(&mut cache, access),
            PostKind::Evict => B::evict(&mut cache),
        };
        debug_assert_eq!(started, Started::Requested, "{kind:?} of {cpu:?} for {line:?} needs no bus: {copy:?}");
        let id = system.envelop(Transaction { cpu, line }, NodeId(0));
        let outstanding = Outstanding { id, line, cache, kind, read: Time::ZERO, memory_write: false };
        system.controllers.outstanding[cpu.index()].push(outstanding);
        system.schedule_processor(cpu, at, Event::Node(SmpEvent::Request(id)));
    }

    #[inline]
    fn happened(system: &mut System<Self>, event: SmpEvent) {
        match event {
            SmpEvent::Request(id) => system.on_request(id),
            SmpEvent::Reply(id) => system.on_reply(id),
            SmpEvent::Data(id) => system.on_data(id),
            SmpEvent::Complete(id) => system.on_complete(id),
        }
    }

    fn delivered(_system: &mut System<Self>, _channel: ChannelId, _id: EnvelopeId, _arrival: Time) {
        unreachable!("a machine of one node sends nothing through a network");
    }

    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence> {
        system.compare_with_memory()
    }

    fn statistics(system: &System<Self>, _node: NodeId) -> NodeStatistics {
        let controllers = &system.controllers;
        let Self { bus, sent, invalidations, .. } = controllers;
        NodeStatistics {
            busy: bus.address().busy(),
            queued: bus.address().queued(),
            bus_busy: bus.data().busy(),
            memory_busy: controllers.memory_busy(Time::MAX),
            sent: sent.clone(),
            invalidations: invalidations.clone(),
            ..NodeStatistics::default()
        }
    }

    fn held(system: &System<Self>, _node: NodeId, time: Time) -> Held {
        let controllers = &system.controllers;
        let bus = &controllers.bus;
        Held {
            bus: bus.data().busy_before(time),
            controller: bus.address().busy_before(time),
            queued: bus.address().queued(),
            memory: controllers.memory_busy(time),
        }
    }
}

impl<B: Bus> Smp<B> {
    /// The memory that a line lies in, and the number of the line there.
    fn memory(&mut self, line: LineAddr) -> (&mut Banks, u64) {
        let (memory, number) = self.lines.memory(line);
        (&mut self.memories[memory], number)
    }

    /// Occupancy of all channels of the memories before `time`.
    fn memory_busy(&self, time: Time) -> Duration {
        Banks::all_busy_before(&self.memories, time)
    }
}
