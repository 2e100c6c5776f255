//! Transactions one at a time: the requests that each takes and the list that it leaves.

use protocol::Version;
use protocol::sci::{CacheState, Command as C, MemoryState, Operation};

use crate::world::World;

/// A list of readers, the last reader first.
fn readers(count: usize) -> World {
    let mut world = World::new(count + 1);
    (0..count).for_each(|cpu| world.load(cpu));
    world.take_sent();
    world
}

/// A list whose first element has written; the others have read since.
fn dirty(count: usize) -> World {
    let mut world = World::new(count + 1);
    world.store(0);
    (1..count).for_each(|cpu| world.load(cpu));
    world.take_sent();
    world
}

#[test]
fn readers_line_up_before_each_other() {
    let mut world = World::new(3);
    world.load(0);
    assert_eq!(world.take_sent(), [C::CacheFresh]);
    assert_eq!((world.memory.state, world.state(0)), (MemoryState::Fresh, CacheState::OnlyFresh));
    world.load(1);
    assert_eq!(world.take_sent(), [C::CacheFresh, C::PendValid]);
    world.load(2);
    assert_eq!(world.take_sent(), [C::CacheFresh, C::PendValid]);
    assert_eq!(world.list(), [2, 1, 0]);
    world.load(1);
    assert!(world.take_sent().is_empty(), "a copy is there");
}

#[test]
fn readers_of_a_dirty_line_get_it_from_the_head() {
    let mut world = World::new(3);
    world.store(0);
    assert_eq!(world.take_sent(), [C::CacheDirty]);
    world.load(1);
    assert_eq!(world.take_sent(), [C::CacheFresh, C::CopyValid]);
    world.load(2);
    assert_eq!(world.list(), [2, 1, 0]);
    assert_eq!((world.memory.state, world.memory.version), (MemoryState::Gone, Version(0)));
}

#[test]
fn a_newcomer_that_writes_purges_one_after_the_other() {
    let mut world = readers(4);
    world.store(4);
    assert_eq!(world.take_sent(), [C::CacheDirty, C::FreshInvalid, C::ValidInvalid, C::ValidInvalid, C::ValidInvalid]);
    assert_eq!(world.list(), [4]);
    let mut world = dirty(3);
    world.store(3);
    let purge = [C::ValidInvalid; 3];
    assert_eq!(world.take_sent(), [[C::CacheDirty, C::CopyValid].as_slice(), &purge].concat());
    assert_eq!(world.list(), [3]);
}

#[test]
fn a_head_that_writes_sends_memory_a_request_only_for_fresh_copies() {
    let mut world = readers(3);
    world.store(2);
    assert_eq!(world.take_sent(), [C::ListToGone, C::ValidInvalid, C::ValidInvalid]);
    assert_eq!(world.list(), [2]);
    let mut world = dirty(3);
    world.store(2);
    assert_eq!(world.take_sent(), [C::ValidInvalid, C::ValidInvalid]);
    assert_eq!(world.list(), [2]);
    world.store(2);
    assert!(world.take_sent().is_empty(), "the only copy is dirty");
    let mut world = readers(1);
    world.store(0);
    assert_eq!(world.take_sent(), [C::ListToGone]);
}

#[test]
fn an_element_behind_the_head_writes_by_coming_back_as_the_head() {
    let mut world = readers(3);
    world.store(1);
    let leave = [C::NextMid, C::PreviousMid];
    assert_eq!(world.take_sent(), [leave.as_slice(), &[C::CacheDirty, C::FreshInvalid, C::ValidInvalid]].concat());
    assert_eq!(world.list(), [1]);
    let mut world = dirty(3);
    world.store(0);
    let purge = [C::ValidInvalid, C::ValidInvalid];
    assert_eq!(world.take_sent(), [[C::PreviousTail, C::CacheDirty, C::CopyValid].as_slice(), &purge].concat());
    assert_eq!(world.list(), [0]);
}

#[test]
fn each_position_has_its_own_rollout() {
    let cases: [(usize, &[C], &[usize]); 3] = [
        (0, &[C::PreviousTail], &[2, 1]),
        (1, &[C::NextMid, C::PreviousMid], &[2, 0]),
        (2, &[C::NextFreshHead, C::PassHead], &[1, 0]),
    ];
    for (cpu, sent, list) in cases {
        let mut world = readers(3);
        world.roll_out(cpu);
        assert_eq!(world.take_sent(), sent);
        assert_eq!(world.list(), list);
    }
    let mut world = dirty(2);
    world.roll_out(1);
    assert_eq!(world.take_sent(), [C::NextDirtyHead, C::PassHead]);
    assert_eq!((world.list(), world.state(0)), (vec![0], CacheState::OnlyDirty));
}

#[test]
fn the_last_one_closes_the_list_and_takes_dirty_data_home() {
    let mut world = readers(1);
    world.roll_out(0);
    assert_eq!(world.take_sent(), [C::ListToHome]);
    assert_eq!((world.memory.state, world.list()), (MemoryState::Home, vec![]));
    let mut world = dirty(2);
    world.roll_out(1);
    world.roll_out(0);
    assert_eq!((world.memory.state, world.memory.version), (MemoryState::Home, Version(1)));
    world.load(0);
    assert_eq!(world.list(), [0]);
}

#[test]
fn nothing_begins_while_something_is_outstanding() {
    let mut world = World::new(1);
    assert!(world.begin(0, Operation::Load));
    assert!(Operation::ALL.iter().all(|&operation| !world.begin(0, operation)));
    world.finish(0);
    assert!(world.begin(0, Operation::Rollout));
    assert!(Operation::ALL.iter().all(|&operation| !world.begin(0, operation)));
    world.finish(0);
    world.roll_out(0);
    assert!(world.list().is_empty(), "rolling out of nothing is done at once");
}
