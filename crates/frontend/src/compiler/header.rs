//! `ccnuma.h`, which travels in the command and is put where compilers find it.
//!
//! Lists of dependences name the header, and builds look for it again days later: so it lies at a place that stays, not in a folder
//! of one compilation.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustc_hash::FxHasher;

use super::CompilerError;

/// Its name.
const NAME: &str = "ccnuma.h";
/// What stands in it.
const TEXT: &str = include_str!("../../include/ccnuma.h");

/// A folder in which the header is, the one of this command to the letter: one of `installed` if it lies there, else one of the
/// user's, into which it is put. `variable` tells variables of the environment.
///
/// # Errors
/// Nowhere can it be put.
pub fn folder_of_header(
    installed: &[PathBuf],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, CompilerError> {
    if let Some(folder) = installed.iter().find(|folder| is_in(folder)) {
        return Ok(folder.clone());
    }
    let version = version();
    let kept = cache(&variable).map(|cache| cache.join("ccnuma").join(&version));
    // SAFETY: it only tells a number.
    let user = unsafe { libc::geteuid() };
    let passing = absolute(&variable, "TMPDIR").unwrap_or_else(std::env::temp_dir);
    let passing = passing.join(format!("ccnuma-{user}-{version}"));
    if let Some(folder) = kept.filter(|folder| put(folder).is_ok()) {
        return Ok(folder);
    }
    match own(&passing, user).and_then(|()| put(&passing)) {
        Ok(()) => Ok(passing),
        Err(error) => Err(CompilerError::Header { folder: passing, error }),
    }
}

/// The user's folder for what can be made again (XDG Base Directory Specification 0.8).
fn cache(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    absolute(variable, "XDG_CACHE_HOME").or_else(|| absolute(variable, "HOME").map(|home| home.join(".cache")))
}

/// The folder that a variable names, if it is one from the root on.
fn absolute(variable: &impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Names what stands in the header: commands of different builds do not take each other's away.
fn version() -> String {
    let mut hasher = FxHasher::default();
    hasher.write(TEXT.as_bytes());
    format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
}

/// Whether this header is in a folder.
fn is_in(folder: &Path) -> bool {
    fs::read(folder.join(NAME)).is_ok_and(|found| found == TEXT.as_bytes())
}

/// Puts the header into a folder, unless it is there. Whoever reads it meanwhile sees all of it or what was there before.
fn put(folder: &Path) -> io::Result<()> {
    if is_in(folder) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(TEXT.as_bytes())?;
    file.persist(folder.join(NAME))?;
    Ok(())
}

/// Makes sure that a folder, where everybody may make such, is one of this user's that nobody else writes to.
fn own(folder: &Path, user: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not a folder of this user's alone"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// The folder in an environment of these variables alone.
    fn found(installed: &[PathBuf], variables: &[(&str, &Path)]) -> Result<PathBuf, CompilerError> {
        let variable = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.into());
        folder_of_header(installed, variable)
    }

    #[test]
    fn what_is_installed_comes_before_what_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let installed = folder.path().join("installed");
        fs::create_dir(&installed).expect("made");
        let home = folder.path().join("home");
        let kept = home.join(".cache/ccnuma").join(version());
        // One of another version is not taken.
        fs::write(installed.join(NAME), "#error").expect("written");
        let candidates = [folder.path().to_path_buf(), installed.clone()];
        assert_eq!(found(&candidates, &[("HOME", &home)]).expect("a folder"), kept);
        fs::write(installed.join(NAME), TEXT).expect("written");
        assert_eq!(found(&candidates, &[("HOME", &home)]).expect("a folder"), installed);
    }

    #[test]
    fn the_cache_is_the_users_and_what_is_wrong_in_it_is_mended() {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, cache) = (folder.path().join("home"), folder.path().join("cache"));
        let both = [("HOME", home.as_path()), ("XDG_CACHE_HOME", cache.as_path())];
        let kept = cache.join("ccnuma").join(version());
        assert_eq!(found(&[], &both).expect("a folder"), kept);
        for wrong in ["", "int ccnuma;"] {
            fs::write(kept.join(NAME), wrong).expect("written");
            assert_eq!(found(&[], &both).expect("a folder"), kept);
            assert_eq!(fs::read_to_string(kept.join(NAME)).expect("read"), TEXT);
        }
        let names: Vec<_> = fs::read_dir(&kept).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, [NAME], "nothing else is left");
        // A path that is not absolute is no path of the specification's.
        let odd = [("HOME", home.as_path()), ("XDG_CACHE_HOME", Path::new("cache"))];
        assert_eq!(found(&[], &odd).expect("a folder"), home.join(".cache/ccnuma").join(version()));
    }

    #[test]
    fn without_a_home_the_header_is_in_a_temporary_folder_of_the_users_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        // No folder can be made below a file, whoever asks.
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        for home in [None, Some(("HOME", file.as_path()))] {
            let variables: Vec<_> = home.into_iter().chain([("TMPDIR", folder.path())]).collect();
            let passing = found(&[], &variables).expect("a folder");
            assert_eq!(passing.parent(), Some(folder.path()));
            assert!(is_in(&passing) && passing == found(&[], &variables).expect("again"));
            assert_eq!(fs::metadata(&passing).expect("there").mode() & 0o777, 0o700);
            fs::remove_file(passing.join(NAME)).expect("removed");
            fs::set_permissions(&passing, fs::Permissions::from_mode(0o777)).expect("set");
            let error = found(&[], &variables).expect_err("anybody may write to it").to_string();
            assert!(error.contains("not a folder of this user's alone") && error.contains("XDG_CACHE_HOME"), "{error}");
            fs::remove_dir(&passing).expect("removed");
            symlink(folder.path(), &passing).expect("linked");
            assert!(found(&[], &variables).is_err(), "a link goes anywhere");
            fs::remove_file(&passing).expect("removed");
        }
    }
}
