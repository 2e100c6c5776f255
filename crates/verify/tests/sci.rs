//! What the explorer finds of SCI: no fault, and state spaces of known size.

use protocol::Access;
use verify::{Config, Outcome};

fn explored(caches: u16, accesses: &[Access]) -> (u64, u64, u32) {
    let config = Config { accesses: accesses.to_vec(), ..Config::new(caches, 1) };
    let run = verify::protocol("sci").and_then(|sci| sci.run(&config)).expect("the configuration is good");
    if let Outcome::Counterexample(trace) = &run.outcome {
        panic!("{trace}");
    }
    (run.states, run.transitions, run.depth)
}

const BOTH: [Access; 2] = [Access::Load, Access::Store];

#[test]
fn one_cache() {
    assert_eq!(explored(1, &BOTH), (13, 16, 5));
}

#[test]
fn two_caches() {
    assert_eq!(explored(2, &BOTH), (684, 1_513, 32));
}

#[test]
fn three_caches() {
    assert_eq!(explored(3, &BOTH), (45_954, 147_781, 58));
}

#[test]
fn four_caches_that_store() {
    assert_eq!(explored(4, &[Access::Store]), (8_367, 34_538, 44));
}
