//! `ccnuma cc`, `cxx` and `fc`: a compiler's command line in, the command lines that build an instrumented program out.
//!
//! Programs are compiled with the instrumentation of the compiler's thread sanitizer, which calls a function at every reference,
//! and linked without the sanitizer: the runtime defines these functions. Everything else is as the user's build has it, so that a
//! build system, which asks a compiler many things beside compiling, sees the compiler it knows.

mod command_line;
mod enclosed;
mod flags;
mod header;
mod identity;
mod installation;
mod kept;
mod plan;
mod response;
mod run;
pub mod shims;

pub use enclosed::{Enclosed, restore};
pub use identity::{Compiler, Family, Language};
pub use installation::Installation;
pub use plan::{Options, Plan, Step, plan};
pub use run::run;

use std::ffi::OsString;
use std::path::PathBuf;

use crate::wrapped::LIBRARY;

/// Why a program cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    /// None of the compilers that were looked for is there.
    #[error(
        "no {language} compiler: none of {tried} can be started; name one with --ccnuma-compiler=PROGRAM or {variable}"
    )]
    NotFound {
        /// The language.
        language: &'static str,
        /// The compilers that were looked for.
        tried: String,
        /// The variable that names one.
        variable: &'static str,
    },
    /// The compiler that was named cannot be started.
    #[error("{from} {name:?}: cannot be started: {error}; accepted: a gcc or clang, by name or path")]
    CannotStart {
        /// The flag or variable that names it.
        from: &'static str,
        /// The name that it gives.
        name: OsString,
        /// The system's error.
        error: std::io::Error,
    },
    /// A compiler whose instrumentation is not known.
    #[error(
        "{name:?} says it is {said:?}; accepted: gcc, g++, gfortran of version 11 or later, clang, clang++ of version 12 or later"
    )]
    UnknownFamily {
        /// The compiler.
        name: OsString,
        /// The first line that it prints about itself.
        said: String,
    },
    /// A flag of ours that there is not.
    #[error(
        "{0}: no such flag; accepted: --ccnuma-compiler=PROGRAM, --ccnuma-no-locals, --ccnuma-no-blocks, --ccnuma-verbose"
    )]
    UnknownFlag(String),
    /// A flag that cannot be had together with the runtime.
    #[error("{flag}: {reason}; accepted: {accepted}")]
    Refused {
        /// The flag.
        flag: String,
        /// Why it is refused.
        reason: &'static str,
        /// The accepted alternative.
        accepted: &'static str,
    },
    /// A file of arguments that includes itself.
    #[error("@{}: response files are nested more than {deepest} deep", .path.display())]
    Nested {
        /// The file.
        path: PathBuf,
        /// How deep they may be.
        deepest: usize,
    },
    /// A step cannot be started.
    #[error("{program:?} cannot be started: {error}")]
    Start {
        /// The program.
        program: OsString,
        /// The system's error.
        error: std::io::Error,
    },
    /// No folder for objects that nobody keeps.
    #[error("no temporary folder can be made: {0}")]
    Scratch(std::io::Error),
    /// A file of the command's lies nowhere, and cannot be put anywhere.
    #[error(
        "{}: {name} cannot be put there: {error}; accepted: a folder in XDG_CACHE_HOME or TMPDIR that can be written to",
        .folder.display()
    )]
    NotKept {
        /// The file's name.
        name: &'static str,
        /// The folder that was tried last.
        folder: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// A link is called as a compiler that is not installed.
    #[error("{0}: no other program of this name is in PATH; accepted: the name of an installed compiler")]
    NothingBehind(String),
    /// No name of a compiler.
    #[error("{0}: not known as a compiler's name; accepted: {names}, with a version or a target", names = shims::NAMES.join(", "))]
    NoName(String),
    /// A link cannot be made.
    #[error("{}: cannot be made: {error}; accepted: a folder that can be written to and has no other file of that name", .path.display())]
    Shim {
        /// The link or the folder.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The running command cannot be found.
    #[error("the file of the running command cannot be found")]
    Unknown,
    /// `CCNUMA_RUNTIME` names no file.
    #[error("CCNUMA_RUNTIME {}: no such file; accepted: the path of {LIBRARY}, or its folder", .named.display())]
    NoSuchRuntime {
        /// The path it names.
        named: PathBuf,
    },
    /// This command has no runtime: there is none for its platform.
    #[error(
        "programs are built for simulation on x86-64 Linux with glibc alone; this command was built for another platform"
    )]
    NoRuntime,
}
