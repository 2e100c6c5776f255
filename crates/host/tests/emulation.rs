//! The AArch64 kernels run: the tests of `kernels` are built for AArch64 and executed by QEMU's user-mode emulation.
//!
//! Skipped, with a line that says so, where the Rust target or the emulator is missing.

#![cfg(not(target_arch = "aarch64"))]

use std::path::Path;
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-musl";

/// Emulators by the names that distributions give them.
const EMULATORS: [&str; 2] = ["qemu-aarch64", "qemu-aarch64-static"];

/// The emulator, or what is missing.
fn emulator() -> Result<&'static str, String> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().map_err(|e| format!("rustc: {e}"))?;
    let sysroot = String::from_utf8_lossy(&sysroot.stdout).trim().to_owned();
    if !Path::new(&sysroot).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        return Err(format!("rustup target add {TARGET}"));
    }
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    EMULATORS.into_iter().find(runs).ok_or_else(|| "apt-get install qemu-user".to_owned())
}

#[test]
fn the_tests_of_the_kernels_pass_on_aarch64() {
    let emulator = match emulator() {
        Ok(emulator) => emulator,
        Err(missing) => {
            eprintln!("skipped: the AArch64 kernels cannot be run here; to run them: {missing}");
            return;
        }
    };
    let output = Command::new(env!("CARGO"))
        .args(["test", "--locked", "--profile", "dev", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .args(["--test", "kernels", "--target", TARGET])
        // An emulator has its own idea of time.
        .args(["--", "--skip", "timing"])
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulation"))
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld")
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", emulator)
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo runs, as it runs this test");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "under {emulator}:\n{stdout}\n{stderr}");
    assert!(stdout.contains("execution::memory_afterwards_is_the_models ... ok"), "the kernels did not run:\n{stdout}");
}
