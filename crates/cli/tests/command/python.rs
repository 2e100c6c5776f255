//! The Python package: its tests run by pytest, with the command that was built for this one.

use std::path::Path;
use std::process::Command;

#[test]
fn the_package_passes_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/test-python/bin/python");
    let has_pytest = Command::new(&python).args(["-c", "import pytest, pandas, matplotlib, nbclient"]).output();
    if !has_pytest.is_ok_and(|asked| asked.status.success()) {
        eprintln!(
            "SKIPPED: no Python with pytest, pandas, matplotlib and nbclient in target/test-python (.ci/run makes it)"
        );
        return;
    }
    let run = Command::new(&python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests"])
        .current_dir(&root)
        .env("CCNUMA", env!("CARGO_BIN_EXE_ccnuma"))
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
}
