//! Races by name, step by step.

use protocol::Version;
use protocol::sci::{CacheState as S, Command as C, MemoryState, Operation};

use crate::world::World;

fn readers(count: usize) -> World {
    let mut world = World::new(count + 2);
    (0..count).for_each(|cpu| world.load(cpu));
    world
}

#[test]
fn newcomers_wait_for_their_predecessor() {
    let mut world = World::new(3);
    for cpu in 0..3 {
        world.begin(cpu, Operation::Load);
    }
    // Memory receives the requests of 2, 0, 1 in this order.
    for cpu in [2, 0, 1] {
        world.deliver(cpu);
    }
    world.deliver_until(1, C::PendValid);
    world.exchange(1);
    assert_eq!(world.state(1), S::QueuedFresh, "cpu0 is not attached itself");
    world.deliver_until(0, C::PendValid);
    world.exchange(0);
    assert_eq!(world.state(0), S::QueuedFresh, "cpu2 has no response from memory yet");
    for cpu in [2, 0, 1] {
        world.finish(cpu);
    }
    assert_eq!(world.list(), [1, 0, 2]);
}

#[test]
fn the_leaving_neighbour_nearer_the_tail_goes_first() {
    // The list is 3 2 1 0; 2 and 1 leave at once, and the request of 2 arrives first.
    let mut world = readers(4);
    world.begin(2, Operation::Rollout);
    world.begin(1, Operation::Rollout);
    world.exchange(2);
    assert_eq!(world.state(2), S::MidForwarding, "cpu1 is leaving and sends a NACK");
    world.exchange(1);
    assert_eq!(world.state(1), S::MidReturning, "cpu0 has granted");
    world.exchange(1);
    assert_eq!(world.state(1), S::Invalid, "cpu2 grants although it is leaving");
    world.finish(2);
    assert_eq!(world.list(), [3, 0]);
}

#[test]
fn an_element_becomes_the_tail_while_it_leaves() {
    let mut world = readers(3);
    world.begin(1, Operation::Rollout);
    world.begin(0, Operation::Rollout);
    world.finish(0);
    assert_eq!(world.state(1), S::TailReturning);
    world.finish(1);
    assert_eq!(world.list(), [2]);
    assert_eq!(world.sent.last(), Some(&C::PreviousTail));
}

#[test]
fn a_list_collapses_while_its_head_leaves() {
    for store in [false, true] {
        let mut world = World::new(2);
        if store {
            world.store(0)
        } else {
            world.load(0)
        }
        world.load(1);
        world.begin(1, Operation::Rollout);
        world.begin(0, Operation::Rollout);
        world.finish(0);
        assert_eq!(world.state(1), S::HeadForwardingLast);
        world.finish(1);
        assert_eq!((world.list(), world.memory.state), (vec![], MemoryState::Home));
        assert_eq!(world.memory.version, Version(u32::from(store)));
        assert_eq!(world.sent.last(), Some(&C::ListToHome));
    }
}

#[test]
fn a_newcomer_finds_the_head_gone_and_is_redirected() {
    let mut world = readers(3);
    world.begin(2, Operation::Rollout);
    world.exchange(2);
    assert_eq!((world.state(2), world.state(1)), (S::HeadReturning, S::HeadFresh));
    world.begin(3, Operation::Load);
    world.deliver_until(3, C::PendValid);
    world.exchange(2);
    assert_eq!(world.state(2), S::HeadReturning, "memory names cpu3 the head, and sends a NACK");
    world.exchange(3);
    assert_eq!((world.state(2), world.state(3)), (S::ToInvalid, S::QueuedFresh));
    world.finish(3);
    world.finish(2);
    assert_eq!(world.list(), [3, 1, 0]);
}

#[test]
fn a_newcomer_attaches_to_the_last_one_as_it_leaves() {
    let mut world = readers(1);
    world.begin(0, Operation::Rollout);
    world.begin(1, Operation::Load);
    world.deliver_until(1, C::PendValid);
    world.finish(1);
    assert_eq!((world.state(0), world.state(1)), (S::TailReturning, S::HeadFresh));
    world.finish(0);
    assert_eq!(world.list(), [1]);
}

#[test]
fn a_dirty_line_on_its_way_home_is_held_back_for_a_newcomer() {
    let mut world = World::new(2);
    world.store(0);
    world.begin(0, Operation::Rollout);
    world.begin(1, Operation::Load);
    world.deliver_until(1, C::CopyValid);
    world.exchange(1);
    assert_eq!(world.state(1), S::QueuedJunk, "cpu0's data may have arrived at memory");
    world.exchange(0);
    assert_eq!(world.state(0), S::OnlyDirtySpinning);
    world.finish(1);
    assert_eq!((world.state(0), world.state(1)), (S::TailReturning, S::HeadDirty));
    world.finish(0);
    assert_eq!((world.list(), world.memory.version), (vec![1], Version(0)));
}

#[test]
fn an_element_that_leaves_is_purged() {
    // The list is 2 1 0; 1 is leaving and 0 has granted, when 2 writes.
    let mut world = readers(3);
    world.begin(1, Operation::Rollout);
    world.exchange(1);
    world.begin(2, Operation::Store);
    world.exchange(2);
    world.exchange(1);
    assert_eq!(world.state(1), S::MidReturning, "a purging head grants nothing");
    world.finish(2);
    assert_eq!((world.state(1), world.state(2)), (S::ToInvalid, S::OnlyDirty));
    world.finish(1);
    assert_eq!(world.list(), [2]);
}

#[test]
fn a_head_that_writes_is_nacked_when_memory_names_another() {
    let mut world = readers(2);
    world.begin(1, Operation::Store);
    world.begin(2, Operation::Store);
    world.deliver(2);
    world.exchange(1);
    assert_eq!(world.state(1), S::HeadForwarding, "it leaves, and requests the line again");
    while world.packets.iter().any(Option::is_some) {
        (0..3).for_each(|cpu| {
            world.deliver(cpu);
        });
    }
    assert_eq!((world.list(), world.stores), (vec![1], 2));
}
