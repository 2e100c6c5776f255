//! The events of a node of an ideal machine.

use protocol::msi::Access;
use units::CpuId;

use crate::kernel::{EnvelopeId, NodeEvent, Reach};
use crate::processor::MissId;

/// An event of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdealEvent {
    /// A processor's request is at its pins: a missing access, or, for `None`, a memory operation.
    Request(CpuId, MissId, Option<Access>),
    /// The answer to the request is at the bus.
    Answer(CpuId, MissId, Option<Access>),
    /// An evicted line is at the processor's pins.
    Evict(CpuId, EnvelopeId),
}

/// The operand bit of a store.
const STORE: u32 = 1 << 8;
/// The operand bit of a memory operation.
const OPERATION: u32 = 1 << 9;

const fn operand(miss: MissId, access: Option<Access>) -> u32 {
    let access = match access {
        Some(Access::Load) => 0,
        Some(Access::Store) => STORE,
        None => OPERATION,
    };
    miss.0 as u32 | access
}

const fn access(operand: u32) -> Option<Access> {
    match (operand & OPERATION, operand & STORE) {
        (0, 0) => Some(Access::Load),
        (0, _) => Some(Access::Store),
        (_, _) => None,
    }
}

impl NodeEvent for IdealEvent {
    #[inline]
    fn pack(self) -> (u8, u32, u32) {
        match self {
            Self::Request(cpu, miss, access) => (0, u32::from(cpu.0), operand(miss, access)),
            Self::Answer(cpu, miss, access) => (1, u32::from(cpu.0), operand(miss, access)),
            Self::Evict(cpu, id) => (2, u32::from(cpu.0), id.0),
        }
    }

    #[inline]
    fn unpack(kind: u8, first: u32, second: u32) -> Self {
        let cpu = CpuId(first as u16);
        let (miss, access) = (MissId(second as u8), access(second));
        match kind {
            0 => Self::Request(cpu, miss, access),
            1 => Self::Answer(cpu, miss, access),
            _ => Self::Evict(cpu, EnvelopeId(second)),
        }
    }

    /// An answer may take a line from any cache.
    #[inline]
    fn reach(self) -> Option<Reach> {
        matches!(self, Self::Answer(..)).then_some(Reach::Everywhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let (cpu, miss) = (CpuId(63), MissId(7));
        let events = [
            IdealEvent::Request(cpu, miss, Some(Access::Load)),
            IdealEvent::Request(cpu, miss, Some(Access::Store)),
            IdealEvent::Answer(cpu, miss, Some(Access::Store)),
            IdealEvent::Answer(cpu, miss, None),
            IdealEvent::Evict(cpu, EnvelopeId(1 << 27)),
        ];
        for event in events {
            let (kind, first, second) = event.pack();
            assert_eq!(IdealEvent::unpack(kind, first, second), event);
        }
    }
}
