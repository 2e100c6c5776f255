//! The sharer vector against a set of nodes: its sharers, the other nodes that it covers, and its counts.

use std::collections::BTreeSet;

use proptest::prelude::*;
use protocol::Access;
use protocol::origin::{DirectoryState, Geometry, Mesi, SharerVector, VectorMode};
use units::{CpuId, NodeId};

use crate::world::World;

fn vector(nodes: &BTreeSet<u16>) -> SharerVector {
    nodes.iter().fold(SharerVector::EMPTY, |vector, &node| vector.with(NodeId(node)))
}

/// Nodes that a vector must cover, by the rule of Prestor 2001, Section 3.2.1.
fn covered(nodes: &BTreeSet<u16>, machine: u16) -> BTreeSet<u16> {
    let octants: BTreeSet<u16> = nodes.iter().map(|node| node / 64).collect();
    if octants.len() <= 1 {
        return nodes.clone();
    }
    (0..machine).filter(|node| nodes.iter().any(|sharer| sharer / 8 == node / 8)).collect()
}

proptest! {
    #[test]
    fn covers_the_nodes_of_the_rule(machine in 1u16..=512, picks in prop::collection::vec(0u16..512, 0..40), cpu in 0u16..1024) {
        let geometry = Geometry::origin(machine);
        let nodes: BTreeSet<u16> = picks.into_iter().map(|node| node % machine).collect();
        let requester = CpuId(cpu % geometry.processors());
        let vector = vector(&nodes);
        let expected = covered(&nodes, machine);
        let targets: Vec<u16> = vector.targets(geometry, requester).map(|node| node.0).collect();
        prop_assert_eq!(&targets, &expected.iter().rev().copied().collect::<Vec<_>>());
        prop_assert_eq!(usize::from(vector.target_count(geometry, requester)), targets.len());
        for node in 0..machine {
            prop_assert_eq!(vector.contains(NodeId(node)), expected.contains(&node));
        }
    }

    #[test]
    fn does_not_depend_on_the_order_of_insertion(mut picks in prop::collection::vec(0u16..512, 0..40)) {
        let forward = picks.iter().fold(SharerVector::EMPTY, |vector, &node| vector.with(NodeId(node)));
        picks.reverse();
        let backward = picks.iter().fold(SharerVector::EMPTY, |vector, &node| vector.with(NodeId(node)));
        prop_assert_eq!(forward, backward);
    }

    #[test]
    fn skips_the_requesters_node_if_it_has_no_neighbour(picks in prop::collection::btree_set(0u16..512, 0..40), cpu in 0u16..512) {
        let geometry = Geometry { processors_per_node: 1, ..Geometry::origin(512) };
        let vector = vector(&picks);
        let mut expected = covered(&picks, 512);
        expected.remove(&cpu);
        let targets: BTreeSet<u16> = vector.targets(geometry, CpuId(cpu)).map(|node| node.0).collect();
        prop_assert_eq!(usize::from(vector.target_count(geometry, CpuId(cpu))), targets.len());
        prop_assert_eq!(targets, expected);
    }
}

#[test]
fn one_octant_is_kept_exactly_and_two_are_coarse() {
    let first = SharerVector::single(NodeId(70)).with(NodeId(127));
    assert_eq!(first.mode(), VectorMode::Octant(1));
    assert_eq!(format!("{first:?}"), "{n70, n127}");
    let both = first.with(NodeId(3));
    assert_eq!(both.mode(), VectorMode::Coarse);
    assert_eq!(format!("{both:?}"), "coarse {n0, n64, n120}");
    assert!(both.contains(NodeId(7)) && both.contains(NodeId(64)) && !both.contains(NodeId(8)));
    assert_eq!(SharerVector::EMPTY.mode(), VectorMode::Empty);
}

#[test]
fn a_store_to_a_coarsely_shared_line_invalidates_bystanders_too() {
    // On 200 nodes, the sharers on nodes 1 and 199 are in different octants, and 199 is the last node of a full group.
    let mut world = World::new(Geometry::origin(200));
    world.run(2, Access::ReadPrefetch);
    world.run(399, Access::ReadPrefetch);
    world.access(100, Access::Store);
    let work = world.deliver(protocol::origin::MessageKind::ReadExclusive).work();
    assert_eq!(work.invalidations, 16);
    world.settle();
    assert_eq!((world.mesi(100), world.mesi(2), world.mesi(399)), (Mesi::Modified, Mesi::Invalid, Mesi::Invalid));
}

#[test]
fn a_group_of_eight_ends_where_the_machine_ends() {
    let mut world = World::new(Geometry::origin(130));
    world.run(0, Access::ReadPrefetch);
    world.run(259, Access::ReadPrefetch);
    world.access(100, Access::Store);
    // Targets are nodes 0 to 7, and the two existing nodes of the group 128 to 135.
    assert_eq!(world.deliver(protocol::origin::MessageKind::ReadExclusive).work().invalidations, 10);
    world.settle();
}

#[test]
fn an_upgrade_of_a_lost_copy_is_granted_by_a_coarse_vector() {
    // Nodes 0 and 1 share a coarse bit: processor 0's late upgrade finds the bit set by processor 2's copy.
    let mut world = World::new(Geometry::origin(130));
    world.run(0, Access::ReadPrefetch);
    world.access(0, Access::Store);
    let upgrade = world.network.pop().expect("the upgrade is in flight");
    for (cpu, access) in [(4, Access::Store), (2, Access::Load), (200, Access::Load)] {
        world.access(cpu, access);
        while !world.network.is_empty() {
            world.deliver_index(0);
        }
    }
    assert_eq!(
        (world.mesi(0), world.entry.state, world.entry.sharers.mode()),
        (Mesi::Invalid, DirectoryState::Shared, VectorMode::Coarse)
    );
    world.network.push(upgrade);
    world.settle();
    assert_eq!((world.mesi(0), world.last_store.0), (Mesi::Modified, 2));
}
