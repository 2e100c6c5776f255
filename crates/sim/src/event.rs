//! What can happen, and messages under way.

use protocol::Message;
use units::{ChannelId, CpuId, Duration, NodeId};

use crate::processor::MissId;

/// An event: who, and what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A thread's own clock has come.
    Resume(CpuId),
    /// A processor's request or writeback is at its pins.
    Request(CpuId, EnvelopeId),
    /// A message reaches the memory/directory interface of its node.
    Home(EnvelopeId),
    /// A message reaches the processor interface of its node.
    Interface(EnvelopeId),
    /// An intervention or invalidation is on the system bus: the processors look.
    Snoop(EnvelopeId),
    /// An owner has the line ready for the system bus: its response and its revision follow.
    Supply(EnvelopeId, EnvelopeId),
    /// A message reaches the network interface of a node on its way out.
    Inject(NodeId, EnvelopeId),
    /// A message leaves the network interface of a node.
    Depart(NodeId, EnvelopeId),
    /// A message from the network, or as much of it as is needed, has come through the network interface of its node.
    Arrive(EnvelopeId),
    /// The head of a message reaches a router.
    Route(ChannelId, EnvelopeId),
    /// Credits of a virtual channel that a message waits for have returned.
    Credits(ChannelId, u8),
    /// A miss is over.
    Filled(CpuId, MissId),
    /// A refused request is due again.
    Retry(CpuId, MissId),
}

/// An event in one machine word, as the event queue holds it: copied whole, where an enumeration is copied field by field
/// and read back in other pieces, which stalls the host.
#[derive(Clone, Copy, Debug)]
pub struct Packed(u64);

impl Packed {
    /// Bits of the second operand; the first has 28, the kind 4.
    const SECOND_BITS: u32 = 32;
    const FIRST_BITS: u32 = 28;

    #[inline]
    const fn new(kind: u64, first: u32, second: u32) -> Self {
        debug_assert!(first < 1 << Self::FIRST_BITS);
        Self(kind << (Self::FIRST_BITS + Self::SECOND_BITS) | (first as u64) << Self::SECOND_BITS | second as u64)
    }
}

impl From<Event> for Packed {
    #[inline]
    fn from(event: Event) -> Self {
        match event {
            Event::Resume(cpu) => Self::new(0, 0, u32::from(cpu.0)),
            Event::Request(cpu, id) => Self::new(1, u32::from(cpu.0), id.0),
            Event::Home(id) => Self::new(2, 0, id.0),
            Event::Interface(id) => Self::new(3, 0, id.0),
            Event::Snoop(id) => Self::new(4, 0, id.0),
            Event::Supply(response, revision) => Self::new(5, response.0, revision.0),
            Event::Inject(node, id) => Self::new(6, u32::from(node.0), id.0),
            Event::Depart(node, id) => Self::new(7, u32::from(node.0), id.0),
            Event::Arrive(id) => Self::new(8, 0, id.0),
            Event::Route(channel, id) => Self::new(9, u32::from(channel.0), id.0),
            Event::Credits(channel, lane) => Self::new(10, u32::from(channel.0), u32::from(lane)),
            Event::Filled(cpu, miss) => Self::new(11, u32::from(cpu.0), u32::from(miss.0)),
            Event::Retry(cpu, miss) => Self::new(12, u32::from(cpu.0), u32::from(miss.0)),
        }
    }
}

impl From<Packed> for Event {
    #[inline]
    fn from(Packed(word): Packed) -> Self {
        let first = (word >> Packed::SECOND_BITS) as u32 & ((1 << Packed::FIRST_BITS) - 1);
        let second = word as u32;
        let (cpu, node, channel) = (CpuId(first as u16), NodeId(first as u16), ChannelId(first as u16));
        let (id, miss) = (EnvelopeId(second), MissId(second as u8));
        match word >> (Packed::FIRST_BITS + Packed::SECOND_BITS) {
            0 => Self::Resume(CpuId(second as u16)),
            1 => Self::Request(cpu, id),
            2 => Self::Home(id),
            3 => Self::Interface(id),
            4 => Self::Snoop(id),
            5 => Self::Supply(EnvelopeId(first), id),
            6 => Self::Inject(node, id),
            7 => Self::Depart(node, id),
            8 => Self::Arrive(id),
            9 => Self::Route(channel, id),
            10 => Self::Credits(channel, second as u8),
            11 => Self::Filled(cpu, miss),
            _ => Self::Retry(cpu, miss),
        }
    }
}

/// Number of a message under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnvelopeId(pub u32);

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// What it says.
    pub message: Message,
    /// The node it goes to.
    pub to: NodeId,
    /// From its first packet to the end of its last, where it was spread most.
    pub spread: Duration,
    /// The channel that brought it to where it is, whose buffer it occupies.
    pub holds: Option<(ChannelId, u8)>,
}

/// Messages under way, in reused places.
#[derive(Default)]
pub struct Envelopes {
    places: Vec<Envelope>,
    free: Vec<EnvelopeId>,
}

impl Envelopes {
    /// Takes a message in.
    #[inline]
    pub fn insert(&mut self, envelope: Envelope) -> EnvelopeId {
        match self.free.pop() {
            Some(id) => {
                self.places[id.0 as usize] = envelope;
                id
            }
            None => {
                self.places.push(envelope);
                EnvelopeId(self.places.len() as u32 - 1)
            }
        }
    }

    /// A message under way.
    #[inline]
    pub fn get(&self, id: EnvelopeId) -> &Envelope {
        &self.places[id.0 as usize]
    }

    /// A message under way, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: EnvelopeId) -> &mut Envelope {
        &mut self.places[id.0 as usize]
    }

    /// Takes a message out: its place is free.
    #[inline]
    pub fn remove(&mut self, id: EnvelopeId) -> Envelope {
        self.free.push(id);
        self.places[id.0 as usize]
    }

    /// Messages under way.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let (cpu, node, channel, id, miss) = (CpuId(511), NodeId(255), ChannelId(4000), EnvelopeId(1 << 27), MissId(7));
        let events = [
            Event::Resume(cpu),
            Event::Request(cpu, id),
            Event::Home(id),
            Event::Interface(id),
            Event::Snoop(id),
            Event::Supply(id, EnvelopeId(3)),
            Event::Inject(node, id),
            Event::Depart(node, id),
            Event::Arrive(id),
            Event::Route(channel, id),
            Event::Credits(channel, 3),
            Event::Filled(cpu, miss),
            Event::Retry(cpu, miss),
        ];
        for event in events {
            assert_eq!(Event::from(Packed::from(event)), event);
        }
    }
}
