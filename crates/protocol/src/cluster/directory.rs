//! Directory entry of one line at its home.

use units::NodeId;

/// Most nodes of a cluster: an entry has a bit for each.
pub const MAX_NODES: u16 = 64;

/// Directory state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DirectoryState {
    /// `SHARED`: memory is up to date, and the sharers may read the line.
    Shared,
    /// `OWNED`: one node may write the line, or will when its grant arrives. The owner of an uncached line is its home.
    Owned {
        /// The owner.
        owner: NodeId,
    },
    /// `FORWARDED`, busy: the home has forwarded a request to the owner and waits for its report.
    Forwarded {
        /// The owner.
        owner: NodeId,
        /// The requester, which receives the line.
        requester: NodeId,
        /// Whether ownership moves to the requester.
        exclusive: bool,
    },
}

impl DirectoryState {
    /// Short name.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Self::Shared => "SHARED",
            Self::Owned { .. } => "OWNED",
            Self::Forwarded { .. } => "FORWARDED",
        }
    }
}

/// Directory entry of one line: its state, a bit for every node, and a poison bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// Directory state.
    pub state: DirectoryState,
    /// Nodes that may have read-only copies, a bit each (`SHARED`; otherwise none). Lines are dropped silently, so it is
    /// a superset.
    pub sharers: u64,
    /// The poison bit: requests of other nodes are refused. The page of the line has left this frame, or is only copied from it.
    pub poisoned: bool,
}

impl Entry {
    /// Entry of a line that no other node has requested: its home is the owner.
    #[inline]
    pub const fn uncached(home: NodeId) -> Self {
        Self { state: DirectoryState::Owned { owner: home }, sharers: 0, poisoned: false }
    }

    /// Whether the entry lists a node as a sharer.
    #[inline]
    pub const fn lists(&self, node: NodeId) -> bool {
        self.sharers & bit(node) != 0
    }

    /// Whether the entry lists a sharer other than `node`.
    #[inline]
    pub const fn lists_others(&self, node: NodeId) -> bool {
        self.sharers & !bit(node) != 0
    }

    /// Adds a sharer.
    #[inline]
    pub(super) const fn add(&mut self, node: NodeId) {
        self.sharers |= bit(node);
    }

    /// Takes the sharers other than `node` out, a bit each.
    #[inline]
    pub(super) const fn take_others(&mut self, node: NodeId) -> u64 {
        let others = self.sharers & !bit(node);
        self.sharers = 0;
        others
    }
}

/// Bit of a node.
const fn bit(node: NodeId) -> u64 {
    debug_assert!(node.0 < MAX_NODES);
    1 << node.0
}
