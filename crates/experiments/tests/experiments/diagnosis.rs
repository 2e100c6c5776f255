//! Losses by line add up to the times that processors account for; and the faults of programs are found.

use diagnose::Class;
use experiments::{Simulated, Simulation, Synchronisation, diagnosis, variant};
use record::{Attribution, Losses};
use sim::{Mode, Options};
use workloads::{LockKind, Settings, Workload};

fn simulation(machine: &str, program: &str, settings: &[(&str, u64)], options: Options) -> Simulation {
    let settings = settings.iter().fold(Settings::default(), |all, &(name, value)| all.with(name, value));
    let workload = Workload::new(program, &settings).expect("a program");
    Simulation::new(variant::load(machine).expect("a machine"), workload, None, options).expect("it fits")
}

fn with_locks(simulation: Simulation, locks: LockKind) -> Simulation {
    simulation.with_synchronisation(Synchronisation { locks, ..Synchronisation::default() }).expect("there is room")
}

fn run(simulation: &Simulation) -> (Simulated, Attribution) {
    let mut run = simulation.run().expect("it runs");
    assert_eq!(run.wrong, None);
    let told = run.attribution.take().expect("it was asked for");
    (run, told)
}

/// Small forms of programs that miss for every reason, lock, wait, and measure a part of what they do or all.
const SMALL: [(&str, &[(&str, u64)]); 5] = [
    ("art", &[("positions", 8)]),
    ("gafort", &[("families", 12), ("genes", 40), ("generations", 1)]),
    ("radix", &[("keys", 4096), ("radix", 64)]),
    ("counters", &[("rounds", 20)]),
    ("barnes", &[("bodies", 128)]),
];

fn sum(told: &Attribution) -> Losses<f64> {
    told.losses.iter().fold(Losses::default(), |sum, loss| sum.plus(&loss.stalled_ns))
}

#[test]
fn what_is_lost_adds_up_to_the_time_that_processors_account_for() {
    for machine in ["flash-scaled-8p", "origin2000-r12k-300-8p", "flash-scaled-8p+placement=round-robin"] {
        let of_kind = |(locks, _)| SMALL.map(|(program, settings)| (program, settings, locks));
        for (program, settings, locks) in LockKind::ALL.into_iter().flat_map(of_kind) {
            let simulation = with_locks(simulation(machine, program, settings, Options::default()), locks);
            let simulation = simulation.attributed(true);
            let (run, told) = run(&simulation);
            let spent = |of: &dyn Fn(&str) -> bool| -> f64 {
                run.row.spent_ns.iter().filter(|(name, _)| of(name)).map(|(_, ns)| ns).sum()
            };
            let lost = sum(&told);
            let pairs = [
                ("misses", lost.misses(), spent(&|name| name.starts_with("read.") || name.starts_with("write."))),
                ("translation", lost.translation, spent(&|name| name == "translation")),
                ("barrier", lost.barrier, spent(&|name| name == "barrier")),
            ];
            for (what, told, accounted) in pairs {
                assert!(
                    (told - accounted).abs() <= 1e-6 * accounted.max(1.0),
                    "{program} {machine} {what}: {told} {accounted}"
                );
            }
            // Instructions between looks at a lock are its time, too, and are no wait.
            let locks = spent(&|name| name == "lock");
            assert!(lost.lock <= locks * (1.0 + 1e-9) && lost.lock >= 0.5 * locks, "{program}: {} {locks}", lost.lock);
            let causes = run.row.causes.expect("told");
            let counted = told.losses.iter().fold(Losses::<u64>::default(), |sum, loss| sum.plus(&loss.count));
            for (name, count) in counted.causes() {
                assert_eq!(count, causes[name], "{program} on {machine}: {name}");
            }
            assert_eq!(counted.translation, run.row.translation_misses, "{program} on {machine}");
        }
    }
}

#[test]
fn who_is_asked_changes_nothing_and_look_ahead_tells_what_lock_step_tells() {
    for (program, settings) in SMALL {
        let with = |mode| Options { mode, seed: 5, ..Options::default() };
        let plain = simulation("flash-scaled-8p", program, settings, with(Mode::LookAhead));
        let (ahead, told) = run(&plain.clone().attributed(true));
        let (stepped, told_in_step) =
            run(&simulation("flash-scaled-8p", program, settings, with(Mode::LockStep)).attributed(true));
        assert_eq!(plain.run().expect("it runs").row.time_ns, ahead.row.time_ns, "{program}");
        assert_eq!(ahead.row.time_ns, stepped.row.time_ns, "{program}");
        assert_eq!(told, told_in_step, "{program}");
    }
}

#[test]
fn data_have_names_and_pages_have_homes() {
    let (_, told) = run(&simulation("flash-scaled-8p", "art", SMALL[0].1, Options::default()).attributed(true));
    let sums = told.by_object();
    let statistics = sums.iter().find(|object| object.name == "statistics").expect("by name");
    assert!(statistics.causes["false-sharing"] > 0, "{statistics:?}");
    assert!(told.losses.iter().filter_map(|loss| loss.line).all(|line| told.object_at(line).is_some()));
    assert!(told.pages.iter().all(|page| page.home.is_some()));
    // Those that the program has planned itself nobody has touched first.
    assert!(told.pages.iter().any(|page| page.toucher.is_some_and(|cpu| cpu.0 > 0)));
}

/// The first finding on a program of `SpecOMP2001`'s kind on 16 processors, smaller than by default.
fn first(program: &str, settings: &[(&str, u64)]) -> (Class, Option<String>, f64) {
    first_with(LockKind::default(), program, settings)
}

/// The same of a program that takes such locks.
fn first_with(locks: LockKind, program: &str, settings: &[(&str, u64)]) -> (Class, Option<String>, f64) {
    let whole = simulation("flash-scaled-16p", program, settings, Options::default());
    let workload = whole.workload().clone();
    let cpus = diagnosis::fewer_processors(whole.cpus());
    let fewer = Simulation::new(whole.description().clone(), workload, cpus, Options::default()).expect("it fits");
    let [whole, fewer] = [whole, fewer].map(|each| with_locks(each, locks));
    let found = diagnosis::run(&whole, Some(&fewer), true, |_, _| {}).expect("it runs");
    let first = found.findings.first().expect("a finding");
    (first.class, first.object.clone(), first.worth())
}

#[test]
fn a_line_that_threads_share_falsely_is_found_and_put_apart() {
    let (class, object, gain) = first("art", &[("positions", 12)]);
    assert_eq!((class, object.as_deref()), (Class::LineFalseSharing, Some("statistics")));
    assert!(gain > 0.1, "{gain}");
}

#[test]
fn data_that_others_touched_first_are_found_and_put_where_they_are_used() {
    let (class, object, gain) = first("apsi", &[("breadth", 64), ("width", 98), ("rounds", 1)]);
    assert_eq!((class, object.as_deref()), (Class::Misplaced, Some("fields")));
    assert!(gain > 0.1, "{gain}");
}

#[test]
fn locks_that_threads_wait_for_are_found() {
    for (locks, name) in LockKind::ALL {
        let (class, object, _) = first_with(locks, "gafort", &[("generations", 1), ("genes", 128)]);
        assert_eq!((class, object.as_deref()), (Class::Locks, Some("locks")), "{name}");
    }
}
