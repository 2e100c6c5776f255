//! One line at its home: the directory header.

use units::NodeId;

/// Whether the dirty line has come back while its owner was being asked for it, and from whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WrittenBack {
    /// It has not.
    No,
    /// The owner had evicted it before it was asked: it will answer that it has nothing.
    ByOwner,
    /// The requester got it, wrote it back already, and the owner's report is still to come.
    ByRequester,
}

/// Directory state: dirty bit and pending bit, and what a pending entry waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DirectoryState {
    /// `CLEAN`: memory is up to date; the sharing set says who may have a read-only copy.
    #[default]
    Clean,
    /// `DIRTY`: one node owns the line.
    Dirty {
        /// Which one.
        owner: NodeId,
    },
    /// `FORWARDED`, pending: a request has been forwarded to the owner, whose report is awaited.
    Forwarded {
        /// The owner.
        owner: NodeId,
        /// Who is to get the line.
        requester: NodeId,
        /// Whether ownership moves.
        exclusive: bool,
        /// Whether the line has come back meanwhile.
        written_back: WrittenBack,
    },
    /// `INVALIDATING`, pending: the home collects acknowledgements, then grants ownership.
    Invalidating {
        /// To whom.
        requester: NodeId,
        /// Acknowledgements still to come.
        acknowledgements: u16,
        /// The requester keeps its copy and needs no data.
        upgrade: bool,
    },
    /// `COLLECTING`, pending: the owner has the line and collects acknowledgements (`/IR`).
    Collecting {
        /// The owner.
        owner: NodeId,
        /// Whether it has already written the line back.
        written_back: bool,
    },
    /// `EVICTING`, pending: sharers have been displaced or reclaimed, and their acknowledgements are awaited.
    Evicting {
        /// Acknowledgements still to come.
        acknowledgements: u16,
    },
}

impl DirectoryState {
    /// A short name.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Self::Clean => "CLEAN",
            Self::Dirty { .. } => "DIRTY",
            Self::Forwarded { .. } => "FORWARDED",
            Self::Invalidating { .. } => "INVALIDATING",
            Self::Collecting { .. } => "COLLECTING",
            Self::Evicting { .. } => "EVICTING",
        }
    }

    /// Whether the entry waits for something: FLASH's pending bit.
    #[inline]
    pub const fn is_pending(self) -> bool {
        !matches!(self, Self::Clean | Self::Dirty { .. })
    }
}

/// One line's entry in the directory; `H` is the header of its sharing set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Entry<H> {
    /// State.
    pub state: DirectoryState,
    /// Nodes that may have a read-only copy (`CLEAN` and `EVICTING`; otherwise empty).
    pub sharers: H,
}
