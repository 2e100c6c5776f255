//! Every program on simulated machines: its results are right, and running ahead changes nothing that is recorded.

use experiments::Simulation;
use record::SimulationRow;
use sim::{Mode, Options};
use workloads::{Settings, Workload};

/// Every program, small.
fn programs() -> Vec<Workload> {
    programs_with(&[])
}

/// The same with other values, too.
fn programs_with(others: &[(&'static str, u64)]) -> Vec<Workload> {
    let small = [
        ("lines", 12),
        ("rounds", 3),
        ("references", 40),
        ("writes", 30),
        ("points", 64),
        ("keys", 300),
        ("radix", 16),
        ("bits", 8),
        ("side", 13),
        ("block", 3),
        ("intervals", 8),
        ("molecules", 9),
        ("vertices", 21),
        ("words", 50),
        ("rows", 40),
        ("sites", 2),
        ("time", 7),
        ("planes", 4),
        ("breadth", 7),
        ("positions", 5),
        ("window", 4),
        ("patterns", 3),
        ("edge", 4),
        ("width", 3),
        ("length", 4),
        ("families", 9),
        ("genes", 6),
        ("bodies", 40),
        ("particles", 100),
        ("pixels", 9),
        ("generations", 1),
        ("levels", 4),
        ("terms", 4),
    ];
    Workload::all_with(&[&small, others].concat()).expect("values in range")
}

/// Programs with other structures or schedules than their defaults.
fn in_other_forms() -> Vec<Workload> {
    let forms: [(&str, &[(&str, u64)]); 6] = [
        ("barnes", &[("bodies", 70), ("steps", 2), ("leaf", 3)]),
        ("barnes", &[("bodies", 90), ("steps", 1), ("leaf", 10)]),
        ("cholesky", &[("length", 5), ("width", 4), ("panel", 3), ("schedule", 3)]),
        ("cholesky", &[("length", 9), ("width", 3), ("height", 2), ("panel", 32), ("fit", 1), ("schedule", 3)]),
        ("cholesky", &[("length", 5), ("width", 4), ("schedule", 1)]),
        ("raytrace", &[("pixels", 7), ("tile", 3), ("generations", 1), ("numbered", 0)]),
    ];
    let program = |(name, values): (&str, &[(&str, u64)])| {
        let settings = values.iter().fold(Settings::default(), |settings, &(key, value)| settings.with(key, value));
        Workload::new(name, &settings).expect("values in range")
    };
    forms.into_iter().map(program).collect()
}

fn run(machine: &str, program: Workload, cpus: Option<u16>, mode: Mode) -> SimulationRow {
    let description = machine::load(machine).expect("a machine");
    let options = Options { mode, check_loads: true, miss_causes: cpus.is_none(), seed: 3, ..Options::default() };
    let simulation = Simulation::new(description, program, cpus, options).expect("it can run");
    let simulated = simulation.run().unwrap_or_else(|error| panic!("{} on {machine}: {error}", program.name()));
    assert_eq!(simulated.wrong, None, "{} on {machine}", program.name());
    assert!(simulated.row.is_right() && simulated.row.references > 0 && simulated.row.time_ns > 0.0);
    all_time_is_accounted_for(&simulated.row);
    simulated.row
}

/// Times of a processor by kind add up to the whole time, in all and of each thread.
fn all_time_is_accounted_for(row: &SimulationRow) {
    let name = &row.program;
    let close = |sum: f64, whole: f64| (sum - whole).abs() <= 1e-9 * whole;
    let whole = row.time_ns * f64::from(row.cpus);
    assert!(close(row.spent_ns.values().sum(), whole), "{name}: {:?} of {whole}", row.spent_ns);
    for each in row.processors.iter().flatten() {
        assert!(close(each.spent_ns.values().sum(), each.time_ns), "{name}: {:?} of {}", each.spent_ns, each.time_ns);
    }
    assert!(row.spent_ns["busy"] > 0.0 && row.run_ns >= row.time_ns, "{name}");
}

/// Programs keep values outside of the simulated machine: what they see must not depend on how far a processor runs ahead.
#[test]
fn running_ahead_changes_nothing() {
    for machine in ["origin2000-r12k-300-8p", "flash-5p"] {
        for program in programs().into_iter().chain(in_other_forms()) {
            let [ahead, in_step] = [Mode::LookAhead, Mode::LockStep].map(|mode| run(machine, program, None, mode));
            assert_eq!(ahead, in_step, "{} on {machine}", program.name());
        }
    }
}

#[test]
fn programs_run_on_one_processor_and_on_many() {
    for (machine, cpus) in [("flash-1p", 1), ("bitmap", 1), ("flash-63p", 63), ("origin2000-r12k-300-64p", 64)] {
        for program in programs().into_iter().chain(in_other_forms()) {
            let row = run(machine, program, Some(cpus), Mode::LookAhead);
            assert_eq!(row.cpus, u32::from(cpus));
        }
    }
}

/// Rounds that are not measured take place all the same; the last is measured in any case.
#[test]
fn first_rounds_can_be_left_out() {
    let row = |name: &str, unmeasured| {
        let rounds = ["rounds", "steps", "iterations", "generations"].map(|of| (of, 3));
        let programs = programs_with(&[&rounds[..], &[("unmeasured", unmeasured)]].concat());
        let program = programs.into_iter().find(|program| program.name() == name).expect("a program");
        run("flash-3p", program, None, Mode::LookAhead)
    };
    let parameter = |program: &Workload| program.parameters().iter().any(|(each, _)| each.name == "unmeasured");
    let names: Vec<_> = programs().iter().filter(|each| parameter(each)).map(Workload::name).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    for name in names {
        let rows = [0, 1, 2, 3].map(|unmeasured| row(name, unmeasured));
        let [all, two, one, last] = rows.each_ref().map(|row| row.references);
        assert!(all > two && two > one && one == last, "{name}: {all}, {two}, {one}, {last}");
        assert!(rows.iter().all(|row| row.run_ns == rows[0].run_ns), "{name}");
        if name == "swim" {
            assert_eq!((all, two), (3 * one, 2 * one), "every step sweeps over the same points");
        }
    }
}

/// Lines that nobody shares miss once each, and lines that go round cost a transaction a reference.
#[test]
fn counts_follow_from_what_a_program_does() {
    let settings = Settings::default().with("lines", 100).with("rounds", 3);
    let private = Workload::new("private", &settings).expect("a program");
    let row = run("flash-4p", private, None, Mode::LookAhead);
    assert_eq!((row.references, row.secondary_misses, row.refusals), (4 * 300, 4 * 100, 0));
    let migratory = Workload::new("migratory", &settings.with("work", 0)).expect("a program");
    let row = run("flash-4p", migratory, None, Mode::LookAhead);
    assert_eq!(row.references, 4 * 300 * 2);
    // Read and ownership each, except where a store finds the line on its way and both are one.
    assert!(row.secondary_misses >= 4 * 300 && row.secondary_misses <= 4 * 300 * 2, "{row:?}");
    let invalidating: u64 = row.invalidations.iter().skip(1).sum();
    assert!(invalidating >= 4 * 100, "later rounds take lines from their last owners: {row:?}");
}

/// Misses of a program that is measured whole are over, are of some kind, and have a cause or are upgrades.
#[test]
fn every_miss_has_a_cause() {
    let settings = Settings::default().with("lines", 40).with("rounds", 20);
    for machine in ["flash-4p", "origin2000-r12k-300-8p"] {
        for name in ["private", "migratory", "wide-read-sharing", "producer-consumer"] {
            let row = run(machine, Workload::new(name, &settings).expect("a program"), None, Mode::LookAhead);
            let causes = row.causes.as_ref().expect("asked for");
            let misses: u64 = row.misses.values().sum();
            assert!(misses <= row.secondary_misses, "{name} on {machine}: {row:?}");
            assert!(
                causes["cold"] > 0 && causes["capacity"] + causes["conflict"] == 0,
                "{name} on {machine}: {causes:?}"
            );
            let told: u64 = causes.values().sum();
            assert!(told <= misses && told + row.upgrades >= misses, "{name} on {machine}: {causes:?} of {row:?}");
            let shared = causes["true-sharing"] + causes["false-sharing"];
            assert_eq!(shared > 0, name != "private", "{name} on {machine}: {causes:?}");
            // Each line has one word that anybody touches.
            assert!(causes["false-sharing"] * 10 <= shared, "{name} on {machine}: {causes:?}");
        }
    }
}
