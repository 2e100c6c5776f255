//! Programs whose barriers cost something, and programs that share a machine.

use experiments::{Simulated, Simulation, Synchronisation, run_together};
use sim::{Mode, Options, Scheduling, SpaceSharing, TimeSharing};
use workloads::{BarrierKind, LockKind, Settings, Workload};

fn program(name: &str, settings: &[(&'static str, u64)]) -> Workload {
    let settings = settings.iter().fold(Settings::default(), |settings, &(name, value)| settings.with(name, value));
    Workload::new(name, &settings).expect("a program")
}

fn simulation(machine: &str, program: Workload, mode: Mode) -> Simulation {
    let mut description = machine::load(machine).expect("a machine");
    description.scheduler.compression = 10_000;
    let options = Options { mode, check_loads: true, seed: 3, ..Options::default() };
    Simulation::new(description, program, None, options).expect("it can run")
}

fn right(simulated: &Simulated) {
    assert_eq!(simulated.wrong, None, "{}", simulated.row.program);
}

/// Programs that would go wrong if a barrier let anybody pass too soon.
fn programs() -> [Workload; 3] {
    [
        program("ocean", &[("intervals", 8)]),
        program("radix", &[("keys", 300), ("radix", 16), ("bits", 8)]),
        program("water", &[("molecules", 9)]),
    ]
}

#[test]
fn every_barrier_is_one_on_every_machine() {
    for machine in ["origin2000-r12k-300-8p", "flash-8p"] {
        for program in programs() {
            let run = |barrier, mode| {
                let simulation = simulation(machine, program, mode)
                    .with_synchronisation(Synchronisation { barrier, ..Synchronisation::default() })
                    .expect("there is room");
                let simulated = simulation.run().unwrap_or_else(|error| panic!("{barrier:?} on {machine}: {error}"));
                right(&simulated);
                simulated.row
            };
            let ideal = run(None, Mode::LookAhead);
            for (kind, name) in BarrierKind::ALL {
                let row = run(Some(kind), Mode::LookAhead);
                assert_eq!(row, run(Some(kind), Mode::LockStep), "{name} on {machine}");
                assert!(row.time_ns > ideal.time_ns, "{name} on {machine}: it costs");
                assert!(row.references > ideal.references, "{name} on {machine}: it is made of references");
            }
        }
    }
}

/// Threads are moved in the middle of whatever they do: results stay right, and running ahead changes nothing.
#[test]
fn results_are_right_under_every_scheduler() {
    for machine in ["origin2000-r12k-300-4p", "flash-4p"] {
        for (time, _) in TimeSharing::ALL {
            for (space, _) in SpaceSharing::ALL {
                let run = |mode| {
                    let scheduled = |program| {
                        let barrier = Some(BarrierKind::LlSc);
                        let simulation = simulation(machine, program, mode);
                        let simulation = simulation
                            .with_synchronisation(Synchronisation { barrier, ..Synchronisation::default() })
                            .expect("there is room");
                        simulation.with_scheduling(Scheduling { time, space }).expect("there is room")
                    };
                    let [first, _, second] = programs().map(scheduled);
                    let together = run_together(&[first, second]).unwrap_or_else(|error| panic!("{time:?}: {error}"));
                    together.iter().for_each(right);
                    together.into_iter().map(|simulated| simulated.row).collect::<Vec<_>>()
                };
                assert_eq!(run(Mode::LookAhead), run(Mode::LockStep), "{time:?} {space:?} on {machine}");
            }
        }
    }
}

/// Programs that would lose something if two held a lock, in words of their own, packed, and within what they guard.
fn locking() -> [Workload; 3] {
    [
        program("water", &[("molecules", 9)]),
        program("gafort", &[("families", 9), ("genes", 6), ("generations", 2)]),
        program("mp3d", &[("particles", 100), ("steps", 2)]),
    ]
}

#[test]
fn every_lock_is_one_on_every_machine() {
    let machines = [
        "origin2000-r12k-300-8p",
        "flash-8p",
        "flash-8p+directory.ideal=zero-overhead",
        "flash-8p+directory.ideal=all-local",
    ];
    for machine in machines {
        let description = experiments::variant::load(machine).expect("a machine");
        for program in locking() {
            let run = |locks, mode| {
                let options = Options { mode, check_loads: true, seed: 3, ..Options::default() };
                let simulation = Simulation::new(description.clone(), program, None, options).expect("it can run");
                let synchronisation = Synchronisation { locks, ..Synchronisation::default() };
                let simulation = simulation.with_synchronisation(synchronisation).expect("there is room");
                let simulated = simulation.run().unwrap_or_else(|error| panic!("{locks:?} on {machine}: {error}"));
                right(&simulated);
                simulated.row
            };
            let [llsc, at_memory] = [LockKind::LlSc, LockKind::AtMemory].map(|locks| {
                let row = run(locks, Mode::LookAhead);
                assert_eq!(row, run(locks, Mode::LockStep), "{locks:?} of {} on {machine}", program.name());
                row
            });
            assert!(llsc.spent_ns["lock"] > 0.0 && at_memory.spent_ns["lock"] > 0.0, "{machine}");
            assert_ne!(llsc.identity(), at_memory.identity());
        }
    }
}

/// Sixteen threads of two processes on eight processors: who holds a lock, or is next, may not be running.
#[test]
fn locks_are_passed_on_though_threads_take_turns() {
    for machine in ["origin2000-r12k-300-8p", "flash-8p"] {
        for (time, name) in TimeSharing::ALL {
            let run = |mode| {
                let scheduled = |program| {
                    let synchronisation =
                        Synchronisation { barrier: Some(BarrierKind::LlSc), locks: LockKind::AtMemory };
                    let simulation = simulation(machine, program, mode).with_synchronisation(synchronisation);
                    let scheduling = Scheduling { time, ..Scheduling::default() };
                    simulation.and_then(|each| each.with_scheduling(scheduling)).expect("there is room")
                };
                let [water, gafort, _] = locking().map(scheduled);
                let together = run_together(&[water, gafort]).unwrap_or_else(|error| panic!("{name}: {error}"));
                together.iter().for_each(right);
                together.into_iter().map(|simulated| simulated.row).collect::<Vec<_>>()
            };
            assert_eq!(run(Mode::LookAhead), run(Mode::LockStep), "{name} on {machine}");
        }
    }
}
