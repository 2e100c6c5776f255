//! Small runs that end well: what is printed, the fields of records, and that equal runs print equal bytes.

use std::fs;
use std::path::Path;

use crate::common::{ccnuma, ccnuma_in, printed, refused, said};
use serde_json::{Map, Value};

/// The fields of each line, in order.
fn records(text: &str) -> Vec<Map<String, Value>> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

/// The names of a line's fields in the order in which they stand there.
fn names(line: &str) -> Vec<&str> {
    let mut names: Vec<&str> = line.split("\":").map(|part| part.rsplit('"').next().unwrap_or_default()).collect();
    names.pop();
    names
}

#[test]
fn a_bench_record_has_the_fields_that_scripts_rely_on() {
    let line =
        "bench -m arctic --home 1 --local 2 --remote 0 --state CEXM lmbench-read --iterations 2 --lines 64 --json";
    let text = printed(line);
    let fields = "machine experiment state home local remotes xhops yhops zhops unit min max median mean stdev n";
    let fields: Vec<&str> = fields.split(' ').collect();
    // Fields that were added later stand behind.
    assert_eq!(names(&text)[..fields.len()], fields);
    let record = &records(&text)[0];
    let expected = [
        ("machine", Value::from("arctic")),
        ("experiment", "lmbench-read".into()),
        ("state", "CEXM".into()),
        ("home", 1.into()),
        ("local", 2.into()),
        ("remotes", vec![0].into()),
        ("xhops", 0.into()),
        ("yhops", 1.into()),
        ("zhops", 1.into()),
        ("unit", "ns".into()),
        ("n", 2.into()),
    ];
    for (field, value) in expected {
        assert_eq!(record[field], value, "{field}");
    }
    // The requester is at the home: the thesis has 987 ns for this placement (Table 4.15), a local read 384 ns.
    let least = record["min"].as_f64().expect("a number");
    assert!((800.0..1200.0).contains(&least), "{least}");
}

#[test]
fn an_experiment_prints_a_line_and_several_print_in_the_order_asked() {
    let text = printed("bench -m bitmap bw-read lmbench-read --lines 256 --iterations 1 --csv");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("machine,experiment,state,"), "{text}");
    assert!(lines[1].starts_with("bitmap,bw-read,UOWN,0,0,,0,,,MB/s,"), "{text}");
    assert!(lines[2].starts_with("bitmap,lmbench-read,UOWN,"), "{text}");
    let table = printed("bench -m bitmap lmbench-read --lines 256 --iterations 1");
    assert!(table.contains("lmbench-read") && table.contains("experiment"), "{table}");
}

#[test]
fn equal_runs_print_equal_bytes_and_seeds_count() {
    let line = "bench -m bitmap --suite local --lines 256 --iterations 1 --json";
    assert_eq!(printed(line), printed(line));
    // Replacement is random: a fill that displaces lines depends on the seed, and so must some figure.
    let at = |seed: u32| printed(&format!("bench -m bitmap p3-rmw --array 6144 --iterations 1 --seed {seed} --json"));
    assert_eq!(at(1), at(1));
    assert_ne!(at(1), at(2));
}

#[test]
fn the_local_suite_stands_beside_the_published_table() {
    let text = printed("bench -m arctic --suite local");
    let row = |state: &str, which: usize| {
        let start = text.lines().position(|line| line.trim_start().starts_with(state)).expect("a row of each state");
        let line = text.lines().nth(start + which).expect("three lines a state");
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(text.contains("Table 4.8"), "{text}");
    // Figures of Table 4.8, from the line under the simulated ones.
    assert_eq!(row("SHRD", 1), ["published", "384", "607", "341", "298", "558", "326", "217", "384"]);
    assert_eq!(row("DEXT", 1), ["published", "897", "818", "181"]);
    assert_eq!(row("UOWN", 0).len(), 8, "{text}");
    assert!(text.contains("Errors against the published figures"), "{text}");
}

#[test]
fn another_machine_gets_the_same_form_without_published_figures() {
    let text = printed("bench -m origin2000-r12k-400-4p --suite remote --iterations 1 --lines 256");
    assert!(text.contains("Remote results by distance") && text.contains("Remote results by node"), "{text}");
    assert!(!text.contains("published") && !text.contains("Errors"), "{text}");
}

#[test]
fn a_result_file_holds_its_machine_and_the_table_is_still_printed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line = "bench -m bitmap lmbench-read --lines 64 --iterations 1 --json=r.json --csv=r.csv";
    let output = ccnuma_in(directory.path(), line);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("lmbench-read"));
    let read =
        |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (json, csv) = (read("r.json"), read("r.csv"));
    let found = records(&json);
    assert_eq!((found.len(), csv.lines().count()), (2, 2));
    assert_eq!(std::fs::read_dir(directory.path()).expect("a folder").count(), 2, "nothing stands beside them");
    // The description is the whole machine: measuring that gives the same figures.
    assert_eq!((&found[0]["record"], &found[0]["machine"]), (&"description".into(), &"bitmap".into()));
    let description = found[0]["description"].as_str().expect("TOML");
    std::fs::write(directory.path().join("again.toml"), description).expect("writable");
    let again = ccnuma_in(directory.path(), "bench -m again.toml lmbench-read --lines 64 --iterations 1 --json");
    assert_eq!(String::from_utf8_lossy(&again.stdout).lines().next(), json.lines().nth(1));
    // `machines show` tells the same.
    let shown = &records(&printed("machines show bitmap --json"))[0];
    assert_eq!(shown, &found[0]);
}

#[test]
fn listings_heed_the_flags_or_refuse_them() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let listed = records(&printed("sar --list --json"));
    assert!(listed.iter().any(|row| row["about"] == "metric" && row["available"] == true), "{listed:?}");
    assert!(listed.iter().any(|row| row["about"] == "source"), "{listed:?}");
    assert!(printed("run -m arctic --list --csv").starts_with("machine,about,name,of,unit,"));
    for line in ["topology -m bitmap --svg t.svg --json", "machines --csv=m.csv show bitmap"] {
        let output = ccnuma_in(directory.path(), line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(said(&output.stderr).contains("accepted"), "{line}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("a folder").count(), 0, "no file was written");
}

#[test]
fn a_reproduction_has_a_record_for_each_figure() {
    let text = printed("reproduce prestor/4.6 --json");
    let fields = "paper table row column unit theirs ours error_pct calibrated";
    let fields: Vec<&str> = fields.split(' ').collect();
    assert_eq!(names(text.lines().next().expect("a line"))[..fields.len()], fields);
    let rows = records(&text);
    assert_eq!(rows.len(), 31);
    let found = rows.iter().find(|row| row["row"] == "CEXM" && row["column"] == "restart READ").expect("a cell");
    assert_eq!(found["theirs"], 616.0);
    let (ours, error) = (found["ours"].as_f64().expect("ours"), found["error_pct"].as_f64().expect("an error"));
    assert!((error - (ours - 616.0) / 616.0 * 100.0).abs() < 1e-9);
    assert!(found["calibrated"].is_boolean());
}

#[test]
fn a_withheld_table_is_predicted_cell_by_cell() {
    let rows = records(&printed("reproduce prestor/4.9 --json"));
    assert_eq!(rows.len(), 31);
    for row in &rows {
        assert!(row["theirs"].is_null() && row["error_pct"].is_null(), "{row:?}");
        assert!(row["ours"].as_f64().is_some_and(|ours| ours > 50.0), "{row:?}");
    }
}

#[test]
fn routing_tables_are_checked_for_deadlock() {
    let rows = records(&printed("reproduce flash/A.1 --json"));
    assert!(rows.len() == 2 && rows.iter().all(|row| row["theirs"] == row["ours"]), "{rows:?}");
    let table = |name: &str| format!("{}/../machine/tables/{name}", env!("CARGO_MANIFEST_DIR"));
    let cyclic = ccnuma(&format!("topology --check-deadlock {}", table("flash-a1-deadlock.txt")));
    assert_eq!(cyclic.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&cyclic.stdout).contains("router 0 -> router 1"));
    printed(&format!("topology --check-deadlock {}", table("flash-a1-deadlock-free.txt")));
    assert!(printed("topology -m stinger --check-deadlock").contains("deadlock-free"));
    let both =
        "built-in request routing of flash-64p: deadlock-free\nbuilt-in reply routing of flash-64p: deadlock-free\n";
    assert_eq!(printed("topology -m flash-64p --check-deadlock"), both);
}

/// Routes of routers that a machine has not, and pairs without a route, were passed over; so was the machine itself.
#[test]
fn vector_routes_must_be_of_the_machine_and_complete() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vector-routes");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("my.txt");
    let check = |machine: &str, text: &str, parts: &[&str]| {
        fs::write(&path, text).expect("written");
        refused(&format!("topology {machine} --check-deadlock {}", path.display()), parts);
    };
    check("", "0 -> 1: 0\n2 -> 3: 2\n", &["my.txt", "no route from router 0 to router 2, nor for 7 other pairs"]);
    let cube = "-m origin2000-r12k-300-32p";
    check(cube, "0 -> 99: 0 1\n", &["my.txt:1: 0 -> 99: 0 1", "no router 99", "of origin2000-r12k-300-32p, 0 to 7"]);
    check(cube, "0 -> 1: 0\n0 -> 3: 0\n", &["my.txt:2: 0 -> 3: 0", "no link from router 0 to router 3"]);
    check(cube, "0 -> 7: 0 1 3\n", &["my.txt", "no route from router 0 to router 3", "other pairs"]);
    check("-m nothing", "0 -> 1: 0\n", &["-m nothing"]);
    // A table of routers may have arrows in comments; a file without any route is none that cannot deadlock.
    check("-m arctic", "# N0 -> N1\nx\n", &["my.txt:2: x: there is no such router"]);
    check("", "# 0 -> 1: 0\n", &["no routing table to check"]);
}

#[test]
fn a_topology_is_listed_and_drawn() {
    let rows = records(&printed("topology -m arctic --json"));
    let count = |part: &str| rows.iter().filter(|row| row["part"] == part).count();
    assert_eq!((count("node"), count("router")), (32, 16));
    let routes = printed("topology -m bitmap --routes --csv");
    assert_eq!(routes.lines().filter(|line| line.contains(",route,")).count(), 64);
    let of_both = records(&printed("topology -m flash-17p --routes --json"));
    for network in ["request", "reply"] {
        let routes = of_both.iter().filter(|row| row["part"] == "route" && row["class"] == network).count();
        assert_eq!(routes, 17 * 17, "{network}");
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(ccnuma_in(directory.path(), "topology -m stinger --svg s.svg").status.code(), Some(0));
    let svg = std::fs::read_to_string(directory.path().join("s.svg")).expect("written");
    assert!(svg.trim_start().starts_with("<svg") || svg.contains("<svg"), "no SVG");
}

#[test]
fn diagrams_are_drawn() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(ccnuma_in(directory.path(), "reproduce prestor/figure-4.6 --svg plots").status.code(), Some(0));
    let svg = std::fs::read_to_string(directory.path().join("plots/prestor-figure-4.6-curves.svg")).expect("written");
    assert!(svg.contains("back-to-back"), "no curve");
    // An empty directory does not go without a word.
    let output = ccnuma_in(directory.path(), "reproduce flash/A.1 --svg none");
    assert_eq!(output.status.code(), Some(0));
    let note = said(&output.stderr);
    assert!(note.contains("--svg none: none of the measurements has a plot"), "{note}");
}

#[test]
fn machines_are_listed_and_shown() {
    let rows = records(&printed("machines --json"));
    let names: Vec<_> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names[..8], ["bitmap", "bootleg", "lego-oil", "arctic", "bwana", "stinger", "dresden", "dsm-cluster"]);
    assert!(names[8..].contains(&"xeon-8180-2s") && names[8..].contains(&"epyc-7702-2s"), "{names:?}");
    let shown: toml::Table = printed("machines show arctic").parse().expect("TOML");
    assert_eq!(shown["topology"]["processors"].as_integer(), Some(64));
}

#[test]
fn a_protocol_is_explored() {
    let text = printed("verify origin --caches 2 --json");
    let fields = "protocol caches lines states depth result seconds";
    let fields: Vec<&str> = fields.split(' ').collect();
    assert_eq!(names(&text)[..fields.len()], fields);
    let row = &records(&text)[0];
    assert_eq!((&row["result"], &row["caches"]), (&Value::from("ok"), &Value::from(2)));
    assert!(row["states"].as_u64().is_some_and(|states| states > 1000));
}

#[test]
fn one_protocol_is_explored_litmus_tested_and_tested_at_random_in_one_table() {
    let rows = records(&printed("verify moesi --all --json"));
    let protocols: Vec<_> = rows.iter().filter_map(|row| row["protocol"].as_str()).collect();
    let litmus =
        ["message-passing", "store-buffering", "independent-reads", "message-passing/x86", "store-buffering/x86"];
    let tests = litmus.into_iter().chain(["message-passing/arm", "store-buffering/arm", "random"]);
    let tests: Vec<String> = tests.map(|test| format!("moesi: {test}")).collect();
    assert_eq!(protocols[..3], ["moesi"; 3]);
    assert_eq!(protocols[3..], tests);
    assert!(rows.iter().all(|row| row["result"] == "ok"));
}

#[test]
fn a_machine_is_tested_at_random() {
    let test = "verify --random hybrid/RAC --nodes 8 --lines 256 --references 300 --seeds 4";
    let rows = records(&printed(&format!("{test} --json")));
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let shown = ["protocol", "caches", "lines", "result"].map(|name| row[name].clone());
    assert_eq!(shown, [Value::from("hybrid/RAC: random"), Value::from(8), Value::from(256), Value::from("ok")]);
    // Every processor's accesses but the prefetches.
    assert!(row["states"].as_u64().is_some_and(|compared| compared > 4 * 8 * 200), "{row:?}");
    let statistics = printed(&format!("{test} --stats"));
    assert!(statistics.contains("4 seeds") && statistics.contains("reclamations"), "{statistics}");
}

/// A protocol that promises less than sequential consistency is not broken by a litmus test that shows it.
#[test]
fn a_relaxed_order_is_shown_and_is_no_failure() {
    let text = printed("verify bit-vector/IR --litmus message-passing");
    assert!(text.contains("counterexample") && text.contains("sequential consistency is broken"), "{text}");
}

#[test]
fn every_subcommand_explains_itself_with_an_example() {
    for subcommand in ["machines", "topology", "bench", "sim", "verify", "reproduce"] {
        let help = printed(&format!("{subcommand} --help"));
        assert!(help.contains("Examples:") && help.contains(&format!("ccnuma {subcommand}")), "{help}");
    }
    assert!(printed("--help").contains("Exit codes"));
    assert!(printed("--version").starts_with("ccnuma "));
}
