//! State spaces of known size, which change only with the protocol or the model.

use protocol::Access;
use verify::{Config, Outcome};

/// Accesses of processors in most tests.
pub const BOTH: [Access; 2] = [Access::Load, Access::Store];

/// Explores a configuration of nodes with one processor completely, and checks that states, transitions and depth are as
/// given and that every property holds.
pub fn holds(protocol: &str, caches: u16, accesses: &[Access], size: (u64, u64, u32)) {
    holds_with(protocol, caches, 1, accesses, size);
}

/// Explores a configuration of nodes with so many processors, as [`holds`].
pub fn holds_with(protocol: &str, caches: u16, processors_per_node: u16, accesses: &[Access], size: (u64, u64, u32)) {
    let config = Config { accesses: accesses.to_vec(), processors_per_node, ..Config::new(caches, 1) };
    let run = verify::protocol(protocol).and_then(|found| found.run(&config)).expect("the configuration is good");
    if let Outcome::Counterexample(trace) = &run.outcome {
        panic!("{trace}");
    }
    let shape = format!("{caches} caches, {processors_per_node} a node");
    assert_eq!((run.states, run.transitions, run.depth), size, "{protocol}, {shape}, {accesses:?}");
}
