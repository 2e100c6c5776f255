//! The bus: its commands, the combined snoop reply, and the data phase of a transaction.

use crate::Version;

/// Command of a bus transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Command {
    /// Read of a copy.
    Read,
    /// Read of the only copy, to write it.
    ReadExclusive,
    /// Upgrade of the requester's copy to the only one: the other copies are invalidated.
    Upgrade,
    /// Writeback of an owned line to memory.
    Writeback,
    /// Read that also brings memory up to date: on behalf of another node, and every read on a MESI bus.
    ReadForeign,
}

impl Command {
    /// Every command, in order.
    pub const ALL: [Self; 5] = [Self::Read, Self::ReadExclusive, Self::Upgrade, Self::Writeback, Self::ReadForeign];

    /// Mnemonic.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Self::Read => "BusRd",
            Self::ReadExclusive => "BusRdX",
            Self::Upgrade => "BusUpgr",
            Self::Writeback => "BusWB",
            Self::ReadForeign => "BusRdF",
        }
    }
}

/// Snoop reply of one participant to another's transaction, or the combined reply of all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Reply {
    /// Shared: a participant keeps a copy, so the requester's copy is not the only one.
    pub shared: bool,
    /// Data of the owner, which supplies them instead of memory.
    pub owner: Option<Version>,
    /// Retry: a participant cannot allow the transaction now. Nothing has happened, and the requester must retry.
    pub retry: bool,
}

impl Reply {
    /// Combines two replies, as the wires of the bus do. There is at most one owner.
    #[inline]
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            shared: self.shared || other.shared,
            owner: self.owner.or(other.owner),
            retry: self.retry || other.retry,
        }
    }
}

/// Source of the data on the bus.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// Memory, or the block cache in its place.
    Memory,
    /// The owner: the cache that owns the line.
    Owner,
    /// The requester.
    Requester,
}

/// Data phase of a transaction, which the requester uses and a machine prices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DataPhase {
    /// Data on the bus, and their source; `None` if there is no data phase.
    pub data: Option<(Version, Source)>,
    /// Whether memory was written.
    pub memory_write: bool,
}

/// Memory's part in a transaction that was not retried. For a line of another node it is the part of the block cache,
/// which holds every line that the node's caches hold (Lai and Falsafi 2000, Section 5). `written` is the requester's
/// data, for a writeback.
#[inline]
pub fn memory(contents: &mut Version, command: Command, reply: Reply, written: Option<Version>) -> DataPhase {
    let supplied = reply.owner.map_or((*contents, Source::Memory), |version| (version, Source::Owner));
    let (data, memory_write) = match command {
        Command::Read | Command::ReadExclusive => (Some(supplied), false),
        Command::ReadForeign => (Some(supplied), reply.owner.is_some()),
        Command::Upgrade => (None, false),
        Command::Writeback => (written.map(|version| (version, Source::Requester)), true),
    };
    if let (Some((version, _)), true) = (data, memory_write) {
        *contents = version;
    }
    DataPhase { data, memory_write }
}
