//! Presence bits for groups of `n` nodes: bit vector (`CV=1`), coarse vector (`CV=n`, `CV=n/LB`) and broadcast
//! (`CV=P`).

use units::{LineAddr, NodeId};

use super::{HeaderUse, Insertion, SetWork, SharingSet, Site, VECTOR_BITS, each_bit};

/// A vector of presence bits, each of which covers `coarseness` consecutive nodes (FLASH dissertation, Section 5.2.2: a
/// bit vector is `CV=1`, broadcast `CV=P`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoarseVector {
    /// Nodes per bit, 1 or more.
    pub coarseness: u16,
    /// Whether the home's own processor has a bit of its own (`/LB`).
    pub local_bit: bool,
    /// Whether replacement hints clear bits, which is possible only for a bit that covers a single node.
    pub hints: bool,
}

impl CoarseVector {
    /// One bit per node, never cleared by replacement hints.
    pub const BIT_VECTOR: Self = Self { coarseness: 1, local_bit: false, hints: false };
    /// One bit per node, cleared by replacement hints.
    pub const PRECISE_BIT_VECTOR: Self = Self { coarseness: 1, local_bit: false, hints: true };

    /// One bit per `coarseness` nodes.
    pub const fn coarse(coarseness: u16) -> Self {
        Self { coarseness, local_bit: false, hints: false }
    }

    /// One bit per `coarseness` nodes, and one for the home's own processor.
    pub const fn coarse_with_local_bit(coarseness: u16) -> Self {
        Self { coarseness, local_bit: true, hints: false }
    }

    /// One bit for all nodes of a machine.
    pub const fn broadcast(nodes: u16) -> Self {
        Self::coarse(nodes)
    }

    fn bit(&self, node: NodeId) -> u64 {
        1 << (node.0 / self.coarseness)
    }

    /// Nodes that a bit covers, limited to those of the machine.
    fn group(&self, at: &Site, bit: u16) -> impl Iterator<Item = NodeId> {
        let first = bit * self.coarseness;
        (first..(first + self.coarseness).min(at.nodes)).map(NodeId)
    }
}

/// Presence bits in a directory header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CoarseHeader {
    /// One bit per group of nodes.
    pub vector: u64,
    /// Local bit: the home's own processor has a copy (`/LB` only; `vector` then excludes it).
    pub local: bool,
}

impl SharingSet for CoarseVector {
    type Header = CoarseHeader;
    type Store = ();

    fn most_nodes(&self) -> u16 {
        self.coarseness.saturating_mul(VECTOR_BITS).min(Site::MAX_NODES)
    }

    fn store(&self) {}

    fn replacement_hints(&self) -> bool {
        self.hints && self.coarseness == 1
    }

    #[inline]
    fn is_empty(&self, header: &CoarseHeader) -> bool {
        header.vector == 0 && !header.local
    }

    /// Adds a node. The local bit is separate from the vector, so that a local copy does not imply its neighbours, and
    /// an upgrade of it sends them nothing (FLASH dissertation, Section 5.3.3).
    #[inline]
    fn insert(
        &self,
        at: &Site,
        _: LineAddr,
        header: &mut CoarseHeader,
        (): &mut (),
        node: NodeId,
        _: &mut SetWork,
    ) -> Insertion {
        if self.local_bit && node == at.home {
            header.local = true;
        } else {
            header.vector |= self.bit(node);
        }
        Insertion::Done
    }

    fn remove(&self, _: LineAddr, header: &mut CoarseHeader, (): &mut (), node: NodeId, _: &mut SetWork) {
        header.vector &= !self.bit(node);
    }

    #[inline]
    fn drain(
        &self,
        at: &Site,
        header: &mut CoarseHeader,
        (): &mut (),
        work: &mut SetWork,
        mut visit: impl FnMut(NodeId, &SetWork),
    ) {
        let before = std::mem::take(header);
        if before.local {
            visit(at.home, work);
        }
        each_bit(before.vector, |bit| {
            work.walked += 1;
            let group = self.group(at, bit).filter(|&node| !(self.local_bit && node == at.home));
            group.for_each(|node| visit(node, work));
        });
    }

    /// Format checks of a header. With a local bit, the test for emptiness reads two fields, bit and vector (FLASH
    /// dissertation, Section 5.2.3).
    #[inline]
    fn format_checks(&self, header_use: HeaderUse) -> u16 {
        (self.local_bit && header_use == HeaderUse::Sharers).into()
    }

    fn snapshot(&self, at: &Site, header: &CoarseHeader, (): &(), mut visit: impl FnMut(NodeId)) -> u8 {
        each_bit(header.vector, |bit| self.group(at, bit).for_each(&mut visit));
        u8::from(header.local)
    }

    fn restore(&self, _: &Site, _: LineAddr, (): &mut (), form: u8, nodes: &[NodeId]) -> CoarseHeader {
        let vector = nodes.iter().fold(0, |vector, &node| vector | self.bit(node));
        CoarseHeader { vector, local: form == 1 }
    }

    fn class(&self, at: &Site, node: NodeId) -> u16 {
        if self.local_bit && node == at.home {
            return u16::MAX;
        }
        match self.coarseness {
            1 => 0,
            coarseness => node.0 / coarseness,
        }
    }
}
