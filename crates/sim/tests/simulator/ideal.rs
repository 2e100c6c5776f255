//! Random tests of ideal machines: every protocol coherent, look-ahead equal to lock-step bit for bit.

use machine::description::{Description, IdealProtocol};
use protocol::msi::catalogue;
use sim::random::RandomTest;
use sim::{Mode, Options, Simulator};
use units::Duration;

fn description(machine: &str, protocol: &str, ideal: IdealProtocol) -> Description {
    let mut description = machine::load(machine).unwrap();
    let directory = description.directory.as_mut().unwrap();
    directory.protocol = protocol.to_owned();
    directory.ideal = ideal;
    description
}

/// The protocols of ideal machines: the dissertation's ideal protocols have no remote access cache.
fn protocols() -> impl Iterator<Item = &'static str> {
    catalogue::names().filter(|name| !name.contains("RAC"))
}

/// Small caches, small stores, hot lines; with random delays and without. Every load and store is checked.
#[test]
fn every_protocol_stays_coherent_and_look_ahead_equals_lock_step() {
    for (seed, protocol) in (1..).zip(protocols()) {
        for ideal in [IdealProtocol::ZeroOverhead, IdealProtocol::AllLocal] {
            for delay in [Duration::ZERO, Duration::from_ns(2000.0)] {
                let machine = description("flash-16p", protocol, ideal);
                let ahead = RandomTest { references: 400, delay, ..RandomTest::new(seed) };
                let in_step = RandomTest { mode: Mode::LockStep, ..ahead };
                let (ahead, in_step) = (ahead.run(&machine).unwrap(), in_step.run(&machine).unwrap());
                assert_eq!(ahead, in_step, "{protocol}, {ideal:?}, {delay}");
                assert!(ahead.transactions() > 1000 && ahead.invalidations() > 100, "{protocol}: {ahead:?}");
            }
        }
    }
}

/// A NACK occurs only when a store has run out of room.
#[test]
fn nothing_is_refused() {
    let machine = description("flash-63p", "cv=2/LB", IdealProtocol::ZeroOverhead);
    let report = RandomTest::new(7).run(&machine).unwrap();
    assert_eq!(report.refusals(), 0);
    assert!(report.transactions() > 10_000, "{}", report.transactions());
}

#[test]
fn a_remote_access_cache_is_refused() {
    let machine = description("flash-8p", "hybrid/RAC", IdealProtocol::AllLocal);
    let refused = Simulator::new(&machine, Options::default()).err().unwrap().to_string();
    assert!(refused.contains("directory.protocol") && refused.contains("hybrid/RAC"), "{refused}");
}
