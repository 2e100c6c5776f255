//! Clusters of SMPs: nodes of processors and memories on a snooping bus each, which a device on the bus joins (Lai and Falsafi
//! 2000, Section 2; DASH: Hexsel and Topham, "The performance of SCI multiprocessor rings", Section 3).
//!
//! The parts are those of [`crate::snooping`], a protocol engine, a directory, and a cache for lines of other nodes
//! ([`frames::Frames`]); the network is whatever the description names. Within a node the bus's protocol keeps the caches
//! coherent, between nodes [`protocol::cluster`] does.
//! 1. A processor's transaction for which its node lacks the right is put off ([`on_bus`]): the device requests the right from
//!    the home, and the transaction requests the bus again when it is granted.
//! 2. The home of a line ([`home`]) replies from memory, which it reads over its bus, or forwards the request to the owner.
//! 3. The owner's device ([`intervention`]) takes the line from its caches, memory or block cache by a transaction of its own,
//!    and sends it to the requester.
//! 4. A device with miss counters counts the misses of each node on each page of its memory, and transfers pages that it selects
//!    ([`page_transfer`]).
//! 5. A device with a page cache counts the refetches of each page, and relocates the page when they reach a threshold
//!    ([`relocation`]).

mod check;
mod device;
mod event;
mod frames;
mod home;
mod intervention;
mod messages;
mod on_bus;
mod page_cache;
mod page_transfer;
mod relocation;
mod timing;

use machine::VirtualNetwork;
use machine::description::Description;
use protocol::Version;
use protocol::cluster::{Entry, Line, Message, Protocol, Site};
use protocol::snoop::Snooping;
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId, PhysicalAddr, Time};

use crate::incoherence::Incoherence;
use crate::kernel::EnvelopeId;
use crate::map::LineTable;
use crate::os::{Discovery, PageOperation, Transfer};
use crate::part::MissCounters;
use crate::processor::{Post, ProcessorTiming};
use crate::simulated::Simulated;
use crate::snooping::Buses;
use crate::statistics::NodeStatistics;
use crate::system::{Blueprint, Controller, Held, Served, System};
use crate::unloaded::{self, UnloadedRead};
use crate::wire::Network;
use crate::{Options, SimError};

use device::Device;
use event::{ClusterEvent, ClusterMessage};
use timing::ClusterTiming;

/// The nodes of a cluster, with buses that have the state Owned or not.
pub struct Cluster<const OWNED: bool> {
    protocol: Protocol,
    timing: ClusterTiming,
    buses: Buses<Snooping<OWNED>>,
    homes: LineTable<HomeLine>,
    devices: Vec<Device>,
    /// Misses by home, page and node, if pages are selected by them.
    misses: Option<MissCounters>,
    /// Lines of a page that a device takes from caches at once.
    gather_lines: u32,
    /// Messages of a home's handler, between its steps.
    outbox: Vec<Message>,
}

/// A line at its home: its directory entry, its line at the home's own device, and memory.
#[derive(Clone, Copy, Default)]
struct HomeLine {
    /// `None` for a line that no node has requested: its home is the owner.
    entry: Option<Entry>,
    /// `None` for a line of which the home's own node has every right.
    line: Option<Line>,
    contents: Version,
    /// How the last right was granted that the home's own node has requested.
    served: Option<Served>,
}

impl<const OWNED: bool> Cluster<OWNED> {
    /// The line at the device of `node`, with its contents in memory or in the block cache.
    fn line(&mut self, node: NodeId, line: LineAddr) -> (&mut Line, &mut Version) {
        if self.buses.lines.home(line) == node {
            let HomeLine { line, contents, .. } = self.homes.line(line);
            return (line.get_or_insert(Line::uncached_at_home()), contents);
        }
        let kept = self.devices[node.index()].lines.entry(line).or_default();
        (&mut kept.line, &mut kept.contents)
    }

    /// The location of a line at the device of `node`.
    fn site(&self, node: NodeId, line: LineAddr) -> Site {
        Site { node, line, home: self.buses.lines.home(line) }
    }

    /// The contents of a line that no cache owns: those of memory, or of the block cache of its owner.
    fn newest(&mut self, line: LineAddr) -> Version {
        let home = self.buses.lines.home(line);
        match self.homes.line(line).entry {
            Some(entry) => {
                let owner = check::owner(&entry).filter(|&owner| owner != home);
                owner.map_or(self.homes.line(line).contents, |owner| *self.line(owner, line).1)
            }
            None => self.homes.line(line).contents,
        }
    }
}

impl<const OWNED: bool> Controller for Cluster<OWNED> {
    type Message = ClusterMessage;
    type Event = ClusterEvent;
    const WRITE_PREFETCHES_STORE: bool = true;
    const DISCOVERY: Option<Discovery> = Some(Discovery::Poison);

    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError> {
        let Blueprint { description, network, lines, .. } = blueprint;
        let spec = SimError::table(description.cluster.as_ref(), description, "cluster")?;
        let topology = network.topology();
        let nodes = topology.nodes().len();
        Ok(Self {
            protocol: Protocol { early_grant: spec.early_grant },
            timing: ClusterTiming::new(spec),
            buses: Buses::new(description, topology, *lines)?,
            homes: LineTable::new(nodes, *lines),
            devices: (0..nodes)
                .map(|_| Device::new(description, spec, *lines, nodes, blueprint.options.seed))
                .collect(),
            misses: page_transfer::counters(description, nodes),
            gather_lines: description.miss_counters.as_ref().map_or(1, |spec| spec.gather_lines),
            outbox: Vec::new(),
        })
    }

    fn release(&self) -> Duration {
        self.buses.timing.release
    }

    fn announces_clean(&self) -> bool {
        false
    }

    /// A transaction that is granted now changes other caches of its node when its combined reply is there.
    fn lookahead(&self) -> Duration {
        self.buses.timing.wires.snoop
    }

    /// Block caches include the caches of their nodes, and pages move.
    fn recalls(&self) -> bool {
        true
    }

    fn relaxes_order(&self) -> bool {
        self.protocol.early_grant
    }

    /// The home's own caches have had the line, or none: the first request finds its home as the owner.
    fn unloaded_read(&self, network: &Network, processor: &ProcessorTiming, from: NodeId, to: NodeId) -> Duration {
        let bus = &self.buses.timing;
        let asked = processor.turnaround(bus.critical, bus.line);
        if from == to {
            return self.buses.unloaded_read(asked);
        }
        let cycle = self.timing.cycle;
        let request = network.mean_way(VirtualNetwork::Request, from, to, cycle);
        let reply = network.mean_way(VirtualNetwork::Reply, to, from, cycle) + network.line_spread(to, from);
        self.timing.unloaded_remote(&self.buses, asked, request, reply)
    }

    const NETWORKS: &'static [VirtualNetwork] = &VirtualNetwork::ALL;

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.homes.extend(node, lines);
    }

    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        system.post_on_bus(cpu, post);
    }

    #[inline]
    fn happened(system: &mut System<Self>, event: ClusterEvent) {
        match event {
            ClusterEvent::Bus(event) => system.on_bus_event(event),
            ClusterEvent::Send(node, id) => system.on_send(node, id),
            ClusterEvent::Arrive(id) => system.on_arrive(id),
            ClusterEvent::Handle(id) => system.on_handle(id),
            ClusterEvent::Shootdown(cpu) => system.on_local_shootdown(cpu),
            ClusterEvent::Page(node, step) => system.on_page_step(node, step),
        }
    }

    fn delivered(system: &mut System<Self>, _channel: ChannelId, id: EnvelopeId, arrival: Time) {
        let envelope = system.kernel.envelopes.get(id);
        let (to, spread) = (envelope.to, envelope.passage.spread);
        system.schedule(to, arrival + spread, ClusterEvent::Arrive(id));
    }

    fn transfer(system: &mut System<Self>, transfer: Transfer, at: Time) {
        system.enqueue_page(transfer, at);
    }

    fn reopen(system: &mut System<Self>, frame: PhysicalAddr) {
        system.clear_poison(frame);
    }

    /// As long as a transaction takes to its combined reply: miss registers of clusters may be free at once.
    fn retry_delay(&self) -> Duration {
        self.buses.timing.wires.snoop
    }

    fn selected(&mut self, at: PhysicalAddr) -> Option<PageOperation> {
        self.misses.as_mut()?.take_selected(at)
    }

    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence> {
        system.compare_nodes()
    }

    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics {
        let controllers = &system.controllers;
        controllers.devices[node.index()].statistics(controllers.buses.statistics(node))
    }

    fn held(system: &System<Self>, node: NodeId, time: Time) -> Held {
        let controllers = &system.controllers;
        let engine = &controllers.devices[node.index()].engine;
        let held = controllers.buses.held(node, time);
        Held { controller: engine.busy_before(time), queued: engine.queued(), ..held }
    }
}

/// The protocols that a cluster's buses may have, by name.
const PROTOCOLS: [(&str, bool); 2] = [("mesi", false), ("moesi", true)];

/// Whether the buses of `description` have the state Owned.
fn has_owned(description: &Description) -> Result<bool, SimError> {
    let bus = SimError::table(description.bus.as_ref(), description, "cluster")?;
    let known = PROTOCOLS.iter().find(|(name, _)| *name == bus.protocol);
    known.map(|&(_, owned)| owned).ok_or_else(|| SimError::Unsupported {
        key: "bus.protocol",
        value: bus.protocol.clone(),
        accepted: PROTOCOLS.map(|(name, _)| name).join(", ").into(),
    })
}

/// The machine of `description`, with empty caches.
///
/// # Errors
/// No protocol has this name; or as [`System::new`].
pub(crate) fn machine(description: &Description, options: Options) -> Result<Box<dyn Simulated>, SimError> {
    Ok(match has_owned(description)? {
        true => Box::new(System::<Cluster<true>>::new(description, options)?),
        false => Box::new(System::<Cluster<false>>::new(description, options)?),
    })
}

/// The machine's latencies when nothing else happens.
///
/// # Errors
/// As [`machine`].
pub(crate) fn unloaded(description: &Description) -> Result<Vec<UnloadedRead>, SimError> {
    match has_owned(description)? {
        true => unloaded::reads::<Cluster<true>>(description),
        false => unloaded::reads::<Cluster<false>>(description),
    }
}
