//! The events of a server, and its messages as messages of the kernel.

use machine::VirtualNetwork;
use protocol::Access;
use protocol::server::{Lane, Message};
use units::{CpuId, NodeId};

use crate::kernel::{self, EnvelopeId, NodeEvent, Reach};
use crate::processor::MissId;

/// A channel of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryChannel {
    /// Its memory controller, in the node.
    pub controller: u16,
    /// Its number there.
    pub channel: u16,
}

/// An event of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerEvent {
    /// The request of a core's miss leaves its second-level cache.
    Begin(CpuId, MissId, Access),
    /// A message of a core leaves it.
    Depart(CpuId, EnvelopeId),
    /// A message reaches a core.
    AtCore(CpuId, EnvelopeId),
    /// A message reaches a caching agent or a home.
    AtAgent(EnvelopeId),
    /// A message that has waited for memory leaves its home.
    Leave(EnvelopeId),
    /// A channel of a memory controller of a node serves a request.
    Memory(NodeId, MemoryChannel),
    /// The slices of a core's cluster give up their lines, once what the core has sent is there.
    EmptySlices(CpuId),
    /// The slices of a core's cluster have given up their lines, and may still have work under way.
    EmptiedSlices(CpuId),
}

impl NodeEvent for ServerEvent {
    /// Nothing else changes a core between an answer and the end of its line.
    const FILLS_ARE_PROBES: bool = true;

    #[inline]
    fn pack(self) -> (u8, u32, u32) {
        match self {
            Self::Begin(cpu, miss, access) => (0, u32::from(cpu.0), u32::from(miss.0) | (access as u32) << 8),
            Self::Depart(cpu, id) => (1, u32::from(cpu.0), id.0),
            Self::AtCore(cpu, id) => (2, u32::from(cpu.0), id.0),
            Self::AtAgent(id) => (3, 0, id.0),
            Self::Leave(id) => (4, 0, id.0),
            Self::Memory(node, MemoryChannel { controller, channel }) => {
                (5, u32::from(node.0), u32::from(controller) << 16 | u32::from(channel))
            }
            Self::EmptySlices(cpu) => (6, u32::from(cpu.0), 0),
            Self::EmptiedSlices(cpu) => (7, u32::from(cpu.0), 0),
        }
    }

    #[inline]
    fn unpack(kind: u8, first: u32, second: u32) -> Self {
        let (cpu, id) = (CpuId(first as u16), EnvelopeId(second));
        match kind {
            0 => Self::Begin(cpu, MissId(second as u8), Access::ALL[(second >> 8 & 0xff) as usize]),
            1 => Self::Depart(cpu, id),
            2 => Self::AtCore(cpu, id),
            3 => Self::AtAgent(id),
            4 => Self::Leave(id),
            5 => {
                let (controller, channel) = ((second >> 16) as u16, second as u16);
                Self::Memory(NodeId(first as u16), MemoryChannel { controller, channel })
            }
            6 => Self::EmptySlices(cpu),
            _ => Self::EmptiedSlices(cpu),
        }
    }

    /// Whatever reaches a core changes its copies, answers to its own requests included.
    #[inline]
    fn reach(self) -> Option<Reach> {
        match self {
            Self::AtCore(cpu, _) => Some(Reach::Processor(cpu)),
            Self::Begin(..) | Self::Depart(..) | Self::AtAgent(_) | Self::Leave(_) | Self::Memory(..) => None,
            Self::EmptySlices(_) | Self::EmptiedSlices(_) => None,
        }
    }
}

/// Messages never enter the network of the topology, which stands for those within and between the sockets.
impl kernel::Message for Message {
    fn network(&self) -> VirtualNetwork {
        if self.kind.lane() == Lane::Request { VirtualNetwork::Request } else { VirtualNetwork::Reply }
    }

    fn carries_line(&self) -> bool {
        self.kind.carries_data()
    }

    fn probes(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let (cpu, id) = (CpuId(4095), EnvelopeId(1 << 27));
        let begun = Access::ALL.into_iter().map(|access| ServerEvent::Begin(cpu, MissId(63), access));
        let at_agents = [ServerEvent::AtAgent(id), ServerEvent::Leave(id)];
        let others = [ServerEvent::Depart(cpu, id), ServerEvent::AtCore(cpu, id)].into_iter().chain(at_agents);
        let memory = ServerEvent::Memory(NodeId(4095), MemoryChannel { controller: 63, channel: 63 });
        let emptying = [ServerEvent::EmptySlices(cpu), ServerEvent::EmptiedSlices(cpu)];
        for event in begun.chain(others).chain([memory]).chain(emptying) {
            let (kind, first, second) = event.pack();
            assert_eq!(ServerEvent::unpack(kind, first, second), event);
        }
    }
}
