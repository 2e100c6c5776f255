//! The command line, read with every value that a flag may be given: also a negative number, which its own rule then refuses.

use std::ffi::OsString;

use clap::{Command, CommandFactory, FromArgMatches};

/// Reads `words`, the first of which is the command's name.
///
/// # Errors
/// The parser's complaint; help is an error, too.
pub fn parse<A: CommandFactory + FromArgMatches>(
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<A, clap::Error> {
    let mut command = taking_negatives(A::command());
    let matches = command.try_get_matches_from_mut(words)?;
    A::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
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
