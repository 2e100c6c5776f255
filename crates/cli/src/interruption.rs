//! Interruption of a command: it says what is done, what is missing and how to go on, leaves no file that looks complete, and
//! exits with 128 and the signal's number.
//!
//! Signals belong to a process, so what they find is one state of it. A thread waits for them; whatever computes meanwhile, such as
//! a simulation of an hour, need not look at anything. Parts of the command leave here what is to be told and what is to be
//! removed. Only a command that must end a measurement properly [ends itself](Itself).

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::children;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::progress;

/// The first signal that came, zero before.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Whether the command ends itself.
static ITSELF: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<State> =
    Mutex::new(State { accounts: Vec::new(), unfinished: BTreeSet::new(), complete: 0, how_to_go_on: None, far: None });

/// How long children may take to end that were sent the signal, too.
const CHILDREN: Duration = Duration::from_secs(1);
/// How long an account is waited for that is being added to: whoever reads our output may read no more.
const ACCOUNT: Duration = Duration::from_millis(500);
const NAP: Duration = Duration::from_millis(10);

/// Prints what is not printed yet, and says what is safe; nothing if it is busy.
type Account = Box<dyn FnMut() -> Option<String> + Send>;

struct State {
    accounts: Vec<Account>,
    /// Files that are not complete, to be removed.
    unfinished: BTreeSet<PathBuf>,
    /// How many files were written as a whole.
    complete: usize,
    how_to_go_on: Option<String>,
    /// How far the command was when the signal came.
    far: Option<String>,
}

/// The state. A thread that panicked has left it whole.
fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to wait for signals: SIGINT and SIGTERM end the command, and a file that grew to its limit (SIGXFSZ) is an error of
/// writing like any other.
///
/// # Errors
/// When the system has no such signals.
pub fn listen() -> Result<(), Failure> {
    let never_read = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, never_read).map_err(Failure::run)?;
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::run)?;
    let wait = move || {
        for signal in signals.forever() {
            let first = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
            // A second signal means that nobody wants to wait for a proper end.
            if !first || !ITSELF.load(Ordering::SeqCst) {
                state().far = progress::stop();
                end_children(signal);
                end();
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop).map_err(Failure::run)
}

/// The signal that has come, if one has.
fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

/// As long as it lives, the command looks for a signal and ends itself.
pub struct Itself(());

impl Itself {
    /// The command ends itself from here on.
    pub fn begin() -> Self {
        ITSELF.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Whether it is to end now.
    pub fn is_interrupted(&self) -> bool {
        signal().is_some()
    }
}

impl Drop for Itself {
    fn drop(&mut self) {
        ITSELF.store(false, Ordering::SeqCst);
    }
}

/// Leaves something to be told if the command is interrupted. It runs on another thread than the command.
pub fn leave_account(account: impl FnMut() -> Option<String> + Send + 'static) {
    state().accounts.push(Box::new(account));
}

/// How an interrupted command is gone on with; unless it is said, by running it again.
pub fn go_on_by(how: impl Into<String>) {
    state().how_to_go_on = Some(how.into());
}

/// A file that is not complete: it goes if the command is interrupted.
pub fn unfinished(path: &Path) {
    state().unfinished.insert(path.to_owned());
}

/// The file is complete, and has its name by `rename`, or it is given up.
///
/// # Errors
/// Those of `rename`.
pub fn finished<T, E>(path: &Path, rename: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    // Under the lock: an interruption comes before it or after it.
    let mut state = state();
    state.unfinished.remove(path);
    let renamed = rename()?;
    state.complete += 1;
    Ok(renamed)
}

/// The exit code of a command that has come to its end, unless it was interrupted meanwhile.
pub fn conclude(result: Result<ExitCode, Failure>) -> ExitCode {
    match (signal(), result) {
        (None, Ok(code)) => code,
        (None, Err(failure)) => failure.report(),
        // An error after a signal is a consequence of it, if the command did not expect the signal.
        (Some(_), _) => end(),
    }
}

/// Passes the signal on to the programs that this process has started, and waits for them a little.
fn end_children(signal: i32) {
    let children = children::of_this_process();
    children.iter().for_each(|&child| children::pass_on(signal, child));
    let begin = Instant::now();
    while !children.is_empty() && !children::of_this_process().is_empty() && begin.elapsed() < CHILDREN {
        thread::sleep(NAP);
    }
    if !children.is_empty() {
        // Whoever waited for them removes what was theirs.
        thread::sleep(NAP);
    }
}

/// Tells what is to be told and ends the process.
fn end() -> ! {
    // Never unlocked: whoever else comes here waits for the end.
    let mut state = state();
    let progress = state.far.take().or_else(progress::stop);
    let told: Vec<String> = state.accounts.iter_mut().filter_map(told).collect();
    for path in &state.unfinished {
        // It may be gone, and nobody is left to hear that it cannot be removed.
        let _gone = std::fs::remove_file(path);
    }
    let safe = match state.complete {
        _ if !told.is_empty() => None,
        0 => Some("no file was written".to_owned()),
        1 => Some("1 file is complete".to_owned()),
        complete => Some(format!("{complete} files are complete")),
    };
    let mut parts: Vec<String> = progress.into_iter().chain(told).chain(safe).collect();
    parts.push(state.how_to_go_on.clone().unwrap_or_else(|| "run again, the command begins anew".to_owned()));
    // Standard error may be closed.
    let _unheard = writeln!(io::stderr(), "interrupted: {}", parts.join("; "));
    std::process::exit(128 + signal().unwrap_or(SIGINT))
}

/// The text of an account, once nobody adds to it.
fn told(account: &mut Account) -> Option<String> {
    let begin = Instant::now();
    loop {
        match account() {
            Some(text) => return Some(text).filter(|text| !text.is_empty()),
            None if begin.elapsed() > ACCOUNT => return None,
            None => thread::sleep(NAP),
        }
    }
}
