//! Main memory: allocation of pages on its nodes.

use std::collections::BTreeMap;

use units::{Bytes, NodeId, PhysicalAddr};

use crate::SimError;
use crate::map::{AddressMap, LineMap, address_in};

/// The memory of the machine, with the amount allocated on each node.
pub struct Memory {
    /// The address map.
    pub map: AddressMap,
    allocated: Vec<u64>,
    page: Bytes,
    /// The region in which prefetchers go beyond a page.
    region: Bytes,
    capacity: Bytes,
    /// Number of pages in one way of the secondary cache: frames of one colour compete for the same sets.
    colours: u64,
    /// By node and colour, frames that were skipped because of their colour; the lists are never empty.
    spare: Vec<BTreeMap<u64, Vec<PhysicalAddr>>>,
}

impl Memory {
    /// Empty memory of `nodes` nodes of `capacity` each, for secondary caches with `way` bytes in each way and these lines.
    pub fn new(nodes: usize, capacity: Bytes, page: Bytes, way: Bytes, lines: LineMap) -> Self {
        let colours = (way.0 / page.0).max(1);
        let map = AddressMap::new(nodes, lines, page);
        Self {
            map,
            allocated: vec![0; nodes],
            page,
            region: page,
            capacity,
            colours,
            spare: vec![BTreeMap::new(); nodes],
        }
    }

    /// The same memory, of a machine whose prefetchers stay within aligned regions of this size.
    pub fn prefetched_by(self, region: Bytes) -> Self {
        Self { region: Bytes(region.0.max(self.page.0)), ..self }
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
        let start = address_in(home, *allocated);
        *allocated += size;
        Ok(start)
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

    /// Bytes of a node's memory that processors can request: those allocated, and what prefetchers may request behind them.
    pub fn within_reach(&self, node: NodeId) -> Bytes {
        Bytes(self.allocated[node.index()].next_multiple_of(self.region.0).min(self.capacity.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of `nodes` nodes, for caches with ways of 64 KB.
    fn memory(nodes: usize, capacity: Bytes, page: Bytes) -> Memory {
        Memory::new(nodes, capacity, page, Bytes::from_kib(64), LineMap::new(Bytes(128)))
    }

    #[test]
    fn pages_are_whole_and_apart() {
        let mut memory = memory(2, Bytes::from_mib(1), Bytes::from_kib(16));
        let first = memory.allocate(NodeId(1), Bytes(1)).unwrap();
        let second = memory.allocate(NodeId(1), Bytes(1)).unwrap();
        assert_eq!((first.0, second.0), (1 << 32, (1 << 32) + (16 << 10)));
        let full = memory.allocate(NodeId(1), Bytes::from_mib(1)).unwrap_err();
        assert!(full.to_string().contains("node 1"), "{full}");
        assert!(memory.allocate(NodeId(2), Bytes(1)).is_err());
    }

    #[test]
    fn frames_have_the_colour_asked_for_while_there_is_one() {
        let mut memory = memory(1, Bytes::from_kib(16 * 6), Bytes::from_kib(16));
        let mut number = |like| Some(memory.frame(NodeId(0), like)?.0 >> 14);
        let colours: Vec<_> = [2, 2, 0, 1].map(|like| number(Some(like))).to_vec();
        assert_eq!(colours, [Some(2), Some(3), Some(4), Some(5)], "six pages have only one of colour 2");
        assert_eq!((number(Some(0)), number(None), number(None)), (Some(0), Some(1), None));
        assert_eq!(memory.free_frames(NodeId(0)), 0);
    }

    #[test]
    fn a_large_block_is_aligned_and_frames_before_it_stay_free() {
        let page = Bytes::from_kib(16);
        let mut memory = memory(1, Bytes::from_kib(16 * 11), page);
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
        let mut memory = memory(1, Bytes::from_mib(1), Bytes::from_kib(16));
        let frames: Vec<_> = (0..3).map(|_| memory.frame(NodeId(0), None).map(|frame| frame.0 >> 14)).collect();
        assert_eq!(frames, [Some(0), Some(1), Some(2)]);
        assert_eq!(memory.free_frames(NodeId(0)), 61);
    }
}
