//! The user-mode emulator of AArch64 (`qemu-user`), and cargo that builds for it.

use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-musl";

/// Emulators by the names that distributions give them.
const NAMES: [&str; 2] = ["qemu-aarch64", "qemu-aarch64-static"];

/// The emulated processor. Its kernel's `/proc/cpuinfo` tells these numbers of it (MIDR_EL1).
const PROCESSOR: &str = "neoverse-n1";
pub const IMPLEMENTER_AND_PART: (&str, &str) = ("0x41", "0xd0c");

/// An emulator, beside a Rust target to build programs for it.
pub struct Emulator {
    name: &'static str,
}

impl Emulator {
    /// The emulator. Where it or the Rust target is missing, a line says how to get it, and that `tested` is not tested.
    pub fn find(tested: &str) -> Option<Self> {
        let found = Self::or_missing();
        found.map_err(|missing| eprintln!("SKIPPED: {tested}: cannot be run here; to run it: {missing}")).ok()
    }

    /// The emulator, or the command that installs what is missing.
    fn or_missing() -> Result<Self, String> {
        let sysroot =
            Command::new("rustc").args(["--print", "sysroot"]).output().map_err(|error| format!("rustc: {error}"))?;
        let sysroot = String::from_utf8_lossy(&sysroot.stdout).trim().to_owned();
        if !Path::new(&sysroot).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
            return Err(format!("rustup target add {TARGET}"));
        }
        let emulates = |name: &&str| {
            let processors = Command::new(name).args(["-cpu", "help"]).output();
            processors.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(PROCESSOR))
        };
        let name = NAMES.into_iter().find(emulates);
        let name = name.ok_or_else(|| format!("apt-get install qemu-user, with a processor {PROCESSOR}"))?;
        Ok(Self { name })
    }

    /// Cargo's `subcommand` for the package in the folder `package`, whose programs are for AArch64 and run under emulation. It compiles
    /// as quickly as it can: little is simulated there.
    pub fn cargo(&self, subcommand: &str, package: &Path) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.args([subcommand, "--locked", "--profile", "dev", "--target", TARGET, "--manifest-path"]);
        command.arg(package.join("Cargo.toml"));
        command
            .env("CARGO_TARGET_DIR", target_folder())
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld")
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", format!("{} -cpu {PROCESSOR}", self.name))
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }

    /// The `program` that [`cargo`](Self::cargo) has built. It finds the files under the folder `root` in place of this computer's of
    /// the same path, and those of this computer elsewhere.
    pub fn program(&self, program: &str, root: &Path) -> Command {
        let mut command = Command::new(self.name);
        command.args(["-cpu", PROCESSOR, "-L"]).arg(root);
        command.arg(target_folder().join(TARGET).join("debug").join(program));
        command
    }
}

/// The folder of all that is built for the emulator, by the tests of any package.
fn target_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulation")
}
