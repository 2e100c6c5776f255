//! `ccnuma manual`: the manual's reference pages, written from what they describe: flags, machines, protocols, counters, records,
//! published figures.

mod commands;
mod counters;
mod machines;
mod markdown;
mod papers;
mod programs;
mod protocols;
mod records;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};

use crate::failure::Failure;
use crate::output::print;

/// The first line of every page: a file without it is not replaced.
const MARK: &str = "<!-- Written by `ccnuma manual`: do not edit. -->\n";

/// Write the manual's reference pages as Markdown, for mdBook: commands, machines, protocols, counters, records, published figures
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma manual manual/src/reference && mdbook build manual

The repository's scripts/manual does both. Pages of an earlier run are replaced; any other file is left alone and an error.")]
pub struct ManualCommand {
    /// The folder, which is made if it is not there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// A file of the manual: its path below the folder, and its text.
struct Page {
    path: String,
    text: String,
}

impl Page {
    fn markdown(path: impl Into<String>, text: &str) -> Self {
        Self { path: path.into(), text: format!("{MARK}\n{text}") }
    }

    /// A drawing, which says where it comes from behind its end.
    fn svg(path: impl Into<String>, drawing: &str) -> Self {
        Self { path: path.into(), text: format!("{}\n{MARK}", drawing.trim_end()) }
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(&self.path);
        let failed = |error: std::io::Error| Failure::Run(format!("{}: {error}", path.display()));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        if fs::read_to_string(&path).is_ok_and(|there| !there.is_empty() && !there.contains(MARK.trim_end())) {
            let accepted = "a folder without such a file, or with pages that an earlier run wrote";
            let problem = "this file was not written by `ccnuma manual`";
            return Err(Failure::flag("DIR", path.display(), problem, accepted));
        }
        fs::write(&path, &self.text).map_err(failed)
    }
}

impl ManualCommand {
    /// Writes the pages of the command line `command` and of all that is built in.
    ///
    /// # Errors
    /// A file that is in the way, or that cannot be written.
    pub fn run(self, command: &Command) -> Result<(), Failure> {
        let mut pages = vec![
            commands::page(command),
            programs::page(),
            protocols::page(),
            counters::counters(),
            counters::metrics(),
            records::page(),
        ];
        pages.extend(machines::pages()?);
        pages.extend(papers::pages()?);
        pages.iter().try_for_each(|page| page.write(&self.folder))?;
        print(format!("{} files written to {}\n", pages.len(), self.folder.display()))
    }
}
