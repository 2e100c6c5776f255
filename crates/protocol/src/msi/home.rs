//! The home of the MSI protocol: one directory entry and one message in; the new entry and messages out.
//!
//! A request that meets a pending entry is NACKed (FLASH's mnemonic is `NAK`) and retried by its sender. Messages
//! overtake each other within the limits of [`super::Lane`], and the races resolve as follows:
//! - *A forwarded request that finds no dirty copy* (the owner has written the line back, or has not received it yet)
//!   is NACKed by the owner, both to the requester (`NAK`) and to the home (`NAKC`), which ends the pending state.
//! - *A writeback during a forward* is accepted at once. If the owner sent it, `NAKC` follows; if the new owner sent
//!   it, the old owner's `OWN` follows. In both cases the line ends clean, without an owner.
//! - *An upgrade of a copy that has been invalidated* is answered with data if the sharing set no longer includes the
//!   requester. If the set is a superset that still includes it, the home may grant the upgrade, and the requester then
//!   requests the data (`REFILL`).
//! - *A replacement hint* removes one entry of the set; if the set has been emptied since, nothing is removed.

use units::{LineAddr, NodeId};

use super::invalidate::{Invalidations, invalidate};
use super::{
    Agent, DirectoryState, Entry, HeaderUse, HomeContext, Insertion, Message, MessageKind, SetWork, SharingSet,
    WrittenBack,
};
use crate::{ProtocolError, Version};

/// Transaction that a message at the home belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Transaction {
    /// Shared copy from memory.
    Read,
    /// Shared copy from memory, with a displaced sharer invalidated.
    ReadDisplacing,
    /// Ownership from memory, without invalidations.
    Write,
    /// Ownership with invalidations: granted after the last acknowledgement, or at once (`/IR`).
    WriteInvalidating,
    /// Request forwarded to the owner.
    Forward,
    /// NACK: the entry is pending, the requester's own writeback is in flight, or the copy to be upgraded has been
    /// invalidated.
    Nack,
    /// Writeback by the owner.
    Writeback,
    /// Writeback that crossed a forwarded request or overtook a report.
    WritebackRace,
    /// Sharing writeback: the former owner keeps a shared copy.
    SharingWriteback,
    /// Ownership transfer to the requester.
    OwnershipTransfer,
    /// NACK of a forwarded request by the owner, which has no dirty copy.
    ForwardNack,
    /// Acknowledgement, with more outstanding.
    Acknowledgement,
    /// Last acknowledgement.
    LastAcknowledgement,
    /// Replacement hint.
    ReplacementHint,
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
    pub invalidations: Invalidations,
    /// Work done on the sharing set.
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

/// Outcome of a message at the home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HomeOutcome {
    /// The message was handled.
    Done(HomeWork),
    /// The sharing set's store is exhausted, and nothing has changed. The home must [`reclaim`] the entries of a line
    /// that [`SharingSet::victim`] selects, possibly this very line, and handle the message again.
    StoreExhausted,
}

/// Handles one message at the home of its line.
///
/// `memory` is the version in memory. `send` receives each message in order, together with the work done on the sharing
/// set before it: a machine that prices the work derives from it when the message leaves.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this entry in a correct run.
#[inline]
pub fn home<S: SharingSet>(
    set: &S,
    entry: &mut Entry<S::Header>,
    store: &mut S::Store,
    memory: &mut Version,
    message: &Message,
    context: &HomeContext,
    send: &mut impl FnMut(Message, &SetWork),
) -> Result<HomeOutcome, ProtocolError> {
    let work = SetWork { format_checks: set.format_checks(HeaderUse::Entry), ..SetWork::NONE };
    let invalidations = Invalidations::NONE;
    let mut home = Home { set, entry, store, memory, message, context, work, invalidations, send };
    let handled = match message.kind {
        MessageKind::Get | MessageKind::GetExclusive | MessageKind::Upgrade | MessageKind::Refill => home.request(),
        MessageKind::Writeback => home.writeback().map(HomeOutcome::Done),
        MessageKind::SharingWriteback
        | MessageKind::OwnershipTransfer
        | MessageKind::ForwardNack
        | MessageKind::CollectDone => home.report(),
        MessageKind::InvalidateAcknowledge | MessageKind::ClusterInvalidateAcknowledge => {
            home.acknowledgement().map(HomeOutcome::Done)
        }
        MessageKind::ReplacementHint => home.hint().map(HomeOutcome::Done),
        MessageKind::Put
        | MessageKind::PutExclusive
        | MessageKind::UpgradeAcknowledge
        | MessageKind::Nack
        | MessageKind::ForwardGet
        | MessageKind::ForwardGetExclusive
        | MessageKind::Invalidate
        | MessageKind::ClusterInvalidate => Err(home.unexpected("a message for the cache side of a node")),
    }?;
    Ok(match handled {
        HomeOutcome::Done(done) => {
            HomeOutcome::Done(HomeWork { invalidations: home.invalidations, set: home.work, ..done })
        }
        HomeOutcome::StoreExhausted => HomeOutcome::StoreExhausted,
    })
}

/// Reclaims a line's entries in the sharing set's store: the home invalidates the line's sharers, and the directory
/// entry is pending until they have acknowledged. The store entries are free at once. `send` is as for [`home()`].
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
    /// Work done on the sharing set so far.
    work: SetWork,
    invalidations: Invalidations,
    send: &'a mut F,
}

impl<S: SharingSet, F: FnMut(Message, &SetWork)> Home<'_, S, F> {
    /// Handles a request for a copy: a line per pair of directory state and request.
    #[inline]
    fn request(&mut self) -> Result<HomeOutcome, ProtocolError> {
        use DirectoryState as D;
        use MessageKind as K;
        let requester = self.message.requester;
        let work = match (self.entry.state, self.message.kind) {
            (D::Forwarded { .. } | D::Invalidating { .. } | D::Collecting { .. } | D::Evicting { .. }, _) => {
                self.nack()
            }
            (D::Clean, K::Get) => {
                if !self.set.has_room(&self.context.site, &self.entry.sharers, self.store, &[requester]) {
                    return Ok(HomeOutcome::StoreExhausted);
                }
                self.share()
            }
            (D::Clean, K::GetExclusive | K::Upgrade) => self.grant_exclusive(),
            // The upgrade was granted to a copy that had been invalidated, and no request has been forwarded to the
            // requester since.
            (D::Dirty { owner }, K::Refill) if owner == requester => {
                self.reply(K::PutExclusive, *self.memory, 0);
                HomeWork::new(Transaction::Write).reading_memory()
            }
            (D::Clean, K::Refill) => return Err(self.unexpected("the upgrade made the requester the owner")),
            (D::Dirty { .. }, K::Refill) => {
                return Err(self.unexpected("the requester has no data, so it is still the owner"));
            }
            // The owner has evicted the line and requests it again: its writeback is in flight.
            (D::Dirty { owner }, K::Get | K::GetExclusive) if owner == requester => self.nack(),
            (D::Dirty { owner }, K::Upgrade) if owner == requester => {
                return Err(self.unexpected("an owner has no shared copy"));
            }
            // The copy to be upgraded has been invalidated; the requester's retry requests the data too.
            (D::Dirty { .. }, K::Upgrade) => self.nack(),
            (D::Dirty { owner }, K::Get) => self.forward(owner, K::ForwardGet),
            (D::Dirty { owner }, K::GetExclusive) => self.forward(owner, K::ForwardGetExclusive),
            (D::Clean | D::Dirty { .. }, _) => return Err(self.unexpected("not a request")),
        };
        Ok(HomeOutcome::Done(work))
    }

    /// Handles a writeback: a line per directory state.
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
                return Err(self.unexpected("no node has a dirty copy"));
            }
        };
        *self.memory = self.message.version;
        self.entry.state = next;
        Ok(HomeWork::new(transaction).writing_memory())
    }

    /// Handles a report of an owner, on a forwarded request or on collected acknowledgements: a line per pair of state
    /// and report.
    fn report(&mut self) -> Result<HomeOutcome, ProtocolError> {
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
            (D::Forwarded { owner, written_back: W::No, .. }, K::ForwardNack) => {
                (D::Dirty { owner }, Transaction::ForwardNack)
            }
            (D::Forwarded { written_back: W::ByOwner, .. }, K::ForwardNack) => (D::Clean, Transaction::ForwardNack),
            (D::Collecting { owner, written_back: false }, K::CollectDone) => {
                (D::Dirty { owner }, Transaction::LastAcknowledgement)
            }
            (D::Collecting { written_back: true, .. }, K::CollectDone) => (D::Clean, Transaction::LastAcknowledgement),
            (D::Forwarded { .. }, _) => return Err(self.unexpected("the report does not match the forwarded request")),
            (D::Collecting { .. }, _) => return Err(self.unexpected("no request is forwarded")),
            (D::Clean | D::Dirty { .. } | D::Invalidating { .. } | D::Evicting { .. }, _) => {
                return Err(self.unexpected("no request is forwarded, and no requester collects"));
            }
        };
        self.entry.state = next;
        Ok(HomeOutcome::Done(HomeWork::new(transaction)))
    }

    /// Handles an acknowledgement of a sharer or of a cluster.
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
            D::Clean | D::Dirty { .. } | D::Forwarded { .. } => Err(self.unexpected("no node was invalidated")),
            D::Collecting { .. } => Err(self.unexpected("the requester collects the acknowledgements")),
        }
    }

    /// Handles a replacement hint: a sharer has dropped its copy.
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

    /// Grants a shared copy from memory. The answer leaves before the set is updated (FLASH dissertation, Section
    /// 5.3.1).
    #[inline]
    fn share(&mut self) -> HomeWork {
        self.reply(MessageKind::Put, *self.memory, 0);
        let mut work = HomeWork::new(Transaction::Read).reading_memory();
        if self.insert(&[self.message.requester]) {
            work.transaction = Transaction::ReadDisplacing;
        }
        work
    }

    /// Records the former owner and the requester as sharers. The report cannot be NACKed, so the store must have room.
    fn share_between(&mut self, nodes: [NodeId; 2]) -> Result<HomeOutcome, ProtocolError> {
        if !self.set.has_room(&self.context.site, &self.entry.sharers, self.store, &nodes) {
            return Ok(HomeOutcome::StoreExhausted);
        }
        *self.memory = self.message.version;
        self.entry.state = DirectoryState::Clean;
        self.insert(&nodes);
        Ok(HomeOutcome::Done(HomeWork::new(Transaction::SharingWriteback).writing_memory()))
    }

    /// Adds sharers and invalidates displaced ones. The entry stays pending until displaced sharers have acknowledged,
    /// because until then copies exist that the set does not include. Returns whether there are any.
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

    /// Grants ownership of a clean line after the other sharers have been invalidated. With `/IR` and a requester on
    /// another node, the grant leaves at the same time as the invalidations; a requester on the home node collects as
    /// in the base protocol.
    #[inline]
    fn grant_exclusive(&mut self) -> HomeWork {
        let Message { line, requester, kind, .. } = *self.message;
        let relaxed = self.context.variant.acknowledge_requester && requester != self.context.site.home;
        let collector = if relaxed { Agent::Node(requester) } else { Agent::Home(self.context.site.home) };
        let mut work = HomeWork::new(Transaction::WriteInvalidating);
        let Home { set, entry, store, context, work: set_work, send, .. } = self;
        self.invalidations = invalidate(*set, entry, store, line, Some(requester), collector, context, set_work, *send);
        let acknowledgements = self.invalidations.messages;
        // Data are omitted only if the set included the requester; a set that is a superset may be wrong about that.
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

    fn nack(&mut self) -> HomeWork {
        self.reply(MessageKind::Nack, Version(0), 0);
        HomeWork::new(Transaction::Nack)
    }

    /// Replies to the sender of the message.
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
