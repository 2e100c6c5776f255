//! Listings of programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Row;

/// A parameter of a program in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRow {
    /// The program.
    pub program: String,
    /// Its behaviour, in one line.
    pub summary: String,
    /// The parameter.
    pub parameter: String,
    /// Its value unless another is given.
    pub default: u64,
    /// The smallest accepted value.
    pub least: u64,
    /// The largest accepted value.
    pub most: u64,
    /// Its meaning.
    pub meaning: String,
}

impl Row for ProgramRow {
    const KIND: &'static str = "program";
    const COLUMNS: &'static [&'static str] =
        &["program", "summary", "parameter", "default", "least", "most", "meaning"];
}
