//! Where the parts that a program is built with are.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::header::folder_of_header;
use super::{CompilerError, Enclosed, kept};
use crate::wrapped::LIBRARY;

/// The variable that names another runtime than that of the command.
const VARIABLE: &str = "CCNUMA_RUNTIME";

/// The parts that a program is built with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installation {
    /// The runtime, a shared library.
    pub runtime: PathBuf,
    /// The folder of `ccnuma.h`.
    pub include: PathBuf,
}

impl Installation {
    /// The parts that belong to the running command, which has `enclosed` in it. `CCNUMA_RUNTIME` names another runtime.
    ///
    /// # Errors
    /// There is no runtime, or no place for it or for `ccnuma.h`.
    pub fn find(enclosed: Option<&Enclosed>) -> Result<Self, CompilerError> {
        let command = env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
        let folder = command.parent().unwrap_or(Path::new("."));
        let runtime = runtime(folder, enclosed, |name| env::var_os(name))?;
        let beside = [runtime.parent().unwrap_or(folder).to_path_buf(), folder.join("../include")];
        let include = folder_of_header(&beside, |name| env::var_os(name))?;
        Ok(Self { runtime, include })
    }
}

/// The runtime of a command in `folder`: the one that is named, by its path or its folder, else one that came with the command, else
/// the one in the command, which is put into the user's cache.
fn runtime(
    folder: &Path,
    enclosed: Option<&Enclosed>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, CompilerError> {
    let found =
        |paths: &[PathBuf]| paths.iter().find_map(|path| path.canonicalize().ok().filter(|path| path.is_file()));
    if let Some(named) = variable(VARIABLE).map(PathBuf::from) {
        let named = if named.is_dir() { named.join(LIBRARY) } else { named };
        return found(std::slice::from_ref(&named)).ok_or(CompilerError::NoSuchRuntime { named });
    }
    // Cargo leaves the library of a dependency in `deps`, and beside the command only if asked for it, then perhaps an old
    // one. A test's executable is in `deps` itself.
    let places = ["deps", ".", "../lib", "../lib/ccnuma"].map(|place| folder.join(place).join(LIBRARY));
    match (found(&places), enclosed) {
        (Some(path), _) => Ok(path),
        (None, Some(enclosed)) => {
            let folder = kept::folder_of(enclosed, variable)?;
            // Linked programs name the runtime by its true path.
            Ok(folder.canonicalize().unwrap_or(folder).join(LIBRARY))
        }
        (None, None) => Err(CompilerError::NoRuntime),
    }
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

    const ENCLOSED: Enclosed = Enclosed { deflated: &[3, 0], length: 0, hash: 0xef46_db37_51d8_e999 };

    /// An environment of these variables alone.
    fn environment(variables: &[(&str, &Path)]) -> impl Fn(&str) -> Option<OsString> {
        move |name| Some(variables.iter().find(|(known, _)| *known == name)?.1.into())
    }

    #[test]
    fn the_runtime_is_found_where_it_came_with_the_command_before_it_is_unpacked() {
        let places = ["bin/deps", "bin", "lib", "lib/ccnuma"];
        for (first, place) in places.iter().enumerate() {
            let (_root, at) = installed(&places[first..]);
            let found = runtime(&at.join("bin"), Some(&ENCLOSED), environment(&[("HOME", &at)])).expect("a runtime");
            assert_eq!(found, at.join(place).join(LIBRARY));
            assert!(!at.join(".cache").exists(), "nothing had to be unpacked");
        }
    }

    #[test]
    fn a_command_alone_unpacks_its_runtime() {
        let (_root, at) = installed(&[]);
        let found = runtime(&at.join("bin"), Some(&ENCLOSED), environment(&[("HOME", &at)])).expect("a runtime");
        assert!(found.starts_with(at.join(".cache/ccnuma")) && found.is_file(), "{}", found.display());
        let error = runtime(&at.join("bin"), None, environment(&[])).expect_err("nothing is enclosed").to_string();
        assert!(error.contains("x86-64"), "{error}");
    }

    #[test]
    fn the_runtime_that_is_named_is_a_file_or_its_folder_and_no_other() {
        let (_root, at) = installed(&["bin", "other"]);
        let named = |path: PathBuf| runtime(&at.join("bin"), Some(&ENCLOSED), environment(&[(VARIABLE, &path)]));
        let other = at.join("other").join(LIBRARY);
        assert_eq!(named(at.join("other")).expect("a folder"), other);
        assert_eq!(named(other.clone()).expect("a file"), other);
        let error = named(at.join("missing")).expect_err("it is not there").to_string();
        assert!(error.contains("CCNUMA_RUNTIME") && error.contains("missing"), "{error}");
    }
}
