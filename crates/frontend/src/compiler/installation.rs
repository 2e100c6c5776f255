//! Where the parts that a program is built with are.

use std::env;
use std::path::{Path, PathBuf};

use super::CompilerError;
use super::header::folder_of_header;
use crate::wrapped::LIBRARY;

/// The parts that a program is built with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installation {
    /// The runtime, a shared library.
    pub runtime: PathBuf,
    /// The folder of `ccnuma.h`.
    pub include: PathBuf,
}

impl Installation {
    /// The parts that belong to the running command. `CCNUMA_RUNTIME` names another runtime.
    ///
    /// # Errors
    /// There is no runtime, or no place for `ccnuma.h`.
    pub fn find() -> Result<Self, CompilerError> {
        let command = env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
        let folder = command.parent().unwrap_or(Path::new("."));
        let runtime = match env::var_os("CCNUMA_RUNTIME") {
            Some(named) => first("CCNUMA_RUNTIME", [PathBuf::from(named)])?,
            // Cargo leaves the library of a dependency in `deps`, and beside the command only if asked for it, then perhaps an old
            // one. A test's executable is in `deps` itself.
            None => first(
                "the runtime",
                [folder.join("deps").join(LIBRARY), folder.join(LIBRARY), folder.join("../lib").join(LIBRARY)],
            )?,
        };
        let beside = [runtime.parent().unwrap_or(folder).to_path_buf(), folder.join("../include")];
        let include = folder_of_header(&beside, |name| env::var_os(name))?;
        Ok(Self { runtime, include })
    }
}

/// The first of these that exists.
fn first<const N: usize>(what: &'static str, candidates: [PathBuf; N]) -> Result<PathBuf, CompilerError> {
    let found = candidates.iter().find_map(|path| path.canonicalize().ok());
    found.ok_or_else(|| CompilerError::NotInstalled {
        what,
        path: candidates.into_iter().next_back().unwrap_or_default(),
    })
}
