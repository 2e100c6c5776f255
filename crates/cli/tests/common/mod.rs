//! Running the command in tests.

pub mod programs;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `ccnuma` with the words of `line` as its arguments, in `directory`.
pub fn ccnuma_in(directory: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccnuma"));
    command.args(line.split_whitespace()).current_dir(directory);
    command.output().unwrap_or_else(|error| panic!("cannot run ccnuma {line}: {error}"))
}

/// Runs `ccnuma` with the words of `line` as its arguments.
pub fn ccnuma(line: &str) -> Output {
    ccnuma_in(Path::new("."), line)
}

/// The output of a command line, which must end well.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub fn printed(line: &str) -> String {
    let output = ccnuma(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "ccnuma {line}: {errors}");
    // No progress where nobody looks.
    assert!(errors.lines().all(|said| said.starts_with("warning: ")), "ccnuma {line}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The messages of a command on standard error, each on a line of its own, as before the width of a terminal broke it.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub fn said(errors: &[u8]) -> String {
    String::from_utf8_lossy(errors).replace("\n  ", " ")
}

/// Asserts that a command line is refused in one message that contains each of `parts`.
#[track_caller]
#[allow(dead_code, reason = "each test file uses what it needs")]
pub fn refused(line: &str, parts: &[&str]) {
    let output = ccnuma(line);
    let errors = said(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "ccnuma {line}: {errors}");
    assert_eq!(errors.lines().count(), 1, "ccnuma {line}: {errors}");
    assert!(errors.starts_with("error: "), "ccnuma {line}: {errors}");
    for part in parts {
        assert!(errors.contains(part), "ccnuma {line}: no {part:?} in {errors}");
    }
    assert!(output.stdout.is_empty(), "ccnuma {line} printed something");
}
