//! Transactions of the bus, and the races between a request that waits for the bus and other transactions.

use protocol::Version;
use protocol::snoop::Moesi::{Exclusive, Invalid, Modified, Owned, Shared};
use protocol::snoop::{Command, DataPhase, Operation, Source};

use crate::world::World;

fn from(phase: Option<DataPhase>) -> Option<Source> {
    phase.expect("the bus was used").data.map(|(_, source)| source)
}

#[test]
fn a_lone_reader_gets_the_line_for_itself_and_writes_without_the_bus() {
    let mut world = World::new(2);
    assert_eq!(from(world.load(0)), Some(Source::Memory));
    assert_eq!(world.states(), [Exclusive, Invalid]);
    assert_eq!(world.store(0), None, "no bus");
    assert_eq!(world.states(), [Modified, Invalid]);
}

#[test]
fn the_owner_supplies_readers_and_stays_responsible() {
    let mut world = World::new(3);
    world.store(0);
    assert_eq!(from(world.load(1)), Some(Source::Owner));
    assert_eq!(from(world.load(2)), Some(Source::Owner));
    assert_eq!((world.states(), world.memory), (vec![Owned, Shared, Shared], Version(0)));
    let phase = world.evict(0).expect("the bus was used");
    assert_eq!((phase.data, phase.memory_write), (Some((Version(1), Source::Requester)), true));
    assert_eq!((world.states(), world.memory), (vec![Invalid, Shared, Shared], Version(1)));
    assert_eq!(from(world.load(0)), Some(Source::Memory));
}

#[test]
fn clean_copies_leave_it_to_memory_to_supply_and_go_silently() {
    let mut world = World::new(2);
    world.load(0);
    assert_eq!(from(world.load(1)), Some(Source::Memory));
    assert_eq!(world.states(), [Shared, Shared]);
    assert_eq!((world.evict(0), world.evict(1)), (None, None));
    assert_eq!(world.states(), [Invalid, Invalid]);
}

#[test]
fn a_writer_takes_the_line_from_its_owner() {
    let mut world = World::new(2);
    world.store(0);
    assert_eq!(from(world.store(1)), Some(Source::Owner));
    assert_eq!((world.states(), world.memory), (vec![Invalid, Modified], Version(0)));
}

#[test]
fn an_upgrade_moves_no_data() {
    for writer in 0..3 {
        let mut world = World::new(3);
        world.store(0);
        world.load(1);
        world.load(2);
        assert_eq!(from(world.store(writer)), None);
        assert_eq!(world.states().iter().filter(|&&state| state == Invalid).count(), 2);
        assert_eq!(world.states()[writer], Modified);
    }
}

#[test]
fn an_upgrade_that_loses_its_copy_requests_the_data_too() {
    let mut world = World::new(2);
    world.load(0);
    world.load(1);
    world.begin(0, Operation::Store);
    world.begin(1, Operation::Store);
    world.bus(Some(1));
    assert_eq!(world.caches[0].request, Some(Command::ReadExclusive));
    assert_eq!(from(world.bus(Some(0))), Some(Source::Owner));
    assert_eq!((world.states(), world.stores), (vec![Modified, Invalid], 2));
}

#[test]
fn the_writeback_buffer_supplies_readers_and_still_writes_back() {
    let mut world = World::new(2);
    world.store(0);
    world.begin(0, Operation::Evict);
    assert_eq!(from(world.load(1)), Some(Source::Owner));
    assert_eq!((world.states(), world.caches[0].request), (vec![Owned, Shared], Some(Command::Writeback)));
    world.bus(Some(0));
    assert_eq!((world.states(), world.memory), (vec![Invalid, Shared], Version(1)));
}

#[test]
fn a_writeback_is_cancelled_when_the_line_changes_hands() {
    for reads_first in [false, true] {
        let mut world = World::new(2);
        world.store(0);
        world.begin(0, Operation::Evict);
        if reads_first {
            world.load(1);
        }
        world.store(1);
        assert_eq!((world.states(), world.caches[0].request), (vec![Invalid, Modified], None));
        assert_eq!(world.memory, Version(0));
        assert_eq!(world.bus(Some(0)), None);
    }
}

#[test]
fn nothing_begins_while_a_bus_request_is_outstanding() {
    let mut world = World::new(1);
    assert!(world.begin(0, Operation::Load));
    for operation in [Operation::Load, Operation::Store, Operation::Evict] {
        assert!(!world.begin(0, operation));
    }
}
