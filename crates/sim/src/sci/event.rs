//! The events of an SCI node, and its packets as messages of the kernel.

use machine::VirtualNetwork;
use protocol::sci::{Packet, Request};
use protocol::{Access, Agent};
use units::{CpuId, NodeId};

use crate::kernel::{self, EnvelopeId, NodeEvent, Reach};
use crate::processor::MissId;

/// A miss whose transaction has yet to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The miss.
    pub miss: MissId,
    /// Its access.
    pub access: Access,
    /// Whether its cache has been an element of the line's list: its first request may be for another cache.
    pub upgrades: bool,
}

impl Opening {
    const UPGRADES: u32 = 1 << 16;

    const fn pack(self) -> u32 {
        self.miss.0 as u32 | (self.access as u32) << 8 | if self.upgrades { Self::UPGRADES } else { 0 }
    }

    const fn unpack(word: u32) -> Self {
        let access = Access::ALL[(word >> 8 & 0xff) as usize];
        Self { miss: MissId(word as u8), access, upgrades: word & Self::UPGRADES != 0 }
    }
}

/// An event of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SciEvent {
    /// The transaction of a miss begins.
    Begin(CpuId, Opening),
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
            Self::Begin(cpu, opening) => (0, u32::from(cpu.0), opening.pack()),
            Self::Send(node, id) => (1, u32::from(node.0), id.0),
            Self::Arrive(id) => (2, 0, id.0),
            Self::Serve(id) => (3, 0, id.0),
        }
    }

    #[inline]
    fn unpack(kind: u8, first: u32, second: u32) -> Self {
        let (node, id) = (NodeId(first as u16), EnvelopeId(second));
        match kind {
            0 => Self::Begin(CpuId(first as u16), Opening::unpack(second)),
            1 => Self::Send(node, id),
            2 => Self::Arrive(id),
            _ => Self::Serve(id),
        }
    }

    /// Requests for a cache take its bus and change its copies.
    #[inline]
    fn reach(self) -> Option<Reach> {
        match self {
            Self::Begin(..) => None,
            Self::Send(_, id) | Self::Arrive(id) => Some(Reach::Message(id)),
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

    /// A request without the line is a long command if it names a node besides its target: an element of a list, or, for a
    /// cache, the home of the line. A line's address is a node and an offset in it, and only memory's own node is the target
    /// as well. Responses need no address, so that an element has room in them. (Hexsel and Topham, appendix, gives two sizes
    /// of commands, and the parts of an address; that commands differ by this is assumed.)
    #[inline]
    fn extends_header(&self) -> bool {
        let Self::Request(request) = self else { return false };
        let names_home = matches!(request.to, Agent::Processor(_));
        (names_home || request.pointer.is_some()) && request.version.is_none()
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
        let begun = Access::ALL.into_iter().flat_map(|access| {
            [false, true].map(|upgrades| SciEvent::Begin(CpuId(4095), Opening { miss: MissId(63), access, upgrades }))
        });
        for event in [SciEvent::Send(node, id), SciEvent::Arrive(id), SciEvent::Serve(id)].into_iter().chain(begun) {
            let (kind, first, second) = event.pack();
            assert_eq!(SciEvent::unpack(kind, first, second), event);
        }
    }
}
