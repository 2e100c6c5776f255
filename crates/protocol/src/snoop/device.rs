//! An external agent on the bus: the device that joins nodes to a cluster.
//!
//! Between nodes runs a protocol of its own, of which only the outcome matters here: what this node may do with a line. The
//! device holds the node to it with the means that every participant of the bus has, and needs no others:
//! - it *retries* what the node has no right to yet, and asks the other nodes for the right;
//! - it *says "shared"* of a line that the node may only read, so that no cache takes its copy for the only one;
//! - it *uses the bus itself* when other nodes ask for the line: to take all copies away, or to have them downgraded.
//!
//! It never retries a writeback: the line might be the very one that others wait for. A fetch is granted only while no
//! recall is going on: the protocol between nodes has an order of its own for those.

use units::NodeId;

use super::bus::{Command, Reply};
use crate::{Agent, ProtocolError};

/// What a node may do with a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Rights {
    /// Nothing: other nodes may write it.
    #[default]
    None,
    /// Read it: other nodes may too.
    Read,
    /// Read and write it: no other node has a copy.
    Write,
}

impl Rights {
    /// All rights, least first.
    pub const ALL: [Self; 3] = [Self::None, Self::Read, Self::Write];
}

/// What other nodes ask of this one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Recall {
    /// The contents: this node may go on reading.
    Share,
    /// The line: this node keeps nothing.
    Take,
}

impl Recall {
    /// What the node may still do afterwards.
    #[inline]
    pub const fn leaves(self) -> Rights {
        match self {
            Self::Share => Rights::Read,
            Self::Take => Rights::None,
        }
    }
}

/// One line at the device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Device {
    /// What the node may do.
    pub rights: Rights,
    /// What it has asked the other nodes for.
    pub fetch: Option<Rights>,
    /// What the other nodes have asked for, and the bus has not yet done.
    pub recall: Option<Recall>,
}

impl Device {
    /// The reply to a transaction of one of the node's caches: a line per pair of command and rights. A retried one leaves
    /// word of what it needs.
    ///
    /// # Errors
    /// [`ProtocolError`] if the transaction cannot happen under these rights in a faithful run.
    #[inline]
    pub fn snoop(&mut self, node: NodeId, command: Command) -> Result<Reply, ProtocolError> {
        let impossible = |rights, reason| {
            let state = match rights {
                Rights::None => "without rights",
                Rights::Read => "with the right to read",
                Rights::Write => "with the right to write",
            };
            Err(ProtocolError { at: Agent::Home(node), message: command.mnemonic(), state, reason })
        };
        let needed = match (command, self.rights) {
            (Command::Read, Rights::Read) => return Ok(Reply { shared: true, ..Reply::default() }),
            (Command::Read | Command::ReadExclusive | Command::Upgrade | Command::Writeback, Rights::Write) => {
                return Ok(Reply::default());
            }
            (Command::Read, Rights::None) => Rights::Read,
            (Command::ReadExclusive, Rights::None | Rights::Read) | (Command::Upgrade, Rights::Read) => Rights::Write,
            (Command::Upgrade, Rights::None) => {
                return impossible(self.rights, "no cache has a copy to upgrade");
            }
            (Command::Writeback, Rights::None | Rights::Read) => {
                return impossible(self.rights, "no cache owns the line");
            }
            (Command::ReadForeign, _) => return impossible(self.rights, "only the device itself asks this"),
        };
        self.fetch = self.fetch.or(Some(needed));
        Ok(Reply { retry: true, ..Reply::default() })
    }

    /// The other nodes grant what was fetched; the caller puts the data in the block cache. Returns the right, or `None` if
    /// nothing was asked or a recall comes first.
    #[inline]
    pub fn grant(&mut self) -> Option<Rights> {
        if self.recall.is_some() {
            return None;
        }
        let granted = self.fetch.take()?;
        self.rights = self.rights.max(granted);
        Some(granted)
    }

    /// Other nodes ask for the line. Whether there is anything to do: the node must have more rights than it may keep.
    #[inline]
    pub fn recall(&mut self, recall: Recall) -> bool {
        let needed = self.recall.is_none() && self.rights > recall.leaves();
        if needed {
            self.recall = Some(recall);
        }
        needed
    }

    /// What the device wants of the bus.
    #[inline]
    pub const fn wants(&self) -> Option<Command> {
        match self.recall {
            None => None,
            Some(Recall::Share) => Some(Command::ReadForeign),
            Some(Recall::Take) => Some(Command::ReadExclusive),
        }
    }

    /// The device's own transaction has happened: the data are on the bus, for the other nodes.
    #[inline]
    pub fn complete(&mut self) {
        if let Some(recall) = self.recall.take() {
            self.rights = recall.leaves();
        }
    }
}
