//! The contract of an interconnect: steps of messages, and what they return to the event loop.

use machine::{Topology, VirtualNetwork};
use units::{ChannelId, Duration, NodeId, Port, RouterId, Time};

use super::meter::{Meter, Metered, registers};

/// A message as an interconnect carries it.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// Its number among the messages under way.
    pub id: u32,
    /// Its destination.
    pub to: NodeId,
    /// The virtual network that it travels on.
    pub network: VirtualNetwork,
    /// Its packets.
    pub packets: u16,
    /// Whether its header names more than the shortest packet has room for.
    pub extends_header: bool,
}

/// The state of a message on its way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    /// From its first packet to the end of its last, on the channel where that was longest.
    pub spread: Duration,
    /// The channel that it came by, and the virtual channel whose far buffer it occupies.
    pub(super) holds: Option<(ChannelId, u8)>,
    /// The virtual channel that it takes on its present channel.
    pub(super) lane: u8,
    /// Time of its arrival at the present router.
    pub(super) reached: Time,
    /// Time that it has waited at routers.
    pub(super) waited: Duration,
}

impl Passage {
    /// Whether it has come through the interconnect, and its end has not been released.
    #[inline]
    pub fn is_delivered(&self) -> bool {
        self.holds.is_some()
    }
}

/// The kind of the next step of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Its head reaches the far end of the channel: [`Interconnect::pass`] is due then.
    Pass,
    /// Its first packet comes out of the channel at its destination.
    Deliver,
    /// It waits for credits.
    Wait,
}

/// A try of the messages that wait for a virtual channel of a channel: [`Interconnect::take_ready`] is due at the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// The channel.
    pub channel: ChannelId,
    /// The virtual channel.
    pub lane: u8,
    /// The time.
    pub at: Time,
}

/// The consequences of a step of a message; in two machine words, which are returned in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The time of the next step of the message, if it does not wait.
    pub at: Time,
    /// The channel that it takes or waits for.
    pub channel: ChannelId,
    /// The next step.
    pub next: Next,
    /// Whether a try is to be scheduled before it ([`Interconnect::take_retry`]), for itself or for others that wait for the
    /// buffer that it left.
    pub retries: bool,
}

impl Step {
    /// A message comes out of `channel` at its destination at `at`.
    pub(super) const fn deliver(channel: ChannelId, at: Time) -> Self {
        Self { at, channel, next: Next::Deliver, retries: false }
    }
}

/// The first of the messages that wait for a virtual channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// This one can leave: [`Interconnect::leave`] is due now, and another look at those that wait.
    Ready(u32),
    /// None can leave; the next try, if it is not scheduled yet.
    Later(Option<Retry>),
}

/// An interconnect of all nodes of a machine.
pub trait Interconnect {
    /// The graph of nodes, links and routers. Each direction of its links is a source of events.
    fn topology(&self) -> &Topology;

    /// A message enters at the network interface of node `from`, delayed by `delay`. Later ones of its virtual network from
    /// there do not overtake it.
    fn enter(&mut self, from: NodeId, parcel: Parcel, passage: &mut Passage, now: Time, delay: Duration) -> Step;

    /// The head of a message is at the far end of `channel`, as [`Next::Pass`] announced, and goes on, delayed by `delay`.
    fn pass(&mut self, channel: ChannelId, parcel: Parcel, passage: &mut Passage, now: Time, delay: Duration) -> Step;

    /// The first message that waits for virtual channel `lane` of `channel`, if a try was scheduled for now. The caller asks
    /// again until none is ready.
    fn take_ready(&mut self, _channel: ChannelId, _lane: u8, _now: Time) -> Waiting {
        Waiting::Later(None)
    }

    /// A message that [`Self::take_ready`] has taken leaves by virtual channel `lane` of `channel`.
    fn leave(&mut self, retry: Retry, _parcel: Parcel, _passage: &mut Passage) -> Step {
        Step { at: retry.at, channel: retry.channel, next: Next::Wait, retries: false }
    }

    /// The try that the last step asked to schedule.
    fn take_retry(&mut self) -> Option<Retry> {
        None
    }

    /// A delivered message gives up its place at its destination from `when` on. Returns a try to schedule for others that
    /// wait for the place.
    fn release(&mut self, passage: &mut Passage, packets: u16, when: Time, now: Time) -> Option<Retry>;

    /// Whether the step that announces [`Next::Deliver`] precedes the delivery by [`Self::soonest_delivery`]. Where it does
    /// not, the event loop counts the probes that are inside (`Message::probes`).
    fn announces_early(&self) -> bool {
        true
    }

    /// The shortest time to a delivery, if messages are delivered at all: from the step that announces [`Next::Deliver`], or,
    /// if that may be too late, from the entry of the message.
    fn soonest_delivery(&self) -> Option<Duration>;

    /// Uncontended arrival times of the first packet at the network interface of `to`, for messages that leave that of
    /// `from` at each of `starts`.
    fn unhindered(&self, network: VirtualNetwork, from: NodeId, to: NodeId, starts: &[Time]) -> Vec<Time>;

    /// Places between `from` and `to` that store whole messages before they send them on.
    fn stores(&self, _from: NodeId, _to: NodeId) -> u64 {
        0
    }

    /// From the first packet of a message of so many to the end of its last, on the channel where that takes longest.
    fn spread(&self, packets: u16) -> Duration;

    /// Packets of `network` that wait at the network interface of `node` on their way out; a message without credits counts
    /// as one.
    fn backlog_packets(&self, node: NodeId, network: VirtualNetwork, now: Time) -> u64;

    /// A channel with its counts.
    fn metered(&self, channel: ChannelId) -> &dyn Metered;

    /// The counts of a channel, to change.
    fn meter_mut(&mut self, channel: ChannelId) -> &mut Meter;

    /// Keeps the histograms of a connected port from `now` on, that of queues for virtual channel `lane`.
    fn watch(&mut self, router: RouterId, port: Port, lane: usize, now: Time) {
        if let Some((sending, receiving)) = both_ways(self.topology(), router, port) {
            self.meter_mut(receiving).watch_queue(lane, now);
            self.meter_mut(sending).watch_ages();
        }
    }

    /// The counts of a connected port before `time`, in a mode of its registers; unchanged if they are unknown.
    fn counted(&self, router: RouterId, port: Port, mode: usize, time: Time, exact: &mut [u64]) {
        if let Some((sending, receiving)) = both_ways(self.topology(), router, port) {
            registers(self.metered(receiving), self.metered(sending), mode, time, exact);
        }
    }
}

/// The outgoing and the incoming channel of `port` of `router`, if it is connected.
fn both_ways(topology: &Topology, router: RouterId, port: Port) -> Option<(ChannelId, ChannelId)> {
    let (sending, _) = topology.outgoing(router, port)?;
    // The two directions of a link have consecutive numbers.
    Some((sending, ChannelId(sending.0 ^ 1)))
}
