//! Sharing sets: representations of a line's sharers, a parameter of the protocol that is separate from its states.
//!
//! Each representation is a file that implements [`SharingSet`]. A set must include every sharer, and may include other
//! nodes: a superset costs unnecessary invalidations, a missing sharer breaks coherence (FLASH dissertation, Section
//! 5.2.2).

mod coarse_vector;
mod dynamic_pointer;
mod hybrid;
mod limited_pointer;
mod touches;

use std::fmt::Debug;
use std::hash::Hash;

use units::{LineAddr, NodeId};

pub use coarse_vector::{CoarseHeader, CoarseVector};
pub use dynamic_pointer::{DynamicPointer, LinkStore, ListHeader};
pub use hybrid::{Hybrid, HybridHeader, VectorStore};
pub use limited_pointer::{LimitedPointer, Overflow, PointerHeader};

/// Location of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    /// Home: the node whose memory the directory describes.
    pub home: NodeId,
    /// Nodes of the machine, numbered from 0; at most [`Site::MAX_NODES`].
    pub nodes: u16,
}

impl Site {
    /// Most nodes of a machine: those that a pointer of 12 bits tells apart.
    pub const MAX_NODES: u16 = 4096;
}

/// Bits of a vector in a directory header, in a store, or in a message: a bit for each node of FLASH (FLASH dissertation,
/// Section 2.4).
pub const VECTOR_BITS: u16 = 64;

/// Work done by operations on a sharing set, which a machine prices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SetWork {
    /// Elements visited one by one: pointers, list links, set bits of a vector.
    pub walked: u16,
    /// Words of the home's store that were read or written, without the directory header: see [`SharingSet::touched`].
    pub store_words: u16,
    /// Store entries allocated.
    pub allocated: u16,
    /// Store entries freed.
    pub freed: u16,
    /// Format checks of the header, which precede any other work.
    pub format_checks: u16,
    /// Whether the header changed its format (hybrid).
    pub reformatted: bool,
}

impl SetWork {
    /// No work.
    pub const NONE: Self =
        Self { walked: 0, store_words: 0, allocated: 0, freed: 0, format_checks: 0, reformatted: false };
}

impl std::ops::AddAssign for SetWork {
    fn add_assign(&mut self, other: Self) {
        self.walked += other.walked;
        self.store_words += other.store_words;
        self.allocated += other.allocated;
        self.freed += other.freed;
        self.format_checks += other.format_checks;
        self.reformatted |= other.reformatted;
    }
}

/// Use that a handler makes of a header, on which the format checks depend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderUse {
    /// Any use: every handler at the home begins with it, including those that go on to forward or NACK a request.
    Entry,
    /// Test of the set for emptiness, or removal of all sharers.
    Sharers,
}

/// Outcome of adding a sharer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insertion {
    /// The sharer is in the set.
    Done,
    /// The sharer is in the set in place of this one, whose copy must be invalidated.
    Displaced(NodeId),
}

/// A representation of the set of nodes that may hold a read-only copy of a line.
///
/// A set is kept in the directory header of its line and, if the header is too small, in a store that all lines of a
/// home share. Operations count their work and allocate nothing. The default header is the empty set.
pub trait SharingSet: Clone + Debug + Send + Sync + 'static {
    /// Part kept in each line's directory header.
    type Header: Copy + PartialEq + Eq + Hash + Debug + Default + Send + Sync;
    /// Part shared by the lines of one home; `()` if the header is sufficient.
    type Store: Clone + Debug + Send + Sync;

    /// Most nodes of a machine whose sharers the set can represent.
    fn most_nodes(&self) -> u16 {
        Site::MAX_NODES
    }

    /// Creates an empty store.
    fn store(&self) -> Self::Store;

    /// Whether caches send a replacement hint when they drop a shared copy (precision in time).
    ///
    /// A hint must not be overtaken by its sender's next request for the line, because it would then remove the entry
    /// of the new copy.
    fn replacement_hints(&self) -> bool;

    /// Whether the set is known to be empty.
    fn is_empty(&self, header: &Self::Header) -> bool;

    /// Whether these nodes can be added without reclaiming store entries first.
    fn has_room(&self, _at: &Site, _header: &Self::Header, _store: &Self::Store, _adding: &[NodeId]) -> bool {
        true
    }

    /// Adds a node. [`Self::has_room`] must have returned true.
    fn insert(
        &self,
        at: &Site,
        line: LineAddr,
        header: &mut Self::Header,
        store: &mut Self::Store,
        node: NodeId,
        work: &mut SetWork,
    ) -> Insertion;

    /// Removes one entry of a node after its replacement hint, if the entry is found. The home calls it only if
    /// [`Self::replacement_hints`] returns true.
    fn remove(
        &self,
        _line: LineAddr,
        _header: &mut Self::Header,
        _store: &mut Self::Store,
        _node: NodeId,
        _work: &mut SetWork,
    ) {
    }

    /// Empties the set. Calls `visit` with every node that the set included, and with the work done up to that node. A
    /// node may be visited twice.
    fn drain(
        &self,
        at: &Site,
        header: &mut Self::Header,
        store: &mut Self::Store,
        work: &mut SetWork,
        visit: impl FnMut(NodeId, &SetWork),
    );

    /// Selects a line with store entries to reclaim; `random` makes the choice. `None` if no line has any.
    fn victim(&self, _store: &mut Self::Store, _random: u32, _work: &mut SetWork) -> Option<LineAddr> {
        None
    }

    /// Format checks that this use of a header needs: none if there is a single format.
    fn format_checks(&self, _header_use: HeaderUse) -> u16 {
        0
    }

    /// Turns the log of accessed store words on or off. It is off at first.
    fn record_touches(&self, _store: &mut Self::Store, _on: bool) {}

    /// Calls `visit` with every store word accessed since the last call, in order: the index of a link or of a vector.
    /// Their number is the sum of the operations' [`SetWork::store_words`].
    fn touched(&self, _store: &mut Self::Store, _visit: impl FnMut(u32)) {}

    /// Snapshot of the set: calls `visit` with its nodes, and returns its form, a number (0 to 7) that encodes the rest
    /// of its state.
    fn snapshot(&self, at: &Site, header: &Self::Header, store: &Self::Store, visit: impl FnMut(NodeId)) -> u8;

    /// Whether the order of the nodes in a snapshot is significant.
    fn is_ordered(&self) -> bool {
        false
    }

    /// Restores the set of a snapshot and allocates its store entries.
    fn restore(&self, at: &Site, line: LineAddr, store: &mut Self::Store, form: u8, nodes: &[NodeId]) -> Self::Header;

    /// Store entries that this set holds. Over all lines they must add up to [`Self::entries_in_use`].
    fn entries_held(&self, _header: &Self::Header, _store: &Self::Store) -> u32 {
        0
    }

    /// Store entries in use; see [`Self::entries_held`].
    fn entries_in_use(&self, _store: &Self::Store) -> u32 {
        0
    }

    /// Symmetry class of a node: nodes of one class are interchangeable, because the set treats them alike.
    fn class(&self, _at: &Site, _node: NodeId) -> u16 {
        0
    }
}

/// Calls `visit` with the number of each set bit, in ascending order.
#[inline]
fn each_bit(mut bits: u64, mut visit: impl FnMut(u16)) {
    while bits != 0 {
        visit(bits.trailing_zeros() as u16);
        bits &= bits - 1;
    }
}
