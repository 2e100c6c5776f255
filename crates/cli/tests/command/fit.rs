//! `ccnuma fit`: what a simulated machine holds is found, saved records give the fit of the probe, descriptions are simulated.

use crate::common::{ccnuma, ccnuma_in, said};
use record::{Conditions, Format, Parameters, Provenance, Record, RecordWriter, Unit};
use serde_json::{Map, Value};
use units::{Bytes, CpuId, NodeId};

/// The output of `ccnuma line` in `directory`, which must end well.
#[track_caller]
fn printed_in(directory: &std::path::Path, line: &str) -> String {
    let output = ccnuma_in(directory, line);
    let errors = said(&output.stderr);
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
    let line = "fit -m origin2000-r10k-195-4p --model seidl --largest 16 --svg plots --wide";
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

/// A file of records of a machine that nobody described: a first cache of 16 KiB at 2 ns, a last one of 128 KiB at so many
/// nanoseconds, and memory at 400 ns.
fn measured(folder: &std::path::Path, last_ns: f64) {
    let ns = |array: u64| {
        if array <= 16 << 10 {
            2.0
        } else if array <= 128 << 10 {
            last_ns
        } else {
            400.0
        }
    };
    let record = |experiment: &str, stride: u64, window: u64, ns: f64| Record {
        machine: "elsewhere".into(),
        experiment: experiment.into(),
        state: "UOWN".into(),
        home: NodeId(0),
        local: CpuId(0),
        remotes: vec![],
        xhops: 0,
        yhops: None,
        zhops: None,
        unit: Unit::Nanoseconds,
        min: ns,
        max: 3.0 * ns,
        median: 1.5 * ns,
        mean: 1.5 * ns,
        stdev: Some(0.1),
        n: 7,
        ci_low: Some(ns),
        ci_high: Some(3.0 * ns),
        locals: vec![CpuId(0)],
        parameters: Parameters { array: Some(Bytes(window)), ..Parameters::default() },
        conditions: Conditions {
            stride: Some(Bytes(stride)),
            window: Some(Bytes(window)),
            clock_mhz: Some(2000.0),
            pages_asked: Some("thp".into()),
            ..Conditions::default()
        },
    };
    let mut records = vec![record("lmbench-read", 64, 1 << 20, 400.0)];
    for array in (12..=20).map(|power| 1u64 << power) {
        for stride in (3..array.ilog2()).map(|power| 1u64 << power) {
            records.push(record("p3-ru", stride, array, 1.0 + ns(array) * (stride as f64 / 64.0).min(1.0)));
        }
        for array in (0..4).map(|part| array + array * part / 4) {
            records.push(record("area-read", 64, array, ns(array)));
        }
    }
    let file = std::fs::File::create(folder.join("data.jsonl")).expect("a file");
    let mut writer = RecordWriter::new(Format::JsonLines, file, Provenance::of_software("0.0.0", None));
    records.iter().for_each(|record| writer.write(record).expect("written"));
}

#[test]
fn a_fit_that_its_simulation_confirms_says_so_level_by_level() {
    let folder = tempfile::tempdir().expect("a folder");
    measured(folder.path(), 20.0);
    let table = printed_in(folder.path(), "fit data.jsonl --machine-out mine.toml");
    for row in ["level 1: fits", "level 1: load", "level 2: fits", "level 2: load", "memory: load latency"] {
        assert!(table.contains(row), "no {row} in {table}");
    }
    assert!(!table.contains("NOT CONFIRMED"), "{table}");
    let text = std::fs::read_to_string(folder.path().join("mine.toml")).expect("written");
    assert!(!text.contains("NOT CONFIRMED"), "{text}");
}

#[test]
fn a_fit_that_its_simulation_contradicts_says_so_loudly_and_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    // More cycles than a description can hold.
    measured(folder.path(), 180.0);
    for line in ["fit data.jsonl", "fit data.jsonl --json", "fit data.jsonl --machine-out mine.toml"] {
        let output = ccnuma_in(folder.path(), line);
        let errors = said(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "ccnuma {line}: {errors}");
        assert!(errors.contains("NOT CONFIRMED") && errors.contains("level 2: load 180.00 ns, simulated "), "{errors}");
        assert!(!errors.contains("level 1: load"), "{errors}");
    }
    let text = std::fs::read_to_string(folder.path().join("mine.toml")).expect("written");
    assert!(text.starts_with("# NOT CONFIRMED by simulation: level 2: load 180.00 ns"), "{text}");
    let rows = rows(&String::from_utf8_lossy(&ccnuma_in(folder.path(), "fit data.jsonl --json").stdout));
    let row = rows.iter().find(|row| row["parameter"] == "level 2: load").expect("compared");
    assert_eq!(row["model"], "confirmation");
    assert_eq!(row["note"], "NOT CONFIRMED: the simulated machine differs");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("bad.jsonl"), "{\"machine\": 7}\n").expect("written");
    let cases: [(&str, &[&str]); 5] = [
        ("fit --model sidel", &["--model sidel", "seidl remote caches all"]),
        ("fit nothing.jsonl", &["nothing.jsonl", "cannot be read"]),
        ("fit bad.jsonl", &["bad.jsonl", "line 1 is not a record", "`schema`"]),
        ("fit --machine-out mine", &["--machine-out mine", "FILE.toml"]),
        ("fit --model remote --machine-out mine.toml", &["--machine-out mine.toml", "--model all"]),
    ];
    for (line, parts) in cases {
        let output = ccnuma_in(folder.path(), line);
        let errors = said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "ccnuma {line}: {errors}");
        assert_eq!(errors.lines().count(), 1, "ccnuma {line}: {errors}");
        parts.iter().for_each(|part| assert!(errors.contains(part), "ccnuma {line}: no {part:?} in {errors}"));
    }
    assert_eq!(ccnuma("fit --help").status.code(), Some(0));
}

/// A record of more memory than a node has ended the comparison on the way, without its line.
#[test]
fn a_record_beyond_the_memory_of_the_machine_is_named_before_anything_is_simulated() {
    let folder = tempfile::tempdir().expect("a folder");
    printed_in(folder.path(), "bench -m xeon-8180-2s --state UOWN lmbench-read --lines 64 --json=good.jsonl");
    let good = std::fs::read_to_string(folder.path().join("good.jsonl")).expect("written");
    let measurement = good.lines().last().expect("a record");
    let huge = measurement.replace("\"window\":4096", "\"window\":1099511627776");
    assert_ne!(huge, measurement);
    std::fs::write(folder.path().join("huge.jsonl"), format!("{good}\n{huge}\n")).expect("written");
    std::fs::write(folder.path().join("told.jsonl"), &good).expect("written");
    let line = "bench -m xeon-8180-2s --against huge.jsonl --json=told.jsonl";
    let output = ccnuma_in(folder.path(), line);
    let errors = said(&output.stderr);
    assert_eq!((output.status.code(), errors.lines().count()), (Some(2), 1), "{errors}");
    let number = good.lines().count() + 2;
    for part in [&format!("--against huge.jsonl:{number}: lmbench-read needs 1 TiB on node 0"), "accepted: up to"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    let told = std::fs::read_to_string(folder.path().join("told.jsonl")).expect("there");
    assert_eq!(told, good, "an earlier result stays");
    let other = ccnuma_in(folder.path(), "bench -m flash-4p --against good.jsonl --json=told.jsonl");
    let errors = said(&other.stderr);
    let sizes = "--against good.jsonl: machine flash-4p: it has 4 processors on 4 nodes; accepted: 56 on 2";
    assert!(other.status.code() == Some(2) && errors.contains(sizes), "{errors}");
    // Others have lines, too: a stride that no list has is impossible on any machine.
    let far =
        measurement.replace("\"stride\":64,\"window\":4096", "\"stride\":1099511627776,\"window\":70368744177664");
    assert_ne!(far, measurement);
    std::fs::write(folder.path().join("far.jsonl"), format!("{good}{far}\n")).expect("written");
    let compared = printed_in(folder.path(), "bench -m xeon-8180-2s --against far.jsonl");
    let said = format!("not repeated: 1, impossible on the described machine (line {})", good.lines().count() + 1);
    assert!(compared.contains(&said), "{compared}");
}

#[test]
fn records_that_cannot_be_are_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("written");
    printed_in(folder.path(), "bench -m xeon-8180-2s --state UOWN lmbench-read --json=good.jsonl");
    printed_in(folder.path(), "bench -m smp-4p --state UOWN lmbench-read --json=other.jsonl");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("written");
    let good = read("good.jsonl");
    let min = good.lines().find_map(|line| Some(line.split_once("\"min\":")?.1.split_once(',')?.0.to_owned()));
    let min = min.expect("a measurement");
    write("mixed.jsonl", good.clone() + &read("other.jsonl"));
    write("negative.jsonl", good.replace(&format!("\"min\":{min}"), "\"min\":-5.0"));
    write("tiny.jsonl", good.replace(&format!("\"min\":{min}"), "\"min\":1e-300"));
    write("unit.jsonl", good.replace("\"unit\":\"ns\"", "\"unit\":\"MB/s\""));
    write("zero.jsonl", good.replace("\"line_bytes\":64", "\"line_bytes\":0"));
    write("twice.jsonl", good.replace("\"cpus\":[1]", "\"cpus\":[0]"));
    write("absent.jsonl", good.replace("\"locals\":[0]", "\"locals\":[99]"));
    let cases: [(&str, &[&str]); 7] = [
        ("mixed.jsonl", &["records of several machines", "xeon-8180-2s", "smp-4p"]),
        ("negative.jsonl", &["line ", "min = -5e0, not 0, or 1e-9 to 1e15"]),
        ("tiny.jsonl", &["line ", "min = 1e-300, not 0, or 1e-9 to 1e15"]),
        ("unit.jsonl", &["lmbench-read in MB/s, which is measured in ns"]),
        ("zero.jsonl", &["line_bytes = 0, not a power of two from 8 to 1024"]),
        ("twice.jsonl", &["CPU 0 is in several cores"]),
        ("absent.jsonl", &["CPU 99, which the machine lacks", "CPU 0-55"]),
    ];
    for (file, parts) in cases {
        for line in [format!("fit {file} --machine-out mine.toml"), format!("bench -m xeon-8180-2s --against {file}")] {
            let output = ccnuma_in(folder.path(), &line);
            let errors = said(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "ccnuma {line}: {errors}");
            parts.iter().for_each(|part| assert!(errors.contains(part), "ccnuma {line}: no {part:?} in {errors}"));
        }
    }
}
