//! Exploration of clusters together with the buses of their nodes: no violation, and state spaces of known size.

use crate::pinned::{BOTH, holds_with};
use protocol::Access;

/// Explores nodes of so many processors.
fn holds(protocol: &str, nodes: u16, processors_per_node: u16, size: (u64, u64, u32)) {
    holds_with(protocol, nodes * processors_per_node, processors_per_node, &BOTH, size);
}

#[test]
fn one_node_is_a_bus_alone() {
    holds("cluster", 1, 4, (205, 1_143, 12));
    holds("cluster/mesi", 1, 1, (6, 9, 3));
}

#[test]
fn nodes_with_a_moesi_bus_have_every_property() {
    holds("cluster", 2, 1, (2_551, 7_236, 36));
    holds("cluster", 2, 2, (32_690, 159_197, 40));
    holds("cluster", 3, 1, (132_016, 564_292, 47));
}

#[test]
fn nodes_with_a_mesi_bus_have_every_property() {
    holds("cluster/mesi", 2, 1, (2_551, 7_236, 36));
    holds("cluster/mesi", 2, 2, (29_990, 144_797, 40));
}

#[test]
fn writes_ahead_of_acknowledgements_have_every_property() {
    holds("cluster/RC", 2, 1, (3_172, 9_894, 36));
    holds("cluster/RC", 2, 2, (41_094, 217_486, 40));
    holds("cluster/RC", 3, 1, (175_608, 832_395, 47));
}

/// The home's own node takes the line from all caches at any time, and poisons it; later its poison bit is cleared.
#[test]
fn lines_that_are_poisoned_have_every_property() {
    let poisons = [BOTH[0], BOTH[1], Access::PoisonRead];
    holds_with("cluster", 2, 1, &poisons, (8_982, 31_195, 37));
    holds_with("cluster", 4, 2, &poisons, (110_103, 604_807, 41));
    holds_with("cluster/RC", 4, 2, &poisons, (130_911, 760_446, 41));
    holds_with("cluster", 3, 1, &poisons, (507_958, 2_525_381, 57));
}
