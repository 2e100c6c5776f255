//! Geometry of the machine: the grouping of processors into nodes, and the parameters that all handlers of the protocol
//! share.

use units::{CpuId, NodeId};

/// Geometry of the machine, as far as the protocol depends on it.
///
/// Node `k` holds the processors `k * processors_per_node ..` (two on an Origin node board, Prestor 2001, Section
/// 3.2.2). The sharer vector has one bit per node, so the protocol maps processors to nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Geometry {
    /// Nodes of the machine, numbered from 0; at most [`Geometry::MAX_NODES`].
    pub nodes: u16,
    /// Processors per node: 1 or 2.
    pub processors_per_node: u16,
    /// Highest priority of a retried request (see [`super::DirectoryEntry`]).
    pub priority_limit: u8,
}

impl Geometry {
    /// Most nodes that a coarse sharer vector can represent: 64 bits of eight nodes each (Prestor 2001, Section 3.2.1).
    pub const MAX_NODES: u16 = 512;

    /// Highest priority in the Origin's three-bit field.
    ///
    /// The thesis gives no width for the field; three bits are an assumption. Only the order of retries depends on it.
    pub const ORIGIN_PRIORITY_LIMIT: u8 = 7;

    /// Geometry of an Origin with this many nodes of two processors each.
    pub const fn origin(nodes: u16) -> Self {
        Self { nodes, processors_per_node: 2, priority_limit: Self::ORIGIN_PRIORITY_LIMIT }
    }

    /// Node of processor `cpu`.
    #[inline]
    pub const fn node_of(self, cpu: CpuId) -> NodeId {
        NodeId(cpu.0 / self.processors_per_node)
    }

    /// The processors of `node`, in ascending order.
    #[inline]
    pub fn processors_of(self, node: NodeId) -> impl Iterator<Item = CpuId> {
        let first = node.0 * self.processors_per_node;
        (first..first + self.processors_per_node).map(CpuId)
    }

    /// Number of processors in the machine.
    #[inline]
    pub const fn processors(self) -> u16 {
        self.nodes * self.processors_per_node
    }
}
