//! The cluster device as a participant of the bus.

use protocol::Version;
use protocol::snoop::Moesi::{Exclusive, Invalid, Modified, Shared};
use protocol::snoop::{Command, Operation, Recall, Rights};

use crate::world::World;

#[test]
fn a_read_without_a_right_is_retried_until_the_right_is_there() {
    let mut world = World::remote(2);
    world.begin(0, Operation::Load);
    assert_eq!(world.bus(Some(0)), None);
    assert_eq!(world.device.fetch, Some(Rights::Read));
    assert_eq!(world.bus(Some(0)), None, "and nothing has changed");
    assert_eq!(world.grant(), Some(Rights::Read));
    assert!(world.bus(Some(0)).is_some());
    assert_eq!(world.states(), [Shared, Invalid], "other nodes have copies: not exclusive");
}

#[test]
fn a_write_takes_the_right_to_write() {
    let mut world = World::remote(2);
    world.load(0);
    world.load(1);
    world.begin(0, Operation::Store);
    assert_eq!(world.bus(Some(0)), None);
    assert_eq!((world.states(), world.device.fetch), (vec![Shared, Shared], Some(Rights::Write)));
    world.grant();
    world.bus(Some(0));
    assert_eq!(world.states(), [Modified, Invalid]);
    world.evict(0);
    world.load(1);
    assert_eq!(world.states(), [Invalid, Exclusive], "no other node has a copy");
}

#[test]
fn a_recall_to_share_brings_memory_up_to_date() {
    let mut world = World::new(2);
    world.store(0);
    world.load(1);
    assert!(world.device.recall(Recall::Share));
    assert_eq!(world.device.request(), Some(Command::ReadForeign));
    assert!(world.bus(None).expect("no participant retries").memory_write);
    assert_eq!((world.states(), world.device.rights), (vec![Shared, Shared], Rights::Read));
    assert_eq!((world.memory, world.outside), (Version(1), Version(1)));
    assert!(!world.device.recall(Recall::Share), "nothing is left to do");
}

#[test]
fn a_recall_to_take_leaves_nothing() {
    let mut world = World::new(2);
    world.store(0);
    assert!(world.device.recall(Recall::Take));
    world.bus(None);
    assert_eq!((world.states(), world.device.rights), (vec![Invalid, Invalid], Rights::None));
    assert_eq!(world.outside, Version(1));
    assert!(!world.device.recall(Recall::Take), "nothing is left to do");
}

#[test]
fn a_recall_meets_a_writeback_on_its_way() {
    for recall in [Recall::Share, Recall::Take] {
        let mut world = World::new(1);
        world.store(0);
        world.begin(0, Operation::Evict);
        world.device.recall(recall);
        world.bus(None);
        assert_eq!((world.states(), world.caches[0].request), (vec![Invalid], None), "the buffer has supplied it");
        assert_eq!(world.outside, Version(1));
    }
}

#[test]
fn a_grant_waits_for_a_recall() {
    let mut world = World::remote(1);
    world.load(0);
    world.begin(0, Operation::Store);
    world.bus(Some(0));
    assert!(world.device.recall(Recall::Take));
    assert_eq!(world.grant(), None);
    world.bus(None);
    assert_eq!(world.caches[0].request, Some(Command::ReadExclusive));
    assert_eq!(world.grant(), Some(Rights::Write));
    world.bus(Some(0));
    assert_eq!(world.states(), [Modified]);
}
