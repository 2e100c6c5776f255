//! The events of a cluster's node, and its messages.

use machine::VirtualNetwork;
use protocol::cluster::{Lane, Message};
use units::{CpuId, NodeId};

use crate::kernel::{self, EnvelopeId, NodeEvent, Reach};
use crate::os::PageStep;
use crate::snooping::{BusEvent, Transaction};

/// A message between devices, or a transaction on a bus.
#[derive(Clone, Copy, Debug)]
pub enum ClusterMessage {
    /// A bus transaction.
    Bus(Transaction),
    /// A message between nodes.
    Node(NodeMessage),
}

/// A message between nodes, with what the account of time needs of it.
#[derive(Clone, Copy, Debug)]
pub struct NodeMessage {
    /// The message.
    pub message: Message,
    /// Its sender.
    pub from: NodeId,
    /// Whether a cache, and not memory, supplied its line.
    pub owned: bool,
}

impl kernel::Message for ClusterMessage {
    /// DASH has a network for requests, interventions among them, and one for replies (Hexsel and Topham, Section 3).
    #[inline]
    fn network(&self) -> VirtualNetwork {
        match self {
            Self::Node(NodeMessage { message, .. }) if message.kind.lane() == Lane::Reply => VirtualNetwork::Reply,
            Self::Node(_) | Self::Bus(_) => VirtualNetwork::Request,
        }
    }

    #[inline]
    fn carries_line(&self) -> bool {
        matches!(self, Self::Node(NodeMessage { message, .. }) if message.kind.carries_data())
    }

    /// A message acts on processors by a bus transaction of the device, which takes longer than the look-ahead.
    #[inline]
    fn probes(&self) -> bool {
        false
    }
}

/// An event of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClusterEvent {
    /// A step of a bus transaction.
    Bus(BusEvent),
    /// A message is at the network interface of its sender.
    Send(NodeId, EnvelopeId),
    /// A message is at its destination.
    Arrive(EnvelopeId),
    /// A message is handled.
    Handle(EnvelopeId),
    /// A processor is interrupted to drop the translation of a page that its node relocates.
    Shootdown(CpuId),
    /// A step of the transfer of a page.
    Page(NodeId, PageStep),
}

/// The first kind of event that is no step of a bus transaction.
const FIRST: u8 = 4;

impl NodeEvent for ClusterEvent {
    #[inline]
    fn pack(self) -> (u8, u32, u32) {
        match self {
            Self::Bus(event) => event.pack(),
            Self::Send(node, id) => (FIRST, u32::from(node.0), id.0),
            Self::Arrive(id) => (FIRST + 1, 0, id.0),
            Self::Handle(id) => (FIRST + 2, 0, id.0),
            Self::Shootdown(cpu) => (FIRST + 3, u32::from(cpu.0), 0),
            Self::Page(node, step) => (FIRST + 4, step.pack(), u32::from(node.0)),
        }
    }

    #[inline]
    fn unpack(kind: u8, first: u32, second: u32) -> Self {
        let id = EnvelopeId(second);
        match kind {
            FIRST => Self::Send(NodeId(first as u16), id),
            5 => Self::Arrive(id),
            6 => Self::Handle(id),
            7 => Self::Shootdown(CpuId(first as u16)),
            8 => Self::Page(NodeId(second as u16), PageStep::unpack(first)),
            _ => Self::Bus(BusEvent::unpack(kind, first, second)),
        }
    }

    #[inline]
    fn reach(self) -> Option<Reach> {
        match self {
            Self::Bus(event) => event.reach(),
            Self::Shootdown(cpu) => Some(Reach::Neighbours(cpu)),
            Self::Send(..) | Self::Arrive(_) | Self::Handle(_) | Self::Page(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let id = EnvelopeId(1 << 27);
        let bus = [BusEvent::Request(id), BusEvent::Reply(id), BusEvent::Data(id), BusEvent::Complete(id)];
        let own = [ClusterEvent::Send(NodeId(63), id), ClusterEvent::Arrive(id), ClusterEvent::Handle(id)];
        let pages = [PageStep::Begin, PageStep::Left, PageStep::Line(63), PageStep::End(1 << 20)];
        let pages = pages.map(|step| ClusterEvent::Page(NodeId(63), step));
        let own = own.into_iter().chain([ClusterEvent::Shootdown(CpuId(255))]).chain(pages);
        for event in bus.map(ClusterEvent::Bus).into_iter().chain(own) {
            let (kind, first, second) = event.pack();
            assert_eq!(ClusterEvent::unpack(kind, first, second), event);
        }
    }
}
