//! Bus transactions, and the events of their steps.

use units::{CpuId, LineAddr, NodeId};

use crate::kernel::{EnvelopeId, NodeEvent, Reach};

/// A participant that requests the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requester {
    /// A processor, for a miss or an eviction.
    Processor(CpuId),
    /// The device that joins the node to others.
    Device,
}

/// A bus transaction, as its events name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// The node of the bus.
    pub node: NodeId,
    /// The line.
    pub line: LineAddr,
    /// The requester.
    pub requester: Requester,
}

/// The steps of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusEvent {
    /// The request is at the requester's pins.
    Request(EnvelopeId),
    /// The combined snoop reply is there.
    Reply(EnvelopeId),
    /// The data are ready for the data wires.
    Data(EnvelopeId),
    /// The transaction is complete.
    Complete(EnvelopeId),
}

impl NodeEvent for BusEvent {
    #[inline]
    fn pack(self) -> (u8, u32, u32) {
        match self {
            Self::Request(id) => (0, 0, id.0),
            Self::Reply(id) => (1, 0, id.0),
            Self::Data(id) => (2, 0, id.0),
            Self::Complete(id) => (3, 0, id.0),
        }
    }

    #[inline]
    fn unpack(kind: u8, _first: u32, second: u32) -> Self {
        let id = EnvelopeId(second);
        [Self::Request(id), Self::Reply(id), Self::Data(id), Self::Complete(id)][usize::from(kind)]
    }

    /// A combined reply changes the copies of all caches on the bus.
    #[inline]
    fn reach(self) -> Option<Reach> {
        match self {
            Self::Reply(id) => Some(Reach::Destination(id)),
            Self::Request(_) | Self::Data(_) | Self::Complete(_) => None,
        }
    }
}
