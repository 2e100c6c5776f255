//! The AArch64 kernels run: the tests of `kernels` are built for AArch64 and executed by QEMU's user-mode emulation.
//!
//! Skipped, with a line that says so, where the Rust target or the emulator is missing.

#![cfg(not(target_arch = "aarch64"))]

#[allow(dead_code, reason = "each test file uses what it needs")]
mod emulator;

use std::path::Path;

use emulator::Emulator;

#[test]
fn the_tests_of_the_kernels_pass_on_aarch64() {
    let Some(emulator) = Emulator::find("the AArch64 kernels") else { return };
    let output = emulator
        .cargo("test", Path::new(env!("CARGO_MANIFEST_DIR")))
        // An emulator has its own idea of time.
        .args(["--test", "kernels", "--", "--skip", "timing"])
        .output()
        .expect("cargo runs, as it runs this test");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "under emulation:\n{stdout}\n{stderr}");
    assert!(stdout.contains("execution::memory_afterwards_is_the_models ... ok"), "the kernels did not run:\n{stdout}");
}
