//! Counters of the requests by each node for each block of each home's memory, which select pages to migrate.

use units::{NodeId, PhysicalAddr};

use crate::map::{address_in, node_of};
use crate::os::PageOperation;

/// The counters of one block.
#[derive(Clone, Debug)]
struct Block {
    counts: Box<[u32]>,
    /// Whether the block has interrupted; it does so only once.
    raised: bool,
}

/// The size of a set of counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReferenceCountersSpec {
    /// Nodes of the machine.
    pub nodes: usize,
    /// Nodes that share a counter.
    pub shared_by: usize,
    /// Binary logarithm of the bytes of a block.
    pub block_shift: u32,
    /// The excess of a remote node's count over the home's at which a block interrupts.
    pub threshold: u32,
}

/// The reference counters of all homes of a machine, made on first use.
#[derive(Clone, Debug)]
pub struct ReferenceCounters {
    spec: ReferenceCountersSpec,
    /// By home and block of its memory.
    homes: Vec<Vec<Option<Block>>>,
}

impl ReferenceCounters {
    /// Counters at zero.
    pub fn new(spec: ReferenceCountersSpec) -> Self {
        Self { spec, homes: vec![Vec::new(); spec.nodes] }
    }

    /// Counts a request of node `from` for the byte at `offset` of the memory of `home`. Returns the block if it
    /// interrupts.
    #[inline]
    pub fn count(&mut self, home: NodeId, offset: u64, from: NodeId) -> Option<u32> {
        let index = self.block(offset) as usize;
        let blocks = &mut self.homes[home.index()];
        if index >= blocks.len() {
            blocks.resize(index + 1, None);
        }
        let (counters, shared_by) = (self.spec.nodes.div_ceil(self.spec.shared_by), self.spec.shared_by);
        let block = blocks[index].get_or_insert_with(|| Block { counts: vec![0; counters].into(), raised: false });
        let count = &mut block.counts[from.index() / shared_by];
        *count = count.saturating_add(1);
        let ahead = count.saturating_sub(block.counts[home.index() / shared_by]);
        if ahead < self.spec.threshold || block.raised {
            return None;
        }
        block.raised = true;
        Some(index as u32)
    }

    /// The block of the byte at `offset` of a home's memory.
    pub const fn block(&self, offset: u64) -> u32 {
        (offset >> self.spec.block_shift) as u32
    }

    /// The offset of a block in the memory of its home.
    pub fn offset(&self, block: u32) -> u64 {
        u64::from(block) << self.spec.block_shift
    }

    /// The operation for the page at `at`, in memory of the node that it is an address of: its migration to the busiest node.
    pub fn selected(&self, at: PhysicalAddr) -> Option<PageOperation> {
        let home = node_of(at);
        self.busiest(home, self.block(at.0 - address_in(home, 0).0)).map(PageOperation::Migrate)
    }

    /// The node with the most requests to a block, or the first of those that share its counter; the lowest number wins
    /// a tie.
    fn busiest(&self, home: NodeId, block: u32) -> Option<NodeId> {
        let counts = &self.homes[home.index()].get(block as usize)?.as_ref()?.counts;
        let (index, _) = counts.iter().enumerate().rev().max_by_key(|&(_, count)| count)?;
        Some(NodeId((index * self.spec.shared_by) as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(nodes: usize, shared_by: usize, threshold: u32) -> ReferenceCounters {
        ReferenceCounters::new(ReferenceCountersSpec { nodes, shared_by, block_shift: 12, threshold })
    }

    #[test]
    fn the_difference_interrupts_once() {
        let mut counters = counters(4, 1, 3);
        let (home, remote, other) = (NodeId(1), NodeId(2), NodeId(3));
        let mut count = |from| counters.count(home, 5 << 12 | 40, from);
        // Two requests of the home offset as many of the remote node.
        let raised = [home, remote, other, home, remote, remote, remote, remote, remote].map(&mut count);
        assert_eq!(raised.iter().position(Option::is_some), Some(7));
        assert_eq!(raised[7], Some(5));
        assert_eq!(counters.busiest(home, 5), Some(remote));
        assert_eq!(counters.count(home, 6 << 12, remote), None, "another block has counters of its own");
        assert_eq!(counters.busiest(home, 9), None);
    }

    #[test]
    fn nodes_of_large_machines_share_counters() {
        let mut counters = counters(128, 8, 4);
        let raised: Vec<_> = (96..104).filter_map(|node| counters.count(NodeId(0), 0, NodeId(node))).collect();
        assert_eq!(raised, [0], "the fourth of eight nodes that count together");
        assert_eq!(counters.busiest(NodeId(0), 0), Some(NodeId(96)));
    }
}
