//! How processors are grouped into nodes, and the few numbers that every handler of the protocol needs to know.

use units::{CpuId, NodeId};

/// The shape of the machine as the protocol sees it.
///
/// Node `k` holds the processors `k * processors_per_node ..` (two on an Origin node board, Prestor 2001,
/// Section 3.2.2). The sharer vector has one bit a node, so the protocol must know which processors share one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Geometry {
    /// Nodes of the machine, numbered from 0; at most [`Geometry::MAX_NODES`].
    pub nodes: u16,
    /// Processors on each node: 1 or 2.
    pub processors_per_node: u16,
    /// Highest priority that a retried request can reach (see [`super::DirectoryEntry`]).
    pub priority_limit: u8,
}

impl Geometry {
    /// Nodes that a coarse sharer vector can name: 64 bits of eight nodes each (Prestor 2001, Section 3.2.1).
    pub const MAX_NODES: u16 = 512;

    /// Highest priority of the Origin's three-bit field.
    ///
    /// The thesis gives no width for the field; three bits are an assumption. Only the order of retries depends on it.
    pub const ORIGIN_PRIORITY_LIMIT: u8 = 7;

    /// The geometry of an Origin with this many nodes of two processors each.
    pub const fn origin(nodes: u16) -> Self {
        Self { nodes, processors_per_node: 2, priority_limit: Self::ORIGIN_PRIORITY_LIMIT }
    }

    /// The node that holds processor `cpu`.
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

    /// Processors of the whole machine.
    #[inline]
    pub const fn processors(self) -> u16 {
        self.nodes * self.processors_per_node
    }
}
