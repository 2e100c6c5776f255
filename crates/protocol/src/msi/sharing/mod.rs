//! How the sharers of a line are kept: a parameter of the protocol, apart from its states.
//!
//! A representation is a file that implements [`SharingSet`]. What it may forget is who does *not* share: a set that
//! names too many nodes costs invalidations, one that names too few is wrong (FLASH dissertation, Section 5.2.2).

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

/// Where a directory is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    /// The node whose memory the directory is for.
    pub home: NodeId,
    /// Nodes of the machine, numbered from 0; at most [`Site::MAX_NODES`].
    pub nodes: u16,
}

impl Site {
    /// Nodes that a 64-bit vector can name one by one: the size of FLASH (FLASH dissertation, Section 2.4).
    pub const MAX_NODES: u16 = 64;
}

/// What an operation on a sharing set took, for the machine to price.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SetWork {
    /// Elements looked at one by one: pointers, links of a list, bits of a vector that were set.
    pub walked: u16,
    /// Words of the home's store read or written, besides the directory header: see [`SharingSet::touched`].
    pub store_words: u16,
    /// Entries of the store taken.
    pub allocated: u16,
    /// Entries of the store given back.
    pub freed: u16,
    /// Decisions on the header's format that had to be made before anything else could be done.
    pub format_checks: u16,
    /// Whether the header changed its format (hybrid).
    pub reformatted: bool,
}

impl SetWork {
    /// Nothing was done.
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

/// What a handler wants of a header, and must know its format for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderUse {
    /// Anything: every handler at the home begins with it, also where it goes on to forward or to refuse.
    Entry,
    /// To know whether the set is empty, or to empty it.
    Sharers,
}

/// What adding a sharer came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insertion {
    /// It is in the set.
    Done,
    /// It is in the set, in the place of this one, whose copy must be invalidated.
    Displaced(NodeId),
}

/// A representation of the set of nodes that may hold a read-only copy of a line.
///
/// A set lives in the directory header of its line and, if that is not enough, in a store that all lines of a home share.
/// Operations count their work and allocate nothing. The default header is the empty set.
pub trait SharingSet: Clone + Debug + Send + Sync + 'static {
    /// The part that is kept in every line's directory header.
    type Header: Copy + PartialEq + Eq + Hash + Debug + Default + Send + Sync;
    /// The part that the lines of one home share; `()` if the header is all.
    type Store: Clone + Debug + Send + Sync;

    /// An empty store.
    fn store(&self) -> Self::Store;

    /// Whether caches send a replacement hint when they drop a shared copy (time precision).
    ///
    /// A hint must not be overtaken by the sender's next request for the line, or it would remove the new copy's entry.
    fn replacement_hints(&self) -> bool;

    /// Whether the set is known to be empty.
    fn is_empty(&self, header: &Self::Header) -> bool;

    /// Whether these nodes can be added without reclaiming part of the store first.
    fn has_room(&self, _at: &Site, _header: &Self::Header, _store: &Self::Store, _adding: &[NodeId]) -> bool {
        true
    }

    /// Adds a node. [`Self::has_room`] must have said yes.
    fn insert(
        &self,
        at: &Site,
        line: LineAddr,
        header: &mut Self::Header,
        store: &mut Self::Store,
        node: NodeId,
        work: &mut SetWork,
    ) -> Insertion;

    /// Takes a replacement hint: removes one entry of the node, if it is found. Only called where
    /// [`Self::replacement_hints`] says yes.
    fn remove(
        &self,
        _line: LineAddr,
        _header: &mut Self::Header,
        _store: &mut Self::Store,
        _node: NodeId,
        _work: &mut SetWork,
    ) {
    }

    /// Empties the set and calls `visit` with every node that was in it, or could have been, and with the work done until it
    /// was found. A node may come twice.
    fn drain(
        &self,
        at: &Site,
        header: &mut Self::Header,
        store: &mut Self::Store,
        work: &mut SetWork,
        visit: impl FnMut(NodeId, &SetWork),
    );

    /// A line whose sharers take up space in the store, to be reclaimed; `random` chooses which. `None` if no line does.
    fn victim(&self, _store: &mut Self::Store, _random: u32, _work: &mut SetWork) -> Option<LineAddr> {
        None
    }

    /// Decisions on the header's format that this use of it takes: none where there is one format.
    fn format_checks(&self, _header_use: HeaderUse) -> u16 {
        0
    }

    /// Has the store note, from now on or no longer, which of its words operations touch. Off at first.
    fn record_touches(&self, _store: &mut Self::Store, _on: bool) {}

    /// Calls `visit` with every word of the store touched since it was last asked, in order: the index of a link or a vector.
    /// They are as many as the [`SetWork::store_words`] of the operations.
    fn touched(&self, _store: &mut Self::Store, _visit: impl FnMut(u32)) {}

    /// The set as data: calls `visit` with its nodes, and returns a number (0 to 7) that says what else there is to know.
    fn snapshot(&self, at: &Site, header: &Self::Header, store: &Self::Store, visit: impl FnMut(NodeId)) -> u8;

    /// Whether the order of the nodes in a snapshot makes a difference.
    fn is_ordered(&self) -> bool {
        false
    }

    /// The set with this snapshot, its store entries allocated.
    fn restore(&self, at: &Site, line: LineAddr, store: &mut Self::Store, form: u8, nodes: &[NodeId]) -> Self::Header;

    /// Entries of the store that this set takes up, and that all sets together do: what the store says of itself must be
    /// what the lines add up to.
    fn entries_held(&self, _header: &Self::Header, _store: &Self::Store) -> u32 {
        0
    }

    /// See [`Self::entries_held`].
    fn entries_in_use(&self, _store: &Self::Store) -> u32 {
        0
    }

    /// Nodes of the same class are interchangeable: the set treats them alike, whatever their numbers.
    fn class(&self, _at: &Site, _node: NodeId) -> u16 {
        0
    }
}

/// Calls `visit` with the number of each bit set, ascending.
#[inline]
fn each_bit(mut bits: u64, mut visit: impl FnMut(u16)) {
    while bits != 0 {
        visit(bits.trailing_zeros() as u16);
        bits &= bits - 1;
    }
}
