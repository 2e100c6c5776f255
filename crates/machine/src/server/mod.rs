//! The parts of a server: stops of the on-die network with the agents at them, and the ways between them.
//!
//! All sockets of a machine are alike, so that one [`Package`] describes each of them. Parts are numbered in the order of the
//! layout, column by column of a mesh or an I/O die and ring by ring of rings, so that equal parts of their numbers are
//! neighbouring parts of the die: these are the core clusters and the NUMA nodes of a socket.

mod layout;
mod sockets;
mod ways;

use crate::description::spec::{OnDieNetwork, ServerSpec};

pub use layout::LayoutError;
pub use sockets::Sockets;
pub use ways::{Edge, Wire};

use layout::Cell;

/// Number of a stop in its package.
pub type StopId = u16;

/// A stop of an on-die network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Its column in a mesh or an I/O die, or its position on a ring.
    pub column: u16,
    /// Its row, or its ring.
    pub row: u16,
    /// The core cluster that it stands for, if it is one behind an I/O die; column and row are those of the stop that its link
    /// leads to.
    pub cluster: Option<u16>,
}

/// A socket: the stops of its on-die network, and the parts at them.
#[derive(Clone, PartialEq, Debug)]
pub struct Package {
    /// The kind of network.
    pub network: OnDieNetwork,
    /// Columns of a mesh or an I/O die; stops of the longest ring.
    pub columns: u16,
    /// Rows of a mesh or an I/O die; rings.
    pub rows: u16,
    /// Columns and rows of dies that a mesh is divided into.
    pub dies: (u16, u16),
    /// Core clusters of a die, of a socket with an I/O die.
    pub clusters_per_die: u16,
    /// The stops.
    pub stops: Vec<Stop>,
    /// By core, its stop.
    pub cores: Vec<StopId>,
    /// By slice, its stop.
    pub slices: Vec<StopId>,
    /// By memory controller, its stop.
    pub memories: Vec<StopId>,
    /// By link to other sockets, its stop.
    pub links: Vec<StopId>,
    /// By link to a memory node, its stop.
    pub memory_links: Vec<StopId>,
    /// Core clusters.
    pub clusters: u16,
    /// NUMA nodes.
    pub nodes: u16,
    edges: Vec<Edge>,
    /// Wires that edges take, some of them shared.
    wires: Vec<Wire>,
    /// By bridge, its stops.
    bridges: Vec<[StopId; 2]>,
}

impl Package {
    /// The socket that `spec` describes.
    ///
    /// # Errors
    /// The layout does not make a network.
    pub fn new(spec: &ServerSpec) -> Result<Self, LayoutError> {
        let mut package = layout::read(spec)?;
        ways::connect(&mut package, spec)?;
        Ok(package)
    }

    /// The core cluster of a core.
    pub fn cluster_of_core(&self, core: u16) -> u16 {
        share(core, self.cores.len(), self.clusters)
    }

    /// The slices of a core cluster.
    pub fn slices_of(&self, cluster: u16) -> std::ops::Range<u16> {
        let each = self.slices.len() as u16 / self.clusters;
        cluster * each..(cluster + 1) * each
    }

    /// The NUMA node of a core.
    pub fn node_of_core(&self, core: u16) -> u16 {
        share(core, self.cores.len(), self.nodes)
    }

    /// The memory controllers of a NUMA node.
    pub fn memories_of(&self, node: u16) -> std::ops::Range<u16> {
        let each = self.memories.len() as u16 / self.nodes;
        node * each..(node + 1) * each
    }

    /// The edges of the network.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The wires that edges take.
    pub fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// The die of a stop, numbered column by column.
    pub fn die_of(&self, stop: StopId) -> u16 {
        let Stop { column, row, cluster } = self.stops[usize::from(stop)];
        match (self.network, cluster) {
            (OnDieNetwork::Rings, _) => 0,
            (OnDieNetwork::IoDie, Some(cluster)) => 1 + cluster / self.clusters_per_die,
            (OnDieNetwork::IoDie, None) => 0,
            (OnDieNetwork::Mesh, _) => {
                let (columns, rows) = self.dies;
                column * columns / self.columns * rows + row * rows / self.rows
            }
        }
    }
}

/// The group, one of `groups` equal ones, of number `number` among `all`.
fn share(number: u16, all: usize, groups: u16) -> u16 {
    number / (all as u16 / groups).max(1)
}

/// The parts that a letter of a layout adds to a stop.
fn add(package: &mut Package, stop: StopId, letter: u8) {
    match letter {
        Cell::CORE => {
            package.cores.push(stop);
            package.slices.push(stop);
        }
        Cell::SLICE => package.slices.push(stop),
        Cell::MEMORY => package.memories.push(stop),
        Cell::LINK => package.links.push(stop),
        Cell::MEMORY_LINK => package.memory_links.push(stop),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
