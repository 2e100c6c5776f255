//! The loop of a server: measured, described from its records, loaded, simulated, and set beside what was measured; of this computer,
//! whatever it is, and of a simulated one.

use std::fs;
use std::path::Path;

use crate::common::{ccnuma_in, said};
use serde_json::Value;

fn run(folder: &Path, line: &str, accepted: &[i32]) -> String {
    let output = ccnuma_in(folder, line);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), said(&output.stderr));
    let code = output.status.code().unwrap_or(-1);
    assert!(accepted.contains(&code), "ccnuma {line}: {code}\n{errors}\n{text}");
    text.into_owned()
}

fn rows(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// The value of `key` in the table `table` of a description.
fn value(description: &toml::Table, table: &str, key: &str) -> toml::Value {
    description[table][key].clone()
}

#[test]
fn this_computer_is_measured_described_loaded_and_simulated() {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), "bench --suite fit --iterations 2 --lines 512 --array 4096 --json=all.jsonl", &[0]);
    let all = folder.path().join("all.jsonl");
    // Longer lists, far beyond what a shared cache leaves them, take minutes to simulate and show nothing more.
    let text = fs::read_to_string(&all).expect("records");
    let short = |line: &&str| {
        serde_json::from_str::<Value>(line).is_ok_and(|row| row["array"].as_u64().is_none_or(|array| array <= 64 << 20))
    };
    fs::write(&all, text.lines().filter(short).map(|line| format!("{line}\n")).collect::<String>()).expect("room");
    let records = rows(&all);
    let computer = records.iter().find(|row| row["record"] == "computer").expect("its structure");
    let cores = computer["cores"].as_array().expect("cores").len() as i64;
    let nodes = computer["nodes"].as_array().expect("nodes").len();
    if computer["caches"].as_array().is_none_or(Vec::is_empty) {
        // A computer that announces no cache is refused with the reason, and no file is written.
        run(folder.path(), "fit all.jsonl --machine-out mine.toml", &[1]);
        assert!(!folder.path().join("mine.toml").exists());
        return;
    }
    // A busy computer may not be confirmed; its description is written, and says so.
    run(folder.path(), "fit all.jsonl --machine-out mine.toml", &[0, 1]);
    let text = fs::read_to_string(folder.path().join("mine.toml")).expect("a description");
    for origin in ["# announced", "# measured", "# calibrated: load, local memory", "# default: ", "# assumed"] {
        assert!(text.contains(origin), "no {origin} in\n{text}");
    }
    let described: toml::Table = text.parse().expect("TOML");
    assert_eq!(value(&described, "topology", "processors").as_integer(), Some(cores));
    let first = &computer["caches"][0];
    assert_eq!(value(&described, "l1", "size_kib").as_integer(), first["size_kib"].as_i64(), "{first}");
    assert!(run(folder.path(), "machines show mine.toml", &[0]).contains("controller"));
    let table = run(folder.path(), "bench -m mine.toml --against all.jsonl --json=found.jsonl", &[0]);
    assert!(table.contains(" latencies: median error "), "{table}");
    assert!(table.contains(" bandwidths: median error "), "{table}");
    let found = rows(&folder.path().join("found.jsonl"));
    let measurements = records.iter().filter(|row| row["record"] == "measurement").count();
    let threads = computer["cores"][0]["cpus"].as_array().map_or(1, Vec::len);
    assert!(found.iter().all(|row| row["value"].is_f64() && row["held"].is_f64()), "{found:#?}");
    assert!(threads > 1 || found.len() == measurements, "{} of {measurements}", found.len());
    if nodes == 1 {
        let program = run(folder.path(), "sim -m mine.toml fft --points 1024", &[0]);
        assert!(program.contains("fft"), "{program}");
    }
}

#[test]
fn records_of_another_machine_are_refused_with_both_sizes() {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), "bench -m xeon-8180-2s --lines 64 --iterations 1 lmbench-read --json=one.jsonl", &[0]);
    let output = ccnuma_in(folder.path(), "bench -m epyc-7702-2s --against one.jsonl");
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("128 processors on 8 nodes") && errors.contains("accepted: 56 on 2"), "{errors}");
    let output = ccnuma_in(folder.path(), "bench --against one.jsonl");
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("--against one.jsonl") && errors.contains("accepted: with -m"), "{errors}");
    // A machine set beside its own records.
    let table = run(folder.path(), "bench -m xeon-8180-2s --against one.jsonl", &[0]);
    assert!(table.contains("1 latencies: median error 0.0 %"), "{table}");
}
