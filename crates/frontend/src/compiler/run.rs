//! Runs what takes the place of a compiler's command line.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use super::plan::{Options, Plan, Step, plan};
use super::shims::path_of_compilers;
use super::{Compiler, CompilerError, Enclosed, Installation, Language};

/// Takes the place of `compiler arguments`: compiles and links what is asked for, with instrumentation. `tell` gets what the user
/// is to know, a line at a time; `enclosed` is the runtime in the command. Returns the exit status; does not return at all where the compiler itself can take over.
///
/// # Errors
/// There is no compiler or no runtime, or the command line asks for what cannot be simulated.
pub fn run(
    language: Language,
    wrapped: &[&str],
    enclosed: Option<&Enclosed>,
    arguments: Vec<OsString>,
    tell: impl Fn(&str),
) -> Result<u8, CompilerError> {
    let (options, arguments) = Options::take(arguments)?;
    let compiler = Compiler::find(language, options.compiler.as_deref())?;
    let installation = Installation::find(enclosed)?;
    let scratch = tempfile::Builder::new().prefix("ccnuma-").tempdir().map_err(CompilerError::Scratch)?;
    let plan = plan(language, &compiler, &installation, wrapped, &options, &arguments, scratch.path())?;
    plan.notices.iter().for_each(|notice| tell(notice));
    if options.verbose {
        plan.before.iter().chain([&plan.last]).for_each(|step| tell(&spelled(step)));
    }
    let Plan { before, last, .. } = plan;
    if before.is_empty() {
        // Nothing of ours is needed after this: the compiler gets our place, and signals and exit status are its own.
        drop(scratch);
        let mut command = command(&last)?;
        return Err(CompilerError::Start { program: command.get_program().to_owned(), error: command.exec() });
    }
    for step in before.iter().chain([&last]) {
        let mut command = command(step)?;
        let ended = command.status();
        let status =
            ended.map_err(|error| CompilerError::Start { program: command.get_program().to_owned(), error })?;
        if !status.success() {
            // As shells say it, a signal is a status above 128.
            let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            return Ok(u8::try_from(status).unwrap_or(u8::MAX));
        }
    }
    Ok(0)
}

fn command(step: &Step) -> Result<Command, CompilerError> {
    let none = || CompilerError::Start { program: OsString::new(), error: std::io::ErrorKind::NotFound.into() };
    let (program, arguments) = step.split_first().ok_or_else(none)?;
    let mut command = Command::new(program);
    command.args(arguments);
    // Names of compilers lead to compilers in this path, not to the running command.
    if let Some(path) = path_of_compilers() {
        command.env("PATH", path);
    }
    Ok(command)
}

/// A step as one could type it.
fn spelled(step: &Step) -> String {
    let word = |word: &OsString| {
        let text = word.to_string_lossy();
        let plain = |character: char| character.is_ascii_alphanumeric() || "-_=+,./:@%".contains(character);
        if !text.is_empty() && text.chars().all(plain) {
            text.into_owned()
        } else {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
    };
    step.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_spelled_for_a_shell() {
        let step: Step = ["gcc", "-DX=\"a b\"", "", "it's", "-o", "a/b.o"].map(OsString::from).into();
        assert_eq!(spelled(&step), r#"gcc '-DX="a b"' '' 'it'\''s' -o a/b.o"#);
    }
}
