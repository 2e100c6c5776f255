//! The preamble of a trace: whose the samples are, and what could not be seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Origin of a trace: machine, program, time, and sources.
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
    /// The clock of the times: `CLOCK_MONOTONIC`, `simulated time`.
    pub clock: String,
    /// Nanoseconds from one written sample to the next, as asked for.
    pub interval_ns: u64,
    /// Nanoseconds from one reading of the registers to the next: less if they are narrow.
    pub reading_ns: u64,
    /// Numbers for formulas: `line_bytes`, `bus_bytes_per_second`.
    #[serde(default)]
    pub constants: BTreeMap<String, f64>,
    /// The sources, each with what it sees and what not.
    #[serde(default)]
    pub sources: Vec<SourceDescription>,
}

/// Description of a source on this machine.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceDescription {
    /// Its name.
    pub name: String,
    /// Data that it sees, a line each.
    pub sees: Vec<String>,
    /// Data that it does not see here.
    pub blind: Vec<Blind>,
}

/// Something that a source cannot see here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blind {
    /// The missing data.
    pub what: String,
    /// Why.
    pub why: String,
    /// The remedy; empty if nothing helps.
    pub advice: String,
}

impl Blind {
    /// All three.
    pub fn new(what: impl Into<String>, why: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), advice: advice.into() }
    }
}
