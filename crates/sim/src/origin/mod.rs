//! The Origin 2000's nodes: two processors on a bus, a Hub, memory with its directory (Prestor 2001, 3.2).

mod activity;
mod check;
mod copy_engine;
mod counted;
mod home;
mod hub;
mod interface;
mod reference_counters;
mod transport;
mod unloaded;

use machine::VirtualNetwork;
use protocol::origin::{CacheContext, CacheLine, DirectoryEntry, Geometry, Message, Outbox, Pending};
use protocol::{Agent, Version};
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId, PhysicalAddr, Time};

use crate::counters::CounterUnit;
use crate::incoherence::Incoherence;
use crate::kernel::{self, EnvelopeId, Event, NodeEvent, Reach};
use crate::map::{LineMap, LineTable};
use crate::os::{Discovery, PageOperation, Transfer};
use crate::part::{CachedCopy, ReferenceCounters};
use crate::processor::{MissId, Post, PostKind, ProcessorTiming};
use crate::system::{Blueprint, Controller, Held, System};
use crate::wire::{Interconnect, Network};
use crate::{NodeStatistics, SimError};

pub use hub::{HubCounters, MessageCounts};

use hub::{Hub, HubTiming};

/// The Hubs of a machine, the directory of its memory, and what its processors have outstanding.
pub struct Hubs {
    geometry: Geometry,
    lines: LineMap,
    timing: HubTiming,
    lookahead: Duration,
    hubs: Vec<Hub>,
    directory: LineTable<(DirectoryEntry, Version)>,
    /// By processor, the lines for which the protocol has something pending.
    outstanding: Vec<Vec<(LineAddr, CacheLine)>>,
    /// The reference counters, if pages migrate.
    references: Option<ReferenceCounters>,
}

/// The events of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HubEvent {
    /// A processor's request or writeback is at its pins.
    Request(CpuId, EnvelopeId),
    /// A message reaches the memory/directory interface of its node.
    Home(EnvelopeId),
    /// A message reaches the processor interface of its node.
    Interface(EnvelopeId),
    /// An intervention or invalidation is on the system bus: the processors probe their tags.
    Snoop(EnvelopeId),
    /// An owner has the line ready for the system bus, for its response and its revision.
    Supply(EnvelopeId, EnvelopeId),
    /// A message reaches the network interface of a node on its way out.
    Inject(NodeId, EnvelopeId),
    /// A message leaves the network interface of a node.
    Depart(NodeId, EnvelopeId),
    /// A message from the network, or as much of it as is needed, has passed the network interface of its node.
    Arrive(EnvelopeId),
    /// A NACKed request is due for its retry.
    Retry(CpuId, MissId),
    /// The copy engine of a node reads a line of its page, or retries it.
    Copy(NodeId, u32),
}

impl NodeEvent for HubEvent {
    #[inline]
    fn pack(self) -> (u8, u32, u32) {
        match self {
            Self::Request(cpu, id) => (0, u32::from(cpu.0), id.0),
            Self::Home(id) => (1, 0, id.0),
            Self::Interface(id) => (2, 0, id.0),
            Self::Snoop(id) => (3, 0, id.0),
            Self::Supply(response, revision) => (4, response.0, revision.0),
            Self::Inject(node, id) => (5, u32::from(node.0), id.0),
            Self::Depart(node, id) => (6, u32::from(node.0), id.0),
            Self::Arrive(id) => (7, 0, id.0),
            Self::Retry(cpu, miss) => (8, u32::from(cpu.0), u32::from(miss.0)),
            Self::Copy(node, line) => (9, u32::from(node.0), line),
        }
    }

    #[inline]
    fn unpack(kind: u8, first: u32, second: u32) -> Self {
        let (cpu, node, id) = (CpuId(first as u16), NodeId(first as u16), EnvelopeId(second));
        match kind {
            0 => Self::Request(cpu, id),
            1 => Self::Home(id),
            2 => Self::Interface(id),
            3 => Self::Snoop(id),
            4 => Self::Supply(EnvelopeId(first), id),
            5 => Self::Inject(node, id),
            6 => Self::Depart(node, id),
            7 => Self::Arrive(id),
            8 => Self::Retry(cpu, MissId(second as u8)),
            _ => Self::Copy(node, second),
        }
    }

    #[inline]
    fn reach(self) -> Option<Reach> {
        match self {
            Self::Interface(id) | Self::Snoop(id) | Self::Arrive(id) => Some(Reach::Message(id)),
            Self::Supply(response, _) => Some(Reach::Destination(response)),
            Self::Retry(cpu, _) => Some(Reach::Neighbours(cpu)),
            Self::Request(..) | Self::Home(_) | Self::Inject(..) | Self::Depart(..) | Self::Copy(..) => None,
        }
    }
}

impl kernel::Message for Message {
    /// Every message to a processor interface, answers and NACKs included.
    #[inline]
    fn probes(&self) -> bool {
        !matches!(self.to, Agent::Home(_))
    }

    #[inline]
    fn network(&self) -> VirtualNetwork {
        transport::network(self.kind.class())
    }

    #[inline]
    fn carries_line(&self) -> bool {
        self.kind.carries_data()
    }
}

impl Controller for Hubs {
    type Message = Message;
    type Event = HubEvent;
    const WRITE_PREFETCHES_STORE: bool = false;
    const DISCOVERY: Option<Discovery> = Some(Discovery::BusErrors);
    const PROBES_INCLUDE_ANSWERS: bool = true;

    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError> {
        let topology = blueprint.network.topology();
        let nodes = topology.nodes().len();
        let os = &blueprint.description.os;
        let geometry = Geometry {
            nodes: nodes as u16,
            processors_per_node: blueprint.description.topology.processors_per_node as u16,
            priority_limit: Geometry::ORIGIN_PRIORITY_LIMIT,
        };
        let timing = HubTiming::new(blueprint.description)?;
        Ok(Self {
            geometry,
            lines: blueprint.lines,
            lookahead: timing.lookahead(blueprint.network.wires.soonest_delivery()),
            timing,
            hubs: (0..nodes).map(|_| Hub::new()).collect(),
            directory: LineTable::new(nodes, blueprint.lines),
            outstanding: vec![Vec::new(); usize::from(geometry.processors())],
            references: os
                .migration
                .then(|| ReferenceCounters::new(reference_counters::counters(nodes, os.migration_threshold))),
        })
    }

    fn release(&self) -> Duration {
        self.timing.release
    }

    fn announces_clean(&self) -> bool {
        false
    }

    /// A message reaches its processors from when their own home or the last channel sends it. An event that leads to
    /// such a message within their own processor interface reaches them before.
    fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// The processor in whose name the copy engine acts may lose copies at any time.
    #[inline]
    fn is_disturbing(&self, node: NodeId) -> bool {
        self.hubs[node.index()].engine.is_busy()
    }

    fn unloaded_read(&self, network: &Network, processor: &ProcessorTiming, from: NodeId, to: NodeId) -> Duration {
        self.timing.unloaded_read(network, processor, from, to)
    }

    const NETWORKS: &'static [VirtualNetwork] = &VirtualNetwork::ALL;

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.directory.extend(node, lines);
    }

    /// The miss register takes the line now; the message is at the pins later.
    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        let Post { at, kind, line, copy, .. } = *post;
        let node = system.node_of(cpu);
        if cpu == system.controllers.agent(node) && system.controllers.hubs[node.index()].engine.holds(post) {
            return;
        }
        let mut cache = CacheLine { state: copy.state.into(), version: copy.version, pending: Pending::None };
        let mut outbox = Outbox::new();
        let context = system.controllers.context(cpu, line);
        match kind {
            PostKind::Request(access) => {
                protocol::origin::processor_request(&mut cache, &context, access, &mut outbox);
            }
            PostKind::Evict => {
                protocol::origin::evict(&mut cache, &context, &mut outbox);
            }
        }
        system.controllers.outstanding[cpu.index()].push((line, cache));
        for &message in outbox.as_slice() {
            let id = system.envelop(message, node);
            system.schedule_processor(cpu, at, Event::Node(HubEvent::Request(cpu, id)));
        }
    }

    #[inline]
    fn happened(system: &mut System<Self>, event: HubEvent) {
        match event {
            HubEvent::Request(cpu, id) => system.on_request(cpu, id),
            HubEvent::Home(id) => system.on_home(id),
            HubEvent::Interface(id) => system.on_interface(id),
            HubEvent::Snoop(id) => system.on_snoop(id),
            HubEvent::Supply(response, revision) => system.on_supply(response, revision),
            HubEvent::Inject(node, id) => system.on_inject(node, id),
            HubEvent::Depart(node, id) => system.enter_network(node, id),
            HubEvent::Arrive(id) => system.on_arrive(id),
            HubEvent::Retry(cpu, miss) => system.on_retry(cpu, miss),
            HubEvent::Copy(node, line) => system.on_copy(node, line),
        }
    }

    #[inline]
    fn delivered(system: &mut System<Self>, channel: ChannelId, id: EnvelopeId, arrival: Time) {
        system.on_delivery(channel, id, arrival);
    }

    fn transfer(system: &mut System<Self>, transfer: Transfer, at: Time) {
        system.begin_copying(transfer, at);
    }

    fn selected(&mut self, at: PhysicalAddr) -> Option<PageOperation> {
        self.references.as_ref()?.selected(at)
    }

    /// An interrupt takes as long as an invalidation to reach the processor.
    fn interrupt_delay(&self, _network: &Network, _from: NodeId, _to: NodeId) -> Duration {
        self.timing.soonest_invalidation()
    }

    fn retry_delay(&self) -> Duration {
        self.timing.retry
    }

    #[inline]
    fn filled(system: &mut System<Self>, cpu: CpuId, miss: MissId) -> Result<(), SimError> {
        system.serve_deferred(cpu, miss)
    }

    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence> {
        system.compare_with_directory()
    }

    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics {
        system.controllers.hubs[node.index()].statistics()
    }

    const COUNTERS: &'static [CounterUnit] = &[CounterUnit::HubMemory, CounterUnit::HubIo];

    fn counted(system: &System<Self>, node: NodeId, unit: CounterUnit, mode: usize, time: Time, exact: &mut [u64]) {
        let Hubs { hubs, timing, .. } = &system.controllers;
        hubs[node.index()].counted(timing, unit, mode, time, exact);
    }

    fn held(system: &System<Self>, node: NodeId, time: Time) -> Held {
        system.controllers.hubs[node.index()].held(time)
    }
}

impl Hubs {
    /// The context of the processor-side handlers for `line`.
    #[inline]
    fn context(&self, cpu: CpuId, line: LineAddr) -> CacheContext {
        CacheContext { cpu, line, home: self.lines.home(line), geometry: self.geometry }
    }

    /// Counts of a node's Hub since the start.
    pub fn counters(&self, node: NodeId) -> Option<HubCounters> {
        self.hubs.get(node.index()).map(Hub::counters)
    }
}

impl System<Hubs> {
    /// The protocol's state of `line` at a processor: the pending state if there is one, otherwise the copy alone.
    #[inline]
    fn view(&mut self, cpu: CpuId, line: LineAddr) -> CacheLine {
        let outstanding = &self.controllers.outstanding[cpu.index()];
        let pending = match outstanding.iter().find(|(other, _)| *other == line) {
            // The request has been granted: the copy is in the processor, which may store to it before the intervention
            // is answered.
            Some((_, CacheLine { pending: Pending::Intervention(deferred), .. })) => Pending::Intervention(*deferred),
            Some((_, cache)) => return *cache,
            None => Pending::None,
        };
        let CachedCopy { state, version } = self.copy_of(cpu, line);
        CacheLine { state: state.into(), version, pending }
    }

    /// Applies a handler of the protocol to a line at a processor.
    #[inline]
    fn with_line<T>(
        &mut self,
        cpu: CpuId,
        line: LineAddr,
        handler: impl FnOnce(&mut CacheLine, &CacheContext) -> T,
    ) -> T {
        let mut cache = self.view(cpu, line);
        let result = handler(&mut cache, &self.controllers.context(cpu, line));
        let CacheLine { state, version, pending } = cache;
        let outstanding = &mut self.controllers.outstanding[cpu.index()];
        let place = outstanding.iter().position(|(other, _)| *other == line);
        match (place, pending) {
            (Some(place), Pending::None) => {
                outstanding.swap_remove(place);
            }
            (Some(place), _) => outstanding[place].1 = cache,
            (None, Pending::None) => {}
            (None, _) => outstanding.push((line, cache)),
        }
        let Some(processor) = self.agent_processor(cpu) else { return result };
        processor.set_copy(line, CachedCopy { state: state.into(), version }, matches!(pending, Pending::Request(_)));
        if pending == Pending::None {
            processor.release_writeback(line);
        }
        self.wake_spinner(cpu);
        result
    }
}
