//! A program of this computer that is started, and sampled until it ends.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use host::discovery::{Inventory, KernelFiles};
use profile::lines::unix_now;
use profile::session::{Keeper, Program, drive, exit_event};
use profile::{Sampler, Sources};
use trace::Preamble;

use crate::failure::Failure;
use crate::interruption::{self, Itself};

/// How long a program that was interrupted with us has to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long a program is left alone of which nothing is read any more.
const NAP: Duration = Duration::from_millis(20);

/// The preamble of the samples of `command`.
pub fn preamble(
    files: &KernelFiles,
    inventory: &Inventory,
    command: &[OsString],
    sampler: &Sampler,
    sources: &Sources,
) -> Preamble {
    let mut preamble = Preamble {
        machine: profile::linux::title(files, inventory),
        processor: inventory.processor.model.clone(),
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
    Failure::flag("PROGRAM", program.display(), format!("cannot be started: {error}"), "an executable program")
}

/// A program that has ended.
pub struct Watched {
    /// How it ended.
    pub status: Option<ExitStatus>,
    /// Whether all samples of it were written: what became of them does not end a program that runs.
    pub written: Result<(), Failure>,
}

/// Starts `command` and samples it until it ends; `begun` is called once it runs, `each` after every sample and now and then in
/// between. A signal that interrupts us ends it, too, if it has not after a while.
///
/// # Errors
/// When it cannot be started, or `begun` fails.
pub fn watch(
    command: &[OsString],
    sources: &mut Sources,
    sampler: &mut Sampler,
    writer: &mut impl Keeper,
    begun: impl FnOnce() -> Result<(), Failure>,
    mut each: impl FnMut(),
) -> Result<Watched, Failure> {
    let itself = Itself::begin();
    let mut program = Program::start(command, sources).map_err(|error| cannot_be_started(&command[0], &error))?;
    if let Err(failure) = begun() {
        program.terminate();
        return Err(failure);
    }
    let name = command[0].to_string_lossy().into_owned();
    interruption::leave_account(move || Some(format!("{name} was terminated")));
    let mut since = None;
    let mut look = || {
        if itself.is_interrupted() && since.get_or_insert_with(Instant::now).elapsed() > GRACE {
            program.terminate();
        }
        program.ended()
    };
    let written = drive(sources, sampler, writer, |_, _| {
        each();
        Ok::<_, Failure>(match look() {
            Some(status) => ControlFlow::Break(Some(exit_event(status))),
            None => ControlFlow::Continue(()),
        })
    });
    // A program whose samples could not be written goes on.
    while look().is_none() && written.is_err() {
        std::thread::sleep(NAP);
    }
    Ok(Watched { status: look(), written })
}
