//! The cache side of a node in the MSI protocol: its processor's accesses, and the messages that it receives.
//!
//! - *An invalidation during a `GET`* is acknowledged at once. A copy that arrives afterwards may be stale: the node
//!   discards it and retries the request. An invalidation during a request for ownership does not affect the answer.
//! - *A forwarded request for a line that is not dirty here* is NACKed: the line has been written back, or has not
//!   arrived yet.
//! - *Acknowledgements for the requester* (`/IR`) may arrive before the line; the store does not wait for them, and the
//!   line may even be written back before all have arrived. The home keeps its entry pending until the requester
//!   reports the last one.

use super::cache_line::{Access, CacheLine, Collection, Msi, Place, Relay, Request};
use super::{Agent, Message, MessageKind, NodeContext};
use crate::ProtocolError;
use units::{LineAddr, NodeId};

/// Outcome of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessOutcome {
    /// Hit in the processor's cache.
    Hit,
    /// Hit in the remote access cache; the line moves to the processor's cache.
    RemoteAccessCacheHit,
    /// Miss: a request was sent.
    Requested,
    /// Blocked by an outstanding request on the line: the access must be repeated afterwards.
    Blocked,
}

/// Outcome of an eviction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eviction {
    /// Silent: the copy was shared, or there was none.
    Silent,
    /// Replacement hint sent.
    Hint,
    /// Writeback sent.
    Writeback,
    /// Line moved to the remote access cache.
    Kept,
}

/// Outcome of a message at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeOutcome {
    /// Request completed and access performed.
    Completed(Msi),
    /// Request NACKed, or its answer overtaken by an invalidation: [`retry`] is due.
    Retry,
    /// Upgrade granted after the copy was invalidated: the node has requested the data.
    Refilling,
    /// Invalidation handled; the location of the copy, if there was one.
    Invalidated(Option<Place>),
    /// Clustered invalidation handled and relayed.
    Relayed {
        /// Location of the copy, if there was one.
        place: Option<Place>,
        /// Number of other nodes that the invalidation was relayed to.
        others: u16,
    },
    /// Forwarded request answered with the dirty line.
    Supplied(Place),
    /// Forwarded request NACKed: the node has no dirty copy.
    NotSupplied,
    /// Acknowledgement received, with more outstanding.
    Acknowledged,
    /// Last acknowledgement received: the node has sent its own acknowledgement or report.
    LastAcknowledged,
}

/// Performs an access that hits, or sends the request of a miss.
///
/// A store creates the next [`crate::Version`].
#[inline]
pub fn access(
    line: &mut CacheLine,
    address: LineAddr,
    context: &NodeContext,
    access: Access,
    send: &mut impl FnMut(Message),
) -> AccessOutcome {
    if line.request.is_some() {
        return AccessOutcome::Blocked;
    }
    if let Some(kind) = line.request_message(access) {
        line.place = Place::Cache;
        send_request(line, address, context, access, kind, send);
        return AccessOutcome::Requested;
    }
    let place = std::mem::replace(&mut line.place, Place::Cache);
    perform(line, access);
    match place {
        Place::Cache => AccessOutcome::Hit,
        Place::RemoteAccessCache => AccessOutcome::RemoteAccessCacheHit,
    }
}

/// Requests ownership of a line without a store: a page that moves takes its lines out of every other cache and leaves
/// their contents as they are. With ownership there is nothing to request.
#[inline]
pub fn recall(
    line: &mut CacheLine,
    address: LineAddr,
    context: &NodeContext,
    send: &mut impl FnMut(Message),
) -> AccessOutcome {
    if line.request.is_some() {
        return AccessOutcome::Blocked;
    }
    if line.state == Msi::Dirty {
        return AccessOutcome::Hit;
    }
    line.place = Place::Cache;
    send_request(line, address, context, Access::Load, MessageKind::GetExclusive, send);
    AccessOutcome::Requested
}

/// Retries a NACKed request. The message type depends on the state of the copy.
///
/// # Errors
/// [`ProtocolError`] if no request has been NACKed.
#[inline]
pub fn retry(
    line: &mut CacheLine,
    address: LineAddr,
    context: &NodeContext,
    send: &mut impl FnMut(Message),
) -> Result<(), ProtocolError> {
    let (Some(request), Some(kind)) = (line.request, line.retry_message()) else {
        return Err(unexpected(line, context, MessageKind::Nack, "no request has been NACKed"));
    };
    send_request(line, address, context, request.access, kind, send);
    Ok(())
}

/// Evicts a line from the processor's cache. If the node has a remote access cache, other nodes' lines move there;
/// [`evict_from_node`] evicts them from it. A line with an outstanding request cannot be evicted, because the answer
/// needs its frame.
///
/// # Errors
/// [`ProtocolError`] if a request is outstanding.
#[inline]
pub fn evict(
    line: &mut CacheLine,
    address: LineAddr,
    context: &NodeContext,
    send: &mut impl FnMut(Message),
) -> Result<Eviction, ProtocolError> {
    if line.request.is_none() && context.remote_access_cache && context.home != context.node {
        if line.state != Msi::Invalid {
            line.place = Place::RemoteAccessCache;
            return Ok(Eviction::Kept);
        }
        return Ok(Eviction::Silent);
    }
    evict_from_node(line, address, context, send)
}

/// Evicts the node's copy, wherever it is: a shared copy silently or with a replacement hint, a dirty one with a
/// writeback.
///
/// # Errors
/// [`ProtocolError`] if a request is outstanding.
#[inline]
pub fn evict_from_node(
    line: &mut CacheLine,
    address: LineAddr,
    context: &NodeContext,
    send: &mut impl FnMut(Message),
) -> Result<Eviction, ProtocolError> {
    if line.request.is_some() {
        return Err(unexpected(line, context, MessageKind::Writeback, "the request's answer needs the frame"));
    }
    line.place = Place::Cache;
    let to_home = |kind| Message::new(kind, address, Agent::Home(context.home), context.node);
    match std::mem::take(&mut line.state) {
        Msi::Invalid => Ok(Eviction::Silent),
        Msi::Shared if context.replacement_hints => {
            send(to_home(MessageKind::ReplacementHint));
            Ok(Eviction::Hint)
        }
        Msi::Shared => Ok(Eviction::Silent),
        Msi::Dirty => {
            send(to_home(MessageKind::Writeback).with_version(line.version));
            Ok(Eviction::Writeback)
        }
    }
}

/// Handles one message on the cache side of a node: a line per message type and line state.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this line in a correct run.
#[inline]
pub fn receive(
    line: &mut CacheLine,
    context: &NodeContext,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> Result<NodeOutcome, ProtocolError> {
    use MessageKind as K;
    let kind = message.kind;
    match kind {
        K::Put | K::PutExclusive | K::UpgradeAcknowledge | K::Nack => match line.request {
            Some(request) if !request.nacked => answer(line, request, context, message, send),
            Some(_) => Err(unexpected(line, context, kind, "the request has already been NACKed")),
            None => Err(unexpected(line, context, kind, "no request is outstanding")),
        },
        K::ForwardGet | K::ForwardGetExclusive => Ok(supply(line, context, message, send)),
        K::Invalidate => {
            let place = invalidate(line, context, kind)?;
            send(acknowledgement(message, K::InvalidateAcknowledge));
            Ok(NodeOutcome::Invalidated(place))
        }
        K::ClusterInvalidate => relay(line, context, message, send),
        K::InvalidateAcknowledge | K::ClusterInvalidateAcknowledge => match line.relay {
            Some(relay) if kind == K::InvalidateAcknowledge => Ok(relayed(line, relay, message, send)),
            Some(_) => Err(unexpected(line, context, kind, "clusters are not nested")),
            None => {
                line.collection.balance -= 1;
                Ok(collect(line, context, message.line, send))
            }
        },
        K::Get
        | K::GetExclusive
        | K::Upgrade
        | K::Refill
        | K::ReplacementHint
        | K::Writeback
        | K::SharingWriteback
        | K::OwnershipTransfer
        | K::ForwardNack
        | K::CollectDone => Err(unexpected(line, context, kind, "a message for a home")),
    }
}

/// Handles an answer to the outstanding request: a line per pair of answer and request.
#[inline]
fn answer(
    line: &mut CacheLine,
    request: Request,
    context: &NodeContext,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> Result<NodeOutcome, ProtocolError> {
    use MessageKind as K;
    match (message.kind, request.kind) {
        (K::Nack, _) => Ok(nacked(line, request)),
        // The data may be older than the invalidating store.
        (K::Put, K::Get) if request.invalidated => Ok(nacked(line, request)),
        (K::Put, K::Get) => {
            line.version = message.version;
            Ok(complete(line, Msi::Shared, request))
        }
        (K::PutExclusive, K::GetExclusive | K::Upgrade | K::Refill) => {
            line.version = message.version;
            announce(line, context, message, send);
            Ok(complete(line, Msi::Dirty, request))
        }
        (K::UpgradeAcknowledge, K::Upgrade) => {
            announce(line, context, message, send);
            if line.state == Msi::Shared {
                return Ok(complete(line, Msi::Dirty, request));
            }
            send_request(line, message.line, context, request.access, K::Refill, send);
            Ok(NodeOutcome::Refilling)
        }
        (kind, _) => Err(unexpected(line, context, kind, "the answer does not match the request")),
    }
}

/// Answers a forwarded request at the node that the directory names as the owner.
#[inline]
fn supply(
    line: &mut CacheLine,
    context: &NodeContext,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> NodeOutcome {
    use MessageKind as K;
    let exclusive = message.kind == K::ForwardGetExclusive;
    let (answer, report, state, outcome) = match (line.state, exclusive) {
        (Msi::Dirty, false) => (K::Put, K::SharingWriteback, Msi::Shared, NodeOutcome::Supplied(line.place)),
        (Msi::Dirty, true) => (K::PutExclusive, K::OwnershipTransfer, Msi::Invalid, NodeOutcome::Supplied(line.place)),
        (Msi::Shared | Msi::Invalid, _) => (K::Nack, K::ForwardNack, line.state, NodeOutcome::NotSupplied),
    };
    for (kind, to) in [(answer, Agent::Node(message.requester)), (report, Agent::Home(context.home))] {
        let sent = Message::new(kind, message.line, to, message.requester);
        send(if kind.carries_data() { sent.with_version(line.version) } else { sent });
    }
    line.state = state;
    if state == Msi::Invalid {
        line.place = Place::Cache;
    }
    outcome
}

/// Invalidates the node's copy and returns its location.
///
/// FLASH's controller acknowledges before its processor has received the invalidation (FLASH dissertation, Section
/// 5.2.3). The bus to the processor is a queue, so nothing sent later reaches the processor before it, and one step
/// models both.
#[inline]
fn invalidate(line: &mut CacheLine, context: &NodeContext, kind: MessageKind) -> Result<Option<Place>, ProtocolError> {
    match line.state {
        Msi::Dirty => {
            return Err(unexpected(line, context, kind, "an owner receives forwarded requests, not invalidations"));
        }
        Msi::Shared | Msi::Invalid => {}
    }
    if let Some(request) = &mut line.request {
        request.invalidated = request.kind == MessageKind::Get && !request.nacked;
    }
    let had_copy = std::mem::take(&mut line.state) == Msi::Shared;
    let place = std::mem::take(&mut line.place);
    Ok(had_copy.then_some(place))
}

/// Handles a clustered invalidation: drops the copy and relays the message to the other targets, one by one.
fn relay(
    line: &mut CacheLine,
    context: &NodeContext,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> Result<NodeOutcome, ProtocolError> {
    if line.relay.is_some() {
        return Err(unexpected(line, context, message.kind, "the home has one round of invalidations outstanding"));
    }
    let place = invalidate(line, context, message.kind)?;
    let mut others = message.targets & !(1 << context.node.0);
    let acknowledgements = others.count_ones() as u16;
    while others != 0 {
        let node = NodeId(others.trailing_zeros() as u16);
        others &= others - 1;
        let passed_on = Message::new(MessageKind::Invalidate, message.line, Agent::Node(node), message.requester);
        send(passed_on.collected_by(Agent::Node(context.node)));
    }
    line.relay = Some(Relay { acknowledgements, collector: message.collector, requester: message.requester });
    Ok(NodeOutcome::Relayed { place, others: acknowledgements })
}

/// Handles an acknowledgement from a node of the cluster.
fn relayed(line: &mut CacheLine, relay: Relay, message: &Message, send: &mut impl FnMut(Message)) -> NodeOutcome {
    let acknowledgements = relay.acknowledgements - 1;
    if acknowledgements > 0 {
        line.relay = Some(Relay { acknowledgements, ..relay });
        return NodeOutcome::Acknowledged;
    }
    line.relay = None;
    let kind = MessageKind::ClusterInvalidateAcknowledge;
    send(Message::new(kind, message.line, relay.collector, relay.requester));
    NodeOutcome::LastAcknowledged
}

/// Adds the number of acknowledgements that the home's answer announces: none, unless the requester collects (`/IR`).
#[inline]
fn announce(line: &mut CacheLine, context: &NodeContext, message: &Message, send: &mut impl FnMut(Message)) {
    if message.acknowledgements > 0 {
        line.collection.balance += message.acknowledgements as i16;
        line.collection.announced = true;
        collect(line, context, message.line, send);
    }
}

/// Sends the report to the home once every acknowledgement has arrived.
#[inline]
fn collect(
    line: &mut CacheLine,
    context: &NodeContext,
    address: LineAddr,
    send: &mut impl FnMut(Message),
) -> NodeOutcome {
    if line.collection != (Collection { balance: 0, announced: true }) {
        return NodeOutcome::Acknowledged;
    }
    line.collection = Collection::IDLE;
    send(Message::new(MessageKind::CollectDone, address, Agent::Home(context.home), context.node));
    NodeOutcome::LastAcknowledged
}

/// Completes a granted request and performs its access.
#[inline]
fn complete(line: &mut CacheLine, state: Msi, request: Request) -> NodeOutcome {
    line.state = state;
    line.place = Place::Cache;
    line.request = None;
    perform(line, request.access);
    NodeOutcome::Completed(state)
}

/// Marks the request as NACKed: it must be retried.
#[inline]
fn nacked(line: &mut CacheLine, request: Request) -> NodeOutcome {
    line.request = Some(Request { nacked: true, invalidated: false, ..request });
    NodeOutcome::Retry
}

/// Sends a request to the home.
#[inline]
fn send_request(
    line: &mut CacheLine,
    address: LineAddr,
    context: &NodeContext,
    access: Access,
    kind: MessageKind,
    send: &mut impl FnMut(Message),
) {
    line.request = Some(Request { access, kind, invalidated: false, nacked: false });
    send(Message::new(kind, address, Agent::Home(context.home), context.node));
}

/// Performs the access once the state allows it: a store creates the next version.
#[inline]
fn perform(line: &mut CacheLine, access: Access) {
    if access == Access::Store {
        line.version = line.version.next();
    }
}

fn acknowledgement(invalidation: &Message, kind: MessageKind) -> Message {
    Message::new(kind, invalidation.line, invalidation.collector, invalidation.requester)
}

#[cold]
fn unexpected(line: &CacheLine, context: &NodeContext, kind: MessageKind, reason: &'static str) -> ProtocolError {
    let state = match (line.request, line.state) {
        (Some(Request { nacked: true, .. }), _) => "about to retry",
        (Some(_), _) => "requesting",
        (None, Msi::Invalid) => "invalid",
        (None, Msi::Shared) => "shared",
        (None, Msi::Dirty) => "dirty",
    };
    ProtocolError { at: crate::Agent::Interface(context.node), message: kind.mnemonic(), state, reason }
}
