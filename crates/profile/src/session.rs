//! Sampling in real time: when to read, when to write, when to end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use host::children;
use trace::{Event, TraceWriter, WriteError};

use crate::{CounterSource, Sampler, Sink};

/// How much of a trace may be lost if we are killed.
const FLUSH: Duration = Duration::from_millis(500);
/// Sleeping longer than this would let a program's end go unnoticed.
const NAP: Duration = Duration::from_millis(20);

/// Something that takes samples and is told when to put them into safety.
pub trait Keeper: Sink {
    /// Puts what it has where it survives us.
    ///
    /// # Errors
    /// When it cannot.
    fn keep(&mut self) -> Result<(), WriteError> {
        Ok(())
    }
}

impl<W: io::Write> Keeper for TraceWriter<W> {
    fn keep(&mut self) -> Result<(), WriteError> {
        self.flush()
    }
}

impl Keeper for crate::Live {}

impl<A: Keeper, B: Keeper> Keeper for crate::Tee<'_, A, B> {
    fn keep(&mut self) -> Result<(), WriteError> {
        self.0.keep()?;
        self.1.keep()
    }
}

/// Reads and samples at the sampler's interval until `each`, which is called after every sample and now and then in between,
/// breaks; then takes a last sample, unless there is one of this moment, and notes the summary.
///
/// # Errors
/// When the sink fails, or `each` does.
pub fn drive<S: Keeper, E: From<WriteError>>(
    source: &mut dyn CounterSource,
    sampler: &mut Sampler,
    sink: &mut S,
    mut each: impl FnMut(&mut S, bool) -> Result<ControlFlow<Option<Event>>, E>,
) -> Result<(), E> {
    let interval = sampler.interval();
    let reading = Duration::from_nanos(interval.reading_ns);
    let mut readings = 0;
    let mut kept = Instant::now();
    sampler.refresh(source, sink)?;
    sampler.sample(source, sink)?;
    let mut due = Instant::now() + reading;
    let mut ended = each(sink, true)?;
    let mut fresh = true;
    while ended.is_continue() {
        let now = Instant::now();
        if now < due {
            std::thread::sleep((due - now).min(NAP));
            if Instant::now() < due {
                ended = each(sink, false)?;
                fresh = false;
                continue;
            }
        }
        // Where we come too late for the next reading too, that one is left out.
        due = (due + reading).max(Instant::now());
        readings += 1;
        if readings % interval.readings() == 0 {
            sampler.refresh(source, sink)?;
            sampler.sample(source, sink)?;
            ended = each(sink, true)?;
            fresh = true;
        } else {
            sampler.read(source);
            fresh = false;
        }
        if kept.elapsed() >= FLUSH {
            sink.keep()?;
            kept = Instant::now();
        }
    }
    // A last sample covers the time since the one before.
    if !fresh {
        sampler.refresh(source, sink)?;
        sampler.sample(source, sink)?;
    }
    if let ControlFlow::Break(Some(event)) = ended {
        sink.event(sampler.time_ns(), &event)?;
    }
    sink.event(sampler.time_ns(), &sampler.summary())?;
    Ok(sink.keep()?)
}

/// A program that was started, and how it ended.
#[derive(Debug)]
pub struct Program {
    process: i32,
    status: Option<ExitStatus>,
}

impl Program {
    /// The file of a program, if there is one, so that nothing is done for one that there is not.
    ///
    /// # Errors
    /// `NotFound`, or `PermissionDenied` where there is one that may not be run.
    pub fn find(name: &OsStr) -> io::Result<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let runs = |path: &Path| match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => Ok(path.to_owned()),
            Ok(_) => Err(io::Error::new(io::ErrorKind::PermissionDenied, "not an executable file")),
            Err(error) => Err(error),
        };
        if name.as_encoded_bytes().contains(&b'/') {
            return runs(Path::new(name));
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&folders).find_map(|folder| runs(&folder.join(name)).ok());
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not found in PATH"))
    }

    /// Starts a program with our own input and output, which `source` watches. Its orphans will be ours.
    ///
    /// # Errors
    /// When there is no such program or it cannot be started.
    pub fn start(command: &[OsString], source: &mut dyn CounterSource) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        // Without it a daemon's traces would be lost, which is no reason to refuse the program.
        let _orphans_stay_elsewhere = children::adopt_orphans();
        // Not waited for by its handle, which would take its end from `ended`.
        source.starting(true);
        let child = Command::new(program).args(arguments).spawn();
        source.starting(false);
        let child = child?;
        Ok(Self { process: child.id() as i32, status: None })
    }

    /// Its number.
    pub fn process(&self) -> i32 {
        self.process
    }

    /// Whether it has ended; takes note of orphans that have.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let mut ended = children::ended().into_iter();
        if self.status.is_none() {
            self.status = ended.find(|(process, _)| *process == self.process).map(|(_, status)| status);
        }
        self.status
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        const SIGTERM: i32 = 15;
        children::pass_on(SIGTERM, self.process);
    }
}

/// The event of a program's end.
pub fn exit_event(status: ExitStatus) -> Event {
    use std::os::unix::process::ExitStatusExt;
    Event::Exit { code: status.code(), signal: status.signal() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_before_they_are_started() {
        assert!(Program::find(OsStr::new("sh")).is_ok() && Program::find(OsStr::new("/bin/sh")).is_ok());
        let kind = |name: &str| Program::find(OsStr::new(name)).map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind("no-such-program-anywhere"), Err(io::ErrorKind::NotFound));
        assert_eq!(kind("/no/such/program"), Err(io::ErrorKind::NotFound));
        assert_eq!(kind("/etc/passwd"), Err(io::ErrorKind::PermissionDenied));
        assert_eq!(kind("/"), Err(io::ErrorKind::PermissionDenied));
        let message = Program::find(OsStr::new("no-such-program-anywhere")).expect_err("none").to_string();
        assert_eq!(message, "not found in PATH");
    }
}
