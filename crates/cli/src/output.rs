//! Where results go: a table, JSON lines or CSV on standard output, and files beside.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use record::{DescriptionRow, Format, Provenance, RecordWriter, Row};
use report::Plot;

use crate::failure::Failure;
use crate::provenance;

/// The flags of everything that prints a table.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct OutputFlags {
    /// Write one JSON object a line, to FILE or in place of the table (`ccnuma schema` describes them). A file also holds the
    /// descriptions of simulated machines.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    json: Option<Option<PathBuf>>,
    /// Write CSV, to FILE or in place of the table: the fields of --json but lists of parts.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    csv: Option<Option<PathBuf>>,
}

/// The open destinations of the records of one run.
pub struct Output<R: Row> {
    /// The writers; true of those to files.
    writers: Vec<(bool, RecordWriter<Box<dyn Write>, R>)>,
    table: bool,
}

impl OutputFlags {
    /// Checks the flags, then opens the files: the last thing before work starts, so that bad input elsewhere leaves an
    /// old result untouched.
    ///
    /// # Errors
    /// When both formats want standard output, or a file cannot be written.
    pub fn open<R: Row>(&self) -> Result<Output<R>, Failure> {
        if matches!((&self.json, &self.csv), (Some(None), Some(None))) {
            let accepted = "one of them with a file, as in --csv=FILE";
            return Err(Failure::flag("--csv", "(no file)", "--json already takes standard output", accepted));
        }
        let mut output = Output { writers: Vec::new(), table: true };
        for (flag, format, destination) in
            [("--json", Format::JsonLines, &self.json), ("--csv", Format::Csv, &self.csv)]
        {
            let Some(destination) = destination else { continue };
            let writer: Box<dyn Write> = match destination {
                None => {
                    output.table = false;
                    Box::new(io::stdout())
                }
                Some(path) => Box::new(create(flag, path)?),
            };
            output.writers.push((destination.is_some(), RecordWriter::new(format, writer, provenance::of_software())));
        }
        Ok(output)
    }

    /// Refuses the flags where there is nothing to write records of.
    ///
    /// # Errors
    /// When one was given.
    pub fn refuse(&self, problem: &str) -> Result<(), Failure> {
        for (flag, destination) in [("--json", &self.json), ("--csv", &self.csv)] {
            if let Some(file) = destination {
                let file = file.as_ref().map_or_else(|| "(no file)".to_owned(), |file| file.display().to_string());
                return Err(Failure::flag(flag, file, problem, "no such flag here"));
            }
        }
        Ok(())
    }

    /// The file of --json, if there is one.
    pub fn json_file(&self) -> Option<&Path> {
        self.json.as_ref()?.as_deref()
    }

    /// Whether records take the place of the table on standard output.
    pub fn replaces_table(&self) -> bool {
        matches!((&self.json, &self.csv), (Some(None), _) | (_, Some(None)))
    }
}

impl<R: Row> Output<R> {
    /// Whether standard output is for a table.
    pub fn wants_table(&self) -> bool {
        self.table
    }

    /// Writes a record to every destination; it is safe there when this returns.
    ///
    /// # Errors
    /// When a destination fails.
    pub fn write(&mut self, row: &R) -> Result<(), Failure> {
        for (_, writer) in &mut self.writers {
            writer.write(row)?;
        }
        Ok(())
    }

    /// Changes the origin of the records that follow: without it, they tell the software alone.
    #[must_use]
    pub fn of(mut self, provenance: &Provenance) -> Self {
        self.writers.iter_mut().for_each(|(_, writer)| writer.set_provenance(provenance.clone()));
        self
    }

    /// Has CSV provide columns for these keys of a map.
    #[must_use]
    pub fn with_keys(mut self, map: &'static str, keys: &[String]) -> Self {
        self.writers.iter_mut().for_each(|(_, writer)| writer.expect_keys(map, keys.iter().cloned()));
        self
    }

    /// Writes the description of a machine that the records are about into every file that can hold one. Standard output is
    /// for records of one kind.
    ///
    /// # Errors
    /// When a destination fails.
    pub fn describe(&mut self, machine: &DescriptionRow) -> Result<(), Failure> {
        for (_, writer) in self.writers.iter_mut().filter(|(is_file, _)| *is_file) {
            writer.describe(machine)?;
        }
        Ok(())
    }
}

/// Prints to standard output.
///
/// # Errors
/// When standard output fails or is closed.
pub fn print(text: impl std::fmt::Display) -> Result<(), Failure> {
    Ok(write!(io::stdout(), "{text}")?)
}

/// Makes the directory into which `--svg` draws: before anything is measured, so that no measurement is lost for it.
///
/// # Errors
/// When it cannot be made.
pub fn make_drawings(directory: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(directory).map_err(|error| {
        Failure::flag("--svg", directory.display(), format!("cannot be made: {error}"), "a writable directory")
    })
}

/// Draws a plot into the directory of `--svg`, as `NAME.svg`.
///
/// # Errors
/// When it cannot be drawn or written.
pub fn draw(directory: &Path, name: &str, plot: &Plot) -> Result<(), Failure> {
    let svg = plot.svg().map_err(|error| Failure::run(format!("{name}: {error}")))?;
    Ok(create("--svg", &directory.join(format!("{name}.svg")))?.write_all(svg.as_bytes())?)
}

/// Creates the file that a flag names.
///
/// # Errors
/// When it cannot be written.
pub fn create(flag: &str, path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        Failure::flag(
            flag,
            path.display(),
            format!("cannot be written: {error}"),
            "a file in an existing, writable folder",
        )
    })
}
