//! Why the command did not do what was asked, as one line and an exit code.

use std::fmt::Display;
use std::process::ExitCode;

use clap::error::ErrorKind;

/// A failure, worded for one line on standard error.
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
                eprintln!("error: {line}");
                ExitCode::from(2)
            }
            Self::Run(line) => {
                eprintln!("error: {line}");
                ExitCode::from(1)
            }
            Self::Closed => ExitCode::SUCCESS,
        }
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

/// What the argument parser says, as one line: its complaint and its hints, without the usage.
pub fn of_arguments(error: &clap::Error) -> Failure {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::Input("a subcommand is missing; `ccnuma --help` lists them".to_owned());
    }
    let text = error.render().to_string();
    let said = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = said.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let line = said.collect::<Vec<_>>().join("; ");
    Failure::Input(line.strip_prefix("error: ").unwrap_or(&line).replace(":; ", ": "))
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
