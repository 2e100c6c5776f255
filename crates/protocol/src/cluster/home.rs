//! The home of a line: one directory entry and one message in; the new entry and messages out.
//!
//! Races resolve as follows:
//! - *A request or a writeback during a forward* waits in the home's queue for the owner's report.
//! - *A writeback that crossed a forwarded request* is late: the owner has answered the request from its writeback
//!   buffer. Its data are ignored, and it is acknowledged.
//! - *An upgrade of a copy that has been invalidated* is answered with data: the entry does not list the requester.
//! - *A request for a line that is being poisoned* is refused at once: the bit is set before the line has been taken from others.

use units::NodeId;

use super::{DirectoryState, Entry, Message, MessageKind};
use crate::{Agent, ProtocolError, Version};

/// Transaction that a message at the home belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Transaction {
    /// Right to read, from memory.
    Read,
    /// Right to write, from memory or for a copy, without invalidations.
    Write,
    /// Right to write, with invalidations.
    WriteInvalidating,
    /// Refusal of a request for a poisoned line.
    Refusal,
    /// Request forwarded to the owner.
    Forward,
    /// Writeback by the owner.
    Writeback,
    /// Writeback that crossed a forwarded request.
    LateWriteback,
    /// Sharing writeback: the former owner may go on reading.
    SharingWriteback,
    /// Ownership transfer to the requester.
    OwnershipTransfer,
}

/// Work done for one message at the home, which a machine prices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HomeWork {
    /// Transaction that the message belongs to.
    pub transaction: Transaction,
    /// Whether the line was read from memory.
    pub memory_read: bool,
    /// Whether the line was written to memory.
    pub memory_write: bool,
    /// Invalidations sent to sharers.
    pub invalidations: u16,
}

impl HomeWork {
    const fn new(transaction: Transaction) -> Self {
        Self { transaction, memory_read: false, memory_write: false, invalidations: 0 }
    }
}

/// Outcome of a message at the home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HomeOutcome {
    /// The message was handled.
    Done(HomeWork),
    /// The line is busy, and nothing has changed: the message waits for the owner's report.
    Busy,
}

/// Handles one message at the `home` of its line; `memory` is the version in memory.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this entry in a correct run.
#[inline]
pub fn home(
    entry: &mut Entry,
    home: NodeId,
    memory: &mut Version,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> Result<HomeOutcome, ProtocolError> {
    let mut at = Home { entry, home, memory, message, send };
    match message.kind {
        MessageKind::Read | MessageKind::ReadExclusive | MessageKind::Upgrade | MessageKind::PoisonRead => at.request(),
        MessageKind::Writeback => at.writeback(),
        MessageKind::SharingWriteback | MessageKind::OwnershipTransfer => at.report(),
        MessageKind::ForwardRead
        | MessageKind::ForwardReadExclusive
        | MessageKind::Invalidate
        | MessageKind::Data
        | MessageKind::DataExclusive
        | MessageKind::UpgradeAcknowledge
        | MessageKind::Poison
        | MessageKind::InvalidateAcknowledge
        | MessageKind::WritebackAcknowledge => Err(at.unexpected("a message for the device of a node")),
    }
}

struct Home<'a, F> {
    entry: &'a mut Entry,
    home: NodeId,
    memory: &'a mut Version,
    message: &'a Message,
    send: &'a mut F,
}

impl<F: FnMut(Message)> Home<'_, F> {
    /// Handles a request for a right: a line per pair of directory state and request.
    #[inline]
    fn request(&mut self) -> Result<HomeOutcome, ProtocolError> {
        use DirectoryState as D;
        use MessageKind as K;
        let requester = self.message.requester;
        if self.entry.poisoned && requester != self.home {
            self.reply(K::Poison, 0);
            return Ok(HomeOutcome::Done(HomeWork::new(Transaction::Refusal)));
        }
        let work = match (self.entry.state, self.message.kind) {
            (D::Forwarded { .. }, _) => return Ok(HomeOutcome::Busy),
            (_, K::PoisonRead) if requester != self.home => {
                return Err(self.unexpected("the home's own node alone poisons a line"));
            }
            (D::Shared, K::Read) => self.share(),
            (D::Shared, K::Upgrade | K::PoisonRead) if self.entry.lists(requester) => self.grant(K::UpgradeAcknowledge),
            (D::Shared, _) => self.grant(K::DataExclusive),
            (D::Owned { owner }, K::PoisonRead) if owner == requester => self.grant(K::UpgradeAcknowledge),
            (D::Owned { owner }, _) if owner == requester => {
                return Err(self.unexpected("an owner requests nothing before its writeback is acknowledged"));
            }
            (D::Owned { owner }, K::Read) => self.forward(owner, K::ForwardRead),
            (D::Owned { owner }, _) => self.forward(owner, K::ForwardReadExclusive),
        };
        self.entry.poisoned |= self.message.kind == K::PoisonRead;
        Ok(HomeOutcome::Done(work))
    }

    /// Grants the right to read. The home's own node, if it is alone, receives the right to write: it is the owner of a
    /// line that no other node has.
    #[inline]
    fn share(&mut self) -> HomeWork {
        let requester = self.message.requester;
        if requester == self.home && !self.entry.lists_others(requester) {
            return self.grant(MessageKind::DataExclusive);
        }
        self.entry.add(requester);
        self.reply(MessageKind::Data, 0);
        HomeWork { memory_read: true, ..HomeWork::new(Transaction::Read) }
    }

    /// Grants the right to write, and invalidates the other sharers.
    #[inline]
    fn grant(&mut self, kind: MessageKind) -> HomeWork {
        let requester = self.message.requester;
        let mut others = self.entry.take_others(requester);
        let invalidations = others.count_ones() as u16;
        while others != 0 {
            let node = NodeId(others.trailing_zeros() as u16);
            others &= others - 1;
            self.send(MessageKind::Invalidate, Agent::Interface(node));
        }
        self.reply(kind, invalidations);
        self.entry.state = DirectoryState::Owned { owner: requester };
        let transaction = if invalidations > 0 { Transaction::WriteInvalidating } else { Transaction::Write };
        HomeWork { memory_read: kind.carries_data(), invalidations, ..HomeWork::new(transaction) }
    }

    /// Forwards the request to the owner; the line is busy until its report.
    #[inline]
    fn forward(&mut self, owner: NodeId, kind: MessageKind) -> HomeWork {
        let exclusive = kind == MessageKind::ForwardReadExclusive;
        self.send(kind, Agent::Interface(owner));
        self.entry.state = DirectoryState::Forwarded { owner, requester: self.message.requester, exclusive };
        HomeWork::new(Transaction::Forward)
    }

    /// Handles a writeback: a line per directory state.
    #[inline]
    fn writeback(&mut self) -> Result<HomeOutcome, ProtocolError> {
        let writer = self.message.requester;
        let work = match self.entry.state {
            DirectoryState::Forwarded { .. } => return Ok(HomeOutcome::Busy),
            DirectoryState::Owned { owner } if owner == writer => {
                *self.memory = self.message.version;
                self.entry.state = DirectoryState::Shared;
                HomeWork { memory_write: true, ..HomeWork::new(Transaction::Writeback) }
            }
            DirectoryState::Owned { .. } | DirectoryState::Shared => HomeWork::new(Transaction::LateWriteback),
        };
        self.send(MessageKind::WritebackAcknowledge, Agent::Interface(writer));
        Ok(HomeOutcome::Done(work))
    }

    /// Handles the report of an owner that has answered a forwarded request.
    #[inline]
    fn report(&mut self) -> Result<HomeOutcome, ProtocolError> {
        let DirectoryState::Forwarded { owner, requester, exclusive } = self.entry.state else {
            return Err(self.unexpected("no request has been forwarded"));
        };
        if requester != self.message.requester {
            return Err(self.unexpected("the request of another node has been forwarded"));
        }
        let work = match (self.message.kind, exclusive) {
            (MessageKind::SharingWriteback, false) => {
                *self.memory = self.message.version;
                self.entry.state = DirectoryState::Shared;
                self.entry.add(owner);
                self.entry.add(requester);
                HomeWork { memory_write: true, ..HomeWork::new(Transaction::SharingWriteback) }
            }
            (MessageKind::OwnershipTransfer, true) => {
                self.entry.state = DirectoryState::Owned { owner: requester };
                HomeWork::new(Transaction::OwnershipTransfer)
            }
            (_, false) => return Err(self.unexpected("the forwarded request was for the right to read")),
            (_, true) => return Err(self.unexpected("the forwarded request was for the right to write")),
        };
        Ok(HomeOutcome::Done(work))
    }

    #[inline]
    fn send(&mut self, kind: MessageKind, to: Agent) {
        (self.send)(Message::new(kind, self.message.line, to, self.message.requester));
    }

    /// Replies to the requester, with the contents of memory if the type carries data.
    #[inline]
    fn reply(&mut self, kind: MessageKind, acknowledgements: u16) {
        let requester = self.message.requester;
        let version = if kind.carries_data() { *self.memory } else { Version(0) };
        let reply = Message::new(kind, self.message.line, Agent::Interface(requester), requester);
        (self.send)(reply.with_version(version).with_acknowledgements(acknowledgements));
    }

    fn unexpected(&self, reason: &'static str) -> ProtocolError {
        ProtocolError {
            at: Agent::Home(self.home),
            message: self.message.kind.mnemonic(),
            state: self.entry.state.mnemonic(),
            reason,
        }
    }
}
