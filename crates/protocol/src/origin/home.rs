//! The home of the Origin protocol: one directory entry and one message in; the new entry, replies and forwarded
//! requests out.
//!
//! The home never waits: it NACKs a request that it cannot answer, and its entry is busy while an intervention is
//! outstanding (Prestor 2001, Section 3.2.1). Transaction flows follow Prestor 2001, Section 4.1.3, and, for details
//! that the thesis omits, Laudon and Lenoski, "The SGI Origin: a ccNUMA highly scalable server" (ISCA 1997), Section 3.

use units::{CpuId, NodeId};

use super::{DirectoryEntry, DirectoryState, Geometry, Message, MessageKind, Outbox, Purpose, SharerVector};
use crate::{Agent, ProtocolError, Version};

/// Context of the home's handler, besides the line's entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HomeContext {
    /// The home.
    pub node: NodeId,
    /// Geometry of the machine.
    pub geometry: Geometry,
    /// Whether the output queue is nearly full, so that interventions and invalidations are left to the requester
    /// (backoff).
    pub output_queue_nearly_full: bool,
}

/// Transaction that a message at the home belongs to (Prestor 2001, Section 4.1.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Transaction {
    /// Reply with data from the home alone.
    Unowned,
    /// Ownership granted, with invalidations sent by the home. (An upgrade without other sharers is [`Self::Unowned`].)
    Invalidate,
    /// Ownership granted, with invalidations left to the requester.
    BackoffInvalidate,
    /// Shared intervention sent to the owner.
    InterventionShared,
    /// Exclusive intervention sent to the owner.
    InterventionExclusive,
    /// Shared intervention left to the requester.
    BackoffInterventionShared,
    /// Exclusive intervention left to the requester.
    BackoffInterventionExclusive,
    /// NACK.
    Nack,
    /// Bus error, for a poisoned line.
    BusError,
    /// Writeback by the owner.
    Writeback,
    /// Writeback that crossed an intervention or overtook the former owner's revision.
    WritebackRace,
    /// Revision by a former owner.
    Revision,
}

/// Work done for one message at the home, which a machine prices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HomeWork {
    /// Transaction that the message belongs to.
    pub transaction: Transaction,
    /// Whether the line was read from memory and used in a reply. (Hardware always reads it, in parallel with the
    /// directory.)
    pub memory_read: bool,
    /// Whether the line was written to memory.
    pub memory_write: bool,
    /// Whether the directory entry changed.
    pub directory_write: bool,
    /// Number of `INVAL` messages that the network interface must send.
    pub invalidations: u16,
}

impl HomeWork {
    const fn new(transaction: Transaction, memory_read: bool, memory_write: bool) -> Self {
        Self { transaction, memory_read, memory_write, directory_write: true, invalidations: 0 }
    }

    const NACK: Self = Self::new(Transaction::Nack, false, false);
    const UNOWNED: Self = Self::new(Transaction::Unowned, true, false);
}

/// Directory state from the requester's point of view: `EXCL` is two pseudo-states (Prestor 2001, Section 4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum View {
    Unowned,
    Poisoned,
    Shared,
    ExclusiveMe,
    ExclusiveOther,
    Busy,
}

/// Handles one message at the home of its line.
///
/// `memory` is the version in memory. The caller expands a compact `INVAL` before it enters the network.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this entry in a correct run.
#[inline]
pub fn home(
    entry: &mut DirectoryEntry,
    memory: &mut Version,
    message: &Message,
    context: &HomeContext,
    outbox: &mut Outbox,
) -> Result<HomeWork, ProtocolError> {
    let before = *entry;
    let mut home = Home { entry, memory, message, context, outbox };
    let mut work = match message.kind {
        MessageKind::Read
        | MessageKind::ReadShared
        | MessageKind::ReadExclusive
        | MessageKind::Upgrade
        | MessageKind::UncachedRead
        | MessageKind::PoisonRead => home.request()?,
        MessageKind::Writeback => home.writeback()?,
        MessageKind::Transfer | MessageKind::SharingWriteback | MessageKind::SharingTransfer => home.revision()?,
        _ => return Err(home.unexpected("only requests and revisions go to a home")),
    };
    work.directory_write = before != *entry;
    Ok(work)
}

struct Home<'a> {
    entry: &'a mut DirectoryEntry,
    memory: &'a mut Version,
    message: &'a Message,
    context: &'a HomeContext,
    outbox: &'a mut Outbox,
}

impl Home<'_> {
    /// Handles a request for a copy: a line per pair of request and directory state.
    #[inline]
    fn request(&mut self) -> Result<HomeWork, ProtocolError> {
        use MessageKind as K;
        let view = self.view();
        if view == View::Busy {
            // A NACK records the request's priority: the request NACKed most often is served first once the entry is
            // stable.
            self.entry.priority = self.entry.priority.max(self.message.priority);
            return Ok(self.nack());
        }
        if self.message.priority < self.entry.priority {
            return Ok(self.nack());
        }
        match (view, self.message.kind) {
            // No cache has a copy, or only the requester had one and has dropped it silently: memory is up to date.
            (View::Unowned | View::ExclusiveMe, K::Read | K::ReadExclusive) => Ok(self.grant_exclusive()),
            (View::Unowned | View::ExclusiveMe, K::ReadShared) => Ok(self.grant_shared(SharerVector::EMPTY)),
            // The copy to be upgraded is gone; the requester receives the invalidation and requests the data.
            (View::Unowned | View::ExclusiveOther, K::Upgrade) => Ok(self.nack()),
            // An owner has no shared copy, and a granted upgrade is not requested again before it has failed.
            (View::ExclusiveMe, K::Upgrade) => Err(self.unexpected("the owner has no shared copy to upgrade")),
            // Read-only copies: memory is up to date.
            (View::Shared, K::Read | K::ReadShared) => Ok(self.grant_shared(self.entry.sharers)),
            (View::Shared, K::ReadExclusive) => Ok(self.invalidate(K::ExclusiveReply)),
            (View::Shared, K::Upgrade) if self.entry.sharers.contains(self.requester_node()) => {
                Ok(self.invalidate(K::UpgradeAcknowledge))
            }
            (View::Shared, K::Upgrade) => Ok(self.nack()),
            // Another cache may have a newer copy: the owner receives an intervention, and memory's data are sent
            // speculatively.
            (View::ExclusiveOther, K::Read | K::ReadShared) => Ok(self.intervene_shared(Purpose::Cached)),
            (View::ExclusiveOther, K::UncachedRead) => Ok(self.intervene_shared(Purpose::Uncached)),
            (View::ExclusiveOther, K::ReadExclusive) => Ok(self.intervene_exclusive(Purpose::Cached)),
            (View::ExclusiveOther, K::PoisonRead) => Ok(self.intervene_exclusive(Purpose::Poison)),
            // Uncached reads.
            (View::Unowned | View::Shared | View::ExclusiveMe, K::UncachedRead) => Ok(self.reply_uncached()),
            (View::Unowned | View::ExclusiveMe, K::PoisonRead) => Ok(self.poison(SharerVector::EMPTY)),
            (View::Shared, K::PoisonRead) => Ok(self.poison(self.entry.sharers)),
            // The page has moved: the bus error makes the requester's stale translation trap.
            (View::Poisoned, _) => Ok(self.bus_error()),
            (View::Busy, _) => Ok(self.nack()),
            (_, _) => Err(self.unexpected("not a request")),
        }
    }

    /// Handles a writeback: a line per directory state.
    fn writeback(&mut self) -> Result<HomeWork, ProtocolError> {
        let writer = self.message.requester;
        match self.entry.state {
            // No request arrived in the meantime.
            DirectoryState::Exclusive if writer == self.entry.owner => {
                self.accept_writeback(MessageKind::WritebackExclusiveAcknowledge, DirectoryState::Unowned);
                Ok(HomeWork::new(Transaction::Writeback, false, true))
            }
            // The writeback crossed the intervention: it serves as the owner's response and revision.
            DirectoryState::BusyShared if writer == self.entry.former => {
                self.answer_from_writeback(MessageKind::SharedResponse);
                self.settle_shared(SharerVector::EMPTY);
                Ok(HomeWork::new(Transaction::WritebackRace, false, true))
            }
            DirectoryState::BusyExclusive if writer == self.entry.former => {
                self.answer_from_writeback(MessageKind::ExclusiveResponse);
                self.settle_exclusive();
                Ok(HomeWork::new(Transaction::WritebackRace, false, true))
            }
            // The new owner already writes back; the former owner's revision is in flight. No intervention follows the
            // writer, but the entry must not be reused before the revision arrives.
            DirectoryState::BusyExclusive if writer == self.entry.owner && self.entry.purpose == Purpose::Cached => {
                self.accept_writeback(MessageKind::WritebackExclusiveAcknowledge, DirectoryState::Wait);
                Ok(HomeWork::new(Transaction::WritebackRace, false, true))
            }
            DirectoryState::Exclusive | DirectoryState::BusyExclusive => {
                Err(self.unexpected("only the old or the new owner can have a modified copy"))
            }
            DirectoryState::BusyShared => Err(self.unexpected("only the old owner can have a modified copy")),
            DirectoryState::Unowned | DirectoryState::Shared | DirectoryState::Poisoned => {
                Err(self.unexpected("no cache has a modified copy"))
            }
            DirectoryState::Wait => Err(self.unexpected("the new owner has already written back")),
        }
    }

    /// Handles a revision of the former owner: a line per pair of directory state and revision.
    fn revision(&mut self) -> Result<HomeWork, ProtocolError> {
        use DirectoryState as S;
        match (self.entry.state, self.message.kind) {
            // The former owner was modified: it has downgraded, and sends the line for memory.
            (S::BusyShared, MessageKind::SharingWriteback) => {
                *self.memory = self.message.version;
                self.settle_shared(SharerVector::single(self.node_of(self.entry.former)));
                Ok(HomeWork::new(Transaction::Revision, false, true))
            }
            // The former owner was clean (or had dropped the line, and is a sharer in name only).
            (S::BusyShared, MessageKind::SharingTransfer) => {
                self.settle_shared(SharerVector::single(self.node_of(self.entry.former)));
                Ok(HomeWork::new(Transaction::Revision, false, false))
            }
            (S::BusyExclusive, MessageKind::Transfer) => {
                self.settle_exclusive();
                Ok(HomeWork::new(Transaction::Revision, false, false))
            }
            // The new owner's writeback arrived first: memory is up to date, and no cache has the line.
            (S::Wait, MessageKind::Transfer) => {
                *self.entry = DirectoryEntry { priority: self.entry.priority, ..DirectoryEntry::UNOWNED };
                Ok(HomeWork::new(Transaction::Revision, false, false))
            }
            (S::BusyShared | S::BusyExclusive | S::Wait, _) => {
                Err(self.unexpected("the revision does not match the intervention"))
            }
            (S::Unowned | S::Poisoned | S::Shared | S::Exclusive, _) => {
                Err(self.unexpected("no intervention is outstanding"))
            }
        }
    }

    fn view(&self) -> View {
        match self.entry.state {
            DirectoryState::Unowned => View::Unowned,
            DirectoryState::Poisoned => View::Poisoned,
            DirectoryState::Shared => View::Shared,
            DirectoryState::Exclusive if self.entry.owner == self.message.requester => View::ExclusiveMe,
            DirectoryState::Exclusive => View::ExclusiveOther,
            DirectoryState::BusyShared | DirectoryState::BusyExclusive | DirectoryState::Wait => View::Busy,
        }
    }

    fn node_of(&self, cpu: CpuId) -> NodeId {
        self.context.geometry.node_of(cpu)
    }

    fn requester_node(&self) -> NodeId {
        self.node_of(self.message.requester)
    }

    /// Creates a message to a processor, on behalf of the requester.
    fn to_processor(&self, kind: MessageKind, cpu: CpuId, requester: CpuId) -> Message {
        Message::new(kind, self.message.line, Agent::Processor(cpu), requester)
    }

    /// Creates a reply to the requester.
    fn reply(&self, kind: MessageKind) -> Message {
        self.to_processor(kind, self.message.requester, self.message.requester)
    }

    fn nack(&mut self) -> HomeWork {
        self.outbox.push(self.reply(MessageKind::Nack));
        HomeWork::NACK
    }

    fn bus_error(&mut self) -> HomeWork {
        self.outbox.push(self.reply(MessageKind::BusError));
        HomeWork::new(Transaction::BusError, false, false)
    }

    fn grant_shared(&mut self, sharers: SharerVector) -> HomeWork {
        self.outbox.push(self.reply(MessageKind::SharedReply).with_version(*self.memory));
        *self.entry = DirectoryEntry {
            state: DirectoryState::Shared,
            sharers: sharers.with(self.requester_node()),
            ..DirectoryEntry::UNOWNED
        };
        HomeWork::UNOWNED
    }

    fn grant_exclusive(&mut self) -> HomeWork {
        self.outbox.push(self.reply(MessageKind::ExclusiveReply).with_version(*self.memory));
        self.own();
        HomeWork::UNOWNED
    }

    /// Makes the requester the owner, in a stable entry.
    fn own(&mut self) {
        *self.entry = DirectoryEntry {
            state: DirectoryState::Exclusive,
            owner: self.message.requester,
            ..DirectoryEntry::UNOWNED
        };
    }

    /// Grants ownership and invalidates the shared copies. `answer` is `ERPLY` or `UPACK`.
    fn invalidate(&mut self, answer: MessageKind) -> HomeWork {
        let sharers = self.entry.sharers;
        self.own();
        self.answer_with_invalidations(answer, sharers)
    }

    /// Answers the requester, and sends invalidations to `sharers` or leaves them to the requester (backoff).
    fn answer_with_invalidations(&mut self, answer: MessageKind, sharers: SharerVector) -> HomeWork {
        let expected = sharers.target_count(self.context.geometry, self.message.requester);
        let mut reply = self.reply(answer).with_acknowledgements(expected);
        if answer.carries_data() {
            reply = reply.with_version(*self.memory);
        }
        self.outbox.push(reply);
        let mut work = HomeWork::new(Transaction::Invalidate, answer.carries_data(), false);
        if expected == 0 {
            work.transaction = Transaction::Unowned;
        } else if self.context.output_queue_nearly_full {
            work.transaction = Transaction::BackoffInvalidate;
            self.outbox.push(self.reply(MessageKind::BackoffInvalidate).with_sharers(sharers));
        } else {
            work.invalidations = expected;
            self.outbox.push(
                Message::new(MessageKind::Invalidate, self.message.line, Agent::Sharers, self.message.requester)
                    .with_sharers(sharers),
            );
        }
        work
    }

    fn reply_uncached(&mut self) -> HomeWork {
        self.entry.priority = 0;
        self.outbox.push(self.reply(MessageKind::UncachedReply).with_version(*self.memory));
        HomeWork::UNOWNED
    }

    fn poison(&mut self, sharers: SharerVector) -> HomeWork {
        *self.entry = DirectoryEntry { state: DirectoryState::Poisoned, ..DirectoryEntry::UNOWNED };
        self.answer_with_invalidations(MessageKind::PoisonReply, sharers)
    }

    fn intervene_shared(&mut self, purpose: Purpose) -> HomeWork {
        self.start_intervention(DirectoryState::BusyShared, purpose);
        if self.context.output_queue_nearly_full {
            self.leave_intervention_to_requester(MessageKind::BackoffReadShared);
            HomeWork::new(Transaction::BackoffInterventionShared, true, false)
        } else {
            self.forward(MessageKind::SharedSpeculative, MessageKind::InterventionShared);
            HomeWork::new(Transaction::InterventionShared, true, false)
        }
    }

    fn intervene_exclusive(&mut self, purpose: Purpose) -> HomeWork {
        self.start_intervention(DirectoryState::BusyExclusive, purpose);
        if self.context.output_queue_nearly_full {
            self.leave_intervention_to_requester(MessageKind::BackoffReadExclusive);
            HomeWork::new(Transaction::BackoffInterventionExclusive, true, false)
        } else {
            self.forward(MessageKind::ExclusiveSpeculative, MessageKind::InterventionExclusive);
            HomeWork::new(Transaction::InterventionExclusive, true, false)
        }
    }

    fn start_intervention(&mut self, state: DirectoryState, purpose: Purpose) {
        *self.entry = DirectoryEntry {
            state,
            purpose,
            owner: self.message.requester,
            former: self.entry.owner,
            ..DirectoryEntry::UNOWNED
        };
    }

    /// Sends the speculative reply, and the intervention to the former owner.
    fn forward(&mut self, speculative: MessageKind, intervention: MessageKind) {
        let requester = self.message.requester;
        self.outbox.push(self.reply(speculative).with_version(*self.memory));
        self.outbox.push(self.to_processor(intervention, self.entry.former, requester));
    }

    /// Sends the speculative reply that leaves the intervention to the requester (backoff).
    fn leave_intervention_to_requester(&mut self, kind: MessageKind) {
        self.outbox.push(self.reply(kind).with_version(*self.memory).with_owner(self.entry.former));
    }

    fn accept_writeback(&mut self, acknowledgement: MessageKind, next: DirectoryState) {
        *self.memory = self.message.version;
        self.outbox.push(self.reply(acknowledgement));
        let owner = if next == DirectoryState::Wait { self.entry.owner } else { CpuId(0) };
        *self.entry = DirectoryEntry { state: next, owner, priority: self.entry.priority, ..DirectoryEntry::UNOWNED };
    }

    /// Sends the writeback's data in place of the owner's response. The acknowledgement to the writer marks the
    /// intervention to be ignored.
    fn answer_from_writeback(&mut self, response: MessageKind) {
        *self.memory = self.message.version;
        let requester = self.entry.owner;
        self.outbox.push(self.to_processor(response, requester, requester).with_version(self.message.version));
        self.outbox.push(self.reply(MessageKind::WritebackBusyAcknowledge));
    }

    /// Ends `BUSYS`: the requester and `remaining` share the line, or `remaining` alone if the requester keeps no copy.
    fn settle_shared(&mut self, remaining: SharerVector) {
        let sharers = match self.entry.purpose {
            Purpose::Uncached => remaining,
            Purpose::Cached | Purpose::Poison => remaining.with(self.node_of(self.entry.owner)),
        };
        let state = if sharers.is_empty() { DirectoryState::Unowned } else { DirectoryState::Shared };
        *self.entry = DirectoryEntry { state, sharers, priority: self.entry.priority, ..DirectoryEntry::UNOWNED };
    }

    /// Ends `BUSYE`: the requester owns the line, or the line is poisoned.
    fn settle_exclusive(&mut self) {
        let (state, owner) = match self.entry.purpose {
            Purpose::Poison => (DirectoryState::Poisoned, CpuId(0)),
            Purpose::Cached | Purpose::Uncached => (DirectoryState::Exclusive, self.entry.owner),
        };
        *self.entry = DirectoryEntry { state, owner, priority: self.entry.priority, ..DirectoryEntry::UNOWNED };
    }

    #[cold]
    fn unexpected(&self, reason: &'static str) -> ProtocolError {
        ProtocolError {
            at: Agent::Home(self.context.node),
            message: self.message.kind.mnemonic(),
            state: self.entry.state.mnemonic(),
            reason,
        }
    }
}
