//! The nodes of an SCI multiprocessor: processors with a coherent cache each, and memories, whose sharers form distributed
//! lists (Hexsel and Topham, "The performance of SCI multiprocessor rings").
//!
//! The parts are the processor's caches and [`Banks`](crate::part::Banks); the network is whatever the description names,
//! in the paper an SCI ring. The protocol is [`protocol::sci`] through its contract ([`Directory`](protocol::contract::Directory)).
//! 1. A miss starts a transaction, and a replaced line another one that takes it out of its list. Requests go to the memory
//!    of the line, or to another cache of the list.
//! 2. Memory and caches always respond: memory after an access to its banks, a cache after a check of its tags, with data
//!    after the read-out of the line.
//! 3. A response either completes the transaction or leads to the next request, which takes an access to the requester's
//!    own tags. The best transaction between two caches thus takes two accesses and the ring, the best one between cache and
//!    memory one access, one memory access, two transfers of the line and the ring (Section 4, Express Ring, KSR1 and
//!    Hector).
//! 4. A store to private data may go around the caches, to the memory of its own node (Section 4, The Simulated Multiprocessor).
//!
//! Theirs have one processor and one memory a node. Where there are several, each cache is an element of lists like those of
//! other nodes, and packets between agents of one node take no time besides that of the agents.

mod check;
mod event;
mod list;
mod requester;
mod target;
mod timing;

use machine::VirtualNetwork;
use protocol::contract::CacheSite;
use protocol::sci::{MemoryLine, Packet, Request};
use protocol::{Access, Agent};
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId, Time};

use crate::SimError;
use crate::incoherence::Incoherence;
use crate::kernel::EnvelopeId;
use crate::map::{LineMap, LineTable};
use crate::part::CachedCopy;
use crate::processor::{Post, PostKind, ProcessorTiming};
use crate::statistics::NodeStatistics;
use crate::system::{Blueprint, Controller, Held, System};
use crate::wire::{Interconnect, Network};

use event::SciEvent;
use list::{Element, Lists, Node, shown};
use timing::SciTiming;

/// The nodes of a machine.
pub struct SciNodes {
    timing: SciTiming,
    nodes: Vec<Node>,
    /// By processor.
    caches: Vec<Lists>,
    memory: LineTable<MemoryLine>,
    lines: LineMap,
    lookahead: Lookahead,
    /// Whether a miss waits until the line that it replaces has left its list.
    rollout_first: bool,
}

/// The look-ahead, from the packets' shortest way and the accesses to tags before it.
#[derive(Clone, Copy, Debug)]
struct Lookahead {
    /// While a transaction may begin with a request for another cache: a store to a line of which its cache is an element.
    short: Duration,
    /// Otherwise: all such requests follow an access to the tags of their cache.
    long: Duration,
    /// Transactions of the first kind that have yet to begin.
    upgrades: u32,
}

impl Lookahead {
    /// None where a node has several caches, whose requests to each other need no network.
    fn new(network: &Network, timing: &SciTiming, caches: u32) -> Self {
        if caches > 1 {
            return Self { short: Duration::ZERO, long: Duration::ZERO, upgrades: 0 };
        }
        let short = network.wires.soonest_delivery().unwrap_or(Duration::ZERO);
        // Requests that have left are counted, if the interconnect has no events of their own for them.
        let before = if network.wires.announces_early() { Duration::ZERO } else { timing.tag_check };
        Self { short, long: short + before, upgrades: 0 }
    }
}

impl Controller for SciNodes {
    type Message = Packet;
    type Event = SciEvent;
    const WRITE_PREFETCHES_STORE: bool = true;

    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError> {
        let Blueprint { description, network, lines, .. } = blueprint;
        let sci = SimError::table(description.sci.as_ref(), description, "sci")?;
        let (timing, count) = (SciTiming::new(description)?, network.topology().nodes().len());
        Ok(Self {
            timing,
            nodes: (0..count).map(|_| Node::new(&timing, description.memory.controllers)).collect(),
            caches: (0..description.topology.processors).map(|_| Lists::default()).collect(),
            memory: LineTable::new(count, *lines),
            lines: *lines,
            lookahead: Lookahead::new(network, &timing, description.topology.processors_per_node),
            rollout_first: sci.rollout_first,
        })
    }

    fn release(&self) -> Duration {
        Duration::ZERO
    }

    /// Every line that leaves a cache leaves its list.
    fn announces_clean(&self) -> bool {
        true
    }

    /// Only requests of other caches act on a cache, and those of other nodes come through the network.
    #[inline]
    fn lookahead(&self) -> Duration {
        let Lookahead { short, long, upgrades } = self.lookahead;
        if upgrades > 0 { short } else { long }
    }

    /// A line that leaves its list takes accesses to the tags.
    fn is_disturbing(&self, node: NodeId) -> bool {
        self.nodes[node.index()].leaving > 0
    }

    fn unloaded_read(&self, network: &Network, processor: &ProcessorTiming, from: NodeId, to: NodeId) -> Duration {
        let SciTiming { line, cycle, banks, .. } = self.timing;
        let there = processor.turnaround(line, line) + banks.access + banks.read;
        if from == to {
            return there;
        }
        let request = network.mean_way(VirtualNetwork::Request, from, to, cycle);
        let reply = network.mean_way(VirtualNetwork::Reply, to, from, cycle) + network.line_spread(to, from);
        there + request + reply
    }

    const NETWORKS: &'static [VirtualNetwork] = &VirtualNetwork::ALL;

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.memory.extend(node, lines);
    }

    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        match post.kind {
            PostKind::Request(Access::UncachedRead | Access::PoisonRead) => system.fail(SimError::NoUncached { cpu }),
            PostKind::Request(access) => system.on_miss(cpu, post, access),
            PostKind::Evict => system.on_evict(cpu, post),
        }
    }

    #[inline]
    fn happened(system: &mut System<Self>, event: SciEvent) {
        match event {
            SciEvent::Begin(cpu, opening) => system.on_begin(cpu, opening),
            SciEvent::Send(node, id) => system.on_send(node, id),
            SciEvent::Arrive(id) => system.on_arrive(id),
            SciEvent::Serve(id) => system.on_serve(id),
        }
    }

    fn delivered(system: &mut System<Self>, _channel: ChannelId, id: EnvelopeId, arrival: Time) {
        let (to, spread) = {
            let envelope = system.kernel.envelopes.get(id);
            (envelope.to, envelope.passage.spread)
        };
        system.schedule(to, arrival + spread, SciEvent::Arrive(id));
    }

    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence> {
        system.compare_lists()
    }

    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics {
        system.controllers.nodes[node.index()].statistics()
    }

    fn held(system: &System<Self>, node: NodeId, time: Time) -> Held {
        let memory = system.controllers.nodes[node.index()].memory_busy(time);
        Held { controller: memory, memory, ..Held::default() }
    }
}

impl System<SciNodes> {
    /// Applies a protocol handler to a line at the cache of `cpu`.
    fn handle_line<T>(
        &mut self,
        cpu: CpuId,
        line: LineAddr,
        handler: impl FnOnce(&mut Element, &CacheSite) -> T,
    ) -> (T, Element) {
        let mut element = self.controllers.caches[cpu.index()].element(line);
        if !element.leaves && element.line.state.is_readable() {
            // The processor stores without notice.
            element.line.version = self.copy_of(cpu, line).version;
        }
        let site = CacheSite { cache: cpu, line, home: self.controllers.lines.home(line) };
        let result = handler(&mut element, &site);
        self.controllers.caches[cpu.index()].set(line, element);
        (result, element)
    }

    /// The processor `cpu` takes the state of its copy, unless it has given up the line. Its miss on the line stays
    /// outstanding unless this `completes` it.
    fn show(&mut self, cpu: CpuId, line: LineAddr, element: &Element, completes: bool) {
        if element.leaves {
            return;
        }
        let copy = CachedCopy { state: shown(&element.line), version: element.line.version };
        let processor = self.processor_mut(cpu);
        let open = processor.miss_on(line).and_then(|miss| processor.miss(miss)).is_some_and(|miss| !miss.is_granted());
        processor.set_copy(line, copy, open && !completes);
        self.wake_spinner(cpu);
    }

    /// Registers a packet, for its destination.
    fn packet(&mut self, packet: Packet) -> EnvelopeId {
        let to = match packet {
            Packet::Request(Request { to: Agent::Processor(cpu), .. }) => self.node_of(cpu),
            Packet::Request(Request { line, .. }) => self.controllers.lines.home(line),
            Packet::Response(response) => self.node_of(response.to),
        };
        self.envelop(packet, to)
    }

    /// A packet leaves `node`, or stays in it.
    fn on_send(&mut self, node: NodeId, id: EnvelopeId) {
        let envelope = self.kernel.envelopes.get(id);
        let to = envelope.to;
        if let Packet::Request(request) = envelope.message {
            self.controllers.nodes[node.index()].count_request(request.command);
        }
        if to != node {
            return self.enter_network(node, id);
        }
        let at = self.kernel.now + self.random_delay();
        self.schedule(node, at, SciEvent::Arrive(id));
    }

    fn on_arrive(&mut self, id: EnvelopeId) {
        match self.kernel.envelopes.get(id).message {
            Packet::Request(request @ Request { to: Agent::Processor(cpu), .. }) => self.on_probe(id, cpu, &request),
            Packet::Request(_) => self.on_memory(id),
            Packet::Response(response) => self.on_response(id, &response),
        }
    }
}
