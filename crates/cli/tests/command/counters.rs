//! `ccnuma run -m`: traces of simulated machines, what is told of them, and what is refused.

use crate::common::{ccnuma_in, said};
use serde_json::Value;

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

fn printed_in(directory: &std::path::Path, line: &str) -> String {
    let output = ccnuma_in(directory, line);
    assert!(output.status.success(), "{line}: {}", said(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The line of the profiler's own issue, on a smaller machine: the ratio of each thread, and a trace that `info` reads.
#[test]
fn a_simulated_program_leaves_a_trace() {
    let directory = tempfile::tempdir().expect("a directory");
    let line =
        "run -m lego-oil -s 20us --node /hw/nodenum/0 --node 1 --metric alocal,mem -o t.arrows --json -- fft --cpus 4";
    let rows = records(&printed_in(directory.path(), line));
    let first = std::fs::read(directory.path().join("t.arrows")).expect("a trace");
    let of = |metric: &str| {
        let found = rows.iter().filter(|row| row["metric"] == metric);
        found.map(|row| row["value"].as_f64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!((of("alocal").len(), of("mem").len()), (4, 2), "threads and nodes: {rows:?}");
    assert!(of("mem").iter().all(|mem| (0.5..100.0).contains(mem)), "{rows:?}");
    assert!(of("alocal").iter().all(|local| (1.0..100.0).contains(local)), "{rows:?}");
    let info = printed_in(directory.path(), "info t.arrows");
    for word in ["lego-oil", "n0      /hw/module/1/slot/n1/node", "fft: thread 3", "alocal", "mem "] {
        assert!(info.contains(word), "{word} in {info}");
    }
    // The same again, to the byte.
    printed_in(directory.path(), line);
    assert!(first == std::fs::read(directory.path().join("t.arrows")).expect("a trace"));
}

#[test]
fn what_cannot_be_looked_at_is_refused() {
    let cases = [
        ("run -m lego-oil --metric speed -o refused.trace -- fft", "--metric speed: unknown metric or counter"),
        ("run -m lego-oil --node 99 -o refused.trace -- fft", "--node 99: machine"),
        ("run -m lego-oil --link r9:1 -o refused.trace -- fft", "--link r9:1: machine"),
        ("run -m lego-oil --runon 99 -o refused.trace -- fft", "processor 99 does not exist"),
        ("run -m lego-oil -o refused.trace -- fft --cpus 2,4", "2 runs; accepted: one program on one machine"),
        ("run -m lego-oil -o refused.trace -- nothing", "nothing"),
    ];
    let folder = tempfile::tempdir().expect("a directory");
    for (line, words) in cases {
        let output = ccnuma_in(folder.path(), line);
        let errors = said(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(words), "{line}: {errors}");
        assert!(!folder.path().join("refused.trace").exists(), "{line}: refused before anything is written");
    }
}

#[test]
fn the_metrics_of_a_machine_are_listed() {
    let directory = tempfile::tempdir().expect("a directory");
    let origin = printed_in(directory.path(), "run -m arctic --list");
    for metric in ["alocal ", "uown ", "bypass ", "backoff ", "sysad "] {
        assert!(origin.contains(metric), "{metric} in {origin}");
    }
    let flash = printed_in(directory.path(), "run -m flash-4p --list");
    assert!(flash.contains("remotelatency ") && !flash.contains("uown "), "{flash}");
}
