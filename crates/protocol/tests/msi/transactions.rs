//! Transactions on an idle line, message by message, with the work done at the home that a machine prices.

use protocol::Version;
use protocol::msi::{
    Access, AccessOutcome, Clustering, CoarseVector, DirectoryState, DynamicPointer, Hybrid, MessageKind, Msi, Place,
    Transaction, Variant,
};
use units::NodeId;

use crate::machine::Machine;

const BASE: Variant = Variant { clustering: None, acknowledge_requester: false };

fn count(sent: &[&str], kind: MessageKind) -> usize {
    sent.iter().filter(|&&mnemonic| mnemonic == kind.mnemonic()).count()
}

#[test]
fn a_clean_read_takes_two_messages_and_a_dirty_one_four() {
    let mut machine = Machine::new(CoarseVector::BIT_VECTOR, 64, BASE);
    machine.access(5, Access::Load);
    assert_eq!(machine.sent, ["GET", "PUT"]);
    assert!(machine.works[0].memory_read);
    machine.access(6, Access::Store);
    machine.access(7, Access::Load);
    assert_eq!(machine.sent, ["GET", "FWD_GET", "PUT", "SWB"], "three hops, and the sharing writeback");
    assert_eq!(
        machine.works.iter().map(|work| work.transaction).collect::<Vec<_>>(),
        [Transaction::Forward, Transaction::SharingWriteback]
    );
    assert_eq!(machine.lines[0].memory, Version(1));
    assert_eq!(machine.lines[0].nodes[7].version, Version(1));
}

#[test]
fn ownership_of_a_dirty_line_moves_without_memory() {
    let mut machine = Machine::new(CoarseVector::BIT_VECTOR, 64, BASE);
    machine.access(6, Access::Store);
    machine.access(7, Access::Store);
    assert_eq!(machine.sent, ["GETX", "FWD_GETX", "PUTX", "OWN"]);
    assert!(machine.works.iter().all(|work| !work.memory_read && !work.memory_write));
    assert_eq!(machine.lines[0].entry.state, DirectoryState::Dirty { owner: NodeId(7) });
    assert_eq!(machine.lines[0].nodes[7].version, Version(2));
}

/// Base protocol: the home sends every invalidation and collects every acknowledgement before it answers.
#[test]
fn an_upgrade_waits_for_every_acknowledgement_at_the_home() {
    let mut machine = Machine::new(CoarseVector::BIT_VECTOR, 64, BASE);
    (10..30).for_each(|node| {
        machine.access(node, Access::Load);
    });
    machine.access(12, Access::Store);
    assert_eq!(count(&machine.sent, MessageKind::Invalidate), 19, "not the requester");
    assert_eq!(count(&machine.sent, MessageKind::InvalidateAcknowledge), 19);
    assert_eq!(machine.sent.last(), Some(&"UPGRADE_ACK"));
    let first = machine.works[0];
    assert_eq!((first.invalidations.messages, first.set.walked, first.memory_read), (19, 20, false));
    assert!(machine.lines[0].nodes.iter().enumerate().all(|(node, line)| (line.state == Msi::Invalid) == (node != 12)));
}

/// Acknowledgement to requester: the answer leaves with the invalidations.
#[test]
fn a_requester_that_collects_is_answered_at_once() {
    let mut machine = Machine::new(CoarseVector::BIT_VECTOR, 64, Variant { acknowledge_requester: true, ..BASE });
    (10..14).for_each(|node| {
        machine.access(node, Access::Load);
    });
    let has_row = |machine: &Machine<CoarseVector>| machine.lines[0].nodes[12].has_collection_row();
    assert!(
        !has_row(&machine) && machine.lines[0].nodes[12].request_message(Access::Store) == Some(MessageKind::Upgrade)
    );
    machine.begin(0, 12, Access::Store);
    assert!(has_row(&machine), "a row must be free for the answer");
    let upgrade = machine.network.pop_front().expect("in flight");
    machine.deliver(&upgrade);
    assert_eq!(machine.sent, ["UPGRADE", "INVAL", "INVAL", "INVAL", "UPGRADE_ACK"]);
    // The answer overtakes the invalidations: the store is done while three copies remain.
    let answer = machine.network.pop_back().expect("in flight");
    machine.deliver(&answer);
    assert_eq!((machine.lines[0].nodes[12].state, machine.lines[0].nodes[12].version), (Msi::Dirty, Version(1)));
    assert_eq!((machine.lines[0].nodes[10].state, machine.lines[0].nodes[10].version), (Msi::Shared, Version(0)));
    assert!(machine.lines[0].entry.state.is_pending() && has_row(&machine));
    machine.settle();
    assert!(!has_row(&machine));
    assert_eq!(machine.sent.last(), Some(&"INVAL_ACK_COLLECT_DONE"));
    assert_eq!(machine.lines[0].entry.state, DirectoryState::Dirty { owner: NodeId(12) });
}

/// Acknowledgement to requester changes nothing if requester and home are one node (Section 5.2.3).
#[test]
fn a_requester_on_the_home_node_collects_as_in_the_base_protocol() {
    let stores = |variant| {
        let mut machine = Machine::new(CoarseVector::BIT_VECTOR, 64, variant);
        let home = machine.context.site.home;
        (home.0..home.0 + 4).for_each(|node| {
            machine.access(node, Access::Load);
        });
        machine.access(home.0, Access::Store);
        assert_eq!(machine.lines[0].entry.state, DirectoryState::Dirty { owner: home });
        machine.sent
    };
    let sent = stores(Variant { acknowledge_requester: true, ..BASE });
    assert_eq!(sent, stores(BASE));
    assert_eq!(sent.last(), Some(&"UPGRADE_ACK"), "after the acknowledgements");
}

/// Clustered invalidation: one message and one acknowledgement per cluster (Figure 5.5).
#[test]
fn clusters_are_invalidated_by_one_message_each() {
    let clustered = Variant { clustering: Some(Clustering::FLASH), acknowledge_requester: false };
    let mut machine = Machine::new(CoarseVector::BIT_VECTOR, 64, clustered);
    (0..20).for_each(|node| {
        machine.access(node, Access::Load);
    });
    machine.access(1, Access::Store);
    // Nodes 0, 2 and 3 are a cluster without the requester; four further clusters are complete.
    assert_eq!(count(&machine.sent, MessageKind::ClusterInvalidate), 5);
    assert_eq!(count(&machine.sent, MessageKind::ClusterInvalidateAcknowledge), 5);
    assert_eq!(count(&machine.sent, MessageKind::Invalidate), 2 + 4 * 3);
    let first = machine.works[0];
    assert_eq!((first.invalidations.nodes, first.invalidations.messages), (19, 5));
    // Sixteen sharers do not exceed the threshold.
    let mut few = Machine::new(CoarseVector::BIT_VECTOR, 64, clustered);
    (0..16).for_each(|node| {
        few.access(node, Access::Load);
    });
    few.access(40, Access::Store);
    assert_eq!(count(&few.sent, MessageKind::ClusterInvalidate), 0);
    assert_eq!(count(&few.sent, MessageKind::Invalidate), 16);
}

#[test]
fn a_dropped_copy_sends_a_hint_if_the_set_needs_it() {
    let mut listed = Machine::new(DynamicPointer { links: 64, search: 16 }, 64, BASE);
    (1..5).for_each(|node| {
        listed.access(node, Access::Load);
    });
    listed.evict(2);
    assert_eq!(listed.sent, ["RPL"]);
    assert_eq!((listed.works[0].set.walked, listed.works[0].set.freed), (4, 1), "1 4 3 2");
    listed.access(9, Access::Store);
    assert_eq!(count(&listed.sent, MessageKind::Invalidate), 3);
    let mut hybrid = Machine::new(Hybrid::flash(64, 4), 64, BASE);
    hybrid.access(1, Access::Load);
    hybrid.evict(1);
    assert!(hybrid.sent.is_empty());
}

#[test]
fn a_dirty_line_is_written_back() {
    let mut machine = Machine::new(CoarseVector::BIT_VECTOR, 8, BASE);
    machine.access(3, Access::Store);
    machine.evict(3);
    assert_eq!(machine.sent, ["WB"]);
    assert!(machine.works[0].memory_write);
    assert_eq!((machine.lines[0].memory, machine.lines[0].entry.state), (Version(1), DirectoryState::Clean));
}

/// Remote access cache: evicted lines of other nodes stay in the node, and no message changes (FLASH dissertation,
/// Section 5.4).
#[test]
fn a_remote_access_cache_keeps_what_the_processor_evicts() {
    let mut machine = Machine::new(Hybrid::flash(64, 4), 64, BASE);
    machine.remote_access_cache = true;
    machine.access(3, Access::Store);
    machine.evict(3);
    assert!(machine.sent.is_empty(), "it is not written back");
    assert_eq!(machine.lines[0].nodes[3].place, Place::RemoteAccessCache);
    assert_eq!(machine.access(3, Access::Load), AccessOutcome::RemoteAccessCacheHit);
    assert_eq!(machine.access(3, Access::Load), AccessOutcome::Hit);
    machine.evict(3);
    machine.access(4, Access::Load);
    assert_eq!(machine.sent, ["GET", "FWD_GET", "PUT", "SWB"], "the remote access cache answers the forwarded request");
    assert_eq!(
        (machine.lines[0].nodes[3].state, machine.lines[0].nodes[3].place),
        (Msi::Shared, Place::RemoteAccessCache)
    );
    // The home's own lines are in its memory anyway.
    machine.access(0, Access::Load);
    machine.evict(0);
    assert_eq!(machine.lines[0].nodes[0].state, Msi::Invalid);
}
