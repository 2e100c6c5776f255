//! Files that travel in the command and are put into the user's cache, where compilers and the loader find them.
//!
//! Lists of dependences and linked programs name these files, and builds look for them again days later: so each lies at a place
//! that stays, in a folder that is named after its content. Commands of different builds do not replace each other's files.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::CompilerError;

/// A file that travels in the command.
pub(super) trait Kept {
    /// The name of the file.
    fn name(&self) -> &'static str;
    /// The name of its folder, another one for another content.
    fn version(&self) -> String;
    /// Whether this is its content.
    fn is(&self, content: &[u8]) -> bool;
    /// Its content.
    ///
    /// # Errors
    /// The command's copy of the file cannot be unpacked.
    fn content(&self) -> io::Result<Vec<u8>>;
}

/// Whether the file is in a folder, with this content.
pub(super) fn is_in(file: &impl Kept, folder: &Path) -> bool {
    fs::read(folder.join(file.name())).is_ok_and(|found| file.is(&found))
}

/// The folder in which the file is, put there if it was not: of the user's cache, or else of the temporary folder. `variable` reads
/// the environment.
///
/// # Errors
/// Neither can be written to.
pub(super) fn folder_of(
    file: &impl Kept,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, CompilerError> {
    let [kept, passing] = folders(file, variable);
    if let Some(folder) = kept.filter(|folder| put(file, folder).is_ok()) {
        return Ok(folder);
    }
    let passing = passing.unwrap_or_default();
    match own(&passing, user()).and_then(|()| put(file, &passing)) {
        Ok(()) => Ok(passing),
        Err(error) => Err(CompilerError::NotKept { name: file.name(), folder: passing, error }),
    }
}

/// Puts the file back where `names` says that somebody needs it, if that is one of the folders where this command puts it.
///
/// # Errors
/// It cannot be put there.
pub(super) fn restore(
    file: &impl Kept,
    variable: impl Fn(&str) -> Option<OsString>,
    names: impl Fn(&Path) -> bool,
) -> Result<(), CompilerError> {
    let [kept, passing] = folders(file, variable);
    let passing = passing.filter(|folder| names(&folder.join(file.name())));
    let kept = kept.filter(|folder| names(&folder.join(file.name())));
    let failed = |folder: &Path, error| CompilerError::NotKept { name: file.name(), folder: folder.into(), error };
    if let Some(folder) = kept {
        put(file, &folder).map_err(|error| failed(&folder, error))?;
    }
    if let Some(folder) = passing {
        own(&folder, user()).and_then(|()| put(file, &folder)).map_err(|error| failed(&folder, error))?;
    }
    Ok(())
}

/// The folder of the user's cache, and the temporary one.
fn folders(file: &impl Kept, variable: impl Fn(&str) -> Option<OsString>) -> [Option<PathBuf>; 2] {
    let version = file.version();
    let kept = cache(&variable).map(|cache| cache.join("ccnuma").join(&version));
    let passing = absolute(&variable, "TMPDIR").unwrap_or_else(std::env::temp_dir);
    [kept, Some(passing.join(format!("ccnuma-{}-{version}", user())))]
}

fn user() -> u32 {
    // SAFETY: it only returns a number.
    unsafe { libc::geteuid() }
}

/// The user's folder for what can be made again (XDG Base Directory Specification 0.8).
fn cache(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    absolute(variable, "XDG_CACHE_HOME").or_else(|| absolute(variable, "HOME").map(|home| home.join(".cache")))
}

/// The folder that a variable names, if it is one from the root on.
fn absolute(variable: &impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Puts the file into a folder, unless it is there. Readers see all of it or what was there before.
fn put(file: &impl Kept, folder: &Path) -> io::Result<()> {
    if is_in(file, folder) {
        return Ok(());
    }
    let content = file.content()?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut aside = tempfile::NamedTempFile::new_in(folder)?;
    aside.write_all(&content)?;
    aside.persist(folder.join(file.name()))?;
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

    const NAME: &str = "kept.txt";
    const TEXT: &str = "what travels";

    struct Text;

    impl Kept for Text {
        fn name(&self) -> &'static str {
            NAME
        }

        fn version(&self) -> String {
            "1-abc".to_owned()
        }

        fn is(&self, content: &[u8]) -> bool {
            content == TEXT.as_bytes()
        }

        fn content(&self) -> io::Result<Vec<u8>> {
            Ok(TEXT.into())
        }
    }

    /// An environment of these variables alone.
    fn environment(variables: &[(&str, &Path)]) -> impl Fn(&str) -> Option<OsString> {
        move |name| Some(variables.iter().find(|(known, _)| *known == name)?.1.into())
    }

    fn found(variables: &[(&str, &Path)]) -> Result<PathBuf, CompilerError> {
        folder_of(&Text, environment(variables))
    }

    #[test]
    fn the_cache_is_the_users_and_what_is_wrong_in_it_is_mended() {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, cache) = (folder.path().join("home"), folder.path().join("cache"));
        let both = [("HOME", home.as_path()), ("XDG_CACHE_HOME", cache.as_path())];
        let kept = cache.join("ccnuma/1-abc");
        assert_eq!(found(&both).expect("a folder"), kept);
        for wrong in ["", "what was cut"] {
            fs::write(kept.join(NAME), wrong).expect("written");
            assert_eq!(found(&both).expect("a folder"), kept);
            assert_eq!(fs::read_to_string(kept.join(NAME)).expect("read"), TEXT);
        }
        let names: Vec<_> = fs::read_dir(&kept).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, [NAME], "nothing else is left");
        // A path that is not absolute is no path of the specification's.
        let odd = [("HOME", home.as_path()), ("XDG_CACHE_HOME", Path::new("cache"))];
        assert_eq!(found(&odd).expect("a folder"), home.join(".cache/ccnuma/1-abc"));
    }

    #[test]
    fn without_a_home_it_is_in_a_temporary_folder_of_the_users_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        // No folder can be made below a file, whoever asks.
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        for home in [None, Some(("HOME", file.as_path()))] {
            let variables: Vec<_> = home.into_iter().chain([("TMPDIR", folder.path())]).collect();
            let passing = found(&variables).expect("a folder");
            assert_eq!(passing.parent(), Some(folder.path()));
            assert!(is_in(&Text, &passing) && passing == found(&variables).expect("again"));
            assert_eq!(fs::metadata(&passing).expect("there").mode() & 0o777, 0o700);
            fs::remove_file(passing.join(NAME)).expect("removed");
            fs::set_permissions(&passing, fs::Permissions::from_mode(0o777)).expect("set");
            let error = found(&variables).expect_err("anybody may write to it").to_string();
            assert!(error.contains("not a folder of this user's alone") && error.contains("XDG_CACHE_HOME"), "{error}");
            fs::remove_dir(&passing).expect("removed");
            symlink(folder.path(), &passing).expect("linked");
            assert!(found(&variables).is_err(), "a link goes anywhere");
            fs::remove_file(&passing).expect("removed");
        }
    }

    #[test]
    fn what_a_program_needs_and_was_removed_is_put_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, passing) = (folder.path().join("home"), folder.path().join("tmp"));
        fs::create_dir(&passing).expect("made");
        let variables = [("HOME", home.as_path()), ("TMPDIR", passing.as_path())];
        let kept = home.join(".cache/ccnuma/1-abc").join(NAME);
        restore(&Text, environment(&variables), |_| false).expect("nothing to do");
        assert!(!home.exists(), "nobody needs it");
        restore(&Text, environment(&variables), |path| path == kept).expect("put back");
        assert_eq!(fs::read_to_string(&kept).expect("there"), TEXT);
        assert_eq!(fs::read_dir(&passing).expect("a folder").count(), 0, "nobody needs it there");
        restore(&Text, environment(&variables), |path| path.starts_with(&passing)).expect("put back");
        assert_eq!(fs::read_dir(&passing).expect("a folder").count(), 1);
    }
}
