//! The golden record: every comparison with published figures that is kept to the last digit, and the figures of one run of each
//! built-in program, so that a change of any of them is a difference that somebody sees.
//!
//! It is committed under `golden/`. A test compares what is cheap to measure again, `cargo run --release -p ccnuma-experiments --example golden` what
//! takes minutes; with `--write` it replaces the record and the tables of accuracy in the README, which follow from it. Studies of
//! programs take hours: `--take` adds what `ccnuma reproduce` has written of them.

mod accuracy;
mod figures;
mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use record::ReproductionRow;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use accuracy::{accuracy, accuracy_by_paper, with_accuracy};
pub use figures::{Selection, published_figures, selections};
pub use runs::{Run, RunFigure, runs};

use crate::error::ExperimentError;

/// The files of the record, in its folder.
const FIGURES: &str = "figures.csv";
const RUNS: &str = "runs.csv";

/// Figures that were measured once and are to stay as they are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GoldenRecord {
    /// Published figures beside ours.
    pub figures: Vec<ReproductionRow>,
    /// Figures of runs of programs.
    pub runs: Vec<RunFigure>,
}

/// Why there is no golden record, or none to compare with.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// A file of the record cannot be read or written.
    #[error("{}: {source}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file of the record is no table of its columns.
    #[error("{}: {source}", .file.display())]
    Csv {
        /// The file.
        file: PathBuf,
        /// The fault and its place.
        source: csv::Error,
    },
    /// A run left a record that cannot be taken apart.
    #[error("the record of {run}: {source}")]
    Record {
        /// The run.
        run: String,
        /// The fault.
        source: serde_json::Error,
    },
    /// A measurement is impossible or failed.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The README has no place for the tables of accuracy.
    #[error("README.md: the line {0} is missing")]
    NoPlace(&'static str),
}

/// A figure of the record that is another now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The figure: table, row and column, or run and figure.
    pub figure: String,
    /// Its value in the record; `None` if the figure is new.
    pub golden: Option<String>,
    /// Its value as measured now; `None` if there is no such figure any more.
    pub now: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_absent = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
        write!(f, "{}: {} now, {} in the record", self.figure, or_absent(&self.now), or_absent(&self.golden))
    }
}

impl GoldenRecord {
    /// The record in `folder`.
    ///
    /// # Errors
    /// When a file is missing or malformed.
    pub fn read(folder: &Path) -> Result<Self, GoldenError> {
        Ok(Self { figures: read(&folder.join(FIGURES))?, runs: read(&folder.join(RUNS))? })
    }

    /// The record as it was committed when this was built.
    ///
    /// # Errors
    /// When it is malformed, which a test rules out.
    pub fn committed() -> Result<Self, GoldenError> {
        let (figures, runs) =
            (include_str!("../../../../golden/figures.csv"), include_str!("../../../../golden/runs.csv"));
        Ok(Self {
            figures: parse(Path::new(FIGURES), figures.as_bytes())?,
            runs: parse(Path::new(RUNS), runs.as_bytes())?,
        })
    }

    /// Replaces the record in `folder`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), GoldenError> {
        std::fs::create_dir_all(folder).map_err(|source| GoldenError::File { file: folder.to_owned(), source })?;
        write(&folder.join(FIGURES), &self.figures)?;
        write(&folder.join(RUNS), &self.runs)
    }

    /// The part of the record that is of these tables (`prestor/4.6`) and runs.
    pub fn part(&self, tables: &[String], runs: &[String]) -> Self {
        let of_tables = |row: &&ReproductionRow| tables.contains(&table(row));
        let of_runs = |figure: &&RunFigure| runs.contains(&figure.run);
        Self {
            figures: self.figures.iter().filter(of_tables).cloned().collect(),
            runs: self.runs.iter().filter(of_runs).cloned().collect(),
        }
    }

    /// Its tables, as in `prestor/4.6`, each once.
    pub fn tables(&self) -> Vec<String> {
        self.figures.iter().map(table).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The names of its runs, each once.
    pub fn names_of_runs(&self) -> Vec<String> {
        self.runs.iter().map(|figure| figure.run.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The record with `figures` in place of all that it has of their tables.
    pub fn with_figures(mut self, figures: Vec<ReproductionRow>) -> Self {
        let tables: BTreeSet<String> = figures.iter().map(table).collect();
        self.figures.retain(|row| !tables.contains(&table(row)));
        self.figures.extend(figures);
        self
    }

    /// The figures that are not in `now` as they are here, a line each.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let (golden, now) = (self.lines(), now.lines());
        let known: BTreeMap<&str, &str> = golden.iter().map(|(figure, value)| (&**figure, &**value)).collect();
        let present: BTreeSet<&str> = now.iter().map(|(figure, _)| &**figure).collect();
        let difference = |figure: &str, golden: Option<&str>, now: Option<&str>| Difference {
            figure: figure.to_owned(),
            golden: golden.map(str::to_owned),
            now: now.map(str::to_owned),
        };
        let changed = now.iter().filter_map(|(figure, value)| match known.get(&**figure) {
            Some(golden) if golden == value => None,
            golden => Some(difference(figure, golden.copied(), Some(value))),
        });
        let gone = golden.iter().filter(|(figure, _)| !present.contains(&**figure));
        changed.chain(gone.map(|(figure, value)| difference(figure, Some(value), None))).collect()
    }

    /// Every figure with its value, both as text.
    fn lines(&self) -> Vec<(String, String)> {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let of_table = |row: &ReproductionRow| {
            let ReproductionRow { row: name, column, unit, theirs, ours, calibrated, .. } = row;
            let kind = if *calibrated { "calibrated" } else { "predicted" };
            let value = format!("{} {unit:?} against {}, {kind}", number(*ours), number(*theirs));
            (format!("{}, {name}, {column}", table(row)), value)
        };
        let of_run = |figure: &RunFigure| (format!("{}, {}", figure.run, figure.figure), figure.value.clone());
        self.figures.iter().map(of_table).chain(self.runs.iter().map(of_run)).collect()
    }
}

/// The paper and table of a figure, as in `prestor/4.6`.
fn table(row: &ReproductionRow) -> String {
    format!("{}/{}", row.paper, row.table)
}

fn read<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, GoldenError> {
    let failed = |source| GoldenError::File { file: file.to_owned(), source };
    parse(file, std::fs::File::open(file).map_err(failed)?)
}

/// The rows of a table; `file` is what errors call it.
fn parse<T: DeserializeOwned>(file: &Path, table: impl io::Read) -> Result<Vec<T>, GoldenError> {
    let wrong = |source| GoldenError::Csv { file: file.to_owned(), source };
    csv::Reader::from_reader(table).deserialize().collect::<Result<_, _>>().map_err(wrong)
}

fn write<T: Serialize>(file: &Path, rows: &[T]) -> Result<(), GoldenError> {
    let wrong = |source| GoldenError::Csv { file: file.to_owned(), source };
    let mut writer = csv::Writer::from_path(file).map_err(wrong)?;
    rows.iter().try_for_each(|row| writer.serialize(row)).map_err(wrong)?;
    writer.flush().map_err(|source| GoldenError::File { file: file.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use record::Unit;

    use super::*;

    fn row(row: &str, ours: Option<f64>, calibrated: bool) -> ReproductionRow {
        ReproductionRow {
            paper: "p".into(),
            table: "1".into(),
            row: row.into(),
            column: "a, b".into(),
            unit: Unit::Nanoseconds,
            theirs: Some(3.0),
            ours,
            error_pct: ReproductionRow::error_of(Some(3.0), ours),
            calibrated,
        }
    }

    fn run(figure: &str, value: &str) -> RunFigure {
        RunFigure { run: "fft, 4 of m".into(), figure: figure.into(), value: value.into() }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let folder = std::env::temp_dir().join(format!("golden-{}", std::process::id()));
        let figures = vec![row("x", Some(1.0 / 3.0), true), row("y", None, false)];
        let record = GoldenRecord { figures, runs: vec![run("time_ns", "0.1"), run("upgrades", "7")] };
        record.write(&folder).expect("a folder");
        let known = GoldenRecord::read(&folder);
        std::fs::remove_dir_all(&folder).expect("removable");
        assert_eq!(known.expect("a record"), record);
    }

    #[test]
    fn whatever_differs_is_named_once() {
        let golden = GoldenRecord {
            figures: vec![row("x", Some(1.0), false), row("y", Some(2.0), false), row("z", None, false)],
            runs: vec![run("time_ns", "5.0"), run("upgrades", "7")],
        };
        assert_eq!(golden.differences(&golden), []);
        let now = GoldenRecord {
            figures: vec![row("x", Some(1.0), true), row("y", Some(2.0 + 1e-15), false), row("w", None, false)],
            runs: vec![run("time_ns", "5.0")],
        };
        let told: Vec<_> = golden.differences(&now).iter().map(ToString::to_string).collect();
        let starts = [
            "p/1, x, a, b: 1 N",
            "p/1, y, a, b: 2.0000000000000",
            "p/1, w,",
            "p/1, z,",
            "fft, 4 of m, upgrades: absent now, 7 ",
        ];
        assert!(told.iter().zip(starts).all(|(line, start)| line.starts_with(start)) && told.len() == 5, "{told:#?}");
        let part = golden.part(&["p/2".into()], &["fft, 4 of m".into()]);
        assert_eq!((part.figures.len(), part.runs.len()), (0, 2));
    }
}
