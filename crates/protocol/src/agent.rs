//! Protocol agents: the places that hold state of a line and receive messages about it.

use units::{CpuId, NodeId};

/// An agent that receives messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Agent {
    /// The memory and directory of a node.
    Home(NodeId),
    /// The cache of one processor, with its miss registers.
    Processor(CpuId),
    /// The controller between a node's processors and the rest of the machine.
    Interface(NodeId),
    /// All nodes of the message's sharer set: the network interface sends one message to each.
    Sharers,
}
