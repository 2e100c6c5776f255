//! Servers of this century: cores with a shared third-level cache in slices, homes with directories of several kinds, and the networks
//! within and between sockets.
//!
//! The protocol is [`protocol::server`]; this folder gives its agents places and its messages times.
//! 1. A miss leaves its core ([`self::core`]) for the slice that a hash of the line's address selects in its cluster.
//! 2. The slice's caching agent looks up its tags ([`agents`]). It answers, snoops cores of its cluster, or sends a request to the home of the
//!    line. Responses and data pass it in less time than a look-up takes.
//! 3. The home, at a slice of the home's socket or at the memory controller, reads memory, and snoops other clusters by its kind
//!    of directory: at once, or when memory has been read with the directory bits.
//! 4. Messages to an agent at the same place take no time besides the agent's own. All others take the way between their stops
//!    ([`fabric`]); data wait for wires and links.
//!
//! A message is handled when it arrives, and what it causes leaves when the agent's pipeline has got so far. Lines at rest are
//! kept by address; stores of limited size ([`slices`], [`homes`]) select those that are replaced.

mod agents;
mod check;
mod core;
mod event;
mod fabric;
mod homes;
mod memory;
mod parked;
mod places;
mod slices;
mod steps;
mod timing;
mod under_way;

use machine::VirtualNetwork;
use machine::server::Package;
use protocol::Access;
use protocol::server::{Leaves, Message, MessageKind};
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId, Time};

use crate::SimError;
use crate::incoherence::Incoherence;
use crate::kernel::EnvelopeId;
use crate::processor::{Post, PostKind, ProcessorTiming};
use crate::statistics::{Histogram, NodeStatistics, Tally};
use crate::system::{Blueprint, Controller, Held, System};
use crate::wire::Network;

use self::core::Core;
use event::ServerEvent;
use fabric::Fabric;
use homes::Homes;
use parked::Inbox;
use places::Places;
use slices::Cluster;
use timing::ServerTiming;

/// The agents of a server and the networks between them.
pub struct Servers {
    timing: ServerTiming,
    places: Places,
    fabric: Fabric,
    cores: Vec<Core>,
    clusters: Vec<Cluster>,
    homes: Homes,
    /// Whether homes may snoop before the directory bits are known, and whether they read memory before they look up.
    opportunistic: bool,
    early_read: bool,
    /// Requests that a slice, and the home of a memory controller, have under way at once.
    slice_trackers: usize,
    home_trackers: usize,
    /// Messages between agents at one place that have yet to be handled.
    inbox: Inbox,
    /// Messages that the present step has sent.
    sent: Vec<(Message, Leaves)>,
    /// Reads of memory that the present step has served, and the time of their first data.
    served: Vec<(u32, Time)>,
    counts: Vec<Counts>,
}

/// Counts of a node.
#[derive(Clone)]
struct Counts {
    sent: [u64; MessageKind::ALL.len()],
    /// Cores that a write invalidates in a cluster: the writer's own, when it has the right to write, and each other one that is snooped.
    invalidations: Histogram,
    /// Lines of inclusive third-level caches, and entries of snoop filters and probe filters, that were replaced together with cores' copies.
    reclamations: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self { sent: [0; MessageKind::ALL.len()], invalidations: Histogram::default(), reclamations: 0 }
    }
}

impl Controller for Servers {
    type Message = Message;
    type Event = ServerEvent;
    const WRITE_PREFETCHES_STORE: bool = false;
    const PROBES_INCLUDE_ANSWERS: bool = true;
    const HARDWARE_THREADS: bool = true;

    fn new(blueprint: &Blueprint<'_>) -> Result<Self, SimError> {
        let Blueprint { description, network, lines, options } = blueprint;
        let server = SimError::table(description.server.as_ref(), description, "server")?;
        let home = SimError::table(description.home.as_ref(), description, "server")?;
        let slice = SimError::table(description.l3_slice.as_ref(), description, "server")?;
        let package = Package::new(server).map_err(|error| SimError::Unsupported {
            key: "server.layout",
            value: error.reason,
            accepted: error.accepted.into(),
        })?;
        let places = Places::new(description, server, &package)?;
        let (timing, nodes) = (ServerTiming::new(description)?, network.topology().nodes().len());
        let controllers = nodes * description.memory.controllers as usize;
        let cluster = |number: u16| {
            let sizes = (places.slices_of_cluster, nodes, controllers);
            Cluster::new(description, *lines, sizes, options.seed ^ u64::from(number) << 40)
        };
        let clusters: Result<Vec<_>, _> = (0..places.design.clusters).map(cluster).collect();
        let core = |_| Core::new(places.slices_of_cluster);
        Ok(Self {
            timing,
            fabric: Fabric::new(description, server, &package)?,
            cores: (0..description.topology.processors).map(core).collect(),
            clusters: clusters?,
            homes: Homes::new(description, *lines, nodes, &timing, options.seed)?,
            opportunistic: home.opportunistic_snoops,
            early_read: home.early_read,
            slice_trackers: slice.trackers as usize,
            home_trackers: home.trackers as usize,
            inbox: Inbox::default(),
            sent: Vec::new(),
            served: Vec::new(),
            counts: vec![Counts::default(); nodes],
            places,
        })
    }

    fn release(&self) -> Duration {
        self.timing.release
    }

    /// Beside an inclusive third-level cache, cores drop clean lines silently.
    fn announces_clean(&self) -> bool {
        self.places.design.l3 == protocol::server::L3::Victim
    }

    /// An inclusive L3, a snoop filter and a home's probe filter take lines back that they make room for.
    fn recalls(&self) -> bool {
        true
    }

    /// Everything that acts on a core comes from a caching agent.
    #[inline]
    fn lookahead(&self) -> Duration {
        self.timing.soonest_at_core()
    }

    /// The mean over the slices and the memory controllers that lines lie in.
    fn unloaded_read(&self, network: &Network, processor: &ProcessorTiming, from: NodeId, to: NodeId) -> Duration {
        const LINES: u64 = 1 << 10;
        let Some(core) = network.topology().cpus_of(from).next() else { return Duration::ZERO };
        let start = crate::map::address_in(to, 0).0;
        let line_size = 1 << processor.line_shift;
        let all = (0..LINES).map(|line| LineAddr((start / line_size) + line));
        let sum = all.fold(Duration::ZERO, |sum, line| sum + self.unloaded_memory_read(core, line));
        processor.turnaround(Duration::ZERO, Duration::ZERO) + sum / LINES
    }

    const NETWORKS: &'static [VirtualNetwork] = &[];

    fn allocated(&mut self, node: NodeId, lines: u64) {
        self.homes.extend(node, lines);
        for cluster in &mut self.clusters {
            cluster.extend(node, lines);
        }
    }

    fn posted(system: &mut System<Self>, cpu: CpuId, post: &Post) {
        match post.kind {
            PostKind::Request(Access::PoisonRead) => system.fail(SimError::NoUncached { cpu }),
            PostKind::Request(access) => system.on_miss(cpu, post, access),
            PostKind::Evict => system.on_evict(cpu, post),
        }
    }

    fn empty_shared_cache(system: &mut System<Self>, cpu: CpuId) -> bool {
        system.on_empty_slices(cpu);
        true
    }

    #[inline]
    fn happened(system: &mut System<Self>, event: ServerEvent) {
        match event {
            ServerEvent::Begin(cpu, miss, access) => system.on_begin(cpu, miss, access),
            ServerEvent::Depart(cpu, id) => system.on_depart(cpu, id),
            ServerEvent::AtCore(cpu, id) => system.on_core(cpu, id),
            ServerEvent::AtAgent(id) => system.on_agent(id),
            ServerEvent::Leave(id) => system.on_leave(id),
            ServerEvent::Memory(node, channel) => system.on_memory(node, channel),
            ServerEvent::EmptySlices(cpu) => system.on_empty_slices(cpu),
            ServerEvent::EmptiedSlices(cpu) => system.on_emptied_slices(cpu),
        }
    }

    fn delivered(_system: &mut System<Self>, _channel: ChannelId, _id: EnvelopeId, _arrival: Time) {
        unreachable!("the agents of a server send nothing through the network of the topology");
    }

    fn check_coherence(system: &mut System<Self>) -> Result<(), Incoherence> {
        system.compare_agents()
    }

    fn statistics(system: &System<Self>, node: NodeId) -> NodeStatistics {
        let controllers = &system.controllers.homes.nodes[node.index()];
        let Counts { sent, invalidations, reclamations } = &system.controllers.counts[node.index()];
        let tally =
            |&kind: &MessageKind| Tally { name: kind.mnemonic(), count: sent[kind as usize], busy: Duration::ZERO };
        let sum = |of: fn(&homes::MemoryController) -> Duration| {
            controllers.iter().fold(Duration::ZERO, |sum, one| sum + of(one))
        };
        NodeStatistics {
            busy: sum(|controller| controller.server.busy()),
            queued: sum(|controller| controller.server.queued()),
            memory_busy: system.controllers.memory_busy(node, Time::MAX),
            sent: MessageKind::ALL.iter().map(tally).filter(|tally| tally.count > 0).collect(),
            invalidations: invalidations.clone(),
            reclamations: *reclamations,
            ..NodeStatistics::default()
        }
    }

    fn held(system: &System<Self>, node: NodeId, time: Time) -> Held {
        let socket = system.controllers.places.socket_of_node(node);
        let memory = system.controllers.memory_busy(node, time);
        Held {
            bus: system.controllers.fabric.links_busy_before(socket, time),
            controller: memory,
            memory,
            ..Held::default()
        }
    }
}

impl Servers {
    /// Occupancy of all channels of a node's memory before `time`.
    fn memory_busy(&self, node: NodeId, time: Time) -> Duration {
        let controllers = self.homes.nodes[node.index()].iter();
        controllers.fold(Duration::ZERO, |sum, controller| sum + controller.memory.busy_before(time))
    }
}
