//! `ccnuma sim`: what is printed and recorded, that equal runs print equal bytes, and what is refused.

use std::collections::BTreeMap;

use crate::common::{ccnuma, ccnuma_in, printed, refused, said};
use serde_json::Value;

const EIGHT: &str = "sim -m origin2000-r12k-300-8p";

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

fn number(record: &Value, field: &str) -> f64 {
    record[field].as_f64().unwrap_or_else(|| panic!("{field} of {record}"))
}

#[test]
fn a_program_runs_on_a_simulated_machine() {
    let record = &records(&printed(&format!("{EIGHT} migratory --lines 16 --rounds 8 --json")))[0];
    let expected = [
        ("program", Value::from("migratory")),
        ("machine", "origin2000-r12k-300-8p".into()),
        ("protocol", "origin".into()),
        ("cpus", 8.into()),
        ("result", "ok".into()),
        ("seed", 0.into()),
        // Eight processors read and write sixteen lines in each of eight rounds.
        ("references", (8 * 8 * 16 * 2).into()),
        ("controllers", Value::Null),
    ];
    for (field, value) in expected {
        assert_eq!(record[field], value, "{field}");
    }
    assert_eq!(record["parameters"], serde_json::json!({"lines": 16, "rounds": 8, "work": 20}));
    // A line that comes from its last owner costs a read and an upgrade: two in two references, but for the first round, in
    // which nobody has it.
    assert!((45.0..100.0).contains(&number(record, "miss_pct")), "{record}");
    assert!(number(record, "time_ns") >= number(record, "mean_time_ns"));
}

#[test]
fn equal_seeds_give_equal_bytes_and_others_do_not() {
    let run = |seed| printed(&format!("{EIGHT} uniform hot-spot --references 300 --seed {seed} --json"));
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first, run(2));
}

#[test]
fn every_combination_is_a_run_and_a_line() {
    let line =
        "sim -m origin2000-r12k-300-4p -m bitmap producer-consumer --readers 0,1,2 --cpus 3,4 --rounds 2 --lines 8";
    let rows = records(&printed(&format!("{line} --json")));
    let of = |row: &Value| {
        let readers = row["parameters"]["readers"].as_u64().expect("a number");
        (readers, row["cpus"].as_u64().expect("a number"), row["machine"].as_str().expect("a name").to_owned())
    };
    let found: Vec<_> = rows.iter().map(of).collect();
    assert_eq!(found.len(), 12);
    assert_eq!(found[0], (0, 3, "origin2000-r12k-300-4p".into()));
    assert_eq!(found[1], (0, 3, "bitmap".into()));
    assert_eq!(found[2].1, 4);
    assert_eq!(found[11], (2, 4, "bitmap".into()));
    let table = printed(line);
    assert!(table.contains("readers=2") && !table.contains("rounds="), "{table}");
    // A line of figures for each run, and the titles of the time breakdown, the misses and the speedups.
    assert_eq!(table.lines().filter(|line| line.contains("producer-consumer")).count(), 12 + 3);
    let csv = printed(&format!("{line} --csv"));
    let header = csv.lines().next().expect("a header");
    assert!(header.contains(",parameters.lines,parameters.readers,parameters.rounds,parameters.work,"), "{csv}");
    assert!(csv.lines().nth(1).expect("a row").contains(",8,0,2,20,"), "{csv}");
}

/// More readers, more invalidations for each write, and longer writes.
#[test]
fn statistics_tell_what_controllers_did() {
    let output = ccnuma(&format!("{EIGHT} producer-consumer --readers 0,7 --lines 16 --rounds 4 --stats --json"));
    assert_eq!(output.status.code(), Some(0));
    let speed = said(&output.stderr);
    assert!(speed.lines().all(|line| line.contains("million transactions a second")), "{speed}");
    let rows = records(&String::from_utf8_lossy(&output.stdout));
    let most = |row: &Value| row["invalidations"].as_array().map_or(0, Vec::len).saturating_sub(1);
    // The directory knows nodes: four of them, the producer's own too, since its neighbour has read.
    assert_eq!((most(&rows[0]), most(&rows[1])), (0, 4), "{rows:?}");
    assert!(number(&rows[1], "time_ns") > number(&rows[0], "time_ns"));
    let controllers = rows[1]["controllers"].as_array().expect("a list");
    assert_eq!((controllers.len(), rows[1]["processors"].as_array().map(Vec::len)), (4, Some(8)));
    let mut runs: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, handler) in controllers.iter().flat_map(|each| each["handlers"].as_object().expect("an object")) {
        *runs.entry(name).or_default() += handler["runs"].as_u64().expect("a number");
    }
    assert!(runs["READ"] >= 8 * 7 * 16, "every consumer reads every line: {runs:?}");
    let occupancy: f64 = controllers.iter().map(|each| number(each, "occupancy_ns")).sum();
    assert!((occupancy - number(&rows[1], "occupancy_ns")).abs() < 1e-3 * occupancy);
    let text = String::from_utf8_lossy(&ccnuma(&format!("{EIGHT} migratory --lines 8 --stats")).stdout).into_owned();
    for part in ["controllers", "handlers", "messages", "invalidations per write"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

/// One call compares protocols; what is asked for is what is loaded, and the terms of Equation 5.1 add up to the latency.
#[test]
fn protocols_are_compared_on_flash() {
    let protocols = ["cv=2", "dynamic-pointer", "hybrid/IR", "hybrid/RAC"];
    let line = format!("sim -m flash-5p uniform --references 200 --protocol {} --stats --json", protocols.join(","));
    let output = ccnuma(&line);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let rows = records(&String::from_utf8_lossy(&output.stdout));
    let found: Vec<_> = rows.iter().map(|row| row["protocol"].as_str().expect("a name")).collect();
    assert_eq!(found, protocols);
    assert!(rows.iter().all(|row| row["machine"] == "flash-5p" && row["result"] == "ok"));
    for row in &rows {
        let processors = row["processors"].as_array().expect("a list");
        let sum = |fields: &[&str]| -> f64 {
            processors.iter().flat_map(|each| fields.iter().map(|field| number(each, field))).sum()
        };
        let stall = sum(&["unloaded_ns", "wait_ns", "communication_ns", "coherence_ns"]);
        let misses = sum(&["local_misses", "local_remote_action_misses", "remote_misses"]);
        assert!((stall / misses - number(row, "miss_latency_ns")).abs() < 1e-6, "{row}");
        // No miss takes less than a local read, 135 processor cycles of 225 MHz.
        assert!(number(row, "miss_latency_ns") > 500.0, "{row}");
        assert!(number(row, "instruction_misses") > 0.0 && number(row, "data_misses") > 0.0, "{row}");
    }
    let caches = |row: &Value| row["controllers"][0]["remote_access_cache"].is_null();
    assert!(caches(&rows[0]) && !caches(&rows[3]));
}

/// Parameters that speak of processors: none was bounded by those of the run. The defaults are for any number.
#[test]
fn parameters_beyond_the_processors_of_a_run_are_refused() {
    let two = "-m xeon-8180-2s --cpus 2";
    refused(
        &format!("sim {two} producer-consumer --readers 99"),
        &["--readers 99", "on 2 threads", "accepted: 0 to 1"],
    );
    refused(&format!("sim {two} private --distance 2"), &["--distance 2", "private on 2 threads", "accepted: 0 to 1"]);
    refused(&format!("sim {two} hot-spot --target 2"), &["--target 2", "hot-spot on 2 threads", "accepted: 0 to 1"]);
    refused(
        &format!("sim {two} wide-read-sharing --readers 3"),
        &["--readers 3", "wide-read-sharing on 2 threads", "accepted: 1 to 2, and the default, 512"],
    );
    let several = "sim -m flash-4p producer-consumer --cpus 2,4 --readers 1,3";
    refused(several, &["--readers 3", "producer-consumer on 2 threads", "accepted: 0 to 1"]);
    refused("run -m flash-4p -- private --distance 4", &["--distance 4", "private on 4 threads", "accepted: 0 to 3"]);
    refused("diagnose -m flash-4p private --distance 4", &["--distance 4", "private on 4 threads"]);
    let rows = records(&printed("sim -m flash-4p wide-read-sharing producer-consumer --cpus 1,4 --rounds 1 --json"));
    assert_eq!(rows.len(), 4);
}

/// Only the places of the lines differ: nothing is shared, and the far ones take longer.
#[test]
fn lines_of_a_neighbour_take_longer_than_local_ones() {
    let rows = records(&printed("sim -m arctic private --lines 200 --distance 0,32 --json"));
    assert_eq!(rows[0]["references"], rows[1]["references"]);
    assert_eq!(rows[0]["secondary_misses"], rows[1]["secondary_misses"]);
    assert!(number(&rows[1], "time_ns") > 1.2 * number(&rows[0], "time_ns"), "{rows:?}");
    let hot = records(&printed("sim -m arctic hot-spot --references 200 --hot 0,50 --json"));
    assert!(number(&hot[1], "time_ns") > 3.0 * number(&hot[0], "time_ns"), "{hot:?}");
    assert!(number(&hot[1], "max_utilisation_pct") > 80.0, "{hot:?}");
    // Of one processor on FLASH, a neighbour of the same group is invalidated, too, and its controller is one of two that are busy.
    let alone = records(&printed("sim -m flash-16p migratory --cpus 1 --json"));
    let of = |name| number(&alone[0], name);
    assert!(of("utilisation_pct") < of("max_utilisation_pct"), "{alone:?}");
}

#[test]
fn programs_and_their_parameters_are_listed() {
    let rows = records(&printed("sim --list --json"));
    let find = |program: &str, parameter: &str| {
        rows.iter().find(|row| row["program"] == program && row["parameter"] == parameter).is_some()
    };
    assert!(find("migratory", "rounds") && find("hot-spot", "hot") && find("counters", "lines"));
    let text = printed("sim --list");
    assert!(text.contains("wide-read-sharing") && text.contains("1 to 65536"), "{text}");
}

#[test]
fn machines_are_records_in_the_file_of_their_results() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line = "sim -m bitmap -m bootleg counters --cpus 2 --rounds 4 --json=r.jsonl";
    let output = ccnuma_in(directory.path(), line);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let text = std::fs::read_to_string(directory.path().join("r.jsonl")).expect("written");
    let found = records(&text);
    let kinds: Vec<_> = found.iter().map(|row| (row["record"].as_str(), row["machine"].as_str())).collect();
    let of = |kind| ["bitmap", "bootleg"].map(|machine| (Some(kind), Some(machine)));
    assert_eq!(kinds, [of("description"), of("simulation")].concat());
    assert_eq!(found[0]["machine_digest"], found[2]["machine_digest"]);
    assert_ne!(found[0]["machine_digest"], found[1]["machine_digest"]);
    assert_eq!(std::fs::read_dir(directory.path()).expect("a folder").count(), 1, "nothing stands beside it");
}

/// A sweep that was interrupted goes on where it was, and leaves the bytes that it would have left.
#[test]
fn an_interrupted_sweep_resumes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line = "sim -m flash-4p migratory --lines 8,16 --rounds 4 --cpus 1..4 --barrier ideal,llsc --json=r.jsonl";
    let run = |line: &str| {
        let output = ccnuma_in(directory.path(), line);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let file = |name: &str| directory.path().join(name);
    let table = run(line);
    let whole = std::fs::read_to_string(file("r.jsonl")).expect("written");
    // The machine, and every run.
    assert_eq!(records(&whole).len(), 1 + 2 * 3 * 2);
    assert!(!file("r.jsonl.part").exists(), "all is where it belongs");
    // Two records had been delivered, another had finished, and a fourth was being written. One of them says something that no
    // run would, so it must be the one that is taken.
    let lines: Vec<&str> = whole.lines().collect();
    let marked = lines[7].replace("\"seed\":", "\"refusals\":4711,\"seed\":");
    let marked = marked.replacen(&format!("\"refusals\":{},", records(&whole)[7]["refusals"]), "", 1);
    let marked = if marked.contains("4711") { marked } else { panic!("{marked}") };
    std::fs::write(file("r.jsonl"), format!("{}\n{}\n", lines[0], lines[1])).expect("writable");
    std::fs::write(file("r.jsonl.part"), format!("{marked}\n{}", &lines[5][..40])).expect("writable");
    run(&format!("{line} --resume"));
    let resumed = std::fs::read_to_string(file("r.jsonl")).expect("written");
    let found = records(&resumed);
    assert_eq!(found[7]["refusals"], 4711);
    for (number, (resumed, whole)) in resumed.lines().zip(&lines).enumerate().filter(|&(number, _)| number != 7) {
        assert_eq!(resumed, *whole, "record {number}");
    }
    assert!(!file("r.jsonl.part").exists());
    // Nothing to run is left, and another seed has everything to run.
    std::fs::write(file("r.jsonl"), &whole).expect("writable");
    assert_eq!(run(&format!("{line} --resume")), table);
    assert_eq!(std::fs::read_to_string(file("r.jsonl")).expect("written"), whole);
    run(&format!("{line} --resume --seed 1"));
    assert_ne!(std::fs::read_to_string(file("r.jsonl")).expect("written"), whole);
}

#[test]
fn tables_show_where_the_time_went_and_what_more_processors_bring() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line = "sim -m flash-4p fft --points 256 --cpus 1,2..4 --vary tlb.miss_ns=0,500 --causes --svg time.svg --wide";
    let output = ccnuma_in(directory.path(), line);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    for part in ["time breakdown", "busy", "barrier", "false sharing", "speedup", "flash-4p+tlb.miss_ns=500"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let svg = std::fs::read_to_string(directory.path().join("time.svg")).expect("drawn");
    assert!(svg.contains("flash-4p+tlb.miss_ns=0") && svg.contains("busy"), "{svg}");
}

#[test]
fn what_cannot_run_is_refused_with_what_can() {
    refused("sim -m flash-4p fft --barrier magic", &["--barrier magic", "llsc"]);
    refused("sim -m flash-4p water --locks tree", &["--locks tree", "llsc at-memory"]);
    refused("sim -m flash-4p fft --scheduler fair", &["--scheduler fair", "run-queue", "cache-affinity"]);
    refused("sim -m flash-4p fft --placement nowhere", &["-m flash-4p", "nowhere", "round-robin"]);
    refused("sim -m flash-4p fft --vary colour=red", &["--vary colour", "TABLE.KEY"]);
    refused("sim -m flash-4p fft --vary tlb", &["--vary", "tlb", "KEY=VALUE"]);
    refused("sim -m flash-4p fft --vary tlb.miss_ns=0,0", &["--vary tlb.miss_ns=0", "given twice"]);
    refused(
        "sim -m flash-4p fft --vary tlb.miss_ns=0,1 --vary tlb.miss_ns=1",
        &["--vary tlb.miss_ns=1", "given twice"],
    );
    refused("sim -m epyc-7702-2s fft --vary nps=3", &["-m epyc-7702-2s as varied: nps = 3", "nps=1, nps=2, nps=4"]);
    refused("sim -m flash-4p fft --cpus 8..4", &["--cpus", "8..4", "FIRST..LAST"]);
    refused("sim -m flash-4p fft --resume", &["--resume", "--json=FILE"]);
    refused("sim -m arctic migrator", &["migrator", "migratory", "wide-read-sharing"]);
    refused("sim -m artic migratory", &["-m artic", "arctic"]);
    refused("sim migratory", &["-m", "arctic"]);
    refused("sim -m host migratory", &["-m host", "arctic"]);
    refused("sim -m arctic", &["PROGRAM"]);
    refused("sim -m arctic migratory --cpus 65", &["--cpus 65", "1-64 on arctic"]);
    refused("sim -m arctic migratory --cpus 0", &["--cpus 0", "1-64 on arctic"]);
    refused("sim -m arctic migratory --readers 3", &["--readers 3", "migratory", "lines rounds work"]);
    refused("sim -m arctic migratory --lines 0", &["--lines 0", "1 to 1048576"]);
    refused("sim -m arctic hot-spot --hot 101", &["--hot 101", "0 to 100"]);
    refused("sim -m arctic hot-spot --hot many", &["--hot", "many"]);
    refused("sim -m arctic hot-spot --hot_lines 1048576", &["hot-spot needs", "node 0", "arctic"]);
    refused("sim -m flash-4p hot-spot --hot_lines 500000", &["hot-spot needs", "on node 0 of flash-4p", "224 MiB"]);
    refused("sim -m flash-4p migratory --protocol hybird", &["hybird", "did you mean hybrid?", "dynamic-pointer"]);
    refused(
        "sim -m arctic migratory --protocol hybrid",
        &["-m arctic", "hybrid", "the protocol of arctic is fixed", "flash-64p"],
    );
    refused("sim -m arctic migratory --json=/nonexistent/x.json", &["--json /nonexistent/x.json"]);
}
