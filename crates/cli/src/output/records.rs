//! The open destinations of the records of one run, and what an interruption finds there.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use record::{ComputerRow, Format, Provenance, RecordWriter, Row, WriteError};

use super::file::Unfinished;
use super::{on_standard_output, print};
use crate::failure::{self, Failure};
use crate::{interruption, provenance};

/// The table that rows make.
type Table<R> = Box<dyn Fn(&[R]) -> String + Send>;

/// The open destinations of the records of one run. Clones write to the same.
///
/// A file that cannot be written to any more is given up and told of; the run goes on, and its table is printed.
pub struct Output<R: Row> {
    shared: Arc<Mutex<Shared<R>>>,
    table: bool,
}

struct Shared<R: Row> {
    destinations: Vec<Destination<R>>,
    /// Rows that are written, for the table of an interrupted run.
    rows: Vec<R>,
    written: usize,
    /// Rows whose turn has not come, by their place: an interruption writes them.
    early: BTreeMap<usize, Vec<R>>,
    table: Option<Table<R>>,
    /// The error of the first destination that was given up.
    failed: Option<String>,
}

struct Destination<R: Row> {
    /// The file; none for standard output.
    file: Option<String>,
    writer: RecordWriter<Box<dyn Write + Send>, R>,
    given_up: bool,
    /// The mark beside the file until all records are in it; none for standard output.
    unfinished: Option<Unfinished>,
}

impl<R: Row> Clone for Output<R> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), table: self.table }
    }
}

impl<R: Row + Clone + Send + 'static> Output<R> {
    /// No destination yet; `table` says whether standard output is for a table.
    pub(super) fn new(table: bool) -> Self {
        let (destinations, rows, early) = Default::default();
        let shared = Shared { destinations, rows, written: 0, early, table: None, failed: None };
        let shared = Arc::new(Mutex::new(shared));
        let account = shared.clone();
        interruption::leave_account(move || match account.try_lock() {
            Ok(mut shared) => Some(shared.account()),
            Err(TryLockError::Poisoned(shared)) => Some(shared.into_inner().account()),
            Err(TryLockError::WouldBlock) => None,
        });
        Self { shared, table }
    }

    /// Adds a destination, standard output if it is no file.
    pub(super) fn add(
        &mut self,
        file: Option<String>,
        format: Format,
        writer: Box<dyn Write + Send>,
        unfinished: Option<Unfinished>,
    ) {
        let writer = RecordWriter::new(format, writer, provenance::of_software());
        self.shared().destinations.push(Destination { file, writer, given_up: false, unfinished });
    }

    /// Changes the origin of the records that follow: without it, they tell the software alone.
    #[must_use]
    pub fn of(self, origin: &Provenance) -> Self {
        self.shared().destinations.iter_mut().for_each(|each| each.writer.set_provenance(origin.clone()));
        self
    }

    /// Has CSV provide columns for these keys of a map.
    #[must_use]
    pub fn with_keys(self, map: &'static str, keys: &[String]) -> Self {
        self.shared().destinations.iter_mut().for_each(|each| each.writer.expect_keys(map, keys.iter().cloned()));
        self
    }

    /// Writes the structure of the computer that the records are about to every destination that can hold one: `ccnuma fit` describes a
    /// computer from both.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn announce(&mut self, computer: &ComputerRow) -> Result<(), Failure> {
        self.shared().each(|destination| destination.writer.describe(computer))
    }

    /// Writes the description of a simulated machine that the records are about into every file that can hold one. Standard output has
    /// none: its reader has named the machine.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn describe<D: Row>(&mut self, machine: &D) -> Result<(), Failure> {
        self.shared().each(|destination| match destination.file {
            Some(_) => destination.writer.describe(machine),
            None => Ok(()),
        })
    }

    /// Whether standard output is for a table.
    pub fn wants_table(&self) -> bool {
        self.table
    }

    /// The table that an interrupted run prints of the rows that it has. Without one it prints none.
    pub fn tell_early(&self, table: impl Fn(&[R]) -> String + Send + 'static) {
        if self.table {
            self.shared().table = Some(Box::new(table));
        }
    }

    /// Writes a record to every destination; it is safe there when this returns.
    ///
    /// # Errors
    /// When standard output fails, or a record cannot be expressed.
    pub fn write(&mut self, row: &R) -> Result<(), Failure> {
        self.shared().write(row)
    }

    /// Keeps the rows of place `place` that are known already, in case the run is interrupted before its rows are written.
    pub fn note(&self, place: usize, rows: Vec<R>) {
        self.shared().early.insert(place, rows);
    }

    /// Writes the rows of a place.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_all<'a>(&mut self, place: usize, rows: impl IntoIterator<Item = &'a R>) -> Result<(), Failure> {
        let mut shared = self.shared();
        shared.early.remove(&place);
        rows.into_iter().try_for_each(|row| shared.write(row))
    }

    /// All rows are written: their files are complete, whoever reads the table that follows.
    ///
    /// # Errors
    /// When standard output fails.
    pub fn complete(&mut self) -> Result<(), Failure> {
        let mut shared = self.shared();
        shared.each(|destination| destination.writer.finish())?;
        let complete = shared.destinations.iter_mut().filter(|destination| !destination.given_up);
        complete.filter_map(|destination| destination.unfinished.take()).for_each(Unfinished::complete);
        Ok(())
    }

    /// All rows are written, and the table printed.
    ///
    /// # Errors
    /// When a file had to be given up.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.complete()?;
        let mut shared = self.shared();
        // What has been printed is not printed again by an interruption of what follows.
        shared.table = None;
        match shared.failed.take() {
            Some(line) => Err(Failure::Run(line)),
            None => Ok(()),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared<R>> {
        // A writer that panicked has at worst left half a line.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Row + Clone> Shared<R> {
    fn write(&mut self, row: &R) -> Result<(), Failure> {
        self.each(|destination| destination.writer.write(row))?;
        self.written += 1;
        if self.table.is_some() {
            self.rows.push(row.clone());
        }
        Ok(())
    }

    /// Writes something to every destination; a file that fails is given up.
    fn each(&mut self, write: impl Fn(&mut Destination<R>) -> Result<(), WriteError>) -> Result<(), Failure> {
        for destination in self.destinations.iter_mut().filter(|destination| !destination.given_up) {
            destination.unfinished.iter_mut().for_each(Unfinished::begin);
            let Err(error) = write(destination) else { continue };
            match (&destination.file, error) {
                (None, WriteError::Io(error)) => return Err(on_standard_output(error)),
                (None, error) => return Err(error.into()),
                (Some(file), error) => {
                    let (Failure::Run(line) | Failure::Input(line)) = Failure::from(error) else {
                        return Err(Failure::Closed);
                    };
                    failure::tell(format!("{line}; writing to {file} stopped after {} records", self.written));
                    self.failed.get_or_insert(line);
                    destination.given_up = true;
                }
            }
        }
        Ok(())
    }

    /// Writes and prints what there is; how much that is.
    fn account(&mut self) -> String {
        for row in std::mem::take(&mut self.early).into_values().flatten() {
            if self.write(&row).is_err() {
                // Standard output is gone; nobody is left to tell.
                break;
            }
        }
        if let (Some(table), false) = (&self.table, self.rows.is_empty()) {
            let _unread = print(table(&self.rows));
        }
        let files = self.destinations.iter().filter(|destination| !destination.given_up);
        let files: Vec<&str> = files.filter_map(|destination| destination.file.as_deref()).collect();
        match (self.written, files.is_empty()) {
            (0, true) => String::new(),
            (_, true) => "finished results are printed".to_owned(),
            (written, false) => format!("{written} records are in {}", files.join(" and ")),
        }
    }
}
