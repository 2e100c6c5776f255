//! Exploration of the snooping buses: no violation, and state spaces of known size.

use crate::pinned::{BOTH, holds};

#[test]
fn the_bus_has_every_property() {
    holds("moesi", 1, &BOTH, (6, 9, 3));
    holds("moesi", 2, &BOTH, (39, 110, 7));
    holds("moesi", 3, &BOTH, (98, 411, 9));
    holds("moesi", 4, &BOTH, (205, 1_143, 12));
    holds("moesi", 8, &BOTH, (1_593, 17_754, 24));
}

#[test]
fn the_bus_of_a_cluster_has_every_property() {
    holds("moesi-cluster", 1, &BOTH, (40, 94, 9));
    holds("moesi-cluster", 2, &BOTH, (177, 673, 11));
    holds("moesi-cluster", 3, &BOTH, (436, 2_242, 14));
    holds("moesi-cluster", 4, &BOTH, (900, 5_838, 17));
    holds("moesi-cluster", 8, &BOTH, (6_786, 80_670, 29));
}

#[test]
fn the_mesi_bus_has_every_property() {
    holds("mesi", 1, &BOTH, (6, 9, 3));
    holds("mesi", 2, &BOTH, (24, 69, 7));
    holds("mesi", 3, &BOTH, (53, 225, 9));
    holds("mesi", 8, &BOTH, (603, 6_732, 24));
}
