//! `ccnuma man`: manual pages of the command and of every subcommand.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;

use crate::failure::Failure;
use crate::output::{Files, Kind, print};

/// Write manual pages, one for the command and one for every subcommand
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ccnuma man ~/.local/share/man/man1 && man ccnuma-bench

The wheel has them in share/man: an environment that is installed in has them without this command.")]
pub struct ManCommand {
    /// The folder, which is made if it is not there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace whatever is there.
    #[arg(long)]
    force: bool,
}

impl ManCommand {
    /// Writes the pages of `command` and prints their paths.
    ///
    /// # Errors
    /// The folder cannot be made, or has other files of these names.
    pub fn run(self, mut command: Command) -> Result<(), Failure> {
        let unmade = |error| {
            Failure::flag("DIR", self.folder.display(), format!("cannot be made: {error}"), "a writable folder")
        };
        fs::create_dir_all(&self.folder).map_err(unmade)?;
        command.build();
        let files = Files { force: self.force };
        let paths: Result<Vec<PathBuf>, Failure> =
            pages(&command).into_iter().map(|page| self.write(files, page)).collect();
        print(paths?.iter().map(|path| format!("{}\n", path.display())).collect::<String>())
    }

    /// Writes a page; where it is.
    fn write(&self, files: Files, page: Command) -> Result<PathBuf, Failure> {
        let path = self.folder.join(format!("{}.1", name(&page)));
        let mut file = files.whole("DIR", &path, Kind::ManualPage)?;
        file.write_all(&text(page)?)?;
        file.complete()?;
        Ok(path)
    }
}

/// A command and all below it.
fn pages(command: &Command) -> Vec<Command> {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    std::iter::once(command.clone()).chain(below.flat_map(pages)).collect()
}

/// The name of a command's page: `ccnuma-machines-show`.
fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// A page in roff. Examples and notes keep their lines.
fn text(command: Command) -> Result<Vec<u8>, Failure> {
    let notes = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let command = command.after_help(None::<&'static str>).after_long_help(None::<&'static str>);
    let source = concat!("ccnuma ", env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    Man::new(command).source(source).manual("ccNUMA Lab").render(&mut text)?;
    if let Some(notes) = notes {
        let lines: String = notes.lines().map(|line| format!("{}\n", escaped(line))).collect();
        write!(text, ".SH \"EXAMPLES AND NOTES\"\n.nf\n{lines}.fi\n")?;
    }
    Ok(text)
}

/// A line of text that roff prints as it is.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roff_prints_lines_as_they_are() {
        assert_eq!(escaped(".so a\\b --x"), "\\&.so a\\eb \\-\\-x");
        assert_eq!(escaped("'quoted'"), "\\&'quoted'");
        assert_eq!(escaped("plain"), "plain");
    }

    #[test]
    fn every_subcommand_has_a_page_of_its_name() {
        let machines = Command::new("machines").subcommand(Command::new("show"));
        let mut command = Command::new("ccnuma").subcommands([machines, Command::new("hidden").hide(true)]);
        command.build();
        let names: Vec<String> = pages(&command).iter().map(name).collect();
        assert_eq!(names, ["ccnuma", "ccnuma-machines", "ccnuma-machines-show"]);
    }
}
