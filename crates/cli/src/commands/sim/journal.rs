//! The journal that an interrupted sweep leaves behind: the records of runs that had finished, in whatever order they did.
//!
//! Records come to the file of `--json` in the order of the runs, so those of runs that finish early wait for others. Meanwhile
//! they stand in a file beside it, `FILE.part`, which goes when all runs are over. Either file may end in the middle of a line.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use experiments::{Detail, RunKey};
use record::{Format, Provenance, RecordWriter, Row, SimulationRow};

use crate::failure::Failure;
use crate::output::{Files, Kind, Stream, beside, is_device};
use crate::{progress, provenance};

/// Records that are safe already.
pub struct Journal {
    /// By the keys of their runs, which tell the software as well.
    known: HashMap<RunKey, SimulationRow>,
    /// Detail of the records.
    detail: Detail,
    /// Where new ones go, and the writer; none if there is no file of results.
    part: Option<(PathBuf, Mutex<Part>)>,
}

/// The file of a journal.
struct Part {
    writer: RecordWriter<Stream, SimulationRow>,
    /// Whether it cannot be written any more.
    given_up: bool,
}

impl Journal {
    /// Begins a journal beside `results`, of records that tell what `detail` says, no less and no more. With `resume` it knows the
    /// records in that file, and in the journal of an interrupted sweep. Without, such a journal is put aside as `files` are. Beside a
    /// device or pipe there is none.
    ///
    /// # Errors
    /// With `resume` and no regular file; when a file cannot be read or written, or holds something else than records.
    pub fn open(results: Option<&Path>, resume: bool, files: Files, detail: Detail) -> Result<Self, Failure> {
        let Some(results) = results.filter(|results| !is_device(results)) else {
            let missing = "no records to resume from";
            let value = results.map_or_else(|| "(no file)".to_owned(), |device| device.display().to_string());
            return match resume {
                true => Err(Failure::flag("--resume", value, missing, "--resume with --json=FILE")),
                false => Ok(Self { known: HashMap::new(), detail, part: None }),
            };
        };
        let part = beside(results, "part");
        let mut known = HashMap::new();
        if resume {
            let software = provenance::commit();
            for file in [results, &part] {
                // Records of another version or for another question stay out of the new journal: its own are this version's.
                let own = |(key, row): &(RunKey, SimulationRow)| {
                    *key == RunKey::of_simulation(&software, detail, &row.identity())
                };
                known.extend(read(file)?.into_iter().filter(own));
            }
        }
        let kind = Kind::JsonLines(SimulationRow::KIND);
        if !resume {
            files.make_room("--json", &part, kind)?;
        }
        // The known records are safe in the new journal before the old files are touched.
        let new = beside(results, "part.new");
        let file = Files { force: true }.stream("--json", &new, kind)?;
        let mut writer = RecordWriter::new(Format::JsonLines, file, provenance::of_software());
        known.values().try_for_each(|row| writer.write(row))?;
        fs::rename(&new, &part).map_err(|error| lost(&new, &error))?;
        Ok(Self { known, detail, part: Some((part, Mutex::new(Part { writer, given_up: false }))) })
    }

    /// The record of a run, if there is one.
    pub fn known(&self, identity: &str) -> Option<&SimulationRow> {
        self.known.get(&RunKey::of_simulation(&provenance::commit(), self.detail, identity))
    }

    /// A run is over: its record is safe when this returns. A journal that cannot be written is told of and given up: no result is
    /// lost for it unless the command is interrupted.
    pub fn note(&self, row: &SimulationRow) {
        let Some((_, part)) = &self.part else { return };
        // A writer that panicked has at worst left half a line, which whoever reads it drops.
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        if !part.given_up
            && let Err(error) = part.writer.write(row)
        {
            progress::say(format!("warning: {error}; runs that finish from here on cannot be resumed"));
            part.given_up = true;
        }
    }

    /// How an interrupted command goes on whose journal is beside `results`.
    pub fn how_to_go_on(results: Option<&Path>) -> &'static str {
        match results.filter(|results| !is_device(results)) {
            Some(_) => "to continue, run the same command with --resume",
            None => "run again, the command begins anew; with --json=FILE and --resume, finished runs are reused",
        }
    }

    /// All records are where they belong: the journal goes.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn close(self) -> Result<(), Failure> {
        self.part.map_or(Ok(()), |(path, _)| fs::remove_file(&path).map_err(|error| lost(&path, &error)))
    }
}

/// The failure of a journal's file that cannot be moved or removed. One that is gone has been taken by another command.
fn lost(path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::NotFound => Failure::run(format!(
            "{path}: removed by another command with the same --json file; run one after the other, or with a file each"
        )),
        _ => Failure::run(format!("{path}: {error}")),
    }
}

/// The records in a file by the keys of their runs, none if there is no such file. A last line without an end is none. Another commit
/// may make other records of the same runs: those have keys of their own.
fn read(path: &Path) -> Result<Vec<(RunKey, SimulationRow)>, Failure> {
    let refused = |problem: String| {
        let accepted = "a file with `ccnuma sim` records of this version, or a new file";
        Failure::flag("--json", path.display(), problem, accepted)
    };
    let text = match input::text(path, input::HELD) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(refused(format!("cannot be read: {error}"))),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let contents = record::read(whole).map_err(|error| refused(error.to_string()))?;
    let keyed = |(row, origin): (SimulationRow, Provenance)| {
        let software = provenance::commit_of(&origin);
        (RunKey::of_simulation(&software, Detail::of(&row), &row.identity()), row)
    };
    Ok(contents.rows.into_iter().map(keyed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cpus: u32) -> SimulationRow {
        // A figure that needs all its digits.
        SimulationRow { program: "fft".into(), cpus, time_ns: 0.1 + 0.2, ..SimulationRow::default() }
    }

    /// Writes the record of four processors.
    fn write(results: &Path, origin: Provenance) {
        let file = fs::File::create(results).expect("writable");
        RecordWriter::new(Format::JsonLines, file, origin).write(&row(4)).expect("writable");
    }

    #[test]
    fn records_of_another_version_are_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("runs.jsonl");
        let open = || Journal::open(Some(&results), true, Files::default(), Detail::default()).expect("resumed");
        let ours = provenance::of_software();
        for other in
            [Provenance::of_software("0.0.0", None), Provenance { commit: Some("another".into()), ..ours.clone() }]
        {
            write(&results, other);
            assert_eq!(open().known(&row(4).identity()), None);
        }
        write(&results, ours);
        assert_eq!(open().known(&row(4).identity()), Some(&row(4)));
    }

    #[test]
    fn what_was_written_is_known_but_for_a_torn_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("runs.jsonl");
        let open =
            |resume, parts| Journal::open(Some(&results), resume, Files::default(), Detail { parts, causes: false });
        let journal = open(false, false).expect("a new one");
        journal.note(&row(1));
        journal.note(&row(2));
        drop(journal);
        let part = beside(&results, "part");
        let text = fs::read_to_string(&part).expect("a journal");
        fs::write(&part, &text[..text.len() - 3]).expect("torn");
        write(&results, provenance::of_software());
        let resumed = open(true, false).expect("resumed");
        let known = |cpus| resumed.known(&row(cpus).identity());
        assert_eq!([1, 2, 4].map(|cpus| known(cpus).is_some()), [true, false, true]);
        assert_eq!(known(1), Some(&row(1)), "to the last bit");
        // The results may be lost now: the journal has all.
        fs::remove_file(&results).expect("removable");
        assert!(open(true, false).expect("again").known(&row(4).identity()).is_some());
        assert!(open(true, true).expect("again").known(&row(4).identity()).is_none(), "it has no parts");
        resumed.close().expect("removable");
        assert!(!part.exists());
        let taken = open(true, false).expect("a new one");
        fs::remove_file(&part).expect("another command does it");
        let error = format!("{:?}", taken.close().expect_err("gone"));
        assert!(error.contains("runs.jsonl.part: removed by another command"), "{error}");
    }

    /// The folder of a device is nobody's to write to, and what went to a pipe is gone.
    #[test]
    fn a_device_has_no_journal() {
        let folder = tempfile::tempdir().expect("a folder");
        let device = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &device).expect("a link");
        let open = |resume| Journal::open(Some(&device), resume, Files::default(), Detail::default());
        open(false).expect("a device").note(&row(1));
        assert!(!beside(&device, "part").exists());
        let refused = open(true).map(drop).expect_err("no records");
        assert!(matches!(&refused, Failure::Input(line) if line.contains("null: no records to resume")), "{refused:?}");
    }

    #[test]
    fn what_is_no_record_is_refused_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("notes.txt");
        fs::write(&results, "dear diary\n").expect("writable");
        let refused =
            Journal::open(Some(&results), true, Files::default(), Detail::default()).map(drop).expect_err("no records");
        assert!(matches!(&refused, Failure::Input(line) if line.contains("line 1")), "{refused:?}");
        assert_eq!(fs::read_to_string(&results).expect("still there"), "dear diary\n");
        assert!(Journal::open(None, true, Files::default(), Detail::default()).is_err());
    }
}
