//! Races by name: messages overtake each other in the critical way, and the outcome is still correct.

use protocol::origin::MessageKind as K;
use protocol::origin::{CacheOutcome, DirectoryState, Mesi, Pending, Supplied, Transaction, miss_request};
use protocol::{Access, Agent};
use units::CpuId;

use crate::world::World;

/// Intervention in flight: processor 2 owns a modified line, processor 4 requests it, and the home has handled the
/// request.
fn intervention_in_flight(access: Access) -> World {
    let mut world = World::small();
    world.run(2, Access::Store);
    world.access(4, access);
    world.deliver_of(4, miss_request(access));
    world
}

#[test]
fn acknowledgements_overtake_the_reply() {
    let mut world = World::small();
    world.run(0, Access::ReadPrefetch);
    world.run(2, Access::ReadPrefetch);
    world.access(4, Access::Store);
    world.deliver(K::ReadExclusive);
    for _ in 0..2 {
        world.deliver(K::Invalidate);
        assert_eq!(world.deliver(K::InvalidateAcknowledge).outcome(), CacheOutcome::Waiting);
    }
    assert_eq!(world.deliver(K::ExclusiveReply).outcome(), CacheOutcome::Completed(Mesi::Modified));
    world.settle();
}

#[test]
fn the_owners_response_overtakes_the_speculative_reply() {
    let mut world = intervention_in_flight(Access::Store);
    world.deliver(K::InterventionExclusive);
    assert_eq!(world.deliver(K::ExclusiveResponse).outcome(), CacheOutcome::Waiting);
    // The speculative data are stale and must not replace the owner's: the world checks the contents that the store is
    // based on.
    assert_eq!(world.deliver(K::ExclusiveSpeculative).outcome(), CacheOutcome::Completed(Mesi::Modified));
    world.settle();
}

#[test]
fn the_owners_acknowledgement_overtakes_the_speculative_reply() {
    let mut world = World::small();
    world.run(2, Access::Load);
    world.access(4, Access::Load);
    world.deliver(K::Read);
    world.deliver(K::InterventionShared);
    assert_eq!(world.deliver(K::SharedAcknowledge).outcome(), CacheOutcome::Waiting);
    assert_eq!(world.deliver(K::SharedSpeculative).outcome(), CacheOutcome::Completed(Mesi::Shared));
    world.settle();
}

#[test]
fn an_intervention_overtakes_the_grant_of_ownership() {
    let mut world = World::small();
    world.access(2, Access::Store);
    world.deliver(K::ReadExclusive);
    world.access(4, Access::Store);
    world.deliver(K::ReadExclusive);
    assert_eq!(world.deliver(K::InterventionExclusive).outcome(), CacheOutcome::InterventionDeferred);
    assert_eq!(world.deliver_to(2, K::ExclusiveReply).outcome(), CacheOutcome::Completed(Mesi::Modified));
    // The processor keeps the line until it has accessed it; then the intervention takes the stored contents away.
    assert_eq!((world.mesi(2), world.last_store.0), (Mesi::Modified, 1));
    assert_eq!(world.serve_deferred(2), Some(Supplied::Dirty));
    world.settle();
    assert_eq!((world.mesi(4), world.last_store.0), (Mesi::Modified, 2));
}

#[test]
fn an_intervention_for_a_dropped_copy_meets_a_new_request() {
    let mut world = World::small();
    world.run(2, Access::Load);
    world.evict(2);
    world.access(4, Access::Store);
    world.deliver_of(4, K::ReadExclusive);
    world.access(2, Access::Store);
    assert_eq!(world.deliver(K::InterventionExclusive).outcome(), CacheOutcome::InterventionDeferred);
    assert_eq!(world.deliver_of(2, K::ReadExclusive).work().transaction, Transaction::Nack);
    // The NACK shows that the intervention was not for a grant: it is answered as a miss.
    assert_eq!(world.deliver(K::Nack).outcome(), CacheOutcome::Retry);
    assert!(world.network.iter().any(|message| message.kind == K::ExclusiveAcknowledge));
    world.settle();
    assert_eq!(world.last_store.0, 2);
}

#[test]
fn an_intervention_finds_a_nacked_request() {
    let mut world = World::small();
    world.run(2, Access::Load);
    world.evict(2);
    world.access(4, Access::Store);
    world.deliver_of(4, K::ReadExclusive);
    world.access(2, Access::Load);
    world.deliver_of(2, K::Read);
    assert_eq!(world.deliver_to(2, K::Nack).outcome(), CacheOutcome::Retry);
    assert_eq!(world.deliver(K::InterventionExclusive).outcome(), CacheOutcome::Intervened(Supplied::Miss));
    world.settle();
}

#[test]
fn a_writeback_crosses_a_shared_intervention() {
    let mut world = intervention_in_flight(Access::Load);
    world.evict(2);
    assert_eq!(world.deliver(K::InterventionShared).outcome(), CacheOutcome::InterventionIgnored);
    let work = world.deliver(K::Writeback).work();
    assert_eq!((work.transaction, work.memory_write), (Transaction::WritebackRace, true));
    assert_eq!(world.deliver(K::WritebackBusyAcknowledge).outcome(), CacheOutcome::WritebackDone);
    world.deliver(K::SharedSpeculative);
    assert_eq!(world.deliver(K::SharedResponse).outcome(), CacheOutcome::Completed(Mesi::Shared));
    world.settle();
    assert_eq!((world.mesi(2), world.entry.state), (Mesi::Invalid, DirectoryState::Shared));
}

#[test]
fn a_writeback_crosses_an_exclusive_intervention_that_is_late() {
    let mut world = intervention_in_flight(Access::Store);
    world.evict(2);
    world.deliver(K::Writeback);
    assert_eq!(world.deliver(K::WritebackBusyAcknowledge).outcome(), CacheOutcome::WritebackAnsweredIntervention);
    // The intervention is still in flight, and could be mistaken for a later one: no new request starts before it
    // arrives.
    assert_eq!(world.access(2, Access::Load), protocol::origin::RequestOutcome::Blocked);
    assert_eq!(world.deliver(K::InterventionExclusive).outcome(), CacheOutcome::InterventionIgnored);
    assert_eq!(world.cache(2).pending, Pending::None);
    world.settle();
    assert_eq!((world.mesi(4), world.last_store.0), (Mesi::Modified, 2));
}

#[test]
fn a_writeback_crosses_an_uncached_read() {
    let mut world = intervention_in_flight(Access::UncachedRead);
    world.evict(2);
    world.settle();
    assert_eq!((world.entry.state, world.cache(4).version.0), (DirectoryState::Unowned, 1));
}

#[test]
fn the_new_owners_writeback_overtakes_the_old_owners_revision() {
    let mut world = intervention_in_flight(Access::Store);
    world.deliver(K::ExclusiveSpeculative);
    world.deliver(K::InterventionExclusive);
    world.deliver(K::ExclusiveResponse);
    world.evict(4);
    assert_eq!(world.deliver(K::Writeback).work().transaction, Transaction::WritebackRace);
    assert_eq!(world.entry.state, DirectoryState::Wait);
    // The writer is free at once, but the line is not.
    assert_eq!(world.deliver(K::WritebackExclusiveAcknowledge).outcome(), CacheOutcome::WritebackDone);
    world.access(4, Access::Load);
    assert_eq!(world.deliver(K::Read).work().transaction, Transaction::Nack);
    world.deliver(K::Transfer);
    assert_eq!(world.entry.state, DirectoryState::Unowned);
    world.settle();
    assert_eq!((world.mesi(4), world.memory.0), (Mesi::Exclusive, 2));
}

#[test]
fn an_invalidation_overtakes_the_shared_reply() {
    let mut world = World::small();
    world.run(2, Access::ReadPrefetch);
    world.access(4, Access::Load);
    world.deliver(K::Read);
    world.run_store_past_reply();
    // The reply is older than the store that it met, and must not be used.
    assert_eq!(world.deliver_to(4, K::SharedReply).outcome(), CacheOutcome::Retry);
    world.settle();
    assert_eq!((world.mesi(4), world.cache(4).version.0), (Mesi::Shared, 1));
}

#[test]
fn an_invalidation_overtakes_the_shared_response() {
    let mut world = intervention_in_flight(Access::Load);
    world.deliver(K::InterventionShared);
    world.deliver(K::SharingWriteback);
    world.access(6, Access::Store);
    world.deliver(K::ReadExclusive);
    world.deliver(K::Invalidate);
    world.deliver(K::Invalidate);
    world.deliver(K::SharedSpeculative);
    assert_eq!(world.deliver(K::SharedResponse).outcome(), CacheOutcome::Retry);
    world.settle();
    assert_eq!(world.last_store.0, 2);
}

#[test]
fn an_invalidation_takes_the_copy_of_a_pending_upgrade() {
    let mut world = World::small();
    world.run(2, Access::ReadPrefetch);
    world.run(4, Access::ReadPrefetch);
    world.access(2, Access::Store);
    world.access(4, Access::Store);
    world.deliver_of(4, K::Upgrade);
    world.deliver(K::Invalidate);
    world.deliver(K::Invalidate);
    assert_eq!(world.deliver_of(2, K::Upgrade).work().transaction, Transaction::Nack);
    assert_eq!(world.deliver_to(2, K::Nack).outcome(), CacheOutcome::Retry);
    world.retry(2);
    assert!(world.network.iter().any(|message| message.kind == K::ReadExclusive && message.requester == CpuId(2)));
    world.settle();
    assert_eq!(world.last_store.0, 2);
}

#[test]
fn an_upgrade_is_granted_because_of_the_neighbour() {
    // Processors 2 and 3 share a bit of the vector. Processor 2 loses its copy while its upgrade is in flight, and
    // processor 3 gets one: the home cannot distinguish them, and grants the upgrade of a copy that is gone.
    let mut world = World::small();
    world.run(2, Access::ReadPrefetch);
    world.access(2, Access::Store);
    let upgrade = world.network.pop().expect("the upgrade is in flight");
    world.run_store(4);
    world.run_quietly(3, Access::Load);
    assert_eq!(world.mesi(2), Mesi::Invalid);
    world.network.push(upgrade);
    assert_eq!(world.deliver(K::Upgrade).work().transaction, Transaction::Invalidate);
    world.deliver(K::UpgradeAcknowledge);
    while world.network.iter().any(|message| message.kind == K::Invalidate) {
        world.deliver(K::Invalidate);
    }
    assert_eq!(world.deliver(K::InvalidateAcknowledge).outcome(), CacheOutcome::DataWaiting);
    assert_eq!(world.deliver(K::InvalidateAcknowledge).outcome(), CacheOutcome::Retry);
    // The requester owns the line without a copy, and memory is up to date: the home replies at once.
    world.retry(2);
    assert_eq!(world.deliver(K::ReadExclusive).work().transaction, Transaction::Unowned);
    world.settle();
    assert_eq!((world.mesi(2), world.last_store.0), (Mesi::Modified, 2));
}

#[test]
fn a_nacked_request_comes_first_once_the_line_is_free() {
    let mut world = intervention_in_flight(Access::Store);
    world.access(6, Access::Store);
    world.deliver_of(6, K::ReadExclusive);
    world.deliver_to(6, K::Nack);
    world.retry(6);
    world.deliver_of(6, K::ReadExclusive);
    assert_eq!(world.entry.priority, 1);
    world.deliver_to(6, K::Nack);
    world.deliver(K::ExclusiveSpeculative);
    world.deliver(K::InterventionExclusive);
    world.deliver(K::ExclusiveResponse);
    world.deliver(K::Transfer);
    // The line is free, but a new request must wait for those NACKed before.
    world.access(0, Access::Store);
    assert_eq!(world.deliver_of(0, K::ReadExclusive).work().transaction, Transaction::Nack);
    world.retry(6);
    assert_eq!(world.deliver_of(6, K::ReadExclusive).work().transaction, Transaction::InterventionExclusive);
    assert_eq!(world.entry.priority, 0);
    world.settle();
    assert_eq!(world.last_store.0, 4);
}

#[test]
fn priority_stops_at_its_limit() {
    let mut world = intervention_in_flight(Access::Store);
    world.access(6, Access::Store);
    for tries in 0..20 {
        world.deliver_of(6, K::ReadExclusive);
        assert_eq!(world.entry.priority, tries.min(world.geometry.priority_limit));
        world.deliver_to(6, K::Nack);
        world.retry(6);
    }
    world.settle();
}

#[test]
fn messages_that_cannot_arrive_are_errors() {
    let mut world = World::small();
    let context = world.context(2);
    let mut outbox = protocol::origin::Outbox::new();
    for kind in K::ALL.iter().copied().filter(|kind| !matches!(kind, K::InterventionShared | K::InterventionExclusive))
    {
        let message = protocol::origin::Message::new(kind, context.line, Agent::Processor(CpuId(2)), CpuId(2));
        let error = protocol::origin::receive(&mut world.caches[2], &context, &message, &mut outbox)
            .expect_err("nothing is outstanding");
        assert!(error.to_string().starts_with(kind.mnemonic()), "{error}");
    }
    assert!(outbox.as_slice().is_empty());
}

impl World {
    /// Runs a store of processor 0 that invalidates the sharers while a shared reply to processor 4 is in flight.
    fn run_store_past_reply(&mut self) {
        self.access(0, Access::Store);
        self.deliver_of(0, K::ReadExclusive);
        while self.network.iter().any(|message| message.kind == K::Invalidate) {
            self.deliver(K::Invalidate);
            self.deliver(K::InvalidateAcknowledge);
        }
        assert_eq!(self.deliver_to(0, K::ExclusiveReply).outcome(), CacheOutcome::Completed(Mesi::Modified));
    }

    /// Runs a store, with everything that follows from it, while something else is outstanding.
    fn run_store(&mut self, cpu: u16) {
        self.run_quietly(cpu, Access::Store);
        assert_eq!(self.mesi(cpu), Mesi::Modified);
    }

    /// Runs an access, with everything that follows from it, while something else is outstanding.
    fn run_quietly(&mut self, cpu: u16, access: Access) {
        self.access(cpu, access);
        while !self.network.is_empty() {
            self.deliver_index(0);
        }
        self.check_copies();
    }
}
