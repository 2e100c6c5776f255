//! Why the command did not do what was asked, as one message and an exit code.

use std::ffi::OsString;
use std::fmt::Display;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use report::View;

use crate::output::{paints_errors, width_of_errors};
use crate::progress;

/// A failure, worded for one message on standard error, in which nothing but the width of the terminal breaks lines.
#[derive(Debug)]
pub enum Failure {
    /// The input cannot be used: exit code 2. Nothing was started.
    Input(String),
    /// Something failed on the way: exit code 1.
    Run(String),
    /// Whoever read our standard output has closed it: exit code 0, without a word.
    Closed,
}

impl Failure {
    /// A value of a flag that cannot be used.
    pub fn flag(flag: &str, value: impl Display, problem: impl Display, accepted: impl Display) -> Self {
        Self::Input(format!("{flag} {value}: {problem}; accepted: {accepted}"))
    }

    /// Bad input, as the library words it.
    pub fn input(error: impl Display) -> Self {
        Self::Input(one_line(&error.to_string()))
    }

    /// A failed run, as the library words it.
    pub fn run(error: impl Display) -> Self {
        Self::Run(one_line(&error.to_string()))
    }

    /// Says what is wrong on standard error; the exit code for it.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Input(line) => {
                tell(line);
                ExitCode::from(2)
            }
            Self::Run(line) => {
                tell(line);
                ExitCode::from(1)
            }
            Self::Closed => ExitCode::SUCCESS,
        }
    }
}

/// The label before a failure.
const LABEL: &str = "error:";

/// Tells a failure on standard error, in lines that fit it; in one line to a program that reads lines.
pub fn tell(failure: impl Display) {
    let text = format!("{LABEL} {failure}");
    let view = View::of_width(width_of_errors());
    let text = if progress::is_read_by_a_program() { text } else { report::message(&text, &view) };
    match text.strip_prefix(LABEL) {
        Some(rest) if paints_errors() => progress::say(format!("\x1b[1;31m{LABEL}\x1b[0m{rest}")),
        _ => progress::say(text),
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Closed,
            // Files name themselves in what goes wrong with them.
            _ => Self::Run(one_line(&error.to_string())),
        }
    }
}

impl From<record::WriteError> for Failure {
    fn from(error: record::WriteError) -> Self {
        match error {
            record::WriteError::Io(error) => error.into(),
            other => Self::run(other),
        }
    }
}

impl From<trace::WriteError> for Failure {
    fn from(error: trace::WriteError) -> Self {
        match error {
            trace::WriteError::Io(error) => error.into(),
            other => Self::run(other),
        }
    }
}

/// The argument parser's error as one message: its complaint and its hints, without the usage.
pub fn of_arguments(error: &clap::Error) -> Failure {
    if let Some(failure) = of_number(error) {
        return failure;
    }
    if error.kind() == ErrorKind::InvalidUtf8 {
        return of_no_text(std::env::args_os());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::Input("a subcommand is missing; `ccnuma --help` lists them".to_owned());
    }
    let text = error.render().to_string();
    let said = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // Words after `--` are a program here and its arguments, never a value.
    let said = said.filter(|line| !(line.starts_with("tip: to pass") && line.contains("use '-- ")));
    let said = said.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let line = said.collect::<Vec<_>>().join("; ");
    Failure::Input(line.strip_prefix("error: ").unwrap_or(&line).replace(":; ", ": "))
}

/// The failure for words that are no text where a name is wanted: the argument parser does not say which.
fn of_no_text(words: impl Iterator<Item = OsString>) -> Failure {
    let told = |word: OsString| word.to_str().is_none().then(|| format!("{word:?}"));
    let words: Vec<String> = words.take_while(|word| word != "--").filter_map(told).collect();
    Failure::Input(format!("{}: not UTF-8; accepted: UTF-8, except in the paths of files", words.join(", ")))
}

/// The failure if a number cannot be read, or is out of range: with what is accepted, which neither the standard library nor the
/// argument parser says in words.
fn of_number(error: &clap::Error) -> Option<Failure> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        _ => None,
    };
    let (flag, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    let source = std::error::Error::source(error)?;
    let (problem, accepted) = if let Some(error) = source.downcast_ref::<ParseIntError>() {
        match error.kind() {
            IntErrorKind::PosOverflow => ("too large", format!("a whole number up to {}", u64::MAX)),
            _ => ("not a whole number", "a whole number such as 1000000".to_owned()),
        }
    } else if source.is::<ParseFloatError>() {
        ("not a number", "a number such as 2.5".to_owned())
    } else {
        ("out of range", range(&source.to_string())?)
    };
    // The name of the flag, without that of its value.
    Some(Failure::flag(flag.split(' ').next().unwrap_or(flag), value, problem, accepted))
}

/// The range in the argument parser's `N is not in LEAST..=MOST`, in words.
fn range(said: &str) -> Option<String> {
    let (least, most) = said.split_once(" is not in ")?.1.split_once("..=")?;
    Some(format!("a whole number from {least} to {most}"))
}

fn one_line(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        let Failure::Input(line) = Failure::input("first\n  second\n\n") else { panic!("bad input") };
        assert_eq!(line, "first; second");
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let error = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(matches!(Failure::from(error), Failure::Closed));
        let error = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(matches!(Failure::from(error), Failure::Run(_)));
    }
}
