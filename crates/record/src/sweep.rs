//! Listings of the runs of a sweep.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Row;

/// How far a run of a sweep is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Its records are in the directory of the sweep.
    Done,
    /// A process has claimed it.
    Running,
    /// No process has claimed it yet, or the one that had is gone.
    Left,
}

impl RunState {
    /// The state as records name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Left => "left",
        }
    }
}

/// The kind of work that a run of a sweep does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// A program on a simulated machine.
    Sim,
    /// An experiment of a suite on a simulated machine.
    Bench,
}

/// A run of a sweep in a list. Fields that a kind of work does not have are absent (`null`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRunRow {
    /// A hash of the software's version and commit, the machine's whole description, the work with all its parameters, and the
    /// seed, in hexadecimal. Runs of one key have equal records.
    pub key: String,
    /// How far it is.
    pub state: RunState,
    /// The kind of work.
    pub work: Work,
    /// The run in words.
    pub run: String,
    /// The machine.
    pub machine: String,
    /// The coherence protocol.
    pub protocol: String,
    /// Seed of random choices.
    pub seed: u64,
    /// The program.
    pub program: Option<String>,
    /// The program's parameters.
    pub parameters: BTreeMap<String, u64>,
    /// How many processors the program can use.
    pub cpus: Option<u32>,
    /// The policy that places the program's pages, and moves them.
    pub placement: Option<String>,
    /// The scheduler.
    pub scheduler: Option<String>,
    /// How threads meet at barriers.
    pub barrier: Option<String>,
    /// How threads take locks.
    pub locks: Option<String>,
    /// The suite.
    pub suite: Option<String>,
    /// The experiment.
    pub experiment: Option<String>,
}

impl Row for SweepRunRow {
    const KIND: &'static str = "sweep-run";
    const MAPS: &'static [&'static str] = &["parameters"];
    const COLUMNS: &'static [&'static str] = &[
        "key",
        "state",
        "work",
        "run",
        "machine",
        "protocol",
        "seed",
        "program",
        "parameters",
        "cpus",
        "placement",
        "scheduler",
        "barrier",
        "locks",
        "suite",
        "experiment",
    ];
}
