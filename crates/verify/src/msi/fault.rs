//! Planted faults of the MSI protocol, each in one rule: the checker must find all of them.

use protocol::msi::{
    Agent, CacheLine, Collection, DirectoryState, Entry, Insertion, Message, MessageKind, Msi as Copy, Place, SetWork,
    SharingSet, Site, Variant,
};
use protocol::{Access, Version};
use units::{LineAddr, NodeId};

use super::protocols::loads_and_stores;
use super::state::HomeLine;
use crate::config::Config;
use crate::model::Property;
use crate::registry::Fault;

macro_rules! mutations {
    ($( $(#[$doc:meta])* $name:ident = $text:literal, $property:ident, $needs:ident; )*) => {
        /// A fault in one rule of the protocol.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Mutation { $( $(#[$doc])* $name, )* }

        impl Mutation {
            /// Every fault: its name, the property that it violates first, and the part of the protocol that it needs.
            const ALL: &'static [(&'static str, Property, Needs)] = &[$( ($text, Property::$property, Needs::$needs), )*];

            /// Fault of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $( $text => Some(Self::$name), )* _ => None }
            }
        }
    };
}

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

mutations! {
    /// A node invalidates its copy and does not acknowledge.
    DropAcknowledgement = "drop-acknowledgement", DeadlockFreedom, Nothing;
    /// A node acknowledges an invalidation and keeps its copy.
    KeepInvalidatedCopy = "keep-invalidated-copy", LatestValue, Nothing;
    /// The home waits for one acknowledgement fewer than are in flight.
    ExpectTooFewAcknowledgements = "expect-too-few-acknowledgements", ExpectedMessage, HomeCollects;
    /// The home omits the last of several sharers.
    ForgetSharer = "forget-sharer", DirectoryAgreement, Selective;
    /// A read ignores that an invalidation overtook its answer.
    ForgetOvertakingInvalidation = "forget-overtaking-invalidation", LatestValue, Nothing;
    /// Memory ignores the data of a former owner.
    DowngradeWithoutWriteback = "downgrade-without-writeback", DirectoryAgreement, Nothing;
    /// A dirty line is dropped as silently as a clean one.
    DropDirtyLine = "drop-dirty-line", DirectoryAgreement, Nothing;
    /// A NACKed request is not retried.
    ForgetRetry = "forget-retry", DeadlockFreedom, Nothing;
    /// The home NACKs every upgrade.
    NackUpgrades = "nack-upgrades", EventualCompletion, Nothing;
    /// A node NACKs a forwarded request without a NACK to the home.
    NackSilently = "nack-silently", EventualCompletion, Nothing;
    /// The home ignores the owner's writeback when the forwarded request is NACKed.
    ForgetWriteback = "forget-writeback", EventualCompletion, Nothing;
    /// The home ignores the new owner's writeback when the former owner reports.
    ForgetEarlyWriteback = "forget-early-writeback", DirectoryAgreement, Nothing;
    /// A granted upgrade completes although the copy is gone.
    UpgradeNothing = "upgrade-nothing", LatestValue, Superset;
    /// A request overtakes its sender's replacement hint.
    OvertakeHint = "overtake-hint", DirectoryAgreement, Hints;
    /// The store entries of an emptied set are not freed.
    LeakEntries = "leak-entries", StoreAccounting, Store;
    /// The home reclaims store entries without invalidations.
    ReclaimWithoutInvalidation = "reclaim-without-invalidation", DirectoryAgreement, Reclamation;
    /// The home displaces a sharer without an invalidation.
    DisplaceWithoutInvalidation = "displace-without-invalidation", DirectoryAgreement, Displacement;
    /// The requester reports the collection of acknowledgements as complete when it receives the line.
    ReportTooEarly = "report-too-early", LatestValue, RequesterCollects;
    /// A cluster acknowledges before its members have acknowledged.
    AcknowledgeForCluster = "acknowledge-for-cluster", LatestValue, Clusters;
    /// An invalidation does not reach the remote access cache.
    OverlookRemoteAccessCache = "overlook-remote-access-cache", LatestValue, RemoteAccessCache;
}

/// Registry entries of the faults that a protocol with this sharing set and variant can have.
pub fn msi_faults<S: SharingSet>(set: &S, variant: Variant, remote_access_cache: bool) -> Vec<Fault> {
    let traits = Traits::of(set);
    let has = |needs| match needs {
        Needs::Nothing => true,
        Needs::HomeCollects => !variant.acknowledge_requester,
        Needs::RequesterCollects => variant.acknowledge_requester,
        Needs::Clusters => variant.clustering.is_some(),
        Needs::Hints => set.replacement_hints(),
        Needs::Selective => traits.selective,
        Needs::Superset => traits.superset,
        Needs::Store | Needs::Reclamation => traits.store,
        Needs::Displacement => traits.displaces,
        Needs::RemoteAccessCache => remote_access_cache,
    };
    let known = Mutation::ALL.iter().filter(|(_, _, needs)| has(*needs));
    known.map(|&(name, breaks, needs)| Fault { name, breaks, config: config_for(needs) }).collect()
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

impl Mutation {
    /// Whether a fault makes the home NACK a request that it would grant.
    pub fn nacks(self, request: &Message) -> bool {
        self == Self::NackUpgrades && request.kind == MessageKind::Upgrade
    }

    /// Applies a fault at the home to the line and the messages; `before` and `memory` are the state and the contents
    /// before.
    pub fn at_home<H: Default>(
        self,
        before: DirectoryState,
        memory: Version,
        message: &Message,
        home: &mut HomeLine<H>,
        sent: &mut Vec<Message>,
    ) {
        use DirectoryState as D;
        match (self, before, &mut home.entry.state) {
            (Self::ExpectTooFewAcknowledgements, D::Clean, D::Invalidating { acknowledgements, .. })
                if *acknowledgements > 1 =>
            {
                *acknowledgements -= 1;
            }
            (Self::DowngradeWithoutWriteback, _, _) if message.kind == MessageKind::SharingWriteback => {
                home.memory = memory;
            }
            (Self::ForgetWriteback, D::Forwarded { owner, .. }, state @ D::Clean)
                if message.kind == MessageKind::ForwardNack =>
            {
                *state = D::Dirty { owner };
            }
            (Self::ForgetEarlyWriteback, D::Forwarded { requester, .. }, state @ D::Clean)
                if message.kind == MessageKind::OwnershipTransfer =>
            {
                *state = D::Dirty { owner: requester };
            }
            (Self::DisplaceWithoutInvalidation, _, state @ D::Evicting { .. }) if before == D::Clean => {
                *state = D::Clean;
                sent.retain(|message| message.kind != MessageKind::Invalidate);
            }
            _ => {}
        }
    }

    /// Applies a fault at the home to the sharing set; `before` is the set, and the store, before.
    pub fn at_set<S: SharingSet>(
        self,
        set: &S,
        before: (&S::Header, &S::Store),
        at: &Site,
        line: LineAddr,
        entry: &mut Entry<S::Header>,
        store: &mut S::Store,
    ) {
        match self {
            Self::LeakEntries if set.entries_held(before.0, before.1) > 0 && set.is_empty(&entry.sharers) => {
                let mut nodes = Vec::new();
                let form = set.snapshot(at, before.0, before.1, |node| nodes.push(node));
                set.restore(at, line, store, form, &nodes);
            }
            Self::ForgetSharer => {
                let (mut nodes, mut work) = (Vec::new(), SetWork::default());
                let mut probed = store.clone();
                set.drain(at, &mut entry.sharers.clone(), &mut probed, &mut work, |node, _| nodes.push(node));
                nodes.dedup();
                if nodes.len() > 1 {
                    set.drain(at, &mut entry.sharers, store, &mut work, |_, _| {});
                    set.insert(at, line, &mut entry.sharers, store, nodes[0], &mut work);
                }
            }
            _ => {}
        }
    }

    /// Applies a fault at a node to its line and the messages; `before` is the line before.
    pub fn at_node(
        self,
        node: NodeId,
        line: LineAddr,
        before: &CacheLine,
        cache: &mut CacheLine,
        sent: &mut Vec<Message>,
    ) {
        let invalidated = before.state == Copy::Shared
            && cache.state == Copy::Invalid
            && sent.iter().any(|message| message.kind == MessageKind::InvalidateAcknowledge);
        match self {
            Self::DropAcknowledgement => sent.retain(|message| message.kind != MessageKind::InvalidateAcknowledge),
            Self::KeepInvalidatedCopy if invalidated => {
                (cache.state, cache.place) = (before.state, before.place);
            }
            Self::OverlookRemoteAccessCache if invalidated && before.place == Place::RemoteAccessCache => {
                (cache.state, cache.place) = (before.state, before.place);
            }
            Self::ForgetOvertakingInvalidation => {
                if let Some(request) = &mut cache.request {
                    request.invalidated = false;
                }
            }
            Self::DropDirtyLine => sent.retain(|message| message.kind != MessageKind::Writeback),
            Self::NackSilently => sent.retain(|message| message.kind != MessageKind::ForwardNack),
            Self::UpgradeNothing
                if has_requested(before, MessageKind::Upgrade) && has_requested(cache, MessageKind::Refill) =>
            {
                sent.clear();
                (cache.state, cache.request) = (Copy::Dirty, None);
                cache.version = before.version.next();
            }
            Self::ReportTooEarly if cache.collection.announced => {
                cache.collection = Collection::IDLE;
                let home = Agent::Home(NodeId(0));
                sent.push(Message::new(MessageKind::CollectDone, line, home, node));
            }
            Self::AcknowledgeForCluster if before.relay.is_none() => {
                if let Some(relay) = cache.relay.take() {
                    let kind = MessageKind::ClusterInvalidateAcknowledge;
                    sent.push(Message::new(kind, line, relay.collector, relay.requester));
                }
            }
            _ => {}
        }
    }
}

/// Whether a line's outstanding request has this type.
fn has_requested(cache: &CacheLine, kind: MessageKind) -> bool {
    cache.request.is_some_and(|request| request.kind == kind && !request.nacked)
}
