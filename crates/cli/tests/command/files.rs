//! Files that commands write: what is there already, what is kept of it, and disks that are full.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{self, ccnuma, ccnuma_in};

const CCNUMA: &str = env!("CARGO_BIN_EXE_ccnuma");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn well(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output.stderr));
}

/// A shell's script, with the command in `$CCNUMA`.
fn shell(folder: &Path, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("CCNUMA", CCNUMA).current_dir(folder).stdin(Stdio::null());
    command.output().expect("a shell")
}

/// Every flag that names a file refuses one that ccnuma did not write, before any work, and leaves it as it is.
#[test]
fn what_ccnuma_did_not_write_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    well(&ccnuma_in(folder.path(), "run -m flash-4p -o t.arrows -- fft --points 256"));
    let bench = "bench -m bitmap lmbench-read --lines 64 --iterations 1";
    let sim = "sim -m flash-4p fft --points 256";
    let lines = [
        format!("{bench} --json=notes.txt"),
        format!("{bench} --csv=notes.txt"),
        "bench lmbench-read --json=notes.txt".to_owned(),
        format!("{sim} --json=notes.txt"),
        format!("{sim} --json=notes.txt --resume"),
        format!("{sim} --csv=notes.txt"),
        format!("{sim} --svg notes.txt"),
        format!("{sim} --record notes.txt"),
        "reproduce prestor/4.6 --json=notes.txt".to_owned(),
        "reproduce prestor/4.6 --json=notes.txt --resume".to_owned(),
        "fit -m bitmap --model remote --data-out notes.txt".to_owned(),
        "fit -m bitmap --machine-out notes.toml".to_owned(),
        "fit -m bitmap --model remote --json=notes.txt".to_owned(),
        "verify sci --json=notes.txt".to_owned(),
        "machines --csv=notes.txt".to_owned(),
        "topology -m bitmap --svg notes.txt".to_owned(),
        "topology -m bitmap --json=notes.txt".to_owned(),
        "diagnose -m flash-4p fft --points 256 --json=notes.txt".to_owned(),
        "report -m flash-4p fft --points 256 -o notes.txt".to_owned(),
        "report t.arrows -o notes.txt".to_owned(),
        "run -o notes.txt -- true".to_owned(),
        "run -m flash-4p -o notes.txt -- fft --points 256".to_owned(),
        "sar 10ms 1 -o notes.txt".to_owned(),
        "info t.arrows --json=notes.txt".to_owned(),
        "dump t.arrows --perfetto notes.txt".to_owned(),
        "dump t.arrows --parquet notes.txt".to_owned(),
    ];
    let notes = "machine experiment: dear diary,\n{not JSON}\n";
    for name in ["notes.txt", "notes.toml"] {
        fs::write(folder.path().join(name), notes).expect("written");
    }
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").map(|e| e.expect("one").file_name()).collect();
    names.sort();
    for line in lines {
        let output = ccnuma_in(folder.path(), &line);
        let errors = common::said(&output.stderr);
        assert_eq!((output.status.code(), errors.lines().count()), (Some(2), 1), "ccnuma {line}: {errors}");
        assert!(errors.contains(" notes.t"), "ccnuma {line}: {errors}");
        assert!(errors.contains("--force") || errors.contains("is not a record"), "ccnuma {line}: {errors}");
        for name in ["notes.txt", "notes.toml"] {
            assert_eq!(fs::read_to_string(folder.path().join(name)).expect("there"), notes, "ccnuma {line}");
        }
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).expect("a folder").map(|e| e.expect("one").file_name()).collect();
        left.sort();
        assert_eq!(left, names, "ccnuma {line}");
    }
    well(&ccnuma_in(folder.path(), "topology -m bitmap --svg notes.txt --force"));
    assert!(fs::read_to_string(folder.path().join("notes.txt")).expect("there").contains("<svg"));
}

/// Two results in one file would be one: the other is written over.
#[test]
fn a_file_is_not_given_to_two_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let sim = "sim -m smp-4p private --rounds 1";
    for (line, flags) in [
        (format!("{sim} --json=x.out --csv=./x.out"), "--json and --csv"),
        (format!("{sim} --svg x.out --record x.out"), "--svg and --record"),
        ("bench -m bitmap lmbench-read --json=x.out --csv=x.out".to_owned(), "--json and --csv"),
        ("fit -m bitmap --data-out x.out --machine-out x.out".to_owned(), "--data-out and --machine-out"),
    ] {
        let output = ccnuma_in(folder.path(), &line);
        let errors = common::said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {errors}");
        assert!(
            errors.contains(&format!("x.out: given to both {flags}; accepted: a file for each")),
            "{line}: {errors}"
        );
        assert!(fs::read_dir(folder.path()).expect("a folder").next().is_none(), "{line}");
    }
    well(&ccnuma_in(folder.path(), &format!("{sim} --json=/dev/null --csv=/dev/null")));
}

/// What was measured is not written over by what follows from it.
#[test]
fn records_that_are_read_are_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    well(&ccnuma_in(folder.path(), "bench -m bitmap lmbench-read --lines 64 --json=x.jsonl"));
    let measured = fs::read_to_string(folder.path().join("x.jsonl")).expect("records");
    well(&ccnuma_in(folder.path(), "sim -m smp-2p uniform --references 100 --record x.references"));
    fs::write(folder.path().join("x.toml"), "inherit = \"smp-2p\"\n").expect("written");
    for (line, file, flag) in [
        ("bench -m bitmap --against x.jsonl --json=./x.jsonl --force", "x.jsonl", "--against"),
        ("fit x.jsonl --model remote --json=x.jsonl --force", "x.jsonl", "DATA"),
        ("sim -m smp-2p x.references --json=x.references --force", "x.references", "PROGRAM"),
        ("sim -m x.toml uniform --json=x.toml --force", "x.toml", "--machine"),
        ("sweep x.toml --json=x.toml --force", "x.toml", "FILE"),
        ("sim -m flash-4p --json=x.toml --force -- x.toml", "x.toml", "the program"),
    ] {
        let output = ccnuma_in(folder.path(), line);
        let errors = common::said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {errors}");
        let problem = format!("{file}: read as {flag} and to be written by --json; accepted: another file");
        assert!(errors.contains(&problem), "{line}: {errors}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("x.jsonl")).expect("records"), measured);
    // The repetition has its samples from the records.
    let output = ccnuma_in(folder.path(), "bench -m bitmap --against x.jsonl --iterations 3");
    assert_eq!(output.status.code(), Some(2), "{}", common::said(&output.stderr));
}

/// What a recording holds is not in a record of its run: --resume replays it again. Programs alone have parameters and kinds of locks.
#[test]
fn a_recording_is_replayed_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "sim -m smp-2p x.references --json=runs.jsonl";
    let run = |line: &str| well(&ccnuma_in(folder.path(), line));
    let misses = || {
        let record = fs::read_to_string(folder.path().join("runs.jsonl")).expect("written");
        let row: serde_json::Value = record
            .lines()
            .map(|line| serde_json::from_str(line).expect("a record"))
            .find(|row: &serde_json::Value| row["record"] == "simulation")
            .expect("of the run");
        row["secondary_misses"].clone()
    };
    run("sim -m smp-2p uniform --references 100 --record x.references");
    run(line);
    let before = misses();
    run("sim -m smp-2p uniform --references 200 --record x.references --force");
    run(&format!("{line} --resume"));
    assert_ne!(misses(), before);
    for flag in ["--lines 3", "--locks at-memory"] {
        let output = ccnuma_in(folder.path(), &format!("sim -m smp-2p x.references {flag}"));
        let errors = common::said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(&flag[..7]) && errors.contains("replayed as it was recorded"), "{errors}");
    }
}

/// A suite of several processors has nothing to measure on one.
#[test]
fn a_suite_without_an_experiment_says_so() {
    let output = ccnuma_in(std::path::Path::new("."), "bench -m smp-1p --suite cores");
    well(&output);
    assert!(common::said(&output.stderr).contains("nothing to measure"), "{}", common::said(&output.stderr));
}

/// Results that only another run could give again are kept; files that follow from them are replaced.
#[test]
fn results_of_an_earlier_run_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let cases = [
        ("bench -m bitmap lmbench-read --lines 64 --iterations 1 --json=kept", true),
        ("bench -m bitmap lmbench-read --lines 64 --iterations 1 --csv=kept", true),
        ("run -m flash-4p -o kept -- fft --points 256", true),
        ("run -o kept -- true", true),
        ("sim -m flash-4p fft --points 256 --record kept", true),
        ("fit -m origin2000-r12k-300-4p --model remote --data-out kept", true),
        ("topology -m bitmap --svg kept", false),
        ("report -m flash-4p fft --points 256 --no-trials -o kept", false),
    ];
    for (line, kept) in cases {
        well(&ccnuma_in(folder.path(), line));
        let first = fs::read(at("kept")).expect("written");
        let again = ccnuma_in(folder.path(), line);
        well(&again);
        assert_eq!(fs::read(at("kept.old")).ok(), kept.then_some(first), "{line}");
        assert_eq!(common::said(&again.stderr).contains("kept.old"), kept, "{line}: {}", common::said(&again.stderr));
        let _absent = fs::remove_file(at("kept.old"));
        well(&ccnuma_in(
            folder.path(),
            &format!("{line} --force")
                .replace("-- true --force", "--force -- true")
                .replace("-- fft --points 256 --force", "--force -- fft --points 256"),
        ));
        assert!(!at("kept.old").exists(), "{line}");
        fs::remove_file(at("kept")).expect("there");
    }
}

/// The names of the files in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("one").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The mark of a file that is being written was put in the place of a file of that name, which went with it.
#[test]
fn a_file_that_is_named_as_a_mark_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let sim = "sim -m flash-4p fft --points 256";
    fs::write(at("a.unfinished"), "precious\n").expect("written");
    for _ in 0..2 {
        well(&ccnuma_in(folder.path(), &format!("{sim} --json=a")));
        assert_eq!(fs::read_to_string(at("a.unfinished")).expect("there"), "precious\n");
    }
    assert!(at("a.old").exists(), "the first run was whole: {:?}", names(folder.path()));
    well(&ccnuma_in(folder.path(), &format!("{sim} --json=b --csv=b.unfinished")));
    assert_eq!(fs::read_to_string(at("b.unfinished")).expect("there").lines().count(), 2);
}

/// Files of the first of several flags, or marks beside them, were there although the command was refused.
#[test]
fn a_refused_command_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    well(&ccnuma_in(folder.path(), "run -m flash-4p -o t.arrows --json=rows -- fft --points 256"));
    let before = names(folder.path());
    let (sim, run) = ("sim -m flash-4p fft --points 256", "run -m flash-4p -o t.arrows");
    for (line, part) in [
        (format!("{sim} --json=b --csv=none/x"), "--csv none/x: cannot be written: No such file"),
        (format!("{sim} --json=b --csv=rows/x"), "--csv rows/x: cannot be written: Not a directory"),
        (format!("{sim} --json=b --csv=."), "--csv .: cannot be written: is a directory"),
        (format!("{run} --json=rows -- nothing"), "nothing: unknown program"),
        (format!("{run} --json=b -- private --distance 9"), "--distance 9"),
        (format!("{run} --json=b -- ./nothing"), "./nothing"),
        ("run -m flash-4p --json=rows -o none/t -- fft --points 256".to_owned(), "--output none/t"),
        ("run --json=rows -o none/t -- true".to_owned(), "--output none/t"),
        ("sar 10ms 1 --json=rows -o none/t".to_owned(), "--output none/t"),
    ] {
        let output = ccnuma_in(folder.path(), &line);
        let errors = common::said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {errors}");
        assert!(errors.contains(part), "{line}: {errors}");
        assert_eq!(names(folder.path()), before, "{line}");
    }
}

/// A reader such as `head` that has enough of the table left the mark there, and a later run took all records for a part of them.
#[test]
fn records_are_complete_whoever_reads_the_table() {
    let folder = tempfile::tempdir().expect("a folder");
    for line in [
        "sim -m flash-4p fft --points 256 --csv=rows",
        "bench -m bitmap lmbench-read --lines 64 --iterations 1 --csv=rows",
        "reproduce prestor/4.6 --csv=rows",
        "topology -m bitmap --csv=rows",
        "machines --csv=rows",
        "run -m flash-4p -o t --csv=rows -- fft --points 256",
    ] {
        // Whoever reads is gone before the command begins.
        shell(folder.path(), &format!("mkfifo p; : < p & \"$CCNUMA\" {line} > p; rm p"));
        assert!(fs::read_to_string(folder.path().join("rows")).expect("written").lines().count() > 1, "{line}");
        assert!(!names(folder.path()).contains(&"rows.unfinished".to_owned()), "{line}");
        fs::remove_file(folder.path().join("rows")).expect("there");
    }
}

/// Two commands with one file wrote over each other's records, and both ended well.
#[test]
fn a_file_that_another_command_writes_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x");
    fs::write(&path, "theirs\n").expect("written");
    let file = fs::File::open(&path).expect("there");
    file.lock().expect("nobody else has it");
    let another = "is being written by another command; accepted: another file, or this one when that has ended";
    for (line, flag) in [
        ("sim -m flash-4p fft --points 256 --csv=x --force", "--csv"),
        ("sim -m flash-4p fft --points 256 --json=x --force", "--json"),
        ("run -m flash-4p -o x --force -- fft --points 256", "--output"),
        ("sim -m flash-4p fft --points 256 --record x --force", "--record"),
    ] {
        let output = ccnuma_in(folder.path(), line);
        let errors = common::said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {errors}");
        assert!(errors.contains(&format!("{flag} x: {another}")), "{line}: {errors}");
        assert_eq!(fs::read_to_string(&path).expect("there"), "theirs\n", "{line}");
        assert_eq!(names(folder.path()), ["x"], "{line}");
    }
    drop(file);
    well(&ccnuma_in(folder.path(), "sim -m flash-4p fft --points 256 --csv=x --force"));
}

/// The table was written over the records, or the file of standard output got another name.
#[test]
fn records_and_table_may_go_to_one_file_as_standard_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let sim = "\"$CCNUMA\" sim -m flash-4p fft --points 256";
    for to in [">", ">>", ">>"] {
        well(&shell(folder.path(), &format!("{sim} --json=/dev/stdout {to} out")));
        well(&shell(folder.path(), &format!("{sim} --json=out >> out")));
    }
    let out = fs::read_to_string(folder.path().join("out")).expect("written");
    assert_eq!(out.matches("\"record\":\"simulation\"").count(), 6, "{out}");
    assert_eq!(out.matches("time breakdown").count(), 6, "{out}");
    assert_eq!(names(folder.path()), ["out"]);
}

/// A new sweep does not take what an interrupted one has left for --resume.
#[test]
fn a_journal_that_was_not_resumed_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "sim -m flash-4p fft --points 256 --json=runs";
    well(&ccnuma_in(folder.path(), line));
    let runs = fs::read(folder.path().join("runs")).expect("written");
    fs::rename(folder.path().join("runs"), folder.path().join("runs.part")).expect("there");
    well(&ccnuma_in(folder.path(), line));
    assert_eq!(fs::read(folder.path().join("runs.part.old")).expect("kept"), runs);
}

#[test]
fn a_full_disk_loses_no_table_and_the_error_names_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = "bench -m bitmap lmbench-read --lines 64 --iterations 1";
    let sim = "sim -m flash-4p fft --points 256";
    for (line, flag, shown) in [
        (format!("{bench} --json=/dev/full"), "--json", "lmbench-read"),
        (format!("{bench} --csv=/dev/full"), "--csv", "lmbench-read"),
        ("bench lmbench-read --iterations 1 --lines 64 --json=/dev/full".to_owned(), "--json", "lmbench-read"),
        (format!("{sim} --json=/dev/full"), "--json", "time breakdown"),
        (format!("{sim} --svg /dev/full"), "--svg", "time breakdown"),
        ("verify sci --caches 2 --csv=/dev/full".to_owned(), "--csv", " ok "),
        ("reproduce prestor/4.6 --json=/dev/full".to_owned(), "--json", "Errors against the published"),
        ("fit -m origin2000-r12k-300-4p --model remote --json=/dev/full".to_owned(), "--json", "router"),
        ("topology -m bitmap --json=/dev/full".to_owned(), "--json", "router"),
    ] {
        let output = ccnuma_in(folder.path(), &line);
        let (said, errors) = (text(&output.stdout), common::said(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{line}: {errors}");
        assert!(errors.contains(&format!("{flag} /dev/full: cannot be written: ")), "{line}: {errors}");
        assert!(said.contains(shown), "{line}: {said}");
    }
    for line in ["machines", "topology -m bitmap", "verify sci --caches 2", "machines show arctic", "machines --json"] {
        let output = shell(folder.path(), &format!("\"$CCNUMA\" {line} > /dev/full"));
        let errors = common::said(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {errors}");
        assert!(errors.contains("standard output: cannot be written"), "{line}: {errors}");
    }
    let output = ccnuma_in(folder.path(), "run -o /dev/null -- true");
    let errors = common::said(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("--output /dev/null: a trace is read again; accepted: a regular file"), "{errors}");
    // Remarks that cannot be written end nothing, and change no exit code.
    for (line, code) in
        [("sim -m flash-4p fft --points 256 --stats", 0), ("sim -m nope fft", 2), ("run -- sh -c 'exit 4'", 4)]
    {
        let output = shell(folder.path(), &format!("\"$CCNUMA\" {line} 2> /dev/full"));
        assert_eq!(output.status.code(), Some(code), "{line}");
    }
}

/// A file that may not grow any more is like a full disk: no signal ends the command.
#[test]
fn a_limit_of_files_loses_no_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "ulimit -f 1; exec \"$CCNUMA\" topology -m stinger --json=rows";
    let output = shell(folder.path(), script);
    let errors = common::said(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("--json rows: cannot be written: "), "{errors}");
    assert!(text(&output.stdout).contains("router"));
    // Room for a trace of next to nothing, in blocks of 512 bytes.
    well(&shell(folder.path(), "\"$CCNUMA\" run -o t.arrows -- true"));
    let blocks = fs::metadata(folder.path().join("t.arrows")).expect("a trace").len().div_ceil(512);
    let program = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); sleep 0.05; done; echo its own";
    let run = format!("exec \"$CCNUMA\" run -s 1ms -o t.arrows --force -- sh -c '{program}'");
    let output = shell(folder.path(), &format!("ulimit -f {blocks}; {run}"));
    let errors = common::said(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), "its own\n".to_owned()), "{errors}");
    assert!(errors.contains("--output t.arrows: cannot be written: "), "{errors}");
}

/// The program's output is its own, and so is its exit code.
#[test]
fn a_program_keeps_its_output_and_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |script: &str| shell(folder.path(), &format!("\"$CCNUMA\" run -o t.arrows --force -- sh -c '{script}'"));
    let output = run("echo its own words; exit 7");
    let errors = common::said(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), "its own words\n".to_owned()), "{errors}");
    assert!(errors.contains("whole run, by process") && errors.contains("ended with exit status 7"), "{errors}");
    assert_eq!(run("exit 0").status.code(), Some(0));
    assert_eq!(run("kill -9 $$").status.code(), Some(137));
    assert_eq!(ccnuma("run -o /dev/null -- /no/such/program").status.code(), Some(2));
}
