//! What stands before the samples: whose they are, and what could not be seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was observed, by whom, when.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Preamble {
    /// The machine in one line: what `uname` tells, or a simulated machine's name.
    pub machine: String,
    /// Whether time and counts are those of a simulation.
    #[serde(default)]
    pub simulated: bool,
    /// The model of a real machine's processor, if it is known.
    #[serde(default)]
    pub processor: Option<String>,
    /// The whole description of a simulated machine, as TOML, or other facts about the computer.
    #[serde(default)]
    pub description: String,
    /// The program and its arguments; empty if nothing was started.
    #[serde(default)]
    pub command: Vec<String>,
    /// When it began, in nanoseconds since 1970 UTC; zero in a simulation, whose bytes are the same every time.
    pub started_unix_ns: u64,
    /// What the times are read from: `CLOCK_MONOTONIC`, `simulated time`.
    pub clock: String,
    /// Nanoseconds from one written sample to the next, as asked for.
    pub interval_ns: u64,
    /// Nanoseconds from one reading of the registers to the next: less if they are narrow.
    pub reading_ns: u64,
    /// Numbers for formulas: `line_bytes`, `bus_bytes_per_second`.
    #[serde(default)]
    pub constants: BTreeMap<String, f64>,
    /// What each source sees and does not.
    #[serde(default)]
    pub sources: Vec<SourceDescription>,
}

/// What a source can tell on this machine.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceDescription {
    /// What it is called.
    pub name: String,
    /// What it sees, a line each.
    pub sees: Vec<String>,
    /// What it does not see here.
    pub blind: Vec<Blind>,
}

/// Something that a source cannot see here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blind {
    /// What is missing.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do about it; empty if nothing helps.
    pub advice: String,
}

impl Blind {
    /// All three.
    pub fn new(what: impl Into<String>, why: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), advice: advice.into() }
    }
}
