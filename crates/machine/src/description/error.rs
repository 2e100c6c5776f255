//! Errors of machine descriptions, each reported in one line.

use std::fmt;

use thiserror::Error;

/// The origin of a key: a line of a file, or the machine name that sets it (`flash-8p`, `arctic+l2.ways=2`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The file as it was named, a built-in's name under `machines/`, or the name of the machine.
    pub file: String,
    /// The line of the key, counted from 1; none in a name.
    pub line: Option<usize>,
    /// The comment behind the value, such as where it is from.
    pub comment: Option<String>,
}

impl Origin {
    /// The origin as a message prefix; empty for a name, which the caller reports.
    fn prefix(&self) -> String {
        self.line.map_or_else(String::new, |_| format!("{self}: "))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// A key as it stands in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its origin.
    pub at: Origin,
    /// The key with its table: `l2.size_mib`.
    pub key: String,
    /// The value as written; empty for a word that stands by itself in a machine's name.
    pub value: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.at.prefix(), self.key)?;
        if self.value.is_empty() { Ok(()) } else { write!(f, " = {}", self.value) }
    }
}

/// The reason why a description is rejected: the place, the key and its value, the fault, and the accepted values.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum DescriptionError {
    /// Neither a built-in, a parametric name, nor a path.
    #[error("machine = {}: unknown machine{}; accepted: {accepted}", crate::description::kind::quoted(name), did_you_mean(nearest.as_deref()))]
    UnknownMachine {
        /// The given name.
        name: String,
        /// The nearest known name, if one is near.
        nearest: Option<String>,
        /// The known names, and the pattern of the parametric ones.
        accepted: String,
    },
    /// The file cannot be read.
    #[error("{path}: cannot be read: {reason}; accepted: a machine description in TOML")]
    Unreadable {
        /// The file.
        path: String,
        /// The operating system's reason.
        reason: String,
    },
    /// The file is not TOML.
    #[error("{}not valid TOML: {message}", at.prefix())]
    Syntax {
        /// The position at which parsing stopped.
        at: Origin,
        /// The message of the TOML reader, in one line.
        message: String,
    },
    /// No key or table has this name.
    #[error("{entry}: unknown key{}; accepted: {accepted}", did_you_mean(nearest.as_deref()))]
    UnknownKey {
        /// The key.
        entry: Box<Entry>,
        /// The nearest known key, if one is near.
        nearest: Option<String>,
        /// The keys of the table.
        accepted: String,
    },
    /// The key lacks the unit suffix of an existing key.
    #[error("{entry}: the unit is missing from the key; did you mean {intended}? accepted: {accepted}")]
    MissingUnit {
        /// The key.
        entry: Box<Entry>,
        /// The key with its unit.
        intended: String,
        /// The accepted values of that key.
        accepted: String,
    },
    /// The value has another type than the key's.
    #[error("{entry}: {found} is not accepted here; accepted: {accepted}")]
    WrongType {
        /// The key.
        entry: Box<Entry>,
        /// The type it has.
        found: &'static str,
        /// The accepted values of the key.
        accepted: String,
    },
    /// The value has the right type and is impossible.
    #[error("{entry}: {reason}; accepted: {accepted}")]
    Impossible {
        /// The key.
        entry: Box<Entry>,
        /// The fault.
        reason: String,
        /// The accepted values of the key.
        accepted: String,
    },
    /// No file of the inheritance gives the key.
    #[error("{}{key} is missing, here and in what is inherited; accepted: {accepted}", at.prefix())]
    Missing {
        /// The file or machine that was loaded.
        at: Origin,
        /// The key with its table.
        key: String,
        /// The accepted values of the key.
        accepted: String,
    },
    /// A description inherits itself, directly or through others.
    #[error("{entry}: circular inheritance ({chain}); accepted: a machine that does not inherit this one")]
    Circle {
        /// The `inherit` key that closes the circle.
        entry: Box<Entry>,
        /// The files of the circle in order.
        chain: String,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"))
}
