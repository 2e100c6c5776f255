//! The flags that make an instrumented program, and those of the user's that have to go.

use super::{Compiler, Family, Options};
use crate::wrapped::{CLANG_FLAGS, CLANG_FLAGS_AFTER, CLANG_TRACES, GCC_FLAGS};

/// Flags that have `compiler` call the runtime at every reference and, unless the user does not want it, at every basic block;
/// they stand before the user's own flags.
pub fn to_compile(compiler: &Compiler, options: &Options) -> Vec<&'static str> {
    // Debug information first, so that a level of the user's own wins.
    let mut flags = vec!["-g", "-D__CCNUMA__=1", "-U__SANITIZE_THREAD__"];
    match compiler.family {
        Family::Gnu => {
            flags.extend(GCC_FLAGS);
            // Fences are the runtime's business; that the sanitizer would not see them is not ours.
            flags.push("-Wno-tsan");
        }
        Family::Clang => {
            flags.extend(CLANG_FLAGS);
            flags.push("-Wno-unused-command-line-argument");
        }
    }
    if options.blocks {
        flags.push(match compiler.family {
            Family::Gnu => "-fsanitize-coverage=trace-pc",
            // All blocks, those too from which one knows that others are entered.
            Family::Clang => "-fsanitize-coverage=trace-pc,no-prune",
        });
    }
    if options.locals && announces_locals(compiler, options) {
        flags.extend(CLANG_TRACES);
    }
    flags
}

/// Flags that stand after the user's own.
pub fn to_compile_after(compiler: &Compiler) -> &'static [&'static str] {
    match compiler.family {
        Family::Gnu => &[],
        Family::Clang => CLANG_FLAGS_AFTER,
    }
}

/// Whether `compiler` announces references to arrays whose addresses go nowhere. clang can where it tells of blocks, too. gcc takes them
/// for registers; where it is asked to look whether references are within objects (`-fsanitize=object-size`) it announces them, but
/// keeps many variables in memory that are in registers otherwise (IS of the NAS benchmarks has twenty times the references then).
fn announces_locals(compiler: &Compiler, options: &Options) -> bool {
    compiler.traces && options.blocks
}

/// Whether a flag of the user's has to go wherever it stands, and why.
pub fn replaced(flag: &str) -> Option<&'static str> {
    if flag.starts_with("-fsanitize") || flag.starts_with("-fno-sanitize") {
        Some("replaced by the instrumentation of ccnuma")
    } else if flag.starts_with("-flto") || matches!(flag, "-ffat-lto-objects" | "-fuse-linker-plugin") {
        Some("link-time optimisation would bypass the instrumentation")
    } else {
        None
    }
}

/// Whether a flag of the user's has to go when linking.
pub fn kept_from_linker(flag: &str) -> bool {
    // The parallel runtimes of compilers and the sanitizers': ours takes their place.
    const REPLACED: &[&str] = &["-lgomp", "-lomp", "-liomp5", "-ltsan", "-lasan", "-lubsan"];
    // The runtime is a shared library, and addresses are the same on every run only in programs that stay where they are linked.
    const MOVED: &[&str] = &["-pie", "-static", "-static-pie", "--static", "--pie"];
    let parallel = flag.starts_with("-fopenmp") || flag.starts_with("-ftree-parallelize-loops");
    parallel || REPLACED.contains(&flag) || MOVED.contains(&flag)
}

/// Why a program cannot be had that this flag asks for, if so, and what to write instead.
pub fn refused(flag: &str) -> Option<(&'static str, &'static str)> {
    match flag {
        "-m32" | "-m16" | "-mx32" => Some(("only 64-bit programs are simulated", "-m64")),
        "-fsplit-stack" | "-fsanitize=shadow-call-stack" => Some((
            "the simulator provides the threads' stacks",
            "ulimit -s or pthread_attr_setstacksize for a larger stack",
        )),
        _ => None,
    }
}
