//! The sizes that each kind of interconnect can have, and what follows from a size.

use units::NodeId;

use super::{MeshSpec, SciRingSpec, TopologyKind, TopologySpec};

/// Maximum number of routers with nodes on an Origin: 512 processors are 256 nodes, two on each router (Prestor 3.2).
pub(super) const MOST_LEAF_ROUTERS: u32 = 128;
/// Corners of the Origin's largest hypercube without metarouters: 64 processors.
pub(crate) const PURE_CORNERS: u16 = 16;

/// Maximum number of FLASH's clusters: four in each of four metacubes (FLASH dissertation, Figure A.5).
pub(super) const MOST_CLUSTERS: u32 = METACUBE_CLUSTERS as u32 * MOST_METACUBES as u32;
/// Clusters of a metacube: the number of a mesh router's ports for them (FLASH dissertation, Figure A.4).
pub(crate) const METACUBE_CLUSTERS: u16 = 4;
/// Metacubes of the largest machine (FLASH dissertation, Figure A.5).
pub(crate) const MOST_METACUBES: u16 = 4;

/// The smallest ring in which a packet takes two links of it.
pub(crate) const LONG_RING: u32 = 4;

impl TopologySpec {
    /// Routers with nodes.
    pub fn routers_with_nodes(&self) -> u32 {
        self.nodes().div_ceil(self.nodes_per_router)
    }

    /// Classes of virtual channels that the routes of one virtual network need to be free of deadlock.
    pub fn channel_classes(&self) -> u32 {
        let is_long_ring = self.kind == TopologyKind::Ring && self.routers_with_nodes() >= LONG_RING;
        if is_long_ring { 2 } else { 1 }
    }

    /// Whether a machine of this size and wiring has metarouters (Prestor 3.2.3).
    pub fn has_metarouters(&self) -> bool {
        self.kind == TopologyKind::Origin && self.routers_with_nodes() > u32::from(PURE_CORNERS)
    }
}

/// Rings of SCI links that switches join: the parts of the machine by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinedRings {
    /// Rings of nodes.
    pub rings: u16,
    /// Nodes on each.
    pub nodes: u16,
}

impl JoinedRings {
    /// The rings of so many nodes.
    pub fn new(spec: &SciRingSpec, nodes: u32) -> Self {
        Self { rings: spec.rings as u16, nodes: (nodes / spec.rings) as u16 }
    }

    /// Whether there are switches.
    pub const fn has_switches(&self) -> bool {
        self.rings > 1
    }

    /// The ring of a node.
    #[inline]
    pub const fn ring_of(&self, node: NodeId) -> u16 {
        node.0 / self.nodes
    }
}

impl MeshSpec {
    /// Columns and rows of a mesh of so many routers; `None` if the sides given do not hold them exactly.
    pub fn sides(&self, routers: u32) -> Option<(u32, u32)> {
        let other = |side: u32| routers.is_multiple_of(side).then(|| routers / side);
        match (self.columns, self.rows) {
            (0, 0) => {
                let rows = (1..=routers.isqrt()).rev().find(|rows| routers.is_multiple_of(*rows))?;
                Some((routers / rows, rows))
            }
            (0, rows) => Some((other(rows)?, rows)),
            (columns, 0) => Some((columns, other(columns)?)),
            (columns, rows) => (columns * rows == routers).then_some((columns, rows)),
        }
    }
}
