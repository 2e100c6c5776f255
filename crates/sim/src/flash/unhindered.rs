//! Uncontended times of misses, from the times of the parts that they pass.

use machine::VirtualNetwork;
use machine::description::HandlerSpec;
use units::{Duration, NodeId};

use super::handler::Handler;
use super::timing::{MagicDescription, MagicTiming};
use crate::processor::ProcessorTiming;
use crate::system::Blueprint;
use crate::wire::Network;

/// Uncontended times of the misses of one node on lines of one home.
#[derive(Clone, Copy, Debug)]
pub struct Unhindered {
    /// A local read, from one value to the next in a chain of dependent reads.
    pub minimum: Duration,
    /// The part of it from the inbox to the answer.
    pub service: Duration,
    /// From the grant of the bus to the request until the answer is at the bus.
    pub between_buses: Duration,
    /// The excess of a remote read over a local one.
    pub point_to_point: Duration,
}

/// Uncontended times of the misses of all nodes. The way through the network is computed at the first miss of a node on
/// lines of a home: a machine of thousands of nodes has millions of ways, and programs use few.
pub struct UnhinderedMisses {
    /// Times of a local miss.
    local: Unhindered,
    /// Handlers at the home and at the requester of a remote read.
    handlers: Duration,
    /// Interfaces of a node that each message passes, outgoing and incoming.
    interfaces: Duration,
    /// Period of MAGIC's clock.
    cycle: Duration,
    /// Period of the bus's clock.
    grid: Duration,
    /// The excess of a remote read by requester and home, where it is known.
    remote: Vec<Vec<Option<Duration>>>,
}

impl UnhinderedMisses {
    /// Times of a machine's misses.
    pub fn new(timing: &MagicTiming, parts: &MagicDescription<'_>, blueprint: &Blueprint<'_>) -> Self {
        let handlers = parts.handlers;
        let service = service(timing, handlers, parts);
        let to_inbox = timing.bus.request_seen + timing.interface_in + timing.inbox;
        let between_buses = to_inbox + service + timing.outbox + timing.interface_out;
        let processor = ProcessorTiming::new(blueprint.description, timing.release, Duration::ZERO);
        let turnaround = processor.turnaround(timing.bus.critical, timing.bus.line).max(timing.bus.data);
        let minimum = turnaround.align_up(timing.bus.grid.period()) + between_buses.align_up(timing.bus.grid.period());
        let lead = Handler::Request.lead(handlers) + Handler::Reply.lead(handlers);
        Self {
            local: Unhindered { minimum, service, between_buses, point_to_point: Duration::ZERO },
            handlers: timing.cycle * u64::from(lead),
            interfaces: timing.outbox + timing.network_out + timing.network_in + timing.inbox,
            cycle: timing.cycle,
            grid: timing.bus.grid.period(),
            remote: vec![Vec::new(); blueprint.network.topology().nodes().len()],
        }
    }

    /// Times of a local miss.
    pub const fn local(&self) -> Unhindered {
        self.local
    }

    /// Times of a miss of `requester` on a line of `home`.
    #[inline]
    pub fn of(&mut self, network: &Network, requester: NodeId, home: NodeId) -> Unhindered {
        let row = &self.remote[requester.index()];
        let point_to_point = match row.get(home.index()) {
            Some(&Some(known)) => known,
            _ => self.note(network, requester, home),
        };
        Unhindered { point_to_point, ..self.local }
    }

    #[cold]
    fn note(&mut self, network: &Network, requester: NodeId, home: NodeId) -> Duration {
        let (point_to_point, nodes) = (self.point_to_point(network, requester, home), self.remote.len());
        let row = &mut self.remote[requester.index()];
        row.resize(nodes, None);
        row[home.index()] = Some(point_to_point);
        point_to_point
    }

    /// A read by `requester` of a line of `home`, from one value to the next in a chain of dependent reads.
    pub fn read(&self, network: &Network, requester: NodeId, home: NodeId) -> Duration {
        self.local.minimum + self.point_to_point(network, requester, home)
    }

    /// From one node's handler to another's, as the half of the way there and back.
    pub fn way(&self, network: &Network, from: NodeId, to: NodeId) -> Duration {
        Duration(self.point_to_point(network, from, to).0 / 2)
    }

    /// The excess of a remote read over a local one. The answer crosses to the processor at an edge of the bus clock.
    fn point_to_point(&self, network: &Network, requester: NodeId, home: NodeId) -> Duration {
        if requester == home {
            return Duration::ZERO;
        }
        let way = |by, from, to| network.mean_way(by, from, to, self.cycle) + self.interfaces;
        let ways = way(VirtualNetwork::Request, requester, home) + way(VirtualNetwork::Reply, home, requester);
        self.grid * ((self.handlers + ways + self.grid / 2).0 / self.grid.0)
    }
}

/// From the inbox to the answer of a read from memory, in whole cycles, as the mean over consecutive lines: of those
/// whose headers share a data cache line, the first waits for it.
fn service(timing: &MagicTiming, handlers: &HandlerSpec, parts: &MagicDescription<'_>) -> Duration {
    let lead = timing.cycle * u64::from(Handler::Read.lead(handlers));
    let fetch = timing.cycle * u64::from(timing.data_miss_cycles);
    let headers = (parts.magic.data_cache_line.0 / parts.directory.header.0).max(1);
    let (first, other) = (timing.memory_data.max(lead + fetch), timing.memory_data.max(lead));
    let all = first + other * (headers - 1);
    timing.cycle * ((all + timing.cycle * headers / 2).0 / (timing.cycle * headers).0)
}
