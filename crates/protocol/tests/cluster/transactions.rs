//! Transactions between nodes, each from beginning to end: the messages, and what the caches and directory hold after.

use protocol::cluster::DirectoryState;
use protocol::cluster::MessageKind::{
    Data, DataExclusive, ForwardRead, ForwardReadExclusive, Invalidate, InvalidateAcknowledge, OwnershipTransfer, Read,
    ReadExclusive, SharingWriteback, Upgrade, UpgradeAcknowledge, Writeback, WritebackAcknowledge,
};
use protocol::contract::Started;
use protocol::snoop::Moesi::{Exclusive, Invalid, Modified, Owned, Shared};
use protocol::snoop::Rights;
use units::NodeId;

use crate::world::World;

/// Processor 0 and 1 are on the home node, 2 and 3 on node 1, 4 and 5 on node 2.
fn moesi() -> World<true> {
    World::new(3, 2, false)
}

fn owned_by(node: u16) -> DirectoryState {
    DirectoryState::Owned { owner: NodeId(node) }
}

#[test]
fn the_home_uses_its_own_lines_without_the_directory() {
    let mut world = moesi();
    assert_eq!(world.load(0), []);
    assert_eq!(world.states()[..2], [Exclusive, Invalid]);
    assert_eq!(world.store(1), []);
    assert_eq!(world.entry.state, owned_by(0));
}

#[test]
fn a_remote_read_intervenes_at_the_home_and_then_memory_answers() {
    let mut world = moesi();
    world.store(0);
    assert_eq!(world.load(2), [Read, ForwardRead, Data, SharingWriteback]);
    assert_eq!(world.states()[..3], [Shared, Invalid, Shared], "other nodes have copies: not exclusive");
    assert_eq!(world.contents[0], world.contents[1], "memory is up to date");
    assert_eq!(world.load(4), [Read, Data]);
    assert_eq!(world.entry.sharers, 0b111);
}

#[test]
fn the_block_cache_supplies_the_node_s_other_processor() {
    let mut world = moesi();
    world.load(2);
    assert_eq!(world.load(3), []);
    assert!(world.begin(2, None) && world.begin(3, None), "read-only copies go silently");
    assert_eq!(world.load(2), [], "the block cache still has the line");
}

#[test]
fn a_write_invalidates_every_other_node_and_collects_their_acknowledgements() {
    let mut world = moesi();
    for cpu in [0, 2, 4] {
        world.load(cpu);
    }
    let mut sent = world.store(2);
    sent.sort();
    let two = [Upgrade, Invalidate, Invalidate, UpgradeAcknowledge, InvalidateAcknowledge, InvalidateAcknowledge];
    assert_eq!(sent, two);
    assert_eq!(world.states(), [Invalid, Invalid, Modified, Invalid, Invalid, Invalid]);
    assert_eq!((world.entry.state, world.entry.sharers), (owned_by(1), 0));
}

#[test]
fn a_dirty_line_moves_from_owner_to_writer() {
    let mut world = moesi();
    world.store(2);
    assert_eq!(world.store(4), [ReadExclusive, ForwardReadExclusive, DataExclusive, OwnershipTransfer]);
    assert_eq!(world.rights(), [Rights::None, Rights::None, Rights::Write]);
}

#[test]
fn a_node_with_the_right_to_write_serves_its_processors_itself() {
    let mut world = moesi();
    world.store(2);
    assert_eq!((world.load(3), world.store(3), world.load(2)), (vec![], vec![], vec![]));
    assert_eq!(world.states()[2..4], [Shared, Owned]);
    let mut world = World::<false>::new(3, 2, false);
    world.store(2);
    world.load(3);
    assert_eq!(world.states()[2..4], [Shared, Shared], "a MESI bus updates the block cache");
}

#[test]
fn a_replaced_line_is_recalled_from_the_caches_and_written_back() {
    let mut world = moesi();
    world.store(2);
    world.load(3);
    world.sent.clear();
    assert_eq!(world.replace(1), Started::Requested);
    world.settle();
    assert_eq!(world.sent, [Writeback, WritebackAcknowledge]);
    assert_eq!(world.states()[2..4], [Invalid, Invalid], "inclusion");
    assert_eq!((world.entry.state, world.contents[0].0), (DirectoryState::Shared, 1));
    assert_eq!(world.load(0), [Read, DataExclusive], "the home's node is alone again");
    assert_eq!(world.entry.state, owned_by(0));
}

#[test]
fn a_replaced_line_that_the_node_may_only_read_goes_without_a_message() {
    let mut world = moesi();
    world.load(2);
    world.sent.clear();
    world.replace(1);
    world.settle();
    assert_eq!((world.sent.len(), world.states()[2]), (0, Invalid));
    assert!(world.entry.lists(NodeId(1)), "the directory's sharers are a superset");
    let sent = world.store(0);
    assert!(sent.contains(&Invalidate) && sent.contains(&InvalidateAcknowledge), "{sent:?}");
}

#[test]
fn memory_at_the_home_replaces_nothing() {
    let mut world = moesi();
    world.store(0);
    assert_eq!((world.replace(0), world.replace(1)), (Started::Done, Started::Done));
    assert_eq!(world.states()[0], Modified);
}
