//! Local frames that stand for pages of other nodes: the frame of a copy, the frame that a page is moving to, and a frame of a
//! page cache.
//!
//! A frame stands for at most one page, and a node has at most one frame for a page. Both directions are looked up on misses
//! and page operations alone; where no frame stands for a page, a look-up is one test.

use rustc_hash::FxHashMap;
use units::{Bytes, LineAddr, NodeId, PageAddr, PhysicalAddr};

use super::node_of;

/// The frames of all nodes that stand for pages of other nodes.
#[derive(Clone, Debug)]
pub struct LocalFrames {
    page_shift: u32,
    line_shift: u32,
    /// By frame, the page that it stands for.
    pages: FxHashMap<PageAddr, PageAddr>,
    /// By node and page, the node's frame for it.
    frames: Vec<FxHashMap<PageAddr, PageAddr>>,
}

impl LocalFrames {
    /// No frames, in a machine of `nodes` nodes.
    pub fn new(nodes: usize, line: Bytes, page: Bytes) -> Self {
        Self {
            page_shift: page.0.trailing_zeros(),
            line_shift: line.0.trailing_zeros(),
            pages: FxHashMap::default(),
            frames: vec![FxHashMap::default(); nodes],
        }
    }

    /// The frame at `frame` stands for the page at `page` from now on. Returns whether it may: the page lies on another node, the
    /// frame stands for no other page, and its node has no other frame for this one. Otherwise nothing changes.
    pub fn bind(&mut self, frame: PhysicalAddr, page: PhysicalAddr) -> bool {
        let (node, frame, home, page) = (node_of(frame), self.number(frame), node_of(page), self.number(page));
        let taken = self.pages.contains_key(&frame) || self.frames[node.index()].contains_key(&page);
        if node == home || taken {
            return false;
        }
        self.pages.insert(frame, page);
        self.frames[node.index()].insert(page, frame);
        true
    }

    /// The frame stands for no page any longer. Returns the start of the page that it stood for.
    pub fn release(&mut self, frame: PhysicalAddr) -> Option<PhysicalAddr> {
        let page = self.pages.remove(&self.number(frame))?;
        self.frames[node_of(frame).index()].remove(&page);
        Some(self.start(page))
    }

    /// The address in a page of another node that a local address stands for.
    #[inline]
    pub fn remote(&self, local: PhysicalAddr) -> Option<PhysicalAddr> {
        if self.pages.is_empty() {
            return None;
        }
        let page = *self.pages.get(&self.number(local))?;
        Some(self.within(page, local))
    }

    /// The address in a frame of `node` that stands for an address of another node.
    #[inline]
    pub fn local(&self, node: NodeId, remote: PhysicalAddr) -> Option<PhysicalAddr> {
        if self.pages.is_empty() {
            return None;
        }
        let frame = *self.frames[node.index()].get(&self.number(remote))?;
        Some(self.within(frame, remote))
    }

    /// The line of another node that a local line stands for.
    #[inline]
    pub fn remote_line(&self, local: LineAddr) -> Option<LineAddr> {
        self.remote(PhysicalAddr(local.0 << self.line_shift)).map(|at| LineAddr(at.0 >> self.line_shift))
    }

    /// The line in a frame of `node` that stands for a line of another node.
    #[inline]
    pub fn local_line(&self, node: NodeId, remote: LineAddr) -> Option<LineAddr> {
        self.local(node, PhysicalAddr(remote.0 << self.line_shift)).map(|at| LineAddr(at.0 >> self.line_shift))
    }

    /// Number of frames of a node that stand for pages of other nodes.
    #[cfg(test)]
    pub fn count(&self, node: NodeId) -> usize {
        self.frames[node.index()].len()
    }

    fn number(&self, at: PhysicalAddr) -> PageAddr {
        PageAddr(at.0 >> self.page_shift)
    }

    fn start(&self, page: PageAddr) -> PhysicalAddr {
        PhysicalAddr(page.0 << self.page_shift)
    }

    /// The byte of a page at the offset that `like` has in its own.
    fn within(&self, page: PageAddr, like: PhysicalAddr) -> PhysicalAddr {
        self.start(page).offset(like.0 & ((1 << self.page_shift) - 1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustc_hash::FxHashMap;

    use super::super::address_in;
    use super::*;

    const PAGE: Bytes = Bytes::from_kib(16);
    const LINE: Bytes = Bytes(128);

    /// The start of a page: node and number.
    fn page((node, number): (u16, u64)) -> PhysicalAddr {
        address_in(NodeId(node), number * PAGE.0)
    }

    fn any_page() -> impl Strategy<Value = (u16, u64)> {
        (0u16..4, 0u64..6)
    }

    proptest! {
        /// After any binds and releases the two directions are inverse to each other, and equal to a plain list.
        #[test]
        fn frames_and_pages_correspond_one_to_one(
            steps in prop::collection::vec((any::<bool>(), any_page(), any_page()), 0..120), offset in 0u64..16 << 10,
        ) {
            let mut frames = LocalFrames::new(4, LINE, PAGE);
            let mut bound: FxHashMap<PhysicalAddr, PhysicalAddr> = FxHashMap::default();
            for (binds, frame, remote) in steps {
                let (frame, remote) = (page(frame), page(remote));
                if binds {
                    let same = |(other, of): (&PhysicalAddr, &PhysicalAddr)| {
                        *other == frame || (*of == remote && node_of(*other) == node_of(frame))
                    };
                    let may = node_of(frame) != node_of(remote) && !bound.iter().any(same);
                    prop_assert_eq!(frames.bind(frame, remote), may);
                    if may {
                        bound.insert(frame, remote);
                    }
                } else {
                    prop_assert_eq!(frames.release(frame), bound.remove(&frame));
                }
            }
            let count = |node| bound.keys().filter(|frame| node_of(**frame) == node).count();
            prop_assert!((0..4).map(NodeId).all(|node| frames.count(node) == count(node)));
            for (node, number) in (0..4).flat_map(|node| (0..6).map(move |number| (node, number))) {
                let (at, node) = (page((node, number)).offset(offset), NodeId(node));
                let remote = bound.get(&page((node.0, number))).map(|start| start.offset(offset));
                prop_assert_eq!(frames.remote(at), remote);
                prop_assert_eq!(remote.and_then(|remote| frames.local(node, remote)), remote.map(|_| at));
                let line = remote.map(|remote| remote.line(LINE));
                prop_assert_eq!(frames.remote_line(at.line(LINE)), line);
                prop_assert_eq!(line.and_then(|line| frames.local_line(node, line)), line.map(|_| at.line(LINE)));
            }
        }
    }

    #[test]
    fn a_node_has_one_frame_for_a_page_and_none_for_its_own() {
        let mut frames = LocalFrames::new(2, LINE, PAGE);
        assert!(frames.bind(page((0, 1)), page((1, 5))));
        assert!(!frames.bind(page((0, 2)), page((1, 5))), "the node has a frame for it");
        assert!(!frames.bind(page((0, 1)), page((1, 4))), "the frame is taken");
        assert!(!frames.bind(page((1, 1)), page((1, 5))), "its own memory needs none");
        assert_eq!(frames.release(page((0, 1))), Some(page((1, 5))));
        assert!(frames.bind(page((0, 2)), page((1, 5))), "free again");
    }
}
