//! Explicit tasks of OpenMP on simulated machines: what they cost, and how programs scale that consist of them. All times are
//! simulated ones, so they are the same in every run.

use crate::common::programs::{Built, compilers};

/// The number that a program prints first.
fn time(built: &Built, threads: u32, arguments: &[&str]) -> f64 {
    let (text, _) = built.simulated("-m arctic", &threads.to_string(), arguments);
    let number = text.split_whitespace().next().and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("no time in {text:?}"))
}

/// With one lock for all threads, an empty task of a single producer took 91 us with 16 threads and 263 us with 64, and one of each of
/// 16 threads 438 us, as gcc compiles them.
#[test]
fn an_empty_task_costs_little_however_many_threads_there_are() {
    for compiler in compilers() {
        let built = Built::by(compiler, "empty_tasks.c", &["-O2", "-Wall", "-Werror", "-fopenmp"]);
        for threads in [16, 64] {
            for way in ["one", "all"] {
                let task = time(&built, threads, &[way, "200"]);
                assert!(task < 15_000.0, "{compiler}, {way} of {threads}: {task} ns");
            }
        }
    }
}

/// With one lock for all threads, 16 of them took longer than one.
#[test]
fn a_tree_of_villages_scales() {
    for compiler in compilers() {
        let built = Built::by(compiler, "villages.c", &["-O2", "-Wall", "-Werror", "-fopenmp"]);
        let of = |threads| time(&built, threads, &["5"]);
        let (one, sixteen, all) = (of(1), of(16), of(64));
        assert!(one / sixteen > 7.0 && one / all > 14.0, "{compiler}: {one} us, {sixteen} us, {all} us");
        let run = || built.simulated("-m arctic --cpus 16", "16", &["3"]);
        assert_eq!(run(), run(), "{compiler}: a second run differs");
    }
}
