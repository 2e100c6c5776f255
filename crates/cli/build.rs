//! Names the platform that the command is built for: `--version` prints it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=CCNUMA_TARGET={}", std::env::var("TARGET").expect("set by cargo"));
}
