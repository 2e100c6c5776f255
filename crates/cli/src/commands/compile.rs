//! `ccnuma cc`, `cxx`, `fc`: compilers that build programs which can be simulated.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use frontend::compiler::{self, Language};
use frontend::wrapped::SYMBOLS;

use crate::failure::Failure;

/// Compile a C program for simulation: takes the place of gcc or clang (CC="ccnuma cc")
#[derive(Args, Debug)]
#[command(disable_help_flag = true, after_help = HELP)]
pub struct CCommand {
    #[command(flatten)]
    line: Line,
}

/// Compile a C++ program for simulation: takes the place of g++ or clang++ (CXX="ccnuma cxx")
#[derive(Args, Debug)]
#[command(disable_help_flag = true, after_help = HELP)]
pub struct CxxCommand {
    #[command(flatten)]
    line: Line,
}

/// Compile a Fortran program for simulation: takes the place of gfortran (FC="ccnuma fc")
#[derive(Args, Debug)]
#[command(disable_help_flag = true, after_help = HELP)]
pub struct FortranCommand {
    #[command(flatten)]
    line: Line,
}

#[derive(Args, Debug)]
struct Line {
    /// What the compiler would be told.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

const HELP: &str = "Flags of ours, anywhere among the compiler's:
  --ccnuma-compiler=PROGRAM  the compiler that does the work; else CCNUMA_CC, CCNUMA_CXX or CCNUMA_FC names it, else gcc, g++,
                             gfortran, or clang and clang++ where those are not installed
  --ccnuma-no-blocks         do not count instructions by basic blocks: each reference then counts as a few instructions
  --ccnuma-no-locals         leave out references to a function's own arrays whose addresses go nowhere; clang announces them from version
                             14 on where it counts instructions, gcc takes them for registers (static arrays are always seen)
  --ccnuma-verbose           print the command lines

Examples:
  make CC='ccnuma cc' CXX='ccnuma cxx' FC='ccnuma fc'
  CC='ccnuma cc' CXX='ccnuma cxx' cmake -B build
  CC='ccnuma cc' meson setup build
  ccnuma cc -O2 -pthread fft.c -o fft -lm
  ccnuma cc --ccnuma-compiler=clang -O2 -fopenmp stream.c -o stream
  ccnuma sim -m arctic -- ./fft -p16 -m20

Where one word must name a compiler, link ccnuma-cc, ccnuma-cxx or ccnuma-fc to ccnuma: called so, it is that compiler.
ccnuma.h, which the command brings, tells what a program may say to the simulator; it need not say anything.";

impl CCommand {
    /// Runs the compiler; its exit status.
    ///
    /// # Errors
    /// There is no compiler or no runtime, or what is asked for cannot be simulated.
    pub fn run(self) -> Result<ExitCode, Failure> {
        run(Language::C, self.line.arguments)
    }
}

impl CxxCommand {
    /// As [`CCommand::run`].
    ///
    /// # Errors
    /// As [`CCommand::run`].
    pub fn run(self) -> Result<ExitCode, Failure> {
        run(Language::Cxx, self.line.arguments)
    }
}

impl FortranCommand {
    /// As [`CCommand::run`].
    ///
    /// # Errors
    /// As [`CCommand::run`].
    pub fn run(self) -> Result<ExitCode, Failure> {
        run(Language::Fortran, self.line.arguments)
    }
}

fn run(language: Language, arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let tell = |line: &str| eprintln!("ccnuma: {line}");
    compiler::run(language, SYMBOLS, arguments, tell).map(ExitCode::from).map_err(Failure::input)
}

/// The subcommand that a command of this name is: `ccnuma-cc` and its like.
pub fn named(program: &OsString) -> Option<&'static str> {
    let name = std::path::Path::new(program).file_name()?.to_str()?;
    ["cc", "cxx", "fc"].into_iter().find(|subcommand| name.strip_prefix("ccnuma-") == Some(subcommand))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_compilers() {
        assert_eq!(named(&"/usr/bin/ccnuma-cxx".into()), Some("cxx"));
        assert_eq!(named(&"ccnuma-cc".into()), Some("cc"));
        for other in ["ccnuma", "ccnuma-", "ccnuma-c", "cc", "x-ccnuma-cc"] {
            assert_eq!(named(&other.into()), None, "{other}");
        }
    }
}
