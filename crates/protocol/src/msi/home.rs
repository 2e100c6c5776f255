//! The home's side of the MSI protocol: one directory entry and one message in; the new entry and messages out.
//!
//! Directory-based, with pending entries: a request that meets one is refused (`NAK`) and tried again by its sender. Messages
//! overtake each other ([`super::Lane`] says how far), and the races resolve so:
//! - *A forwarded request that finds nothing* (the owner has written back, or has not got the line yet) is refused by the
//!   owner, to the requester (`NAK`) and to the home (`NAKC`), which ends the pending state.
//! - *A writeback during a forward* is taken in at once. If the owner sent it, `NAKC` follows; if the new owner did, the old
//!   owner's `OWN` follows. In either case the line is then clean and nobody's.
//! - *An upgrade of a copy that is gone* is answered with data where the sharing set shows it; where the set names too many
//!   nodes it may be granted, and the requester comes back for the data (`REFILL`).
//! - *A hint* is about an entry of the set: if the set has been emptied since, there is nothing to remove.

use units::{LineAddr, NodeId};

use super::invalidate::{Invalidations, invalidate};
use super::{
    Agent, DirectoryState, Entry, HeaderUse, HomeContext, Insertion, Message, MessageKind, SetWork, SharingSet,
    WrittenBack,
};
use crate::{ProtocolError, Version};

/// What a message at the home turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Transaction {
    /// A shared copy from memory.
    Read,
    /// A shared copy from memory, and a displaced sharer invalidated.
    ReadDisplacing,
    /// Ownership from memory; nobody had to be invalidated.
    Write,
    /// Sharers are being invalidated, ownership follows (or, `/IR`, has gone out).
    WriteInvalidating,
    /// Forwarded to the owner.
    Forward,
    /// Refused: the entry is pending, or the requester's own writeback is on its way.
    Refuse,
    /// The owner wrote the line back.
    Writeback,
    /// A writeback that crossed a forwarded request, or overtook a report.
    WritebackRace,
    /// The former owner shares the line now.
    SharingWriteback,
    /// The line has a new owner.
    OwnershipTransfer,
    /// The owner had nothing to answer a forwarded request with.
    ForwardRefused,
    /// An acknowledgement, and more are to come.
    Acknowledgement,
    /// The last acknowledgement.
    LastAcknowledgement,
    /// A replacement hint.
    ReplacementHint,
}

/// What handling one message at the home took, for the machine to price.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HomeWork {
    /// What it was.
    pub transaction: Transaction,
    /// The line was read from memory.
    pub memory_read: bool,
    /// The line was written to memory.
    pub memory_write: bool,
    /// What was sent to sharers.
    pub invalidations: Invalidations,
    /// What the sharing set did.
    pub set: SetWork,
}

impl HomeWork {
    const fn new(transaction: Transaction) -> Self {
        Self {
            transaction,
            memory_read: false,
            memory_write: false,
            invalidations: Invalidations::NONE,
            set: SetWork::NONE,
        }
    }

    const fn reading_memory(mut self) -> Self {
        self.memory_read = true;
        self
    }

    const fn writing_memory(mut self) -> Self {
        self.memory_write = true;
        self
    }
}

/// What became of a message at the home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handled {
    /// It is done.
    Done(HomeWork),
    /// Nothing has happened: the sharing set's store is exhausted. The home must [`reclaim`] the entries of a line that
    /// [`SharingSet::victim`] names, perhaps this very one, and handle the message again.
    StoreExhausted,
}

/// Handles one message at the home of its line. `memory` is the version in memory; `send` takes what is sent, in order, each
/// with what the sharing set had done before it: a machine that prices the work knows from it when a message leaves.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this entry in a faithful run.
#[inline]
pub fn home<S: SharingSet>(
    set: &S,
    entry: &mut Entry<S::Header>,
    store: &mut S::Store,
    memory: &mut Version,
    message: &Message,
    context: &HomeContext,
    send: &mut impl FnMut(Message, &SetWork),
) -> Result<Handled, ProtocolError> {
    let work = SetWork { format_checks: set.format_checks(HeaderUse::Entry), ..SetWork::NONE };
    let invalidations = Invalidations::NONE;
    let mut home = Home { set, entry, store, memory, message, context, work, invalidations, send };
    let handled = match message.kind {
        MessageKind::Get | MessageKind::GetExclusive | MessageKind::Upgrade | MessageKind::Refill => home.request(),
        MessageKind::Writeback => home.writeback().map(Handled::Done),
        MessageKind::SharingWriteback
        | MessageKind::OwnershipTransfer
        | MessageKind::ForwardNegativeAcknowledge
        | MessageKind::CollectDone => home.report(),
        MessageKind::InvalidateAcknowledge | MessageKind::ClusterInvalidateAcknowledge => {
            home.acknowledgement().map(Handled::Done)
        }
        MessageKind::ReplacementHint => home.hint().map(Handled::Done),
        MessageKind::Put
        | MessageKind::PutExclusive
        | MessageKind::UpgradeAcknowledge
        | MessageKind::NegativeAcknowledge
        | MessageKind::ForwardGet
        | MessageKind::ForwardGetExclusive
        | MessageKind::Invalidate
        | MessageKind::ClusterInvalidate => Err(home.unexpected("it is for the cache side of a node")),
    }?;
    Ok(match handled {
        Handled::Done(done) => Handled::Done(HomeWork { invalidations: home.invalidations, set: home.work, ..done }),
        Handled::StoreExhausted => Handled::StoreExhausted,
    })
}

/// Takes a line's entries out of the sharing set's store: its sharers are invalidated, and the entry is pending until they
/// have acknowledged. The store has room at once. `send` is as for [`home()`].
///
/// # Errors
/// A reason, if the line has no sharers to invalidate in this state.
#[inline]
pub fn reclaim<S: SharingSet>(
    set: &S,
    entry: &mut Entry<S::Header>,
    store: &mut S::Store,
    line: LineAddr,
    context: &HomeContext,
    send: &mut impl FnMut(Message, &SetWork),
) -> Result<(Invalidations, SetWork), &'static str> {
    if entry.state != DirectoryState::Clean {
        return Err("only a clean line has sharers that can be reclaimed");
    }
    let mut work = SetWork { format_checks: set.format_checks(HeaderUse::Entry), ..SetWork::NONE };
    let collector = Agent::Home(context.site.home);
    let sent = invalidate(set, entry, store, line, None, collector, context, &mut work, send);
    entry.state = DirectoryState::Evicting { acknowledgements: sent.messages };
    Ok((sent, work))
}

struct Home<'a, S: SharingSet, F> {
    set: &'a S,
    entry: &'a mut Entry<S::Header>,
    store: &'a mut S::Store,
    memory: &'a mut Version,
    message: &'a Message,
    context: &'a HomeContext,
    /// What the sharing set has done so far.
    work: SetWork,
    invalidations: Invalidations,
    send: &'a mut F,
}

impl<S: SharingSet, F: FnMut(Message, &SetWork)> Home<'_, S, F> {
    /// A request for a copy: a line per pair of directory state and request.
    #[inline]
    fn request(&mut self) -> Result<Handled, ProtocolError> {
        use DirectoryState as D;
        use MessageKind as K;
        let requester = self.message.requester;
        let work = match (self.entry.state, self.message.kind) {
            (D::Forwarded { .. } | D::Invalidating { .. } | D::Collecting { .. } | D::Evicting { .. }, _) => {
                self.refuse()
            }
            (D::Clean, K::Get) => {
                if !self.set.has_room(&self.context.site, &self.entry.sharers, self.store, &[requester]) {
                    return Ok(Handled::StoreExhausted);
                }
                self.share()
            }
            (D::Clean, K::GetExclusive | K::Upgrade) => self.grant_exclusive(),
            // The upgrade was granted, and nobody has asked the requester for data that it has not got.
            (D::Dirty { owner }, K::Refill) if owner == requester => {
                self.reply(K::PutExclusive, *self.memory, 0);
                HomeWork::new(Transaction::Write).reading_memory()
            }
            (D::Clean, K::Refill) => return Err(self.unexpected("the upgrade made the requester the owner")),
            (D::Dirty { .. }, K::Refill) => return Err(self.unexpected("the requester had nothing to give away")),
            // The owner has evicted the line and asks for it again: its writeback is on its way.
            (D::Dirty { owner }, K::Get | K::GetExclusive) if owner == requester => self.refuse(),
            (D::Dirty { owner }, K::Upgrade) if owner == requester => {
                return Err(self.unexpected("an owner has no shared copy"));
            }
            // The copy to be upgraded has been invalidated; the requester will ask for the data too.
            (D::Dirty { .. }, K::Upgrade) => self.refuse(),
            (D::Dirty { owner }, K::Get) => self.forward(owner, K::ForwardGet),
            (D::Dirty { owner }, K::GetExclusive) => self.forward(owner, K::ForwardGetExclusive),
            (D::Clean | D::Dirty { .. }, _) => return Err(self.unexpected("it is no request")),
        };
        Ok(Handled::Done(work))
    }

    /// The dirty line comes back: a line per directory state.
    fn writeback(&mut self) -> Result<HomeWork, ProtocolError> {
        use DirectoryState as D;
        let writer = self.message.requester;
        let (next, transaction) = match self.entry.state {
            D::Dirty { owner } if owner == writer => (D::Clean, Transaction::Writeback),
            D::Forwarded { owner, requester, exclusive, written_back: WrittenBack::No } if owner == writer => {
                let written_back = WrittenBack::ByOwner;
                (D::Forwarded { owner, requester, exclusive, written_back }, Transaction::WritebackRace)
            }
            D::Forwarded { owner, requester, exclusive: true, written_back: WrittenBack::No }
                if requester == writer =>
            {
                let written_back = WrittenBack::ByRequester;
                (D::Forwarded { owner, requester, exclusive: true, written_back }, Transaction::WritebackRace)
            }
            D::Collecting { owner, written_back: false } if owner == writer => {
                (D::Collecting { owner, written_back: true }, Transaction::WritebackRace)
            }
            D::Dirty { .. } | D::Collecting { written_back: false, .. } => {
                return Err(self.unexpected("only the owner has a dirty copy"));
            }
            D::Forwarded { written_back: WrittenBack::No, .. } => {
                return Err(self.unexpected("only the old owner and the new one can have a dirty copy"));
            }
            D::Forwarded { .. } | D::Collecting { .. } => {
                return Err(self.unexpected("the dirty copy has already been written back"));
            }
            D::Clean | D::Invalidating { .. } | D::Evicting { .. } => {
                return Err(self.unexpected("nobody has a dirty copy"));
            }
        };
        *self.memory = self.message.version;
        self.entry.state = next;
        Ok(HomeWork::new(transaction).writing_memory())
    }

    /// An owner reports on a forwarded request, or on what it has collected: a line per pair of state and report.
    fn report(&mut self) -> Result<Handled, ProtocolError> {
        use DirectoryState as D;
        use MessageKind as K;
        use WrittenBack as W;
        let (next, transaction) = match (self.entry.state, self.message.kind) {
            (D::Forwarded { owner, requester, exclusive: false, written_back: W::No }, K::SharingWriteback) => {
                return self.share_between([owner, requester]);
            }
            (D::Forwarded { requester, exclusive: true, written_back: W::No, .. }, K::OwnershipTransfer) => {
                (D::Dirty { owner: requester }, Transaction::OwnershipTransfer)
            }
            (D::Forwarded { written_back: W::ByRequester, .. }, K::OwnershipTransfer) => {
                (D::Clean, Transaction::OwnershipTransfer)
            }
            (D::Forwarded { owner, written_back: W::No, .. }, K::ForwardNegativeAcknowledge) => {
                (D::Dirty { owner }, Transaction::ForwardRefused)
            }
            (D::Forwarded { written_back: W::ByOwner, .. }, K::ForwardNegativeAcknowledge) => {
                (D::Clean, Transaction::ForwardRefused)
            }
            (D::Collecting { owner, written_back: false }, K::CollectDone) => {
                (D::Dirty { owner }, Transaction::LastAcknowledgement)
            }
            (D::Collecting { written_back: true, .. }, K::CollectDone) => (D::Clean, Transaction::LastAcknowledgement),
            (D::Forwarded { .. }, _) => return Err(self.unexpected("it does not match the forwarded request")),
            (D::Collecting { .. }, _) => return Err(self.unexpected("nothing has been forwarded")),
            (D::Clean | D::Dirty { .. } | D::Invalidating { .. } | D::Evicting { .. }, _) => {
                return Err(self.unexpected("nothing has been forwarded, and nobody collects"));
            }
        };
        self.entry.state = next;
        Ok(Handled::Done(HomeWork::new(transaction)))
    }

    /// A sharer, or a cluster of them, has dropped the line.
    #[inline]
    fn acknowledgement(&mut self) -> Result<HomeWork, ProtocolError> {
        use DirectoryState as D;
        match self.entry.state {
            D::Invalidating { requester, acknowledgements: 1, upgrade } => {
                self.entry.state = D::Dirty { owner: requester };
                let kind = if upgrade { MessageKind::UpgradeAcknowledge } else { MessageKind::PutExclusive };
                self.answer(requester, kind, *self.memory, 0);
                let work = HomeWork::new(Transaction::LastAcknowledgement);
                Ok(if upgrade { work } else { work.reading_memory() })
            }
            D::Evicting { acknowledgements: 1 } => {
                self.entry.state = D::Clean;
                Ok(HomeWork::new(Transaction::LastAcknowledgement))
            }
            D::Invalidating { requester, acknowledgements, upgrade } => {
                self.entry.state = D::Invalidating { requester, acknowledgements: acknowledgements - 1, upgrade };
                Ok(HomeWork::new(Transaction::Acknowledgement))
            }
            D::Evicting { acknowledgements } => {
                self.entry.state = D::Evicting { acknowledgements: acknowledgements - 1 };
                Ok(HomeWork::new(Transaction::Acknowledgement))
            }
            D::Clean | D::Dirty { .. } | D::Forwarded { .. } => Err(self.unexpected("nobody was invalidated")),
            D::Collecting { .. } => Err(self.unexpected("the requester collects")),
        }
    }

    /// A sharer has dropped its copy by itself.
    #[inline]
    fn hint(&mut self) -> Result<HomeWork, ProtocolError> {
        if !self.set.replacement_hints() {
            return Err(self.unexpected("the sharing set takes no hints"));
        }
        self.work.format_checks += self.set.format_checks(HeaderUse::Sharers);
        if !self.set.is_empty(&self.entry.sharers) {
            let Message { line, requester, .. } = *self.message;
            self.set.remove(line, &mut self.entry.sharers, self.store, requester, &mut self.work);
        }
        Ok(HomeWork::new(Transaction::ReplacementHint))
    }

    /// A shared copy from memory. The answer goes out before the set is touched (FLASH dissertation, Section 5.3.1).
    #[inline]
    fn share(&mut self) -> HomeWork {
        self.reply(MessageKind::Put, *self.memory, 0);
        let mut work = HomeWork::new(Transaction::Read).reading_memory();
        if self.insert(&[self.message.requester]) {
            work.transaction = Transaction::ReadDisplacing;
        }
        work
    }

    /// The former owner and the requester share the line. The report cannot be refused, so there must be room.
    fn share_between(&mut self, nodes: [NodeId; 2]) -> Result<Handled, ProtocolError> {
        if !self.set.has_room(&self.context.site, &self.entry.sharers, self.store, &nodes) {
            return Ok(Handled::StoreExhausted);
        }
        *self.memory = self.message.version;
        self.entry.state = DirectoryState::Clean;
        self.insert(&nodes);
        Ok(Handled::Done(HomeWork::new(Transaction::SharingWriteback).writing_memory()))
    }

    /// Adds sharers. Displaced ones are invalidated, and the entry is pending until they have acknowledged: until then
    /// they may have copies that no set names. Returns whether there are any.
    #[inline]
    fn insert(&mut self, nodes: &[NodeId]) -> bool {
        let Home { set, entry, store, message, context, work, invalidations, send, .. } = self;
        for &node in nodes {
            let insertion = set.insert(&context.site, message.line, &mut entry.sharers, store, node, work);
            if let Insertion::Displaced(displaced) = insertion {
                let invalidation =
                    Message::new(MessageKind::Invalidate, message.line, Agent::Node(displaced), message.requester);
                send(invalidation.collected_by(Agent::Home(context.site.home)), work);
                invalidations.nodes += 1;
                invalidations.messages += 1;
            }
        }
        let acknowledgements = invalidations.messages;
        if acknowledgements > 0 {
            entry.state = DirectoryState::Evicting { acknowledgements };
        }
        acknowledgements > 0
    }

    /// Ownership of a clean line: other sharers are invalidated first (or, `/IR` and another node's request, at the same
    /// time: where requester and home are one, there is nobody to move the collecting to).
    #[inline]
    fn grant_exclusive(&mut self) -> HomeWork {
        let Message { line, requester, kind, .. } = *self.message;
        let relaxed = self.context.variant.acknowledge_requester && requester != self.context.site.home;
        let collector = if relaxed { Agent::Node(requester) } else { Agent::Home(self.context.site.home) };
        let mut work = HomeWork::new(Transaction::WriteInvalidating);
        let Home { set, entry, store, context, work: set_work, send, .. } = self;
        self.invalidations = invalidate(*set, entry, store, line, Some(requester), collector, context, set_work, *send);
        let acknowledgements = self.invalidations.messages;
        // Data are sent unless the set has shown that the requester has them; if it names too many nodes, that may be wrong.
        let upgrade = kind == MessageKind::Upgrade && self.invalidations.requester_named;
        if acknowledgements > 0 && !relaxed {
            self.entry.state = DirectoryState::Invalidating { requester, acknowledgements, upgrade };
            return work;
        }
        if acknowledgements > 0 {
            self.entry.state = DirectoryState::Collecting { owner: requester, written_back: false };
        } else {
            work.transaction = Transaction::Write;
            self.entry.state = DirectoryState::Dirty { owner: requester };
        }
        let answer = if upgrade { MessageKind::UpgradeAcknowledge } else { MessageKind::PutExclusive };
        self.reply(answer, *self.memory, acknowledgements);
        if upgrade { work } else { work.reading_memory() }
    }

    fn forward(&mut self, owner: NodeId, kind: MessageKind) -> HomeWork {
        let requester = self.message.requester;
        let exclusive = kind == MessageKind::ForwardGetExclusive;
        (self.send)(Message::new(kind, self.message.line, Agent::Node(owner), requester), &self.work);
        let written_back = WrittenBack::No;
        self.entry.state = DirectoryState::Forwarded { owner, requester, exclusive, written_back };
        HomeWork::new(Transaction::Forward)
    }

    fn refuse(&mut self) -> HomeWork {
        self.reply(MessageKind::NegativeAcknowledge, Version(0), 0);
        HomeWork::new(Transaction::Refuse)
    }

    /// Answers the sender of the message.
    fn reply(&mut self, kind: MessageKind, memory: Version, acknowledgements: u16) {
        self.answer(self.message.requester, kind, memory, acknowledgements);
    }

    fn answer(&mut self, requester: NodeId, kind: MessageKind, memory: Version, acknowledgements: u16) {
        let message = Message::new(kind, self.message.line, Agent::Node(requester), requester)
            .with_acknowledgements(acknowledgements);
        (self.send)(if kind.carries_data() { message.with_version(memory) } else { message }, &self.work);
    }

    #[cold]
    fn unexpected(&self, reason: &'static str) -> ProtocolError {
        ProtocolError {
            at: crate::Agent::Home(self.context.site.home),
            message: self.message.kind.mnemonic(),
            state: self.entry.state.mnemonic(),
            reason,
        }
    }
}
