//! An ideal interconnect: a constant time from one network interface to another, without contention.

use machine::description::Description;
use machine::{Topology, VirtualNetwork};
use units::{ChannelId, Duration, NodeId, Time};

use super::interconnect::{Interconnect, Parcel, Passage, Retry, Step};
use super::meter::{Instant, Meter, Metered};

/// A constant latency between any two nodes, for whole messages of any length.
pub struct Ideal {
    topology: Topology,
    latency: Duration,
    networks: usize,
    /// By node and virtual network, the arrival of the last message that the node sent.
    latest: Vec<Time>,
    /// By channel, its packets, which count when they are sent.
    meters: Vec<Instant>,
}

impl Ideal {
    /// The idle interconnect of `description`, for `networks` virtual networks.
    ///
    /// # Panics
    /// The description has no ideal interconnect.
    pub fn new(description: &Description, topology: Topology, networks: usize) -> Self {
        let Some(spec) = &description.ideal_network else { panic!("{} has no [ideal_network]", description.name) };
        Self::with_latency(spec.latency, topology, networks)
    }

    /// The idle interconnect of nodes that send nothing through one.
    pub fn unused(topology: Topology) -> Self {
        Self::with_latency(Duration::ZERO, topology, 0)
    }

    fn with_latency(latency: Duration, topology: Topology, networks: usize) -> Self {
        let (nodes, channels) = (topology.nodes().len(), topology.channels().count());
        let (latest, meters) = (vec![Time::ZERO; nodes * networks], vec![Instant::default(); channels]);
        Self { topology, latency, networks, latest, meters }
    }
}

impl Interconnect for Ideal {
    #[inline]
    fn topology(&self) -> &Topology {
        &self.topology
    }

    #[inline]
    fn enter(&mut self, from: NodeId, parcel: Parcel, passage: &mut Passage, now: Time, delay: Duration) -> Step {
        let latest = &mut self.latest[from.index() * self.networks + parcel.network as usize];
        *latest = (now + delay + self.latency).max(*latest);
        let (entry, exit) = (self.topology.injection(from), self.topology.ejection(parcel.to));
        for channel in [entry, exit] {
            self.meters[channel.index()].0.accept(parcel.packets);
        }
        passage.holds = Some((exit, parcel.network as u8));
        Step::deliver(exit, *latest)
    }

    /// A message is delivered by the step that it enters with.
    fn pass(&mut self, channel: ChannelId, _: Parcel, _: &mut Passage, now: Time, _: Duration) -> Step {
        Step::deliver(channel, now)
    }

    #[inline]
    fn release(&mut self, passage: &mut Passage, _packets: u16, _when: Time, _now: Time) -> Option<Retry> {
        passage.holds = None;
        None
    }

    fn soonest_delivery(&self) -> Option<Duration> {
        Some(self.latency)
    }

    fn unhindered(&self, _: VirtualNetwork, _: NodeId, _: NodeId, starts: &[Time]) -> Vec<Time> {
        starts.iter().map(|&start| start + self.latency).collect()
    }

    fn spread(&self, _packets: u16) -> Duration {
        Duration::ZERO
    }

    fn backlog_packets(&self, _node: NodeId, _network: VirtualNetwork, _now: Time) -> u64 {
        0
    }

    fn metered(&self, channel: ChannelId) -> &dyn Metered {
        &self.meters[channel.index()]
    }

    fn meter_mut(&mut self, channel: ChannelId) -> &mut Meter {
        &mut self.meters[channel.index()].0
    }
}
