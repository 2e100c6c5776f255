//! Bad input: exit code 2, one clear line that names the flag, the value and what is accepted, and no work done.

use crate::common::{ccnuma_in, refused, said};

#[test]
fn an_unknown_machine_is_answered_with_the_nearest() {
    refused("bench -m artic --suite local", &["artic", "arctic", "origin2000-r12k-300-Np"]);
    refused("topology -m artic", &["artic", "arctic"]);
    refused("machines show artic", &["artic", "arctic"]);
    refused("machines show arctic+l2.way=2", &["arctic+l2.way=2", "l2.way = 2", "l2.ways"]);
    refused("topology -m artic+hybrid", &["artic", "arctic"]);
    refused("bench -m origin2000-r12k-300-63p lmbench-read", &["63"]);
    refused("bench -m nowhere.toml lmbench-read", &["nowhere.toml", "cannot be read"]);
}

#[test]
fn settings_of_firmware_are_refused_by_the_words_for_them() {
    let epyc = ["snoop = early", "at most 2 core clusters", "accepted: snoop=home"];
    refused("bench -m epyc-7702-2s+snoop=early", &epyc);
    refused(
        "sim fft -m epyc-7702-2s --vary snc=1,2",
        &["snc = 1", "always has 16 core clusters", "nps=1, nps=2, nps=4"],
    );
    refused("bench -m xeon-8180-2s+prefetch=maybe", &["prefetch = maybe", "accepted: prefetch=on, prefetch=off"]);
    refused("topology -m arctic+cod", &["cod: arctic is not a server", "xeon-e5-2699v3-2s"]);
}

#[test]
fn this_computer_shows_no_routing_table() {
    refused("topology --routes", &["-m host", "arctic"]);
    refused("topology --check-deadlock", &["-m host", "arctic"]);
}

#[test]
fn impossible_placements_name_the_flag_and_what_exists() {
    refused("bench -m arctic --local 99 lmbench-read", &["--local 99", "CPU 0..63"]);
    refused("bench -m arctic --remote 64 --state CEXM lmbench-read", &["--remote 64", "CPU 0..63"]);
    refused("bench -m arctic --home 32 lmbench-read", &["--home 32", "node 0..31"]);
    refused("bench -m arctic --state CEXM lmbench-read", &["--remote (none)", "CEXM"]);
    refused("bench -m arctic --local 3 --remote 3 --state DEXD lmbench-read", &["--remote 3"]);
    refused("bench -m arctic --local 3 --local 3 bwmp-read", &["--local 3", "twice"]);
    refused("bench -m arctic --local x lmbench-read", &["--local", "x"]);
}

#[test]
fn what_means_nothing_is_refused() {
    refused("bench -m arctic --state DEXT --remote 1 lmbench-read", &["--state DEXT", "lmbench-read", "DEXD"]);
    refused("bench -m arctic --state UOWN lmbench-upgrd", &["--state UOWN", "SHRD"]);
    refused("bench -m arctic --state OWND lmbench-read", &["--state OWND", "UOWN SHRD"]);
    refused("bench -m arctic lmbench-write", &["lmbench-write", "lmbench-read"]);
    refused(
        "bench -m arctic --suite locals",
        &["--suite locals", "local remote interventions invalidations random-sharers hierarchy"],
    );
    refused("bench -m arctic --suite local lmbench-read", &["--suite"]);
    refused("bench -m arctic --suite local --home 1", &["--suite", "--home"]);
    refused("bench -m arctic --local 3", &["--local 3", "EXPERIMENT", "lmbench-read"]);
    refused("", &["subcommand", "--help"]);
}

#[test]
fn flags_of_own_programs_are_refused_for_built_in_ones() {
    for flag in ["--no-caches", "--host-time", "--stack 8", "--spin-limit 3", "--instructions 7"] {
        let (name, _) = flag.split_once(' ').unwrap_or((flag, ""));
        let parts = [format!("{name}: applies to your own program after --")];
        refused(&format!("sim -m smp-4p private --rounds 1 {flag}"), &parts.each_ref().map(String::as_str));
    }
}

/// Neither a program nor a recording: both are named, and the form of a program of the user's.
#[test]
fn programs_and_recordings_that_are_not_there_are_refused() {
    refused(
        "sim -m smp-4p gone",
        &["gone: unknown program, and no trace", "fft", "--record", "drmemtrace", "after --"],
    );
    refused("sim -m smp-4p ./gone.references", &["./gone.references: unknown program, and no trace"]);
}

#[test]
fn numbers_out_of_range_are_refused() {
    refused("bench -m arctic --iterations 0 lmbench-read", &["--iterations 0", "1 or more"]);
    refused("bench -m arctic --iterations 0 --suite local", &["--iterations 0"]);
    refused("reproduce prestor/4.6 --iterations 0", &["--iterations 0"]);
    refused("bench -m arctic --lines 0 lmbench-read", &["--lines 0"]);
    refused("bench -m arctic --lines 99999999 lmbench-rdex", &["--lines 99999999"]);
    refused("bench -m arctic --iterations -1 lmbench-read", &["-1"]);
    refused("bench -m arctic --window 0 restart-read", &["--window 0"]);
    refused("bench -m arctic --max-work 3 restart-read", &["--max-work 3"]);
    refused("bench -m arctic --bound 0 restart-read", &["--bound 0"]);
    refused("bench -m arctic --stride 12 p3-ru", &["--stride 12"]);
    refused("bench -m arctic --suite local --nodes-per-distance 0", &["--nodes-per-distance 0"]);
    refused("verify origin --caches 0", &["--caches 0", "1 to"]);
    refused("verify sci --lines 2", &["--lines 2", "1 to 1"]);
    refused("verify origin --lines 70000", &["--lines", "1 to"]);
    refused("verify --random hybrid --nodes 65", &["--nodes 65", "1 to 64"]);
    refused("verify --random --seeds 0", &["--seeds 0", "1 to"]);
    refused("verify hybrid --seeds 3", &["--random"]);
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    refused("verify orign", &["orign", "origin"]);
    refused("verify sci --mutation skip-wait", &["--mutation skip-wait", "no-tail-priority"]);
    refused("verify", &["PROTOCOL"]);
    refused("verify --transitions", &["PROTOCOL"]);
    refused("verify orign --transitions", &["orign", "origin"]);
    for flag in ["--caches 2", "--seeds 3", "--nodes 4", "--json", "--columns message", "--force"] {
        let name = flag.split(' ').next().unwrap_or_default();
        refused(&format!("verify origin --transitions {flag}"), &["--transitions", name]);
    }
    refused("verify hybrid --litmus dekker", &["--litmus dekker", "message-passing", "independent-reads"]);
    refused("verify --all --mutation skip-wait", &["PROTOCOL"]);
    refused("verify --random moesi-cluster", &["moesi-cluster", "dynamic-pointer", "origin", "sci"]);
    refused("verify --random hybird", &["hybird", "did you mean hybrid"]);
    refused("verify --random hybrid --mutation skip-wait", &["--mutation skip-wait", "kept-copy"]);
    refused("reproduce prestor/9.9", &["prestor/9.9", "prestor/4.6"]);
    refused("reproduce prester", &["prester", "prestor/4.6"]);
    refused("bensh", &["bensh", "bench"]);
    refused("bench --frobnicate", &["--frobnicate"]);
}

#[test]
fn output_that_cannot_be_written_is_found_before_any_work() {
    refused(
        "bench -m arctic lmbench-read --json=/nonexistent/x.json",
        &["--json /nonexistent/x.json", "cannot be written"],
    );
    refused("reproduce prestor --csv=/nonexistent/x.csv", &["--csv /nonexistent/x.csv"]);
    refused("verify origin --json=/nonexistent/x", &["--json /nonexistent/x"]);
    refused("topology -m arctic --svg /nonexistent/x.svg", &["--svg /nonexistent/x.svg"]);
    refused("reproduce flash/A.1 --svg /dev/null/plots", &["--svg /dev/null/plots"]);
    refused("bench -m arctic lmbench-read --json --csv", &["--csv", "--json"]);
}

#[test]
fn a_refused_run_leaves_an_earlier_result_alone() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("result.json");
    std::fs::write(&file, "earlier\n").expect("writable");
    let output = ccnuma_in(directory.path(), "bench -m arctic --local 99 lmbench-read --json=result.json");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), "earlier\n");
}

#[test]
fn a_wrong_machine_file_is_quoted_with_its_line() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("mine.toml");
    std::fs::write(&file, "inherit = \"arctic\"\n\n[processor]\nclock = 300\n").expect("writable");
    let output = ccnuma_in(directory.path(), "bench -m mine.toml lmbench-read");
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("mine.toml:4") && errors.contains("clock_mhz"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}
