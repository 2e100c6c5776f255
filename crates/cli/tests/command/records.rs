//! Records of every command: valid against the schema that `ccnuma schema` prints, and read by what analysts read files with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{self, ccnuma_in, printed};
use serde_json::{Value, json};

/// Every command that writes records, small, by the name of its files; `OUT` is where `--json=NAME.jsonl --csv=NAME.csv` goes.
const COMMANDS: [(&str, &str); 25] = [
    (
        "bench",
        "bench -m origin2000-r12k-300-8p OUT --local 0 --local 2 --iterations 2 --lines 64 lmbench-read bwmp-read",
    ),
    ("arrays", "bench -m bitmap OUT --array 64 --iterations 1 area-read p3-ru"),
    ("loaded", "bench -m origin2000-r12k-300-4p OUT --local 0 --local 2 --iterations 1 --array 64 loaded-read"),
    ("here", "bench OUT --iterations 2 --lines 64 --array 16 lmbench-read area-read"),
    ("fit", "fit -m origin2000-r12k-300-8p --model remote --data-out data.jsonl OUT"),
    ("refit", "fit data.jsonl --model remote OUT"),
    ("sim", "sim -m flash-4p -m bitmap OUT --stats --causes private producer-consumer --lines 8 --rounds 2 --cpus 2,4"),
    ("advice", "advise -m flash-4p OUT --only placement producer-consumer --lines 8 --rounds 2 --cpus 2"),
    ("programs", "sim --list OUT"),
    ("sweep", "sweep study.toml --list OUT"),
    ("findings", "diagnose -m flash-4p OUT --no-trials counters"),
    ("findings-here", "diagnose OUT -- sleep 0"),
    ("figures", "reproduce prestor/4.6 OUT"),
    ("publications", "reproduce --list OUT"),
    ("protocols", "verify origin --caches 2 OUT"),
    ("parts", "topology -m bitmap --routes OUT"),
    ("parts-here", "topology OUT"),
    ("deadlock", "topology -m bitmap --check-deadlock OUT"),
    ("machines", "machines OUT"),
    ("description", "machines show arctic OUT"),
    ("observables", "sar --list OUT"),
    ("samples", "sar 20ms 3 OUT"),
    ("run", "run -s 5ms -o t.arrows OUT -- sleep 0.05"),
    ("trace", "info t.arrows OUT"),
    ("dump", "dump t.arrows --all OUT"),
];

/// The folder with the records of every command.
fn written() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("records");
        let _none_yet = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let study = "[[sim]]\nmachines = [\"flash-4p\"]\nprograms = [\"migratory\"]\n";
        fs::write(folder.join("study.toml"), study).expect("written");
        for (name, line) in COMMANDS {
            let line = line.replace("OUT", &format!("--json={name}.jsonl --csv={name}.csv"));
            let output = ccnuma_in(&folder, &line);
            let errors = common::said(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "ccnuma {line}: {errors}");
        }
        folder
    })
}

fn read(name: &str) -> String {
    fs::read_to_string(written().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn records(name: &str) -> Vec<Value> {
    read(&format!("{name}.jsonl")).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The faults of a record: none, if it is valid by the schema of its kind.
fn faults(schema: &Value, record: &Value) -> Vec<String> {
    let mut of_kind = schema.clone();
    of_kind.as_object_mut().expect("an object").remove("oneOf");
    of_kind["$ref"] = json!(format!("#/$defs/{}", record["record"].as_str().unwrap_or("none")));
    let validator = jsonschema::validator_for(&of_kind).expect("a schema");
    validator.iter_errors(record).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_record_of_every_command_is_valid_by_the_printed_schema() {
    let schema: Value = serde_json::from_str(&printed("schema")).expect("JSON");
    let any = jsonschema::validator_for(&schema).expect("a schema");
    let mut kinds = BTreeSet::new();
    for (name, _) in COMMANDS {
        for record in records(name) {
            assert_eq!(faults(&schema, &record), [""; 0], "{name}: {record}");
            assert!(any.is_valid(&record), "{name}: it is of no kind, or of two: {record}");
            kinds.insert(format!("#/$defs/{}", record["record"].as_str().expect("a kind")));
        }
    }
    let all: BTreeSet<String> = schema["oneOf"]
        .as_array()
        .expect("kinds")
        .iter()
        .map(|kind| kind["$ref"].as_str().expect("a reference").to_owned())
        .collect();
    assert_eq!(kinds, all, "a kind of record that no command here writes");
    // The schema can refuse: a field more, a field less, another type.
    let record = &records("bench")[1];
    let changed = |change: fn(&mut serde_json::Map<String, Value>)| {
        let mut changed = record.clone();
        change(changed.as_object_mut().expect("an object"));
        any.is_valid(&changed)
    };
    assert!(changed(|_| ()));
    assert!(!changed(|record| drop(record.insert("more".into(), 1.into()))));
    assert!(!changed(|record| drop(record.remove("host"))));
    assert!(!changed(|record| drop(record.insert("local".into(), json!([1, 2])))));
}

#[test]
fn records_of_this_computer_tell_it_and_those_of_simulations_do_not() {
    let origin = ["host", "host_processor", "host_kernel", "date", "command"];
    for name in ["here", "findings-here", "parts-here", "observables", "samples", "run", "trace", "dump"] {
        for record in records(name) {
            // Not every virtual machine tells its processor's model.
            for field in origin.iter().filter(|field| **field != "host_processor") {
                assert!(record[*field].is_string(), "{name}: no {field} in {record}");
            }
            let date = record["date"].as_str().expect("checked");
            assert!(date.len() == 20 && date.starts_with("20") && date.ends_with('Z'), "{date}");
        }
    }
    assert!(records("here")[0]["command"].as_str().is_some_and(|line| line.ends_with("lmbench-read area-read")));
    for name in ["bench", "fit", "refit", "sim", "findings", "figures", "protocols", "parts"] {
        for record in records(name) {
            assert!(origin.iter().all(|field| record[*field].is_null()), "{name}: {record}");
        }
    }
    for (name, _) in COMMANDS {
        assert!(records(name).iter().all(|record| record["version"] == env!("CARGO_PKG_VERSION")), "{name}");
    }
}

#[test]
fn csv_has_the_records_with_neither_maps_nor_parts_in_cells() {
    for (name, _) in COMMANDS {
        let text = read(&format!("{name}.csv"));
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().expect("a header").clone();
        assert_eq!(header.iter().collect::<BTreeSet<_>>().len(), header.len(), "{name}: {header:?}");
        let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("as many cells as columns")).collect();
        let kind = header.iter().position(|column| column == "record").expect("every record has a kind");
        // Descriptions of machines and of computers are in JSON alone.
        let of_machines = |record: &Value| ["description", "computer"].iter().any(|kind| record["record"] == *kind);
        let alone = |record: &Value| of_machines(record) && name != "description";
        assert_eq!(records(name).iter().filter(|record| !alone(record)).count(), rows.len(), "{name}");
        assert!(rows.windows(2).all(|pair| pair[0][kind] == pair[1][kind]), "{name}");
        for cell in rows.iter().flatten() {
            assert!(!cell.starts_with('{') && !cell.starts_with("[{"), "{name}: {cell}");
        }
    }
    let header = read("sim.csv").lines().next().expect("a header").to_owned();
    for column in ["parameters.lines", "parameters.readers", "spent_ns.busy", "misses.read.local.clean", "causes.cold"]
    {
        assert!(header.split(',').any(|found| found == column), "no {column} in {header}");
    }
}

/// The Python that has the readers, if there is one: nothing is installed here.
fn python() -> PathBuf {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-python/bin/python");
    match std::env::var_os("CCNUMA_TEST_PYTHON") {
        Some(python) => python.into(),
        None if installed.exists() => installed,
        None => "python3".into(),
    }
}

#[test]
fn pandas_polars_duckdb_and_pyarrow_read_the_files_of_every_command() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/read_records.py");
    let names = COMMANDS.iter().map(|(name, _)| *name);
    let output = match Command::new(python()).arg(script).arg(written()).args(names).output() {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: {} cannot be run: {error}", python().display()),
    };
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), common::said(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
    eprint!("{said}");
    // Each reader has read all, or is said to be skipped.
    for reader in ["pandas", "polars", "duckdb", "pyarrow"] {
        let told = [format!("{reader}: {} commands", COMMANDS.len()), format!("skipped: {reader}")];
        assert!(told.iter().any(|told| said.contains(told)), "nothing is said of {reader}: {said}");
    }
}
