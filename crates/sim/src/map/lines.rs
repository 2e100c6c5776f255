//! The position of a line: its home, and its place within the home's memories.

use machine::Description;
use units::{Bytes, LineAddr, NodeId, PhysicalAddr};

/// Bits of a physical address below the node number (M-mode: 4 GB a node, Prestor 2001, 3.2.1).
const NODE_SHIFT: u32 = 32;

/// The node in whose memory an address lies.
#[inline]
pub const fn node_of(at: PhysicalAddr) -> NodeId {
    NodeId((at.0 >> NODE_SHIFT) as u16)
}

/// The address of a byte of a node's memory.
pub const fn address_in(node: NodeId, offset: u64) -> PhysicalAddr {
    PhysicalAddr((node.0 as u64) << NODE_SHIFT | offset)
}

/// The positions of lines: home, and number within the home. The lines of a node lie in its memories in turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineMap {
    shift: u32,
    /// Memories of a node.
    memories: u32,
}

impl LineMap {
    /// The map of a machine: for the lines of its coherent caches, and the memories of its nodes.
    pub fn of(description: &Description) -> Self {
        Self { memories: description.memory.controllers, ..Self::new(description.coherent_cache().line) }
    }

    /// The map for lines of this size, in nodes of one memory.
    pub fn new(line: Bytes) -> Self {
        Self { shift: NODE_SHIFT - line.0.trailing_zeros(), memories: 1 }
    }

    /// The size of a line.
    pub const fn line(self) -> Bytes {
        Bytes(1 << (NODE_SHIFT - self.shift))
    }

    /// The node in whose memory the line lies.
    #[inline]
    pub const fn home(self, line: LineAddr) -> NodeId {
        NodeId((line.0 >> self.shift) as u16)
    }

    /// The number of the line within its node.
    #[inline]
    pub const fn offset(self, line: LineAddr) -> u64 {
        line.0 & ((1 << self.shift) - 1)
    }

    /// The first address of a line.
    #[inline]
    pub const fn address(self, line: LineAddr) -> PhysicalAddr {
        PhysicalAddr(line.0 << (NODE_SHIFT - self.shift))
    }

    /// The memory of its node that the line lies in, and its number there.
    #[inline]
    pub const fn memory(self, line: LineAddr) -> (usize, u64) {
        let (offset, memories) = (self.offset(line), self.memories as u64);
        if memories == 1 { (0, offset) } else { ((offset % memories) as usize, offset / memories) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_address_is_found_again(node in 0u16..512, offset in 0u64..1 << 32, shift in 5u32..10) {
            let (at, size) = (address_in(NodeId(node), offset), Bytes(1 << shift));
            let (lines, line) = (LineMap::new(size), at.line(size));
            prop_assert_eq!(node_of(at), NodeId(node));
            prop_assert_eq!((lines.home(line), lines.offset(line)), (NodeId(node), offset >> shift));
            prop_assert_eq!((lines.address(line), lines.line()), (PhysicalAddr(at.0 & !(size.0 - 1)), size));
        }

        #[test]
        fn the_memories_of_a_node_share_its_lines(first in 0u64..1 << 20, memories in 1u32..9) {
            let lines = LineMap { memories, ..LineMap::new(Bytes(128)) };
            let start = address_in(NodeId(3), 0).line(Bytes(128)).0;
            let places: Vec<_> = (first..first + 2 * u64::from(memories)).map(|line| lines.memory(LineAddr(start + line))).collect();
            prop_assert!(places.iter().all(|&(memory, _)| memory < memories as usize));
            let mut apart = places.clone();
            apart.sort_unstable();
            apart.dedup();
            prop_assert_eq!(apart.len(), places.len(), "no two lines share a place");
            for memory in 0..memories as usize {
                prop_assert_eq!(places.iter().filter(|place| place.0 == memory).count(), 2);
            }
        }
    }
}
