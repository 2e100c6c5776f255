//! C programs on simulated machines: every primitive does what the standard says, equal runs are equal, and what goes wrong is told.

mod common;

use common::{build, build_with_blocks, build_with_openmp, error_of, request, run, run_right};

#[test]
fn locks_of_every_kind_hold() {
    let (answer, printed) = run_right("locks", &["meeting"]);
    assert_eq!(printed, "locks hold\n");
    let row = answer.row.expect("a record");
    assert!(row.spent_ns["lock"] > 0.0 && row.spent_ns["barrier"] > 0.0, "{:?}", row.spent_ns);
}

#[test]
fn conditions_are_signalled_and_time_out() {
    assert_eq!(run_right("conditions", &[]).1, "sum 7140\n");
}

#[test]
fn threads_have_results_storage_keys_and_places() {
    assert_eq!(run_right("threads", &[]).1, "threads work\n");
}

#[test]
fn threads_are_cancelled_where_the_standard_says() {
    assert_eq!(run_right("cancelled", &[]).1, "threads are cancelled\n");
    let alone = ccnuma_frontend::request::Request { no_caches: true, ..request() };
    assert_eq!(run(&build_with_blocks("cancelled"), &[], alone).1, "threads are cancelled\n");
}

#[test]
fn pages_move_where_programs_ask() {
    let (answer, printed) = run_right("moves", &[]);
    assert_eq!(printed, "pages move\n");
    assert!(answer.row.expect("a record").spent_ns["system"] > 0.0, "the operating system has done it");
    let program = build("moves");
    let step = run(&program, &[], ccnuma_frontend::request::Request { lock_step: true, ..request() });
    assert_eq!((run(&program, &[], request()).0.row, "pages move\n"), (step.0.row, step.1.as_str()));
    let flash = machine::load("flash-scaled-8p").expect("a machine").to_toml();
    let on = |machine: &str| ccnuma_frontend::request::Request { machine: machine.to_owned(), ..request() };
    assert_eq!(run(&program, &[], on(&flash)).1, "pages move\n");
    // A machine that cannot copy pages says so.
    let ideal = flash.replace("ideal = \"none\"", "ideal = \"zero-overhead\"");
    assert_ne!(ideal, flash);
    let (answer, printed) = run(&program, &["stay"], on(&ideal));
    assert_eq!((printed.as_str(), answer.notes.len()), ("pages stay\n", 1), "{:?}", answer.notes);
}

#[test]
fn loops_that_wait_for_others_end() {
    assert_eq!(run_right("spinning", &[]).1, "10 rounds\n");
}

#[test]
fn the_heap_keeps_blocks_apart_at_equal_addresses() {
    run_right("heap", &[]);
}

#[test]
fn running_ahead_changes_nothing() {
    for name in ["locks", "conditions"] {
        let program = build(name);
        let ahead = run(&program, &[], request());
        let step = run(&program, &[], ccnuma_frontend::request::Request { lock_step: true, ..request() });
        assert_eq!((ahead.0.row, ahead.1), (step.0.row, step.1), "{name}");
    }
}

/// Which thread does which task, and when, is decided in simulated time alone.
#[test]
fn running_ahead_changes_no_task() {
    for (name, arguments) in
        [("villages", vec!["3"]), ("empty_tasks", vec!["all", "30"]), ("empty_tasks", vec!["one", "60"])]
    {
        let program = build_with_openmp(name);
        let ahead = run(&program, &arguments, request());
        let step = run(&program, &arguments, ccnuma_frontend::request::Request { lock_step: true, ..request() });
        assert_eq!((ahead.0.error.as_deref(), ahead.0.status), (None, 0), "{name} {arguments:?}");
        assert_eq!((ahead.0.row, ahead.1), (step.0.row, step.1), "{name} {arguments:?}");
    }
}

#[test]
fn without_a_simulation_programs_run_on_this_computer() {
    for (name, printed) in [
        ("locks", "locks hold\n"),
        ("conditions", "sum 7140\n"),
        ("spinning", "10 rounds\n"),
        ("cancelled", "threads are cancelled\n"),
    ] {
        let output = std::process::Command::new(build(name)).output().expect("it runs");
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(0), printed));
    }
}

#[test]
fn references_alone_are_counted_without_caches() {
    let program = build("heap");
    let all = run(&program, &[], request()).0.row.expect("a record");
    let alone = ccnuma_frontend::request::Request { no_caches: true, ..request() };
    let counted = run(&program, &[], alone).0.row.expect("a record");
    // The C library's memory is not simulated, but referred to.
    let ratio = counted.references as f64 / all.references as f64;
    assert!((1.0..1.05).contains(&ratio), "{} and {}", counted.references, all.references);
    assert!(counted.secondary_misses * 100 < all.secondary_misses, "only what threads wait with is timed");
}

#[test]
fn references_without_a_call_are_counted_to_the_last() {
    let program = build_with_blocks("blocks");
    let timed = run(&program, &[], request());
    let alone = ccnuma_frontend::request::Request { no_caches: true, ..request() };
    let counted = run(&program, &[], alone);
    assert_eq!((timed.0.status, counted.0.status), (0, 0));
    let (timed, counted) = (timed.0.row.expect("a record"), counted.0.row.expect("a record"));
    assert!(timed.references > 20_000, "there is something to count");
    assert_eq!(counted.references, timed.references);
}

#[test]
fn without_caches_others_get_their_turn() {
    for (name, printed) in [("spinning", "10 rounds\n"), ("locks", "locks hold\n"), ("conditions", "sum 7140\n")] {
        let alone = || ccnuma_frontend::request::Request { no_caches: true, ..request() };
        let program = build_with_blocks(name);
        let (first, again) = (run(&program, &[], alone()), run(&program, &[], alone()));
        assert_eq!((first.0.error.as_deref(), first.1.as_str()), (None, printed), "{name}");
        assert_eq!((first.0.row, first.1), (again.0.row, again.1), "{name}");
    }
}

#[test]
fn a_deadlock_names_every_thread_and_its_call() {
    let error = error_of("wrong", &["cross"]);
    assert!(error.starts_with("deadlock at "), "{error}");
    for part in [
        "thread 0 in pthread_join called at main (wrong.c:",
        "thread 1 in pthread_mutex_lock called at cross (wrong.c:20)",
        "thread 2 in pthread_mutex_lock called at cross (wrong.c:20)",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(error_of("wrong", &["lock"]).contains("thread 1 in pthread_mutex_lock"));
}

#[test]
fn crashes_tell_thread_place_and_simulated_time() {
    for (way, what) in [
        ("crash", "thread 1 of the program accessed unmapped memory: address 0x0, at crash (wrong.c:23), "),
        ("divide", "thread 1 of the program divided by zero, at divide (wrong.c:24), "),
        ("overflow", "stack of 1028 KiB exhausted, at recurse (wrong.c:"),
        ("abort", "the program called abort (thread 1, simulated time "),
    ] {
        let error = error_of("wrong", &[way]);
        assert!(error.contains(what) && error.contains("simulated time "), "{way}: {error}");
    }
}

#[test]
fn what_cannot_be_simulated_is_named() {
    for (way, what) in [
        ("fork", "called fork"),
        ("exec", "called execl"),
        ("system", "called system"),
        ("syscall", "system call that makes processes"),
    ] {
        let error = error_of("wrong", &[way]);
        assert!(error.contains(what) && error.contains("(thread 1, simulated time "), "{way}: {error}");
    }
}

#[test]
fn handlers_of_signals_are_noted() {
    let (answer, _) = run(&build("wrong"), &["signal"], request());
    assert_eq!((answer.error, answer.status, answer.notes.len()), (None, 0, 1));
}

#[test]
fn an_endless_loop_is_ended() {
    let request = ccnuma_frontend::request::Request { spin_limit_ms: 2, ..request() };
    let error = run(&build("wrong"), &["spin"], request).0.error.expect("it goes wrong");
    assert!(error.contains("no progress: no store for 2 ms of simulated time (--spin-limit"), "{error}");
    assert!(error.contains("thread 1 in its own code at ") && error.contains("(wrong.c:"), "{error}");
}

#[test]
fn the_programs_own_status_is_told() {
    let (answer, _) = run(&build("wrong"), &["status"], request());
    assert_eq!((answer.error, answer.status), (None, 3));
}

/// References of a program's threads are recorded without changing anything, and replayed: threads start, lock and end in the
/// order in which they did.
#[test]
fn a_recorded_program_is_replayed() {
    let program = build("locks");
    let (plain, _) = run(&program, &[], request());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("locks.references");
    let record = ccnuma_frontend::request::Request { record: Some(path.clone()), ..request() };
    let (recorded, _) = run(&program, &[], record);
    assert_eq!(recorded.row, plain.row);
    let original = recorded.row.expect("a record");

    let replay = experiments::Executable::named(path.to_str().expect("a name"), &Default::default()).expect("a trace");
    let description = machine::load("origin2000-r12k-300-8p").expect("a machine");
    let simulation = experiments::Simulation::new(description, replay, None, sim::Options::default()).expect("it fits");
    let replayed = simulation.run().expect("nobody waits for what never comes").row;
    assert_eq!(replayed.cpus, original.cpus);
    let close = |replayed: u64, original: u64| replayed.abs_diff(original) * 4 < original;
    assert!(close(replayed.secondary_misses, original.secondary_misses), "{replayed:?}\n{original:?}");
}

/// A sort, half of whose references go where its data say, takes less than a byte a reference.
#[test]
fn what_follows_from_earlier_references_takes_no_room_in_a_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("radix.references");
    let record = ccnuma_frontend::request::Request { record: Some(path.clone()), ..request() };
    let (recorded, printed) = run(&build("radix"), &["4", "65536"], record);
    assert_eq!((recorded.error, printed.as_str()), (None, "65536 keys in order\n"));
    let references = recorded.row.expect("a record").references;
    let bytes = std::fs::metadata(&path).expect("there").len();
    assert!(bytes < references, "{bytes} bytes for {references} references");
}

#[test]
fn more_threads_than_processors_take_turns() {
    let (answer, printed) = run_right("many", &["20"]);
    assert_eq!(printed, "sum 190\n");
    let row = answer.row.expect("a record");
    assert_eq!((row.threads, row.cpus), (21, 8));
}

/// Every kind of barrier and lock that can be asked for, on as many processors as there are threads.
#[test]
fn synchronisation_of_every_kind_holds() {
    let program = build("synchronised");
    let of = |barrier: &str, locks: &str| {
        let asked = ccnuma_frontend::request::Request { barrier: barrier.into(), locks: locks.into(), ..request() };
        let (answer, printed) = run(&program, &["6"], asked.clone());
        assert_eq!(answer.error, None, "{barrier} {locks}");
        assert_eq!(printed, "6 threads are synchronised\n", "{barrier} {locks}");
        let step = ccnuma_frontend::request::Request { lock_step: true, ..asked };
        assert_eq!(run(&program, &["6"], step).0.row, answer.row, "{barrier} {locks}: running ahead changes nothing");
        let row = answer.row.expect("a record");
        assert_eq!((row.barrier.as_str(), row.locks.as_str()), (barrier, locks));
        row.time_ns
    };
    let mut times: Vec<f64> = ["own", "ideal", "llsc", "at-memory", "tree"].map(|barrier| of(barrier, "own")).into();
    times.extend(["llsc", "queue", "at-memory"].map(|locks| of("own", locks)));
    times.sort_by(f64::total_cmp);
    times.dedup();
    assert_eq!(times.len(), 8, "each is a mechanism of its own");
    assert_eq!(of("futex", "futex"), of("own", "own"), "as the C library has it");
}

/// Where threads take turns, whoever looks at a word is taken off its processor some time.
#[test]
fn synchronisation_of_every_kind_holds_where_threads_take_turns() {
    let program = build("synchronised");
    for (barrier, locks) in [("ideal", "futex"), ("llsc", "llsc"), ("tree", "queue"), ("at-memory", "at-memory")] {
        let (barrier, locks) = (barrier.to_owned(), locks.to_owned());
        let asked = ccnuma_frontend::request::Request { cpus: Some(2), barrier, locks, ..request() };
        let (answer, printed) = run(&program, &["3"], asked);
        assert_eq!((answer.error.as_deref(), printed.as_str()), (None, "3 threads are synchronised\n"));
    }
}

/// The scheduler that is asked for says where threads run from the beginning.
#[test]
fn the_scheduler_that_is_asked_for_is_heeded() {
    let program = build("synchronised");
    let of = |scheduler: &str| {
        let asked = ccnuma_frontend::request::Request { scheduler: scheduler.into(), ..request() };
        let (answer, printed) = run(&program, &["6"], asked);
        assert_eq!((answer.error.as_deref(), printed.as_str()), (None, "6 threads are synchronised\n"), "{scheduler}");
        let row = answer.row.expect("a record");
        assert_eq!(row.scheduler, scheduler);
        row.time_ns
    };
    let times = ["none", "run-queue/cache-affinity", "run-queue/pinned-in-order"].map(of);
    assert_ne!(times[0], times[1], "the operating system takes time");
    let asked = ccnuma_frontend::request::Request { scheduler: "gang".into(), ..request() };
    let refused = run(&program, &["6"], asked).0;
    assert_eq!(refused.status, 2);
    assert!(refused.error.is_some_and(|error| error.contains("gang") && error.contains("run-queue")));
}

#[test]
fn what_a_kind_of_locks_cannot_do_is_refused() {
    let asked = ccnuma_frontend::request::Request { locks: "at-memory".into(), ..request() };
    let error = run(&build("synchronised"), &["2", "try"], asked).0.error.expect("a ticket cannot be given back");
    for part in ["--locks at-memory", "a lock is tried", "accepted: ", "queue"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    for (barrier, locks) in [("queue", "own"), ("own", "tree")] {
        let asked = ccnuma_frontend::request::Request { barrier: barrier.into(), locks: locks.into(), ..request() };
        let refused = run(&build("synchronised"), &["2"], asked).0;
        assert!(refused.error.is_some_and(|error| error.contains("accepted: ")) && refused.status == 2);
    }
}

/// Loops that wait are slept through, and nothing shows it: not the times, not the counts, not where the time went.
#[test]
fn looks_that_are_spared_are_counted_and_timed() {
    let program = build_with_blocks("waiting");
    for (arguments, expected) in [(vec!["meet"], "6 met\n"), (vec![], "100 tries, 500 looks\n")] {
        let (ahead, printed) = run(&program, &arguments, request());
        let step = run(&program, &arguments, ccnuma_frontend::request::Request { lock_step: true, ..request() });
        assert_eq!((ahead.error.as_deref(), printed.as_str()), (None, expected));
        assert_eq!((&ahead.row, &printed), (&step.0.row, &step.1), "{arguments:?}");
        let row = ahead.row.expect("a record");
        assert!(row.spins > 0 && row.spins < row.references, "{} of {}", row.spins, row.references);
    }
}

/// A thread that sleeps for three seconds will store what another looks for: nobody waits in vain.
#[test]
fn who_waits_for_a_sleeper_does_not_wait_in_vain() {
    let (answer, printed) = run(&build_with_blocks("waiting"), &["sleep"], request());
    assert_eq!((answer.error.as_deref(), printed.as_str()), (None, "100 tries, 500 looks\n"));
    assert!(answer.row.expect("a record").time_ns > 3e9);
}
