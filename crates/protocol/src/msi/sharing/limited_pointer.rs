//! Limited pointers in the header, with a choice of overflow policy.

use units::{LineAddr, NodeId};

use super::{Insertion, SetWork, SharingSet, Site};

/// Overflow policy: the effect of a sharer for which there is no pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// Displacement: the new sharer replaces the oldest one, whose copy is invalidated (FLASH dissertation, Section
    /// 5.2.2: limited representation).
    Evict,
    /// Broadcast: every node counts as a sharer from now on (Agarwal et al., "An evaluation of directory schemes for
    /// cache coherence", ISCA 1988: `Dir_i B`).
    Broadcast,
}

/// Limited pointers per line, kept precise in time by replacement hints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitedPointer {
    /// Pointers per header: 1 to [`LimitedPointer::MOST`].
    pub pointers: u8,
    /// Overflow policy.
    pub overflow: Overflow,
}

impl LimitedPointer {
    /// Capacity of a header in pointers.
    pub const MOST: u8 = 8;
    /// Snapshot form of a set that has overflowed into broadcast.
    const BROADCAST: u8 = 1;
}

/// Pointers in a directory header, oldest first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PointerHeader {
    pointers: [NodeId; LimitedPointer::MOST as usize],
    used: u8,
    broadcast: bool,
}

impl PointerHeader {
    /// Sharers pointed to.
    pub fn pointers(&self) -> &[NodeId] {
        &self.pointers[..usize::from(self.used)]
    }

    fn push(&mut self, node: NodeId) {
        self.pointers[usize::from(self.used)] = node;
        self.used += 1;
    }

    fn take(&mut self, index: usize) -> NodeId {
        let node = self.pointers[index];
        self.pointers.copy_within(index + 1..usize::from(self.used), index);
        self.used -= 1;
        // Unused pointers keep their default, so that equal sets compare equal.
        self.pointers[usize::from(self.used)] = NodeId::default();
        node
    }
}

impl SharingSet for LimitedPointer {
    type Header = PointerHeader;
    type Store = ();

    fn store(&self) {}

    /// Replacement hints: required, because stale pointers would displace live ones. A limited representation must be
    /// precise in time (FLASH dissertation, Section 5.2.2).
    fn replacement_hints(&self) -> bool {
        true
    }

    #[inline]
    fn is_empty(&self, header: &PointerHeader) -> bool {
        header.used == 0 && !header.broadcast
    }

    fn insert(
        &self,
        _: &Site,
        _: LineAddr,
        header: &mut PointerHeader,
        (): &mut (),
        node: NodeId,
        work: &mut SetWork,
    ) -> Insertion {
        work.walked += u16::from(header.used);
        if header.broadcast || header.pointers().contains(&node) {
            return Insertion::Done;
        }
        if header.used < self.pointers {
            header.push(node);
            return Insertion::Done;
        }
        match self.overflow {
            Overflow::Evict => {
                let displaced = header.take(0);
                header.push(node);
                Insertion::Displaced(displaced)
            }
            Overflow::Broadcast => {
                *header = PointerHeader { broadcast: true, ..PointerHeader::default() };
                Insertion::Done
            }
        }
    }

    fn remove(&self, _: LineAddr, header: &mut PointerHeader, (): &mut (), node: NodeId, work: &mut SetWork) {
        work.walked += u16::from(header.used);
        if let Some(index) = header.pointers().iter().position(|&pointer| pointer == node) {
            header.take(index);
        }
    }

    fn drain(
        &self,
        at: &Site,
        header: &mut PointerHeader,
        (): &mut (),
        work: &mut SetWork,
        mut visit: impl FnMut(NodeId, &SetWork),
    ) {
        let before = std::mem::take(header);
        if before.broadcast {
            (0..at.nodes).for_each(|node| visit(NodeId(node), work));
        }
        for &node in before.pointers() {
            work.walked += 1;
            visit(node, work);
        }
    }

    fn snapshot(&self, _: &Site, header: &PointerHeader, (): &(), mut visit: impl FnMut(NodeId)) -> u8 {
        header.pointers().iter().for_each(|&node| visit(node));
        if header.broadcast { Self::BROADCAST } else { 0 }
    }

    /// Order of the pointers: under displacement, the oldest pointer goes first.
    fn is_ordered(&self) -> bool {
        self.overflow == Overflow::Evict
    }

    fn restore(&self, _: &Site, _: LineAddr, (): &mut (), form: u8, nodes: &[NodeId]) -> PointerHeader {
        let mut header = PointerHeader { broadcast: form == Self::BROADCAST, ..PointerHeader::default() };
        nodes.iter().for_each(|&node| header.push(node));
        header
    }
}
