//! The command line, read with every value that a flag may be given: also a negative number, which its own rule then refuses.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

/// The flags of files that are written, by their identifiers: no two of them may name one file.
const OUTPUTS: [&str; 9] = ["json", "csv", "svg", "record", "output", "data_out", "machine_out", "perfetto", "parquet"];

/// Simulations at a time at most: threads take time to start, each more than the one before.
pub const MOST_JOBS: i64 = 1024;

/// Arguments that may be files to read, by identifier and name: no file that is written may be one of them.
const INPUTS: [(&str, &str); 7] = [
    ("against", "--against"),
    ("command", "the program"),
    ("data", "DATA"),
    ("name", "--machine"),
    ("names", "--machine"),
    ("programs", "PROGRAM"),
    ("study", "FILE"),
];

/// Reads `words`, the first of which is the command's name.
///
/// # Errors
/// The parser's complaint; help is an error, too.
pub fn parse<A: CommandFactory + FromArgMatches>(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<A, clap::Error> {
    let mut command = taking_negatives(A::command());
    let matches = command.try_get_matches_from_mut(words)?;
    if let Some(problem) = written_twice(&matches) {
        return Err(command.error(ErrorKind::ArgumentConflict, problem));
    }
    A::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The complaint about a file that two flags want to write, or one that is read.
fn written_twice(matches: &ArgMatches) -> Option<String> {
    if let Some((_, matches)) = matches.subcommand() {
        return written_twice(matches);
    }
    let raw = |id| matches.try_get_raw(id).ok().flatten().into_iter().flatten();
    let read = |(id, name)| {
        let files = raw(id).map(Path::new).filter(|path| path.is_file());
        files.filter_map(move |path| Some((name, place(path)?)))
    };
    let read: Vec<(&str, PathBuf)> = INPUTS.into_iter().flat_map(read).collect();
    let mut written: Vec<(&str, PathBuf)> = Vec::new();
    for flag in OUTPUTS {
        let Some(path) = matches.try_get_raw(flag).ok().flatten().and_then(|mut values| values.next()) else {
            continue;
        };
        let path = Path::new(path);
        let Some(place) = place(path) else { continue };
        if let Some((name, _)) = read.iter().find(|(_, known)| *known == place) {
            let (path, flag) = (path.display(), flag.replace('_', "-"));
            return Some(format!("{path}: read as {name} and to be written by --{flag}; accepted: another file"));
        }
        if let Some((other, _)) = written.iter().find(|(_, known)| *known == place) {
            let [flag, other] = [flag, other].map(|flag| flag.replace('_', "-"));
            let path = path.display();
            return Some(format!("{path}: given to both --{other} and --{flag}; accepted: a file for each"));
        }
        written.push((flag, place));
    }
    None
}

/// The place of a file, however its path is written; none for devices and pipes, which take what comes.
fn place(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(there) => (there.is_file() || there.is_dir()).then_some(there),
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(path.file_name()?))
        }
    }
}

/// A word such as `-1` after a flag is its value, not another flag.
fn taking_negatives(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let takes = arg.get_action().takes_values() && !arg.is_last_set();
            if takes { arg.allow_negative_numbers(true) } else { arg }
        })
        .mut_subcommands(taking_negatives)
}
