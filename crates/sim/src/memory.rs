//! Main memory: which pages exist where, and the directory entry and contents of every line of them.

use protocol::{DirectoryEntry, Version};
use units::{Bytes, LineAddr, NodeId, PhysicalAddr};

use crate::SimError;

/// Lines in a chunk of directory that is made when first touched.
const CHUNK_LINES: u64 = 128;

/// Bits of a physical address below the node number (M-mode: 4 GB a node, Prestor 2001, 3.2.1).
pub const NODE_SHIFT: u32 = 32;

type Chunk = Box<[(DirectoryEntry, Version); CHUNK_LINES as usize]>;

/// The memory of one node.
#[derive(Default)]
struct NodeMemory {
    allocated: u64,
    chunks: Vec<Option<Chunk>>,
}

/// The memory of the machine, with its directory.
pub struct Memory {
    nodes: Vec<NodeMemory>,
    page: Bytes,
    capacity: Bytes,
    line_shift: u32,
}

impl Memory {
    /// Empty memory on `nodes` nodes of `capacity` each.
    pub fn new(nodes: usize, capacity: Bytes, page: Bytes, line: Bytes) -> Self {
        Self {
            nodes: (0..nodes).map(|_| NodeMemory::default()).collect(),
            page,
            capacity,
            line_shift: line.0.trailing_zeros(),
        }
    }

    /// The bit of a line address at which the node number starts.
    pub fn home_shift(&self) -> u32 {
        NODE_SHIFT - self.line_shift
    }

    /// Consecutive whole pages on node `home`, at least `bytes` of them.
    ///
    /// # Errors
    /// The node does not exist, or has no room left.
    pub fn allocate(&mut self, home: NodeId, bytes: Bytes) -> Result<PhysicalAddr, SimError> {
        let nodes = self.nodes.len();
        let node = self.nodes.get_mut(home.index()).ok_or(SimError::NoSuchNode { node: home, nodes })?;
        let size = bytes.0.next_multiple_of(self.page.0);
        if size > self.capacity.0 - node.allocated {
            let free = Bytes(self.capacity.0 - node.allocated);
            return Err(SimError::OutOfMemory { node: home, wanted: bytes, free });
        }
        let start = u64::from(home.0) << NODE_SHIFT | node.allocated;
        node.allocated += size;
        let lines = node.allocated >> self.line_shift;
        node.chunks.resize_with(lines.div_ceil(CHUNK_LINES) as usize, || None);
        Ok(PhysicalAddr(start))
    }

    /// Directory entry and contents of a line.
    ///
    /// # Panics
    /// If no page with this line was allocated: the program's fault, found here at the latest.
    #[inline]
    pub fn line(&mut self, line: LineAddr) -> &mut (DirectoryEntry, Version) {
        let shift = self.home_shift();
        let offset = line.0 & ((1 << shift) - 1);
        let chunks = &mut self.nodes[(line.0 >> shift) as usize].chunks;
        let Some(chunk) = chunks.get_mut((offset / CHUNK_LINES) as usize) else {
            panic!("{line:?} was referenced but never allocated");
        };
        let chunk = chunk
            .get_or_insert_with(|| Box::new([(DirectoryEntry::UNOWNED, Version::default()); CHUNK_LINES as usize]));
        &mut chunk[(offset % CHUNK_LINES) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_and_apart() {
        let mut memory = Memory::new(2, Bytes::from_mib(1), Bytes::from_kib(16), Bytes(128));
        let first = memory.allocate(NodeId(1), Bytes(1)).unwrap();
        let second = memory.allocate(NodeId(1), Bytes(1)).unwrap();
        assert_eq!((first.0, second.0), (1 << 32, (1 << 32) + (16 << 10)));
        memory.line(second.line(Bytes(128))).1 = Version(5);
        assert_eq!(memory.line(second.line(Bytes(128))).1, Version(5));
        assert_eq!(memory.line(first.line(Bytes(128))).1, Version(0));
        let full = memory.allocate(NodeId(1), Bytes::from_mib(1)).unwrap_err();
        assert!(full.to_string().contains("node 1"), "{full}");
        assert!(memory.allocate(NodeId(2), Bytes(1)).is_err());
    }
}
