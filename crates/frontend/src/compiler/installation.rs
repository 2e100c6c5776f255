//! Where the parts that a program is built with are.

use std::env;
use std::ffi::OsString;
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

/// The folder in which cargo built this.
const BUILT_IN: &str = env!("CCNUMA_BUILT_IN");

impl Installation {
    /// The parts that belong to the running command. `CCNUMA_RUNTIME` names another runtime.
    ///
    /// # Errors
    /// There is no runtime, or no place for `ccnuma.h`.
    pub fn find() -> Result<Self, CompilerError> {
        let command = env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
        let folder = command.parent().unwrap_or(Path::new("."));
        let runtime = runtime(folder, Path::new(BUILT_IN), env::var_os("CCNUMA_RUNTIME"))?;
        let beside = [runtime.parent().unwrap_or(folder).to_path_buf(), folder.join("../include")];
        let include = folder_of_header(&beside, |name| env::var_os(name))?;
        Ok(Self { runtime, include })
    }
}

/// The runtime of a command in `folder`: the one that is named, by its path or its folder, else one that came with the command, else
/// the one that was built with it.
fn runtime(folder: &Path, built_in: &Path, named: Option<OsString>) -> Result<PathBuf, CompilerError> {
    // Cargo leaves the library of a dependency in `deps`, and beside the command only if asked for it, then perhaps an old
    // one. A test's executable is in `deps` itself.
    let of = |folder: &Path| [folder.join("deps").join(LIBRARY), folder.join(LIBRARY)];
    let candidates = match named {
        Some(named) => {
            let named = PathBuf::from(named);
            vec![if named.is_dir() { named.join(LIBRARY) } else { named }]
        }
        None => {
            let installed = ["../lib", "../lib/ccnuma"].map(|lib| folder.join(lib).join(LIBRARY));
            of(folder).into_iter().chain(installed).chain(of(built_in)).collect()
        }
    };
    let found = candidates.iter().find(|path| path.is_file()).and_then(|path| path.canonicalize().ok());
    found.ok_or_else(|| {
        // Without the folders that only builds have.
        let installed =
            candidates.into_iter().filter(|path| !path.parent().is_some_and(|folder| folder.ends_with("deps")));
        CompilerError::NoRuntime { looked_at: installed.collect(), copy_to: folder.to_path_buf() }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A command in bin, and libraries at these places beside it.
    fn installed(libraries: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().expect("a folder");
        // Linked programs name the runtime by its true path.
        let at = root.path().canonicalize().expect("it is there");
        for folder in ["bin"].iter().chain(libraries) {
            fs::create_dir_all(at.join(folder)).expect("made");
        }
        libraries.iter().for_each(|folder| fs::write(at.join(folder).join(LIBRARY), "").expect("written"));
        (root, at)
    }

    #[test]
    fn the_runtime_is_found_where_it_came_with_the_command_before_where_it_was_built() {
        let places = ["bin", "lib", "lib/ccnuma", "target/release/deps", "target/release"];
        for (first, place) in places.iter().enumerate() {
            let (_root, at) = installed(&places[first..]);
            let found = runtime(&at.join("bin"), &at.join("target/release"), None).expect("a runtime");
            assert_eq!(found, at.join(place).join(LIBRARY));
        }
    }

    #[test]
    fn the_runtime_that_is_named_is_a_file_or_its_folder_and_no_other() {
        let (_root, at) = installed(&["bin", "other"]);
        let named = |path: PathBuf| runtime(&at.join("bin"), &at, Some(path.into()));
        let other = at.join("other").join(LIBRARY);
        assert_eq!(named(at.join("other")).expect("a folder"), other);
        assert_eq!(named(other.clone()).expect("a file"), other);
        assert!(named(at.join("missing")).is_err());
    }

    #[test]
    fn what_is_to_be_copied_where_is_said_if_there_is_no_runtime() {
        let (_root, at) = installed(&[]);
        let (bin, target) = (at.join("bin"), at.join("target/release"));
        let said = runtime(&bin, &target, None).expect_err("nothing is there").to_string();
        for part in
            [LIBRARY, &bin.display().to_string(), &target.display().to_string(), "CCNUMA_RUNTIME", "cargo build"]
        {
            assert!(said.contains(part), "no {part} in {said}");
        }
        assert!(!said.contains("deps"), "{said}");
    }
}
