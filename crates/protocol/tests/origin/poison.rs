//! Directory poisoning: the page copy engine invalidates every copy of a line (Prestor 2001, Section 3.2.1).

use protocol::Access;
use protocol::origin::MessageKind as K;
use protocol::origin::{CacheOutcome, DirectoryState, Eviction, Mesi, RequestOutcome, Transaction, miss_request};

use crate::world::World;

/// Asserts that the line is poisoned and no cache has a copy.
fn assert_poisoned(world: &World) {
    assert_eq!(world.entry.state, DirectoryState::Poisoned);
    assert!(world.caches.iter().all(|cache| cache.state == Mesi::Invalid));
}

#[test]
fn a_poison_read_of_an_unowned_line_returns_the_data() {
    let mut world = World::small();
    assert_eq!(world.run(2, Access::PoisonRead), [K::PoisonRead, K::PoisonReply]);
    assert_poisoned(&world);
}

#[test]
fn a_poison_read_invalidates_every_copy_before_it_completes() {
    let mut world = World::small();
    for cpu in [0, 2, 3, 7] {
        world.run(cpu, Access::ReadPrefetch);
    }
    world.access(2, Access::PoisonRead);
    let work = world.deliver(K::PoisonRead).work();
    assert_eq!((work.transaction, work.invalidations), (Transaction::Invalidate, 3));
    assert_eq!(world.deliver(K::PoisonReply).outcome(), CacheOutcome::DataWaiting);
    world.settle();
    assert_poisoned(&world);
}

#[test]
fn a_poison_read_takes_the_line_from_its_owner() {
    for (owners_access, nearly_full) in [(Access::Load, false), (Access::Store, false), (Access::Store, true)] {
        let mut world = World { nearly_full, ..World::small() };
        world.run(6, owners_access);
        world.run(2, Access::PoisonRead);
        assert_poisoned(&world);
        // The copy engine receives the last contents, from whichever cache had them.
        assert_eq!(world.cache(2).version, world.last_store);
    }
}

#[test]
fn a_writeback_crosses_a_poison_read() {
    let mut world = World::small();
    world.run(6, Access::Store);
    world.access(2, Access::PoisonRead);
    world.deliver(K::PoisonRead);
    world.evict(6);
    assert_eq!(world.deliver(K::Writeback).work().transaction, Transaction::WritebackRace);
    world.settle();
    assert_poisoned(&world);
    assert_eq!(world.cache(2).version.0, 1);
}

#[test]
fn a_poison_read_first_writes_back_the_own_copy() {
    let mut world = World::small();
    world.run(2, Access::Store);
    assert_eq!(world.access(2, Access::PoisonRead), RequestOutcome::Blocked);
    world.settle();
    assert_eq!(world.access(2, Access::PoisonRead), RequestOutcome::Requested);
    world.settle();
    assert_poisoned(&world);
    assert_eq!(world.cache(2).version.0, 1);
}

#[test]
fn every_access_to_a_poisoned_line_is_a_bus_error() {
    for access in Access::ALL {
        let mut world = World::small();
        world.run(2, Access::PoisonRead);
        world.access(4, access);
        assert_eq!(world.deliver(miss_request(access)).work().transaction, Transaction::BusError);
        assert_eq!(world.deliver(K::BusError).outcome(), CacheOutcome::BusError);
        world.settle();
        assert_poisoned(&world);
    }
}

#[test]
fn an_upgrade_meets_the_poison_before_its_invalidation_does() {
    let mut world = World::small();
    world.run(4, Access::ReadPrefetch);
    world.access(2, Access::PoisonRead);
    world.deliver(K::PoisonRead);
    world.access(4, Access::Store);
    world.deliver(K::Upgrade);
    assert_eq!(world.deliver(K::BusError).outcome(), CacheOutcome::BusError);
    assert_eq!(world.mesi(4), Mesi::Invalid);
    assert_eq!(world.evict(4), Eviction::Silent);
    world.settle();
    assert_poisoned(&world);
}
