//! The end of a program, wherever its threads are, and what is told of it: notes, an error, an answer.

use std::ffi::c_int;
use std::fs;
use std::path::Path;

use sim::Thread;
use units::Time;

use super::callbacks;
use super::state::{current, note, number, run};
use crate::request::{self, Answer, ReadError, Request, VARIABLE};

/// The simulation cannot begin, wherever the program is: whoever asked for it learns why, and the program ends.
pub fn refuse_to_begin(problem: String) -> ! {
    if let Some(request) = read_request() {
        deliver(&Answer { error: Some(problem), status: 2, ..Answer::default() }, &request.answer);
    }
    // SAFETY: nothing of the process is wanted any more.
    unsafe { libc::_exit(2) }
}

/// The request of the run; if it cannot be read, whoever made it learns why.
pub fn read_request() -> Option<Request> {
    let path = std::env::var_os(VARIABLE)?;
    let refused = |problem: String| {
        complain(&format!("{VARIABLE} {}: {problem}; `ccnuma sim` sets it", path.display()));
        None
    };
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) => return refused(error.to_string()),
    };
    match request::read(&text) {
        Ok(request) => Some(request),
        Err(ReadError::OtherBuild { told, .. }) if told["answer"].is_string() => {
            // The command tells what is wrong, from the build that the answer is of.
            deliver(&Answer::default(), Path::new(told["answer"].as_str().unwrap_or_default()));
            None
        }
        Err(error) => refused(error.to_string()),
    }
}

/// The process ends here and now, in the middle of the simulation: what went wrong has been noted.
pub fn give_up() -> ! {
    let run = run();
    let answer =
        Answer { error: run.error.take(), status: 1, notes: std::mem::take(&mut run.notes), ..Answer::default() };
    deliver(&answer, &run.request.answer);
    // SAFETY: nothing of the process is wanted any more.
    unsafe { libc::_exit(1) }
}

/// Writes an answer where it is expected.
pub fn deliver(answer: &Answer, path: &Path) {
    let written = request::written(answer).map_err(|error| error.to_string());
    if let Err(problem) = written.and_then(|text| fs::write(path, text).map_err(|error| error.to_string())) {
        complain(&format!("cannot write {}: {problem}", path.display()));
    }
}

/// Says on standard error what is wrong, without whatever the program has done to its streams.
fn complain(problem: &str) {
    let line = format!("error: {problem}\n");
    // SAFETY: the bytes are there.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

/// The program ends with a status, wherever its threads are.
pub fn end(status: c_int) -> ! {
    // The bits of a status that a parent gets to see.
    run().status = status & 0xff;
    stop()
}

fn stop() -> ! {
    if let Some(thread) = current() {
        callbacks::settle(thread);
        thread.end_process();
    }
    unreachable!("a thread that ended its process is not resumed")
}

/// Somebody has had enough: the program ends, wherever its threads are, and what it has done is told.
pub fn end_early(thread: &mut Thread<'static>) -> ! {
    let time = thread.clock().since(Time::ZERO).rounded();
    note(format!("interrupted at {time} of simulated time: the record covers the run up to then"));
    end(0)
}

/// The simulation cannot go on: what has happened is told, and the program ends.
pub fn fail(thread: &mut Thread<'static>, problem: &str) -> ! {
    let (at, number) = (thread.clock(), number());
    run().error.get_or_insert_with(|| format!("{problem} (thread {number}, simulated time {at})"));
    stop()
}

/// The program cannot go on, simulated or not: what has happened is told, and it ends.
pub fn cannot_go_on(problem: &str) -> ! {
    match current() {
        Some(thread) => fail(thread, problem),
        None => {
            complain(problem);
            // SAFETY: takes nothing.
            unsafe { libc::abort() }
        }
    }
}

/// Ends the program.
///
/// # Safety
/// As of `exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_exit(status: c_int) -> ! {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::exit(status) },
        Some(_) => end(status),
    }
}

macro_rules! at_once {
    ($($name:ident)*) => {$(
        /// Ends the program at once.
        ///
        /// # Safety
        /// As of the C library's own.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(status: c_int) -> ! {
            match current() {
                // SAFETY: the caller's promise.
                None => unsafe { libc::_exit(status) },
                Some(_) => end(status),
            }
        }
    )*};
}

at_once!(__wrap__exit __wrap__Exit __wrap_quick_exit);

/// The program gives up.
///
/// # Safety
/// As of `abort`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_abort() -> ! {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::abort() },
        Some(thread) => fail(thread, "the program called abort"),
    }
}
