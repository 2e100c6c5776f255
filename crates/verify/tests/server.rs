//! Exploration of servers: no violation, and state spaces of known size; processors that reorder relax nothing beyond their
//! own order, and their order can be observed.

mod pinned;

use pinned::{BOTH, holds_with};
use protocol::Access;
use verify::{Config, Litmus, Order, Outcome, Property};

/// Every access that a core can make.
const EVERY: [Access; 5] =
    [Access::Load, Access::InstructionFetch, Access::Store, Access::WritePrefetch, Access::UncachedRead];

#[test]
fn two_cores_of_a_cluster_have_every_property() {
    holds_with("server/haswell", 2, 2, &BOTH, (4_375, 13_269, 27));
}
