//! The sharer vector: the nodes that may hold a read-only copy, in 64 bits and a mode.

use std::fmt;

use units::{CpuId, NodeId};

use super::Geometry;

/// Nodes per octant: as many as the vector has bits (Prestor 2001, Section 3.2.1).
const OCTANT_NODES: u16 = 64;
/// Nodes per bit in coarse mode (Prestor 2001, Section 3.2.1).
const COARSE_NODES: u16 = 8;

/// Meaning of one bit of a [`SharerVector`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum VectorMode {
    /// No bit is set.
    #[default]
    Empty,
    /// One bit per node, all within the 64-node octant of this number. Machines of up to 64 nodes use octant 0 only.
    Octant(u8),
    /// One bit per eight consecutive nodes: the sharers are spread over octants.
    Coarse,
}

/// Sharer vector: a superset of the nodes that hold a copy of a shared line.
///
/// It is a superset because shared copies are dropped silently, because a bit covers every processor of a node, and
/// because in coarse mode a bit covers eight nodes (Prestor 2001, Sections 3.1.2 and 3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SharerVector {
    bits: u64,
    mode: VectorMode,
}

impl SharerVector {
    /// No sharers.
    pub const EMPTY: Self = Self { bits: 0, mode: VectorMode::Empty };

    /// A single sharer.
    #[inline]
    pub const fn single(node: NodeId) -> Self {
        Self { bits: 1 << (node.0 % OCTANT_NODES), mode: VectorMode::Octant((node.0 / OCTANT_NODES) as u8) }
    }

    /// Meaning of a bit.
    #[inline]
    pub const fn mode(self) -> VectorMode {
        self.mode
    }

    /// Presence bits, as the directory memory holds them.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// Whether the vector has no sharers.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Adds a node; changes to coarse mode if the node lies in another octant than the present sharers.
    #[inline]
    pub fn insert(&mut self, node: NodeId) {
        match self.mode {
            VectorMode::Empty => *self = Self::single(node),
            VectorMode::Octant(octant) if octant == Self::octant_of(node) => self.bits |= 1 << (node.0 % OCTANT_NODES),
            VectorMode::Octant(octant) => *self = Self::coarsened(self.bits, octant).with(node),
            VectorMode::Coarse => self.bits |= 1 << (node.0 / COARSE_NODES),
        }
    }

    /// This vector with one more node.
    #[inline]
    pub fn with(mut self, node: NodeId) -> Self {
        self.insert(node);
        self
    }

    /// Whether the node may hold a copy, according to the vector.
    #[inline]
    pub const fn contains(self, node: NodeId) -> bool {
        match self.mode {
            VectorMode::Empty => false,
            VectorMode::Octant(octant) => {
                octant == Self::octant_of(node) && self.bits >> (node.0 % OCTANT_NODES) & 1 == 1
            }
            VectorMode::Coarse => self.bits >> (node.0 / COARSE_NODES) & 1 == 1,
        }
    }

    /// Targets of an invalidation on behalf of `requester`, in the order in which the network interface sends to them:
    /// **descending** node number.
    ///
    /// The requester's own node is a target if its bit is set and it has a second processor, whose copy only the
    /// invalidation can remove: the directory does not record which processor of a node has a copy (Prestor 2001,
    /// Section 4.1.2). The order is inferred from the shape of Table 4.19 (home on node 1): the marginal cost of one
    /// more sharer stays that of one injection while the farthest sharers are added. The thesis's text guesses the
    /// opposite order. The protocol does not depend on it.
    #[inline]
    pub fn targets(self, geometry: Geometry, requester: CpuId) -> Targets {
        let alone = geometry.processors_per_node == 1;
        let skipped = if alone { Some(geometry.node_of(requester)) } else { None };
        let (span, base) = match self.mode {
            VectorMode::Empty => (1, 0),
            VectorMode::Octant(octant) => (1, u16::from(octant) * OCTANT_NODES),
            VectorMode::Coarse => (COARSE_NODES, 0),
        };
        Targets { bits: self.bits, group: 0, group_left: 0, span, base, nodes: geometry.nodes, skipped }
    }

    /// Number of nodes that [`Self::targets`] yields: the invalidation acknowledgements that the requester must
    /// collect.
    #[inline]
    pub fn target_count(self, geometry: Geometry, requester: CpuId) -> u16 {
        match self.mode {
            VectorMode::Empty => 0,
            VectorMode::Octant(_) => {
                let own = geometry.processors_per_node == 1 && self.contains(geometry.node_of(requester));
                self.bits.count_ones() as u16 - u16::from(own)
            }
            VectorMode::Coarse => self.targets(geometry, requester).count() as u16,
        }
    }

    #[inline]
    const fn octant_of(node: NodeId) -> u8 {
        (node.0 / OCTANT_NODES) as u8
    }

    /// Coarse vector that covers the nodes of an octant's bits.
    fn coarsened(bits: u64, octant: u8) -> Self {
        let groups_per_octant = OCTANT_NODES / COARSE_NODES;
        let mut coarse = 0;
        for group in 0..groups_per_octant {
            let covered = bits >> (group * COARSE_NODES) & ((1 << COARSE_NODES) - 1);
            if covered != 0 {
                coarse |= 1 << (u16::from(octant) * groups_per_octant + group);
            }
        }
        Self { bits: coarse, mode: VectorMode::Coarse }
    }
}

impl fmt::Debug for SharerVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (span, base, label) = match self.mode {
            VectorMode::Empty => return f.write_str("{}"),
            VectorMode::Octant(octant) => (1, u16::from(octant) * OCTANT_NODES, ""),
            VectorMode::Coarse => (COARSE_NODES, 0, "coarse "),
        };
        f.write_str(label)?;
        let set = (0..64u16).filter(|bit| self.bits >> bit & 1 == 1);
        f.debug_set().entries(set.map(|bit| NodeId(base + bit * span))).finish()
    }
}

/// Targets of an invalidation, in descending order (see [`SharerVector::targets`]).
#[derive(Clone, Debug)]
pub struct Targets {
    bits: u64,
    /// First node of the current coarse group, and the number of its nodes still to visit.
    group: u16,
    group_left: u16,
    span: u16,
    base: u16,
    nodes: u16,
    skipped: Option<NodeId>,
}

impl Iterator for Targets {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        loop {
            if self.group_left == 0 {
                if self.bits == 0 {
                    return None;
                }
                let bit = 63 - self.bits.leading_zeros() as u16;
                self.bits &= !(1 << bit);
                self.group = self.base + bit * self.span;
                self.group_left = self.span;
            }
            self.group_left -= 1;
            let node = NodeId(self.group + self.group_left);
            // A coarse bit may cover numbers beyond the last node of the machine.
            if node.0 < self.nodes && Some(node) != self.skipped {
                return Some(node);
            }
        }
    }
}
