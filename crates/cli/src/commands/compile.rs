//! `ccnuma cc`, `cxx`, `fc`: compilers that build programs which can be simulated.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use frontend::compiler::{self, Language, shims};
use frontend::wrapped::SYMBOLS;

use crate::failure::Failure;
use crate::runtime::ENCLOSED;

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
    /// The arguments of the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

const HELP: &str = "Flags of ccnuma, anywhere among the compiler's:
  --ccnuma-compiler=PROGRAM  the compiler to use [default: CCNUMA_CC, CCNUMA_CXX or CCNUMA_FC, else gcc, g++,
                             gfortran, or clang and clang++ if those are not installed]
  --ccnuma-no-blocks         do not count instructions per basic block: charge a few instructions per reference
  --ccnuma-no-locals         omit references to local arrays whose addresses do not escape (clang 14 or later instruments them when it
                             counts instructions; gcc never does; static arrays are always instrumented)
  --ccnuma-verbose           print the command lines

Examples:
  make CC='ccnuma cc' CXX='ccnuma cxx' FC='ccnuma fc'
  CC='ccnuma cc' CXX='ccnuma cxx' cmake -B build
  CC='ccnuma cc' meson setup build
  ccnuma cc -O2 -pthread fft.c -o fft -lm
  ccnuma cc --ccnuma-compiler=clang -O2 -fopenmp stream.c -o stream
  ccnuma sim -m arctic -- ./fft -p16 -m20

If the compiler must be a single word, link ccnuma-cc, ccnuma-cxx or ccnuma-fc to ccnuma. `ccnuma shims DIR` creates links named
gcc, g++, clang, gfortran and so on, for builds that examine the compiler's name. ccnuma.h (included) declares optional calls to
the simulator.";

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
    compiler::run(language, SYMBOLS, ENCLOSED.as_ref(), arguments, tell).map(ExitCode::from).map_err(Failure::input)
}

/// The words for which a command's name stands: `ccnuma-cc` and its like are subcommands, as are links called as compilers.
///
/// # Errors
/// It is called as a compiler that there is not.
pub fn called_as(program: &OsString) -> Result<Vec<OsString>, Failure> {
    let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
    if let Some(known) = ["cc", "cxx", "fc"].into_iter().find(|known| name.strip_prefix("ccnuma-") == Some(known)) {
        return Ok(vec![known.into()]);
    }
    // Only a link is called otherwise than the command is.
    if name.starts_with("ccnuma") {
        return Ok(Vec::new());
    }
    let behind = shims::behind(name).map_err(Failure::input)?;
    Ok(behind.map_or_else(Vec::new, |(language, real)| {
        let subcommand = match language {
            Language::C => "cc",
            Language::Cxx => "cxx",
            Language::Fortran => "fc",
        };
        let mut named = OsString::from("--ccnuma-compiler=");
        named.push(real);
        vec![subcommand.into(), named]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_compilers() {
        let called = |name: &str| called_as(&name.into()).map_err(|_| ());
        assert_eq!(called("/usr/bin/ccnuma-cxx"), Ok(vec!["cxx".into()]));
        assert_eq!(called("ccnuma-cc"), Ok(vec!["cc".into()]));
        for other in ["ccnuma", "ccnuma-", "ccnuma-c", "x", "x-ccnuma"] {
            assert_eq!(called(other), Ok(Vec::new()), "{other}");
        }
        assert_eq!(called("no-such-target-gcc"), Err(()));
    }
}
