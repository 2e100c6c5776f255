//! Building and running programs in tests, as their authors would.

#![allow(dead_code, reason = "each test file uses what it needs")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The folder of the programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../frontend/tests/programs").canonicalize().expect("there are programs")
}

/// Whether a tool is installed. If not, the test that asks says so.
pub fn installed(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("SKIPPED: {tool} is not installed");
    }
    there
}

/// The compilers of C that there are.
pub fn compilers() -> impl Iterator<Item = &'static str> {
    ["gcc", "clang"].into_iter().filter(|compiler| installed(compiler))
}

/// Runs a command in a folder, with variables of the environment.
pub fn run(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> Output {
    let (program, arguments) = words.split_first().expect("a command");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).envs(variables.iter().copied());
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// The output of a command, which must have ended well.
#[track_caller]
pub fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = super::said(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    text
}

/// The command.
pub const CCNUMA: &str = env!("CARGO_BIN_EXE_ccnuma");

/// A program in a folder of its own.
pub struct Built {
    /// The folder.
    pub folder: TempDir,
}

impl Built {
    /// Builds `source` as `program`, by `compiler` (`cc`, `cxx`, `fc`) with flags.
    #[track_caller]
    pub fn new(compiler: &str, source: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let source = programs().join(source);
        let words = [&[CCNUMA, compiler], flags, &[source.to_str().expect("UTF-8"), "-o", "program"]].concat();
        printed(&run(folder.path(), &words, &[]));
        Self { folder }
    }

    /// Builds `source` in C as `program` by one of the [`compilers`], with flags.
    #[track_caller]
    pub fn by(compiler: &str, source: &str, flags: &[&str]) -> Self {
        Self::new("cc", source, &[&[format!("--ccnuma-compiler={compiler}").as_str()], flags].concat())
    }

    /// Its output on this computer.
    #[track_caller]
    pub fn natively(&self, threads: &str, arguments: &[&str]) -> String {
        let words = [&["./program"], arguments].concat();
        printed(&run(self.folder.path(), &words, &[("OMP_NUM_THREADS", threads)]))
    }

    /// Its output on a simulated machine, and the record of the run.
    #[track_caller]
    pub fn simulated(&self, options: &str, threads: &str, arguments: &[&str]) -> (String, String) {
        let mut words = vec![CCNUMA, "sim", "--json=record"];
        words.extend(options.split_whitespace());
        words.extend(["--", "./program"]);
        words.extend(arguments);
        let output = run(self.folder.path(), &words, &[("OMP_NUM_THREADS", threads)]);
        let text = printed(&output);
        let record = fs::read_to_string(self.folder.path().join("record")).expect("a record");
        (text.lines().next().unwrap_or_default().to_owned(), record)
    }
}

/// A number of a record.
pub fn figure(record: &str, name: &str) -> f64 {
    // The machine's description stands before the run.
    let run = record.lines().last().expect("a record");
    let record: serde_json::Value = serde_json::from_str(run).expect("a record");
    record[name].as_f64().unwrap_or_else(|| panic!("no {name} in {record}"))
}

impl Built {
    /// Builds a program from `source`, the text of a file of this name, by `compiler` (`cc`, `cxx`) with flags.
    #[track_caller]
    pub fn from_text(compiler: &str, name: &str, source: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(name), source).expect("written");
        let words = [&[CCNUMA, compiler], flags, &[name, "-o", "program"]].concat();
        printed(&run(folder.path(), &words, &[]));
        Self { folder }
    }

    /// Runs it on a simulated machine, with what is printed and complained of.
    pub fn tried(&self, options: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut words = vec![CCNUMA, "sim", "--json=record"];
        words.extend(options.split_whitespace());
        words.extend(["--", "./program"]);
        words.extend(arguments);
        run(self.folder.path(), &words, variables)
    }

    /// The record of its latest run.
    pub fn record(&self) -> String {
        let all = fs::read_to_string(self.folder.path().join("record")).expect("records");
        // The machine's description stands before the run.
        all.lines().last().expect("a record").to_owned()
    }
}

/// The complaints of a command.
pub fn complaints(output: &Output) -> String {
    super::said(&output.stderr)
}
