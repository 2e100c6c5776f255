//! The bus: its commands, the combined reply, and where the data of a transaction come from and go.

use crate::Version;

/// What a transaction is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Command {
    /// A copy to read.
    Read,
    /// The only copy, to write.
    ReadExclusive,
    /// To write a copy that is here already: the others drop theirs.
    Upgrade,
    /// An owned line goes back to memory.
    Writeback,
    /// On behalf of another node: a copy to read, and memory is brought up to date.
    ReadForeign,
}

impl Command {
    /// Every command, in order.
    pub const ALL: [Self; 5] = [Self::Read, Self::ReadExclusive, Self::Upgrade, Self::Writeback, Self::ReadForeign];

    /// A short name.
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

/// What a participant says about a transaction of another, or all of them together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Reply {
    /// Somebody keeps a copy: the requester must not take it for the only one.
    pub shared: bool,
    /// The owner supplies these data instead of memory.
    pub owner: Option<Version>,
    /// Somebody cannot let this happen now: nothing has happened, and the requester must ask again.
    pub retry: bool,
}

impl Reply {
    /// Both replies on the same wires. There is one owner at most.
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

/// Who put the data on the bus.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// Memory, or the block cache that stands for it.
    Memory,
    /// The cache that owns the line.
    Owner,
    /// The requester itself.
    Requester,
}

/// The data phase of a transaction, for the requester to use and for the machine to price.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DataPhase {
    /// The data on the bus, and who put them there; `None` if there is no data phase.
    pub data: Option<(Version, Source)>,
    /// Memory took them.
    pub memory_write: bool,
}

/// Memory's part in a transaction that nobody retried; for a line of another node, the block cache's that holds whatever the
/// node's caches hold (Lai and Falsafi 2000, Section 5). `written` are the requester's data, for a writeback.
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
