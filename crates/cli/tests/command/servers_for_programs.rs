//! Programs on simulated servers: the bandwidth that a loop like STREAM's reaches, and what `ccnuma advise` says of one whose data are
//! all on one node, and of one whose data are where they are used.

use std::fs;
use std::path::Path;

use crate::common::programs::{Built, CCNUMA, compilers, printed, run};
use crate::common::{self, ccnuma, ccnuma_in, refused, said};
use serde_json::Value;

/// Two sockets of four cores with so little cache that a small program needs memory.
const SMALL: &str = r#"
title = "2x 4 cores"
inherit = "skylake-sp"
[topology]
processors = 8
processors_per_node = 4
[processor]
clock_mhz = 2300
[l1]
size_kib = 16
[l2]
bus_clock_mhz = 2300
size_mib = 0.03125
[server]
layout = ["U C C", "M C C", "M . ."]
[l3_slice]
size_kib = 88
filter_sets = 256
[banks]
channels = 1
[tlb]
large_page_kib = 0
"#;

/// The records of a run of the command.
fn advised(folder: &Path, line: &str) -> Vec<Value> {
    let output = ccnuma_in(folder, line);
    let text = printed(&output);
    let errors = said(&output.stderr);
    assert!(!errors.contains("warning: "), "{errors}");
    text.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The setting that comes first, with its kind, gain and command.
fn best(rows: &[Value]) -> (&str, &str, f64, &str) {
    let text = |key: &str| rows[0][key].as_str().unwrap_or_default();
    (text("kind"), text("setting"), rows[0]["gain_pct"].as_f64().expect("a gain"), text("means"))
}

/// The rate of `triad.c` by its three clocks, in MB/s.
fn rates(built: &Built, threads: &str, placement: &str) -> Vec<f64> {
    let options = format!("-m small.toml --cpus {threads}");
    let (line, _) = built.simulated(&options, threads, &["100000", "2", placement]);
    line.split_whitespace().skip(1).map(|rate| rate.parse().expect("a rate")).collect()
}

/// The traffic of processors that run STREAM's triad, in MB/s as STREAM counts.
fn traffic(folder: &Path, placement: &str) -> f64 {
    let rows =
        advised(folder, &format!("bench -m small.toml --array 2400 --iterations 1 {placement} loaded-triad --json"));
    let traffic = rows.iter().find(|row| row["experiment"] == "triad-traffic").expect("a record");
    traffic["median"].as_f64().expect("a figure")
}

/// Asserts that a figure is within so many percent of what is expected.
#[track_caller]
fn near(found: f64, expected: f64, percent: f64, what: &str) {
    let error = 100.0 * (found / expected - 1.0);
    assert!(error.abs() <= percent, "{what}: {found:.0} against {expected:.0} MB/s ({error:+.1} %)");
}

/// The bandwidth of the program is that of the machine's memory for that mix of reads and writes, as `bench` measures it: with
/// pages where they are used, with all of them on one node, and for one processor. Time calls tell simulated time.
#[test]
fn a_loop_like_streams_reaches_the_bandwidth_of_its_mix() {
    let Some(compiler) = compilers().next() else { return };
    let built = Built::by(compiler, "triad.c", &["-O2", "-fopenmp"]);
    let folder = built.folder.path();
    fs::write(folder.join("small.toml"), SMALL).expect("written");
    let all: String = (0..8).map(|cpu| format!("--local {cpu} ")).collect();
    let own = "--local 0 --local 1 --local 2 --local 3 --remote 4 --remote 5 --remote 6 --remote 7";
    let parallel = rates(&built, "8", "parallel");
    near(parallel[1], parallel[0], 2.0, "gettimeofday");
    near(parallel[2], parallel[0], 2.0, "omp_get_wtime");
    near(parallel[0], traffic(folder, own), 15.0, "first touch by eight threads");
    near(rates(&built, "8", "serial")[0], traffic(folder, &all), 15.0, "first touch by one of eight threads");
    // Of these two the first measures, so that one makes the traffic.
    near(rates(&built, "1", "parallel")[0], traffic(folder, "--local 0 --local 1"), 15.0, "one thread");
}

/// A program finds the hardware threads of cores, runs on all of them, and gets places of whole cores.
#[test]
fn programs_run_on_all_hardware_threads() {
    const SOURCE: &str = r#"
#include <omp.h>
#include <stdio.h>
int main(void) {
    int members = 0, siblings[2] = {-1, -1};
#pragma omp parallel reduction(+ : members)
    members++;
    omp_get_place_proc_ids(1, siblings);
    printf("%d %d %d %d %d\n", omp_get_num_procs(), members, omp_get_num_places(), siblings[0], siblings[1]);
    return 0;
}
"#;
    if compilers().next().is_none() {
        return;
    }
    let built = Built::from_text("cc", "places.c", SOURCE, &["-O2", "-fopenmp"]);
    fs::write(built.folder.path().join("small.toml"), SMALL).expect("written");
    let output = built.tried("-m small.toml+smt=2", &[], &[("OMP_PLACES", "cores")]);
    assert_eq!(printed(&output).lines().next(), Some("16 16 8 1 9"));
    let output = built.tried("-m small.toml", &[], &[("OMP_PLACES", "threads")]);
    assert_eq!(printed(&output).lines().next(), Some("8 8 8 1 -1"));
}

/// STREAM itself (McCalpin), whose source the variable names: with and without first touch, each of its results is right.
#[test]
fn stream_itself_runs_if_its_source_is_there() {
    const SOURCE: &str = "CCNUMA_TEST_STREAM";
    let Some(source) = std::env::var_os(SOURCE) else {
        return eprintln!("SKIPPED: {SOURCE} names no file with the source of STREAM, stream.c");
    };
    let source = fs::read_to_string(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let flags = ["-O2", "-fopenmp", "-DSTREAM_ARRAY_SIZE=100000", "-DNTIMES=2"];
    let built = Built::from_text("cc", "stream.c", &source, &flags);
    let folder = built.folder.path();
    fs::write(folder.join("small.toml"), SMALL).expect("written");
    let output = built.tried("-m small.toml", &[], &[("OMP_NUM_THREADS", "8")]);
    let text = printed(&output);
    assert!(text.contains("Solution Validates"), "{text}");
    let triad = text.lines().find_map(|line| line.strip_prefix("Triad:")).expect("a figure");
    let rate: f64 = triad.split_whitespace().next().and_then(|rate| rate.parse().ok()).expect("a rate");
    let own = "--local 0 --local 1 --local 2 --local 3 --remote 4 --remote 5 --remote 6 --remote 7";
    near(rate, traffic(folder, own), 15.0, "STREAM's triad");
}

#[test]
fn a_program_that_initialises_its_data_in_one_thread_is_told_to_interleave() {
    let Some(compiler) = compilers().next() else { return };
    let built = Built::by(compiler, "triad.c", &["-O2", "-fopenmp"]);
    let folder = built.folder.path();
    fs::write(folder.join("small.toml"), SMALL).expect("written");
    let advise = |words: &[&str]| {
        let words = [&[CCNUMA, "advise", "-m", "small.toml"], words].concat();
        printed(&run(folder, &words, &[]))
    };
    advise(&["--json=serial.jsonl", "--", "./program", "60000", "2", "serial"]);
    let rows: Vec<Value> = fs::read_to_string(folder.join("serial.jsonl"))
        .expect("records")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let (kind, setting, gain, command) = best(&rows);
    assert!(["placement", "together"].contains(&kind) && setting.starts_with("pages interleaved"), "{setting}");
    assert!(gain > 20.0 && command.ends_with("numactl --interleave=all ./program 60000 2 serial"), "{gain} {command}");
    let variant = rows[0]["variant"].as_str().expect("a variant");
    assert!(variant.starts_with("small.toml+placement=round-robin"), "{variant}");
    // The time that is advised is that of a simulation of that machine.
    let (_, record) = built.simulated(&format!("-m {variant}"), "8", &["60000", "2", "serial"]);
    assert_eq!(common::programs::figure(&record, "time_ns"), rows[0]["time_ns"].as_f64().expect("a time"));
    for tried in ["SNC on (SNC2)", "hardware prefetchers off", "all pages on node 0"] {
        assert!(rows.iter().any(|row| row["setting"] == tried), "no {tried} in {rows:#?}");
    }
    // The same data, where the threads that use them have touched them first.
    let only = ["--only", "placement,prefetchers", "--", "./program", "60000", "2", "parallel"];
    let text = advise(&only);
    assert!(text.contains("as it is") && text.contains("nothing gains"), "{text}");
    // Half of the processors leave the choice of a node, or of both.
    let threads = advise(&["--only", "threads", "--cpus", "4", "--", "./program", "60000", "2", "parallel"]);
    assert!(threads.contains("OMP_PROC_BIND=spread OMP_PLACES=cores ./program 60000 2 parallel"), "{threads}");
}

#[test]
fn programs_of_the_package_on_machines_of_the_last_century_are_advised_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = advised(folder.path(), "advise -m flash-8p ocean --intervals 32 --placement fixed=0 --json");
    let (kind, _, gain, _) = best(&rows);
    assert!(["placement", "together"].contains(&kind) && gain > 5.0, "{rows:#?}");
    assert!(rows.iter().any(|row| row["means"] == "_DSM_ROUND_ROBIN=TRUE ocean"), "{rows:#?}");
    assert!(rows.iter().any(|row| row["variant"] == "flash-8p+placement=fixed=0+migration"), "{rows:#?}");
    let ranks: Vec<_> = rows.iter().map(|row| row["rank"].as_u64()).collect();
    assert_eq!(ranks, (1..=rows.len() as u64).map(Some).collect::<Vec<_>>());
    // A bus has one memory, no modes and no prefetchers.
    let alone = ccnuma("advise -m smp-4p fft --points 256 --only placement,memory-mode");
    let told = printed(&alone);
    assert!(told.contains("nothing to try") && told.contains("1 run;"), "{told}");
}

#[test]
fn what_cannot_be_advised_is_refused() {
    refused("advise -m xeon-8180-2s fft --only colour", &["--only", "placement, memory-mode, prefetchers, threads"]);
    refused("advise fft", &["-m host", "accepted: -m MACHINE"]);
    refused("advise -m arctic -m bwana fft", &["accepted: one -m MACHINE"]);
    refused("sim -m xeon-8180-2s fft --vary colour=1", &["prefetch", "nps", "TABLE.KEY"]);
}
