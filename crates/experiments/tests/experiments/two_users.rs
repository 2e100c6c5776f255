//! Two users who want all processors of a machine but one: what the FLASH dissertation's Figure 4.4 is about, made small.

use experiments::{Simulation, Synchronisation, run_together};
use sim::{Options, Scheduling, SpaceSharing, TimeSharing};
use units::Bytes;
use workloads::{BarrierKind, Settings, Workload};

/// From the start to the end of the second of two equal processes of seven threads on eight processors, in microseconds, and how
/// often threads changed processors.
fn two_users(time: TimeSharing, space: SpaceSharing) -> (f64, u64) {
    let mut description = machine::load("flash-8p").expect("a machine");
    // Fewer cycles than a real program: so much shorter are a turn and the caches.
    description.scheduler.compression = 2000;
    description.set_coherent_size(Bytes::from_kib(64));
    let settings = Settings::default().with("side", 64).with("rounds", 4);
    let program = Workload::new("swim", &settings).expect("a program");
    let one = || {
        let simulation =
            Simulation::new(description.clone(), program, Some(7), Options { seed: 1, ..Options::default() });
        let barrier = Some(BarrierKind::LlSc);
        let simulation = simulation
            .expect("it can run")
            .with_synchronisation(Synchronisation { barrier, ..Synchronisation::default() })
            .expect("there is room");
        simulation.with_scheduling(Scheduling { time, space }).expect("there is room")
    };
    let together = run_together(&[one(), one()]).expect("it runs");
    for simulated in &together {
        assert_eq!(simulated.wrong, None);
    }
    let end = together.iter().map(|simulated| simulated.finished.as_ns()).fold(0.0, f64::max);
    (end / 1e3, together.iter().flat_map(|simulated| &simulated.scheduling).map(|counters| counters.migrations).sum())
}

#[test]
fn who_yields_to_the_other_is_done_as_soon() {
    let (batch, _) = two_users(TimeSharing::Batch, SpaceSharing::PinnedTopDown);
    for time in [TimeSharing::Gang, TimeSharing::RunQueue] {
        let (shared, migrations) = two_users(time, SpaceSharing::PinnedTopDown);
        assert!(shared > 1.2 * batch, "{time:?}: {shared:.0} us instead of {batch:.0} us one after the other");
        assert_eq!(migrations, 0, "{time:?}");
    }
}

/// The processor that a gang leaves idle takes a thread of the other away from its memory and caches, turn by turn.
#[test]
fn the_idle_processor_is_a_pitfall_for_gangs() {
    let (pinned, _) = two_users(TimeSharing::Gang, SpaceSharing::PinnedTopDown);
    let (roaming, migrations) = two_users(TimeSharing::Gang, SpaceSharing::CacheAffinity);
    assert!(migrations > 5, "{migrations} migrations");
    assert!(roaming > pinned, "{roaming:.0} us, pinned {pinned:.0} us");
    let (batch, _) = two_users(TimeSharing::Batch, SpaceSharing::CacheAffinity);
    assert!(roaming > batch, "{roaming:.0} us, {batch:.0} us one after the other");
}
