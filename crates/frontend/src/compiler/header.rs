//! `ccnuma.h`, which travels in the command.

use std::ffi::OsString;
use std::hash::Hasher;
use std::io;
use std::path::PathBuf;

use rustc_hash::FxHasher;

use super::CompilerError;
use super::kept::{self, Kept};

/// The text of the header.
const TEXT: &str = include_str!("../../include/ccnuma.h");

struct Header;

impl Kept for Header {
    fn name(&self) -> &'static str {
        "ccnuma.h"
    }

    fn version(&self) -> String {
        let mut hasher = FxHasher::default();
        hasher.write(TEXT.as_bytes());
        format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
    }

    fn is(&self, content: &[u8]) -> bool {
        content == TEXT.as_bytes()
    }

    fn content(&self) -> io::Result<Vec<u8>> {
        Ok(TEXT.into())
    }
}

/// A folder in which the header is, the one of this command to the letter: one of `installed` if it lies there, else one of the
/// user's, into which it is put. `variable` reads the environment.
///
/// # Errors
/// It can be put nowhere.
pub fn folder_of_header(
    installed: &[PathBuf],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, CompilerError> {
    match installed.iter().find(|folder| kept::is_in(&Header, folder)) {
        Some(folder) => Ok(folder.clone()),
        None => kept::folder_of(&Header, variable),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_installed_comes_before_what_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (installed, home) = (folder.path().join("installed"), folder.path().join("home"));
        fs::create_dir(&installed).expect("made");
        let variable = |name: &str| (name == "HOME").then(|| home.clone().into());
        let kept = home.join(".cache/ccnuma").join(Header.version());
        // One of another version is not taken.
        fs::write(installed.join("ccnuma.h"), "#error").expect("written");
        let candidates = [folder.path().to_path_buf(), installed.clone()];
        assert_eq!(folder_of_header(&candidates, variable).expect("a folder"), kept);
        assert_eq!(fs::read_to_string(kept.join("ccnuma.h")).expect("read"), TEXT);
        fs::write(installed.join("ccnuma.h"), TEXT).expect("written");
        assert_eq!(folder_of_header(&candidates, variable).expect("a folder"), installed);
    }
}
