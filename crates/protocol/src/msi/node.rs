//! The cache side of the MSI protocol: what a node does with its processor's accesses and with messages.
//!
//! - *An invalidation during a `GET`* is acknowledged at once. A copy that arrives afterwards may be the old one: it is
//!   discarded and the request tried again. One that comes during a request for ownership says nothing about the answer.
//! - *A forwarded request for a line that is not dirty here* is refused: it was written back, or is still on its way.
//! - *Acknowledgements for the requester* (`/IR`) may come before the line does; the store does not wait for them, and the
//!   line may even be written back before they are all in. The home keeps everybody else away until it hears of the last.

use super::cache_line::{Access, CacheLine, Collection, Msi, Place, Relay, Request};
use super::{Agent, Message, MessageKind, NodeContext};
use crate::ProtocolError;
use units::{LineAddr, NodeId};

/// What became of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessOutcome {
    /// Done: the cache had it.
    Hit,
    /// Done: the remote access cache had it, and it is in the processor's cache now.
    RemoteAccessCacheHit,
    /// A request has been sent.
    Requested,
    /// A request is outstanding on the line: try again after it is done.
    Blocked,
}

/// What became of an eviction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eviction {
    /// Dropped without a message: shared, or not there.
    Silent,
    /// Dropped, and a replacement hint sent.
    Hint,
    /// A writeback has been sent.
    Writeback,
    /// Moved into the remote access cache.
    Kept,
}

/// What a message did at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeOutcome {
    /// The request is complete and the access performed.
    Completed(Msi),
    /// The request was refused, or its answer overtaken: [`retry`] is due.
    Retry,
    /// The upgrade was granted, but the copy is gone: the data have been asked for.
    Refilling,
    /// An invalidation; whether there was a copy, and where.
    Invalidated(Option<Place>),
    /// An invalidation, passed on.
    Relayed {
        /// Where there was a copy.
        place: Option<Place>,
        /// To how many others.
        others: u16,
    },
    /// A forwarded request was answered with the dirty line.
    Supplied(Place),
    /// A forwarded request was refused: the line is not here.
    NotSupplied,
    /// An acknowledgement, and more are to come.
    Acknowledged,
    /// The last acknowledgement: the collector has been told.
    LastAcknowledged,
}

/// Performs an access, or starts the request that it takes.
///
/// A store makes the next [`crate::Version`].
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
    if let Some(kind) = line.asks(access) {
        line.place = Place::Cache;
        ask(line, address, context, access, kind, send);
        return AccessOutcome::Requested;
    }
    let place = std::mem::replace(&mut line.place, Place::Cache);
    perform(line, access);
    match place {
        Place::Cache => AccessOutcome::Hit,
        Place::RemoteAccessCache => AccessOutcome::RemoteAccessCacheHit,
    }
}

/// Sends a refused request again. What it asks for depends on what is left of the copy.
///
/// # Errors
/// [`ProtocolError`] if no request has been refused.
#[inline]
pub fn retry(
    line: &mut CacheLine,
    address: LineAddr,
    context: &NodeContext,
    send: &mut impl FnMut(Message),
) -> Result<(), ProtocolError> {
    let (Some(request), Some(kind)) = (line.request, line.asks_again()) else {
        return Err(unexpected(line, context, MessageKind::NegativeAcknowledge, "no request has been refused"));
    };
    ask(line, address, context, request.access, kind, send);
    Ok(())
}

/// Makes room in the processor's cache. With a remote access cache, other nodes' lines go there; [`evict_from_node`] makes
/// room in that. A line with a request outstanding cannot be evicted: its frame is where the answer goes.
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

/// Drops the node's copy, wherever it is: a shared one silently or with a hint, a dirty one by writing it back.
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

/// Handles one message on the cache side of a node: a line per kind of message and what it meets.
///
/// # Errors
/// [`ProtocolError`] if the message cannot reach this line in a faithful run.
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
        K::Put | K::PutExclusive | K::UpgradeAcknowledge | K::NegativeAcknowledge => match line.request {
            Some(request) if !request.refused => answer(line, request, context, message, send),
            Some(_) => Err(unexpected(line, context, kind, "the request has already been refused")),
            None => Err(unexpected(line, context, kind, "nothing was asked that this answers")),
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
        | K::ForwardNegativeAcknowledge
        | K::CollectDone => Err(unexpected(line, context, kind, "it is for a home")),
    }
}

/// An answer to the outstanding request: a line per pair of answer and request.
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
        (K::NegativeAcknowledge, _) => Ok(refused(line, request)),
        // The copy may be older than the store that the invalidation announced.
        (K::Put, K::Get) if request.invalidated => Ok(refused(line, request)),
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
            ask(line, message.line, context, request.access, K::Refill, send);
            Ok(NodeOutcome::Refilling)
        }
        (kind, _) => Err(unexpected(line, context, kind, "something else was asked for")),
    }
}

/// A forwarded request at whom the home takes for the owner.
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
        (Msi::Shared | Msi::Invalid, _) => {
            (K::NegativeAcknowledge, K::ForwardNegativeAcknowledge, line.state, NodeOutcome::NotSupplied)
        }
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

/// Drops the node's copy and says where it was.
///
/// FLASH's controller acknowledges before its processor has taken the invalidation (FLASH dissertation, Section 5.2.3); as
/// the bus to the processor is a queue, the processor sees nothing later before it, and one step stands for both.
#[inline]
fn invalidate(line: &mut CacheLine, context: &NodeContext, kind: MessageKind) -> Result<Option<Place>, ProtocolError> {
    match line.state {
        Msi::Dirty => return Err(unexpected(line, context, kind, "an owner is asked by a forwarded request")),
        Msi::Shared | Msi::Invalid => {}
    }
    if let Some(request) = &mut line.request {
        request.invalidated = request.kind == MessageKind::Get && !request.refused;
    }
    let had_copy = std::mem::take(&mut line.state) == Msi::Shared;
    let place = std::mem::take(&mut line.place);
    Ok(had_copy.then_some(place))
}

/// A clustered invalidation: drops the copy and passes the message on to the others, one by one.
fn relay(
    line: &mut CacheLine,
    context: &NodeContext,
    message: &Message,
    send: &mut impl FnMut(Message),
) -> Result<NodeOutcome, ProtocolError> {
    if line.relay.is_some() {
        return Err(unexpected(line, context, message.kind, "the home has one round of invalidations under way"));
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

/// An acknowledgement from a node of the cluster.
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

/// The home has said how many acknowledgements to collect: none, unless the requester collects (`/IR`).
#[inline]
fn announce(line: &mut CacheLine, context: &NodeContext, message: &Message, send: &mut impl FnMut(Message)) {
    if message.acknowledgements > 0 {
        line.collection.balance += message.acknowledgements as i16;
        line.collection.announced = true;
        collect(line, context, message.line, send);
    }
}

/// Tells the home if every acknowledgement is in.
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

/// The request is granted: the access is performed.
#[inline]
fn complete(line: &mut CacheLine, state: Msi, request: Request) -> NodeOutcome {
    line.state = state;
    line.place = Place::Cache;
    line.request = None;
    perform(line, request.access);
    NodeOutcome::Completed(state)
}

/// The request must be tried again.
#[inline]
fn refused(line: &mut CacheLine, request: Request) -> NodeOutcome {
    line.request = Some(Request { refused: true, invalidated: false, ..request });
    NodeOutcome::Retry
}

/// Sends a request to the home.
#[inline]
fn ask(
    line: &mut CacheLine,
    address: LineAddr,
    context: &NodeContext,
    access: Access,
    kind: MessageKind,
    send: &mut impl FnMut(Message),
) {
    line.request = Some(Request { access, kind, invalidated: false, refused: false });
    send(Message::new(kind, address, Agent::Home(context.home), context.node));
}

/// The access itself, once the state allows it: a store makes new contents.
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
        (Some(Request { refused: true, .. }), _) => "about to retry",
        (Some(_), _) => "requesting",
        (None, Msi::Invalid) => "invalid",
        (None, Msi::Shared) => "shared",
        (None, Msi::Dirty) => "dirty",
    };
    ProtocolError { at: crate::Agent::Interface(context.node), message: kind.mnemonic(), state, reason }
}
