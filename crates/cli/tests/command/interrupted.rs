//! Commands that SIGINT or SIGTERM ends: their exit codes, what they say, what they print of what is done, and that no file is left
//! that looks complete. A signal is sent once a command is seen to have begun, however long that takes.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{self, ccnuma_in};
use serde_json::Value;
use tempfile::TempDir;

const INT: (&str, i32) = ("-INT", 130);
const TERM: (&str, i32) = ("-TERM", 143);

/// A command that was interrupted.
struct Ended {
    folder: TempDir,
    printed: String,
    said: String,
}

impl Ended {
    /// The line in which it says that it was interrupted.
    fn line(&self) -> &str {
        let mut lines = self.said.lines().filter(|line| line.starts_with("interrupted: "));
        lines.next().unwrap_or_else(|| panic!("it does not say so: {}", self.said))
    }

    /// The names of the files that it left.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    /// The records in a file that it left.
    fn records(&self, file: &str) -> Vec<Value> {
        records(&fs::read_to_string(self.folder.path().join(file)).expect("a file"))
    }
}

/// Whole records, a line each.
#[track_caller]
fn records(text: &str) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// Whether a process handles SIGTERM, as the kernel tells: it is past its beginning.
fn is_listening(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask >> 14 & 1 == 1))
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill(1)");
    assert!(sent.success());
}

/// Runs `ccnuma` until it handles signals and `began` finds in its folder, and in the first lines that it has printed, that it is at
/// work, and interrupts it. `began` is given lines as they come if it asks for `lines` of them.
#[track_caller]
fn interrupted_in(
    folder: TempDir,
    words: &[&str],
    (signal, code): (&str, i32),
    lines: usize,
    began: impl Fn(&Path) -> bool,
) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccnuma"));
    command.args(words).current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("ccnuma starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut printed = String::new();
    for _ in 0..lines {
        out.read_line(&mut printed).expect("UTF-8");
    }
    while !(is_listening(child.id()) && began(folder.path())) {
        assert!(child.try_wait().expect("a status").is_none(), "{words:?} ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    send(signal, &child);
    out.read_to_string(&mut printed).expect("UTF-8");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    Ended { folder, printed, said }
}

#[track_caller]
fn interrupted(line: &str, signal: (&str, i32), lines: usize, began: impl Fn(&Path) -> bool) -> Ended {
    let words: Vec<&str> = line.split_whitespace().collect();
    interrupted_in(tempfile::tempdir().expect("a folder"), &words, signal, lines, began)
}

/// Whether a file is being written aside.
fn writes_aside(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".incomplete"))
}

fn has_a_line(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains('\n'))
}

#[test]
fn verify_has_printed_what_is_done() {
    // Two lines of heading and three results, through a pipe.
    let ended = interrupted("verify --all", INT, 5, |_| true);
    let results = ended.printed.lines().filter(|line| line.contains(" ok ")).count();
    assert!(results >= 3, "{}", ended.printed);
    let line = ended.line();
    assert!(line.contains(" runs done, ") && line.contains(" remaining"), "{line}");
    let ended = interrupted("verify --all --json=done.jsonl", TERM, 0, |folder| has_a_line(&folder.join("done.jsonl")));
    let records = ended.records("done.jsonl").len();
    assert!(ended.line().contains(&format!("{records} records are in done.jsonl")), "{}", ended.line());
}

#[test]
fn a_sweep_keeps_the_runs_that_are_over_and_says_how_to_go_on() {
    let line = "sim -m flash-64p fft --cpus 1,64 --points 256,4194304 --json=runs.jsonl --svg times.svg";
    let ended = interrupted(line, TERM, 0, |folder| has_a_line(&folder.join("runs.jsonl.part")));
    assert!(!ended.records("runs.jsonl").is_empty() && !ended.records("runs.jsonl.part").is_empty());
    assert!(ended.line().contains(" simulations done, ") && ended.line().contains("--resume"), "{}", ended.line());
    assert!(ended.printed.contains("fft"), "the table of what is over: {}", ended.printed);
    let drawings = ended.files().into_iter().filter(|name| name.contains("svg")).count();
    assert_eq!(drawings, 0, "{:?}", ended.files());
}

/// A second interruption put what the first had left in the place of the whole results.
#[test]
fn whole_results_outlive_interruptions() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = ccnuma_in(folder.path(), "sim -m flash-4p fft --points 256 --json=runs");
    assert!(whole.status.success());
    let first = fs::read(folder.path().join("runs")).expect("written");
    let line = "sim -m flash-64p fft --cpus 1,64 --points 256,4194304 --json=runs";
    let words: Vec<&str> = line.split_whitespace().collect();
    let begun = |folder: &Path| folder.join("runs.old").exists() && has_a_line(&folder.join("runs"));
    let ended = interrupted_in(folder, &words, INT, 0, begun);
    assert!(ended.files().contains(&"runs.unfinished".to_owned()), "{:?}", ended.files());
    let second = fs::read(ended.folder.path().join("runs")).expect("written");
    let begun = |folder: &Path| folder.join("runs.unfinished.old").exists() && has_a_line(&folder.join("runs"));
    let ended = interrupted_in(ended.folder, &words, TERM, 0, begun);
    let at = |name: &str| ended.folder.path().join(name);
    assert_eq!(fs::read(at("runs.old")).ok(), Some(first), "the whole results: {:?}", ended.files());
    assert_eq!(fs::read(at("runs.unfinished.old")).ok(), Some(second), "the latest others");
    // A run that comes to its end leaves no mark, and what it has written counts as whole.
    let again = "sim -m flash-4p fft --points 256 --json=runs";
    for _ in 0..2 {
        assert!(ccnuma_in(ended.folder.path(), again).status.success());
        assert!(!at("runs.unfinished").exists());
    }
    assert_eq!(fs::read(at("runs.old")).ok(), fs::read(at("runs")).ok());
}

/// Another command did not see that the file is being written, and wrote over it.
#[test]
fn a_file_is_not_taken_from_a_command_at_work() {
    let line = "sim -m flash-64p fft --cpus 1,64 --points 256,4194304 --json=runs";
    let refused = |folder: &Path| {
        let output = ccnuma_in(folder, "sim -m flash-4p fft --points 256 --json=runs");
        let errors = common::said(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("--json runs: is being written by another command"), "{errors}");
    };
    let ended = interrupted(line, INT, 0, |folder| {
        let begun = has_a_line(&folder.join("runs"));
        begun.then(|| refused(folder)).is_some()
    });
    assert!(!ended.files().iter().any(|name| name.contains("old")), "{:?}", ended.files());
    assert!(ccnuma_in(ended.folder.path(), "sim -m flash-4p fft --points 256 --json=runs").status.success());
}

/// Traces tell by their own end.
#[test]
fn whole_traces_outlive_interruptions() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(ccnuma_in(folder.path(), "run -m flash-4p -o t -- fft --points 256").status.success());
    let first = fs::read(folder.path().join("t")).expect("written");
    let words = ["run", "-m", "flash-64p", "-o", "t", "--", "fft", "--points", "4194304"];
    let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let ended =
        interrupted_in(folder, &words, INT, 0, |folder| folder.join("t.old").exists() && size(&folder.join("t")) > 0);
    let begun = |folder: &Path| folder.join("t.unfinished.old").exists() && size(&folder.join("t")) > 0;
    let ended = interrupted_in(ended.folder, &words, INT, 0, begun);
    assert_eq!(fs::read(ended.folder.path().join("t.old")).ok(), Some(first), "{:?}", ended.files());
}

/// The layout of Intel MLC, with what is missing.
#[test]
fn the_suite_mlc_prints_its_tables_as_far_as_they_are_known() {
    let line = "bench -m xeon-8180-2s --suite mlc --json=mlc.jsonl";
    let is_measured = |file: &Path| fs::read_to_string(file).is_ok_and(|text| text.contains("lmbench-read"));
    let ended = interrupted(line, INT, 0, |folder| is_measured(&folder.join("mlc.jsonl")));
    let lines: Vec<Vec<&str>> = ended.printed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(
        ended.printed.contains("Measuring idle latencies (in ns)...") && !ended.printed.contains("NaN"),
        "{}",
        ended.printed
    );
    assert!(lines.iter().any(|line| line.ends_with(&["-", "-"])), "points that were not measured: {}", ended.printed);
}

#[test]
fn a_fit_writes_no_description() {
    let line = "fit --machine-out mine.toml --data-out data.jsonl";
    let ended = interrupted(line, INT, 0, writes_aside);
    assert_eq!(ended.files(), Vec::<String>::new());
    assert!(ended.line().contains("no file was written; run again, the command begins anew"), "{}", ended.line());
    let simulated = "fit -m origin2000-r12k-300-64p --machine-out mine.toml";
    assert_eq!(interrupted(simulated, TERM, 0, writes_aside).files(), Vec::<String>::new());
}

#[test]
fn a_page_and_a_recording_are_written_as_a_whole_or_not_at_all() {
    for line in
        ["report -m flash-scaled-32p art -o page.html", "sim -m flash-64p fft --points 4194304 --record fft.references"]
    {
        let ended = interrupted(line, INT, 0, writes_aside);
        assert_eq!(ended.files(), Vec::<String>::new(), "{line}");
        assert!(ended.line().contains("no file was written"), "{line}: {}", ended.line());
    }
}

#[test]
fn what_answers_at_once_ends_at_once() {
    for (line, signal) in [
        ("diagnose -m flash-scaled-32p art", INT),
        ("reproduce flash --json=flash.jsonl", TERM),
        ("run -m flash-64p -o fft.arrows -- fft --points 4194304", INT),
        ("verify origin --accesses all", TERM),
        ("bench -m stinger --suite all", INT),
    ] {
        // A command that can be resumed has begun its file.
        let resumes = line.starts_with("reproduce");
        let ended = interrupted(line, signal, 0, |folder| !resumes || folder.join("flash.jsonl").exists());
        assert_eq!(ended.line().contains("--resume"), resumes, "{line}: {}", ended.line());
    }
}

#[test]
fn samples_end_properly() {
    let ended = interrupted("sar 20ms --metric node.cpu_busy,node.cpu_idle --json -o t.arrows", TERM, 1, |_| true);
    assert!(!records(&ended.printed).is_empty() && !ended.line().is_empty());
    let info = ccnuma_in(ended.folder.path(), "info t.arrows");
    let warnings = common::said(&info.stderr);
    assert!(info.status.success() && warnings.is_empty(), "the trace is whole: {warnings}");
}

/// The program that was started ends with us, and its trace tells how.
#[test]
fn a_program_that_is_watched_ends_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["run", "-o", "t.arrows", "--", "sh", "-c", "echo up; exec sleep 100000"];
    let ended = interrupted_in(folder, &words, INT, 1, |_| true);
    assert_eq!(ended.printed, "up\n");
    let info = ccnuma_in(ended.folder.path(), "info t.arrows");
    let told = String::from_utf8_lossy(&info.stdout);
    assert!(told.contains("ended by signal 15") && info.stderr.is_empty(), "{told}");
}

/// The same of a program on a simulated machine: it is its own process, which a signal to us alone does not reach. What it has done until
/// then is told.
#[test]
fn a_program_that_is_simulated_ends_too() {
    if Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: gcc is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = "#include <stdio.h>\nvolatile long n;\nint main() { puts(\"up\"); fflush(stdout); for (;;) n++; }\n";
    fs::write(folder.path().join("endless.c"), source).expect("written");
    let built = ccnuma_in(folder.path(), "cc -O1 endless.c -o endless");
    assert!(built.status.success(), "{}", common::said(&built.stderr));
    let words = ["sim", "-m", "flash-4p", "--json=runs.jsonl", "--", "./endless"];
    // The program that has our standard output has ended if reading it has.
    let ended = interrupted_in(folder, &words, TERM, 1, |_| true);
    assert!(ended.printed.starts_with("up\n") && ended.printed.contains("time breakdown"), "{}", ended.printed);
    assert!(
        ended.said.contains("interrupted at ") && ended.said.contains("covers the run up to then"),
        "{}",
        ended.said
    );
    // Each thing once.
    assert_eq!(ended.said.matches("interrupted at ").count(), 1, "{}", ended.said);
    assert_eq!(ended.printed.matches("\nendless  own").count(), 1, "{}", ended.printed);
    let records = ended.records("runs.jsonl");
    assert!(records.iter().any(|record| record["references"].as_u64().is_some_and(|count| count > 0)), "{records:?}");
}
