//! Directory entry of one line at its home.

use units::NodeId;

/// Writeback of the dirty line during a forward: whether one has arrived, and its sender.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WrittenBack {
    /// No writeback has arrived.
    No,
    /// The owner evicted the line before the forwarded request arrived: it will NACK the request (`NAKC`).
    ByOwner,
    /// The requester received the line and has already written it back; the former owner's report is outstanding.
    ByRequester,
}

/// Directory state: the dirty bit, the pending bit, and the event that a pending entry waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum DirectoryState {
    /// `CLEAN`: memory is up to date; nodes of the sharing set may have read-only copies.
    #[default]
    Clean,
    /// `DIRTY`: one node owns the line.
    Dirty {
        /// The owner.
        owner: NodeId,
    },
    /// `FORWARDED`, pending: the home has forwarded a request to the owner and waits for its report.
    Forwarded {
        /// The owner.
        owner: NodeId,
        /// The requester, which receives the line.
        requester: NodeId,
        /// Whether ownership moves to the requester.
        exclusive: bool,
        /// Whether the line was written back in the meantime.
        written_back: WrittenBack,
    },
    /// `INVALIDATING`, pending: the home collects acknowledgements and then grants ownership.
    Invalidating {
        /// The requester.
        requester: NodeId,
        /// Outstanding acknowledgements.
        acknowledgements: u16,
        /// Whether the requester keeps its copy and needs no data.
        upgrade: bool,
    },
    /// `COLLECTING`, pending: the owner has the line and collects acknowledgements (`/IR`).
    Collecting {
        /// The owner.
        owner: NodeId,
        /// Whether the owner has already written the line back.
        written_back: bool,
    },
    /// `EVICTING`, pending: sharers have been displaced or reclaimed, and the home waits for their acknowledgements.
    Evicting {
        /// Outstanding acknowledgements.
        acknowledgements: u16,
    },
}

impl DirectoryState {
    /// Short name.
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

    /// Whether the entry is pending: FLASH's pending bit.
    #[inline]
    pub const fn is_pending(self) -> bool {
        !matches!(self, Self::Clean | Self::Dirty { .. })
    }
}

/// Directory entry of one line; `H` is the header of its sharing set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Entry<H> {
    /// Directory state.
    pub state: DirectoryState,
    /// Nodes that may have a read-only copy (`CLEAN` and `EVICTING`; otherwise empty).
    pub sharers: H,
}
