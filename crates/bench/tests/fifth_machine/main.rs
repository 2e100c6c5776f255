//! A machine that the product does not have, added from outside: a protocol and a description, explored, random-tested and
//! benchmarked.

mod three_states;

use bench::{Experiment, Platform, Settings, SimulatedPlatform, Suite, SuiteScope};
use machine::Description;
use protocol::Access;
use sim::random::RandomTest;
use sim::{Mode, Options};
use verify::{Alone, Config, explore_bus};

use three_states::ThreeStates;

fn machine() -> Description {
    sim::register_bus::<ThreeStates>("three-states");
    machine::parse("fifth.toml", include_str!("machine.toml")).expect("a machine").description
}

#[test]
fn it_is_explored() {
    let explore = |caches, mutation| {
        let accesses = vec![Access::Load, Access::Store];
        explore_bus::<ThreeStates, Alone>(&Config { accesses, mutation, ..Config::new(caches, 1) })
    };
    for caches in 1..=4 {
        let explored = explore(caches, None);
        assert!(explored.complete && explored.counterexample.is_none(), "{:?}", explored.counterexample);
    }
    assert!(explore(2, Some("keep-copy")).counterexample.is_some());
}

#[test]
fn it_survives_random_programs() {
    let mut writebacks = 0;
    for seed in 0..8 {
        let ahead = RandomTest::new(seed);
        let report = ahead.run(&machine()).expect("no fault");
        assert!(report == RandomTest { mode: Mode::LockStep, ..ahead }.run(&machine()).expect("no fault"));
        assert!(report.invalidations() > 100, "{}", report.invalidations());
        writebacks += report.writebacks();
    }
    assert!(writebacks > 100, "{writebacks}");
}

#[test]
fn it_is_benchmarked() {
    let mut platform = SimulatedPlatform::new(machine(), Options::default()).expect("a platform");
    let scope = SuiteScope::whole(Settings { lines: Some(256), iterations: 2, ..Settings::simulated() });
    let mut latencies = Vec::new();
    for plan in Suite::Local.plans(platform.layout(), &scope).expect("plans") {
        let record = plan.run(&mut platform).expect("an outcome").record;
        if record.experiment == Experiment::LmbenchRead.name() {
            latencies.push((record.state.clone(), record.headline()));
        }
    }
    assert!(latencies.len() > 3, "{latencies:?}");
}
