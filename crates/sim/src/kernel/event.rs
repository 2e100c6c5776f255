//! Events, and messages under way.

use units::{ChannelId, CpuId, NodeId, PhysicalAddr};

use super::Reach;
use crate::processor::MissId;
use crate::wire::Passage;

/// The events of any kind of machine; `E` is the type of its controllers' events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<E> {
    /// A thread's own time has come.
    Resume(CpuId),
    /// The scheduler's own time has come.
    Schedule,
    /// A preempted thread has drained and can leave its processor.
    Left(CpuId),
    /// The line of a miss is complete in the cache.
    Filled(CpuId, MissId),
    /// The head of a message reaches the end of a channel on its way: a router, or a crossbar's exit.
    Route(ChannelId, EnvelopeId),
    /// Credits of a virtual channel that a message waits for have returned.
    Credits(ChannelId, u8),
    /// An event of the movement of pages.
    Page(PageEvent),
    /// An event of a node's controller.
    Node(E),
}

/// An event of the movement of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageEvent {
    /// The reference counters of the block of memory at this address interrupt a processor. The address is a multiple of the
    /// smallest page.
    Interrupt(CpuId, PhysicalAddr),
    /// The kernel interrupts a processor that may have an outdated translation: the number of the shootdown.
    Shootdown(CpuId, u32),
    /// The operating system returns to a miss that ended in a bus error.
    BusError(CpuId, MissId),
    /// The kernel interrupts a processor to take all of its translations away.
    Forget(CpuId),
}

/// An event of a node's controller, as a kind with two operands.
pub trait NodeEvent: Copy {
    /// Whether the end of a fill counts as a probe of its processor. Processors then run ahead up to it; otherwise not at all
    /// between the answer to a miss and its end.
    const FILLS_ARE_PROBES: bool = false;
    /// The kind (0 to 11), and the operands, the first below 2^28.
    fn pack(self) -> (u8, u32, u32);
    /// The event that was packed.
    fn unpack(kind: u8, first: u32, second: u32) -> Self;

    /// The processors whose copies the event may change, other than by answers to their own requests; `None` if it acts
    /// on the controllers alone.
    #[inline]
    fn reach(self) -> Option<Reach> {
        None
    }
}

/// An event in one machine word, as the event queue stores it: one copy of a word instead of one for each field, whose
/// separate reads would stall the host.
#[derive(Clone, Copy, Debug)]
pub struct Packed(u64);

/// Events of threads and of pages, which share a kind, by the lowest bits of their first operand.
const RESUME: u32 = 0;
const SCHEDULE: u32 = 1;
const LEFT: u32 = 2;
const INTERRUPT: u32 = 3;
const SHOOTDOWN: u32 = 4;
const BUS_ERROR: u32 = 5;
const FORGET: u32 = 6;

/// Bits of the first operand that tell these events apart; a node or a processor is above them.
const SORT_BITS: u32 = 4;

impl PageEvent {
    /// Bits of an address below the number of its block: the smallest page has a kibibyte.
    const BLOCK_SHIFT: u32 = 10;

    /// The first operand, with the sort of event in its lowest bits, and the second.
    const fn operands(self) -> (u32, u32) {
        let (sort, place, number) = match self {
            Self::Interrupt(cpu, at) => (INTERRUPT, cpu.0, at.0 >> Self::BLOCK_SHIFT),
            Self::Shootdown(cpu, number) => (SHOOTDOWN, cpu.0, number as u64),
            Self::BusError(cpu, miss) => (BUS_ERROR, cpu.0, miss.0 as u64),
            Self::Forget(cpu) => (FORGET, cpu.0, 0),
        };
        let above = (number >> u32::BITS) as u32;
        (above << (SORT_BITS + u16::BITS) | (place as u32) << SORT_BITS | sort, number as u32)
    }

    const fn from_operands(first: u32, second: u32) -> Self {
        let place = (first >> SORT_BITS) as u16;
        match first & ((1 << SORT_BITS) - 1) {
            INTERRUPT => {
                let above = (first >> (SORT_BITS + u16::BITS)) as u64;
                Self::Interrupt(CpuId(place), PhysicalAddr((above << u32::BITS | second as u64) << Self::BLOCK_SHIFT))
            }
            SHOOTDOWN => Self::Shootdown(CpuId(place), second),
            FORGET => Self::Forget(CpuId(place)),
            _ => Self::BusError(CpuId(place), MissId(second as u8)),
        }
    }
}

impl Packed {
    /// Bits of the second operand; the first has 28, the kind 4.
    const SECOND_BITS: u32 = 32;
    const FIRST_BITS: u32 = 28;
    /// Kinds of events that do not belong to a controller.
    const COMMON: u8 = 4;

    #[inline]
    const fn new(kind: u8, first: u32, second: u32) -> Self {
        debug_assert!(first < 1 << Self::FIRST_BITS && kind < 16);
        Self(
            (kind as u64) << (Self::FIRST_BITS + Self::SECOND_BITS)
                | (first as u64) << Self::SECOND_BITS
                | second as u64,
        )
    }
}

impl<E: NodeEvent> From<Event<E>> for Packed {
    #[inline]
    fn from(event: Event<E>) -> Self {
        match event {
            Event::Resume(cpu) => Self::new(0, RESUME, u32::from(cpu.0)),
            Event::Schedule => Self::new(0, SCHEDULE, 0),
            Event::Left(cpu) => Self::new(0, LEFT, u32::from(cpu.0)),
            Event::Filled(cpu, miss) => Self::new(1, u32::from(cpu.0), u32::from(miss.0)),
            Event::Route(channel, id) => Self::new(2, u32::from(channel.0), id.0),
            Event::Credits(channel, lane) => Self::new(3, u32::from(channel.0), u32::from(lane)),
            Event::Page(event) => {
                let (first, second) = event.operands();
                Self::new(0, first, second)
            }
            Event::Node(event) => {
                let (kind, first, second) = event.pack();
                Self::new(Self::COMMON + kind, first, second)
            }
        }
    }
}

impl<E: NodeEvent> From<Packed> for Event<E> {
    #[inline]
    fn from(Packed(word): Packed) -> Self {
        let first = (word >> Packed::SECOND_BITS) as u32 & ((1 << Packed::FIRST_BITS) - 1);
        let second = word as u32;
        match (word >> (Packed::FIRST_BITS + Packed::SECOND_BITS)) as u8 {
            0 => match first {
                RESUME => Self::Resume(CpuId(second as u16)),
                SCHEDULE => Self::Schedule,
                LEFT => Self::Left(CpuId(second as u16)),
                _ => Self::Page(PageEvent::from_operands(first, second)),
            },
            1 => Self::Filled(CpuId(first as u16), MissId(second as u8)),
            2 => Self::Route(ChannelId(first as u16), EnvelopeId(second)),
            3 => Self::Credits(ChannelId(first as u16), second as u8),
            kind => Self::Node(E::unpack(kind - Packed::COMMON, first, second)),
        }
    }
}

/// Number of a message under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnvelopeId(pub u32);

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<M> {
    /// The message itself.
    pub message: M,
    /// Its destination node.
    pub to: NodeId,
    /// Its state on the way.
    pub passage: Passage,
}

/// Messages under way, in reused slots.
pub struct Envelopes<M> {
    places: Vec<Envelope<M>>,
    free: Vec<EnvelopeId>,
}

impl<M> Default for Envelopes<M> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<M: Copy> Envelopes<M> {
    /// Inserts a message.
    #[inline]
    pub fn insert(&mut self, envelope: Envelope<M>) -> EnvelopeId {
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
    pub fn get(&self, id: EnvelopeId) -> &Envelope<M> {
        &self.places[id.0 as usize]
    }

    /// A message under way, for changes.
    #[inline]
    pub fn get_mut(&mut self, id: EnvelopeId) -> &mut Envelope<M> {
        &mut self.places[id.0 as usize]
    }

    /// Removes a message, and frees its slot.
    #[inline]
    pub fn remove(&mut self, id: EnvelopeId) -> Envelope<M> {
        self.free.push(id);
        self.places[id.0 as usize]
    }

    /// Number of messages under way.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event with operands of maximum width.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Widest(u8, u32, u32);

    impl NodeEvent for Widest {
        fn pack(self) -> (u8, u32, u32) {
            (self.0, self.1, self.2)
        }

        fn unpack(kind: u8, first: u32, second: u32) -> Self {
            Self(kind, first, second)
        }
    }

    #[test]
    fn packing_loses_nothing() {
        let (cpu, channel, id, miss) = (CpuId(511), ChannelId(4000), EnvelopeId(1 << 27), MissId(7));
        let events = [
            Event::Resume(cpu),
            Event::Schedule,
            Event::Left(cpu),
            Event::Page(PageEvent::Interrupt(cpu, PhysicalAddr(4095 << 32 | 0xffff_fc00))),
            Event::Page(PageEvent::Shootdown(cpu, 1 << 20)),
            Event::Page(PageEvent::BusError(cpu, miss)),
            Event::Page(PageEvent::Forget(cpu)),
            Event::Filled(cpu, miss),
            Event::Route(channel, id),
            Event::Credits(channel, 3),
            Event::Node(Widest(11, (1 << 28) - 1, u32::MAX)),
        ];
        for event in events {
            assert_eq!(Event::from(Packed::from(event)), event);
        }
    }
}
