//! `ccnuma bench` on the computer that runs the tests, whatever it is.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{ccnuma, said};
use serde_json::Value;

/// The measurements that a line prints with `--json` behind the structure of this computer, whatever warnings a busy computer is worth.
fn records(line: &str) -> Vec<Value> {
    let output = ccnuma(&format!("{line} --json"));
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "ccnuma {line}: {errors}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let mut records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a record a line")).collect();
    let computer = records.remove(0);
    assert_eq!((&computer["record"], &computer["machine"]), (&"computer".into(), &"host".into()), "{computer}");
    records
}

#[test]
fn this_computer_is_the_default_machine() {
    let records = records("bench lmbench-read area-read --array 16 --iterations 3");
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_eq!(record["machine"], "host");
        assert_eq!((&record["unit"], &record["n"]), (&Value::from("ns"), &Value::from(3)));
        assert!(record["pages_obtained"].is_string() && record["window"].is_u64(), "{record}");
        assert!(record["ci_low"].is_null() && record["ci_high"].is_null(), "three samples give no interval: {record}");
        assert!(record["stdev"].is_f64(), "{record}");
    }
    assert_eq!(records[0]["preparation"], "in no cache");
    let latency = |i: usize| records[i]["min"].as_f64().expect("a number");
    assert!(latency(1) < latency(0), "16 KiB in the cache take {}, uncached lines {}", latency(1), latency(0));
}

#[test]
fn six_samples_give_an_interval_and_one_gives_no_deviation() {
    let six = &records("bench area-read --array 16 --iterations 6")[0];
    let figure = |name: &str| six[name].as_f64().unwrap_or_else(|| panic!("{name} of {six}"));
    assert!(figure("ci_low") <= figure("median") && figure("median") <= figure("ci_high"), "{six}");
    let one = &records("bench area-read --array 16 --iterations 1")[0];
    assert!(["stdev", "ci_low", "ci_high"].iter().all(|name| one[*name].is_null()), "{one}");
    let output = ccnuma("bench --suite places --iterations 1 --lines 64");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("95 % interval") && !text.contains("(0.0 to "), "{text}");
}

#[test]
fn a_suite_prints_its_tables() {
    let output = ccnuma("bench --suite places --iterations 1 --lines 64");
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("host: ") && text.contains("\nCoherence transactions of CPU "), "{text}");
    assert!(text.contains("Latency by spacing of lines"), "{text}");
}

#[test]
fn bad_input_names_flag_value_and_what_is_accepted() {
    for (line, words) in [
        ("bench --pages 3M", vec!["--pages 3M", "accepted"]),
        ("bench --home 4000 lmbench-read", vec!["--home 4000", "host has no such node"]),
        ("bench --local 60000 lmbench-read", vec!["--local 60000", "host has no such CPU"]),
        ("bench --traffic 1 loaded-read", vec!["--traffic 1", "READS:WRITES"]),
        ("bench --spacing 0 lmbench-read", vec!["--spacing 0"]),
        ("bench -m arctic --pages 2M lmbench-read", vec!["--pages 2M", "simulated"]),
        ("bench --suite everything", vec!["--suite everything", "overview"]),
    ] {
        let output = ccnuma(line);
        let errors = said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "ccnuma {line}: {errors}");
        assert_eq!(errors.lines().count(), 1, "ccnuma {line}: {errors}");
        assert!(words.iter().all(|word| errors.contains(word)), "ccnuma {line}: {errors}");
    }
}

/// Pages of a pool that is empty, or does not exist, are refused with the reason; the rest is measured.
#[test]
fn a_page_kind_that_cannot_be_had_is_no_other_kind() {
    let line = "bench --pages 16G lmbench-read --iterations 1";
    let output = ccnuma(line);
    let errors = said(&output.stderr);
    if output.status.code() == Some(0) {
        // A computer with a pool of such pages.
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("16G"), "{errors}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("lmbench-read"), "nothing was measured");
}

#[test]
fn an_interrupted_run_keeps_what_it_has_measured() {
    // A sample of a small area takes a few milliseconds, and on a busy computer as long as it likes.
    let most = [2, 8, 32, 128].into_iter().map(Duration::from_secs).map(records_until).find(|count| *count > 3);
    assert!(most.is_some(), "never more than three records");
}

fn text_of(file: &std::path::Path) -> String {
    fs::read_to_string(file).expect("the file is there")
}

/// How many whole records a run keeps that is interrupted some time after it has begun to measure.
fn records_until(interrupted: Duration) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("records.jsonl");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ccnuma"))
        .args(["bench", "--suite", "hierarchy", "--iterations", "100000"])
        .arg(format!("--json={}", file.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ccnuma starts");
    while !file.exists() && child.try_wait().expect("a status").is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(interrupted);
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill(1)");
    assert!(status.success());
    let output = child.wait_with_output().expect("it ends");
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    // The record that describes the computer is no result.
    let results = text_of(&file).lines().filter(|line| !line.contains("\"record\":\"computer\"")).count();
    let kept = format!("{results} records are in {}", file.display());
    let told = |line: &str| line.starts_with("interrupted: ") && (line.contains(&kept) || kept.starts_with("0 "));
    assert!(errors.lines().any(told), "{kept}: {errors}");
    let text = text_of(&file);
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{text}");
    results
}
