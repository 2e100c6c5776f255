//! A copy of the command, away from where it was built: it compiles programs with the runtime that it was built with.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, program: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).env_remove("CCNUMA_RUNTIME").output().expect("it starts")
}

#[test]
fn a_copied_command_finds_its_runtime() {
    if Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: gcc is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("ccnuma");
    fs::copy(env!("CARGO_BIN_EXE_ccnuma"), &copy).expect("copied");
    let source = "#include <stdio.h>\nint main(void) { puts(\"it runs\"); return 0; }\n";
    fs::write(folder.path().join("it.c"), source).expect("written");
    let built = run(folder.path(), &copy, &["cc", "-O1", "it.c", "-o", "it"]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let simulated = run(folder.path(), &copy, &["sim", "-m", "flash-4p", "--", "./it"]);
    let errors = String::from_utf8_lossy(&simulated.stderr);
    assert!(simulated.status.success() && simulated.stdout.starts_with(b"it runs\n"), "{errors}");
}
