//! Ideal machines: FLASH's processors and protocol without what the protocol costs (FLASH dissertation, 5.5).
//!
//! The dissertation defines two protocols that no machine has, and projects their speed from an account of a real machine's
//! misses ([`StallTerms`]). Here the machines themselves run, so that both can be compared. Of a miss on FLASH,
//! - what remains in both: the processor's own part, the bus to its controller with its queue, and T_m, the time of a local
//!   read that nothing hinders (135 processor cycles on FLASH, fetching headers included as in Table 5.2), because every miss is seen and answered by some memory;
//! - what remains in `zero-overhead` alone: T_p2p, the way to the home and back, when nothing is in its way. A message-passing
//!   machine would have it, too;
//! - what is removed in both: T_w and T_c. No handler occupies a controller, its caches do not miss, memory, network interfaces
//!   and routers have no queues, no request is refused. A line that another cache owns comes as fast as from memory: the third
//!   hop is a special case of coherence. A write is answered without waiting for its invalidations; invalidations and
//!   interventions hold neither the bus nor the caches of those whom they reach, and replacement hints hold no bus.
//! - what is removed in `all-local` alone: T_p2p. Either every memory is equally near, or the program has everything fetched
//!   in time.
//!
//! What stays is sharing itself: lines move between the caches as the protocol that the description names has it, by the same
//! handlers ([`protocol::msi`]), so that a machine and its ideal have the same kinds of misses. They are run functionally: when an
//! answer comes to the bus of the processor that missed, its request and all that follows from it, forwarded requests,
//! invalidations and acknowledgements, are done at once. So the order in which misses are answered is the order of memory, between
//! events no line is pending, and nobody has to try again. An operation that the memory performs takes as long as a miss, and
//! no cache learns of it.

mod event;
mod transaction;

use std::collections::VecDeque;

use engine::{Server, Source};
use machine::VirtualNetwork;
use machine::description::IdealProtocol;
use protocol::Access;
use protocol::msi::{self, CacheLine, Message, MessageKind, NodeContext, Transaction};
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId, Time};

use crate::flash::{self, Directory, MagicDescription, MagicTiming, Protocol, Sums, Traces, Unhindered, cpu_of};
use crate::memory::LineMap;
use crate::processor::{Ask, CachedCopy, MissId, Post};
use crate::statistics::{Histogram, NodeStatistics, Tally};
use crate::system::{Blueprint, Controller, EnvelopeId, Event, Held, Incoherence, System, Unfinished};
use crate::{SimError, StallTerms};

use event::IdealEvent;

/// What takes the place of a machine's controllers.
pub struct Ideals {
    timing: MagicTiming,
    nodes: Vec<Node>,
    directory: Box<dyn Directory>,
    lines: LineMap,
    replacement_hints: bool,
    relaxes_order: bool,
    /// By requester and then home.
    unhindered: Vec<Unhindered>,
    /// Answers to come: each may take a line from any cache.
    answers: usize,
    /// What the protocol has pending during a transaction; nothing between events.
    pending: Vec<((NodeId, LineAddr), CacheLine)>,
    /// Messages of a transaction that have not been handled.
    messages: VecDeque<Message>,
    traces: Traces,
}

/// The moving parts of a node.
struct Node {
    bus: Server,
    source: Source,
    /// Lines that have left the processor's caches and have not come to its pins. The home does not know yet.
    leaving: Vec<(LineAddr, CachedCopy)>,
    terms: Sums,
    sent: [u64; MessageKind::ALL.len()],
    invalidations: Histogram,
}

/// A line on its way from a processor's caches to its pins. It goes no further as a message.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    line: LineAddr,
    /// Whether its data cross the bus.
    dirty: bool,
}

impl Node {
    fn new(source: Source) -> Self {
        Self {
            bus: Server::default(),
            source,
            leaving: Vec::new(),
            terms: Sums::default(),
            sent: [0; MessageKind::ALL.len()],
            invalidations: Histogram::default(),
        }
    }

    /// Counts a message that the node, which is `from`, sends to another.
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

impl Controller for Ideals {
    type Message = Leaving;
    type Event = IdealEvent;
    const WRITE_PREFETCHES_STORE: bool = true;

    fn new(blueprint: &Blueprint<'_>, sources: impl Iterator<Item = Source>) -> Result<Self, SimError> {
        let parts = MagicDescription::of(blueprint.description)?;
        let Protocol { directory, replacement_hints, named, .. } = Protocol::of(blueprint, &parts)?;
        if named.remote_access_cache {
            let accepted = "protocols without /RAC in an ideal machine";
            return Err(SimError::Unsupported { key: "directory.protocol", value: named.name, accepted });
        }
        let timing = MagicTiming::new(blueprint.description)?;
        let mut unhindered = flash::unhindered(&timing, &parts, blueprint);
        if parts.directory.ideal == IdealProtocol::AllLocal {
            unhindered.iter_mut().for_each(|pair| pair.point_to_point = Duration::ZERO);
        }
        Ok(Self {
            timing,
            nodes: sources.map(Node::new).collect(),
            directory,
            lines: blueprint.lines,
            replacement_hints,
            relaxes_order: named.variant.acknowledge_requester,
            unhindered,
            answers: 0,
            pending: Vec::new(),
            messages: VecDeque::new(),
            traces: Traces::default(),
        })
    }

    #[inline]
    fn source(&mut self, node: NodeId) -> &mut Source {
        &mut self.nodes[node.index()].source
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

    /// Nothing but an answer takes lines away, and none comes sooner than this after its request.
    fn lookahead(&self) -> Duration {
        self.unhindered.iter().map(|pair| pair.between_buses).min().unwrap_or(Duration::ZERO)
    }

    #[inline]
    fn threatens(&self, _node: NodeId) -> bool {
        self.answers > 0
    }

    /// Nothing is sent through the network.
    fn network(_message: &Leaving) -> VirtualNetwork {
        VirtualNetwork::Request
    }

    /// Nothing here travels by the network.
    fn carries_line(_message: &Leaving) -> bool {
        false
    }

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.directory.extend(node, lines);
    }

    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        match post.ask {
            Ask::Request(access) => system.on_miss(cpu, post, access),
            Ask::Evict => system.on_evict(cpu, post),
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
        Unfinished::none(NodeId(0), system.controllers.answers, "answers of the whole machine to come")?;
        let copies = system.copies_by_line();
        flash::against(&mut *system.controllers.directory, &copies)?;
        system.compare_with_stores(&copies, |ideals, line| ideals.directory.line(line).1)
    }

    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics {
        system.controllers.nodes[node.index()].statistics()
    }

    /// Nothing but the bus is ever held.
    fn held(system: &System<Self>, node: NodeId, time: Time) -> Held {
        Held { bus: system.controllers.nodes[node.index()].bus.busy_before(time), ..Held::default() }
    }

    fn stall_terms(&self, cpu: CpuId) -> Option<StallTerms> {
        self.nodes.get(cpu.index()).map(|node| node.terms.terms())
    }
}

impl Ideals {
    /// What the handlers on the cache side of `node` need to know about `line`.
    #[inline]
    fn context(&self, node: NodeId, line: LineAddr) -> NodeContext {
        let (home, replacement_hints) = (self.lines.home(line), self.replacement_hints);
        NodeContext { node, home, replacement_hints, remote_access_cache: false }
    }

    /// What a miss of `node` on `line` takes.
    #[inline]
    fn unhindered(&self, node: NodeId, line: LineAddr) -> Unhindered {
        self.unhindered[node.index() * self.nodes.len() + self.lines.home(line).index()]
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

    /// A request takes the bus. When its answer will come is known from now on.
    fn on_request(&mut self, cpu: CpuId, miss: MissId, access: Option<msi::Access>) {
        let Some(line) = self.processor_mut(cpu).miss(miss).map(|miss| miss.line) else { return };
        let (now, node, delay) = (self.now, self.node_of(cpu), self.random_delay());
        let unhindered = self.controllers.unhindered(node, line);
        let Ideals { timing, nodes, answers, .. } = &mut self.controllers;
        *answers += 1;
        let start = nodes[node.index()].bus.reserve(now, timing.bus.grid, timing.bus.request);
        let at = start + unhindered.between_buses + unhindered.point_to_point + delay;
        self.schedule(node, at, IdealEvent::Answer(cpu, miss, access));
    }

    /// The answer to a miss is at the bus: the access is performed, and all that follows from it elsewhere with it.
    fn on_answer(&mut self, cpu: CpuId, miss: MissId, access: Option<msi::Access>) {
        self.controllers.answers -= 1;
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
        let (now, unhindered) = (self.now, self.controllers.unhindered(node, line));
        let remote = self.controllers.lines.home(line) != node;
        let Ideals { timing, nodes, .. } = &mut self.controllers;
        let node = &mut nodes[node.index()];
        node.terms.count_unhindered(miss, remote, &unhindered);
        let crossing = timing.bus.answer(data);
        let start = node.bus.reserve(now, timing.bus.grid, crossing.occupancy);
        self.cross_bus(cpu, miss, start, crossing);
    }

    /// A line that has left a processor's caches is at its pins: a dirty one crosses the bus, and the home knows at once.
    fn on_leaving(&mut self, cpu: CpuId, id: EnvelopeId) {
        let Leaving { line, dirty } = self.envelopes.remove(id).message;
        let (now, node) = (self.now, self.node_of(cpu));
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

/// Whether a transaction at the home is a write that was served: one that may have caused invalidations.
const fn is_served(transaction: Transaction) -> bool {
    matches!(transaction, Transaction::Write | Transaction::WriteInvalidating)
}
