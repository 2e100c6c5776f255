//! Condition variables: a word that counts signals, and who waits for it to change.

use std::ffi::c_int;

use libc::{clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use sim::{Cause, Thread};
use units::Time;

use super::clock::deadline;
use super::mode::mode;
use super::state::{Mode, current};
use super::words::{acquire, indivisible};
use super::{cancel, futex, locking, looking, mutex};

/// The runtime's condition variable, kept in the program's structure. Static initialisers make it all zero.
#[repr(C)]
struct Condition {
    /// Counts signals.
    signals: u32,
    /// The clock of deadlines, where that is not the wall clock.
    clock: clockid_t,
    /// Its words where threads wait by looking at words ([`looking`]).
    looked_at: looking::Condition,
}

fn signals(condition: *mut pthread_cond_t) -> *mut u32 {
    // SAFETY: the program's structure is longer.
    unsafe { &raw mut (*condition.cast::<Condition>()).signals }
}

/// Waits for a signal, without the mutex meanwhile.
fn wait(
    thread: &mut Thread<'static>,
    condition: *mut pthread_cond_t,
    lock: *mut pthread_mutex_t,
    until: Option<Time>,
) -> c_int {
    if cancel::is_due() {
        return 0;
    }
    if locking::is_asked_for() {
        // SAFETY: the program's structure is long enough.
        let words = unsafe { &raw mut (*condition.cast::<Condition>()).looked_at };
        return thread.charged_to(Cause::Lock, |thread| looking::wait(thread, words, lock, until));
    }
    let word = signals(condition);
    thread.charged_to(Cause::Lock, |thread| {
        // SAFETY: the program's condition variable.
        let look = || unsafe { word.read_volatile() };
        let seen = acquire(thread, word as usize, look);
        let given = mutex::give(thread, lock);
        if given != 0 {
            return given;
        }
        let now = acquire(thread, word as usize, look);
        let in_time = now != seen || futex::wait_at_point(thread, word as usize, until);
        let taken = mutex::take(thread, lock, None);
        if taken == 0 && !in_time { libc::ETIMEDOUT } else { taken }
    })
}

fn signal(thread: &mut Thread<'static>, condition: *mut pthread_cond_t, most: usize) -> c_int {
    if locking::is_asked_for() {
        // SAFETY: the program's structure is long enough.
        let words = unsafe { &raw mut (*condition.cast::<Condition>()).looked_at };
        thread.charged_to(Cause::Lock, |thread| looking::signal(thread, words, most));
        return 0;
    }
    let word = signals(condition);
    thread.charged_to(Cause::Lock, |thread| {
        // SAFETY: the program's condition variable.
        indivisible(thread, word as usize, || unsafe { word.write_volatile(word.read_volatile().wrapping_add(1)) });
        futex::wake(thread, word as usize, most);
        0
    })
}

/// Makes a condition variable.
///
/// # Safety
/// As of `pthread_cond_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_cond_init(
    condition: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if mode() == Mode::Native {
            return libc::pthread_cond_init(condition, attributes);
        }
        let mut clock = libc::CLOCK_REALTIME;
        if !attributes.is_null() {
            libc::pthread_condattr_getclock(attributes, &raw mut clock);
        }
        *condition.cast::<Condition>() = Condition { signals: 0, clock, looked_at: looking::Condition::default() };
    }
    0
}

/// A condition variable is no more.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_cond_destroy(_condition: *mut pthread_cond_t) -> c_int {
    0
}

/// Waits for a signal.
///
/// # Safety
/// As of `pthread_cond_wait`.
pub unsafe extern "C" fn cond_wait(condition: *mut pthread_cond_t, lock: *mut pthread_mutex_t) -> c_int {
    match current() {
        Some(thread) => wait(thread, condition, lock, None),
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_cond_wait(condition, lock) },
    }
}

/// Waits for a signal or for a time.
///
/// # Safety
/// As of `pthread_cond_timedwait`.
pub unsafe extern "C" fn cond_timed_wait(
    condition: *mut pthread_cond_t,
    lock: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    match current() {
        Some(thread) => {
            // SAFETY: the caller's promise.
            let until = unsafe { deadline(time, (*condition.cast::<Condition>()).clock) };
            wait(thread, condition, lock, Some(until))
        }
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_cond_timedwait(condition, lock, time) },
    }
}

/// The same by a clock of choice.
///
/// # Safety
/// As of `pthread_cond_clockwait`.
pub unsafe extern "C" fn cond_clock_wait(
    condition: *mut pthread_cond_t,
    lock: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    match current() {
        // SAFETY: the caller's promise.
        Some(thread) => wait(thread, condition, lock, Some(unsafe { deadline(time, clock) })),
        // SAFETY: the caller's promise.
        None => unsafe { pthread_cond_clockwait(condition, lock, clock, time) },
    }
}

unsafe extern "C" {
    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t,
        lock: *mut pthread_mutex_t,
        clock: clockid_t,
        time: *const timespec,
    ) -> c_int;
}

/// Lets one thread go on that waits.
///
/// # Safety
/// As of `pthread_cond_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    match current() {
        Some(thread) => signal(thread, condition, 1),
        None if mutex::alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_cond_signal(condition) },
    }
}

/// Lets all threads go on that wait.
///
/// # Safety
/// As of `pthread_cond_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    match current() {
        Some(thread) => signal(thread, condition, usize::MAX),
        None if mutex::alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_cond_broadcast(condition) },
    }
}
