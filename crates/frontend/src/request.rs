//! What the command asks of the runtime in a program, and what the runtime answers: two files.

use std::path::PathBuf;

use record::{Attribution, SimulationRow};
use serde::{Deserialize, Serialize};

/// The variable of the environment that names the file of a [`Request`]. Without it a program runs on this computer.
pub const VARIABLE: &str = "CCNUMA_SIMULATION";

/// A run of a program on a simulated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// What records call the program: its name and its arguments.
    pub program: String,
    /// The machine, all of it, as TOML.
    pub machine: String,
    /// How many processors the program may use, from the first on; all without.
    pub cpus: Option<u16>,
    /// Seed of the hardware's random choices.
    pub seed: u64,
    /// Whether misses are told apart by their causes.
    pub causes: bool,
    /// Whether every reference is an event of its own: slow, for tests.
    pub lock_step: bool,
    /// Whether references are only counted: no caches, no time but that of instructions.
    pub no_caches: bool,
    /// Whether time calls tell the time of this computer and not that of the simulated machine.
    pub host_time: bool,
    /// Instructions that each reference stands for beside itself, where the compiler does not count them.
    pub instructions: u32,
    /// Simulated milliseconds after which threads that run, and store nothing, are taken to wait for what never comes.
    pub spin_limit_ms: u64,
    /// The stack of a thread that asks for none of another size, in bytes.
    pub stack: u64,
    /// The file into which references are recorded, if they are.
    pub record: Option<PathBuf>,
    /// Where the answer goes.
    pub answer: PathBuf,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The record, if the simulation came to its end.
    pub row: Option<SimulationRow>,
    /// What was lost where, if causes were asked for.
    pub attribution: Option<Attribution>,
    /// What went wrong, if anything did.
    pub error: Option<String>,
    /// The program's own exit status.
    pub status: i32,
    /// How fast the simulation was.
    pub speed: Option<String>,
    /// What a reader of the record should know: what was not simulated.
    pub notes: Vec<String>,
}
