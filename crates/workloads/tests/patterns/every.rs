//! Properties of every program.

use workloads::{LockKind, Settings, Shape, Workload};

use crate::mock::{Kind, race, run, shape};

/// Every program, small: names of parameters are the same in all of them.
fn small() -> Vec<Workload> {
    let limits = [
        ("lines", 40),
        ("rounds", 4),
        ("references", 60),
        ("writes", 30),
        ("work", 0),
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
        ("width", 5),
        ("levels", 4),
        ("positions", 5),
        ("window", 4),
        ("patterns", 3),
        ("edge", 4),
        ("length", 4),
        ("families", 9),
        ("genes", 6),
        ("bodies", 40),
        ("pixels", 9),
        ("generations", 2),
        ("terms", 6),
        ("particles", 100),
    ];
    Workload::all_with(&limits).expect("values in range")
}

#[test]
fn results_are_right_on_any_number_of_threads() {
    for program in small() {
        for threads in [1, 2, 3, 4, 8, 64] {
            let run = run(&program, &shape(threads, 7));
            assert_eq!((run.wrong_loads, &run.check), (0, &Ok(())), "{} on {threads} threads", program.name());
            assert!(run.references.iter().any(|references| !references.is_empty()), "{}", program.name());
        }
    }
}

#[test]
fn results_are_right_with_every_kind_of_lock() {
    for program in small() {
        for (locks, name) in LockKind::ALL {
            let run = run(&program, &Shape { locks, ..shape(5, 7) });
            assert_eq!((run.wrong_loads, &run.check), (0, &Ok(())), "{} with {name}", program.name());
        }
    }
}

#[test]
fn a_spoilt_word_is_found() {
    for program in small() {
        let run = run(&program, &shape(4, 7));
        let spoilt = run.check_of_spoilt.unwrap_or_else(|| panic!("{} stores nothing", program.name()));
        assert!(spoilt.is_err(), "{}", program.name());
    }
}

#[test]
fn references_follow_from_the_seed_alone() {
    for program in small() {
        // How often a thread looks at a lock depends on who came first, and so may all else.
        let threads = if program.dynamic() { 1 } else { 6 };
        let run = |seed| {
            let mut run = run(&program, &shape(threads, seed));
            run.references.iter_mut().for_each(|each| each.retain(|each| each.kind != Kind::Synchronisation));
            run
        };
        let (first, other) = (run(1), run(2));
        assert_eq!(first.references, run(1).references, "{}", program.name());
        // Data change with the seed, if addresses do not.
        assert_ne!((first.references, first.contents), (other.references, other.contents), "{}", program.name());
    }
}

#[test]
fn regions_are_whole_pages_and_references_lie_in_them() {
    for program in small() {
        let shape = shape(5, 3);
        let plans = program.regions(&shape);
        let parts = plans.iter().flat_map(|plan| &plan.parts);
        for part in parts {
            assert!(part.words.is_multiple_of(shape.page_words), "{}", program.name());
            assert!(part.home.is_none_or(|home| home.index() < shape.nodes), "{}", program.name());
        }
        for each in run(&program, &shape).references.iter().flatten() {
            assert!(each.word < plans[each.region].words(), "{}: {each:?}", program.name());
        }
    }
}

/// Between two barriers no thread touches what another stores to, unless the program says so, or all add to it in indivisible
/// steps, or all hold the same lock meanwhile. Threads that take work from each other are ordered by what they release and
/// acquire.
#[test]
fn threads_do_not_race() {
    for program in small().into_iter().filter(|program| !program.races()) {
        for (threads, (locks, kind)) in
            [2, 4, 8].into_iter().flat_map(|threads| LockKind::ALL.map(|kind| (threads, kind)))
        {
            let run = run(&program, &Shape { locks, ..shape(threads, 3) });
            assert_eq!(run.unordered, None, "{} on {threads} threads, {kind}", program.name());
            if !program.dynamic() {
                assert_eq!(race(&run.references), None, "{} on {threads} threads, {kind}", program.name());
            }
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    for program in Workload::all() {
        for (parameter, value) in program.parameters() {
            assert!((parameter.least..=parameter.most).contains(&value), "{} {}", program.name(), parameter.name);
            assert_eq!(value, parameter.default);
            let refused = Workload::new(program.name(), &Settings::default().with(parameter.name, parameter.most + 1));
            let message = refused.expect_err("too large").to_string();
            let parts = [format!("--{} {}", parameter.name, parameter.most + 1), parameter.range().to_string()];
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
            let kept = Workload::new(program.name(), &Settings::default().with(parameter.name, parameter.most));
            let kept = kept.expect("the largest is accepted").parameters();
            assert!(kept.contains(&(parameter, parameter.most)), "{}: {}", program.name(), parameter.name);
        }
    }
    let unknown = Workload::new("migrator", &Settings::default()).expect_err("unknown").to_string();
    assert!(unknown.contains("migrator") && unknown.contains("producer-consumer"), "{unknown}");
}
