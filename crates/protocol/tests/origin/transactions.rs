//! Transactions without races, and the messages that each takes (Prestor 2001, Sections 4.1.2 and 4.1.3).

use protocol::Access;
use protocol::origin::MessageKind as K;
use protocol::origin::{
    CacheOutcome, DirectoryState, Eviction, Mesi, RequestOutcome, Supplied, Transaction, miss_request,
};
use units::CpuId;

use crate::world::World;

#[test]
fn a_load_of_an_unowned_line_gets_it_exclusive() {
    let mut world = World::small();
    assert_eq!(world.run(2, Access::Load), [K::Read, K::ExclusiveReply]);
    assert_eq!(
        (world.mesi(2), world.entry.state, world.entry.owner),
        (Mesi::Exclusive, DirectoryState::Exclusive, CpuId(2))
    );
    // A store afterwards therefore needs no message.
    assert_eq!(world.access(2, Access::Store), RequestOutcome::Hit(Mesi::Modified));
    assert!(world.network.is_empty());
}

#[test]
fn a_read_prefetch_or_instruction_fetch_of_an_unowned_line_gets_it_shared() {
    for access in [Access::ReadPrefetch, Access::InstructionFetch] {
        let mut world = World::small();
        assert_eq!(world.run(2, access), [K::ReadShared, K::SharedReply]);
        assert_eq!((world.mesi(2), world.entry.state), (Mesi::Shared, DirectoryState::Shared));
    }
}

#[test]
fn a_write_prefetch_places_the_line_in_modified_state() {
    let mut world = World::small();
    assert_eq!(world.run(2, Access::WritePrefetch), [K::ReadExclusive, K::ExclusiveReply]);
    assert_eq!(world.mesi(2), Mesi::Modified);
}

#[test]
fn an_owner_that_dropped_its_clean_copy_gets_it_again_at_once() {
    for (access, reply) in
        [(Access::Load, K::ExclusiveReply), (Access::Store, K::ExclusiveReply), (Access::ReadPrefetch, K::SharedReply)]
    {
        let mut world = World::small();
        world.run(2, Access::Load);
        assert_eq!(world.evict(2), Eviction::Silent);
        assert_eq!(world.run(2, access), [miss_request(access), reply]);
    }
}

#[test]
fn a_load_joins_the_sharers() {
    let mut world = World::small();
    world.run(0, Access::ReadPrefetch);
    assert_eq!(world.run(5, Access::Load), [K::Read, K::SharedReply]);
    assert_eq!(world.mesi(5), Mesi::Shared);
}

#[test]
fn a_store_invalidates_the_sharers_and_waits_for_every_acknowledgement() {
    let mut world = World::small();
    for cpu in [0, 3, 7] {
        world.run(cpu, Access::ReadPrefetch);
    }
    world.access(4, Access::Store);
    let work = world.deliver(K::ReadExclusive).work();
    assert_eq!((work.transaction, work.invalidations, work.memory_read), (Transaction::Invalidate, 3, true));
    assert_eq!(world.deliver(K::ExclusiveReply).outcome(), CacheOutcome::DataWaiting);
    for _ in 0..3 {
        world.deliver(K::Invalidate);
    }
    assert_eq!(world.deliver(K::InvalidateAcknowledge).outcome(), CacheOutcome::DataWaiting);
    assert_eq!(world.deliver(K::InvalidateAcknowledge).outcome(), CacheOutcome::DataWaiting);
    assert_eq!(world.mesi(4), Mesi::Invalid);
    assert_eq!(world.deliver(K::InvalidateAcknowledge).outcome(), CacheOutcome::Completed(Mesi::Modified));
    world.settle();
}

#[test]
fn invalidations_leave_in_descending_node_order() {
    let mut world = World::small();
    for cpu in [2, 0, 7, 4] {
        world.run(cpu, Access::ReadPrefetch);
    }
    world.access(0, Access::Store);
    world.deliver(K::Upgrade);
    let invalidated: Vec<_> =
        world.network.iter().filter(|message| message.kind == K::Invalidate).map(|message| message.to).collect();
    let expected = [3, 2, 1, 0].map(|node| protocol::Agent::Interface(units::NodeId(node)));
    assert_eq!(invalidated, expected);
}

#[test]
fn an_upgrade_carries_no_data_and_invalidates_the_neighbour_on_the_node() {
    let mut world = World::small();
    world.run(0, Access::ReadPrefetch);
    world.run(1, Access::ReadPrefetch);
    assert_eq!(
        world.run(0, Access::Store),
        [K::Upgrade, K::UpgradeAcknowledge, K::Invalidate, K::InvalidateAcknowledge]
    );
    assert_eq!((world.mesi(0), world.mesi(1)), (Mesi::Modified, Mesi::Invalid));
}

#[test]
fn a_lone_sharers_store_still_invalidates_its_own_node() {
    // The directory does not record which processor of the node has the copy (Prestor 2001, Section 4.1.2).
    let mut world = World::small();
    world.run(2, Access::ReadPrefetch);
    world.evict(2);
    world.access(2, Access::Store);
    assert_eq!(world.deliver(K::ReadExclusive).work().invalidations, 1);
    world.settle();
}

#[test]
fn a_store_finds_a_clean_owner_and_uses_the_speculative_data() {
    for (dropped, supplied) in [(false, Supplied::Clean), (true, Supplied::Miss)] {
        let mut world = World::small();
        world.run(6, Access::Load);
        if dropped {
            world.evict(6);
        }
        world.access(2, Access::Store);
        assert_eq!(world.deliver(K::ReadExclusive).work().transaction, Transaction::InterventionExclusive);
        assert_eq!(world.deliver(K::ExclusiveSpeculative).outcome(), CacheOutcome::Waiting);
        assert_eq!(world.deliver(K::InterventionExclusive).outcome(), CacheOutcome::Intervened(supplied));
        assert_eq!(world.deliver(K::ExclusiveAcknowledge).outcome(), CacheOutcome::Completed(Mesi::Modified));
        let work = world.deliver(K::Transfer).work();
        assert_eq!((work.transaction, work.memory_write), (Transaction::Revision, false));
        world.settle();
    }
}

#[test]
fn a_store_takes_a_modified_line_from_its_owner_and_memory_is_not_updated() {
    let mut world = World::small();
    world.run(6, Access::Store);
    assert_eq!(
        world.run(2, Access::Store),
        [K::ReadExclusive, K::ExclusiveSpeculative, K::InterventionExclusive, K::ExclusiveResponse, K::Transfer]
    );
    assert_eq!((world.mesi(2), world.mesi(6), world.memory.0), (Mesi::Modified, Mesi::Invalid, 0));
}

#[test]
fn a_load_downgrades_a_modified_owner_and_memory_is_updated() {
    let mut world = World::small();
    world.run(6, Access::Store);
    assert_eq!(
        world.run(2, Access::Load),
        [K::Read, K::SharedSpeculative, K::InterventionShared, K::SharedResponse, K::SharingWriteback]
    );
    assert_eq!((world.mesi(2), world.mesi(6), world.memory.0), (Mesi::Shared, Mesi::Shared, 1));
}

#[test]
fn a_load_downgrades_a_clean_owner_without_data() {
    let mut world = World::small();
    world.run(6, Access::Load);
    assert_eq!(
        world.run(2, Access::Load),
        [K::Read, K::SharedSpeculative, K::InterventionShared, K::SharedAcknowledge, K::SharingTransfer]
    );
    assert_eq!((world.mesi(2), world.mesi(6)), (Mesi::Shared, Mesi::Shared));
}

#[test]
fn a_modified_line_is_written_back() {
    let mut world = World::small();
    world.run(6, Access::Store);
    assert_eq!(world.evict(6), Eviction::Writeback);
    let work = world.deliver(K::Writeback).work();
    assert_eq!((work.transaction, work.memory_write), (Transaction::Writeback, true));
    assert_eq!(world.access(6, Access::Load), RequestOutcome::Blocked);
    assert_eq!(world.deliver(K::WritebackExclusiveAcknowledge).outcome(), CacheOutcome::WritebackDone);
    assert_eq!(world.entry.state, DirectoryState::Unowned);
    world.settle();
}

#[test]
fn an_uncached_read_leaves_unowned_and_shared_lines_as_they_are() {
    let mut world = World::small();
    assert_eq!(world.run(2, Access::UncachedRead), [K::UncachedRead, K::UncachedReply]);
    assert_eq!(world.entry.state, DirectoryState::Unowned);
    world.run(4, Access::ReadPrefetch);
    let before = world.entry;
    world.run(2, Access::UncachedRead);
    assert_eq!((world.entry, world.mesi(2)), (before, Mesi::Invalid));
}

#[test]
fn an_uncached_read_gets_a_modified_line_from_its_owner_and_is_not_a_sharer() {
    let mut world = World::small();
    world.run(6, Access::Store);
    world.run(2, Access::UncachedRead);
    assert_eq!((world.mesi(2), world.mesi(6), world.cache(2).version.0), (Mesi::Invalid, Mesi::Shared, 1));
    assert!(!world.entry.sharers.contains(units::NodeId(1)));
}

#[test]
fn hits_need_no_message_and_stores_to_shared_copies_are_no_hits() {
    let reads = [Access::Load, Access::InstructionFetch, Access::ReadPrefetch, Access::UncachedRead];
    let writes = [Access::Store, Access::WritePrefetch];
    for state in [Mesi::Shared, Mesi::Exclusive, Mesi::Modified] {
        for access in reads {
            assert_eq!(state.after(access), Some(state));
        }
        for access in writes {
            assert_eq!(state.after(access), (state != Mesi::Shared).then_some(Mesi::Modified));
        }
    }
    for access in reads.into_iter().chain(writes).chain([Access::PoisonRead]) {
        assert_eq!(Mesi::Invalid.after(access), None);
    }
}

#[test]
fn a_message_and_an_entry_are_small() {
    // The simulator copies messages between queues, and keeps one entry per line.
    assert!(size_of::<protocol::origin::Message>() <= 48);
    assert!(size_of::<protocol::origin::DirectoryEntry>() <= 24);
}
