//! Backoff: the home's output queue is nearly full, so it sends only replies (Prestor 2001, Section 4.1.3).

use protocol::Access;
use protocol::origin::MessageKind as K;
use protocol::origin::{CacheOutcome, Mesi, MessageClass, Transaction, miss_request};

use crate::world::World;

/// A machine of four nodes whose home must back off.
fn full() -> World {
    World { nearly_full: true, ..World::small() }
}

#[test]
fn the_requester_sends_the_invalidations() {
    let mut world = full();
    for cpu in [0, 3, 7] {
        world.run(cpu, Access::ReadPrefetch);
    }
    world.access(4, Access::Store);
    let work = world.deliver(K::ReadExclusive).work();
    assert_eq!((work.transaction, work.invalidations), (Transaction::BackoffInvalidate, 0));
    assert!(world.network.iter().all(|message| message.kind.class() == MessageClass::Reply));
    assert_eq!(world.deliver(K::ExclusiveReply).outcome(), CacheOutcome::DataWaiting);
    assert_eq!(world.deliver(K::BackoffInvalidate).outcome(), CacheOutcome::Waiting);
    assert_eq!(world.network.iter().filter(|message| message.kind == K::Invalidate).count(), 3);
    world.settle();
    assert_eq!(world.mesi(4), Mesi::Modified);
}

#[test]
fn the_list_of_sharers_overtakes_the_reply() {
    let mut world = full();
    world.run(0, Access::ReadPrefetch);
    world.run(2, Access::ReadPrefetch);
    world.access(2, Access::Store);
    world.deliver(K::Upgrade);
    world.deliver(K::BackoffInvalidate);
    for _ in 0..2 {
        world.deliver(K::Invalidate);
        assert_eq!(world.deliver(K::InvalidateAcknowledge).outcome(), CacheOutcome::Waiting);
    }
    assert_eq!(world.deliver(K::UpgradeAcknowledge).outcome(), CacheOutcome::Completed(Mesi::Modified));
    world.settle();
}

#[test]
fn the_requester_sends_the_intervention() {
    for (access, backoff, intervention, transaction) in [
        (Access::Load, K::BackoffReadShared, K::InterventionShared, Transaction::BackoffInterventionShared),
        (Access::Store, K::BackoffReadExclusive, K::InterventionExclusive, Transaction::BackoffInterventionExclusive),
    ] {
        for owners_access in [Access::Load, Access::Store] {
            let mut world = full();
            world.run(6, owners_access);
            world.access(2, access);
            assert_eq!(world.deliver(miss_request(access)).work().transaction, transaction);
            assert_eq!(world.network.iter().map(|message| message.kind).collect::<Vec<_>>(), [backoff]);
            assert_eq!(world.deliver(backoff).outcome(), CacheOutcome::Waiting);
            assert_eq!(world.network.iter().map(|message| message.kind).collect::<Vec<_>>(), [intervention]);
            world.settle();
            assert_ne!(world.mesi(2), Mesi::Invalid);
        }
    }
}

#[test]
fn a_writeback_answers_before_the_backoff_reply_has_come() {
    // The writeback's data arrive first. The requester still sends its intervention, for which the old owner waits.
    let mut world = full();
    world.run(6, Access::Store);
    world.access(2, Access::Store);
    world.deliver_of(2, K::ReadExclusive);
    world.evict(6);
    assert_eq!(world.deliver(K::Writeback).work().transaction, Transaction::WritebackRace);
    assert_eq!(world.deliver(K::ExclusiveResponse).outcome(), CacheOutcome::Waiting);
    assert_eq!(world.deliver(K::WritebackBusyAcknowledge).outcome(), CacheOutcome::WritebackAnsweredIntervention);
    assert_eq!(world.deliver(K::BackoffReadExclusive).outcome(), CacheOutcome::Completed(Mesi::Modified));
    assert_eq!(world.deliver(K::InterventionExclusive).outcome(), CacheOutcome::InterventionIgnored);
    world.settle();
    assert_eq!(world.last_store.0, 2);
}

#[test]
fn without_a_forwarded_request_a_full_queue_changes_nothing() {
    let mut world = full();
    assert_eq!(world.run(2, Access::Store), [K::ReadExclusive, K::ExclusiveReply]);
    world.evict(2);
    world.settle();
    assert_eq!(world.run(2, Access::ReadPrefetch), [K::ReadShared, K::SharedReply]);
}
