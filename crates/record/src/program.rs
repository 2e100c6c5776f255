//! Listings of programs.

use serde::{Deserialize, Serialize};

use crate::Row;

/// A parameter of a program in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRow {
    /// The program.
    pub program: String,
    /// What it does.
    pub summary: String,
    /// The parameter.
    pub parameter: String,
    /// Its value unless another is given.
    pub default: u64,
    /// The smallest accepted value.
    pub least: u64,
    /// The largest accepted value.
    pub most: u64,
    /// What it means.
    pub meaning: String,
}

impl Row for ProgramRow {
    const COLUMNS: &'static [&'static str] =
        &["program", "summary", "parameter", "default", "least", "most", "meaning"];
}
