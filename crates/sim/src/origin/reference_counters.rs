//! The reference counters that a Hub keeps for its memory: requests by each node to each 4 KB block (Prestor 2001,
//! 3.2.2, Memory/Directory Interface).

use units::NodeId;

/// Binary logarithm of the bytes that a set of counters covers.
pub const BLOCK_SHIFT: u32 = 12;

/// The largest machine with a counter for every node; in larger ones eight nodes share one.
const OWN_COUNTERS: usize = 64;
const SHARED_BY: usize = 8;

/// The counters of one block.
#[derive(Clone, Debug)]
struct Block {
    counts: Box<[u32]>,
    /// Whether the block has interrupted; it does so only once.
    raised: bool,
}

/// The reference counters of all Hubs of a machine, made on first use.
#[derive(Clone, Debug)]
pub struct ReferenceCounters {
    threshold: u32,
    nodes: usize,
    shared_by: usize,
    /// By home and block of its memory.
    homes: Vec<Vec<Option<Block>>>,
}

impl ReferenceCounters {
    /// Counters of a machine of `nodes` nodes, which interrupt when a remote node's count exceeds the home's by
    /// `threshold`.
    pub fn new(nodes: usize, threshold: u32) -> Self {
        let shared_by = if nodes <= OWN_COUNTERS { 1 } else { SHARED_BY };
        Self { threshold, nodes, shared_by, homes: vec![Vec::new(); nodes] }
    }

    /// Counts a request of node `from` for the byte at `offset` of the memory of `home`. Returns the block if it
    /// interrupts.
    #[inline]
    pub fn count(&mut self, home: NodeId, offset: u64, from: NodeId) -> Option<u32> {
        let index = (offset >> BLOCK_SHIFT) as usize;
        let blocks = &mut self.homes[home.index()];
        if index >= blocks.len() {
            blocks.resize(index + 1, None);
        }
        let counters = self.nodes.div_ceil(self.shared_by);
        let block = blocks[index].get_or_insert_with(|| Block { counts: vec![0; counters].into(), raised: false });
        let count = &mut block.counts[from.index() / self.shared_by];
        *count = count.saturating_add(1);
        let ahead = count.saturating_sub(block.counts[home.index() / self.shared_by]);
        if ahead < self.threshold || block.raised {
            return None;
        }
        block.raised = true;
        Some(index as u32)
    }

    /// The node with the most requests to a block, or the first of those that share its counter; the lowest number wins
    /// a tie.
    pub fn busiest(&self, home: NodeId, block: u32) -> Option<NodeId> {
        let counts = &self.homes[home.index()].get(block as usize)?.as_ref()?.counts;
        let (index, _) = counts.iter().enumerate().rev().max_by_key(|&(_, count)| count)?;
        Some(NodeId((index * self.shared_by) as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_interrupts_once() {
        let mut counters = ReferenceCounters::new(4, 3);
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
        let mut counters = ReferenceCounters::new(128, 4);
        let raised: Vec<_> = (96..104).filter_map(|node| counters.count(NodeId(0), 0, NodeId(node))).collect();
        assert_eq!(raised, [0], "the fourth of eight nodes that count together");
        assert_eq!(counters.busiest(NodeId(0), 0), Some(NodeId(96)));
    }
}
