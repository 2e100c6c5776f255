//! One line at the device of one node: the node's rights, the outstanding request, the work for other nodes that waits
//! for the bus, and the writeback buffer.

use units::{LineAddr, NodeId};

use super::MessageKind;
use crate::Version;
use crate::snoop::Rights;

/// Location of a line at a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    /// The node.
    pub node: NodeId,
    /// The line.
    pub line: LineAddr,
    /// The line's home.
    pub home: NodeId,
}

/// An outstanding request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Request {
    /// Message sent to the home: `READ`, `READX`, `UPGRADE` or `POISON_READ`.
    pub kind: MessageKind,
    /// Whether an `INVAL` arrived while a `READ` was outstanding: the data of the answer may be older than the
    /// invalidating store.
    pub invalidated: bool,
}

/// Collection of the acknowledgements of this node's invalidations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Collection {
    /// Acknowledgements announced minus acknowledgements received: negative while acknowledgements overtake the home's
    /// answer.
    pub balance: i16,
    /// Whether the home's answer with the number of acknowledgements has arrived.
    pub announced: bool,
}

/// Work of the device that waits for a bus transaction of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Intervention {
    /// Forwarded `READ`: the caches supply the line, and may go on reading it.
    Share {
        /// The requester.
        requester: NodeId,
    },
    /// Forwarded `READX` or `UPGRADE`: the caches supply the line and keep nothing.
    Take {
        /// The requester.
        requester: NodeId,
    },
    /// Invalidation: the caches keep nothing.
    Invalidate {
        /// The requester, which collects the acknowledgement.
        requester: NodeId,
    },
    /// Replacement of the line in the block cache: inclusion requires that the caches keep nothing.
    Replace,
}

impl Intervention {
    /// Rights that the node keeps.
    #[inline]
    pub const fn remaining(self) -> Rights {
        match self {
            Self::Share { .. } => Rights::Read,
            Self::Take { .. } | Self::Invalidate { .. } | Self::Replace => Rights::None,
        }
    }
}

/// One line at the device of one node. Its contents are those of the block cache, or of memory at the home.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Line {
    /// Rights of the node.
    pub rights: Rights,
    /// Right that a retried bus transaction needs.
    pub wanted: Option<Rights>,
    /// The outstanding request.
    pub request: Option<Request>,
    /// Collection of acknowledgements for this node's own write.
    pub collection: Collection,
    /// Work that waits for the bus.
    pub intervention: Option<Intervention>,
    /// Writeback buffer: contents of a line whose writeback is not acknowledged yet.
    pub writeback: Option<Version>,
    /// Whether the node, the home's own, is to take the line from all caches and poison it.
    pub poisons: bool,
    /// Whether a right has been granted that no bus transaction has used yet. An intervention waits for its use, so that
    /// every request of a processor completes after one grant.
    pub unused: bool,
}

impl Line {
    /// Line that no other node has requested, at its home.
    #[inline]
    pub const fn uncached_at_home() -> Self {
        Self { rights: Rights::Write, ..Self::ABSENT }
    }

    /// Line without rights, and nothing outstanding.
    pub const ABSENT: Self = Self {
        rights: Rights::None,
        wanted: None,
        request: None,
        collection: Collection { balance: 0, announced: false },
        intervention: None,
        writeback: None,
        poisons: false,
        unused: false,
    };

    /// Whether acknowledgements are outstanding, or some have overtaken the home's answer.
    #[inline]
    pub fn is_collecting(&self) -> bool {
        self.collection != Collection::default()
    }

    /// Whether nothing is outstanding on the line.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        Self { rights: self.rights, ..Self::ABSENT } == *self
    }
}
