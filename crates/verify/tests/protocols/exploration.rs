//! Exploration of the Origin: no violation, and state spaces of known size. Bad configurations are rejected.

use protocol::Access;
use verify::{Config, ConfigError, Outcome, Run};

fn run(config: &Config) -> Run {
    verify::protocol("origin").and_then(|origin| origin.run(config)).expect("the configuration is good")
}

fn two_on_a_node() -> Config {
    Config { processors_per_node: 2, ..Config::new(2, 1) }
}

/// Explores a configuration completely, and checks the size of the state space, which changes only with the protocol or
/// the model.
fn holds(config: &Config, states: u64, transitions: u64, depth: u32) {
    let run = run(config);
    if let Outcome::Counterexample(trace) = &run.outcome {
        panic!("{trace}");
    }
    assert_eq!((run.states, run.transitions, run.depth), (states, transitions, depth), "{config:?}");
}

#[test]
fn one_cache_has_every_property() {
    holds(&Config::new(1, 1), 54, 84, 6);
}

#[test]
fn two_caches_have_every_property_with_every_access() {
    holds(&Config::new(2, 1), 97_555, 276_293, 41);
}

#[test]
fn two_caches_on_one_node_have_every_property() {
    holds(&two_on_a_node(), 101_825, 289_649, 40);
}

#[test]
fn two_nodes_of_two_have_every_property_with_stores() {
    let config = Config { processors_per_node: 2, accesses: vec![Access::Store], ..Config::new(4, 1) };
    holds(&config, 161_782, 808_077, 49);
}

#[test]
fn three_caches_have_every_property_with_loads_and_stores() {
    let config = Config { accesses: vec![Access::Load, Access::Store], ..Config::new(3, 1) };
    holds(&config, 733_762, 2_909_254, 55);
}

#[test]
fn two_lines_have_every_property_with_stores() {
    let config = Config { accesses: vec![Access::Store], ..Config::new(2, 2) };
    holds(&config, 21_709, 96_067, 46);
}

#[test]
fn priorities_grow_to_their_limit() {
    let config = Config { accesses: vec![Access::Load, Access::Store], priority_limit: 3, ..Config::new(2, 1) };
    holds(&config, 26_702, 72_179, 55);
}

#[test]
fn exploration_stops_at_the_limit() {
    let origin = verify::protocol("origin").expect("registered");
    let result = origin.run(&Config { state_limit: 1000, ..Config::new(2, 1) });
    assert_eq!(result, Err(ConfigError::TooManyStates { caches: 2, lines: 1, limit: 1000 }));
}

#[test]
fn bad_configurations_are_rejected() {
    let origin = verify::protocol("origin").expect("registered");
    for (caches, lines) in [(0, 1), (5, 1), (2, 0), (2, 3)] {
        assert!(matches!(origin.run(&Config::new(caches, lines)), Err(ConfigError::OutOfRange { .. })));
    }
    let unknown = verify::protocol("dragon").map(|protocol| protocol.name);
    let message = unknown.expect_err("there is no such protocol").to_string();
    assert!(message.starts_with("PROTOCOL dragon: unknown protocol; accepted: origin, "), "{message}");
}
