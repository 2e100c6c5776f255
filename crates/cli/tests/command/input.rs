//! Numbers, names, files and arguments that users hand in, of any command: used, or refused in one line that says what is
//! accepted.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::common::{ccnuma, ccnuma_in, printed, refused, said};

#[test]
fn nodes_that_a_machine_does_not_have_are_refused_by_every_command() {
    let parts = ["os.fixed_node = 99", "the machine has nodes 0 to 31", "accepted: a whole number from 0 to 31"];
    for line in [
        "sim -m arctic --placement fixed=99 fft",
        "sim -m arctic --vary placement=planned,fixed=99 fft",
        "sim -m arctic --vary os.fixed_node=99 fft",
        "diagnose -m arctic --placement fixed=99 fft",
        "report -m arctic --placement fixed=99 fft -o /nonexistent/page.html",
        "run -m arctic+placement=fixed=99 -o /nonexistent/trace -- fft",
        "run -m arctic -o /nonexistent/trace -- fft --placement fixed=99",
        "bench -m arctic+placement=fixed=99 lmbench-read",
        "machines show arctic+placement=fixed=99",
        "topology -m arctic+placement=fixed=99",
    ] {
        refused(line, &parts);
    }
    refused("sim -m flash-1p --placement fixed=1 fft", &["node 0 alone", "accepted: 0"]);
}

#[test]
fn processors_that_a_machine_does_not_have_are_refused_by_every_command() {
    for line in [
        "sim -m arctic --cpus 65 fft",
        "diagnose -m arctic --cpus 65 fft",
        "report -m arctic --cpus 65 fft -o /nonexistent/page.html",
        "run -m arctic -o /nonexistent/trace -- fft --cpus 65",
    ] {
        refused(line, &["--cpus 65", "must be 1-64 on arctic"]);
    }
    refused("sim -m arctic --cpus 0 fft", &["--cpus 0", "must be 1-64 on arctic"]);
}

#[test]
fn machines_that_cannot_run_are_refused_at_load() {
    refused(
        "sim -m arctic+router.buffer_bytes=16 fft",
        &["router.buffer_bytes = 16", "a line of 128 B", "from 256 to"],
    );
    refused("sim -m arctic+link.micropacket_bytes=256 fft", &["router.buffer_bytes", "machines/origin2000.toml:"]);
    refused("sim -m arctic+l2.ways=3 fft", &["l2.ways = 3", "cannot be divided", "accepted: "]);
    refused("bench -m smp-4p+migration lmbench-read", &["os.migration = true", "a machine on one bus"]);
}

/// A change of a machine stands in no file.
#[test]
fn no_file_is_cited_that_does_not_exist() {
    for (machine, parts) in [
        ("arctic+nosuch.key=1", &["error: -m arctic+nosuch.key=1: nosuch.key = 1: unknown key"][..]),
        ("arctic+l2.ways=none", &["error: -m arctic+l2.ways=none: l2.ways = \"none\": "][..]),
        ("origin2000-r12k-300-63p", &["error: -m origin2000-r12k-300-63p: topology.processors = 63: "][..]),
        ("flash-65p", &["error: -m flash-65p: topology.processors = 65: "][..]),
    ] {
        refused(&format!("sim -m {machine} fft"), parts);
    }
}

#[test]
fn files_that_are_none_are_refused_without_waiting() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let folder = folder.path().join("folder.toml");
    fs::create_dir(&folder).expect("a folder");
    let kinds = [
        ("/dev/zero", "a device"),
        (pipe.to_str().expect("UTF-8"), "a pipe"),
        (folder.to_str().expect("UTF-8"), "a directory"),
    ];
    for (path, what) in kinds {
        let problem = format!("it is {what}, not a regular file");
        for line in [
            format!("bench -m {path} lmbench-read"),
            format!("sim -m {path} fft"),
            format!("fit {path}"),
            format!("topology -m arctic --check-deadlock {path}"),
            format!("sar --metrics {path} --list"),
            format!("report {path} -o /nonexistent/page.html"),
            format!("info {path}"),
        ] {
            refused(&line, &[path, &problem]);
        }
    }
    // Programs of the user's and traces of references; a folder may be a trace.
    for (path, what) in [kinds[0], kinds[1]] {
        refused(&format!("sim -m arctic {path}"), &[path, &format!("it is {what}")]);
        refused(&format!("sim -m arctic -- {path}"), &[path, &format!("it is {what}")]);
    }
}

#[test]
fn numbers_are_refused_with_the_form_that_is_accepted() {
    // A negative number is a value, not a flag.
    refused("sim -m arctic --cpus -1 fft", &["--cpus", "-1", "accepted: a number from 1, or FIRST..LAST"]);
    refused("bench -m arctic --iterations -1 lmbench-read", &["--iterations -1", "accepted: a whole number from 0 to"]);
    refused("sim -m arctic fft --points -5", &["--points -5", "accepted: a whole number such as 1000000"]);
    refused("sim -m arctic fft --points 1e18", &["--points 1e18", "accepted: a whole number such as 1000000"]);
    refused("sim -m arctic fft --points 99999999999999999999", &["too large", "18446744073709551615"]);
    refused("bench -m arctic --bound wide restart-read", &["--bound wide", "accepted: a number such as 2.5"]);
    refused("bench --rtprio", &["--rtprio"]);
    refused("sar --rtprio=200 1", &["--rtprio", "200", "accepted: a whole number from 1 to 99"]);
    // As it was typed, however large.
    refused(
        "fit -m dresden --largest 99999999999999",
        &["99999999999999", "accepted: a whole number of MiB from 1 to"],
    );
    refused("bench -m arctic --array 99999999999999999 area-read", &["99999999999999999", "of KiB from 1 to"]);
    refused("sim -m arctic --stack 0 -- ./none", &["--stack", "accepted: a whole number of KiB from 1 to"]);
    for line in ["bench -m arctic --lines 99999999999 lmbench-read", "bench --lines 99999999999 lmbench-read"] {
        refused(line, &["99999999999"]);
    }
    refused("sim -m arctic fft -x", &["'-x'"]);
    let tip = said(&ccnuma("sim -m arctic fft -x").stderr);
    assert!(!tip.contains("-- -x"), "what follows `--` is a program: {tip}");
}

#[test]
fn another_number_is_not_what_was_meant() {
    let output = ccnuma("sim -m flash-4p+cv=0 fft");
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("cv=0") && errors.contains("N from 1 to 4096") && !errors.contains("did you mean"),
        "{errors}"
    );
    refused("sim -m flash-4p+hybird fft", &["did you mean hybrid?"]);
}

#[test]
fn a_program_that_does_not_exist_is_said_not_to() {
    refused("run -- no-such-program-anywhere", &["PROGRAM no-such-program-anywhere", "not found in PATH"]);
    refused("run -- ./no-such-program", &["./no-such-program", "No such file"]);
    refused("diagnose -- no-such-program-anywhere", &["not found in PATH"]);
    refused("run -- /etc/passwd", &["/etc/passwd", "not an executable file"]);
}

/// Arguments of programs are bytes, to which only the program gives a meaning.
#[test]
fn arguments_of_a_program_need_not_be_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_ccnuma"))
        .args(["run", "--", "sh", "-c", "printf %s \"$1\" > argument", "sh"])
        .arg(OsStr::from_bytes(b"a\xffb"))
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(fs::read(folder.path().join("argument")).expect("written"), b"a\xffb");
}

#[test]
fn what_can_be_reproduced_is_listed_and_not_begun() {
    let all = printed("reproduce");
    assert!(["prestor/4.6", "seidl/1", "flash/figure-5.8", "flash/study-ideal"].iter().all(|name| all.contains(name)));
    assert_eq!(printed("reproduce --list"), all);
    // As the word of a shell's variable that is not set.
    let empty = Command::new(env!("CARGO_BIN_EXE_ccnuma")).args(["reproduce", ""]).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&empty.stdout), all);
    let of_paper = printed("reproduce seidl --list");
    assert!(of_paper.contains("seidl/2") && !of_paper.contains("prestor"), "{of_paper}");
    let records = printed("reproduce --list --json");
    assert_eq!(records.lines().count(), records.matches("\"name\":\"").count());
    assert!(records.contains("\"name\":\"prestor/4.6\""), "{records}");
    refused("reproduce --all prestor", &["--all"]);
    refused("reproduce prester --list", &["prester", "prestor/4.6"]);
}

/// A reason for which measurements are impossible is told once, however many measurements they are.
#[test]
fn a_pool_without_pages_is_told_in_few_lines() {
    let line = "bench --suite hierarchy --quick --pages 16G --iterations 1 --array 64";
    let output = ccnuma_in(Path::new("."), line);
    let errors = said(&output.stderr);
    if output.status.code() == Some(0) {
        eprintln!("SKIPPED: this computer has a pool of pages of 16 GiB");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.lines().count() <= 4 && errors.contains("16G"), "{errors}");
}

/// A path is any bytes; a name is text, and the error for one that is none shows it.
#[test]
fn arguments_that_are_not_utf8_are_named() {
    let odd = OsStr::from_bytes(b"x\xff");
    for (before, named) in [(&["fit"][..], "cannot be read"), (&["sim", "fft", "-m"], "not UTF-8; accepted: ")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ccnuma"));
        let output = command.args(before).arg(odd).output().expect("a command");
        let errors = said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{before:?}: {errors}");
        assert!(errors.contains(named) && errors.starts_with("error: "), "{before:?}: {errors}");
    }
}
