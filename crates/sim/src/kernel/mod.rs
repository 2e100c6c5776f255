//! The core of the simulation: the queue of events, messages under way, and probes under way. It knows no coherence.

mod event;
mod probes;

use std::fmt::Debug;

use engine::{EventQueue, Rank, Source};
use machine::VirtualNetwork;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use units::{ChannelId, CpuId, Duration, NodeId, Time};

use crate::wire::Passage;

pub use event::{Envelope, EnvelopeId, Envelopes, Event, NodeEvent, PageEvent};
pub use probes::Reach;

use event::Packed;
use probes::Probes;

/// A message between nodes.
pub trait Message: Copy + Debug {
    /// The virtual network that it travels on.
    fn network(&self) -> VirtualNetwork;

    /// Whether it carries a line.
    fn carries_line(&self) -> bool;

    /// Whether its header names more than the shortest packet of an SCI ring has room for: the home of the line besides the
    /// target, or an element of a sharing list.
    fn extends_header(&self) -> bool {
        false
    }

    /// Whether it acts on the processors of its destination: an intervention, an invalidation, or whatever may lead to one
    /// within the look-ahead.
    fn probes(&self) -> bool;
}

/// Numbers of the parts of a machine that schedule events.
#[derive(Clone, Debug)]
pub struct Places {
    /// By coherence agent, processors first, its node.
    pub node_of: Vec<NodeId>,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of network channels.
    pub channels: usize,
}

/// The sources of events. Their order breaks ties between events of equal time.
#[derive(Debug)]
struct Sources {
    processors: Vec<Source>,
    nodes: Vec<Source>,
    channels: Vec<Source>,
    scheduler: Source,
}

impl Sources {
    fn new(places: &Places) -> Self {
        let mut source = (0..).map(Source::new);
        let mut some = |count| source.by_ref().take(count).collect();
        let (processors, nodes, channels) = (some(places.node_of.len()), some(places.nodes), some(places.channels));
        let scheduler = source.next().unwrap_or(Source::new(u32::MAX >> 12));
        Self { processors, nodes, channels, scheduler }
    }
}

/// The queue of events of a machine with these messages and node events.
pub struct Kernel<M, E> {
    /// The present time.
    pub now: Time,
    /// Messages under way.
    pub envelopes: Envelopes<M>,
    queue: EventQueue<Packed>,
    handled: u64,
    sources: Sources,
    node_of: Vec<NodeId>,
    /// Events that may change copies of processors from outside.
    probes: Probes,
    /// The source of random delays, if enabled, and their maximum.
    delays: Option<Xoshiro256PlusPlus>,
    longest_delay: Duration,
    events: std::marker::PhantomData<E>,
}

impl<M: Message, E: NodeEvent> Kernel<M, E> {
    /// An empty queue. Each step of each message is delayed by up to `longest_delay`, at random.
    pub fn new(places: Places, longest_delay: Duration, seed: u64) -> Self {
        Self {
            now: Time::ZERO,
            envelopes: Envelopes::default(),
            queue: EventQueue::new(),
            handled: 0,
            sources: Sources::new(&places),
            probes: Probes::none(places.node_of.len(), places.nodes),
            node_of: places.node_of,
            delays: (longest_delay > Duration::ZERO).then(|| Xoshiro256PlusPlus::seed_from_u64(seed)),
            longest_delay,
            events: std::marker::PhantomData,
        }
    }

    /// The node of `cpu`.
    #[inline(always)]
    pub fn node_of(&self, cpu: CpuId) -> NodeId {
        self.node_of[cpu.index()]
    }

    /// Registers a message for an agent of node `to`.
    #[inline]
    pub fn envelop(&mut self, message: M, to: NodeId) -> EnvelopeId {
        self.envelopes.insert(Envelope { message, to, passage: Passage::default() })
    }

    /// Schedules an event of a node.
    #[inline(always)]
    pub fn schedule(&mut self, node: NodeId, time: Time, event: Event<E>) {
        let rank = self.sources.nodes[node.index()].rank();
        self.push(time, rank, event);
    }

    /// Schedules an event of a processor.
    #[inline(always)]
    pub fn schedule_processor(&mut self, cpu: CpuId, time: Time, event: Event<E>) {
        let rank = self.sources.processors[cpu.index()].rank();
        self.push(time, rank, event);
    }

    /// Schedules an event of a network channel.
    #[inline(always)]
    pub fn schedule_channel(&mut self, channel: ChannelId, time: Time, event: Event<E>) {
        let rank = self.sources.channels[channel.index()].rank();
        self.push(time, rank, event);
    }

    /// Schedules an event of the operating system's scheduler.
    pub fn schedule_scheduler(&mut self, time: Time, event: Event<E>) {
        let rank = self.sources.scheduler.rank();
        self.push(time, rank, event);
    }

    #[inline(always)]
    fn push(&mut self, time: Time, rank: Rank, event: Event<E>) {
        self.begin_probe(time, &event);
        self.queue.push(time, rank, event.into());
    }

    /// Takes the next event, with its time, off the queue. The present time is not yet its own.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Event<E>)> {
        let (time, event) = self.queue.pop()?;
        let event = event.into();
        self.end_probe(time, &event);
        Some((time, event))
    }

    /// The next event occurs at `time`.
    #[inline]
    pub fn advance(&mut self, time: Time) {
        self.now = time;
        self.handled += 1;
    }

    /// The time of the next event.
    #[inline]
    pub fn peek_time(&mut self) -> Option<Time> {
        self.queue.peek_time()
    }

    /// Events handled so far.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// A random delay, if enabled; zero otherwise.
    #[inline]
    pub fn random_delay(&mut self) -> Duration {
        match &mut self.delays {
            None => Duration::ZERO,
            Some(random) => Duration(random.next_u64() % (self.longest_delay.0 + 1)),
        }
    }
}
