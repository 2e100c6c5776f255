//! Gains of other settings of a machine, of memory placement or of threads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Row;

/// A setting that a program was tried with on a simulated machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdviceRow {
    /// The program.
    pub program: String,
    /// The machine as it is.
    pub machine: String,
    /// How many processors the program could use.
    pub cpus: u32,
    /// Its place among the settings, from 1: the fastest comes first.
    pub rank: u32,
    /// The kind of change to the machine as it is: `placement`, `memory-mode`, `prefetchers`, `threads`, several of them
    /// (`together`), or none (`present`).
    pub kind: String,
    /// The setting in words.
    pub setting: String,
    /// The machine with the setting, as `ccnuma sim -m` takes it; absent where pages are placed one by one.
    pub variant: Option<String>,
    /// Simulated time of the measured part of the program, in nanoseconds.
    pub time_ns: f64,
    /// By how much the run was shorter than the present one, in percent of the present time.
    pub gain_pct: f64,
    /// Misses on lines whose home is the processor's own node, in percent of all.
    pub local_pct: f64,
    /// References that sent a request to the home.
    pub secondary_misses: u64,
    /// From a secondary miss to its end on average, in nanoseconds; absent where the simulator does not measure it.
    pub miss_latency_ns: Option<f64>,
    /// The command or firmware setting that gets it; absent for the present one.
    pub means: Option<String>,
}

impl Row for AdviceRow {
    const KIND: &'static str = "advice";
    const COLUMNS: &'static [&'static str] = &[
        "program",
        "machine",
        "cpus",
        "rank",
        "kind",
        "setting",
        "variant",
        "time_ns",
        "gain_pct",
        "local_pct",
        "secondary_misses",
        "miss_latency_ns",
        "means",
    ];
}
