//! One run of the model checker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Row;

/// How an exploration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerificationResult {
    /// Every reachable state was seen and every property holds.
    Ok,
    /// A property fails; the trace was printed beside this record.
    Counterexample,
}

/// One exploration of a protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationRow {
    /// The protocol, and its mutation if one was planted.
    pub protocol: String,
    /// How many caches took part.
    pub caches: u32,
    /// How many lines they shared.
    pub lines: u32,
    /// Distinct states reached; of a random test, the loads and stores compared.
    pub states: u64,
    /// The longest of the shortest paths from the initial state to a state; of a random test, the misses on the line that was
    /// missed on most.
    pub depth: u32,
    /// How the exploration ended.
    pub result: VerificationResult,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
}

impl Row for VerificationRow {
    const KIND: &'static str = "verification";
    const COLUMNS: &'static [&'static str] = &["protocol", "caches", "lines", "states", "depth", "result", "seconds"];
}
