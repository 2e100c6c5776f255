//! Registry of the MSI protocols that can be explored: a line each.

use protocol::Access;
use protocol::msi::{
    Clustering, CoarseVector, DynamicPointer, HomeContext, Hybrid, LimitedPointer, Overflow, SharingSet, Site, Variant,
};

use crate::config::Config;
use crate::directory::HOME;
use crate::entry::Protocol;

/// The base protocol.
const BASE: Variant = Variant { clustering: None, acknowledge_requester: false };
/// Acknowledgement to requester.
const TO_REQUESTER: Variant = Variant { clustering: None, acknowledge_requester: true };
/// Clustered invalidation, with clusters of two for more than one sharer, so that few caches use them.
const CLUSTERED: Variant =
    Variant { clustering: Some(Clustering { nodes: 2, threshold: 1 }), acknowledge_requester: false };

/// Links that three caches exhaust; a hint searches two elements, so that it can miss its entry.
const DYNAMIC: DynamicPointer = DynamicPointer { links: 2, search: 2 };
/// Neighbourhoods of two nodes, and two pointers: three caches reach every format but `ALL_SHARED`.
const HYBRID: Hybrid = Hybrid { neighbourhood: 2, pointers: 2, vectors: 1, all_shared: 4 };
/// `ALL_SHARED` from the third sharer on.
const HYBRID_ALL: Hybrid = Hybrid { all_shared: 3, ..HYBRID };
const TWO_POINTERS: LimitedPointer = LimitedPointer { pointers: 2, overflow: Overflow::Evict };
const ONE_POINTER_BROADCAST: LimitedPointer = LimitedPointer { pointers: 1, overflow: Overflow::Broadcast };

/// Registers a protocol of the FLASH family: its name, description, sharing set and variant, and whether there are
/// remote access caches.
#[macro_export]
macro_rules! msi_protocol {
    ($name:literal, $description:literal, $set:expr, $variant:expr, $remote_access_cache:expr) => {
        $crate::directory_protocol!(
            $name,
            $description,
            ::protocol::msi::TRANSITIONS,
            $crate::limits(&[::protocol::Access::Load, ::protocol::Access::Store]),
            $crate::msi_configurations,
            if $variant.acknowledge_requester { $crate::Consistency::Relaxed } else { $crate::Consistency::Sequential },
            |config: &$crate::Config| $crate::msi(config, $set, $variant, $remote_access_cache),
        )
    };
}

/// A protocol with a store that three caches and two lines are needed to exhaust.
macro_rules! with_reclamation {
    ($protocol:expr) => {
        Protocol { configurations: configurations_with_reclamation, ..$protocol }
    };
}

/// Protocols of the FLASH dissertation, and some that it mentions. A new one is a line here.
#[rustfmt::skip]
pub const PROTOCOLS: &[Protocol] = &[
    msi_protocol!("bit-vector", "FLASH: a bit a node (CV=1)", CoarseVector::BIT_VECTOR, BASE, false),
    msi_protocol!("bit-vector/RH", "FLASH: a bit a node, cleared by replacement hints", CoarseVector::PRECISE_BIT_VECTOR, BASE, false),
    msi_protocol!("bit-vector/IC", "FLASH: a bit a node, clustered invalidation", CoarseVector::BIT_VECTOR, CLUSTERED, false),
    msi_protocol!("bit-vector/IR", "FLASH: a bit a node, acknowledgement to requester", CoarseVector::BIT_VECTOR, TO_REQUESTER, false),
    msi_protocol!("cv=2", "FLASH: a bit for two nodes", CoarseVector::coarse(2), BASE, false),
    msi_protocol!("cv=2/LB", "FLASH: a bit for two nodes, one for the home's processor", CoarseVector::coarse_with_local_bit(2), BASE, false),
    msi_protocol!("broadcast", "FLASH: a bit for all nodes (CV=P)", CoarseVector::broadcast(Site::MAX_NODES), BASE, false),
    msi_protocol!("limited-pointer", "FLASH: two pointers, a third sharer displaces the first", TWO_POINTERS, BASE, false),
    msi_protocol!("limited-pointer/B", "one pointer, broadcast from the second sharer on", ONE_POINTER_BROADCAST, BASE, false),
    msi_protocol!("dynamic-pointer", "FLASH: lists in a link store, hints, limited search, reclamation", DYNAMIC, BASE, false),
    msi_protocol!("dynamic-pointer/IR", "FLASH: lists in a link store, acknowledgement to requester", DYNAMIC, TO_REQUESTER, false),
    msi_protocol!("dynamic-pointer/RAC", "FLASH: lists in a link store, remote access caches", DYNAMIC, BASE, true),
    with_reclamation!(msi_protocol!("hybrid", "FLASH: header formats by number and place of sharers, a store of vectors", HYBRID, BASE, false)),
    msi_protocol!("hybrid/all-shared", "FLASH: the hybrid, all shared from three sharers on", HYBRID_ALL, BASE, false),
    with_reclamation!(msi_protocol!("hybrid/IC", "FLASH: the hybrid with clustered invalidation", HYBRID, CLUSTERED, false)),
    with_reclamation!(msi_protocol!("hybrid/IR", "FLASH: the hybrid with acknowledgement to requester", HYBRID, TO_REQUESTER, false)),
    with_reclamation!(msi_protocol!("hybrid/RAC", "FLASH: the hybrid with remote access caches", HYBRID, BASE, true)),
];

/// A protocol of the family in a configuration.
pub fn msi<S: SharingSet>(
    config: &Config,
    set: S,
    variant: Variant,
    remote_access_cache: bool,
) -> protocol::msi::Protocol<S> {
    let context = HomeContext { site: Site { home: HOME, nodes: config.caches }, variant };
    protocol::msi::Protocol { set, context, remote_access_cache }
}

/// Configurations, smallest first. Two caches that share two lines exhaust a link store; three caches with two lines
/// have millions of states for most sharing sets.
pub fn msi_configurations() -> Vec<Config> {
    vec![loads_and_stores(2, 1), loads_and_stores(2, 2), loads_and_stores(3, 1), loads_and_stores(4, 1)]
}

/// Configurations with two lines that are only read: with them, three caches exhaust a store of long vectors.
fn configurations_with_reclamation() -> Vec<Config> {
    let mut configurations = msi_configurations();
    configurations.insert(2, Config { accesses: vec![Access::Load], ..loads_and_stores(3, 2) });
    configurations
}

/// Configuration of loads and stores by this number of caches on this number of lines.
pub fn loads_and_stores(caches: u16, lines: u16) -> Config {
    Config { accesses: vec![Access::Load, Access::Store], ..Config::new(caches, lines) }
}
