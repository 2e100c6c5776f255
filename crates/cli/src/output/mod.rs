//! Where results go: a table, JSON lines or CSV on standard output, and files beside.

mod file;
mod kind;
mod records;
mod terminal;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use record::{Format, Row};
use report::{Plot, PlotError, Table, View};

use crate::failure::Failure;
use file::Unfinished;
pub use file::{Files, Stream, Whole, beside, is_device};
pub use kind::Kind;
pub use records::Output;
use terminal::ColourChoice;
pub use terminal::{paints_errors, width_of_errors};

/// The flags of everything that prints a table.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct OutputFlags {
    /// Write one JSON object per line, to FILE or instead of the table (`ccnuma schema` describes them). A file also contains the
    /// descriptions of simulated machines.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    json: Option<Option<PathBuf>>,
    /// Write CSV, to FILE or instead of the table: the fields of --json except lists of parts.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    csv: Option<Option<PathBuf>>,
    #[command(flatten)]
    shape: ShapeFlags,
    #[command(flatten)]
    force: ForceFlag,
}

/// The flags of how tables look.
#[derive(clap::Args, Debug, Clone, Default)]
#[command(next_help_heading = "Tables")]
pub struct ShapeFlags {
    /// Show all columns of tables, on lines as long as they need [default: the columns that fit the terminal; 100 characters without
    /// one; COLUMNS overrides both].
    #[arg(long)]
    wide: bool,
    /// Show only these columns of tables, and those that name the rows: headings, with hyphens for spaces.
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', conflicts_with = "wide")]
    columns: Vec<String>,
    /// Colour tables: auto is on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: ColourChoice,
}

impl ShapeFlags {
    /// How tables are shown on standard output.
    pub fn view(&self) -> View {
        self.on(&io::stdout())
    }

    /// How tables are shown on standard error.
    pub fn view_on_error(&self) -> View {
        self.on(&io::stderr())
    }

    fn on(&self, stream: &(impl io::IsTerminal + std::os::fd::AsFd)) -> View {
        let view = if self.wide { View::wide() } else { View::of_width(terminal::width(stream)) };
        view.with_columns(&self.columns).coloured(self.color.on(stream))
    }
}

/// The flag of everything that writes files.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
pub struct ForceFlag {
    /// Overwrite existing files. Without it, a file not written by ccnuma is refused, and results of an earlier run are kept as
    /// FILE.old, or as FILE.unfinished.old if it was cut short.
    #[arg(long)]
    force: bool,
}

impl ForceFlag {
    /// How files are written.
    pub fn files(self) -> Files {
        Files { force: self.force }
    }
}

impl OutputFlags {
    /// How files are written.
    pub fn files(&self) -> Files {
        self.force.files()
    }

    /// How tables are shown on standard output.
    pub fn view(&self) -> View {
        self.shape.view()
    }

    /// How tables are shown on standard error.
    pub fn view_on_error(&self) -> View {
        self.shape.view_on_error()
    }

    /// Checks the columns of --columns where the tables are known before anything is run or printed.
    ///
    /// # Errors
    /// When a column is in none of the tables.
    pub fn check_columns<'t>(&self, tables: impl IntoIterator<Item = &'t Table>) -> Result<(), Failure> {
        match self.view().unknown_column(tables) {
            Some((name, known)) => Err(Failure::flag("--columns", name, "no table has this column", known)),
            None => Ok(()),
        }
    }

    /// The destinations: flag, format, and the file or none for standard output.
    fn destinations(&self) -> impl Iterator<Item = (&'static str, Format, Option<&Path>)> {
        let all = [("--json", Format::JsonLines, &self.json), ("--csv", Format::Csv, &self.csv)];
        all.into_iter().filter_map(|(flag, format, path)| Some((flag, format, path.as_ref()?.as_deref())))
    }

    /// Checks the flags, and whether what is in the way of their files may go.
    ///
    /// # Errors
    /// When both formats want standard output, or a file may not be replaced.
    pub fn check<R: Row>(&self) -> Result<(), Failure> {
        if matches!((&self.json, &self.csv), (Some(None), Some(None))) {
            let accepted = "one of them with a file, as in --csv=FILE";
            return Err(Failure::flag("--csv", "(no file)", "--json already takes standard output", accepted));
        }
        for (flag, format, path) in self.destinations() {
            path.map_or(Ok(()), |path| self.files().check(flag, path, kind_of::<R>(format)))?;
        }
        Ok(())
    }

    /// Checks the flags, then opens the files: the last thing before work starts, so that bad input elsewhere leaves an
    /// old result untouched.
    ///
    /// # Errors
    /// When both formats want standard output, or a file cannot be written.
    pub fn open<R: Row + Clone + Send + 'static>(&self) -> Result<Output<R>, Failure> {
        self.check::<R>()?;
        let mut output = Output::new(!self.replaces_table());
        for (flag, format, path) in self.destinations() {
            match path {
                None => output.add(None, format, Box::new(io::stdout()), None),
                Some(path) => {
                    let stream = self.files().stream(flag, path, kind_of::<R>(format))?;
                    let unfinished = Unfinished::of(path);
                    output.add(Some(path.display().to_string()), format, Box::new(stream), Some(unfinished));
                }
            }
        }
        Ok(output)
    }

    /// The file of --json, if there is one.
    pub fn json_file(&self) -> Option<&Path> {
        self.json.as_ref()?.as_deref()
    }

    /// Whether records take the place of the table on standard output.
    pub fn replaces_table(&self) -> bool {
        matches!((&self.json, &self.csv), (Some(None), _) | (_, Some(None)))
    }

    /// Refuses `--csv` where records cannot be written so.
    ///
    /// # Errors
    /// When it was given.
    pub fn refuse_csv(&self, problem: &str, accepted: &str) -> Result<(), Failure> {
        let Some(file) = &self.csv else { return Ok(()) };
        let file = file.as_ref().map_or_else(|| "(no file)".to_owned(), |file| file.display().to_string());
        Err(Failure::flag("--csv", file, problem, accepted))
    }

    /// Refuses the flags where there is nothing to write records of.
    ///
    /// # Errors
    /// When one was given.
    pub fn refuse(&self, problem: &str) -> Result<(), Failure> {
        match self.destinations().next() {
            None => Ok(()),
            Some((flag, _, file)) => {
                let file = file.map_or_else(|| "(no file)".to_owned(), |file| file.display().to_string());
                Err(Failure::flag(flag, file, problem, "nothing (the flag does not apply here)"))
            }
        }
    }
}

/// The kind of a file of records.
const fn kind_of<R: Row>(format: Format) -> Kind {
    match format {
        Format::JsonLines => Kind::JsonLines(R::KIND),
        Format::Csv => Kind::Csv(R::COLUMNS),
    }
}

/// Prints to standard output, at once.
///
/// # Errors
/// When standard output fails or is closed.
pub fn print(text: impl std::fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).map_err(on_standard_output)
}

/// Notes a column of --columns that none of the tables of a run has: its result is not given up for that.
pub fn note_unknown_column<'t>(view: &View, tables: impl IntoIterator<Item = &'t Table>) {
    if let Some((name, known)) = view.unknown_column(tables) {
        eprintln!("note: --columns {name}: no table has this column; accepted: {known}");
    }
}

/// The failure for an error of standard output.
fn on_standard_output(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Run(format!("standard output: cannot be written: {error}")),
    }
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

/// Writes drawings into the directory of `--svg`, each as `NAME.svg`. One that cannot be drawn is left out with a note: what was
/// measured for it is not lost.
///
/// # Errors
/// When one cannot be written.
pub fn draw(files: Files, directory: &Path, drawings: Vec<(String, Result<String, PlotError>)>) -> Result<(), Failure> {
    if drawings.is_empty() {
        eprintln!("note: --svg {}: none of the measurements has a plot", directory.display());
    }
    for (name, drawing) in drawings {
        let svg = match drawing {
            Ok(svg) => svg,
            Err(error) => {
                eprintln!("note: {name}.svg is not drawn: {error}");
                continue;
            }
        };
        let mut file = files.whole("--svg", &directory.join(format!("{name}.svg")), Kind::Svg)?;
        file.write_all(svg.as_bytes())?;
        file.complete()?;
    }
    Ok(())
}

/// Plots as drawings.
pub fn drawn(plots: Vec<(String, Plot)>) -> Vec<(String, Result<String, PlotError>)> {
    plots.into_iter().map(|(name, plot)| (name, plot.svg())).collect()
}
