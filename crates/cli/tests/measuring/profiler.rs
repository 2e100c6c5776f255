//! `ccnuma sar`, `run`, `info` and `dump` on this computer, whatever it is.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{self, ccnuma, ccnuma_in, refused};
use serde_json::Value;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Printed text with single blanks, whatever the columns are.
fn words(bytes: &[u8]) -> String {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text(bytes).lines().map(line).collect::<Vec<_>>().join("\n")
}

fn rows(output: &Output) -> Vec<Value> {
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

/// Runs `ccnuma` with arguments that may have blanks in them.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ccnuma")).args(arguments).current_dir(folder).output().expect("ccnuma runs")
}

#[test]
fn nodes_are_shown_sample_by_sample() {
    let output = ccnuma("sar 20ms 3 --node 0 --metric busy,node.cpu_idle");
    let said = words(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output.stderr));
    for part in ["Linux ", "unavailable: ", "node.cpu_idle", "busy"] {
        assert!(said.lines().any(|line| line.contains(part)), "no {part:?} in {said}");
    }
    let heading = said.lines().position(|line| line.starts_with("time node busy")).expect("a heading");
    // A heading, units, and a line a sample at most: a CPU that did nothing in 20 ms has nothing to show.
    let samples = said.lines().skip(heading).filter(|line| line.contains(" n0 ")).count();
    assert!((1..=3).contains(&samples), "{said}");
    assert!(said.trim_end().ends_with("us/sample") && said.contains("]: 4 ticks, "), "{said}");
}

#[test]
fn records_take_the_place_of_lines() {
    let samples = rows(&ccnuma("sar 50ms 2 --metric node.cpu_busy,node.cpu_idle,faults --json"));
    assert!(samples.iter().any(|row| row["metric"] == "node.cpu_idle" && row["kind"] == "node"), "{samples:?}");
    assert!(samples.iter().all(|row| row["time"].as_f64().is_some_and(|time| time > 0.0)));
}

#[test]
fn what_can_be_computed_is_listed_with_what_cannot_and_why() {
    for command in ["sar --list", "run --list"] {
        let said = text(&ccnuma(command).stdout);
        for part in ["Available metrics", "Unavailable metrics", "missing counter", "unavailable: "] {
            assert!(said.contains(part), "{command}: no {part:?} in {said}");
        }
    }
}

#[test]
fn bad_input_is_refused_before_anything_starts() {
    refused("sar --metric nonsense", &["--metric nonsense", "accepted: ", "busy"]);
    refused("sar --node 999", &["--node 999", "unknown node", "n0"]);
    refused("sar 0", &["accepted: a time"]);
    refused("sar --runon 8191", &["--runon 8191", "CPUs "]);
    refused("sar --rtprio=0", &["--rtprio", "1 to 99"]);
    refused("run -m flash-4p --rtprio=5 -- fft", &["--rtprio 5", "not applicable to a simulated machine", "--runon"]);
    refused("sar --event nonsense/x/", &["--event nonsense/x/", "accepted: UNIT/EVENT/"]);
    refused("run -- /no/such/program", &["/no/such/program", "cannot be started"]);
    refused("info /no/such/file", &["/no/such/file"]);
    refused("info Cargo.toml", &["Cargo.toml: not a trace", "accepted: "]);
    refused("dump Cargo.toml", &["Cargo.toml: not a trace"]);
    refused("run", &["<PROGRAM>"]);
    // No trace is begun, or an old one lost, for a program that there is not.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("program.arrows"), "old").expect("a file");
    assert_eq!(ccnuma_in(folder.path(), "run -- /no/such/program").status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(folder.path().join("program.arrows")).expect("the file"), "old");
}

/// A program with two processes that fails; then what its trace says, in every form.
#[test]
fn a_program_is_run_and_its_trace_says_what_it_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo its own words; sleep 1 & i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; wait; exit 3";
    let output =
        run(folder.path(), &["run", "-s", "5ms", "--metric", "cpu,cpuid", "-o", "t.arrows", "--", "sh", "-c", script]);
    let (said, errors) = (text(&output.stdout), common::said(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert_eq!(said, "its own words\n");
    assert!(errors.contains("whole run, by thread") && errors.contains("sh: ended with exit status 3"), "{errors}");

    let info = ccnuma_in(folder.path(), "info t.arrows --counters");
    let said = words(&info.stdout);
    for part in ["Linux ", "t0 sh", "p0 sh", "cpu %", "thread.run_ns", "ended with exit status 3", "t.arrows: ["] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert_eq!(common::said(&info.stderr), "");
    let about = rows(&ccnuma_in(folder.path(), "info t.arrows --json"));
    let count = |what: &str| about.iter().filter(|row| row["about"] == what).count();
    assert!(count("metric") > 3 && count("counter") > 10 && count("object") >= 4 && count("time") == 1, "{about:?}");

    let dump = words(&ccnuma_in(folder.path(), "dump t.arrows --thread t0 --metric cpu").stdout);
    let lines: Vec<&str> = dump.lines().filter(|line| line.contains(" t0 ")).collect();
    assert!(lines.len() > 5, "{dump}");
    let times: Vec<f64> = lines.iter().map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted(), "{dump}");
    let all = rows(&ccnuma_in(folder.path(), "dump t.arrows --all --json"));
    let late = rows(&ccnuma_in(folder.path(), "dump t.arrows --all --json --from 50ms --to 100ms"));
    assert!(late.len() < all.len() && late.iter().all(|row| (0.05..=0.1).contains(&row["time"].as_f64().unwrap())));
    let ran: f64 = all.iter().filter(|row| row["metric"] == "cpu" && row["object"] == "t0").count() as f64;
    assert!(ran > 5.0);

    let exported = ccnuma_in(folder.path(), "dump t.arrows --perfetto t.pftrace --parquet t.parquet");
    assert_eq!((exported.status.code(), exported.stdout.len()), (Some(0), 0), "{}", common::said(&exported.stderr));
    let parquet = std::fs::read(folder.path().join("t.parquet")).expect("the file");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    assert!(std::fs::metadata(folder.path().join("t.pftrace")).expect("the file").len() > 1000);
}

/// The sampler is killed without warning: what it had flushed is there, and the loss is told.
/// Three loops that are ready to run all the time, on one processor: each waits for two thirds of its time, on any computer.
#[test]
fn waiting_for_a_processor_is_a_finding_and_what_was_not_examined_is_said() {
    if Command::new("taskset").arg("--version").output().is_err() {
        eprintln!("skipped: there is no taskset (util-linux), which pins the loops");
        return;
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("an affinity").trim();
    let cpu: String = allowed.chars().take_while(char::is_ascii_digit).collect();
    let turn = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let script = format!("({turn}) & ({turn}) & {turn}; wait");
    let folder = tempfile::tempdir().expect("a folder");
    let command = ["--", "taskset", "-c", &cpu, "sh", "-c", &script];
    let output = run(folder.path(), &[&["diagnose"], &command[..]].concat());
    let said = words(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output.stderr));
    if said.contains("schedstat") {
        eprintln!("skipped: this kernel keeps no times of threads");
        return;
    }
    assert!(said.contains("run-queue wait: threads spent "), "{said}");
    assert!(said.contains("not examined: ") && said.replace('\n', " ").contains("(lock waits cannot be"), "{said}");
    let found = rows(&run(folder.path(), &[&["diagnose", "--json"], &command[..]].concat()));
    let row = found.iter().find(|row| row["class"] == "run-queue wait").expect("a finding");
    let cost = row["cost_pct"].as_f64().expect("a cost");
    assert!((20.0..100.0).contains(&cost), "{row}");
}

#[test]
fn what_a_computer_does_not_show_is_not_said_to_be_absent() {
    let output = ccnuma("diagnose -- true");
    let said = words(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output.stderr));
    assert!(said.lines().all(|line| line != "no finding above 1 % of the time"), "{said}");
    assert!(said.contains("not examined: ") && said.contains("lock contention"), "{said}");
}

#[test]
fn a_killed_sampler_leaves_a_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ccnuma"))
        .args(["sar", "10ms", "-o", "t.arrows", "--json"])
        .stdout(Stdio::null())
        .current_dir(folder.path())
        .spawn()
        .expect("ccnuma runs");
    let path = folder.path().join("t.arrows");
    // Two flushes have been written when the file has grown twice.
    let (begin, mut sizes) = (Instant::now(), std::collections::BTreeSet::new());
    while sizes.len() < 4 && begin.elapsed() < Duration::from_secs(60) {
        sizes.extend(std::fs::metadata(&path).map(|metadata| metadata.len()));
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it runs");
    child.wait().expect("it was started");
    let info = ccnuma_in(folder.path(), "info t.arrows");
    assert_eq!(info.status.code(), Some(0), "{}", common::said(&info.stderr));
    let errors = common::said(&info.stderr);
    assert!(
        errors.contains("warning: ") && (errors.contains("incomplete trace") || errors.contains("truncated trace")),
        "{errors}"
    );
    assert!(text(&info.stdout).contains(" ticks, "), "{}", text(&info.stdout));
}
