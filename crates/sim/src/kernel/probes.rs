//! Probes under way: scheduled events that may change the copies of processors from outside.
//!
//! A processor runs ahead of the rest of the machine as long as no probe can reach it: up to the time of one that acts on it
//! alone, and not at all under one whose time is not known. Events that may reach it within the
//! look-ahead are in the queue; the kernel counts them by node when they are scheduled and when they occur, from a property
//! of the event ([`NodeEvent::reach`]) and, for messages, of the message ([`Message::probes`]). A controller
//! therefore cannot forget one. An interconnect without an event for each message counts by the message alone.

use units::{CpuId, NodeId, Time};

use super::{EnvelopeId, Event, Kernel, Message, NodeEvent, PageEvent};

/// The processors that an event may act on from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// It alone.
    Processor(CpuId),
    /// Those of a processor's node.
    Neighbours(CpuId),
    /// Those of the destination of a message.
    Destination(EnvelopeId),
    /// The same, if the message is one that acts on processors ([`Message::probes`]).
    Message(EnvelopeId),
    /// All.
    Everywhere,
}

/// Probes under way.
#[derive(Debug)]
pub(super) struct Probes {
    /// By processor, the times of the events that act on it alone.
    by_processor: Vec<Vec<Time>>,
    by_node: Vec<u32>,
    everywhere: u32,
}

/// The processors that a probe acts on.
#[derive(Clone, Copy)]
enum Place {
    Processor(CpuId),
    Node(NodeId),
    Everywhere,
}

impl Probes {
    /// No probes, of a machine with `agents` agents on `nodes` nodes.
    pub(super) fn none(agents: usize, nodes: usize) -> Self {
        Self { by_processor: vec![Vec::new(); agents], by_node: vec![0; nodes], everywhere: 0 }
    }

    /// A probe begins, which acts at `time`.
    #[inline(always)]
    fn begin(&mut self, place: Place, time: Time) {
        match place {
            Place::Processor(cpu) => self.by_processor[cpu.index()].push(time),
            Place::Node(node) => self.by_node[node.index()] += 1,
            Place::Everywhere => self.everywhere += 1,
        }
    }

    /// A probe that acts at `time` ends.
    #[inline(always)]
    fn end(&mut self, place: Place, time: Time) {
        match place {
            Place::Processor(cpu) => {
                let times = &mut self.by_processor[cpu.index()];
                let begun = times.iter().position(|&other| other == time);
                debug_assert!(begun.is_some(), "a probe of {cpu} ends at {time} that never began");
                if let Some(begun) = begun {
                    times.swap_remove(begun);
                }
            }
            Place::Node(node) => self.by_node[node.index()] -= 1,
            Place::Everywhere => self.everywhere -= 1,
        }
    }

    /// The time before which no probe under way acts on processor `cpu` of `node`: zero if that is not known.
    #[inline]
    fn soonest(&self, cpu: CpuId, node: NodeId) -> Time {
        if self.everywhere > 0 || self.by_node[node.index()] > 0 {
            return Time::ZERO;
        }
        self.by_processor[cpu.index()].iter().copied().fold(Time::MAX, Time::min)
    }

    /// Number of probes under way.
    pub(super) fn total(&self) -> usize {
        let (of_nodes, of_processors) = (self.by_node.iter().sum::<u32>(), self.by_processor.iter().map(Vec::len));
        (self.everywhere + of_nodes) as usize + of_processors.sum::<usize>()
    }
}

impl<M: Message, E: NodeEvent> Kernel<M, E> {
    /// The time before which no probe under way acts on `cpu`: zero where a probe's time is not known.
    #[inline]
    pub fn soonest_probe(&self, cpu: CpuId) -> Time {
        self.probes.soonest(cpu, self.node_of(cpu))
    }

    /// Number of probes under way.
    pub fn probes_under_way(&self) -> usize {
        self.probes.total()
    }

    /// An event that acts on processors at `time` is scheduled.
    #[inline(always)]
    pub(super) fn begin_probe(&mut self, time: Time, event: &Event<E>) {
        if let Some(place) = self.probed(event) {
            self.probes.begin(place, time);
        }
    }

    /// An event that acts on processors at `time` occurs.
    #[inline(always)]
    pub(super) fn end_probe(&mut self, time: Time, event: &Event<E>) {
        if let Some(place) = self.probed(event) {
            self.probes.end(place, time);
        }
    }

    /// A message enters an interconnect that may not announce its delivery ahead of time.
    #[inline]
    pub fn begin_passage(&mut self, id: EnvelopeId) {
        let envelope = self.envelopes.get(id);
        if envelope.message.probes() {
            self.probes.begin(Place::Node(envelope.to), self.now);
        }
    }

    /// The interconnect announces the delivery of the message: from now on, an event stands for it.
    #[inline]
    pub fn end_passage(&mut self, id: EnvelopeId) {
        let envelope = self.envelopes.get(id);
        if envelope.message.probes() {
            self.probes.end(Place::Node(envelope.to), self.now);
        }
    }

    /// The processors that `event` acts on from outside.
    #[inline(always)]
    fn probed(&self, event: &Event<E>) -> Option<Place> {
        let event = match event {
            Event::Node(event) => event,
            Event::Page(event) => return self.probed_by_kernel(*event).map(Place::Node),
            Event::Filled(cpu, _) if E::FILLS_ARE_PROBES => return Some(Place::Processor(*cpu)),
            _ => return None,
        };
        Some(Place::Node(match event.reach()? {
            Reach::Processor(cpu) => return Some(Place::Processor(cpu)),
            Reach::Neighbours(cpu) => self.node_of(cpu),
            Reach::Destination(id) => self.envelopes.get(id).to,
            Reach::Message(id) => {
                let envelope = self.envelopes.get(id);
                if !envelope.message.probes() {
                    return None;
                }
                envelope.to
            }
            Reach::Everywhere => return Some(Place::Everywhere),
        }))
    }

    /// The node whose processors an event of the movement of pages acts on.
    fn probed_by_kernel(&self, event: PageEvent) -> Option<NodeId> {
        match event {
            PageEvent::Interrupt(cpu, _) | PageEvent::Shootdown(cpu, _) | PageEvent::Forget(cpu) => {
                Some(self.node_of(cpu))
            }
            // The processor waits for it.
            PageEvent::BusError(..) => None,
        }
    }
}
