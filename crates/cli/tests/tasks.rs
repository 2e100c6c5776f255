//! Explicit tasks of OpenMP on simulated machines: what they cost, and how programs scale that consist of them. All times are
//! simulated ones, so they are the same in every run.

mod common;

use common::programs::{Built, compilers};

/// The number that a program prints first.
fn time(built: &Built, threads: u32, arguments: &[&str]) -> f64 {
    let (text, _) = built.simulated("-m arctic", &threads.to_string(), arguments);
    let number = text.split_whitespace().next().and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("no time in {text:?}"))
}

/// Each thread pushes and takes its tasks at its own deque: with one lock for all, a task of each of 16 threads took 93 us, and
/// one of 64 threads 296 us.
#[test]
fn an_empty_task_costs_little_however_many_threads_there_are() {
    for compiler in compilers() {
        let built = Built::by(compiler, "empty_tasks.c", &["-O2", "-Wall", "-Werror", "-fopenmp"]);
        let of = |threads| time(&built, threads, &["all", "200"]);
        let (two, sixteen, all) = (of(2), of(16), of(64));
        assert!(sixteen < 2.0 * two && all < 4.0 * two, "{compiler}: {two} ns, {sixteen} ns, {all} ns");
    }
}

#[test]
fn a_tree_of_villages_scales() {
    for compiler in compilers() {
        let built = Built::by(compiler, "villages.c", &["-O2", "-Wall", "-Werror", "-fopenmp"]);
        let of = |threads| time(&built, threads, &["5"]);
        let (one, sixteen) = (of(1), of(16));
        assert!(one / sixteen > 8.0, "{compiler}: {one} us, {sixteen} us");
        let run = || built.simulated("-m arctic --cpus 16", "16", &["3"]);
        assert_eq!(run(), run(), "{compiler}: a second run differs");
    }
}
