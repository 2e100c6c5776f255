//! Programs whose barriers cost something, and programs that share a machine.

use experiments::{Simulated, Simulation, Synchronisation, run_together};
use sim::{Mode, Options, Scheduling, SpaceSharing, TimeSharing};
use workloads::{BarrierKind, Settings, Workload};

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
                let simulation = simulation(machine, program, mode).with_synchronisation(Synchronisation { barrier });
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
                        let simulation = simulation.with_synchronisation(Synchronisation { barrier });
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
