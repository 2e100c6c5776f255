//! A program of this computer that is started, and sampled until it ends.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use host::discovery::{Inventory, KernelFiles};
use profile::lines::unix_now;
use profile::session::{Keeper, Program, drive, exit_event};
use profile::{Sampler, Sources};
use trace::Preamble;

use crate::failure::Failure;
use crate::interruption::interruption;

/// How long a program that was interrupted with us has to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// What stands before the samples of `command`.
pub fn preamble(
    files: &KernelFiles,
    inventory: &Inventory,
    command: &[OsString],
    sampler: &Sampler,
    sources: &Sources,
) -> Preamble {
    let mut preamble = Preamble {
        machine: profile::linux::title(files, inventory),
        command: words(command),
        started_unix_ns: unix_now(),
        clock: "CLOCK_MONOTONIC".to_owned(),
        ..Preamble::default()
    };
    sampler.describe(sources, &mut preamble);
    preamble.sources = sources.descriptions();
    preamble
}

/// A command line as records tell it, whose words may be no UTF-8.
pub fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The refusal of a program.
pub fn cannot_be_started(program: &OsStr, error: &io::Error) -> Failure {
    Failure::flag("PROGRAM", program.display(), format!("cannot be started: {error}"), "a program that can be run")
}

/// Starts `command` and samples it until it ends; `begun` is called once it runs, `each` after every sample and now and then in
/// between. How it ended.
///
/// # Errors
/// When it cannot be started, `begun` fails, or the samples cannot be written.
pub fn watch(
    command: &[OsString],
    sources: &mut Sources,
    sampler: &mut Sampler,
    writer: &mut impl Keeper,
    begun: impl FnOnce() -> Result<(), Failure>,
    mut each: impl FnMut(),
) -> Result<Option<ExitStatus>, Failure> {
    let interrupted = interruption()?;
    let mut program = Program::start(command, sources).map_err(|error| cannot_be_started(&command[0], &error))?;
    begun()?;
    let mut since = None;
    drive(sources, sampler, writer, |_, _| {
        each();
        if interrupted.load(Ordering::Relaxed) && since.get_or_insert_with(Instant::now).elapsed() > GRACE {
            program.terminate();
        }
        Ok::<_, Failure>(match program.ended() {
            Some(status) => ControlFlow::Break(Some(exit_event(status))),
            None => ControlFlow::Continue(()),
        })
    })?;
    Ok(program.ended())
}
