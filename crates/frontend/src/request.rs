//! The command's request to the runtime in a program, and the runtime's answer: two files, each with the name of the build that
//! wrote it, since only the same build surely understands it.

use std::path::PathBuf;

use experiments::Relocation;
use experiments::profiling::ProfileRequest;
use record::{Attribution, SimulationRow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The variable of the environment that names the file of a [`Request`]. Without it a program runs on this computer.
pub const VARIABLE: &str = "CCNUMA_SIMULATION";

/// The name of this build: the version, and a hash of all sources but the command's own.
pub const BUILD: &str = env!("CCNUMA_BUILD");

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Another build wrote it.
    #[error("written by build {theirs}, read by build {BUILD}")]
    OtherBuild {
        /// The build that wrote it.
        theirs: String,
        /// The content of the file.
        told: Value,
    },
    /// It is not what it should be.
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
}

/// A file.
#[derive(Serialize, Deserialize)]
struct Told<T> {
    build: String,
    told: T,
}

/// Whoever wrote it.
#[derive(Deserialize)]
struct Writer {
    #[serde(default)]
    build: String,
}

/// A file that tells `what`.
///
/// # Errors
/// It cannot be told: a number is none.
pub fn written<T: Serialize>(what: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Told { build: BUILD.to_owned(), told: what })
}

/// The content of a file.
///
/// # Errors
/// It was not written by this build, or is not what it should be.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    let Writer { build } = serde_json::from_slice(text)?;
    if build == BUILD {
        return Ok(serde_json::from_slice::<Told<T>>(text)?.told);
    }
    let told = serde_json::from_slice::<Value>(text)?["told"].take();
    let theirs = if build.is_empty() { "unknown (before builds had names)".to_owned() } else { build };
    Err(ReadError::OtherBuild { theirs, told })
}

/// A run of a program on a simulated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The program's name in records, with its arguments.
    pub program: String,
    /// The machine, all of it, as TOML.
    pub machine: String,
    /// How many processors the program may use, from the first on; all without.
    pub cpus: Option<u16>,
    /// Seed of the hardware's random choices.
    pub seed: u64,
    /// How its threads meet; this and the next two are names of [`experiments::policies`].
    pub barrier: String,
    /// How they take locks and wait for conditions.
    pub locks: String,
    /// The scheduler that decides which of them runs where.
    pub scheduler: String,
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
    /// Which counters are read meanwhile, and the file that the trace of them goes to, if any are.
    pub profile: Option<(ProfileRequest, PathBuf)>,
    /// Parts of the program's memory that are elsewhere than they would be.
    pub relocation: Relocation,
    /// The file in which the runtime tells how far it is, if somebody wants to know ([`crate::launch::Progress`]).
    pub progress: Option<PathBuf>,
    /// Where the answer goes.
    pub answer: PathBuf,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The record, if the simulation came to its end.
    pub row: Option<SimulationRow>,
    /// Time lost, by place, if causes were asked for.
    pub attribution: Option<Attribution>,
    /// The error, if anything went wrong.
    pub error: Option<String>,
    /// The program's own exit status.
    pub status: i32,
    /// Whether somebody interrupted the run: the record is of what was done until then.
    pub interrupted: bool,
    /// How fast the simulation was.
    pub speed: Option<String>,
    /// Notes for a reader of the record: what was not simulated.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_same_build_wrote_is_read() {
        let answer = Answer { status: 3, ..Answer::default() };
        let text = written(&answer).expect("it can be told");
        assert_eq!(read::<Answer>(&text).expect("the same build"), answer);
        let other = String::from_utf8(text).expect("text").replace(BUILD, "0.0.1-0");
        match read::<Answer>(other.as_bytes()) {
            Err(ReadError::OtherBuild { theirs, told }) => {
                assert_eq!((theirs.as_str(), told["status"].as_i64()), ("0.0.1-0", Some(3)))
            }
            other => panic!("{other:?}"),
        }
        let old = serde_json::to_vec(&answer).expect("it can be told");
        assert!(
            matches!(read::<Answer>(&old), Err(ReadError::OtherBuild { theirs, .. }) if theirs.starts_with("unknown"))
        );
        assert!(matches!(read::<Answer>(b"{"), Err(ReadError::Malformed(_))));
    }
}
