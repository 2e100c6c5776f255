//! A sweep whose runs executors of Python start: the standard library's, Parsl's and Dask's, the same code for each.

use std::path::Path;
use std::process::Command;

use super::{STUDY, done, folder, results, same, sweep};

/// Maps `--run KEY` over an executor that is named, kills the processes of two runs, and goes on.
const SCRIPT: &str = include_str!("executors.py");

#[test]
fn executors_of_python_whose_workers_are_killed_give_the_same_bytes() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-python/bin/python");
    let has = |module: &str| {
        let output = Command::new(&python).args(["-c", &format!("import {module}")]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let alone = folder(STUDY);
    sweep(alone.path(), "");
    let expected = results(alone.path());
    for (executor, module) in [("threads", "json"), ("parsl", "parsl.concurrent"), ("dask", "distributed")] {
        if !has(module) {
            eprintln!("SKIPPED: {executor}: target/test-python has no {module} (.ci/run installs it)");
            continue;
        }
        let folder = folder(STUDY);
        let mut command = Command::new(&python);
        command.args(["-c", SCRIPT, env!("CARGO_BIN_EXE_ccnuma"), executor]).current_dir(folder.path());
        let printed = done(&command.output().expect("python starts"));
        assert_eq!(printed.trim(), "2 killed");
        same(&results(folder.path()), &expected, executor);
    }
}
