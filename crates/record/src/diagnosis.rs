//! Findings of a diagnosis: why a program is not faster, and what would help.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Row;

/// A finding of a diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRow {
    /// The program.
    pub program: String,
    /// The machine.
    pub machine: String,
    /// How many processors took part.
    pub cpus: u32,
    /// Its place among the findings, from 1: what gains most comes first.
    pub rank: u32,
    /// The class of fault.
    pub class: String,
    /// The data that it is about, if it is about some.
    pub object: Option<String>,
    /// The place of the program, if that is known.
    pub place: Option<String>,
    /// Its estimated cost, in percent of the run's processor time.
    pub cost_pct: f64,
    /// The upper bound of the gain of any remedy, in percent of the run's time; absent where the run does not determine it.
    pub bound_pct: Option<f64>,
    /// By how much the run became shorter when the remedy was tried, in percent; absent where it was not.
    pub gain_pct: Option<f64>,
    /// The measurements that it follows from.
    pub evidence: String,
    /// The proposed change.
    pub remedy: String,
    /// The trial of the remedy on a simulated machine, in words.
    pub trial: Option<String>,
}

impl Row for FindingRow {
    const KIND: &'static str = "finding";
    const COLUMNS: &'static [&'static str] = &[
        "program",
        "machine",
        "cpus",
        "rank",
        "class",
        "object",
        "place",
        "cost_pct",
        "bound_pct",
        "gain_pct",
        "evidence",
        "remedy",
        "trial",
    ];
}
