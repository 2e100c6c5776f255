//! Main memory: which pages exist where, and what is kept of every line of them.

use units::{Bytes, LineAddr, NodeId, PhysicalAddr};

use crate::SimError;

/// Lines in a chunk of a table that is made when first touched.
const CHUNK_LINES: u64 = 128;

/// Bits of a physical address below the node number (M-mode: 4 GB a node, Prestor 2001, 3.2.1).
pub const NODE_SHIFT: u32 = 32;

/// The memory of the machine: how much of each node's has been handed out.
pub struct Memory {
    allocated: Vec<u64>,
    page: Bytes,
    capacity: Bytes,
}

impl Memory {
    /// Empty memory on `nodes` nodes of `capacity` each.
    pub fn new(nodes: usize, capacity: Bytes, page: Bytes) -> Self {
        Self { allocated: vec![0; nodes], page, capacity }
    }

    /// Consecutive whole pages on node `home`, at least `bytes` of them.
    ///
    /// # Errors
    /// The node does not exist, or has no room left.
    pub fn allocate(&mut self, home: NodeId, bytes: Bytes) -> Result<PhysicalAddr, SimError> {
        let nodes = self.allocated.len();
        let allocated = self.allocated.get_mut(home.index()).ok_or(SimError::NoSuchNode { node: home, nodes })?;
        let size = bytes.0.next_multiple_of(self.page.0);
        if size > self.capacity.0 - *allocated {
            let free = Bytes(self.capacity.0 - *allocated);
            return Err(SimError::OutOfMemory { node: home, wanted: bytes, free });
        }
        let start = u64::from(home.0) << NODE_SHIFT | *allocated;
        *allocated += size;
        Ok(PhysicalAddr(start))
    }

    /// What has been handed out of a node's memory.
    pub fn allocated(&self, node: NodeId) -> Bytes {
        Bytes(self.allocated[node.index()])
    }
}

/// Where lines are: which node, and which line of its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineMap {
    shift: u32,
}

impl LineMap {
    /// The map for lines of this size.
    pub fn new(line: Bytes) -> Self {
        Self { shift: NODE_SHIFT - line.0.trailing_zeros() }
    }

    /// The node in whose memory the line is.
    #[inline]
    pub fn home(self, line: LineAddr) -> NodeId {
        NodeId((line.0 >> self.shift) as u16)
    }

    /// Which line of that node's memory it is.
    #[inline]
    pub fn offset(self, line: LineAddr) -> u64 {
        line.0 & ((1 << self.shift) - 1)
    }
}

/// Something kept for every line of memory, made when first touched.
pub struct LineTable<T> {
    map: LineMap,
    /// By node and then chunk.
    nodes: Vec<Vec<Option<Box<[T]>>>>,
}

impl<T: Copy + Default> LineTable<T> {
    /// A table without lines.
    pub fn new(nodes: usize, map: LineMap) -> Self {
        Self { map, nodes: (0..nodes).map(|_| Vec::new()).collect() }
    }

    /// The table goes as far as line number `lines` of the node's memory.
    pub fn extend(&mut self, node: NodeId, lines: u64) {
        self.nodes[node.index()].resize_with(lines.div_ceil(CHUNK_LINES) as usize, || None);
    }

    /// What is kept of a line.
    ///
    /// # Panics
    /// If no page with this line was allocated: the program's fault, found here at the latest.
    #[inline]
    pub fn line(&mut self, line: LineAddr) -> &mut T {
        let offset = self.map.offset(line);
        let chunks = &mut self.nodes[self.map.home(line).index()];
        let Some(chunk) = chunks.get_mut((offset / CHUNK_LINES) as usize) else {
            panic!("{line:?} was referenced but never allocated");
        };
        let chunk = chunk.get_or_insert_with(|| vec![T::default(); CHUNK_LINES as usize].into_boxed_slice());
        &mut chunk[(offset % CHUNK_LINES) as usize]
    }

    /// What is kept of the lines of a node's memory, as far as they have been touched.
    pub fn lines(&self, node: NodeId) -> impl Iterator<Item = &T> {
        self.nodes[node.index()].iter().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_and_apart() {
        let mut memory = Memory::new(2, Bytes::from_mib(1), Bytes::from_kib(16));
        let first = memory.allocate(NodeId(1), Bytes(1)).unwrap();
        let second = memory.allocate(NodeId(1), Bytes(1)).unwrap();
        assert_eq!((first.0, second.0), (1 << 32, (1 << 32) + (16 << 10)));
        let full = memory.allocate(NodeId(1), Bytes::from_mib(1)).unwrap_err();
        assert!(full.to_string().contains("node 1"), "{full}");
        assert!(memory.allocate(NodeId(2), Bytes(1)).is_err());
    }

    #[test]
    fn what_is_kept_of_a_line_stays() {
        let mut table: LineTable<u32> = LineTable::new(2, LineMap::new(Bytes(128)));
        table.extend(NodeId(1), 300);
        let line = |offset: u64| PhysicalAddr((1 << NODE_SHIFT) + offset).line(Bytes(128));
        *table.line(line(299 * 128)) = 5;
        assert_eq!((*table.line(line(299 * 128)), *table.line(line(0))), (5, 0));
    }
}
