//! Ideal machines: FLASH's processors and protocol without the cost of the protocol (FLASH dissertation, 5.5).
//!
//! The dissertation defines two protocols that no machine has, and projects their speed from an account of a real
//! machine's misses ([`StallTerms`]). Here the ideal machines themselves run, so that both can be compared. The time of
//! a FLASH miss divides as follows:
//! - Both protocols keep the processor's own part, the bus to its controller with its queue, and T_m, the time of an
//!   uncontended local read (135 processor cycles on FLASH, header fetches included as in Table 5.2), because some
//!   memory answers every miss.
//! - `zero-overhead` alone keeps T_p2p, the uncontended way to the home and back, which a message-passing machine would
//!   have, too.
//! - Both protocols remove T_w and T_c. No handler occupies a controller, its caches do not miss, memory, network
//!   interfaces and routers have no queues, and no request receives a NACK. A line that another cache owns comes as
//!   fast as from memory: the third hop counts as coherence. A write is answered without waiting for its invalidations;
//!   invalidations and interventions occupy neither the bus nor the caches at their targets, and replacement hints no
//!   bus.
//! - `all-local` alone removes T_p2p: either every memory is equally near, or every line is prefetched in time.
//!
//! Sharing itself remains: lines move between the caches by the described protocol and its handlers
//! ([`protocol::msi`]), so that a machine and its ideal have the same kinds of misses. The handlers run functionally:
//! when an answer is at the bus of the missing processor, its request and all messages that follow from it (forwarded
//! requests, invalidations, acknowledgements) are handled at once. The order of answers is therefore the memory order,
//! no line is pending between events, and no request is retried across events. A memory operation takes as long as a
//! miss, and caches nothing.

mod event;
mod transaction;

use std::collections::VecDeque;

use engine::Server;
use machine::VirtualNetwork;
use machine::description::IdealProtocol;
use protocol::Access;
use protocol::msi::{self, CacheLine, Message, MessageKind, NodeContext, Transaction};
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId, Time};

use crate::flash::{
    self, Directory, MagicDescription, MagicTiming, Protocol, Sums, Traces, Unhindered, UnhinderedMisses, cpu_of,
};
use crate::incoherence::{Incoherence, Unfinished};
use crate::kernel::{self, EnvelopeId, Event};
use crate::map::LineMap;
use crate::part::CachedCopy;
use crate::processor::{MissId, Post, PostKind, ProcessorTiming};
use crate::statistics::{Histogram, NodeStatistics, Tally};
use crate::system::{Blueprint, Controller, Held, System};
use crate::wire::Network;
use crate::{SimError, StallTerms};

use event::IdealEvent;

/// The controllers of an ideal machine.
pub struct Ideals {
    timing: MagicTiming,
    nodes: Vec<Node>,
    directory: Box<dyn Directory>,
    lines: LineMap,
    replacement_hints: bool,
    relaxes_order: bool,
    /// By requester and home.
    unhindered: UnhinderedMisses,
    /// Whether every line counts as local to every node.
    all_local: bool,
    /// Pending protocol state within a transaction; empty between events.
    pending: Vec<((NodeId, LineAddr), CacheLine)>,
    /// Messages of a transaction still to be handled.
    messages: VecDeque<Message>,
    traces: Traces,
}

/// The moving parts of a node.
#[derive(Default)]
struct Node {
    bus: Server,
    /// Lines between the processor's caches and its pins, which the home still lists as copies.
    leaving: Vec<(LineAddr, CachedCopy)>,
    terms: Sums,
    sent: [u64; MessageKind::ALL.len()],
    invalidations: Histogram,
}

/// A line on its way from a processor's caches to its pins; no message leaves the node.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    line: LineAddr,
    /// Whether its data cross the bus.
    dirty: bool,
}

impl Node {
    /// Counts a message from node `from`, this one, to another.
    fn count(&mut self, from: NodeId, message: &Message) {
        self.sent[message.kind as usize] += u64::from(flash::destination(message) != from);
    }

    fn statistics(&self) -> NodeStatistics {
        let message = |&kind: &MessageKind| Tally {
            name: kind.mnemonic(),
            count: self.sent[kind as usize],
            busy: Duration::ZERO,
        };
        NodeStatistics {
            bus_busy: self.bus.busy(),
            sent: MessageKind::ALL.iter().map(message).filter(|tally| tally.count > 0).collect(),
            invalidations: self.invalidations.clone(),
            ..NodeStatistics::default()
        }
    }
}

impl kernel::Message for Leaving {
    /// No message leaves its node.
    fn probes(&self) -> bool {
        false
    }

    /// An ideal machine sends no messages through the network.
    fn network(&self) -> VirtualNetwork {
        VirtualNetwork::Request
    }

    /// An ideal machine sends no messages through the network.
    fn carries_line(&self) -> bool {
        false
    }
}

impl Controller for Ideals {
    type Message = Leaving;
    type Event = IdealEvent;
    const WRITE_PREFETCHES_STORE: bool = true;

    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError> {
        let parts = MagicDescription::of(blueprint.description)?;
        let Protocol { directory, replacement_hints, named, .. } = Protocol::of(blueprint, &parts)?;
        if named.remote_access_cache {
            let accepted = "protocols without /RAC in an ideal machine".into();
            return Err(SimError::Unsupported { key: "directory.protocol", value: named.name, accepted });
        }
        let timing = MagicTiming::new(blueprint.description)?;
        let unhindered = UnhinderedMisses::new(&timing, &parts, blueprint);
        Ok(Self {
            timing,
            nodes: blueprint.network.topology().nodes().iter().map(|_| Node::default()).collect(),
            directory,
            lines: blueprint.lines,
            replacement_hints,
            relaxes_order: named.variant.acknowledge_requester,
            unhindered,
            all_local: parts.directory.ideal == IdealProtocol::AllLocal,
            pending: Vec::new(),
            messages: VecDeque::new(),
            traces: Traces::default(),
        })
    }

    fn release(&self) -> Duration {
        self.timing.release
    }

    fn announces_clean(&self) -> bool {
        self.replacement_hints
    }

    fn relaxes_order(&self) -> bool {
        self.relaxes_order
    }

    /// Only an answer takes a line away, and it follows its request by at least this time.
    fn lookahead(&self) -> Duration {
        self.unhindered.local().between_buses
    }

    fn unloaded_read(&self, network: &Network, _processor: &ProcessorTiming, from: NodeId, to: NodeId) -> Duration {
        self.unhindered.read(network, from, if self.all_local { from } else { to })
    }

    const NETWORKS: &'static [VirtualNetwork] = &[];

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.directory.extend(node, lines);
    }

    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        match post.kind {
            PostKind::Request(access) => system.on_miss(cpu, post, access),
            PostKind::Evict => system.on_evict(cpu, post),
        }
    }

    #[inline]
    fn happened(system: &mut System<Self>, event: IdealEvent) {
        match event {
            IdealEvent::Request(cpu, miss, access) => system.on_request(cpu, miss, access),
            IdealEvent::Answer(cpu, miss, access) => system.on_answer(cpu, miss, access),
            IdealEvent::Evict(cpu, id) => system.on_leaving(cpu, id),
        }
    }

    fn delivered(_system: &mut System<Self>, _channel: ChannelId, _id: EnvelopeId, _arrival: Time) {
        unreachable!("an ideal machine sends nothing through its network");
    }

    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence> {
        for (node, parts) in (0..).map(NodeId).zip(&system.controllers.nodes) {
            Unfinished::none(node, parts.leaving.len(), "lines that have left its caches and not come to its pins")?;
        }
        let copies = system.copies_by_line();
        flash::against(&mut *system.controllers.directory, &copies)?;
        system.compare_with_stores(&copies, |ideals, line| ideals.directory.line(line).1)
    }

    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics {
        system.controllers.nodes[node.index()].statistics()
    }

    /// Only the bus is ever occupied.
    fn held(system: &System<Self>, node: NodeId, time: Time) -> Held {
        Held { bus: system.controllers.nodes[node.index()].bus.busy_before(time), ..Held::default() }
    }

    fn stall_terms(&self, cpu: CpuId) -> Option<StallTerms> {
        self.nodes.get(cpu.index()).map(|node| node.terms.terms())
    }
}

impl Ideals {
    /// The context of the cache-side handlers of `node` for `line`.
    #[inline]
    fn context(&self, node: NodeId, line: LineAddr) -> NodeContext {
        let (home, replacement_hints) = (self.lines.home(line), self.replacement_hints);
        NodeContext { node, home, replacement_hints, remote_access_cache: false }
    }

    /// The times of a miss of `node` on `line`.
    #[inline]
    fn unhindered(&mut self, network: &Network, node: NodeId, line: LineAddr) -> Unhindered {
        let home = if self.all_local { node } else { self.lines.home(line) };
        self.unhindered.of(network, node, home)
    }
}

impl System<Ideals> {
    /// A processor misses: its request will be at the pins.
    fn on_miss(&mut self, cpu: CpuId, post: &Post, access: Access) {
        let wanted = flash::wanted(access);
        if wanted.is_none() && access != Access::UncachedRead {
            return self.fail(SimError::NoUncached { cpu });
        }
        let Some(miss) = self.processor_mut(cpu).miss_on(post.line) else { return };
        let node = self.node_of(cpu);
        self.controllers.nodes[node.index()].terms.begin(miss, post.measured);
        self.schedule_processor(cpu, post.at, Event::Node(IdealEvent::Request(cpu, miss, wanted)));
    }

    /// A line leaves a processor's caches: it will be at the pins.
    fn on_evict(&mut self, cpu: CpuId, post: &Post) {
        let node = self.node_of(cpu);
        self.controllers.nodes[node.index()].leaving.push((post.line, post.copy));
        let leaving = Leaving { line: post.line, dirty: post.copy.state.is_dirty() };
        let id = self.envelop(leaving, node);
        self.schedule_processor(cpu, post.at, Event::Node(IdealEvent::Evict(cpu, id)));
    }

    /// A request takes the bus, which fixes the time of its answer.
    fn on_request(&mut self, cpu: CpuId, miss: MissId, access: Option<msi::Access>) {
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        let (now, node, delay) = (self.kernel.now, self.node_of(cpu), self.random_delay());
        let unhindered = self.controllers.unhindered(&self.network, node, line);
        let Ideals { timing, nodes, .. } = &mut self.controllers;
        let start = nodes[node.index()].bus.reserve(now, timing.bus.grid, timing.bus.request);
        let at = start + unhindered.between_buses + unhindered.point_to_point + delay;
        self.schedule(node, at, IdealEvent::Answer(cpu, miss, access));
    }

    /// The answer to a miss is at the bus: the access is performed with all its effects on other nodes.
    fn on_answer(&mut self, cpu: CpuId, miss: MissId, access: Option<msi::Access>) {
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        let node = self.node_of(cpu);
        let performed = match access {
            Some(access) => self.perform(node, line, access),
            None => {
                self.processor_mut(cpu).await_answer(miss, false);
                Ok(false)
            }
        };
        let data = match performed {
            Ok(data) => data,
            Err(error) => return self.fail(error),
        };
        self.observe_grant(cpu, line);
        let (now, unhindered) = (self.kernel.now, self.controllers.unhindered(&self.network, node, line));
        let remote = self.controllers.lines.home(line) != node;
        let Ideals { timing, nodes, .. } = &mut self.controllers;
        let node = &mut nodes[node.index()];
        node.terms.count_unhindered(miss, remote, &unhindered);
        let crossing = timing.bus.answer(data);
        let start = node.bus.reserve(now, timing.bus.grid, crossing.occupancy);
        self.cross_bus(cpu, miss, start, crossing);
    }

    /// An evicted line is at the processor's pins: a dirty one crosses the bus, and the home is updated at once.
    fn on_leaving(&mut self, cpu: CpuId, id: EnvelopeId) {
        let Leaving { line, dirty } = self.kernel.envelopes.remove(id).message;
        let (now, node) = (self.kernel.now, self.node_of(cpu));
        if dirty {
            let Ideals { timing, nodes, .. } = &mut self.controllers;
            nodes[node.index()].bus.reserve(now, timing.bus.grid, timing.bus.request + timing.bus.data);
        }
        if let Err(error) = self.give_up(node, line) {
            return self.fail(error);
        }
        self.processor_mut(cpu).release_writeback(line);
        self.wake_writeback(cpu, line);
    }
}

/// Whether a transaction at the home is a served write, which may have caused invalidations.
const fn is_served(transaction: Transaction) -> bool {
    matches!(transaction, Transaction::Write | Transaction::WriteInvalidating)
}
