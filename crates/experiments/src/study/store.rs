//! The directory of a sweep: records by the keys of runs, and claims, so that any number of processes can work on it at once.
//!
//! Records of a run are written aside and renamed to `runs/KEY.jsonl`: such a file is there whole or not at all, and a run whose
//! file is there, and not empty, is done. A process that runs something holds a lock (`flock`) on `claims/KEY`, which the kernel releases when the
//! process ends, whatever ends it: an abandoned claim is none.

use std::collections::HashSet;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use record::{Format, Provenance, RecordWriter, Row, WriteError};
use tempfile::NamedTempFile;
use thiserror::Error;

use super::run::Records;
use crate::key::RunKey;

/// Why the directory of a sweep cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The directory or a file in it cannot be made, read or written.
    #[error("{path}: cannot be {done}: {error}")]
    File {
        /// The file.
        path: String,
        /// The operation that failed.
        done: &'static str,
        /// The reason of the operating system.
        error: io::Error,
    },
    /// The file system has no locks.
    #[error(
        "{path}: cannot be locked: {error}; accepted: a directory on a file system that has locks (NFS without the option nolock)"
    )]
    NoLocks {
        /// The file.
        path: String,
        /// The reason of the operating system.
        error: io::Error,
    },
    /// The file of a run holds no records.
    #[error(
        "{path}: {problem}; accepted: records as this version writes them: remove the file, and the run is run again"
    )]
    NoRecords {
        /// The file.
        path: String,
        /// The fault, with its line.
        problem: String,
    },
    /// Records cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The directory of a sweep.
pub struct Store {
    folder: PathBuf,
    provenance: Provenance,
}

/// The right to run something, as long as it lives.
pub struct Claim {
    key: RunKey,
    /// The lock ends with the file.
    file: File,
    path: PathBuf,
}

/// The result of a claim on a run.
pub enum Claimed {
    /// Nobody else runs it now.
    Ours(Claim),
    /// Another process does, or another thread of this one.
    Theirs,
    /// It is done.
    Done,
}

/// The ending of files of records.
const ENDING: &str = ".jsonl";
/// The ending of such a file while it is being written.
const ASIDE: &str = ".incomplete";

impl Store {
    /// The directory at `folder`, which is made if need be. Records are written with this `provenance`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: &Path, provenance: Provenance) -> Result<Self, StoreError> {
        let store = Self { folder: folder.to_owned(), provenance };
        for part in [store.runs(), store.claims()] {
            fs::create_dir_all(&part).map_err(at(&part, "made"))?;
        }
        Ok(store)
    }

    /// The directory at `folder`, whether it is there or not: to be looked at.
    pub fn look(folder: &Path, provenance: Provenance) -> Self {
        Self { folder: folder.to_owned(), provenance }
    }

    /// The directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The origin of the records that are written here.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    fn claims(&self) -> PathBuf {
        self.folder.join("claims")
    }

    fn records(&self, key: RunKey) -> PathBuf {
        self.runs().join(format!("{key}{ENDING}"))
    }

    /// Whether the run of this key is done.
    pub fn is_done(&self, key: RunKey) -> bool {
        is_written(&self.records(key))
    }

    /// The keys of runs that are done.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn done(&self) -> Result<HashSet<RunKey>, StoreError> {
        let names = names(&self.runs())?;
        let done = names.iter().filter_map(|name| RunKey::parse(name.strip_suffix(ENDING)?));
        Ok(done.filter(|key| self.is_done(*key)).collect())
    }

    /// The keys of runs that some process has claimed now.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn running(&self) -> Result<HashSet<RunKey>, StoreError> {
        let mut running = HashSet::new();
        for key in names(&self.claims())?.iter().filter_map(|name| RunKey::parse(name)) {
            let path = self.claims().join(key.to_string());
            let Ok(file) = File::open(&path) else { continue };
            match file.try_lock_shared() {
                Err(TryLockError::WouldBlock) => drop(running.insert(key)),
                Ok(()) => {}
                Err(TryLockError::Error(error)) => return Err(no_locks(&path, error)),
            }
        }
        Ok(running)
    }

    /// Claims the run of this key.
    ///
    /// # Errors
    /// When the directory cannot be written to, or has no locks.
    pub fn claim(&self, key: RunKey) -> Result<Claimed, StoreError> {
        if self.is_done(key) {
            return Ok(Claimed::Done);
        }
        let path = self.claims().join(key.to_string());
        let file = File::options().create(true).append(true).open(&path).map_err(at(&path, "written"))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(Claimed::Theirs),
            Err(TryLockError::Error(error)) => return Err(no_locks(&path, error)),
            Ok(()) => {}
        }
        let claim = Claim { key, file, path };
        // The holder before may have finished in between.
        if self.is_done(key) { claim.end().map(|()| Claimed::Done) } else { Ok(Claimed::Ours(claim)) }
    }

    /// Keeps the records of a run: it is done when this returns, unless there is an error.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep(&self, claim: Claim, records: &Records) -> Result<(), StoreError> {
        let path = self.records(claim.key);
        // Its name is its own, whatever the locks of a file system are worth.
        let prefix = format!("{}.", claim.key);
        let rights = Permissions::from_mode(0o666);
        let aside = tempfile::Builder::new().prefix(&prefix).suffix(ASIDE).permissions(rights).tempfile_in(self.runs());
        let mut aside = aside.map_err(at(&path, "written"))?;
        self.write(&mut aside, records)?;
        // A computer that loses power has either all of it or no such name.
        aside.as_file().sync_data().map_err(at(&path, "written"))?;
        aside.persist(&path).map_err(|error| at(&path, "written")(error.error))?;
        claim.end()
    }

    fn write(&self, file: &mut NamedTempFile, records: &Records) -> Result<(), WriteError> {
        fn all<R: Row>(file: &mut NamedTempFile, rows: &[R], provenance: &Provenance) -> Result<(), WriteError> {
            let mut text = Vec::new();
            let mut writer = RecordWriter::new(Format::JsonLines, &mut text, provenance.clone());
            rows.iter().try_for_each(|row| writer.write(row))?;
            drop(writer);
            Ok(file.write_all(&text)?)
        }
        match records {
            Records::Simulations(rows) => all(file, rows, &self.provenance),
            Records::Measurements(rows) => all(file, rows, &self.provenance),
        }
    }

    /// The records of a run that is done, as lines; `None` if it is not done.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn text(&self, key: RunKey) -> Result<Option<String>, StoreError> {
        let path = self.records(key);
        match input::text(&path, input::HELD) {
            Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&path, "read")(error)),
        }
    }

    /// The error of records that are none.
    pub(super) fn no_records(&self, key: RunKey, problem: impl ToString) -> StoreError {
        StoreError::NoRecords { path: self.records(key).display().to_string(), problem: problem.to_string() }
    }

    /// Removes what processes left that were killed: claims that nobody holds, and files that were being written. To be called when
    /// all runs are done, so that nobody needs them.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn tidy(&self) -> Result<(), StoreError> {
        let (running, claims, runs) = (self.running()?, self.claims(), self.runs());
        let abandoned = |name: &String| RunKey::parse(name).is_some_and(|key| !running.contains(&key));
        let left = names(&claims)?.into_iter().filter(abandoned).map(|name| claims.join(name));
        let aside = names(&runs)?.into_iter().filter(|name| name.ends_with(ASIDE)).map(|name| runs.join(name));
        for path in left.chain(aside) {
            // Another process may be tidying up, too.
            let _gone = fs::remove_file(path);
        }
        Ok(())
    }
}

impl Claim {
    /// The claim ends, and its file with it. Those who have opened that meanwhile see that the run is done.
    fn end(self) -> Result<(), StoreError> {
        let Self { file, path, .. } = self;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(at(&path, "removed")(error)),
            _ => {}
        }
        drop(file);
        Ok(())
    }
}

/// Whether a file has content: one that a full disk has left empty is no result.
fn is_written(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

/// The names of the files in a folder; none if there is no such folder.
fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at(folder, "read")(error)),
    };
    let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name().to_string_lossy().into_owned());
    entries.map(name).collect::<io::Result<_>>().map_err(at(folder, "read"))
}

fn at(path: &Path, done: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.display().to_string();
    move |error| StoreError::File { path, done, error }
}

fn no_locks(path: &Path, error: io::Error) -> StoreError {
    StoreError::NoLocks { path: path.display().to_string(), error }
}

#[cfg(test)]
mod tests {
    use record::SimulationRow;

    use super::*;

    fn store(folder: &Path) -> Store {
        Store::open(folder, Provenance::of_software("1.0", None)).expect("a directory")
    }

    fn claimed(store: &Store, key: RunKey) -> Option<Claim> {
        match store.claim(key).expect("locks") {
            Claimed::Ours(claim) => Some(claim),
            Claimed::Theirs | Claimed::Done => None,
        }
    }

    fn records() -> Records {
        Records::Simulations(vec![SimulationRow { program: "fft".into(), ..SimulationRow::default() }])
    }

    #[test]
    fn a_claim_is_one_until_it_ends_and_a_kept_run_is_done() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (store(folder.path()), store(folder.path()));
        let key = RunKey::new("1.0", "fft");
        let claim = claimed(&one, key).expect("nobody has it");
        assert!(claimed(&other, key).is_none() && claimed(&one, key).is_none());
        assert_eq!(one.running().expect("readable"), [key].into());
        assert!(claimed(&other, RunKey::new("1.0", "lu")).is_some());
        // An abandoned claim leaves a file, and is none.
        drop(claim);
        assert!(one.running().expect("readable").is_empty());
        let claim = claimed(&other, key).expect("it was abandoned");
        other.keep(claim, &records()).expect("writable");
        assert!(matches!(one.claim(key).expect("locks"), Claimed::Done));
        assert_eq!(one.done().expect("readable"), [key].into());
        let text = one.text(key).expect("readable").expect("done");
        assert!(text.ends_with('\n') && text.contains("\"program\":\"fft\""), "{text}");
    }

    #[test]
    fn an_empty_file_is_no_result() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path());
        let key = RunKey::new("1.0", "fft");
        fs::write(store.records(key), "").expect("written");
        assert!(store.done().expect("readable").is_empty() && store.text(key).expect("readable").is_none());
        let claim = claimed(&store, key).expect("it is not done");
        store.keep(claim, &records()).expect("writable");
        assert!(store.is_done(key) && store.text(key).expect("readable").is_some());
    }

    #[test]
    fn what_the_killed_leave_is_no_result_and_is_tidied_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path());
        let (left, held) = (RunKey::new("1.0", "left"), RunKey::new("1.0", "held"));
        fs::write(store.claims().join(left.to_string()), "").expect("written");
        fs::write(store.runs().join(format!("{left}.x{ASIDE}")), "{").expect("written");
        let claim = claimed(&store, held).expect("nobody has it");
        assert!(store.done().expect("readable").is_empty());
        store.tidy().expect("tidied");
        assert_eq!(names(&store.claims()).expect("readable"), [held.to_string()]);
        assert!(names(&store.runs()).expect("readable").is_empty());
        drop(claim);
    }
}
