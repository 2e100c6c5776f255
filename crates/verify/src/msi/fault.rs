//! Planted faults of the MSI protocol, each in one rule: the checker must find all of them.

use protocol::Access;
use protocol::msi::{
    Agent, CacheLine, Collection, DirectoryState, Insertion, Message, MessageKind, Msi as Copy, Place, Protocol,
    SetWork, SharingSet, Site,
};
use units::{LineAddr, NodeId};

use super::protocols::loads_and_stores;
use crate::config::Config;
use crate::directory::{AtCaches, AtHome, Plant, Planted};
use crate::model::Property;

/// Part of the protocol that a fault needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Needs {
    /// Every protocol has it.
    Nothing,
    /// Acknowledgements collected at the home.
    HomeCollects,
    /// Acknowledgements collected at the requester.
    RequesterCollects,
    /// Clustered invalidation.
    Clusters,
    /// Replacement hints.
    Hints,
    /// A sharing set that distinguishes one sharer from all nodes.
    Selective,
    /// A sharing set that can include a node that is no sharer.
    Superset,
    /// A sharing set with a store.
    Store,
    /// A store that two lines can exhaust.
    Reclamation,
    /// A sharing set that displaces sharers.
    Displacement,
    /// A remote access cache.
    RemoteAccessCache,
}

/// Faults that can be planted in a protocol with this sharing set and variant.
pub fn faults<S: SharingSet>(protocol: &Protocol<S>) -> Vec<Planted<Protocol<S>>> {
    let traits = Traits::of(&protocol.set);
    let variant = protocol.context.variant;
    let has = |needs| match needs {
        Needs::Nothing => true,
        Needs::HomeCollects => !variant.acknowledge_requester,
        Needs::RequesterCollects => variant.acknowledge_requester,
        Needs::Clusters => variant.clustering.is_some(),
        Needs::Hints => protocol.set.replacement_hints(),
        Needs::Selective => traits.selective,
        Needs::Superset => traits.superset,
        Needs::Store | Needs::Reclamation => traits.store,
        Needs::Displacement => traits.displaces,
        Needs::RemoteAccessCache => protocol.remote_access_cache,
    };
    let known = table().into_iter().filter(|&(_, _, needs, _)| has(needs));
    known.map(|(name, breaks, needs, plant)| Planted { name, breaks, config: config_for(needs), plant }).collect()
}

/// Every fault: its name, the property that it violates first, the part of the protocol that it needs, and the fault.
#[rustfmt::skip]
fn table<S: SharingSet>() -> Vec<(&'static str, Property, Needs, Plant<Protocol<S>>)> {
    use MessageKind as K;
    use Plant::{Caches, Home, NoOrder, NoRetry, Refuse};
    use Property as P;
    vec![
        // A node invalidates its copy and does not acknowledge.
        ("drop-acknowledgement", P::DeadlockFreedom, Needs::Nothing, Caches(|step| drop_sent(step.sent, K::InvalidateAcknowledge))),
        // A node acknowledges an invalidation and keeps its copy.
        ("keep-invalidated-copy", P::LatestValue, Needs::Nothing, Caches(|step| if invalidated(step) { keep_copy(step) })),
        // The home waits for one acknowledgement fewer than are in flight.
        ("expect-too-few-acknowledgements", P::ExpectedMessage, Needs::HomeCollects, Home(|_, step| expect_too_few(step))),
        // The home omits the last of several sharers.
        ("forget-sharer", P::DirectoryAgreement, Needs::Selective, Home(forget_sharer)),
        // A read ignores that an invalidation overtook its answer.
        ("forget-overtaking-invalidation", P::LatestValue, Needs::Nothing, Caches(|step| step.lines[0].request.iter_mut().for_each(|request| request.invalidated = false))),
        // Memory ignores the data of a former owner.
        ("downgrade-without-writeback", P::DirectoryAgreement, Needs::Nothing, Home(|_, step| if handles(step, K::SharingWriteback) { step.line.memory = step.before.memory; })),
        // A dirty line is dropped as silently as a clean one.
        ("drop-dirty-line", P::DirectoryAgreement, Needs::Nothing, Caches(|step| drop_sent(step.sent, K::Writeback))),
        // A NACKed request is not retried.
        ("forget-retry", P::DeadlockFreedom, Needs::Nothing, NoRetry),
        // The home NACKs every upgrade.
        ("nack-upgrades", P::EventualCompletion, Needs::Nothing, Refuse(nack_upgrade)),
        // A node NACKs a forwarded request without a NACK to the home.
        ("nack-silently", P::EventualCompletion, Needs::Nothing, Caches(|step| drop_sent(step.sent, K::ForwardNack))),
        // The home ignores the owner's writeback when the forwarded request is NACKed.
        ("forget-writeback", P::EventualCompletion, Needs::Nothing, Home(|_, step| forget_writeback(step, K::ForwardNack))),
        // The home ignores the new owner's writeback when the former owner reports.
        ("forget-early-writeback", P::DirectoryAgreement, Needs::Nothing, Home(|_, step| forget_writeback(step, K::OwnershipTransfer))),
        // A granted upgrade completes although the copy is gone.
        ("upgrade-nothing", P::LatestValue, Needs::Superset, Caches(upgrade_nothing)),
        // A request overtakes its sender's replacement hint.
        ("overtake-hint", P::DirectoryAgreement, Needs::Hints, NoOrder),
        // The store entries of an emptied set are not freed.
        ("leak-entries", P::StoreAccounting, Needs::Store, Home(leak_entries)),
        // The home reclaims store entries without invalidations.
        ("reclaim-without-invalidation", P::DirectoryAgreement, Needs::Reclamation, Home(|_, step| if step.message.is_none() { let_copies_be(step); })),
        // The home displaces a sharer without an invalidation.
        ("displace-without-invalidation", P::DirectoryAgreement, Needs::Displacement, Home(|_, step| if step.message.is_some() { let_copies_be(step); })),
        // The requester reports the collection of acknowledgements as complete when it receives the line.
        ("report-too-early", P::LatestValue, Needs::RequesterCollects, Caches(report_too_early)),
        // A cluster acknowledges before its members have acknowledged.
        ("acknowledge-for-cluster", P::LatestValue, Needs::Clusters, Caches(acknowledge_for_cluster)),
        // An invalidation does not reach the remote access cache.
        ("overlook-remote-access-cache", P::LatestValue, Needs::RemoteAccessCache, Caches(|step| if invalidated(step) && step.before[0].place == Place::RemoteAccessCache { keep_copy(step); })),
    ]
}

/// A small configuration that reaches the part of the protocol that a fault needs.
fn config_for(needs: Needs) -> Config {
    match needs {
        // One line alone may not exhaust the store; loads alone do, and keep the state space small.
        Needs::Reclamation => Config { accesses: vec![Access::Load], ..loads_and_stores(3, 2) },
        _ => loads_and_stores(3, 1),
    }
}

/// Traits of a sharing set, determined by trials with three nodes.
struct Traits {
    /// One sharer alone does not imply both other nodes.
    selective: bool,
    /// Two sharers can imply the third node.
    superset: bool,
    /// The set takes entries of a store.
    store: bool,
    /// The set displaces sharers.
    displaces: bool,
}

impl Traits {
    fn of<S: SharingSet>(set: &S) -> Self {
        let mut traits = Self { selective: false, superset: false, store: false, displaces: false };
        for left_out in 0..3 {
            let (first, second) = (NodeId((left_out + 1) % 3), NodeId((left_out + 2) % 3));
            traits.selective |= try_out(set, &[first]).named.count_ones() < 3;
            traits.superset |= try_out(set, &[first, second]).named >> left_out & 1 == 1;
            let all = try_out(set, &[first, second, NodeId(left_out)]);
            traits.displaces |= all.displaces;
            traits.store |= all.entries > 0;
        }
        traits
    }
}

/// Result of adding nodes to an empty set.
struct Tried {
    /// Nodes that the set includes, one bit each.
    named: u32,
    /// Whether the set displaced a sharer.
    displaces: bool,
    /// Store entries that the set took.
    entries: u32,
}

/// Adds nodes to an empty set, as far as there is room.
fn try_out<S: SharingSet>(set: &S, nodes: &[NodeId]) -> Tried {
    let at = Site { home: NodeId(0), nodes: 3 };
    let (mut header, mut store, mut work) = (S::Header::default(), set.store(), SetWork::default());
    let (mut named, mut displaces) = (0, false);
    for &node in nodes {
        if set.has_room(&at, &header, &store, &[node]) {
            displaces |= set.insert(&at, LineAddr(0), &mut header, &mut store, node, &mut work) != Insertion::Done;
        }
    }
    let entries = set.entries_in_use(&store);
    set.drain(&at, &mut header, &mut store, &mut work, |node, _| named |= 1 << node.0);
    Tried { named, displaces, entries }
}

type Step<'a, S> = AtCaches<'a, Protocol<S>>;
type HomeStep<'a, S> = AtHome<'a, Protocol<S>>;

fn drop_sent(sent: &mut Vec<Message>, kind: MessageKind) {
    sent.retain(|message| message.kind != kind);
}

fn handles<S: SharingSet>(step: &HomeStep<'_, S>, kind: MessageKind) -> bool {
    step.message.is_some_and(|message| message.kind == kind)
}

/// Whether a node's shared copy has been invalidated and acknowledged.
fn invalidated<S: SharingSet>(step: &Step<'_, S>) -> bool {
    step.before[0].state == Copy::Shared
        && step.lines[0].state == Copy::Invalid
        && step.sent.iter().any(|message| message.kind == MessageKind::InvalidateAcknowledge)
}

fn keep_copy<S: SharingSet>(step: &mut Step<'_, S>) {
    let before = &step.before[0];
    (step.lines[0].state, step.lines[0].place) = (before.state, before.place);
}

fn expect_too_few<S: SharingSet>(step: &mut HomeStep<'_, S>) {
    if let (DirectoryState::Clean, DirectoryState::Invalidating { acknowledgements, .. }) =
        (step.before.entry.state, &mut step.line.entry.state)
        && *acknowledgements > 1
    {
        *acknowledgements -= 1;
    }
}

fn forget_sharer<S: SharingSet>(protocol: &Protocol<S>, step: &mut HomeStep<'_, S>) {
    let (Some(message), (set, at)) = (step.message, (&protocol.set, &protocol.context.site)) else { return };
    let (header, mut nodes, mut work) = (&mut step.line.entry.sharers, Vec::new(), SetWork::default());
    set.drain(at, &mut header.clone(), &mut step.store.clone(), &mut work, |node, _| nodes.push(node));
    nodes.dedup();
    if nodes.len() > 1 {
        set.drain(at, header, step.store, &mut work, |_, _| {});
        set.insert(at, message.line, header, step.store, nodes[0], &mut work);
    }
}

fn nack_upgrade(request: &Message) -> Option<Message> {
    let Message { kind, line, requester, .. } = *request;
    (kind == MessageKind::Upgrade).then(|| Message::new(MessageKind::Nack, line, Agent::Node(requester), requester))
}

/// Ignores a writeback when the forwarded request ends with this report.
fn forget_writeback<S: SharingSet>(step: &mut HomeStep<'_, S>, report: MessageKind) {
    if let (DirectoryState::Forwarded { owner, requester, .. }, DirectoryState::Clean, true) =
        (step.before.entry.state, step.line.entry.state, handles(step, report))
    {
        let owner = if report == MessageKind::ForwardNack { owner } else { requester };
        step.line.entry.state = DirectoryState::Dirty { owner };
    }
}

fn upgrade_nothing<S: SharingSet>(step: &mut Step<'_, S>) {
    let (before, line) = (&step.before[0], &mut step.lines[0]);
    if has_requested(before, MessageKind::Upgrade) && has_requested(line, MessageKind::Refill) {
        step.sent.clear();
        (line.state, line.request) = (Copy::Dirty, None);
        line.version = before.version.next();
        *step.performed = Some(Access::Store);
    }
}

/// Whether a line's outstanding request has this type.
fn has_requested(line: &CacheLine, kind: MessageKind) -> bool {
    line.request.is_some_and(|request| request.kind == kind && !request.nacked)
}

fn leak_entries<S: SharingSet>(protocol: &Protocol<S>, step: &mut HomeStep<'_, S>) {
    let (set, at) = (&protocol.set, &protocol.context.site);
    let (before, Some(message)) = (&step.before.entry.sharers, step.message) else { return };
    if set.entries_held(before, step.store_before) > 0 && set.is_empty(&step.line.entry.sharers) {
        let mut nodes = Vec::new();
        let form = set.snapshot(at, before, step.store_before, |node| nodes.push(node));
        set.restore(at, message.line, step.store, form, &nodes);
    }
}

/// Neither invalidates displaced copies nor waits for them.
fn let_copies_be<S: SharingSet>(step: &mut HomeStep<'_, S>) {
    let state = &mut step.line.entry.state;
    if let (DirectoryState::Clean, DirectoryState::Evicting { .. }) = (step.before.entry.state, *state) {
        *state = DirectoryState::Clean;
        drop_sent(step.sent, MessageKind::Invalidate);
        drop_sent(step.sent, MessageKind::ClusterInvalidate);
    }
}

fn report_too_early<S: SharingSet>(step: &mut Step<'_, S>) {
    if step.lines[0].collection.announced {
        step.lines[0].collection = Collection::IDLE;
        let (line, home, node) = (step.site.line, Agent::Home(step.site.home), NodeId(step.site.cache.0));
        step.sent.push(Message::new(MessageKind::CollectDone, line, home, node));
    }
}

fn acknowledge_for_cluster<S: SharingSet>(step: &mut Step<'_, S>) {
    if let (None, Some(relay)) = (step.before[0].relay, step.lines[0].relay) {
        step.lines[0].relay = None;
        let kind = MessageKind::ClusterInvalidateAcknowledge;
        step.sent.push(Message::new(kind, step.site.line, relay.collector, relay.requester));
    }
}
