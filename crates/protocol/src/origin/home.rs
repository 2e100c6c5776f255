//! The home's side of the protocol: one directory entry and one message in; the new entry, replies and forwards out.
//!
//! The home never waits: what it cannot answer it refuses (`NACK`), and while an owner is being tracked down the entry
//! is busy (Prestor 2001, Section 3.2.1). Transaction flows follow Prestor 2001, Section 4.1.3, and, where the thesis is
//! brief, Laudon and Lenoski, "The SGI Origin: a ccNUMA highly scalable server" (ISCA 1997), Section 3.

use units::{CpuId, NodeId};

use super::{DirectoryEntry, DirectoryState, Geometry, Message, MessageKind, Outbox, Purpose, SharerVector};
use crate::{Agent, ProtocolError, Version};

/// What the home needs to know besides the line's entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HomeContext {
    /// The home itself.
    pub node: NodeId,
    /// The machine.
    pub geometry: Geometry,
    /// The output queue could fill up: forwards must be left to the requester (backoff).
    pub output_queue_nearly_full: bool,
}

/// Which transaction a message turned out to be part of (Prestor 2001, Section 4.1.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Transaction {
    /// Answered by the home alone, with data.
    Unowned,
    /// Ownership granted; the home invalidates sharers. (A lone sharer that upgrades makes it [`Self::Unowned`].)
    Invalidate,
    /// As [`Self::Invalidate`], but the requester must send the invalidations.
    BackoffInvalidate,
    /// The owner is asked for a shared copy.
    InterventionShared,
    /// The owner is asked for the line.
    InterventionExclusive,
    /// As [`Self::InterventionShared`], but the requester must ask.
    BackoffInterventionShared,
    /// As [`Self::InterventionExclusive`], but the requester must ask.
    BackoffInterventionExclusive,
    /// Refused.
    NegativeAcknowledge,
    /// Poisoned line: bus error.
    BusError,
    /// The owner wrote the line back.
    Writeback,
    /// A writeback crossed an intervention, or overtook the former owner's revision.
    WritebackRace,
    /// A former owner reported.
    Revision,
}

/// What handling one message at the home took, for the machine to price.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HomeWork {
    /// What it was part of.
    pub transaction: Transaction,
    /// The line was read from memory and used in a reply. (Hardware reads it in parallel with the directory always.)
    pub memory_read: bool,
    /// The line was written to memory.
    pub memory_write: bool,
    /// The directory entry changed.
    pub directory_write: bool,
    /// `INVAL` messages that the network interface must send.
    pub invalidations: u16,
}

impl HomeWork {
    const fn new(transaction: Transaction, memory_read: bool, memory_write: bool) -> Self {
        Self { transaction, memory_read, memory_write, directory_write: true, invalidations: 0 }
    }

    const NACK: Self = Self::new(Transaction::NegativeAcknowledge, false, false);
    const UNOWNED: Self = Self::new(Transaction::Unowned, true, false);
}

/// The directory state as a requester sees it: `EXCL` is two pseudo-states (Prestor 2001, Section 4.1.1).
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
/// `memory` is the version in memory. The caller expands a compact `INVAL` before it reaches the network.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this entry in a faithful run.
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
    /// A request for a copy: a line per pair of request and directory state.
    #[inline]
    fn request(&mut self) -> Result<HomeWork, ProtocolError> {
        use MessageKind as K;
        let view = self.view();
        if view == View::Busy {
            // Remember the refusal: whoever was refused longest is served first once the entry is stable.
            self.entry.priority = self.entry.priority.max(self.message.priority);
            return Ok(self.refuse());
        }
        if self.message.priority < self.entry.priority {
            return Ok(self.refuse());
        }
        match (view, self.message.kind) {
            // Nobody has a copy, or only the requester had one and has dropped it silently: memory is up to date.
            (View::Unowned | View::ExclusiveMe, K::Read | K::ReadExclusive) => Ok(self.grant_exclusive()),
            (View::Unowned | View::ExclusiveMe, K::ReadShared) => Ok(self.grant_shared(SharerVector::EMPTY)),
            // The copy to be upgraded is gone; the requester will see the invalidation and ask for the data.
            (View::Unowned | View::ExclusiveOther, K::Upgrade) => Ok(self.refuse()),
            // An owner has no shared copy, and a granted upgrade is not asked for again before it has failed.
            (View::ExclusiveMe, K::Upgrade) => Err(self.unexpected("the owner has no shared copy to upgrade")),
            // Read-only copies: memory is up to date.
            (View::Shared, K::Read | K::ReadShared) => Ok(self.grant_shared(self.entry.sharers)),
            (View::Shared, K::ReadExclusive) => Ok(self.invalidate(K::ExclusiveReply)),
            (View::Shared, K::Upgrade) if self.entry.sharers.contains(self.requester_node()) => {
                Ok(self.invalidate(K::UpgradeAcknowledge))
            }
            (View::Shared, K::Upgrade) => Ok(self.refuse()),
            // Somebody else may have a newer copy: ask, and send what memory has in case there is none.
            (View::ExclusiveOther, K::Read | K::ReadShared) => Ok(self.intervene_shared(Purpose::Cached)),
            (View::ExclusiveOther, K::UncachedRead) => Ok(self.intervene_shared(Purpose::Uncached)),
            (View::ExclusiveOther, K::ReadExclusive) => Ok(self.intervene_exclusive(Purpose::Cached)),
            (View::ExclusiveOther, K::PoisonRead) => Ok(self.intervene_exclusive(Purpose::Poison)),
            // Reads that cache nothing.
            (View::Unowned | View::Shared | View::ExclusiveMe, K::UncachedRead) => Ok(self.reply_uncached()),
            (View::Unowned | View::ExclusiveMe, K::PoisonRead) => Ok(self.poison(SharerVector::EMPTY)),
            (View::Shared, K::PoisonRead) => Ok(self.poison(self.entry.sharers)),
            // The page has moved: let the requester's stale translation trap.
            (View::Poisoned, _) => Ok(self.bus_error()),
            (View::Busy, _) => Ok(self.refuse()),
            (_, _) => Err(self.unexpected("not a request")),
        }
    }

    /// A modified line comes back: a line per directory state.
    fn writeback(&mut self) -> Result<HomeWork, ProtocolError> {
        let writer = self.message.requester;
        match self.entry.state {
            // Nobody asked meanwhile.
            DirectoryState::Exclusive if writer == self.entry.owner => {
                self.accept_writeback(MessageKind::WritebackExclusiveAcknowledge, DirectoryState::Unowned);
                Ok(HomeWork::new(Transaction::Writeback, false, true))
            }
            // The writeback crossed the intervention: it serves as the owner's answer to both.
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
            // The new owner already writes back; the former owner's revision is still on its way. No intervention
            // follows the writer, but the entry must not be reused before the revision is in.
            DirectoryState::BusyExclusive if writer == self.entry.owner && self.entry.purpose == Purpose::Cached => {
                self.accept_writeback(MessageKind::WritebackExclusiveAcknowledge, DirectoryState::Wait);
                Ok(HomeWork::new(Transaction::WritebackRace, false, true))
            }
            DirectoryState::Exclusive | DirectoryState::BusyExclusive => {
                Err(self.unexpected("only the old or the new owner can have a modified copy"))
            }
            DirectoryState::BusyShared => Err(self.unexpected("only the old owner can have a modified copy")),
            DirectoryState::Unowned | DirectoryState::Shared | DirectoryState::Poisoned => {
                Err(self.unexpected("nobody has a modified copy"))
            }
            DirectoryState::Wait => Err(self.unexpected("the new owner has already written back")),
        }
    }

    /// The former owner reports: a line per pair of directory state and report.
    fn revision(&mut self) -> Result<HomeWork, ProtocolError> {
        use DirectoryState as S;
        match (self.entry.state, self.message.kind) {
            // The old owner was modified, downgraded, and sends the line for memory.
            (S::BusyShared, MessageKind::SharingWriteback) => {
                *self.memory = self.message.version;
                self.settle_shared(SharerVector::single(self.node_of(self.entry.former)));
                Ok(HomeWork::new(Transaction::Revision, false, true))
            }
            // The old owner was clean (or had dropped the line, and is a sharer in name only).
            (S::BusyShared, MessageKind::SharingTransfer) => {
                self.settle_shared(SharerVector::single(self.node_of(self.entry.former)));
                Ok(HomeWork::new(Transaction::Revision, false, false))
            }
            (S::BusyExclusive, MessageKind::Transfer) => {
                self.settle_exclusive();
                Ok(HomeWork::new(Transaction::Revision, false, false))
            }
            // The new owner's writeback was here first: memory is up to date and nobody has the line.
            (S::Wait, MessageKind::Transfer) => {
                *self.entry = DirectoryEntry { priority: self.entry.priority, ..DirectoryEntry::UNOWNED };
                Ok(HomeWork::new(Transaction::Revision, false, false))
            }
            (S::BusyShared | S::BusyExclusive | S::Wait, _) => {
                Err(self.unexpected("the report does not match the intervention"))
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

    /// A message to a processor, on behalf of the requester.
    fn to_processor(&self, kind: MessageKind, cpu: CpuId, requester: CpuId) -> Message {
        Message::new(kind, self.message.line, Agent::Processor(cpu), requester)
    }

    /// A reply to the requester.
    fn reply(&self, kind: MessageKind) -> Message {
        self.to_processor(kind, self.message.requester, self.message.requester)
    }

    fn refuse(&mut self) -> HomeWork {
        self.outbox.push(self.reply(MessageKind::NegativeAcknowledge));
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

    /// The requester becomes the owner and the entry is stable.
    fn own(&mut self) {
        *self.entry = DirectoryEntry {
            state: DirectoryState::Exclusive,
            owner: self.message.requester,
            ..DirectoryEntry::UNOWNED
        };
    }

    /// Grants ownership over shared copies and has them invalidated. `answer` is `ERPLY` or `UPACK`.
    fn invalidate(&mut self, answer: MessageKind) -> HomeWork {
        let sharers = self.entry.sharers;
        self.own();
        self.answer_with_invalidations(answer, sharers)
    }

    /// Answers the requester and has `sharers` invalidated, by ourselves or (backoff) by the requester.
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
        self.track_down(DirectoryState::BusyShared, purpose);
        if self.context.output_queue_nearly_full {
            self.ask_requester_to_intervene(MessageKind::BackoffReadShared);
            HomeWork::new(Transaction::BackoffInterventionShared, true, false)
        } else {
            self.forward(MessageKind::SharedSpeculative, MessageKind::InterventionShared);
            HomeWork::new(Transaction::InterventionShared, true, false)
        }
    }

    fn intervene_exclusive(&mut self, purpose: Purpose) -> HomeWork {
        self.track_down(DirectoryState::BusyExclusive, purpose);
        if self.context.output_queue_nearly_full {
            self.ask_requester_to_intervene(MessageKind::BackoffReadExclusive);
            HomeWork::new(Transaction::BackoffInterventionExclusive, true, false)
        } else {
            self.forward(MessageKind::ExclusiveSpeculative, MessageKind::InterventionExclusive);
            HomeWork::new(Transaction::InterventionExclusive, true, false)
        }
    }

    fn track_down(&mut self, state: DirectoryState, purpose: Purpose) {
        *self.entry = DirectoryEntry {
            state,
            purpose,
            owner: self.message.requester,
            former: self.entry.owner,
            ..DirectoryEntry::UNOWNED
        };
    }

    /// The speculative reply, and the intervention to the owner being tracked down.
    fn forward(&mut self, speculative: MessageKind, intervention: MessageKind) {
        let requester = self.message.requester;
        self.outbox.push(self.reply(speculative).with_version(*self.memory));
        self.outbox.push(self.to_processor(intervention, self.entry.former, requester));
    }

    /// The speculative reply that leaves the intervention to the requester.
    fn ask_requester_to_intervene(&mut self, kind: MessageKind) {
        self.outbox.push(self.reply(kind).with_version(*self.memory).with_owner(self.entry.former));
    }

    fn accept_writeback(&mut self, acknowledgement: MessageKind, next: DirectoryState) {
        *self.memory = self.message.version;
        self.outbox.push(self.reply(acknowledgement));
        let owner = if next == DirectoryState::Wait { self.entry.owner } else { CpuId(0) };
        *self.entry = DirectoryEntry { state: next, owner, priority: self.entry.priority, ..DirectoryEntry::UNOWNED };
    }

    /// The writeback's data are the owner's response; the writer is told to ignore the intervention.
    fn answer_from_writeback(&mut self, response: MessageKind) {
        *self.memory = self.message.version;
        let requester = self.entry.owner;
        self.outbox.push(self.to_processor(response, requester, requester).with_version(self.message.version));
        self.outbox.push(self.reply(MessageKind::WritebackBusyAcknowledge));
    }

    /// `BUSYS` ends: the requester and `remaining` share the line, or `remaining` alone if the requester caches nothing.
    fn settle_shared(&mut self, remaining: SharerVector) {
        let sharers = match self.entry.purpose {
            Purpose::Uncached => remaining,
            Purpose::Cached | Purpose::Poison => remaining.with(self.node_of(self.entry.owner)),
        };
        let state = if sharers.is_empty() { DirectoryState::Unowned } else { DirectoryState::Shared };
        *self.entry = DirectoryEntry { state, sharers, priority: self.entry.priority, ..DirectoryEntry::UNOWNED };
    }

    /// `BUSYE` ends: the requester owns the line, or it is poisoned.
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
