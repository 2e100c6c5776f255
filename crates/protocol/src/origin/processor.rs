//! The processor's side of the Origin protocol: accesses, evictions and messages at its cache and miss register.
//!
//! Races resolve without reliance on the order of messages:
//! - *Parts of an answer* (home's reply, owner's response, acknowledgements) arrive in any order; the request completes
//!   when all have arrived. A store therefore completes only after the last `IVACK` (Prestor 2001, Section 4.1.3).
//! - *An intervention during a request* may be for the ownership being granted or for a clean copy dropped before. It
//!   is deferred until the request is granted (answered then) or NACKed (the copy is gone: answered as a miss).
//! - *An invalidation during a read* is acknowledged at once, since the writer may in turn defer the intervention that
//!   the read waits for. A shared copy that arrives afterwards may be stale: the processor discards it and retries the
//!   read.
//! - *An invalidation during an upgrade* removes the copy. The home NACKs the upgrade, or grants it because of the
//!   node's other processor or of a coarse vector. In both cases a read-exclusive request follows.
//! - *A writeback that crosses an intervention* serves as its answer. The processor ignores the intervention when it
//!   arrives, and starts no request before.

use super::cache_line::{
    CacheContext, CacheLine, HomeAnswer, Intervention, Mesi, OwnerAnswer, Pending, Request, miss_request,
};
use super::{Message, MessageKind, Outbox};
use crate::{Access, Agent, ProtocolError};

/// Outcome of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestOutcome {
    /// Hit, with the state after the access.
    Hit(Mesi),
    /// Miss: a request was sent.
    Requested,
    /// Blocked by an outstanding transaction on the line: the access must be repeated afterwards. (A poison read of a
    /// modified line has started the writeback.)
    Blocked,
}

/// Outcome of an eviction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eviction {
    /// Silent: the copy was clean, or there was none.
    Silent,
    /// Writeback sent.
    Writeback,
    /// Blocked by an outstanding transaction on the line.
    Blocked,
}

/// Copy that an owner found for an intervention: it determines the part of the cache that was accessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Supplied {
    /// Modified: the data were read from the cache and sent.
    Dirty,
    /// Clean: only the tags were accessed.
    Clean,
    /// Silently dropped: only the tags were read.
    Miss,
}

/// Outcome of a message at a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheOutcome {
    /// Part of an answer received; the request is not complete.
    Waiting,
    /// Final data received; ownership waits for invalidation acknowledgements.
    DataWaiting,
    /// Request completed and access performed, with the line's new state (Invalid after an uncached read). If an
    /// intervention was deferred, [`serve_deferred`] is due.
    Completed(Mesi),
    /// Request NACKed, or its data overtaken by an invalidation: [`retry`] is due, at a time of the caller's choice. A
    /// deferred intervention has been answered as a miss.
    Retry,
    /// Bus error: the line is poisoned, and the access traps.
    BusError,
    /// Intervention answered.
    Intervened(Supplied),
    /// Intervention deferred until the outstanding request is granted or NACKed.
    InterventionDeferred,
    /// Intervention ignored: the writeback that it crossed answers it.
    InterventionIgnored,
    /// Writeback completed; the miss register is free.
    WritebackDone,
    /// Writeback completed, but the intervention that it crossed must arrive before the line can be requested again.
    WritebackAnsweredIntervention,
}

/// Performs an access that hits, or sends the request of a miss.
///
/// A store creates the next [`crate::Version`].
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
        // The copy engine reads memory, and no invalidation would reach the requester's own copy: that copy is evicted
        // first.
        if evict(line, context, outbox) == Eviction::Writeback {
            return RequestOutcome::Blocked;
        }
    }
    let kind = if line.state == Mesi::Shared { MessageKind::Upgrade } else { miss_request(access) };
    line.pending = Pending::Request(Request::first(access, kind));
    outbox.push(to_home(context, kind));
    RequestOutcome::Requested
}

/// Retries a NACKed request, with more priority. An upgrade whose copy has been invalidated becomes a request for the
/// data too.
///
/// # Errors
/// [`ProtocolError`] if no request has been NACKed.
#[inline]
pub fn retry(line: &mut CacheLine, context: &CacheContext, outbox: &mut Outbox) -> Result<(), ProtocolError> {
    match &mut line.pending {
        Pending::Request(request) if request.nacked => {
            let kind = if line.state == Mesi::Shared { request.kind } else { miss_request(request.access) };
            *request = Request { priority: request.priority, ..Request::first(request.access, kind) };
            request.priority = request.priority.saturating_add(1).min(context.geometry.priority_limit);
            outbox.push(to_home(context, kind).with_priority(request.priority));
            Ok(())
        }
        _ => Err(unexpected(line, context, MessageKind::Nack, "no request has been NACKed")),
    }
}

/// Evicts a line: drops a clean copy silently, writes a modified one back (Prestor 2001, Section 3.2.1).
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

/// Handles one message at a processor: a line per pair of miss-register state and message.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this line in a correct run.
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
        // Nothing outstanding: only an intervention can arrive.
        (Pending::None, K::InterventionShared | K::InterventionExclusive) => {
            supply(line, context, intervention(message), outbox).map(CacheOutcome::Intervened)
        }
        // Outstanding request: its answers, and interventions to defer.
        (Pending::Request(mut request), _) if !request.nacked => answer(line, &mut request, context, message, outbox),
        // A NACKed request has nothing in flight: an intervention is for a copy dropped before.
        (Pending::Request(_), K::InterventionShared | K::InterventionExclusive) => {
            supply(line, context, intervention(message), outbox).map(CacheOutcome::Intervened)
        }
        // Writeback in flight: it finds the entry busy at the home, and answers the intervention there.
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
        // Intervention that the writeback has answered.
        (Pending::StaleIntervention, K::InterventionShared | K::InterventionExclusive) => {
            line.pending = Pending::None;
            Ok(CacheOutcome::InterventionIgnored)
        }
        (Pending::Writeback { intervention_ignored: true }, K::WritebackExclusiveAcknowledge) => {
            Err(unexpected(line, context, kind, "an intervention has arrived, so the home was busy"))
        }
        (
            Pending::Writeback { intervention_ignored: true } | Pending::Intervention(_),
            K::InterventionShared | K::InterventionExclusive,
        ) => Err(unexpected(line, context, kind, "the home has one intervention outstanding at a time")),
        (_, _) => Err(unexpected(line, context, kind, "no request is outstanding")),
    }
}

/// Answers the intervention deferred during a request that has now completed; `None` if there is none.
///
/// The caller chooses the time: the processor should access the line at least once before, or no processor makes
/// progress.
///
/// # Errors
/// [`ProtocolError`] if no intervention can arrive in the line's state.
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

/// Applies an `INVAL` to the line of one processor on the node, except the requester. Returns whether there was a copy.
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
        Mesi::Exclusive | Mesi::Modified => Err(unexpected(
            line,
            context,
            MessageKind::Invalidate,
            "an owner receives interventions, not invalidations",
        )),
    }
}

/// Creates the single `IVACK` that a node's processor interface sends after [`invalidate`] has run for all its
/// processors except the requester (Prestor 2001, Section 4.1.3).
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
            nacked: false,
            deferred: None,
        }
    }
}

/// Handles a message during an outstanding request: a line per message type.
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
        // The owner's part, or that of its writeback. These data replace the speculative ones.
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
        // Backoff: this processor sends the invalidations, and receives the acknowledgements in any case.
        K::BackoffInvalidate => {
            let invalidate = Message::new(K::Invalidate, context.line, Agent::Sharers, context.cpu);
            outbox.push(invalidate.with_sharers(message.sharers));
            line.pending = Pending::Request(*request);
            return Ok(CacheOutcome::Waiting);
        }
        K::Nack => return nacked(line, request, context, outbox),
        K::BusError => {
            line.pending = Pending::None;
            line.state = Mesi::Invalid;
            return Ok(CacheOutcome::BusError);
        }
        // The intervention is for the ownership being granted, or for a clean copy dropped before the request.
        K::InterventionShared | K::InterventionExclusive => {
            if request.deferred.is_some() {
                return Err(unexpected(line, context, kind, "the home has one intervention outstanding at a time"));
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
    // Speculative data must not replace the owner's data.
    if kind.carries_data() && request.owner != OwnerAnswer::Data {
        line.version = message.version;
    }
    if matches!(kind, K::BackoffReadShared | K::BackoffReadExclusive) {
        let intervention = if kind == K::BackoffReadShared { K::InterventionShared } else { K::InterventionExclusive };
        outbox.push(Message::new(intervention, context.line, Agent::Processor(message.owner), context.cpu));
    }
    progress(line, request, context, outbox)
}

/// Completes the request if every part of the answer has arrived.
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
        return nacked(line, request, context, outbox);
    }
    line.state = state;
    if request.access.writes() {
        line.state = Mesi::Modified;
    }
    perform(line, request.access);
    line.pending = request.deferred.map_or(Pending::None, Pending::Intervention);
    Ok(CacheOutcome::Completed(line.state))
}

/// Marks the request as NACKed: it must be retried. A deferred intervention finds no copy; otherwise the home would
/// have granted the request.
#[inline]
fn nacked(
    line: &mut CacheLine,
    request: &mut Request,
    context: &CacheContext,
    outbox: &mut Outbox,
) -> Result<CacheOutcome, ProtocolError> {
    if let Some(deferred) = request.deferred.take() {
        supply(line, context, deferred, outbox)?;
    }
    request.nacked = true;
    line.pending = Pending::Request(*request);
    Ok(CacheOutcome::Retry)
}

/// Answers an intervention: a line per state of the copy and type of intervention.
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
            return Err(unexpected(line, context, kind, "interventions go to owners, and a sharer is not one"));
        }
    };
    line.state = state;
    for (kind, to) in [(response, Agent::Processor(intervention.requester)), (revision, Agent::Home(context.home))] {
        let message = Message::new(kind, context.line, to, intervention.requester);
        outbox.push(if kind.carries_data() { message.with_version(version) } else { message });
    }
    Ok(supplied)
}

/// Performs the access once the state allows it: a store creates the next version.
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
        Pending::Request(request) if request.nacked => "about to retry",
        Pending::Request(_) => "requesting",
        Pending::Writeback { .. } => "writing back",
        Pending::StaleIntervention => "awaiting a stale intervention",
        Pending::Intervention(_) => "about to answer an intervention",
    };
    ProtocolError { at: Agent::Processor(context.cpu), message: kind.mnemonic(), state, reason }
}
