//! Runs of programs on disk: what an interrupted reproduction need not run again.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use record::{Format, ReadError, RecordWriter, SimulationRow, WriteError, read_rows};

use crate::Simulation;

/// The runs that there are, and the file that new ones go to.
#[derive(Default)]
pub struct Journal {
    known: Vec<SimulationRow>,
    file: Option<Mutex<Destination>>,
}

struct Destination {
    writer: RecordWriter<File, SimulationRow>,
    /// The first failure: later runs are not written any more.
    failure: Option<WriteError>,
}

/// Why runs cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be had, or does not hold runs.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<std::io::Error> for JournalError {
    fn from(error: std::io::Error) -> Self {
        Self::Read(error.into())
    }
}

impl Journal {
    /// The journal in the file at `path`, from which the runs of earlier invocations are taken if `resume` says so; else it begins
    /// anew.
    ///
    /// # Errors
    /// When the file cannot be read or written, or holds something else.
    pub fn open(path: &Path, resume: bool) -> Result<Self, JournalError> {
        let known: Vec<SimulationRow> = match File::open(path) {
            Ok(file) if resume => read_rows(BufReader::new(file))?,
            _ => Vec::new(),
        };
        // Written again whole: what is after a torn line would be lost with it.
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        file.flush()?;
        let mut writer = RecordWriter::new(Format::JsonLines, file);
        known.iter().try_for_each(|row| writer.write(row))?;
        Ok(Self { known, file: Some(Mutex::new(Destination { writer, failure: None })) })
    }

    /// The record of an equal run, if there is one.
    pub fn find(&self, simulation: &Simulation) -> Option<SimulationRow> {
        self.known.iter().find(|row| simulation.would_make(row)).cloned()
    }

    /// Keeps a run: it is on disk when this returns.
    pub fn keep(&self, row: &SimulationRow) {
        let Some(file) = &self.file else { return };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.failure.is_none() {
            file.failure = file.writer.write(row).err();
        }
    }

    /// Whether all was kept.
    ///
    /// # Errors
    /// The first failure to write.
    pub fn close(self) -> Result<(), JournalError> {
        let file = self.file.map(|file| file.into_inner().unwrap_or_else(PoisonError::into_inner));
        match file.and_then(|file| file.failure) {
            None => Ok(()),
            Some(failure) => Err(failure.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use sim::Options;
    use workloads::{Settings, Workload};

    use super::*;

    fn simulation(seed: u64, cpus: u16) -> Simulation {
        let settings = Settings::default().with("lines", 8);
        let workload = Workload::new("migratory", &settings).expect("a program");
        let description = machine::load("flash-4p").expect("a machine");
        Simulation::new(description, workload, Some(cpus), Options { seed, ..Options::default() }).expect("it fits")
    }

    #[test]
    fn a_run_is_found_again_and_no_other() {
        let path = std::env::temp_dir().join(format!("journal-{}", std::process::id()));
        let row = simulation(3, 2).run().expect("it runs").row;
        let journal = Journal::open(&path, true).expect("a new file");
        assert!(journal.find(&simulation(3, 2)).is_none());
        journal.keep(&row);
        journal.close().expect("kept");
        let again = Journal::open(&path, true).expect("a file of runs");
        assert_eq!(again.find(&simulation(3, 2)), Some(row.clone()));
        assert!(again.find(&simulation(4, 2)).is_none() && again.find(&simulation(3, 4)).is_none());
        again.close().expect("nothing to keep");
        assert!(Journal::open(&path, true).expect("runs").find(&simulation(3, 2)).is_some(), "still there");
        assert!(Journal::open(&path, false).expect("a file").find(&simulation(3, 2)).is_none(), "begun anew");
        std::fs::remove_file(&path).expect("removable");
    }
}
