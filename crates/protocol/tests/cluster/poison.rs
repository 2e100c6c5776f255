//! Poisoned lines: the home's own node takes a line from all caches, and other nodes are refused (Lai and Falsafi 2000, Section 3.1).

use protocol::Access::{Load, Store};
use protocol::cluster::DirectoryState;
use protocol::cluster::MessageKind::{
    Data, DataExclusive, ForwardReadExclusive, Invalidate, InvalidateAcknowledge, OwnershipTransfer, Poison,
    PoisonRead, Read, ReadExclusive, Upgrade, UpgradeAcknowledge,
};
use protocol::snoop::Moesi::{Invalid, Modified, Shared};
use protocol::snoop::Rights;
use units::NodeId;

use crate::world::{HOME, World};

/// Three nodes of one processor.
fn world() -> World<true> {
    World::new(3, 1, false)
}

/// Delivers messages and performs interventions until the network is empty and no device has work.
fn run(world: &mut World<true>) {
    for _ in 0..100 {
        for index in (0..world.network.len()).rev() {
            world.deliver(index);
        }
        for node in 0..3 {
            world.device_bus(node);
        }
    }
    assert!(world.network.is_empty(), "{:?}", world.network);
}

/// Asserts that the line is poisoned, at home, and in no cache, with the last store.
fn assert_gathered(world: &mut World<true>) {
    world.gather();
    assert_eq!((world.entry.poisoned, world.entry.state), (true, DirectoryState::Owned { owner: HOME }));
    assert_eq!(world.rights(), [Rights::Write, Rights::None, Rights::None]);
    assert_eq!((world.states(), world.contents[0].0), (vec![Invalid; 3], world.stores));
}

#[test]
fn a_line_that_no_other_node_has_is_poisoned_without_leaving_its_node() {
    let mut world = world();
    world.store(0);
    world.sent.clear();
    world.poison();
    run(&mut world);
    assert_eq!((world.sent.as_slice(), world.states()[0]), (&[PoisonRead, UpgradeAcknowledge][..], Modified));
    assert_gathered(&mut world);
}

#[test]
fn a_poison_read_takes_the_line_from_its_owner() {
    let mut world = world();
    world.store(2);
    world.sent.clear();
    world.poison();
    run(&mut world);
    assert_eq!(world.sent, [PoisonRead, ForwardReadExclusive, DataExclusive, OwnershipTransfer]);
    assert_gathered(&mut world);
}

#[test]
fn a_poison_read_invalidates_every_copy() {
    let mut world = world();
    world.store(0);
    (1..3).for_each(|cpu| drop(world.load(cpu)));
    world.sent.clear();
    world.poison();
    run(&mut world);
    let of = |kind| world.sent.iter().filter(|&&sent| sent == kind).count();
    assert_eq!((of(Invalidate), of(InvalidateAcknowledge), of(UpgradeAcknowledge)), (2, 2, 1), "{:?}", world.sent);
    assert_gathered(&mut world);
}

#[test]
fn every_request_of_another_node_is_refused_and_the_home_s_own_node_goes_on() {
    let mut world = world();
    world.poison();
    run(&mut world);
    assert_gathered(&mut world);
    for (access, request) in [(Load, Read), (Store, ReadExclusive)] {
        assert_eq!(world.access(1, access), [request, Poison]);
    }
    assert_gathered(&mut world);
    assert!(world.store(0).is_empty(), "it has every right");
    world.entry.poisoned = false;
    assert_eq!(world.load(1).first(), Some(&Read));
    assert_eq!(world.states()[1], Shared);
}

/// The copy goes by the invalidation; the refusal only ends the request.
#[test]
fn an_upgrade_meets_the_poison_before_its_invalidation_does() {
    let mut world = world();
    (1..3).for_each(|cpu| drop(world.load(cpu)));
    world.poison();
    assert!(world.begin(1, Some(Store)) && !world.bus(1));
    world.deliver_kind(PoisonRead);
    world.sent.clear();
    world.deliver_kind(Upgrade);
    assert_eq!((world.sent.as_slice(), world.entry.state), (&[Poison][..], DirectoryState::Owned { owner: HOME }));
    world.deliver_kind(Poison);
    assert_eq!((world.states()[1], world.rights()[1]), (Shared, Rights::Read), "until the invalidation");
    run(&mut world);
    assert_gathered(&mut world);
}

/// The model checker found that the invalidation would wait for ever for the use of the grant.
#[test]
fn a_grant_that_a_refusal_leaves_unused_does_not_hold_up_the_invalidation() {
    let mut world: World<true> = World::new(2, 2, false);
    for access in [Load, Store] {
        let cpu = if access == Load { 2 } else { 3 };
        assert!(world.begin(cpu, Some(access)));
    }
    assert!(!world.bus(2));
    world.deliver_kind(Read);
    while world.network.iter().all(|message| message.kind != Data) {
        for index in (0..world.network.len()).rev() {
            world.deliver(index);
        }
        world.device_bus(0);
    }
    world.poison();
    while world.entry.state != (DirectoryState::Owned { owner: HOME }) {
        let home = |message: &protocol::cluster::Message| matches!(message.to, protocol::Agent::Home(_));
        let index = world.network.iter().position(home).expect("a report, then the poison read");
        world.deliver(index);
    }
    world.deliver_kind(Data);
    assert!(!world.bus(3), "it needs the right to write");
    world.deliver_kind(Invalidate);
    assert!(!world.device_bus(1), "the grant has not been used");
    world.deliver_kind(Upgrade);
    world.deliver_kind(Poison);
    assert!(world.device_bus(1), "nobody uses it any more");
    assert_eq!((world.rights()[1], world.entry.lists(NodeId(1))), (Rights::None, false));
}
