//! `ccnuma fit`: what a simulated machine holds is found, saved records give the fit of the probe, descriptions are simulated.

mod common;

use common::{ccnuma, ccnuma_in};
use serde_json::{Map, Value};

/// What `ccnuma line` printed in `directory`, once it has been found to end well.
#[track_caller]
fn printed_in(directory: &std::path::Path, line: &str) -> String {
    let output = ccnuma_in(directory, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "ccnuma {line}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn rows(text: &str) -> Vec<Map<String, Value>> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

#[test]
fn records_of_a_probe_give_the_same_fit_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let probed = printed_in(folder.path(), "fit -m origin2000-r12k-300-8p --model remote --data-out data.jsonl --json");
    let found = rows(&probed);
    let router = found.iter().find(|row| row["symbol"] == "delay").expect("a router delay");
    let (value, held) = (router["value"].as_f64().expect("found"), router["held"].as_f64().expect("held"));
    assert!((value / held - 1.0).abs() < 0.1, "{value} for {held}");
    assert_eq!(router["machine"], "origin2000-r12k-300-8p");
    let again = printed_in(folder.path(), "fit data.jsonl --model remote --json");
    assert_eq!(again, probed);
}

#[test]
fn what_the_data_leave_open_has_no_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "fit -m origin2000-r10k-195-4p --model seidl --largest 16 --svg plots";
    let table = printed_in(folder.path(), line);
    let memory = table.lines().find(|line| line.contains("memory and its controller")).expect("a row");
    assert!(memory.contains("not determined: only its sum"), "{table}");
    for plot in ["seidl-windows.svg", "seidl-residuals.svg"] {
        let text = std::fs::read_to_string(folder.path().join("plots").join(plot)).expect("drawn");
        assert!(text.starts_with("<svg"), "{plot}");
    }
}

#[test]
fn a_described_machine_behaves_like_the_measured_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = printed_in(folder.path(), "fit -m origin2000-r12k-300-4p --machine-out mine.toml");
    let local = table.lines().find(|line| line.contains("load from local memory")).expect("compared");
    let error: f64 = local.split_whitespace().last().and_then(|word| word.parse().ok()).expect("a share");
    assert!(error.abs() < 3.0, "{local}");
    let text = std::fs::read_to_string(folder.path().join("mine.toml")).expect("written");
    assert!(text.contains("# calibrated: ") && text.contains("# assumed"), "{text}");
    let bench = printed_in(folder.path(), "bench -m mine.toml lmbench-read --lines 64 --iterations 1 --json");
    let latency = rows(&bench)[0]["min"].as_f64().expect("a latency");
    assert!((360.0..400.0).contains(&latency), "{latency}");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("bad.jsonl"), "{\"machine\": 7}\n").expect("written");
    let cases: [(&str, &[&str]); 5] = [
        ("fit --model sidel", &["--model sidel", "seidl remote caches all"]),
        ("fit nothing.jsonl", &["nothing.jsonl", "cannot be read"]),
        ("fit bad.jsonl", &["bad.jsonl", "line 1 is no record", "`schema`"]),
        ("fit --machine-out mine", &["--machine-out mine", "FILE.toml"]),
        ("fit --model remote --machine-out mine.toml", &["--machine-out mine.toml", "--model all"]),
    ];
    for (line, parts) in cases {
        let output = ccnuma_in(folder.path(), line);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "ccnuma {line}: {errors}");
        assert_eq!(errors.lines().count(), 1, "ccnuma {line}: {errors}");
        parts.iter().for_each(|part| assert!(errors.contains(part), "ccnuma {line}: no {part:?} in {errors}"));
    }
    assert_eq!(ccnuma("fit --help").status.code(), Some(0));
}
