//! An external agent on the bus: the device that joins nodes to a cluster.
//!
//! The nodes run a protocol of their own, of which only the outcome matters here: the rights of this node to a line.
//! The device enforces them by the means that every participant of the bus has:
//! - it *retries* transactions for which the node lacks the right, and requests the right from the other nodes;
//! - it *replies "shared"* for a line that the node may only read, so that no cache takes its copy for the only one;
//! - it *uses the bus itself* when other nodes request the line, to invalidate all copies or to downgrade them.
//!
//! It never retries a writeback, because other nodes may wait for that very line. A fetch is granted only while no
//! recall is outstanding; the protocol between nodes orders recalls itself.

use units::NodeId;

use super::bus::{Command, Reply};
use crate::{Agent, ProtocolError};

/// Rights of a node to a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Rights {
    /// None: other nodes may write the line.
    #[default]
    None,
    /// Read: other nodes may read it too.
    Read,
    /// Read and write: no other node has a copy.
    Write,
}

impl Rights {
    /// All rights, least first.
    pub const ALL: [Self; 3] = [Self::None, Self::Read, Self::Write];
}

/// Recall: a request of other nodes for a line that this node has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Recall {
    /// Shared recall: this node supplies the contents, and may go on reading.
    Share,
    /// Exclusive recall: this node supplies the line, and keeps nothing.
    Take,
}

impl Recall {
    /// Rights that the node keeps after the recall.
    #[inline]
    pub const fn remaining(self) -> Rights {
        match self {
            Self::Share => Rights::Read,
            Self::Take => Rights::None,
        }
    }
}

/// One line at the device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Device {
    /// Rights of the node.
    pub rights: Rights,
    /// Right that the device has requested from the other nodes.
    pub fetch: Option<Rights>,
    /// Recall that the bus has not performed yet.
    pub recall: Option<Recall>,
}

impl Device {
    /// Snoop reply to a transaction of one of the node's caches: a line per pair of command and rights. A retried
    /// transaction records the right that it needs in [`Device::fetch`].
    ///
    /// # Errors
    /// [`ProtocolError`] if the transaction cannot occur under these rights in a correct run.
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
            (Command::Read | Command::ReadForeign, Rights::Read) => {
                return Ok(Reply { shared: true, ..Reply::default() });
            }
            (_, Rights::Write) => return Ok(Reply::default()),
            (Command::Read | Command::ReadForeign, Rights::None) => Rights::Read,
            (Command::ReadExclusive, Rights::None | Rights::Read) | (Command::Upgrade, Rights::Read) => Rights::Write,
            (Command::Upgrade, Rights::None) => {
                return impossible(self.rights, "no cache has a copy to upgrade");
            }
            (Command::Writeback, Rights::None | Rights::Read) => {
                return impossible(self.rights, "no cache owns the line");
            }
        };
        self.fetch = self.fetch.or(Some(needed));
        Ok(Reply { retry: true, ..Reply::default() })
    }

    /// Grants the requested right; the caller puts the data in the block cache. Returns the right, or `None` if there
    /// is no request or a recall comes first.
    #[inline]
    pub fn grant(&mut self) -> Option<Rights> {
        if self.recall.is_some() {
            return None;
        }
        let granted = self.fetch.take()?;
        self.rights = self.rights.max(granted);
        Some(granted)
    }

    /// Receives a recall. Returns whether it has any effect: the node must have more rights than it may keep.
    #[inline]
    pub fn recall(&mut self, recall: Recall) -> bool {
        let needed = self.recall.is_none() && self.rights > recall.remaining();
        if needed {
            self.recall = Some(recall);
        }
        needed
    }

    /// Bus request of the device.
    #[inline]
    pub const fn request(&self) -> Option<Command> {
        match self.recall {
            None => None,
            Some(Recall::Share) => Some(Command::ReadForeign),
            Some(Recall::Take) => Some(Command::ReadExclusive),
        }
    }

    /// Completes the device's own transaction: the data on the bus go to the other nodes.
    #[inline]
    pub fn complete(&mut self) {
        if let Some(recall) = self.recall.take() {
            self.rights = recall.remaining();
        }
    }
}
