//! Links to the command that are named as compilers are: for builds in which one word names the compiler, and which look at it.
//!
//! In a folder that comes first where programs are looked for, a build that calls `gcc` calls such a link, which does what `ccnuma cc`
//! does by the compiler of that name that comes next. The compiler itself is started without that folder, so that what it starts
//! (as `mpicc` does) are compilers.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{CompilerError, Language};

/// The names that compilers commonly have.
pub const NAMES: [&str; 18] = [
    "cc", "gcc", "clang", "mpicc", "c++", "g++", "clang++", "mpicxx", "mpic++", "mpiCC", "gfortran", "f77", "f95",
    "mpif77", "mpif90", "mpifort", "c89", "c99",
];

/// The language of a compiler that is called so, with a version or a target if need be: `gcc-12`, `aarch64-linux-gnu-g++`.
pub fn language_of(name: &str) -> Option<Language> {
    let known = name.split('-').find(|part| NAMES.contains(part))?;
    Some(match known {
        "c++" | "g++" | "clang++" | "mpicxx" | "mpic++" | "mpiCC" => Language::Cxx,
        "gfortran" | "f77" | "f95" | "mpif77" | "mpif90" | "mpifort" => Language::Fortran,
        _ => Language::C,
    })
}

/// The running command's file.
fn command() -> Option<PathBuf> {
    env::current_exe().and_then(|path| path.canonicalize()).ok()
}

/// The first program of this name that is found and is not the command `ours`.
fn next(name: &OsStr, path: &OsStr, ours: Option<&Path>) -> Option<PathBuf> {
    let candidates = env::split_paths(path).map(|folder| folder.join(name));
    candidates.into_iter().find(|file| {
        let real = file.canonicalize().ok().filter(|real| real.is_file());
        real.is_some_and(|real| Some(real.as_path()) != ours)
    })
}

/// The compiler whose place a link of this name takes, if the name is that of one.
///
/// # Errors
/// There is no other program of that name.
pub fn behind(name: &str) -> Result<Option<(Language, PathBuf)>, CompilerError> {
    let Some(language) = language_of(name) else { return Ok(None) };
    let path = env::var_os("PATH").unwrap_or_default();
    match next(OsStr::new(name), &path, command().as_deref()) {
        Some(real) => Ok(Some((language, real))),
        None => Err(CompilerError::NothingBehind(name.to_owned())),
    }
}

/// Where programs are looked for, folders left out in which compilers' names are links to the running command; none if there are none.
pub fn path_of_compilers() -> Option<OsString> {
    let (path, ours) = (env::var_os("PATH")?, command()?);
    let is_link = |file: PathBuf| file.is_symlink() && file.canonicalize().is_ok_and(|real| real == ours);
    let has_links = |folder: &PathBuf| {
        let Ok(entries) = fs::read_dir(folder) else { return false };
        let named = entries
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(|name| language_of(name).is_some()));
        named.map(|entry| entry.path()).any(is_link)
    };
    let all: Vec<PathBuf> = env::split_paths(&path).collect();
    let kept: Vec<PathBuf> = all.iter().filter(|folder| !has_links(folder)).cloned().collect();
    if kept.len() == all.len() { None } else { env::join_paths(kept).ok() }
}

/// Makes links in `folder`: of these names, or without any of all common ones whose compilers there are. The names, each with the
/// compiler behind it.
///
/// # Errors
/// A name is no compiler's, or there is none of it; the folder cannot be written to, or has something else of that name.
pub fn make(folder: &Path, names: &[String]) -> Result<Vec<(String, PathBuf)>, CompilerError> {
    let path = env::var_os("PATH").unwrap_or_default();
    let ours = command().ok_or(CompilerError::Unknown)?;
    let found = |name: &str| next(OsStr::new(name), &path, Some(&ours));
    let mut wanted = Vec::new();
    if names.is_empty() {
        wanted.extend(NAMES.iter().filter_map(|&name| Some((name.to_owned(), found(name)?))));
    }
    for name in names {
        if language_of(name).is_none() {
            return Err(CompilerError::NoName(name.clone()));
        }
        let real = found(name).ok_or_else(|| CompilerError::NothingBehind(name.clone()))?;
        wanted.push((name.clone(), real));
    }
    let failed = |path: &Path, error: io::Error| CompilerError::Shim { path: path.to_owned(), error };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, _) in &wanted {
        let link = folder.join(name);
        if link.is_symlink() && link.canonicalize().is_ok_and(|real| real == ours) {
            continue;
        }
        symlink(&ours, &link).map_err(|error| failed(&link, error))?;
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_languages() {
        for (name, language) in [
            ("gcc", Some(Language::C)),
            ("gcc-12", Some(Language::C)),
            ("x86_64-linux-gnu-g++-12", Some(Language::Cxx)),
            ("clang++", Some(Language::Cxx)),
            ("mpicc", Some(Language::C)),
            ("mpif90", Some(Language::Fortran)),
            ("ccnuma", None),
            ("gccx", None),
            ("", None),
        ] {
            assert_eq!(language_of(name), language, "{name}");
        }
    }

    #[test]
    fn what_is_behind_a_link_is_the_next_program_of_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, first, second) = (folder.path().join("ccnuma"), folder.path().join("1"), folder.path().join("2"));
        [&first, &second].into_iter().for_each(|folder| fs::create_dir(folder).expect("made"));
        fs::write(&ours, "").expect("written");
        fs::write(second.join("gcc"), "").expect("written");
        symlink(&ours, first.join("gcc")).expect("linked");
        let path = env::join_paths([&first, &second]).expect("a path");
        let ours = ours.canonicalize().expect("it is there");
        assert_eq!(next(OsStr::new("gcc"), &path, Some(&ours)), Some(second.join("gcc")));
        assert_eq!(next(OsStr::new("gcc"), first.as_os_str(), Some(&ours)), None);
    }
}
