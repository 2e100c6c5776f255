//! What can happen, and messages under way.

use protocol::Message;
use units::{ChannelId, CpuId, Duration, LineAddr, NodeId};

use crate::processor::MissId;

/// An event: who, and what.
#[derive(Clone, Copy, Debug)]
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
    /// The head of a message, and as much of the rest as is needed, reaches the network interface of its node.
    Arrive(EnvelopeId),
    /// The head of a message reaches a router.
    Route(ChannelId, EnvelopeId),
    /// Credits of a virtual channel that a message waits for have returned.
    Credits(ChannelId, u8),
    /// The value that a miss brings is at the processor.
    Value(CpuId, MissId),
    /// A miss is over.
    Filled(CpuId, MissId),
    /// A refused request is due again.
    Retry(CpuId, LineAddr),
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
