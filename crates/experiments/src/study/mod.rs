//! Studies: many runs from one file, each with a key, on any number of processes that share a directory of results.

mod error;
mod expansion;
mod file;
mod label;
mod merged;
mod parquet;
mod run;
mod shard;
mod store;
mod work;

use std::path::Path;

use machine::Description;

pub use error::{Entry, Place, StudyError};
pub use merged::{Merged, MergedRun, merge};
pub use parquet::{ParquetError, write_parquet};
pub use run::{Executed, Records, StudyRun};
pub use shard::{Shard, ShardError};
pub use store::{Claim, Claimed, Store, StoreError};
pub use work::{Tally, Told, work_off};

/// The runs that a file asks for, each once, in the order of the file.
pub struct Study {
    /// The runs.
    pub runs: Vec<StudyRun>,
    /// The machines that they are on, each once, in the order of the runs.
    pub machines: Vec<Description>,
    /// Warnings about the results that come of them, a sentence each.
    pub remarks: Vec<String>,
}

impl Study {
    /// Reads the study in the file at `path`. Keys of its runs tell that they are by `software`, its version and commit.
    ///
    /// # Errors
    /// When the file cannot be read, has unknown keys, or asks for what cannot be run.
    pub fn read(path: &Path, software: &str) -> Result<Self, StudyError> {
        let file = path.display().to_string();
        let unreadable =
            |error: std::io::Error| StudyError::Unreadable { file: file.clone(), reason: error.to_string() };
        let text = input::text(path, input::HELD).map_err(unreadable)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        expansion::study(&file::blocks(&file, &text)?, folder, software)
    }

    /// The place of the run whose key begins with `start`.
    ///
    /// # Errors
    /// When there is none or several, in words.
    pub fn named(&self, start: &str) -> Result<usize, String> {
        const LEAST: usize = 8;
        let fitting = || self.runs.iter().enumerate().filter(|(_, run)| run.row.key.starts_with(start));
        let accepted = "a key of --list, or its first digits, 8 at least";
        match (start.len() >= LEAST, fitting().count()) {
            (true, 1) => fitting().next().map(|(place, _)| place).ok_or_else(|| accepted.to_owned()),
            (false, _) => Err(format!("too short for a key; accepted: {accepted}")),
            (_, 0) => Err(format!("the study has no run of this key; accepted: {accepted}")),
            (_, count) => Err(format!("{count} runs have keys that begin so; accepted: {accepted}")),
        }
    }
}
