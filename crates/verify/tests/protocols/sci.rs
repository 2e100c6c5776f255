//! Exploration of SCI: no violation, and state spaces of known size.

use crate::pinned::{BOTH, holds};
use protocol::Access;

#[test]
fn one_cache_has_every_property() {
    holds("sci", 1, &BOTH, (13, 16, 5));
}

#[test]
fn two_caches_have_every_property() {
    holds("sci", 2, &BOTH, (684, 1_513, 32));
}

#[test]
fn three_caches_have_every_property() {
    holds("sci", 3, &BOTH, (45_954, 147_781, 58));
}

#[test]
fn four_caches_have_every_property_with_loads() {
    holds("sci", 4, &[Access::Load], (25_561, 102_244, 54));
}

#[test]
fn four_caches_have_every_property_with_stores() {
    holds("sci", 4, &[Access::Store], (8_367, 34_538, 44));
}

/// Loads and stores of four caches: the longest list in which an element has neighbours that are neither head nor tail.
#[test]
#[ignore = "three and a half million states: ten seconds"]
fn four_caches_have_every_property() {
    holds("sci", 4, &BOTH, (3_463_712, 14_619_137, 83));
}
