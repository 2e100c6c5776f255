//! A machine without a controller chip: processors and memory on one snooping bus.
//!
//! This is the shortest kind of machine: [`crate::snooping`] is all of it.

mod registry;

use machine::VirtualNetwork;
use protocol::Version;
use protocol::contract::Bus;
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId, Time};

use crate::SimError;
use crate::incoherence::Incoherence;
use crate::kernel::{self, EnvelopeId};
use crate::map::LineTable;
use crate::processor::{Post, ProcessorTiming};
use crate::snooping::{BusEvent, Buses, OnBus, Transaction};
use crate::statistics::NodeStatistics;
use crate::system::{Blueprint, Controller, Held, System};
use crate::wire::Network;

pub use registry::register_bus;
pub(crate) use registry::{machine, unloaded};

/// The bus, with its processors and memories.
pub struct Smp<B: Bus> {
    buses: Buses<B>,
    contents: LineTable<Version>,
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

impl<B: Bus> OnBus for Smp<B> {
    type Bus = B;

    #[inline]
    fn buses(&mut self) -> &mut Buses<B> {
        &mut self.buses
    }

    #[inline]
    fn message(transaction: Transaction) -> Transaction {
        transaction
    }

    #[inline]
    fn transaction(message: &Transaction) -> Transaction {
        *message
    }

    #[inline]
    fn event(event: BusEvent) -> BusEvent {
        event
    }

    #[inline]
    fn contents(&mut self, _node: NodeId, line: LineAddr) -> &mut Version {
        self.contents.line(line)
    }
}

impl<B: Bus> Controller for Smp<B> {
    type Message = Transaction;
    type Event = BusEvent;
    const WRITE_PREFETCHES_STORE: bool = true;

    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError> {
        let (topology, lines) = (blueprint.network.topology(), blueprint.lines);
        let buses = Buses::new(blueprint.description, topology, lines)?;
        Ok(Self { buses, contents: LineTable::new(topology.nodes().len(), lines) })
    }

    fn release(&self) -> Duration {
        self.buses.timing.release
    }

    fn announces_clean(&self) -> bool {
        false
    }

    /// A request that is granted now changes other caches when its combined reply is there.
    fn lookahead(&self) -> Duration {
        self.buses.timing.wires.snoop
    }

    fn unloaded_read(&self, _network: &Network, processor: &ProcessorTiming, _from: NodeId, _to: NodeId) -> Duration {
        let timing = &self.buses.timing;
        self.buses.unloaded_read(processor.turnaround(timing.critical, timing.line))
    }

    const NETWORKS: &'static [VirtualNetwork] = &[];

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.contents.extend(node, lines);
    }

    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        system.post_on_bus(cpu, post);
    }

    #[inline]
    fn happened(system: &mut System<Self>, event: BusEvent) {
        system.on_bus_event(event);
    }

    fn delivered(_system: &mut System<Self>, _channel: ChannelId, _id: EnvelopeId, _arrival: Time) {
        unreachable!("a machine of one node sends nothing through a network");
    }

    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence> {
        system.compare_on_bus(|smp, line| *smp.contents.line(line)).map(|_| ())
    }

    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics {
        system.controllers.buses.statistics(node)
    }

    fn held(system: &System<Self>, node: NodeId, time: Time) -> Held {
        system.controllers.buses.held(node, time)
    }
}
