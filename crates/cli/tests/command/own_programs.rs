//! Runs of a user's own program on several numbers of processors. Without a compiler they say that they are skipped.

use crate::common::{self, said};

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// As many threads as its first argument says add up a share each of a private array, as often as its second says.
const SOURCE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { ALL = 1 << 14 };
static long parts[64 * 16];
static int threads, rounds = 1;
static void *add(void *number) {
    long own = (long)number, sum = 0;
    volatile long *mine = malloc(ALL / threads * sizeof *mine);
    for (int i = 0; i < ALL / threads; i++) mine[i] = i;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < ALL / threads; i++) sum += mine[i];
    parts[own * 16] = sum;
    return 0;
}
int main(int count, char **words) {
    threads = atoi(words[1] + 2);
    if (count > 2) rounds = atoi(words[2]);
    pthread_t all[64];
    for (long i = 0; i < threads; i++) pthread_create(&all[i], 0, add, (void *)i);
    for (long i = 0; i < threads; i++) pthread_join(all[i], 0);
    printf("%d threads of %s\n", threads, words[1]);
    return 0;
}
"#;

/// The program in a folder of its own; none without a compiler.
fn built() -> Option<TempDir> {
    if !Command::new("gcc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: gcc is not installed");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("add.c"), SOURCE).expect("written");
    let output = common::ccnuma_in(folder.path(), "cc --ccnuma-compiler=gcc -O2 -pthread add.c -o add");
    assert!(output.status.success(), "{}", said(&output.stderr));
    Some(folder)
}

fn well(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The records of a file: processors and threads of each run.
fn told(folder: &TempDir) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(folder.path().join("runs.jsonl")).expect("records");
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
    let runs = rows.filter(|row| row.get("time_ns").is_some());
    runs.map(|row| (row["cpus"].as_u64().expect("cpus"), row["threads"].as_u64().expect("threads"))).collect()
}

/// Processors and threads are two things: eight threads on one, two and four processors are three runs.
#[test]
fn runs_tell_processors_and_threads() {
    let Some(folder) = built() else { return };
    let text = well(&common::ccnuma_in(folder.path(), "sim -m flash-4p --cpus 1,2,4 --json=runs.jsonl -- ./add -p8"));
    // The main thread is one more.
    assert_eq!(told(&folder), [(1, 9), (2, 9), (4, 9)], "{text}");
    let tables: Vec<&str> = text.split("\n\n").collect();
    assert!(tables[0].contains("CPUs  threads") || tables[0].contains("CPUs threads"), "{text}");
    assert!(tables.iter().any(|table| table.starts_with("speedup") && table.contains("4 CPUs")), "{text}");
}

/// Programs that are told by an argument how many threads to make are swept in one command.
#[test]
fn the_number_of_processors_stands_in_arguments() {
    let Some(folder) = built() else { return };
    let text =
        well(&common::ccnuma_in(folder.path(), "sim -m flash-4p --cpus 1..4 --json=runs.jsonl -- ./add -p{cpus}"));
    for threads in [1, 2, 4] {
        assert!(text.contains(&format!("{threads} threads of -p{threads}\n")), "{text}");
    }
    assert_eq!(told(&folder), [(1, 2), (2, 3), (4, 5)], "{text}");
    assert!(text.contains("speedup") && text.contains("add -p{cpus}"), "{text}");
    // All processors of the machine where no number is given.
    let all = well(&common::ccnuma_in(folder.path(), "sim -m flash-4p -- ./add -p{cpus}"));
    assert!(all.contains("4 threads of -p4\n"), "{all}");
    let refused = common::ccnuma_in(folder.path(), "sim -m flash-4p --cpus 2,5 -- ./add -p{cpus}");
    let errors = said(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{errors}");
    assert!(errors.contains("--cpus 5") && errors.contains("must be 1-4 on flash-4p"), "{errors}");
    assert!(refused.stdout.is_empty(), "nothing ran before it was refused");
}

/// Records on standard output are for a program that reads them; what the simulated program prints is beside them.
#[test]
fn what_the_program_prints_is_not_among_records() {
    let Some(folder) = built() else { return };
    for line in ["sim -m flash-4p --cpus 2 --json -- ./add -p2", "diagnose -m flash-4p --no-trials --csv -- ./add -p2"]
    {
        let output = common::ccnuma_in(folder.path(), line);
        let records = well(&output);
        assert!(!records.is_empty() && !records.contains("threads of"), "{line}: {records}");
        assert!(said(&output.stderr).contains("2 threads of -p2"), "{line}: {}", said(&output.stderr));
    }
    let table = well(&common::ccnuma_in(folder.path(), "sim -m flash-4p --cpus 2 -- ./add -p2"));
    assert!(table.starts_with("2 threads of -p2\n"), "{table}");
}

/// The thread that makes the others and waits for their end has no part of the work that could be uneven.
#[test]
fn joined_threads_with_equal_work_are_balanced() {
    let Some(folder) = built() else { return };
    let line = "diagnose -m flash-scaled-16p --no-trials -- ./add -p8 100";
    let text = well(&common::ccnuma_in(folder.path(), line));
    assert!(text.contains("no finding above 1 % of the time"), "{text}");
}

#[test]
fn a_program_that_may_not_be_executed_is_refused_before_anything_runs() {
    use std::os::unix::fs::PermissionsExt;
    let Some(folder) = built() else { return };
    let closed = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.path().join("add"), closed).expect("changed");
    let output = common::ccnuma_in(folder.path(), "sim -m flash-4p -- ./add -p2");
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("./add: may not be executed here") && errors.contains("chmod +x"), "{errors}");
}
