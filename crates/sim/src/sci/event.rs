//! The events of an SCI node, and its packets as messages of the kernel.

use machine::VirtualNetwork;
use protocol::sci::{Packet, Request};
use protocol::{Access, Agent};
use units::{CpuId, NodeId};

use crate::kernel::{self, EnvelopeId, NodeEvent, Reach};
use crate::processor::MissId;

/// An event of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SciEvent {
    /// The transaction of a miss begins.
    Begin(CpuId, MissId, Access),
    /// A packet is ready to leave the node.
    Send(NodeId, EnvelopeId),
    /// A packet is at its destination.
    Arrive(EnvelopeId),
    /// A cache has checked its tags for a request of another one.
    Serve(EnvelopeId),
}

impl NodeEvent for SciEvent {
    #[inline]
    fn pack(self) -> (u8, u32, u32) {
        match self {
            Self::Begin(cpu, miss, access) => (0, u32::from(cpu.0), u32::from(miss.0) | (access as u32) << 8),
            Self::Send(node, id) => (1, u32::from(node.0), id.0),
            Self::Arrive(id) => (2, 0, id.0),
            Self::Serve(id) => (3, 0, id.0),
        }
    }

    #[inline]
    fn unpack(kind: u8, first: u32, second: u32) -> Self {
        let (node, id) = (NodeId(first as u16), EnvelopeId(second));
        match kind {
            0 => Self::Begin(CpuId(first as u16), MissId(second as u8), Access::ALL[(second >> 8) as usize]),
            1 => Self::Send(node, id),
            2 => Self::Arrive(id),
            _ => Self::Serve(id),
        }
    }

    /// Requests for a cache take its bus and change its copies.
    #[inline]
    fn reach(self) -> Option<Reach> {
        match self {
            Self::Begin(..) | Self::Send(..) => None,
            Self::Arrive(id) => Some(Reach::Message(id)),
            Self::Serve(id) => Some(Reach::Destination(id)),
        }
    }
}

impl kernel::Message for Packet {
    #[inline]
    fn network(&self) -> VirtualNetwork {
        match self {
            Self::Request(_) => VirtualNetwork::Request,
            Self::Response(_) => VirtualNetwork::Reply,
        }
    }

    #[inline]
    fn carries_line(&self) -> bool {
        match self {
            Self::Request(request) => request.version.is_some(),
            Self::Response(response) => response.version.is_some(),
        }
    }

    /// A packet that names an element of a list without carrying the line is a long command (Hexsel and Topham, appendix,
    /// gives two sizes of commands; that this is their difference is assumed).
    #[inline]
    fn extends_header(&self) -> bool {
        match self {
            Self::Request(request) => request.pointer.is_some() && request.version.is_none(),
            Self::Response(response) => response.pointer.is_some() && response.version.is_none(),
        }
    }

    #[inline]
    fn probes(&self) -> bool {
        matches!(self, Self::Request(Request { to: Agent::Processor(_), .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let (node, id) = (NodeId(4095), EnvelopeId(1 << 27));
        let begun = Access::ALL.map(|access| SciEvent::Begin(CpuId(4095), MissId(63), access));
        for event in [SciEvent::Send(node, id), SciEvent::Arrive(id), SciEvent::Serve(id)].into_iter().chain(begun) {
            let (kind, first, second) = event.pack();
            assert_eq!(SciEvent::unpack(kind, first, second), event);
        }
    }
}
