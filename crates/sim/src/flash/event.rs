//! The events of a node with MAGIC.

use units::{CpuId, NodeId};

use super::at_memory::Stage;
use crate::kernel::{EnvelopeId, NodeEvent, Reach};
use crate::os::PageStep;
use crate::processor::MissId;

/// An event of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MagicEvent {
    /// A processor's request, writeback or hint is at its pins.
    Request(CpuId, EnvelopeId),
    /// A message for another node has passed the inbox of this one.
    Outgoing(NodeId, EnvelopeId),
    /// A message has passed the inbox of its destination node.
    Handle(EnvelopeId),
    /// A message leaves the network interface of a node.
    Inject(NodeId, EnvelopeId),
    /// An answer is at the bus to the processor, with a line of data or without.
    Answer(CpuId, MissId, bool),
    /// An intervention is at the bus to the processor.
    Intervene(EnvelopeId),
    /// An intervention is on the bus: the processor probes its tags.
    Snoop(EnvelopeId),
    /// An owner has the line ready for the bus, for its answer and its report.
    Supply(EnvelopeId, EnvelopeId),
    /// An owner's answer and report have passed the inbox.
    Supplied(EnvelopeId, EnvelopeId),
    /// An invalidation is at the bus to the processor.
    Drop(EnvelopeId),
    /// A NACKed request is due for its retry.
    Retry(CpuId, MissId),
    /// A step of another transfer through the processor interface.
    Interface(CpuId, InterfaceStep),
}

/// Other transfers through the processor interface: lines between processor cache and remote access cache, and memory
/// operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterfaceStep {
    /// A request that hits in the remote access cache is at the pins.
    Asked(MissId),
    /// That request has passed the inbox.
    Answer(MissId),
    /// An evicted line is at the pins, with data if it is dirty.
    Evicted(bool),
    /// The evicted line has passed the inbox.
    Kept(bool),
    /// The handler of a message of the processor starts, which frees its inbox entry.
    Started,
    /// A line has been displaced from the remote access cache; its writeback or hint follows.
    Displaced(EnvelopeId),
    /// A memory operation reaches a stage.
    Operation(MissId, Stage),
    /// The transfer of a page takes a step.
    Page(PageStep),
}

/// The bit position of a step's kind in its operand, above the message number.
const STEP_SHIFT: u32 = 28;
/// The bit position of an operation's stage, above the miss number.
const STAGE_SHIFT: u32 = 8;

impl InterfaceStep {
    const fn pack(self) -> u32 {
        match self {
            Self::Asked(miss) => miss.0 as u32,
            Self::Answer(miss) => 1 << STEP_SHIFT | miss.0 as u32,
            Self::Evicted(dirty) => 2 << STEP_SHIFT | dirty as u32,
            Self::Kept(dirty) => 3 << STEP_SHIFT | dirty as u32,
            Self::Started => 4 << STEP_SHIFT,
            Self::Displaced(id) => 5 << STEP_SHIFT | id.0,
            Self::Page(step) => 7 << STEP_SHIFT | step.pack(),
            Self::Operation(miss, stage) => 6 << STEP_SHIFT | (stage as u32) << STAGE_SHIFT | miss.0 as u32,
        }
    }

    const fn unpack(word: u32) -> Self {
        let miss = MissId(word as u8);
        match word >> STEP_SHIFT {
            0 => Self::Asked(miss),
            1 => Self::Answer(miss),
            2 => Self::Evicted(word & 1 != 0),
            3 => Self::Kept(word & 1 != 0),
            4 => Self::Started,
            5 => Self::Displaced(EnvelopeId(word & ((1 << STEP_SHIFT) - 1))),
            6 => Self::Operation(miss, Stage::ALL[(word >> STAGE_SHIFT & 3) as usize]),
            _ => Self::Page(PageStep::unpack(word & ((1 << STEP_SHIFT) - 1))),
        }
    }
}

/// The bit of an answer's operand that marks an answer with data.
const DATA: u32 = 1 << 8;

impl NodeEvent for MagicEvent {
    #[inline]
    fn pack(self) -> (u8, u32, u32) {
        match self {
            Self::Request(cpu, id) => (0, u32::from(cpu.0), id.0),
            Self::Outgoing(node, id) => (1, u32::from(node.0), id.0),
            Self::Handle(id) => (2, 0, id.0),
            Self::Inject(node, id) => (3, u32::from(node.0), id.0),
            Self::Answer(cpu, miss, data) => (4, u32::from(cpu.0), u32::from(miss.0) | if data { DATA } else { 0 }),
            Self::Intervene(id) => (5, 0, id.0),
            Self::Snoop(id) => (6, 0, id.0),
            Self::Supply(answer, report) => (7, answer.0, report.0),
            Self::Supplied(answer, report) => (8, answer.0, report.0),
            Self::Drop(id) => (9, 0, id.0),
            Self::Retry(cpu, miss) => (10, u32::from(cpu.0), u32::from(miss.0)),
            Self::Interface(cpu, step) => (11, u32::from(cpu.0), step.pack()),
        }
    }

    #[inline]
    fn unpack(kind: u8, first: u32, second: u32) -> Self {
        let (cpu, node, id) = (CpuId(first as u16), NodeId(first as u16), EnvelopeId(second));
        match kind {
            0 => Self::Request(cpu, id),
            1 => Self::Outgoing(node, id),
            2 => Self::Handle(id),
            3 => Self::Inject(node, id),
            4 => Self::Answer(cpu, MissId(second as u8), second & DATA != 0),
            5 => Self::Intervene(id),
            6 => Self::Snoop(id),
            7 => Self::Supply(EnvelopeId(first), id),
            8 => Self::Supplied(EnvelopeId(first), id),
            9 => Self::Drop(id),
            10 => Self::Retry(cpu, MissId(second as u8)),
            _ => Self::Interface(cpu, InterfaceStep::unpack(second)),
        }
    }

    #[inline]
    fn reach(self) -> Option<Reach> {
        match self {
            Self::Handle(id) | Self::Intervene(id) | Self::Snoop(id) | Self::Drop(id) => Some(Reach::Message(id)),
            Self::Request(..)
            | Self::Outgoing(..)
            | Self::Inject(..)
            | Self::Answer(..)
            | Self::Supply(..)
            | Self::Supplied(..)
            | Self::Retry(..)
            | Self::Interface(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let (cpu, node, id, miss) = (CpuId(63), NodeId(62), EnvelopeId(1 << 27), MissId(7));
        let steps = [
            InterfaceStep::Asked(miss),
            InterfaceStep::Answer(miss),
            InterfaceStep::Evicted(true),
            InterfaceStep::Kept(false),
            InterfaceStep::Started,
            InterfaceStep::Displaced(id),
            InterfaceStep::Page(PageStep::Begin),
            InterfaceStep::Page(PageStep::Left),
            InterfaceStep::Page(PageStep::Line(0)),
            InterfaceStep::Page(PageStep::Line(1 << 20)),
            InterfaceStep::Page(PageStep::End(0)),
            InterfaceStep::Page(PageStep::End(1 << 20)),
        ];
        let events = [
            MagicEvent::Request(cpu, id),
            MagicEvent::Outgoing(node, id),
            MagicEvent::Handle(id),
            MagicEvent::Inject(node, id),
            MagicEvent::Answer(cpu, miss, true),
            MagicEvent::Answer(cpu, miss, false),
            MagicEvent::Intervene(id),
            MagicEvent::Snoop(id),
            MagicEvent::Supply(id, EnvelopeId(3)),
            MagicEvent::Supplied(id, EnvelopeId(3)),
            MagicEvent::Drop(id),
            MagicEvent::Retry(cpu, miss),
        ];
        for event in events.into_iter().chain(steps.map(|step| MagicEvent::Interface(cpu, step))) {
            let (kind, first, second) = event.pack();
            assert_eq!(MagicEvent::unpack(kind, first, second), event);
        }
    }
}
