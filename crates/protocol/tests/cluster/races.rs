//! Races between nodes, one test each, in the order of the list in the module's documentation.

use protocol::Access::{Load, Store};
use protocol::cluster::DirectoryState;
use protocol::cluster::MessageKind::{
    Data, DataExclusive, ForwardRead, ForwardReadExclusive, Invalidate, InvalidateAcknowledge, OwnershipTransfer, Read,
    ReadExclusive, SharingWriteback, Upgrade, UpgradeAcknowledge, Writeback, WritebackAcknowledge,
};
use protocol::contract::Started;
use protocol::snoop::Moesi::{Invalid, Modified, Shared};
use protocol::snoop::Rights;

use crate::world::World;

/// Nodes of one processor.
fn world() -> World<true> {
    World::new(3, 1, false)
}

/// Starts an access that misses, and lets the device request the right.
fn miss<const OWNED: bool>(world: &mut World<OWNED>, cpu: usize, access: protocol::Access) {
    assert!(world.begin(cpu, Some(access)));
    assert!(!world.bus(cpu), "the device retries it");
}

#[test]
fn data_that_an_invalidation_has_overtaken_are_requested_again() {
    let mut world = world();
    world.load(2);
    miss(&mut world, 1, Load);
    world.deliver_kind(Read);
    miss(&mut world, 2, Store);
    world.deliver_kind(Upgrade);
    while world.network.iter().any(|message| message.kind == Invalidate) {
        world.deliver_kind(Invalidate);
    }
    world.sent.clear();
    world.deliver_kind(Data);
    assert_eq!((world.sent.as_slice(), world.rights()[1]), ([Read].as_slice(), Rights::None));
    world.settle();
    assert_eq!(world.states()[1..], [Shared, Shared]);
}

#[test]
fn a_forwarded_request_waits_for_the_grant_and_for_its_use() {
    let mut world = world();
    world.load(2);
    miss(&mut world, 1, Store);
    world.deliver_kind(ReadExclusive);
    miss(&mut world, 2, Store);
    // Sent with a copy, whose invalidation is under way: the line goes to node 1 first.
    world.deliver_kind(Upgrade);
    world.deliver_kind(ForwardReadExclusive);
    assert!(!world.device_bus(1), "the grant has not arrived");
    while world.network.iter().any(|message| message.kind == Invalidate) {
        world.deliver_kind(Invalidate);
    }
    (0..3).for_each(|node| {
        world.device_bus(node);
    });
    world.deliver_kind(DataExclusive);
    assert!(!world.device_bus(1), "acknowledgements are outstanding");
    while world.network.iter().any(|message| message.kind == InvalidateAcknowledge) {
        world.deliver_kind(InvalidateAcknowledge);
    }
    assert!(!world.device_bus(1), "the processor's store comes first");
    assert!(world.bus(1) && world.device_bus(1));
    world.settle();
    assert_eq!((world.states()[1..].to_vec(), world.stores), (vec![Invalid, Modified], 2));
}

#[test]
fn a_forwarded_request_after_a_writeback_is_answered_from_the_buffer() {
    for access in [Load, Store] {
        let mut world = world();
        world.store(1);
        assert_eq!(world.replace(1), Started::Requested);
        assert!(world.device_bus(1));
        miss(&mut world, 2, access);
        world.deliver_kind(if access == Load { Read } else { ReadExclusive });
        assert!(!world.deliver_kind(Writeback), "the line is busy");
        world.sent.clear();
        world.deliver_kind(if access == Load { ForwardRead } else { ForwardReadExclusive });
        let answers = if access == Load { [Data, SharingWriteback] } else { [DataExclusive, OwnershipTransfer] };
        assert_eq!(world.sent, answers);
        world.deliver_kind(answers[1]);
        assert!(world.deliver_kind(Writeback), "it is late");
        world.settle();
        assert_eq!(world.rights()[1], Rights::None);
    }
}

#[test]
fn a_line_is_not_requested_again_before_its_writeback_is_acknowledged() {
    let mut world = world();
    world.store(1);
    world.replace(1);
    world.device_bus(1);
    world.sent.clear();
    miss(&mut world, 1, Load);
    assert_eq!(world.sent, []);
    world.deliver_kind(Writeback);
    world.deliver_kind(WritebackAcknowledge);
    assert_eq!(world.sent, [WritebackAcknowledge, Read]);
    world.settle();
    assert_eq!(world.states()[1], Shared);
}

#[test]
fn a_forwarded_request_takes_the_place_of_a_replacement() {
    let mut world = world();
    world.store(1);
    assert_eq!(world.replace(1), Started::Requested);
    miss(&mut world, 2, Load);
    world.deliver_kind(Read);
    world.deliver_kind(ForwardRead);
    world.settle();
    assert_eq!(world.rights()[1..], [Rights::Read, Rights::Read]);
    assert_eq!(world.replace(1), Started::Requested, "and can be repeated");
}

#[test]
fn an_upgrade_of_a_copy_that_has_been_invalidated_brings_the_data() {
    let mut world = world();
    world.load(1);
    world.load(2);
    miss(&mut world, 1, Store);
    miss(&mut world, 2, Store);
    // Both have sent UPGRADE; the second comes first.
    let last = world.network.len() - 1;
    world.deliver(last);
    world.settle();
    assert_eq!((world.stores, world.rights()), (2, vec![Rights::None, Rights::Write, Rights::None]));
    assert_eq!(world.sent.iter().filter(|kind| **kind == UpgradeAcknowledge).count(), 1);
}

#[test]
fn a_request_waits_at_a_home_that_waits_for_a_report() {
    let mut world = world();
    miss(&mut world, 1, Store);
    world.deliver_kind(ReadExclusive);
    miss(&mut world, 2, Load);
    assert!(!world.deliver_kind(Read));
    assert!(matches!(world.entry.state, DirectoryState::Forwarded { .. }));
    world.settle();
    assert_eq!(world.states()[1..], [Shared, Shared]);
}

#[test]
fn an_early_grant_lets_a_store_pass_its_acknowledgements_but_no_answer() {
    let mut world = World::<false>::new(3, 1, true);
    world.load(1);
    world.load(2);
    miss(&mut world, 1, Store);
    world.deliver_kind(Upgrade);
    world.deliver_kind(UpgradeAcknowledge);
    assert!(world.bus(1));
    assert_eq!((world.stores, world.states()), (1, vec![Invalid, Modified, Shared]));
    world.deliver_kind(Invalidate);
    assert!(world.device_bus(0), "the home performs its invalidation, and node 2 does not yet");
    miss(&mut world, 0, Load);
    world.deliver_kind(Read);
    world.deliver_kind(ForwardRead);
    assert!(!world.device_bus(1), "acknowledgements are outstanding");
    assert_eq!(world.replace(1), Started::Blocked);
    world.settle();
    assert_eq!(world.states(), [Shared, Shared, Invalid]);
}
