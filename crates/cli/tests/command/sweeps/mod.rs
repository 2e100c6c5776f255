//! Sweeps: a study's runs, by any number of processes, killed or interrupted or not, give the same bytes; and what is wrong with a
//! study is said with its line.

mod executors;
mod slurm;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::{self, ccnuma_in};
use serde_json::Value;
use tempfile::TempDir;

/// Forty-eight short runs.
const STUDY: &str = r#"
[[sim]]
machines = ["flash-4p", "mine.toml"]
programs = ["migratory", { name = "uniform", references = [64, 128] }]
cpus = [2, 4]
parameters = { work = [10] }
vary.tlb.miss_ns = [0, 700]
seeds = [0, 1]
"#;
const RUNS: usize = 48;
const MACHINE: &str = "inherit = \"flash-4p\"\n[processor]\nclock_mhz = 300\n";

/// A folder with a study and a machine of its own.
fn folder(study: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("study.toml"), study).expect("written");
    fs::write(folder.path().join("mine.toml"), MACHINE).expect("written");
    folder
}

#[track_caller]
fn done(output: &Output) -> String {
    let errors = common::said(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[track_caller]
fn sweep(folder: &Path, flags: &str) -> String {
    done(&ccnuma_in(folder, &format!("sweep study.toml {flags}")))
}

#[track_caller]
fn fails(folder: &Path, flags: &str, code: i32, parts: &[&str]) {
    let output = ccnuma_in(folder, &format!("sweep study.toml {flags}"));
    let errors = common::said(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "sweep {flags}: {errors}");
    assert!(output.stdout.is_empty(), "sweep {flags} printed something");
    for part in parts {
        assert!(errors.contains(part), "sweep {flags}: no {part:?} in {errors}");
    }
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// The states of runs, by their keys.
fn states(folder: &Path, flags: &str) -> BTreeMap<String, String> {
    let word = |row: &Value, name: &str| row[name].as_str().expect("a word").to_owned();
    let rows = records(&sweep(folder, &format!("--list --json {flags}")));
    rows.iter().map(|row| (word(row, "key"), word(row, "state"))).collect()
}

fn start(folder: &Path, flags: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccnuma"));
    command.args(["sweep", "study.toml"]).args(flags.split_whitespace()).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("ccnuma starts")
}

/// Runs whose files are there.
fn finished(folder: &Path) -> usize {
    let entries = fs::read_dir(folder.join("study.sweep/runs")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl")).count()
}

/// Results of a sweep: the table, and both files.
#[derive(PartialEq, Eq)]
struct Results {
    table: String,
    parquet: Vec<u8>,
    lines: String,
}

fn results(folder: &Path) -> Results {
    let table = sweep(folder, "--merge");
    let read = |name: &str| fs::read(folder.join("study.sweep").join(name)).expect("a file");
    let lines = String::from_utf8(read("results.jsonl")).expect("UTF-8");
    Results { table, parquet: read("results.parquet"), lines }
}

#[track_caller]
fn same(one: &Results, other: &Results, how: &str) {
    assert_eq!(one.lines, other.lines, "{how}");
    assert_eq!(one.table, other.table, "{how}");
    assert!(one.parquet == other.parquet, "{how}: another Parquet file");
}

/// Kills processes once `runs` runs are done.
fn kill_after(folder: &Path, mut processes: Vec<Child>, runs: usize) {
    while finished(folder) < runs {
        for process in &mut processes {
            assert!(process.try_wait().expect("a status").is_none(), "it ended by itself");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    for process in &mut processes {
        process.kill().expect("killed");
        process.wait().expect("dead");
    }
}

#[test]
fn any_processes_and_any_kills_give_the_same_bytes() {
    let alone = folder(STUDY);
    let printed = sweep(alone.path(), "-j 1");
    let expected = results(alone.path());
    assert_eq!(printed, expected.table);
    assert_eq!(states(alone.path(), "").len(), RUNS);
    let claims = fs::read_dir(alone.path().join("study.sweep/claims")).expect("a folder").count();
    assert_eq!(claims, 0, "claims are left");

    let together = folder(STUDY);
    let processes: Vec<Child> = (0..4).map(|_| start(together.path(), "-j 1")).collect();
    for process in processes {
        // All of them wait for the others, so that all have all to print.
        assert_eq!(done(&process.wait_with_output().expect("it ends")), expected.table);
    }
    same(&results(together.path()), &expected, "by four processes");

    let sharded = folder(STUDY);
    for shard in ["--shard 3/3", "--shard 1/3 --no-wait"] {
        assert_eq!(sweep(sharded.path(), shard), "");
    }
    assert_eq!(sweep(sharded.path(), "--shard 2/3"), expected.table, "the last one prints all");
    same(&results(sharded.path()), &expected, "by shards");

    let killed = folder(STUDY);
    for runs in [4, 16] {
        let processes = (0..2).map(|_| start(killed.path(), "-j 1")).collect();
        kill_after(killed.path(), processes, runs);
        let states: Vec<String> = states(killed.path(), "").into_values().collect();
        assert!(states.iter().filter(|state| *state == "done").count() >= runs, "{states:?}");
        assert!(!states.contains(&"running".to_owned()), "a claim outlives its process: {states:?}");
    }
    assert!(finished(killed.path()) < RUNS, "nothing was left to be killed");
    // A file that was being written when its process was killed.
    fs::write(killed.path().join("study.sweep/runs/0123.incomplete"), "{\"program\":").expect("written");
    sweep(killed.path(), "");
    same(&results(killed.path()), &expected, "killed twice");
    assert!(!killed.path().join("study.sweep/runs/0123.incomplete").exists());
}

/// A process that is killed in the middle of a run does not hold up others: they take it over.
#[test]
fn runs_of_the_killed_are_taken_over() {
    let study = "[sim]\nmachines = \"flash-64p\"\nprograms = { name = \"fft\", points = 262144 }\ncpus = [1]\n\
                 [bench]\nmachines = \"flash-4p\"\nlines = 64\niterations = 1\n";
    let folder = folder(study);
    let mut first = start(folder.path(), "-j 1");
    let running = || states(folder.path(), "").into_values().filter(|state| state == "running").count();
    while running() == 0 {
        assert!(first.try_wait().expect("a status").is_none(), "it ended by itself");
    }
    let key = states(folder.path(), "").into_iter().find(|(_, state)| state == "running").expect("one").0;
    let second = start(folder.path(), &format!("--run {key}"));
    std::thread::sleep(Duration::from_millis(100));
    first.kill().expect("killed");
    first.wait().expect("dead");
    let output = second.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", common::said(&output.stderr));
    assert_eq!(states(folder.path(), "")[&key], "done");
}

#[test]
fn an_interrupted_sweep_says_how_to_go_on() {
    let folder = folder(STUDY);
    let process = start(folder.path(), "-j 1");
    while finished(folder.path()) < 3 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = Command::new("kill").args(["-INT", &process.id().to_string()]).status().expect("kill(1)");
    assert!(sent.success());
    let output = process.wait_with_output().expect("it ends");
    let said = common::said(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let parts = ["interrupted: ", " of 48 runs done, ", " remaining", "what is done is in study.sweep", "run it again"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    let left = states(folder.path(), "").into_values().filter(|state| state == "left").count();
    assert!((1..=RUNS - 3).contains(&left), "{left}");
    fails(folder.path(), "--merge", 1, &[&format!("{left} of 48 runs are not done in study.sweep"), "--partial"]);
    let partial = sweep(folder.path(), "--merge --partial --csv");
    assert_eq!(partial.lines().count(), 1 + RUNS - left, "{partial}");
    assert!(folder.path().join("study.sweep/partial.parquet").exists());
    assert!(!folder.path().join("study.sweep/results.parquet").exists());
}

#[test]
fn runs_are_listed_and_done_one_by_one() {
    let folder = folder(STUDY);
    let listed = records(&sweep(folder.path(), "--list --json"));
    let keys: Vec<String> = listed.iter().map(|row| row["key"].as_str().expect("a key").to_owned()).collect();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), RUNS);
    assert!(!folder.path().join("study.sweep").exists(), "a list makes no directory");
    let sharded: Vec<BTreeMap<String, String>> =
        (1..=5).map(|shard| states(folder.path(), &format!("--shard {shard}/5"))).collect();
    assert_eq!(sharded.iter().map(BTreeMap::len).sum::<usize>(), RUNS);
    assert_eq!(sharded.iter().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>().len(), RUNS);

    let flags = format!("--run {} --run {} --json", &keys[30][..12], keys[5]);
    let twice = [sweep(folder.path(), &flags), sweep(folder.path(), &flags)];
    assert_eq!(twice[0], twice[1]);
    let rows = records(&twice[0]);
    assert_eq!(rows.len(), 2);
    // In the order of the study.
    for (row, place) in rows.iter().zip([5, 30]) {
        for field in ["program", "machine", "cpus", "parameters", "seed", "protocol", "placement"] {
            assert_eq!(row[field], listed[place][field], "{field}");
        }
    }
    let state = states(folder.path(), "");
    assert!(
        keys.iter().enumerate().all(|(place, key)| (state[key] == "done") == [5, 30].contains(&place)),
        "{state:?}"
    );
    let table = sweep(folder.path(), "--list");
    assert!(table.contains("48 runs: 2 done, 0 running, 46 left"), "{table}");
    assert!(table.contains(&keys[5][..12]), "{table}");

    // Another description of the machine has other keys, the other machine has the same.
    fs::write(folder.path().join("mine.toml"), MACHINE.replace("300", "310")).expect("written");
    let other = states(folder.path(), "");
    let same = keys.iter().filter(|key| other.contains_key(*key)).count();
    assert_eq!(same, RUNS / 2);
    fails(folder.path(), "--run 0123", 2, &["--run 0123", "too short", "accepted: "]);
    fails(folder.path(), "--run 01234567", 2, &["no run of this key", "accepted: "]);
}

/// Runs of a sweep are those of `ccnuma sim` and `ccnuma bench`, and sim takes them where it resumes.
#[test]
fn runs_are_those_of_the_other_commands() {
    let study = "[sim]\nmachines = \"flash-4p\"\nprograms = \"migratory\"\ncpus = [\"2..4\"]\nstats = true\n\
                 placement = [\"planned\", \"round-robin\"]\nbarrier = [\"ideal\", \"llsc\"]\nseeds = 3\n";
    let folder = folder(study);
    let swept = sweep(folder.path(), "--json");
    let line =
        "sim -m flash-4p migratory --cpus 2..4 --stats --placement planned,round-robin --barrier ideal,llsc --seed 3";
    let expected = done(&ccnuma_in(folder.path(), &format!("{line} --json")));
    assert_eq!(swept, expected);

    // A figure that no run gives shows that none was run.
    let results = folder.path().join("study.sweep/results.jsonl");
    let text = fs::read_to_string(&results).expect("results");
    assert_eq!(records(&text).len(), 2 + 8, "two machines are described, round-robin is one of them: {text}");
    let first = text.split("\"time_ns\":").nth(1).and_then(|rest| rest.split(',').next()).expect("a time");
    fs::write(&results, text.replace(&format!("\"time_ns\":{first},"), "\"time_ns\":123.25,")).expect("written");
    done(&ccnuma_in(folder.path(), &format!("{line} --json=study.sweep/results.jsonl --resume")));
    assert!(fs::read_to_string(&results).expect("results").contains("\"time_ns\":123.25,"));

    let study = "[[bench]]\nmachines = [\"flash-4p+tlb.miss_ns=0\"]\nsuites = [\"local\"]\nlines = 64\niterations = 2\nseeds = [0]\n";
    fs::write(folder.path().join("study.toml"), study).expect("written");
    let swept = sweep(folder.path(), "--into other --json");
    let line = "bench -m flash-4p+tlb.miss_ns=0 --suite local --lines 64 --iterations 2 --json";
    assert_eq!(swept, done(&ccnuma_in(folder.path(), line)));
    assert!(folder.path().join("other/results.parquet").exists());
}

/// The Parquet file of a study has a row a record, whichever kind it is, with the parameters that are varied.
#[test]
fn parquet_holds_the_records() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-python/bin/python");
    if !python.exists() {
        eprintln!("SKIPPED: target/test-python is not installed (.ci/run does)");
        return;
    }
    let study = format!(
        "{STUDY}[[bench]]\nmachines = \"flash-4p\"\nlines = 64\niterations = 1\nvary = {{ \"tlb.miss_ns\" = 5 }}\n"
    );
    let folder = folder(&study);
    sweep(folder.path(), "");
    let script = r#"
import json, sys
import pyarrow.parquet as parquet
table = parquet.read_table("study.sweep/results.parquet").to_pylist()
lines = [json.loads(line) for line in open("study.sweep/results.jsonl")]
lines = [line for line in lines if line["record"] != "description"]
assert len(table) == len(lines) > 48, (len(table), len(lines))
for row, line in zip(table, lines):
    assert row["vary.tlb.miss_ns"] == int(line["machine"].split("=")[1]), row
    assert len(row["key"]) == 32 and row["seed"] in (0, 1)
    assert (row["suite"] == "local") == (line["record"] == "measurement"), row
    for name, value in line.items():
        if isinstance(value, dict):
            for key, entry in value.items():
                assert row[name + "." + key] == entry, (name, key)
        elif name not in ("controllers", "processors", "regions"):
            # A map that no record has is no column.
            assert row.get(name) == value, (name, row.get(name), value)
print(len(table))
"#;
    let output = Command::new(python).args(["-c", script]).current_dir(folder.path()).output().expect("python starts");
    done(&output);
    fails(folder.path(), "--merge --csv=all.csv", 2, &["--csv all.csv: ", "two kinds", "accepted: --json"]);
    sweep(folder.path(), "--merge --json=all.jsonl");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("records");
    assert_eq!(read("all.jsonl"), read("study.sweep/results.jsonl"));
    let printed = sweep(folder.path(), "--merge --json");
    assert!(read("all.jsonl").ends_with(&printed), "machines are described in files alone");
}

#[test]
fn what_is_wrong_with_a_study_is_said_with_its_line() {
    let refused = |study: &str, parts: &[&str]| {
        let folder = folder(study);
        fails(folder.path(), "", 2, parts);
        assert!(!folder.path().join("study.sweep").exists(), "{study}");
    };
    let sim = "[[sim]]\nmachines = [\"flash-4p\"]\nprograms = [\"migratory\"]\n";
    refused("", &["study.toml: there is no work in it", "[[sim]]"]);
    refused("[[sim]]\nmachines = \n", &["study.toml:2: not valid TOML"]);
    refused("[simulation]\n", &["study.toml:1: simulation: there is no such key", "accepted: sim bench"]);
    refused("sim = 3\n", &["study.toml:1: sim = 3: no block; accepted: [[sim]] or [[bench]]"]);
    refused(
        &format!("{sim}\nseed = 3\n"),
        &["study.toml:5: sim.seed: there is no such key, did you mean seeds?", "accepted: machines programs cpus"],
    );
    refused("[[sim]]\nmachines = \"flash-4p\"\n", &["study.toml:1: sim.programs is missing", "accepted: "]);
    refused("[[bench]]\nsuites = \"local\"\n", &["study.toml:1: bench.machines is missing"]);
    refused(&format!("{sim}cpus = [1,\n 0]\n"), &["study.toml:5: sim.cpus = 0: ", "whole numbers from 1 on"]);
    refused(&format!("{sim}cpus = []\n"), &["study.toml:4: sim.cpus = []: there is no value"]);
    refused(&format!("{sim}cpus = [2, 5]\n"), &["study.toml:4: ", "5", "4"]);
    refused(&format!("{sim}seeds = \"5..1\"\n"), &["study.toml:4: sim.seeds = \"5..1\"", "both included"]);
    refused(&format!("{sim}stats = 1\n"), &["study.toml:4: sim.stats = 1", "true or false"]);
    refused(&format!("{sim}placement = [\"fist-touch\"]\n"), &["study.toml:4: ", "first-touch"]);
    refused(&format!("{sim}barrier = [\"ideal\", \"tre\"]\n"), &["study.toml:4: ", "tre", "accepted: "]);
    refused(&format!("{sim}vary = {{ tlb = 3 }}\n"), &["study.toml:4: ", "tlb", "TABLE.KEY"]);
    refused(&format!("{sim}vary.tlb.mis_ns = [1, 2]\n"), &["study.toml:4: ", "did you mean tlb.miss_ns?"]);
    refused(&format!("{sim}vary.tlb.miss_ns = [1, \"much\"]\n"), &["study.toml:4: ", "much"]);
    refused(&format!("{sim}matrix = \"none.mtx\"\n"), &["study.toml:4: ", "none.mtx", "bcsstk14"]);
    refused(
        "[[sim]]\nmachines = [\n \"flash-4p\",\n \"flsh-4p\"]\nprograms = \"fft\"\n",
        &["study.toml:4: ", "flsh-4p"],
    );
    refused("[[sim]]\nmachines = \"host\"\nprograms = \"fft\"\n", &["study.toml:2: ", "host"]);
    refused("[[sim]]\nmachines = \"absent.toml\"\nprograms = \"fft\"\n", &["study.toml:2: ", "absent.toml"]);
    refused(
        "[[sim]]\nmachines = \"flash-4p\"\nprograms = [\"fft\",\n \"fff\"]\n",
        &["study.toml:4: ", "fff", "accepted: "],
    );
    refused(
        "[[sim]]\nmachines = \"flash-4p\"\nprograms = [{ name = \"fft\", point = 3 }]\n",
        &["study.toml:3: ", "point", "fft has no parameter --point"],
    );
    refused(
        "[[sim]]\nmachines = \"flash-4p\"\nprograms = [{ points = 4 }]\n",
        &["study.toml:3: sim.programs.name is missing"],
    );
    refused("[[bench]]\nmachines = \"flash-4p\"\nsuites = \"locl\"\n", &["study.toml:3: ", "locl", "local"]);
    refused("[[bench]]\nmachines = \"flash-4p\"\niterations = 0\n", &["study.toml:3: bench.iterations = 0"]);
    let folder = folder(STUDY);
    fails(folder.path(), "--shard 4/3", 2, &["--shard 4/3: no shard; accepted: I/N"]);
    fails(folder.path(), "--shard slurm", 2, &["--shard slurm: SLURM_ARRAY_TASK_ID is not set"]);
    fails(folder.path(), "--into mine.toml", 2, &["--into mine.toml/", "cannot be made"]);
    fails(folder.path(), "-j 0", 2, &["-j", "0", "1"]);
    let missing = ccnuma_in(folder.path(), "sweep absent.toml");
    assert_eq!(missing.status.code(), Some(2));
    assert!(common::said(&missing.stderr).contains("absent.toml: cannot be read: "));
}
