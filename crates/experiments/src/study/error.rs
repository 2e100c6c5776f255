//! Why a study cannot be run: the place in its file, what is wrong, and what is accepted.

use std::fmt;

use thiserror::Error;

/// A place in a study.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A key as it stands in a study.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The place of the value.
    pub at: Place,
    /// The key, with its block.
    pub key: String,
    /// The value as written.
    pub value: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} = {}", self.at, self.key, self.value)
    }
}

/// Why a study cannot be run.
#[derive(Debug, Error)]
pub enum StudyError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {reason}; accepted: a study in TOML, as `ccnuma sweep --help` shows one")]
    Unreadable {
        /// The file.
        file: String,
        /// The reason of the operating system.
        reason: String,
    },
    /// The file is not TOML.
    #[error("{at}: not valid TOML: {message}")]
    Syntax {
        /// The place at which reading stopped.
        at: Place,
        /// The message of the TOML reader, in one line.
        message: String,
    },
    /// No key has this name.
    #[error("{at}: {key}: there is no such key{}; accepted: {accepted}", did_you_mean(nearest.as_deref()))]
    UnknownKey {
        /// The place of the key.
        at: Place,
        /// The key, with its block.
        key: String,
        /// The nearest known key, if one is near.
        nearest: Option<String>,
        /// The keys that there are.
        accepted: String,
    },
    /// A value cannot stand where it does.
    #[error("{entry}: {reason}; accepted: {accepted}")]
    Value {
        /// The key with the value.
        entry: Box<Entry>,
        /// The fault.
        reason: String,
        /// The accepted values.
        accepted: String,
    },
    /// A key that a block needs is missing.
    #[error("{at}: {key} is missing; accepted: {accepted}")]
    Missing {
        /// The place of the block.
        at: Place,
        /// The key.
        key: String,
        /// The accepted values.
        accepted: String,
    },
    /// The study has no block.
    #[error("{file}: there is no work in it; accepted: [[sim]] or [[bench]], as `ccnuma sweep --help` shows them")]
    Empty {
        /// The file.
        file: String,
    },
    /// A machine, a program or a policy refuses what is asked of it.
    #[error("{at}: {reason}")]
    Refused {
        /// The place of what asks for it.
        at: Place,
        /// The refusal, with what is accepted.
        reason: String,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"))
}
