//! Main memory: allocation of pages, and tables with an element for each line.

use std::collections::BTreeMap;

use units::{Bytes, LineAddr, NodeId, PhysicalAddr};

use crate::SimError;

/// Lines in a chunk of a [`LineTable`]; chunks are made on first access.
const CHUNK_LINES: u64 = 128;

/// Bits of a physical address below the node number (M-mode: 4 GB a node, Prestor 2001, 3.2.1).
pub const NODE_SHIFT: u32 = 32;

/// The node in whose memory an address lies.
pub const fn node_of(at: PhysicalAddr) -> NodeId {
    NodeId((at.0 >> NODE_SHIFT) as u16)
}

/// The memory of the machine, with the amount allocated on each node.
pub struct Memory {
    allocated: Vec<u64>,
    page: Bytes,
    capacity: Bytes,
    /// Number of pages in one way of the secondary cache: frames of one colour compete for the same sets.
    colours: u64,
    /// By node and colour, frames that were skipped because of their colour; the lists are never empty.
    spare: Vec<BTreeMap<u64, Vec<PhysicalAddr>>>,
}

impl Memory {
    /// Empty memory of `nodes` nodes of `capacity` each, for secondary caches with `way` bytes in each way.
    pub fn new(nodes: usize, capacity: Bytes, page: Bytes, way: Bytes) -> Self {
        let colours = (way.0 / page.0).max(1);
        Self { allocated: vec![0; nodes], page, capacity, colours, spare: vec![BTreeMap::new(); nodes] }
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

    /// A frame of node `node` for one page. With page number `like` it has that page's colour, as IRIX colours pages
    /// (Prestor 2001, 3.3.2), because every node's memory maps to the caches in the same way; if no frame of that
    /// colour is left, it has the next colour that is. `None` if the node is full.
    pub fn frame(&mut self, node: NodeId, like: Option<u64>) -> Option<PhysicalAddr> {
        let wanted = like.map(|number| number % self.colours);
        if let Some(frame) = self.take_spare(node, wanted) {
            return Some(frame);
        }
        while let Ok(frame) = self.allocate(node, self.page) {
            let found = frame.page(self.page).0 % self.colours;
            if wanted.is_none_or(|wanted| wanted == found) {
                return Some(frame);
            }
            self.spare[node.index()].entry(found).or_default().push(frame);
        }
        let colours = &self.spare[node.index()];
        let next = colours.range(wanted?..).chain(colours.range(..wanted?)).next();
        let colour = next.map(|(&colour, _)| colour);
        self.take_spare(node, colour)
    }

    fn take_spare(&mut self, node: NodeId, colour: Option<u64>) -> Option<PhysicalAddr> {
        let colours = &mut self.spare[node.index()];
        let colour = colour.or_else(|| colours.keys().next().copied())?;
        let frames = colours.get_mut(&colour)?;
        let frame = frames.pop();
        if frames.is_empty() {
            colours.remove(&colour);
        }
        frame
    }

    /// Consecutive frames on `node` of `size` in all, a power of two, which begin at a multiple of it. Frames before them
    /// stay free. `None` if the node has no room.
    pub fn aligned(&mut self, node: NodeId, size: Bytes) -> Option<PhysicalAddr> {
        if self.aligned_room(node, size) == 0 {
            return None;
        }
        while !self.allocated[node.index()].is_multiple_of(size.0) {
            let frame = self.allocate(node, self.page).ok()?;
            let colour = frame.page(self.page).0 % self.colours;
            self.spare[node.index()].entry(colour).or_default().push(frame);
        }
        self.allocate(node, size).ok()
    }

    /// Frames of a node that are left for blocks of `size` which begin at a multiple of it.
    pub fn aligned_room(&self, node: NodeId, size: Bytes) -> u64 {
        let first = self.allocated[node.index()].next_multiple_of(size.0);
        self.capacity.0.saturating_sub(first) / size.0 * (size.0 / self.page.0)
    }

    /// The size of a page.
    pub fn page(&self) -> Bytes {
        self.page
    }

    /// Number of free frames of a node.
    pub fn free_frames(&self, node: NodeId) -> u64 {
        let spare = self.spare[node.index()].values().map(Vec::len).sum::<usize>() as u64;
        (self.capacity.0 - self.allocated[node.index()]) / self.page.0 + spare
    }

    /// Bytes allocated of a node's memory.
    pub fn allocated(&self, node: NodeId) -> Bytes {
        Bytes(self.allocated[node.index()])
    }
}

/// The position of a line: its node, and its number within that node's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineMap {
    shift: u32,
}

impl LineMap {
    /// The map for lines of this size.
    pub fn new(line: Bytes) -> Self {
        Self { shift: NODE_SHIFT - line.0.trailing_zeros() }
    }

    /// The node in whose memory the line lies.
    #[inline]
    pub fn home(self, line: LineAddr) -> NodeId {
        NodeId((line.0 >> self.shift) as u16)
    }

    /// The number of the line within its node's memory.
    #[inline]
    pub fn offset(self, line: LineAddr) -> u64 {
        line.0 & ((1 << self.shift) - 1)
    }
}

/// An element for every line of memory, made on first access.
pub struct LineTable<T> {
    map: LineMap,
    /// By node and chunk.
    nodes: Vec<Vec<Option<Box<[T]>>>>,
}

impl<T: Copy + Default> LineTable<T> {
    /// A table without lines.
    pub fn new(nodes: usize, map: LineMap) -> Self {
        Self { map, nodes: (0..nodes).map(|_| Vec::new()).collect() }
    }

    /// Extends the table to `lines` lines of the node's memory.
    pub fn extend(&mut self, node: NodeId, lines: u64) {
        self.nodes[node.index()].resize_with(lines.div_ceil(CHUNK_LINES) as usize, || None);
    }

    /// The element of a line.
    ///
    /// # Panics
    /// If no page with this line was allocated, which is a fault of the program.
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

    /// The elements of a node's lines, as far as their chunks have been accessed.
    pub fn lines(&self, node: NodeId) -> impl Iterator<Item = &T> {
        self.nodes[node.index()].iter().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_and_apart() {
        let mut memory = Memory::new(2, Bytes::from_mib(1), Bytes::from_kib(16), Bytes::from_kib(64));
        let first = memory.allocate(NodeId(1), Bytes(1)).unwrap();
        let second = memory.allocate(NodeId(1), Bytes(1)).unwrap();
        assert_eq!((first.0, second.0), (1 << 32, (1 << 32) + (16 << 10)));
        let full = memory.allocate(NodeId(1), Bytes::from_mib(1)).unwrap_err();
        assert!(full.to_string().contains("node 1"), "{full}");
        assert!(memory.allocate(NodeId(2), Bytes(1)).is_err());
    }

    #[test]
    fn frames_have_the_colour_asked_for_while_there_is_one() {
        let mut memory = Memory::new(1, Bytes::from_kib(16 * 6), Bytes::from_kib(16), Bytes::from_kib(64));
        let mut number = |like| Some(memory.frame(NodeId(0), like)?.0 >> 14);
        let colours: Vec<_> = [2, 2, 0, 1].map(|like| number(Some(like))).to_vec();
        assert_eq!(colours, [Some(2), Some(3), Some(4), Some(5)], "six pages have only one of colour 2");
        assert_eq!((number(Some(0)), number(None), number(None)), (Some(0), Some(1), None));
        assert_eq!(memory.free_frames(NodeId(0)), 0);
    }

    #[test]
    fn a_large_block_is_aligned_and_frames_before_it_stay_free() {
        let page = Bytes::from_kib(16);
        let mut memory = Memory::new(1, Bytes::from_kib(16 * 11), page, Bytes::from_kib(64));
        assert_eq!(memory.frame(NodeId(0), None).map(|frame| frame.0), Some(0));
        let large = Bytes::from_kib(64);
        assert_eq!(memory.aligned_room(NodeId(0), large), 4, "the last three frames are no whole block");
        assert_eq!(memory.aligned(NodeId(0), large).map(|start| start.0), Some(64 << 10));
        assert_eq!((memory.aligned(NodeId(0), large), memory.free_frames(NodeId(0))), (None, 6));
        let rest: Vec<_> = (0..6).filter_map(|_| Some(memory.frame(NodeId(0), None)?.0 >> 14)).collect();
        assert_eq!(rest, [1, 2, 3, 8, 9, 10]);
    }

    #[test]
    fn without_colours_frames_come_in_order() {
        let mut memory = Memory::new(1, Bytes::from_mib(1), Bytes::from_kib(16), Bytes::from_kib(64));
        let frames: Vec<_> = (0..3).map(|_| memory.frame(NodeId(0), None).map(|frame| frame.0 >> 14)).collect();
        assert_eq!(frames, [Some(0), Some(1), Some(2)]);
        assert_eq!(memory.free_frames(NodeId(0)), 61);
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
