//! `ccnuma shims`: links that are called as compilers are and build programs for simulation.

use std::path::PathBuf;

use clap::Args;
use frontend::compiler::shims;

use crate::failure::Failure;
use crate::output::print;

/// Make links named as compilers (gcc, g++, clang, gfortran, mpicc ...) for builds that do not take a compiler of several words
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma shims ~/shims && PATH=~/shims:$PATH make
  ccnuma shims ~/shims gcc-12 g++-12        only these names

Each link acts as `ccnuma cc`, `cxx` or `fc` with the next compiler of its name in PATH, and accepts their flags (`ccnuma help cc`).
Makefiles that examine the compiler's name (ifeq ($(CC),gcc)) see the name that they expect.")]
pub struct ShimsCommand {
    /// The folder, which is made if it is not there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Names of compilers, with a version or a target if need be [default: all common ones that are installed].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

impl ShimsCommand {
    /// Makes the links, and tells which.
    ///
    /// # Errors
    /// A name is no compiler's, or the folder cannot be written to.
    pub fn run(self) -> Result<(), Failure> {
        let made = shims::make(&self.folder, &self.names).map_err(Failure::input)?;
        for (name, real) in &made {
            print(format!("{} builds by {}\n", self.folder.join(name).display(), real.display()))?;
        }
        print(format!("use them: PATH={}:$PATH make\n", self.folder.display()))
    }
}
