//! Exploration of servers: no violation, and state spaces of known size; processors that reorder relax nothing beyond their
//! own order, and their order can be observed.

use crate::pinned::{BOTH, holds_with};
use protocol::Access;
use verify::{Config, Litmus, Order, Outcome, Property};

/// Accesses of every kind: instruction fetches, prefetches for writing, and reads that keep no copy, too.
const EVERY: [Access; 5] =
    [Access::Load, Access::InstructionFetch, Access::Store, Access::WritePrefetch, Access::UncachedRead];

#[test]
fn clusters_have_every_property() {
    holds_with("server/haswell", 2, 2, &BOTH, (4_375, 13_269, 27));
    holds_with("server/haswell", 2, 1, &BOTH, (26_078, 94_254, 57));
    holds_with("server/early", 2, 1, &BOTH, (52_816, 154_528, 76));
    holds_with("server/cod", 2, 1, &BOTH, (67_923, 250_591, 58));
    holds_with("server/directory", 2, 1, &BOTH, (96_630, 437_414, 54));
    holds_with("server/snoop", 2, 1, &BOTH, (68_844, 305_454, 56));
    holds_with("server/snoop-early", 2, 1, &BOTH, (92_360, 319_978, 74));
}

/// The same for the other designs takes minutes: 620,986 states (early), 2,398,511 (directory), and more.
#[test]
fn three_cores_in_two_sockets_have_every_property() {
    holds_with("server/haswell", 3, 2, &BOTH, (338_813, 1_511_536, 63));
}

#[test]
fn three_cores_in_two_sockets_have_every_property_with_stores() {
    const STORE: [Access; 1] = [Access::Store];
    holds_with("server/haswell", 3, 2, &STORE, (6_250, 23_864, 32));
    holds_with("server/early", 3, 2, &STORE, (11_280, 36_824, 36));
    holds_with("server/cod", 3, 2, &STORE, (13_546, 52_134, 52));
    holds_with("server/directory", 3, 2, &STORE, (3_948, 14_552, 27));
    holds_with("server/skylake", 3, 2, &STORE, (8_500, 31_764, 47));
    holds_with("server/snoop", 3, 2, &STORE, (3_876, 14_374, 27));
    holds_with("server/snoop-early", 3, 2, &STORE, (7_816, 24_572, 33));
    holds_with("server/zen", 3, 2, &STORE, (5_138, 18_778, 27));
}

/// Explores two cores of a cluster and two lines, with room for one in every filter, inclusive L3 and probe filter.
fn holds_with_little_room(protocol: &str, size: (u64, u64, u32)) {
    let config = Config { accesses: vec![Access::Store], processors_per_node: 2, ..Config::new(2, 2) };
    let run = verify::protocol(protocol).and_then(|found| found.run(&config)).expect("the configuration is good");
    if let Outcome::Counterexample(trace) = &run.outcome {
        panic!("{trace}");
    }
    assert_eq!((run.states, run.transitions, run.depth), size, "{protocol}");
}

#[test]
fn capacity_replacements_end() {
    holds_with_little_room("server/haswell", (9_840, 43_472, 28));
    holds_with_little_room("server/cod", (9_840, 43_472, 28));
    holds_with_little_room("server/directory", (27_120, 134_672, 24));
    holds_with_little_room("server/snoop", (27_120, 134_672, 24));
    holds_with_little_room("server/zen", (4_768, 18_080, 17));
}

/// Every access of two cores of one cluster: instruction fetches, prefetches for writing, and reads that keep no copy.
#[test]
fn every_access_has_every_property() {
    holds_with("server/haswell", 2, 2, &EVERY, (55_412, 185_479, 35));
    holds_with("server/skylake", 2, 2, &EVERY, (127_914, 487_673, 38));
    holds_with("server/zen", 2, 2, &EVERY, (205_657, 788_876, 38));
}

/// Processors of x86 and Arm observe nothing that an atomic memory does not allow them, on any protocol of servers.
#[test]
fn processors_that_reorder_observe_an_atomic_memory() {
    for protocol in verify::protocols().filter(|protocol| protocol.name.starts_with("server/")) {
        for litmus in &Litmus::REORDERED {
            let run = protocol.run_litmus(litmus).expect("litmus tests are small");
            if let Outcome::Counterexample(trace) = run.outcome {
                panic!("{}: {}: {trace}", protocol.name, litmus.name);
            }
        }
    }
}

/// Relaxations of these processors can be observed: store buffers in store buffering, Arm's order in both tests. Message
/// passing keeps its order on x86.
#[test]
fn the_order_of_processors_can_be_observed() {
    let skylake = verify::protocol("server/skylake").expect("registered");
    let observed = Litmus::REORDERED.map(|litmus| {
        let strict = Litmus { allowed: Order::Sequential, ..litmus };
        match skylake.run_litmus(&strict).expect("litmus tests are small").outcome {
            Outcome::Ok => false,
            Outcome::Counterexample(trace) => {
                assert_eq!(trace.violation.property, Property::SequentialConsistency, "{trace}");
                true
            }
        }
    });
    assert_eq!(observed, [false, true, true, true]);
}
