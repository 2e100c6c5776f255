//! Standard input of a program that is run several times: every run gets it from its beginning.
//!
//! A file is opened anew for each. What comes through a pipe is read once, as it comes, kept, and handed to each run. A terminal is each
//! run's own: who sits at it may type again.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::process::{ChildStdin, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Bytes of standard input that have come so far.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Whether nothing more will come.
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    kept: Mutex<Kept>,
    changed: Condvar,
    reader: OnceLock<()>,
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Kept)) {
        change(&mut self.kept());
        self.changed.notify_all();
    }
}

/// Standard input, for all runs of a program.
#[derive(Clone, Debug)]
pub enum Input {
    /// That of the command: of a single run, or a terminal.
    Same,
    /// A file, from this byte on.
    File(u64),
    /// A pipe or a socket.
    Stream(Arc<Stream>),
}

/// A stream whose bytes are kept.
#[derive(Debug, Default)]
pub struct Stream(Arc<Shared>);

impl Input {
    /// That of the command, for several runs.
    pub fn kept() -> Self {
        let Ok(mut file) = std::io::stdin().as_fd().try_clone_to_owned().map(File::from) else { return Self::Same };
        let Ok(kind) = file.metadata().map(|data| data.file_type()) else { return Self::Same };
        match file.stream_position() {
            Ok(start) if kind.is_file() => Self::File(start),
            _ if kind.is_fifo() || kind.is_socket() => Self::Stream(Arc::default()),
            _ => Self::Same,
        }
    }

    /// Standard input that a run is started with, where `unseen` ones disturb nobody at a terminal.
    pub fn of_a_run(&self, unseen: bool) -> Stdio {
        match self {
            Self::Same if unseen => Stdio::null(),
            Self::Same => Stdio::inherit(),
            Self::File(start) => {
                let opened = File::open("/proc/self/fd/0").and_then(|mut file| {
                    file.seek(SeekFrom::Start(*start))?;
                    Ok(file)
                });
                opened.map_or_else(|_| Stdio::inherit(), Stdio::from)
            }
            Self::Stream(_) => Stdio::piped(),
        }
    }

    /// Hands a run that was started so all that has come and comes; whoever waits for the run to end drops what this returns then.
    pub fn feed(&self, pipe: Option<ChildStdin>) -> Option<Feeder> {
        let (Self::Stream(stream), Some(mut pipe)) = (self, pipe) else { return None };
        let shared = stream.0.clone();
        shared.reader.get_or_init(|| read(shared.clone()));
        let over = Arc::new(Mutex::new(false));
        let (of_run, from) = (over.clone(), shared.clone());
        let thread = std::thread::spawn(move || {
            let mut at = 0;
            while let Some(bytes) = next(&from, at, &of_run) {
                at += bytes.len();
                // A run that has ended, or closed its input, wants no more.
                if pipe.write_all(&bytes).is_err() {
                    return;
                }
            }
        });
        Some(Feeder { shared, over, thread: Some(thread) })
    }
}

/// Hands standard input to one run.
pub struct Feeder {
    shared: Arc<Shared>,
    over: Arc<Mutex<bool>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Feeder {
    fn drop(&mut self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.change(|_| ());
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// Reads standard input to its end, in the background.
fn read(shared: Arc<Shared>) {
    std::thread::spawn(move || {
        let mut chunk = vec![0; 64 << 10];
        loop {
            match std::io::stdin().lock().read(&mut chunk) {
                Ok(0) | Err(_) => return shared.change(|kept| kept.ended = true),
                Ok(length) => shared.change(|kept| kept.bytes.extend_from_slice(&chunk[..length])),
            }
        }
    });
}

/// Bytes that come after the first `at`, once there are some; none at the end, or when the run is over.
fn next(shared: &Shared, at: usize, over: &Mutex<bool>) -> Option<Vec<u8>> {
    let mut kept = shared.kept();
    loop {
        if *over.lock().unwrap_or_else(PoisonError::into_inner) {
            return None;
        }
        if at < kept.bytes.len() {
            return Some(kept.bytes[at..].to_vec());
        }
        if kept.ended {
            return None;
        }
        kept = shared.changed.wait(kept).unwrap_or_else(PoisonError::into_inner);
    }
}
