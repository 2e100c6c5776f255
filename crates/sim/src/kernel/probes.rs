//! Probes under way: scheduled events that may change the copies of processors from outside.
//!
//! A processor runs ahead of the rest of the machine as long as no probe can reach it. Events that may reach it within the
//! look-ahead are in the queue; the kernel counts them by node when they are scheduled and when they occur, from a property
//! of the event ([`NodeEvent::reach`]) and, for messages, of the message ([`Message::probes`]). A controller
//! therefore cannot forget one. An interconnect without an event for each message counts by the message alone.

use units::{CpuId, NodeId};

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

/// Numbers of probes under way.
#[derive(Debug)]
pub(super) struct Probes {
    by_processor: Vec<u32>,
    by_node: Vec<u32>,
    everywhere: u32,
}

/// The count that a probe is in.
#[derive(Clone, Copy)]
enum Place {
    Processor(CpuId),
    Node(NodeId),
    Everywhere,
}

impl Probes {
    /// No probes, of a machine with `agents` agents on `nodes` nodes.
    pub(super) fn none(agents: usize, nodes: usize) -> Self {
        Self { by_processor: vec![0; agents], by_node: vec![0; nodes], everywhere: 0 }
    }

    /// The count for a reach: of one processor, of one node, or of all.
    #[inline(always)]
    fn count(&mut self, place: Place) -> &mut u32 {
        match place {
            Place::Processor(cpu) => &mut self.by_processor[cpu.index()],
            Place::Node(node) => &mut self.by_node[node.index()],
            Place::Everywhere => &mut self.everywhere,
        }
    }

    /// Whether any is under way to processor `cpu` of `node`.
    #[inline]
    pub(super) fn reach(&self, cpu: CpuId, node: NodeId) -> bool {
        self.everywhere > 0 || self.by_node[node.index()] > 0 || self.by_processor[cpu.index()] > 0
    }

    /// Number of probes under way.
    pub(super) fn total(&self) -> usize {
        let one_by_one = self.by_node.iter().chain(&self.by_processor).sum::<u32>();
        self.everywhere as usize + one_by_one as usize
    }
}

impl<M: Message, E: NodeEvent> Kernel<M, E> {
    /// Whether a probe is under way to `cpu`.
    #[inline]
    pub fn reaches(&self, cpu: CpuId) -> bool {
        self.probes.reach(cpu, self.node_of(cpu))
    }

    /// Number of probes under way.
    pub fn probes_under_way(&self) -> usize {
        self.probes.total()
    }

    /// An event that acts on processors is scheduled.
    #[inline(always)]
    pub(super) fn begin_probe(&mut self, event: &Event<E>) {
        if let Some(place) = self.probed(event) {
            *self.probes.count(place) += 1;
        }
    }

    /// An event that acts on processors occurs.
    #[inline(always)]
    pub(super) fn end_probe(&mut self, event: &Event<E>) {
        if let Some(place) = self.probed(event) {
            *self.probes.count(place) -= 1;
        }
    }

    /// A message enters an interconnect that may not announce its delivery ahead of time.
    #[inline]
    pub fn begin_passage(&mut self, id: EnvelopeId) {
        let envelope = self.envelopes.get(id);
        if envelope.message.probes() {
            *self.probes.count(Place::Node(envelope.to)) += 1;
        }
    }

    /// The interconnect announces the delivery of the message: from now on, an event stands for it.
    #[inline]
    pub fn end_passage(&mut self, id: EnvelopeId) {
        let envelope = self.envelopes.get(id);
        if envelope.message.probes() {
            *self.probes.count(Place::Node(envelope.to)) -= 1;
        }
    }

    /// The processors that `event` acts on from outside.
    #[inline(always)]
    fn probed(&self, event: &Event<E>) -> Option<Place> {
        let event = match event {
            Event::Node(event) => event,
            Event::Page(event) => return self.probed_by_kernel(*event).map(Place::Node),
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
