//! Looking after a program while it is simulated: how far it is, and whether somebody has had enough of it.
//!
//! The runtime writes how far it is into a small file that it has mapped; whoever watches reads that twice a second.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration as HostDuration;

use units::Duration;

/// How far a simulated program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Simulated time since its beginning.
    pub simulated: Duration,
    /// Threads that have not ended.
    pub threads: u64,
}

impl Progress {
    /// Bytes of the file: the time in picoseconds, and the number of threads, as this computer has numbers.
    pub const BYTES: usize = 16;

    fn of(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        Some(Self { simulated: Duration(number(0)?), threads: number(8)? })
    }
}

/// How often somebody looks.
const INTERVAL: HostDuration = HostDuration::from_millis(500);

type Asks = dyn Fn() -> bool + Send + Sync;
type Tell = dyn Fn(Progress) + Send + Sync;

/// Functions that learn how far programs are, and tell when they are to end.
#[derive(Clone, Default)]
pub struct Watch {
    interrupted: Option<Arc<Asks>>,
    tell: Option<Arc<Tell>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched = [("interrupted", self.interrupted.is_some()), ("told", self.tell.is_some())];
        formatter.debug_map().entries(watched).finish()
    }
}

impl Watch {
    /// A program is interrupted when `interrupted` says so.
    pub fn interrupted(self, interrupted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { interrupted: Some(Arc::new(interrupted)), ..self }
    }

    /// `tell` learns how far a program is.
    pub fn told(self, tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { tell: Some(Arc::new(tell)), ..self }
    }

    /// The file for a run whose files are in `folder`, if anybody wants to know.
    pub fn file(&self, folder: &Path) -> Option<PathBuf> {
        self.tell.as_ref().map(|_| folder.join("progress"))
    }

    /// Watches a run that tells how far it is in `file`.
    pub fn begin(&self, child: &Child, file: Option<PathBuf>) -> Option<Watcher> {
        if self.interrupted.is_none() && self.tell.is_none() {
            return None;
        }
        let (watch, pid) = (self.clone(), child.id().cast_signed());
        let (over, told) = channel();
        let thread = std::thread::spawn(move || {
            let mut sent = false;
            while told.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if !sent && watch.interrupted.as_ref().is_some_and(|interrupted| interrupted()) {
                    // SAFETY: the child has not been waited for, so that its number is its own.
                    unsafe { libc::kill(pid, libc::SIGINT) };
                    sent = true;
                }
                let progress = file.as_ref().and_then(|file| fs::read(file).ok()).as_deref().and_then(Progress::of);
                if let (Some(tell), Some(progress)) = (&watch.tell, progress) {
                    tell(progress);
                }
            }
        });
        Some(Watcher { over, thread })
    }
}

/// Somebody who watches a run.
pub struct Watcher {
    over: Sender<()>,
    thread: JoinHandle<()>,
}

/// Output of a run, and how it has ended; nobody watches it from then on.
///
/// # Errors
/// The system cannot tell.
pub fn output(child: Child, watcher: Option<Watcher>) -> io::Result<Output> {
    if let Some(watcher) = watcher {
        // Its number remains its own until it is waited for.
        if child.stdout.is_none() {
            let kind = libc::WEXITED | libc::WNOWAIT;
            // SAFETY: all zero is a value of it, which the kernel writes.
            while unsafe { libc::waitid(libc::P_PID, child.id(), &mut std::mem::zeroed(), kind) } != 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
        drop(watcher.over);
        let _ended = watcher.thread.join();
    }
    child.wait_with_output()
}
