//! A sweep whose runs executors of Python start: the standard library's, Parsl's and Dask's, the same code for each, and HyperQueue's
//! tasks.

use std::path::Path;
use std::process::Command;

use super::{STUDY, done, folder, results, same, sweep};

/// Maps `--run KEY` over an executor that is named, kills the processes of two runs, and goes on.
const EXECUTORS: &str = include_str!("executors.py");

/// Does the same with a task of HyperQueue a run, on a server and workers of its own.
const TASKS: &str = include_str!("tasks.py");

#[test]
fn executors_of_python_whose_workers_are_killed_give_the_same_bytes() {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-python/bin");
    let python = bin.join("python");
    let has = |module: &str| {
        let output = Command::new(&python).args(["-c", &format!("import {module}")]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let alone = folder(STUDY);
    sweep(alone.path(), "");
    let expected = results(alone.path());
    let executors = [
        ("threads", "json", EXECUTORS),
        ("parsl", "parsl.concurrent", EXECUTORS),
        ("dask", "distributed", EXECUTORS),
        ("hyperqueue", "hyperqueue", TASKS),
    ];
    for (executor, module, script) in executors {
        if !has(module) {
            eprintln!("SKIPPED: {executor}: target/test-python has no {module} (.ci/run installs it)");
            continue;
        }
        let folder = folder(STUDY);
        let mut command = Command::new(&python);
        // Parsl starts programs of its own, which are beside the interpreter.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.args(["-c", script, env!("CARGO_BIN_EXE_ccnuma"), executor]).current_dir(folder.path());
        let printed = done(&command.output().expect("python starts"));
        assert_eq!(printed.lines().last(), Some("2 killed"), "{printed}");
        same(&results(folder.path()), &expected, executor);
    }
}
