//! FLASH's nodes: one processor, and MAGIC, a controller whose protocol is a program (FLASH dissertation, 2.4).
//!
//! The protocol processor handles every message that comes to a node, from its processor or from the network, one after
//! the other; its busy time is the controller's occupancy. A message changes the state of its line when it passes the
//! inbox, after selection and lookup of its handler; it then keeps its inbox entry until the handler starts. The
//! messages that it causes leave when the handler has run that far. Messages from a node to itself (an invalidation
//! from a home to its own processor, say) are handled within the same run.

mod account;
mod at_memory;
mod check;
mod code;
mod directory;
mod event;
mod handler;
mod home;
mod interface;
mod magic;
mod node;
mod page_transfer;
mod planted;
mod remote_access_cache;
mod tags;
mod timing;
mod transport;
mod unhindered;

use machine::VirtualNetwork;
use machine::description::MOST_PROCESSORS;
use protocol::msi::catalogue::{self, Named, Sizes, Visitor};
use protocol::msi::{HeaderUse, Lane, Message, NodeContext, SharingSet, Site};
use units::{Bytes, ChannelId, CpuId, Duration, LineAddr, NodeId, PhysicalAddr, Time};

use crate::account::StallTerms;
use crate::counters::CounterUnit;
use crate::incoherence::Incoherence;
use crate::kernel::{self, EnvelopeId};
use crate::map::LineMap;
use crate::os::{Discovery, PageOperation, Transfer};
use crate::part::ReferenceCounters;
use crate::processor::{MissId, Post, ProcessorTiming};
use crate::system::{Blueprint, Controller, Held, System};
use crate::wire::{Interconnect, Network};
use crate::{NodeStatistics, SimError};

pub use account::Sums;
pub use check::against;
pub use directory::{Directory, Traces};
pub use event::MagicEvent;
#[cfg(test)]
pub use handler::Handler;
pub use home::served;
pub use interface::wanted;
pub use timing::{MagicDescription, MagicTiming};
pub use transport::destination;
pub use unhindered::{Unhindered, UnhinderedMisses};

use code::CodeLayout;
use directory::Directories;
use magic::{COUNTER_BYTES, Design, Magic};
use remote_access_cache::RemoteAccessCache;
use tags::DirectMapped;

/// The controllers of a machine, and the directories that they keep.
pub struct Magics {
    lookahead: Duration,
    design: Design,
    nodes: Vec<Magic>,
    directory: Box<dyn Directory>,
    lines: LineMap,
    /// Rows of a node's invalidation collection table.
    collection_rows: usize,
    /// Whether evictions of shared copies send replacement hints to the home.
    replacement_hints: bool,
    remote_access_cache: bool,
    /// Memory of each node that is reserved for directories, protocol data and the remote access cache.
    reserved: Bytes,
    relaxes_order: bool,
    /// By requester and home.
    unhindered: UnhinderedMisses,
    /// The reference counters, if pages migrate.
    references: Option<ReferenceCounters>,
    /// Spare traces and outboxes, so that handlers do not allocate.
    traces: Vec<Traces>,
    outboxes: Vec<Vec<Message>>,
}

/// The parts of a protocol that follow from its name.
pub struct Protocol {
    /// Its directories.
    pub directory: Box<dyn Directory>,
    /// Whether evictions of shared copies send replacement hints to the home.
    pub replacement_hints: bool,
    /// Whether headers have several formats.
    pub many_formats: bool,
    /// The parsed name.
    pub named: Named,
}

/// Makes the directories of a protocol once the type of its sharing set is selected.
struct Build {
    nodes: usize,
    lines: LineMap,
    seed: u64,
}

impl Visitor for Build {
    type Output = Protocol;

    fn visit<S: SharingSet>(self, set: S, named: Named) -> Protocol {
        let replacement_hints = set.replacement_hints();
        let many_formats = set.format_checks(HeaderUse::Entry) > 0;
        let directory = Directories::new(set, named.variant, self.nodes, self.lines, self.seed);
        Protocol { directory: Box::new(directory), replacement_hints, many_formats, named }
    }
}

// Every machine that a description admits has a protocol that can name its nodes.
const _: () = assert!(MOST_PROCESSORS == Site::MAX_NODES as u32);

impl Protocol {
    /// The protocol that the description names, for nodes of one processor each.
    ///
    /// # Errors
    /// No protocol has that name, or it has no room for the machine's nodes.
    pub fn of(blueprint: &Blueprint<'_>, parts: &MagicDescription<'_>) -> Result<Self, SimError> {
        let nodes = blueprint.network.topology().nodes().len();
        let directory = parts.directory;
        if nodes > usize::from(catalogue::most_nodes(&directory.protocol)?) {
            let accepted = catalogue::names_for(nodes as u16).join(", ").into();
            let value = format!("{} of {nodes} nodes", directory.protocol);
            return Err(SimError::Unsupported { key: "directory.protocol", value, accepted });
        }
        let sizes =
            Sizes { nodes: nodes as u16, links: directory.link_store_entries, vectors: directory.vector_store_entries };
        let build = Build { nodes, lines: blueprint.lines, seed: blueprint.options.seed };
        Ok(catalogue::resolve(&directory.protocol, sizes, build)?)
    }
}

impl kernel::Message for Message {
    #[inline]
    fn probes(&self) -> bool {
        transport::probes(self)
    }

    #[inline]
    fn network(&self) -> VirtualNetwork {
        match self.kind.lane() {
            Lane::Request => VirtualNetwork::Request,
            Lane::Reply => VirtualNetwork::Reply,
        }
    }

    #[inline]
    fn carries_line(&self) -> bool {
        self.kind.carries_data()
    }
}

impl Controller for Magics {
    type Message = Message;
    type Event = MagicEvent;
    const WRITE_PREFETCHES_STORE: bool = true;
    const DISCOVERY: Option<Discovery> = Some(Discovery::Shootdown);

    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError> {
        let description = blueprint.description;
        let parts = MagicDescription::of(description)?;
        let Protocol { directory, replacement_hints, many_formats, named } = Protocol::of(blueprint, &parts)?;
        let (magic, nodes) = (parts.magic, blueprint.network.topology().nodes().len());
        let cache = || {
            let size = parts.directory.remote_access_cache;
            let make = || RemoteAccessCache::new(size, description.coherent_cache().line, blueprint.lines, nodes);
            named.remote_access_cache.then(make)
        };
        let node = || {
            let instructions = DirectMapped::new(magic.instruction_cache.0, magic.instruction_cache_line.0);
            let data = DirectMapped::new(magic.data_cache.0, magic.data_cache_line.0);
            Magic::new(instructions, data, cache())
        };
        let kept = if named.remote_access_cache { parts.directory.remote_access_cache } else { Bytes(0) };
        let header_bytes = parts.directory.header.0;
        // The position of the store in memory is not known. Simulated programs start with the first lines of every
        // memory and the store with its first words; half a cache apart, they conflict only by chance.
        let store_base = description.topology.node_memory.0 / description.coherent_cache().line.0 * header_bytes
            + magic.data_cache.0 / 2;
        let design = Design {
            timing: MagicTiming::new(description)?,
            handlers: parts.handlers.clone(),
            code: CodeLayout::new(magic, parts.handlers, &named),
            inbox_entries: description.processor.outstanding_misses as u16,
            instruction_miss_cycles: magic.instruction_miss_cycles,
            remote_access_cache_check_cycles: parts.directory.remote_access_cache_check_cycles,
            many_formats,
            header_bytes,
            store_base,
            counters_base: store_base + description.topology.node_memory.0,
            block_bytes: nodes as u64 * COUNTER_BYTES,
        };
        // A machine of one node has no network, and its processor is reached by nothing but its own requests.
        let delivery = blueprint.network.wires.soonest_delivery().unwrap_or(Duration::ZERO);
        Ok(Self {
            lookahead: delivery + design.timing.network_in + design.timing.inbox,
            unhindered: UnhinderedMisses::new(&design.timing, &parts, blueprint),
            design,
            nodes: (0..nodes).map(|_| node()).collect(),
            directory,
            lines: blueprint.lines,
            collection_rows: magic.collection_rows as usize,
            replacement_hints,
            remote_access_cache: named.remote_access_cache,
            reserved: Bytes(parts.directory.reserved.0 + kept.0),
            relaxes_order: named.variant.acknowledge_requester,
            references: description.os.migration.then(|| page_transfer::counters(description, nodes)),
            traces: Vec::new(),
            outboxes: Vec::new(),
        })
    }

    fn release(&self) -> Duration {
        self.design.timing.release
    }

    fn reserved(&self) -> Bytes {
        self.reserved
    }

    fn announces_clean(&self) -> bool {
        self.replacement_hints || self.remote_access_cache
    }

    fn relaxes_order(&self) -> bool {
        self.relaxes_order
    }

    /// The shortest time of a message from its last channel to the handler of its node. From there on its events reach
    /// the processor.
    fn lookahead(&self) -> Duration {
        self.lookahead
    }

    fn unloaded_read(&self, network: &Network, _processor: &ProcessorTiming, from: NodeId, to: NodeId) -> Duration {
        self.unhindered.read(network, from, to)
    }

    /// The processor at the source of a transfer may lose copies at any time.
    #[inline]
    fn is_disturbing(&self, node: NodeId) -> bool {
        self.nodes[node.index()].pages.is_busy()
    }

    fn transfer(system: &mut System<Self>, transfer: Transfer, at: Time) {
        // The processor of the source may lose copies at any time, but not within the look-ahead.
        let at = at.max(system.kernel.now + system.controllers.lookahead);
        system.enqueue_page(transfer, at);
    }

    fn selected(&mut self, at: PhysicalAddr) -> Option<PageOperation> {
        self.references.as_ref()?.selected(at)
    }

    /// An interrupt is a message of MAGIC to its processor, or by way of the MAGIC of another node to that node's processor.
    fn interrupt_delay(&self, network: &Network, from: NodeId, to: NodeId) -> Duration {
        let timing = &self.design.timing;
        let to_processor = timing.outbox + timing.interface_out + timing.bus.request_seen;
        (self.unhindered.way(network, from, to) + to_processor).max(self.lookahead)
    }

    fn retry_delay(&self) -> Duration {
        self.design.timing.retry
    }

    const NETWORKS: &'static [VirtualNetwork] = &VirtualNetwork::ALL;

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.directory.extend(node, lines);
    }

    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        system.on_post(cpu, post);
    }

    #[inline]
    fn happened(system: &mut System<Self>, event: MagicEvent) {
        match event {
            MagicEvent::Request(cpu, id) => system.on_request(cpu, id),
            MagicEvent::Outgoing(node, id) => system.on_outgoing(node, id),
            MagicEvent::Handle(id) => system.on_handle(id),
            MagicEvent::Inject(node, id) => system.enter_network(node, id),
            MagicEvent::Answer(cpu, miss, data) => system.on_answer(cpu, miss, data),
            MagicEvent::Intervene(id) => system.on_intervene(id),
            MagicEvent::Snoop(id) => system.on_snoop(id),
            MagicEvent::Supply(answer, report) => system.on_supply(answer, report),
            MagicEvent::Supplied(answer, report) => system.on_supplied(answer, report),
            MagicEvent::Drop(id) => system.on_drop(id),
            MagicEvent::Retry(cpu, miss) => system.on_retry(cpu, miss),
            MagicEvent::Interface(cpu, step) => system.on_interface(cpu, step),
        }
    }

    #[inline]
    fn delivered(system: &mut System<Self>, channel: ChannelId, id: EnvelopeId, arrival: Time) {
        system.on_delivery(channel, id, arrival);
    }

    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence> {
        system.compare_with_directory()
    }

    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics {
        system.controllers.nodes[node.index()].statistics()
    }

    const COUNTERS: &'static [CounterUnit] = &[CounterUnit::MagicHandlers, CounterUnit::MagicMessages];

    fn counted(system: &System<Self>, node: NodeId, unit: CounterUnit, _mode: usize, _time: Time, exact: &mut [u64]) {
        let Magics { nodes, design, .. } = &system.controllers;
        nodes[node.index()].counted(design.timing.cycle, unit, exact);
    }

    fn held(system: &System<Self>, node: NodeId, time: Time) -> Held {
        let Magic { bus, processor, memory, .. } = &system.controllers.nodes[node.index()];
        Held {
            bus: bus.busy_before(time),
            controller: processor.busy_before(time),
            queued: processor.queued(),
            memory: memory.busy_before(time),
        }
    }

    fn stall_terms(&self, cpu: CpuId) -> Option<StallTerms> {
        self.nodes.get(cpu.index()).map(|node| node.account.terms())
    }
}

impl Magics {
    /// The context of the cache-side handlers of `node` for `line`.
    #[inline]
    fn context(&self, node: NodeId, line: LineAddr) -> NodeContext {
        NodeContext {
            node,
            home: self.lines.home(line),
            replacement_hints: self.replacement_hints,
            remote_access_cache: self.remote_access_cache,
        }
    }

    /// Uncontended times of a miss of `node` on `line`.
    #[inline]
    fn unhindered(&mut self, network: &Network, node: NodeId, line: LineAddr) -> Unhindered {
        self.unhindered.of(network, node, self.lines.home(line))
    }
}

/// The processor of a node; FLASH has one.
#[inline]
pub const fn cpu_of(node: NodeId) -> CpuId {
    CpuId(node.0)
}

/// The node of a processor.
#[inline]
pub const fn node_of(cpu: CpuId) -> NodeId {
    NodeId(cpu.0)
}

/// The miss of a processor on a line, if it has one.
#[inline]
fn miss_on(system: &mut System<Magics>, node: NodeId, line: LineAddr) -> Option<MissId> {
    system.agent_processor(cpu_of(node))?.miss_on(line)
}
