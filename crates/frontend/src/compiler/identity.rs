//! Which compiler does the work: by what the user names, else the first that is installed; and of which family it is.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};

use super::CompilerError;
use super::response::words;
use super::shims::path_of_compilers;

/// The language whose compiler is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C: `ccnuma cc`.
    C,
    /// C++: `ccnuma cxx`.
    Cxx,
    /// Fortran: `ccnuma fc`.
    Fortran,
}

impl Language {
    /// The compilers that are tried if none is named, best known first.
    const fn defaults(self) -> &'static [&'static str] {
        match self {
            Self::C => &["gcc", "clang"],
            Self::Cxx => &["g++", "clang++"],
            Self::Fortran => &["gfortran"],
        }
    }

    /// The environment variable that names the compiler.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::C => "CCNUMA_CC",
            Self::Cxx => "CCNUMA_CXX",
            Self::Fortran => "CCNUMA_FC",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cxx => "C++",
            Self::Fortran => "Fortran",
        }
    }
}

/// Compilers that spell the instrumentation alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// gcc, g++, gfortran.
    Gnu,
    /// clang, clang++.
    Clang,
}

/// A compiler: how it is started, and what it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiler {
    /// The program, and arguments that come before all others (`ccache gcc`).
    pub words: Vec<OsString>,
    /// Its family.
    pub family: Family,
    /// Whether it can trace loads and stores for coverage, as clang does since version 14.
    pub traces: bool,
}

impl Compiler {
    /// The compiler of `language`: `named` by a flag, or by the language's variable, or the first default that can be started.
    ///
    /// # Errors
    /// None can be started, or it is of no known family.
    pub fn find(language: Language, named: Option<&OsStr>) -> Result<Self, CompilerError> {
        let variable = env::var_os(language.variable()).filter(|value| !value.is_empty());
        let named = named.map(|name| ("--ccnuma-compiler", name.to_owned()));
        if let Some((from, name)) = named.or_else(|| variable.map(|name| (language.variable(), name))) {
            let words = name
                .to_str()
                .map_or_else(|| vec![name.clone()], |text| words(text).into_iter().map(OsString::from).collect());
            let said = say_version(&words).map_err(|error| CompilerError::CannotStart { from, name, error })?;
            return Self::of(words, &said);
        }
        for default in language.defaults() {
            let words = vec![OsString::from(default)];
            if let Ok(said) = say_version(&words) {
                return Self::of(words, &said);
            }
        }
        let tried = language.defaults().join(", ");
        Err(CompilerError::NotFound { language: language.name(), tried, variable: language.variable() })
    }

    fn of(words: Vec<OsString>, said: &str) -> Result<Self, CompilerError> {
        match family_of(said) {
            Some(family) => {
                Ok(Self { words, family, traces: family == Family::Clang && clang_version(said) >= Some(14) })
            }
            None => {
                let name = words.first().cloned().unwrap_or_default();
                Err(CompilerError::UnknownFamily { name, said: said.lines().next().unwrap_or_default().to_owned() })
            }
        }
    }
}

/// The text that a compiler prints about itself.
fn say_version(words: &[OsString]) -> std::io::Result<String> {
    let (program, arguments) = words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    if let Some(path) = path_of_compilers() {
        command.env("PATH", path);
    }
    let said = command.args(arguments).arg("--version").stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// The family of a compiler that prints this about itself. gcc names itself as it was called (`cc (Debian ...) 12.2.0`), but always
/// the foundation that has its copyright.
fn family_of(said: &str) -> Option<Family> {
    let first = said.lines().next().unwrap_or_default();
    if first.contains("clang version") {
        Some(Family::Clang)
    } else if said.contains("Free Software Foundation") {
        Some(Family::Gnu)
    } else {
        None
    }
}

/// The first number of the version of a clang that prints this about itself.
fn clang_version(said: &str) -> Option<u32> {
    let (_, version) = said.split_once("clang version ")?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clangs_trace_references_since_version_14() {
        for (said, traces) in [
            ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", true),
            ("Ubuntu clang version 18.1.3 (1ubuntu1)\n", true),
            ("clang version 9.0.1-12\n", false),
            ("clang version unknown\n", false),
            ("cc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n", false),
        ] {
            let compiler = Compiler::of(vec!["cc".into()], said).expect("a family");
            assert_eq!(compiler.traces, traces, "{said}");
        }
    }

    #[test]
    fn families_are_told_by_what_compilers_say() {
        let gnu = "cc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n";
        assert_eq!(family_of(gnu), Some(Family::Gnu));
        let fortran = "GNU Fortran (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.";
        assert_eq!(family_of(fortran), Some(Family::Gnu));
        assert_eq!(family_of("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n"), Some(Family::Clang));
        assert_eq!(family_of("flang-new version 17.0.6\n"), None);
        assert_eq!(family_of(""), None);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let missing =
            Compiler::find(Language::C, Some(OsStr::new("no-such-compiler -m64"))).expect_err("there is none");
        assert!(
            missing.to_string().starts_with("--ccnuma-compiler \"no-such-compiler -m64\": cannot be started"),
            "{missing}"
        );
        let other = Compiler::of(vec!["rustc".into()], "rustc 1.95.0\nmore").expect_err("no compiler of C").to_string();
        assert!(other.starts_with("\"rustc\" says it is \"rustc 1.95.0\"; accepted: gcc"), "{other}");
    }
}
