//! The processor's side of the protocol: what its cache and request buffer do with accesses, evictions and messages.
//!
//! Races, and how they are resolved without relying on the order of messages:
//! - *Parts of an answer* (home's reply, owner's response, acknowledgements) come in any order; the request is complete
//!   when all are in. A store thus completes only after the last `IVACK` (Prestor 2001, Section 4.1.3).
//! - *An intervention during a request* may be for the ownership being granted or for a clean copy dropped long ago. It
//!   is held back until the request is granted (answered then) or refused (the copy is gone: answered as a miss).
//! - *An invalidation during a read* is acknowledged at once, since the writer may in turn hold back what the read waits
//!   for. A shared copy that arrives afterwards may be the old one: it is discarded and the read retried.
//! - *An invalidation during an upgrade* takes the copy; the upgrade is refused, or granted on behalf of the node's other
//!   processor or a coarse vector. In both cases a read-exclusive request follows.
//! - *A writeback that crosses an intervention* serves as the answer; the intervention is ignored when it comes, and no
//!   request may start before that.

use super::cache_line::{
    CacheContext, CacheLine, HomeAnswer, Intervention, Mesi, OwnerAnswer, Pending, Request, miss_request,
};
use super::{Message, MessageKind, Outbox};
use crate::{Access, Agent, ProtocolError};

/// What became of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestOutcome {
    /// Done: the cache had it. Here is the state now.
    Hit(Mesi),
    /// A request has been sent.
    Requested,
    /// Something is outstanding on the line: try again after it is done. (A poison read of a modified line has started
    /// the writeback.)
    Blocked,
}

/// What became of an eviction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eviction {
    /// Dropped without a message: it was clean (or not there).
    Silent,
    /// A writeback has been sent.
    Writeback,
    /// Something is outstanding on the line: it cannot be evicted now.
    Blocked,
}

/// What an owner found when it answered an intervention: how much of the cache it had to touch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Supplied {
    /// Modified: the data were read from the cache and sent.
    Dirty,
    /// Clean: only the tags were touched.
    Clean,
    /// Silently dropped: only the tags were looked at.
    Miss,
}

/// What a message did at a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheOutcome {
    /// Part of an answer; the request is not complete.
    Waiting,
    /// The data are here and final, but ownership waits for invalidation acknowledgements.
    DataWaiting,
    /// The request is complete and the access performed. The state is that of the line now (Invalid for reads that cache
    /// nothing). If an intervention was held back, [`serve_deferred`] is due.
    Completed(Mesi),
    /// The request was refused or overtaken: [`retry`] is due, whenever the caller likes. If an intervention was held
    /// back, it has been answered, as a miss.
    Retry,
    /// The line is poisoned: the access traps.
    BusError,
    /// An intervention has been answered.
    Intervened(Supplied),
    /// An intervention is held back until the outstanding request is granted or refused.
    InterventionDeferred,
    /// An intervention was ignored: the writeback it crossed answers it.
    InterventionIgnored,
    /// The writeback is done and the request buffer free.
    WritebackDone,
    /// The writeback is done, but the intervention that it crossed must come before the line can be requested again.
    WritebackAnsweredIntervention,
}

/// Performs an access, or starts the request that it takes.
///
/// A store makes the next [`crate::Version`].
#[inline]
pub fn processor_request(
    line: &mut CacheLine,
    context: &CacheContext,
    access: Access,
    outbox: &mut Outbox,
) -> RequestOutcome {
    if line.pending != Pending::None {
        return RequestOutcome::Blocked;
    }
    if let Some(state) = line.state.after(access) {
        line.state = state;
        perform(line, access);
        return RequestOutcome::Hit(state);
    }
    if access == Access::PoisonRead {
        // The copy engine reads memory: our own copy, which no invalidation would reach, has to go first.
        if evict(line, context, outbox) == Eviction::Writeback {
            return RequestOutcome::Blocked;
        }
    }
    let kind = if line.state == Mesi::Shared { MessageKind::Upgrade } else { miss_request(access) };
    line.pending = Pending::Request(Request::first(access, kind));
    outbox.push(to_home(context, kind));
    RequestOutcome::Requested
}

/// Sends a refused request again, with more priority. An upgrade whose copy has been invalidated asks for the data too.
///
/// # Errors
/// [`ProtocolError`] if no request has been refused.
#[inline]
pub fn retry(line: &mut CacheLine, context: &CacheContext, outbox: &mut Outbox) -> Result<(), ProtocolError> {
    match &mut line.pending {
        Pending::Request(request) if request.refused => {
            let kind = if line.state == Mesi::Shared { request.kind } else { miss_request(request.access) };
            *request = Request { priority: request.priority, ..Request::first(request.access, kind) };
            request.priority = request.priority.saturating_add(1).min(context.geometry.priority_limit);
            outbox.push(to_home(context, kind).with_priority(request.priority));
            Ok(())
        }
        _ => Err(unexpected(line, context, MessageKind::NegativeAcknowledge, "no request has been refused")),
    }
}

/// Makes room: drops a clean line silently, writes a modified one back (Prestor 2001, Section 3.2.1).
#[inline]
pub fn evict(line: &mut CacheLine, context: &CacheContext, outbox: &mut Outbox) -> Eviction {
    if line.pending != Pending::None {
        return Eviction::Blocked;
    }
    let before = std::mem::take(&mut line.state);
    if before == Mesi::Modified {
        outbox.push(to_home(context, MessageKind::Writeback).with_version(line.version));
        line.pending = Pending::Writeback { intervention_ignored: false };
        Eviction::Writeback
    } else {
        Eviction::Silent
    }
}

/// Handles one message at a processor: a line per pair of request-buffer state and message.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this line in a faithful run.
#[inline]
pub fn receive(
    line: &mut CacheLine,
    context: &CacheContext,
    message: &Message,
    outbox: &mut Outbox,
) -> Result<CacheOutcome, ProtocolError> {
    use MessageKind as K;
    let kind = message.kind;
    match (line.pending, kind) {
        // Nothing outstanding: the only news is that somebody wants the line.
        (Pending::None, K::InterventionShared | K::InterventionExclusive) => {
            supply(line, context, intervention(message), outbox).map(CacheOutcome::Intervened)
        }
        // Outstanding request: its answers, and interventions to hold back.
        (Pending::Request(mut request), _) if !request.refused => answer(line, &mut request, context, message, outbox),
        // A refused request has nothing in flight: interventions are for a copy dropped before.
        (Pending::Request(_), K::InterventionShared | K::InterventionExclusive) => {
            supply(line, context, intervention(message), outbox).map(CacheOutcome::Intervened)
        }
        // Writeback in flight: it reaches the home while the entry is busy, and answers the intervention there.
        (Pending::Writeback { intervention_ignored: false }, K::InterventionShared | K::InterventionExclusive) => {
            line.pending = Pending::Writeback { intervention_ignored: true };
            Ok(CacheOutcome::InterventionIgnored)
        }
        (Pending::Writeback { intervention_ignored: false }, K::WritebackExclusiveAcknowledge)
        | (Pending::Writeback { intervention_ignored: true }, K::WritebackBusyAcknowledge) => {
            line.pending = Pending::None;
            Ok(CacheOutcome::WritebackDone)
        }
        (Pending::Writeback { intervention_ignored: false }, K::WritebackBusyAcknowledge) => {
            line.pending = Pending::StaleIntervention;
            Ok(CacheOutcome::WritebackAnsweredIntervention)
        }
        // The intervention that the writeback has answered.
        (Pending::StaleIntervention, K::InterventionShared | K::InterventionExclusive) => {
            line.pending = Pending::None;
            Ok(CacheOutcome::InterventionIgnored)
        }
        (Pending::Writeback { intervention_ignored: true }, K::WritebackExclusiveAcknowledge) => {
            Err(unexpected(line, context, kind, "an intervention has come, so the home must have been busy"))
        }
        (
            Pending::Writeback { intervention_ignored: true } | Pending::Intervention(_),
            K::InterventionShared | K::InterventionExclusive,
        ) => Err(unexpected(line, context, kind, "the home tracks down one owner at a time")),
        (_, _) => Err(unexpected(line, context, kind, "nothing was asked that this answers")),
    }
}

/// Answers the intervention held back during a request that has now completed; `None` if there is none.
///
/// The caller chooses the moment: the processor should have used the line at least once, or nobody gets anywhere.
///
/// # Errors
/// [`ProtocolError`] if the line cannot be asked for in its state.
#[inline]
pub fn serve_deferred(
    line: &mut CacheLine,
    context: &CacheContext,
    outbox: &mut Outbox,
) -> Result<Option<Supplied>, ProtocolError> {
    let Pending::Intervention(deferred) = line.pending else { return Ok(None) };
    line.pending = Pending::None;
    supply(line, context, deferred, outbox).map(Some)
}

/// Applies an `INVAL` to the line of one processor on the node; not to be called for the requester itself. Returns whether
/// there was a copy.
///
/// # Errors
/// [`ProtocolError`] if the processor owns the line.
#[inline]
pub fn invalidate(line: &mut CacheLine, context: &CacheContext) -> Result<bool, ProtocolError> {
    if let Pending::Request(request) = &mut line.pending {
        request.invalidated = true;
    }
    match line.state {
        Mesi::Invalid => Ok(false),
        Mesi::Shared => {
            line.state = Mesi::Invalid;
            Ok(true)
        }
        Mesi::Exclusive | Mesi::Modified => {
            Err(unexpected(line, context, MessageKind::Invalidate, "an owner is asked by intervention"))
        }
    }
}

/// The one `IVACK` that a node's processor interface sends when all its processors but the requester have been through
/// [`invalidate`] (Prestor 2001, Section 4.1.3).
#[inline]
pub const fn invalidation_acknowledgement(message: &Message) -> Message {
    let requester = message.requester;
    Message::new(MessageKind::InvalidateAcknowledge, message.line, Agent::Processor(requester), requester)
}

impl Request {
    const fn first(access: Access, kind: MessageKind) -> Self {
        Self {
            access,
            kind,
            priority: 0,
            home: HomeAnswer::Awaited,
            owner: OwnerAnswer::None,
            acknowledgements: 0,
            invalidated: false,
            refused: false,
            deferred: None,
        }
    }
}

/// A message during an outstanding request: a line per kind.
#[inline]
fn answer(
    line: &mut CacheLine,
    request: &mut Request,
    context: &CacheContext,
    message: &Message,
    outbox: &mut Outbox,
) -> Result<CacheOutcome, ProtocolError> {
    use MessageKind as K;
    let kind = message.kind;
    let home_answer = match kind {
        K::SharedReply => HomeAnswer::Shared,
        K::ExclusiveReply => HomeAnswer::Exclusive,
        K::UpgradeAcknowledge => HomeAnswer::Upgraded,
        K::UncachedReply => HomeAnswer::Uncached,
        K::PoisonReply => HomeAnswer::Poisoned,
        K::SharedSpeculative | K::BackoffReadShared => HomeAnswer::SpeculativeShared,
        K::ExclusiveSpeculative | K::BackoffReadExclusive => HomeAnswer::SpeculativeExclusive,
        // The owner's part, or that of its writeback. These data overrule the speculative ones.
        K::SharedResponse | K::ExclusiveResponse | K::SharedAcknowledge | K::ExclusiveAcknowledge => {
            if request.owner != OwnerAnswer::None {
                return Err(unexpected(line, context, kind, "the owner has already answered"));
            }
            request.owner = if kind.carries_data() { OwnerAnswer::Data } else { OwnerAnswer::Clean };
            if kind.carries_data() {
                line.version = message.version;
            }
            return progress(line, request, context, outbox);
        }
        K::InvalidateAcknowledge => {
            request.acknowledgements -= 1;
            return progress(line, request, context, outbox);
        }
        // Backoff: the invalidations are ours to send; the acknowledgements come to us in any case.
        K::BackoffInvalidate => {
            let invalidate = Message::new(K::Invalidate, context.line, Agent::Sharers, context.cpu);
            outbox.push(invalidate.with_sharers(message.sharers));
            line.pending = Pending::Request(*request);
            return Ok(CacheOutcome::Waiting);
        }
        K::NegativeAcknowledge => return refuse(line, request, context, outbox),
        K::BusError => {
            line.pending = Pending::None;
            line.state = Mesi::Invalid;
            return Ok(CacheOutcome::BusError);
        }
        // For the ownership being granted, or for a clean copy dropped before the request.
        K::InterventionShared | K::InterventionExclusive => {
            if request.deferred.is_some() {
                return Err(unexpected(line, context, kind, "the home tracks down one owner at a time"));
            }
            request.deferred = Some(intervention(message));
            line.pending = Pending::Request(*request);
            return Ok(CacheOutcome::InterventionDeferred);
        }
        K::WritebackExclusiveAcknowledge | K::WritebackBusyAcknowledge => {
            return Err(unexpected(line, context, kind, "no request starts before the writeback is acknowledged"));
        }
        K::Read | K::ReadShared | K::ReadExclusive | K::Upgrade | K::Writeback | K::UncachedRead | K::PoisonRead => {
            return Err(unexpected(line, context, kind, "requests go to the home"));
        }
        K::Transfer | K::SharingWriteback | K::SharingTransfer => {
            return Err(unexpected(line, context, kind, "revisions go to the home"));
        }
        K::Invalidate => return Err(unexpected(line, context, kind, "invalidations go to the node's interface")),
    };
    if request.home != HomeAnswer::Awaited {
        return Err(unexpected(line, context, kind, "the home has already answered"));
    }
    request.home = home_answer;
    request.acknowledgements += message.acknowledgements as i16;
    // Speculative data must not replace what the owner has already sent.
    if kind.carries_data() && request.owner != OwnerAnswer::Data {
        line.version = message.version;
    }
    if matches!(kind, K::BackoffReadShared | K::BackoffReadExclusive) {
        let ask = if kind == K::BackoffReadShared { K::InterventionShared } else { K::InterventionExclusive };
        outbox.push(Message::new(ask, context.line, Agent::Processor(message.owner), context.cpu));
    }
    progress(line, request, context, outbox)
}

/// Completes the request if every part of the answer is in.
#[inline]
fn progress(
    line: &mut CacheLine,
    request: &mut Request,
    context: &CacheContext,
    outbox: &mut Outbox,
) -> Result<CacheOutcome, ProtocolError> {
    let (granted, needs_owner) = match request.home {
        HomeAnswer::Awaited => {
            line.pending = Pending::Request(*request);
            return Ok(CacheOutcome::Waiting);
        }
        HomeAnswer::Shared => (Mesi::Shared, false),
        HomeAnswer::SpeculativeShared => (Mesi::Shared, true),
        HomeAnswer::Exclusive | HomeAnswer::Upgraded => (Mesi::Exclusive, false),
        HomeAnswer::SpeculativeExclusive => (Mesi::Exclusive, true),
        HomeAnswer::Uncached | HomeAnswer::Poisoned => (Mesi::Invalid, false),
    };
    if needs_owner && request.owner == OwnerAnswer::None {
        line.pending = Pending::Request(*request);
        return Ok(CacheOutcome::Waiting);
    }
    if request.acknowledgements != 0 {
        line.pending = Pending::Request(*request);
        return Ok(CacheOutcome::DataWaiting);
    }
    let state = match request.access {
        Access::UncachedRead | Access::PoisonRead => Mesi::Invalid,
        _ => granted,
    };
    let overtaken = state == Mesi::Shared && request.invalidated;
    let nothing_to_upgrade = request.home == HomeAnswer::Upgraded && line.state == Mesi::Invalid;
    if overtaken || nothing_to_upgrade {
        return refuse(line, request, context, outbox);
    }
    line.state = state;
    if request.access.writes() {
        line.state = Mesi::Modified;
    }
    perform(line, request.access);
    line.pending = request.deferred.map_or(Pending::None, Pending::Intervention);
    Ok(CacheOutcome::Completed(line.state))
}

/// The request must be tried again. An intervention held back finds no copy, or the home would have granted the request.
#[inline]
fn refuse(
    line: &mut CacheLine,
    request: &mut Request,
    context: &CacheContext,
    outbox: &mut Outbox,
) -> Result<CacheOutcome, ProtocolError> {
    if let Some(deferred) = request.deferred.take() {
        supply(line, context, deferred, outbox)?;
    }
    request.refused = true;
    line.pending = Pending::Request(*request);
    Ok(CacheOutcome::Retry)
}

/// Answers an intervention: a line per state of the copy and kind of intervention.
#[inline]
fn supply(
    line: &mut CacheLine,
    context: &CacheContext,
    intervention: Intervention,
    outbox: &mut Outbox,
) -> Result<Supplied, ProtocolError> {
    use MessageKind as K;
    let version = line.version;
    let (response, revision, state, supplied) = match (line.state, intervention.exclusive) {
        (Mesi::Modified, false) => (K::SharedResponse, K::SharingWriteback, Mesi::Shared, Supplied::Dirty),
        (Mesi::Modified, true) => (K::ExclusiveResponse, K::Transfer, Mesi::Invalid, Supplied::Dirty),
        (Mesi::Exclusive, false) => (K::SharedAcknowledge, K::SharingTransfer, Mesi::Shared, Supplied::Clean),
        (Mesi::Exclusive, true) => (K::ExclusiveAcknowledge, K::Transfer, Mesi::Invalid, Supplied::Clean),
        (Mesi::Invalid, false) => (K::SharedAcknowledge, K::SharingTransfer, Mesi::Invalid, Supplied::Miss),
        (Mesi::Invalid, true) => (K::ExclusiveAcknowledge, K::Transfer, Mesi::Invalid, Supplied::Miss),
        (Mesi::Shared, exclusive) => {
            let kind = if exclusive { K::InterventionExclusive } else { K::InterventionShared };
            return Err(unexpected(line, context, kind, "the home asks owners, and a sharer is none"));
        }
    };
    line.state = state;
    for (kind, to) in [(response, Agent::Processor(intervention.requester)), (revision, Agent::Home(context.home))] {
        let message = Message::new(kind, context.line, to, intervention.requester);
        outbox.push(if kind.carries_data() { message.with_version(version) } else { message });
    }
    Ok(supplied)
}

/// The access itself, once the state allows it: a store makes new contents.
#[inline]
fn perform(line: &mut CacheLine, access: Access) {
    if access == Access::Store {
        line.version = line.version.next();
    }
}

fn intervention(message: &Message) -> Intervention {
    Intervention { exclusive: message.kind == MessageKind::InterventionExclusive, requester: message.requester }
}

fn to_home(context: &CacheContext, kind: MessageKind) -> Message {
    Message::new(kind, context.line, Agent::Home(context.home), context.cpu)
}

#[cold]
fn unexpected(line: &CacheLine, context: &CacheContext, kind: MessageKind, reason: &'static str) -> ProtocolError {
    let state = match line.pending {
        Pending::None => "idle",
        Pending::Request(request) if request.refused => "about to retry",
        Pending::Request(_) => "requesting",
        Pending::Writeback { .. } => "writing back",
        Pending::StaleIntervention => "awaiting a stale intervention",
        Pending::Intervention(_) => "about to answer an intervention",
    };
    ProtocolError { at: Agent::Processor(context.cpu), message: kind.mnemonic(), state, reason }
}
