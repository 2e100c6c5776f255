//! A bit for every `n` nodes: bit vector (`CV=1`), coarse vector (`CV=n`, `CV=n/LB`) and broadcast (`CV=P`).

use units::{LineAddr, NodeId};

use super::{HeaderUse, Insertion, SetWork, SharingSet, Site, each_bit};

/// A vector of presence bits, each of which stands for `coarseness` consecutive nodes (FLASH dissertation, Section 5.2.2:
/// a bit vector is `CV=1`, broadcast `CV=P`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoarseVector {
    /// Nodes that one bit stands for, 1 or more.
    pub coarseness: u16,
    /// Whether the home's own processor has a bit of its own (`/LB`).
    pub local_bit: bool,
    /// Whether replacement hints clear bits. Only a bit that stands for one node can be cleared.
    pub hints: bool,
}

impl CoarseVector {
    /// One bit a node; imprecise in time.
    pub const BIT_VECTOR: Self = Self { coarseness: 1, local_bit: false, hints: false };
    /// One bit a node, cleared by replacement hints.
    pub const PRECISE_BIT_VECTOR: Self = Self { coarseness: 1, local_bit: false, hints: true };

    /// One bit for so many nodes.
    pub const fn coarse(coarseness: u16) -> Self {
        Self { coarseness, local_bit: false, hints: false }
    }

    /// One bit for so many nodes, and one for the home's own processor.
    pub const fn coarse_with_local_bit(coarseness: u16) -> Self {
        Self { coarseness, local_bit: true, hints: false }
    }

    /// One bit for all of a machine's nodes.
    pub const fn broadcast(nodes: u16) -> Self {
        Self::coarse(nodes)
    }

    fn bit(&self, node: NodeId) -> u64 {
        1 << (node.0 / self.coarseness)
    }

    /// The nodes that a bit stands for. The last group may reach beyond the machine: nobody is there.
    fn group(&self, at: &Site, bit: u16) -> impl Iterator<Item = NodeId> {
        let first = bit * self.coarseness;
        (first..(first + self.coarseness).min(at.nodes)).map(NodeId)
    }
}

/// The bits in a directory header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CoarseHeader {
    /// A bit for every group of nodes.
    pub vector: u64,
    /// The home's own processor has a copy (`/LB` only; it then has no part in `vector`).
    pub local: bool,
}

impl SharingSet for CoarseVector {
    type Header = CoarseHeader;
    type Store = ();

    fn store(&self) {}

    fn replacement_hints(&self) -> bool {
        self.hints && self.coarseness == 1
    }

    #[inline]
    fn is_empty(&self, header: &CoarseHeader) -> bool {
        header.vector == 0 && !header.local
    }

    /// The local bit is kept apart from the vector, so that a local copy does not implicate its neighbours and an upgrade
    /// of it sends them nothing (FLASH dissertation, Section 5.3.3).
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

    /// With a local bit, a set is empty if bit and vector are: two things to look at (FLASH dissertation, Section 5.2.3).
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
