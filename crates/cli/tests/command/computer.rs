//! `ccnuma topology` of this computer, whatever it is: as a table, as records, as a drawing.

use crate::common::{ccnuma_in, printed};
use serde_json::Value;

#[test]
fn this_computer_is_shown_without_a_flag() {
    let text = printed("topology");
    assert!(text.starts_with("host: "), "{text}");
    for title in ["\nNodes\n", "\nCores\n", "\nPages\n", "\nLimits of this process\n"] {
        assert!(text.contains(title), "no {title:?} in {text}");
    }
    assert_eq!(printed("topology -m host").lines().next(), text.lines().next());
}

#[test]
fn records_tell_the_same_as_the_kernel() {
    let rows: Vec<Value> =
        printed("topology --json").lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let of = |part: &'static str| rows.iter().filter(move |row| row["part"] == part);
    assert!(rows.iter().all(|row| row["machine"] == "host"));
    let mut cpus: Vec<u64> =
        of("node").flat_map(|row| row["cpus"].as_array().expect("a list")).filter_map(Value::as_u64).collect();
    cpus.sort_unstable();
    let online = std::thread::available_parallelism().expect("a number").get();
    assert!(cpus.len() >= online, "{} CPUs on nodes, {online} may be used", cpus.len());
    let nodes = of("node").count();
    assert_eq!(of("distance").count(), nodes * nodes);
    assert!(of("distance").filter(|row| row["at"] == row["to"]).all(|row| row["distance"] == 10));
    let csv = printed("topology --csv");
    assert_eq!(csv.lines().count(), rows.len() + 1);
    assert!(csv.starts_with("machine,part,id,at,cpus,to,class,"), "{csv}");
}

#[test]
fn a_drawing_goes_to_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = ccnuma_in(folder.path(), "topology --svg host.svg");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let svg = std::fs::read_to_string(folder.path().join("host.svg")).expect("the drawing");
    assert!(svg.starts_with("<svg ") && svg.contains("</svg>\n") && svg.contains(">node"), "{svg}");
}
