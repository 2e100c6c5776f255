//! Studies without a command around them: runs that overlap are one, keys follow from what is run, and the table of records is read
//! back as it was written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use experiments::study::{Store, Study, merge, work_off, write_parquet};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use record::{Provenance, RunState, Work};

const STUDY: &str = r#"
[[bench]]
machines = ["flash-4p"]
lines = 64
iterations = 1

[[sim]]
machines = ["parts/own.toml"]
programs = ["migratory", { name = "uniform", references = [64, 128] }]
cpus = [2]
vary.tlb.miss_ns = [0, 2.5]

# Half of these are above already.
[[sim]]
machines = ["parts/own.toml"]
programs = ["migratory"]
cpus = [2]
vary = { "tlb.miss_ns" = 0 }
seeds = "0..1"
"#;

fn read(folder: &Path, software: &str) -> Study {
    Study::read(&folder.join("study.toml"), software).expect("a study")
}

fn written(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("parts")).expect("made");
    fs::write(folder.path().join("parts/own.toml"), "inherit = \"flash-4p\"\n[processor]\nclock_mhz = 300\n")
        .expect("written");
    fs::write(folder.path().join("study.toml"), text).expect("written");
    folder
}

fn keys(study: &Study) -> Vec<String> {
    study.runs.iter().map(|run| run.row.key.clone()).collect()
}

#[test]
fn keys_follow_from_software_machine_work_and_seed() {
    let folder = written(STUDY);
    let study = read(folder.path(), "1.0 abc");
    let programs: Vec<_> = study.runs.iter().filter(|run| run.row.work == Work::Sim).map(|run| &run.row).collect();
    assert_eq!(programs.len(), 2 + 4 + 1, "overlapping blocks ask for one run once");
    assert!(programs.iter().all(|row| row.machine.starts_with("parts/own.toml+tlb.miss_ns=")), "{programs:?}");
    assert!(programs.iter().all(|row| row.state == RunState::Left));
    assert_eq!(programs[0].run, "migratory seed=0 on parts/own.toml+tlb.miss_ns=0");
    assert_eq!(programs[2].run, "uniform references=64 on parts/own.toml+tlb.miss_ns=0");
    // Not from where the study is, but from all else.
    let elsewhere = written(STUDY);
    assert_eq!(keys(&study), keys(&read(elsewhere.path(), "1.0 abc")));
    let differs = |text: &str, software: &str| {
        let other = written(text);
        let other = keys(&read(other.path(), software));
        keys(&study).iter().filter(|key| !other.contains(key)).count()
    };
    let all = study.runs.len();
    assert_eq!(differs(STUDY, "1.0 abd"), all);
    assert_eq!(differs(&STUDY.replace("[64, 128]", "[64, 129]"), "1.0 abc"), 2);
    assert_eq!(differs(&STUDY.replace("2.5", "3.5"), "1.0 abc"), 3);
    assert_eq!(differs(&STUDY.replace("\"0..1\"", "[0, 2]"), "1.0 abc"), 1);
    assert_eq!(differs(&STUDY.replace("iterations = 1", "iterations = 2"), "1.0 abc"), all - programs.len());
    assert_eq!(differs(&STUDY.replace("lines = 64", "lines = 64\nseeds = 1"), "1.0 abc"), all - programs.len());
    fs::write(folder.path().join("parts/own.toml"), "inherit = \"flash-4p\"\n[processor]\nclock_mhz = 301\n")
        .expect("written");
    let changed = keys(&read(folder.path(), "1.0 abc"));
    assert_eq!(keys(&study).iter().filter(|key| changed.contains(key)).count(), all - programs.len());
}

/// A recording is known by what it holds, wherever it is.
#[test]
fn recordings_are_known_by_their_content() {
    let text = "[sim]\nmachines = \"flash-4p\"\nprograms = \"swap.references\"\n";
    let folder = written(text);
    let trace = folder.path().join("swap.references");
    let machine = experiments::variant::load("flash-4p").expect("a machine");
    let program = experiments::Executable::named("migratory", &workloads::Settings::default()).expect("a program");
    let simulation = experiments::Simulation::new(machine, program, Some(2), sim::Options::default()).expect("it fits");
    simulation.recorded_in(trace.clone()).run().expect("recorded");
    let before = keys(&read(folder.path(), "1"));
    assert_eq!(before, keys(&read(folder.path(), "1")));
    let other = workloads::Settings::default().with("lines", 8);
    let program = experiments::Executable::named("migratory", &other).expect("a program");
    let machine = experiments::variant::load("flash-4p").expect("a machine");
    let simulation = experiments::Simulation::new(machine, program, Some(2), sim::Options::default()).expect("it fits");
    simulation.recorded_in(trace).run().expect("recorded");
    assert_ne!(before, keys(&read(folder.path(), "1")));
}

#[test]
fn a_study_of_too_many_runs_is_refused_before_they_are_made() {
    for text in [
        "[sim]\nmachines = \"flash-4p\"\nprograms = \"migratory\"\nseeds = \"0..1000000\"\n",
        "[bench]\nmachines = \"flash-4p\"\nseeds = \"0..1000000\"\n",
    ] {
        let folder = written(text);
        let read = Study::read(&folder.path().join("study.toml"), "1.0");
        let message = read.err().expect("too many").to_string();
        assert!(message.ends_with(" runs so far; accepted: up to 100000 runs in a study"), "{message}");
    }
}

/// What a run has not written is not taken for its result: nothing, and what another run has written.
#[test]
fn records_of_another_run_are_an_error() {
    let folder = written(
        "[[sim]]\nmachines = \"flash-4p\"\nprograms = \"migratory\"\ncpus = [1, 2]\n\
         [[bench]]\nmachines = [\"flash-4p\", \"flash-8p\"]\nlines = 64\niterations = 1\n",
    );
    let study = read(folder.path(), "1.0");
    let results = folder.path().join("results");
    let store = Store::open(&results, Provenance::of_software("1.0", None)).expect("made");
    let places: Vec<usize> = (0..study.runs.len()).collect();
    work_off(&study, &store, &places, true, |_| {}).expect("all done");
    let of = |place: usize| results.join(format!("runs/{}.jsonl", study.runs[place].key));
    let last = study.runs.len() - 1;
    for (place, other) in [(0, 1), (2, last)] {
        let own = fs::read(of(place)).expect("there");
        fs::write(of(place), "").expect("written");
        assert_eq!(merge(&study, &store).expect("readable").missing, 1);
        fs::copy(of(other), of(place)).expect("copied");
        let message = merge(&study, &store).err().expect("another's").to_string();
        assert!(message.contains("the records are not those of the run with this key; accepted: "), "{message}");
        fs::write(of(place), own).expect("written");
    }
    assert_eq!(merge(&study, &store).expect("readable").missing, 0);
}

#[test]
fn the_table_is_read_back_as_it_was_written() {
    let folder = written(STUDY);
    let study = read(folder.path(), "1.0 abc");
    let store = Store::open(&folder.path().join("results"), Provenance::of_software("1.0", Some("abc"))).expect("made");
    let places: Vec<usize> = (0..study.runs.len()).collect();
    assert_eq!(merge(&study, &store).expect("readable").missing, places.len());
    let tally = work_off(&study, &store, &places, true, |_| {}).expect("all done");
    assert_eq!((tally.ran, tally.wrong, tally.failed.len()), (places.len(), 0, 0));
    let again = work_off(&study, &store, &places, true, |_| {}).expect("nothing to do");
    assert_eq!(again.ran, 0);

    let merged = merge(&study, &store).expect("readable");
    assert_eq!((merged.missing, merged.simulations.len()), (0, 7));
    let file = write_parquet(&study, &merged, Vec::new()).expect("written");
    assert!(file == write_parquet(&study, &merged, Vec::new()).expect("written"), "the same bytes");
    let path = folder.path().join("results.parquet");
    fs::write(&path, &file).expect("written");
    let reader = SerializedFileReader::new(fs::File::open(&path).expect("open")).expect("Parquet");
    let rows: Vec<BTreeMap<String, Field>> = reader
        .get_row_iter(None)
        .expect("rows")
        .map(|row| row.expect("a row").get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect())
        .collect();
    assert_eq!(rows.len(), merged.simulations.len() + merged.measurements.len());
    let first = rows.len() - merged.simulations.len();
    for (place, row) in merged.simulations.iter().enumerate() {
        let line = &rows[first + place];
        assert_eq!(line["time_ns"], Field::Double(row.time_ns));
        let references = row.parameters.get("references").map_or(Field::Null, |&value| Field::ULong(value));
        assert_eq!(line["parameters.references"], references);
        let varied = row.machine.split('=').nth(1).expect("a change").parse().expect("a number");
        assert_eq!(line["vary.tlb.miss_ns"], Field::Double(varied));
        assert_eq!(line["key"], Field::Str(study.runs[study.runs.len() - 7 + place].row.key.clone()));
        assert_eq!(line["suite"], Field::Null);
    }
    assert_eq!(rows[0]["suite"], Field::Str("local".to_owned()));
    assert_eq!(rows[0]["median"], Field::Double(merged.measurements[0].median));
    assert_eq!(rows[0]["seed"], Field::ULong(0));
    assert_eq!(rows[first]["schema"], Field::ULong(u64::from(record::SCHEMA_VERSION)));

    // A file that is no record is named, and what to do about it.
    let kept = folder.path().join("results/runs").join(format!("{}.jsonl", study.runs[0].row.key));
    fs::write(&kept, "{}\n").expect("written");
    let refused = merge(&study, &store).map(drop).expect_err("no record").to_string();
    assert!(
        refused.contains(&study.runs[0].row.key) && refused.contains("line 1") && refused.contains("remove"),
        "{refused}"
    );
}
