//! Names the build: the command and the runtime that a program is linked with have to be of the same one.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    // Where the sources are now: a build script may have been compiled where they were once.
    let crates = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("..");
    let mut sources = Vec::new();
    // All that may be in a runtime: every crate but the command.
    for folder in entries(&crates).into_iter().filter(|folder| !folder.ends_with("cli")) {
        println!("cargo::rerun-if-changed={}", folder.join("src").display());
        collect(&folder.join("src"), &mut sources);
    }
    assert!(!sources.is_empty(), "no sources in {}", crates.display());
    sources.sort();
    // The hash of Fowler, Noll and Vo, of 64 bits.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for source in &sources {
        for byte in fs::read(source).unwrap_or_default() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=CCNUMA_BUILD={}-{hash:016x}", env!("CARGO_PKG_VERSION"));
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The Rust sources in a folder and those below it.
fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push(path);
        }
    }
}
