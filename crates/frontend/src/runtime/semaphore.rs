//! Semaphores: a count that threads take from, or wait for.

use std::ffi::{c_int, c_uint};

use libc::{clockid_t, sem_t, timespec};
use sim::Cause;
use units::Time;

use super::clock::deadline;
use super::mode::mode;
use super::mutex::alone;
use super::state::{Mode, current};
use super::words::indivisible;
use super::{cancel, futex};

/// Takes one if there is any.
fn try_take(thread: &mut sim::Thread<'static>, count: *mut u32) -> bool {
    // SAFETY: the program's semaphore.
    indivisible(thread, count as usize, || unsafe {
        let found = count.read_volatile();
        if found > 0 {
            count.write_volatile(found - 1);
        }
        found > 0
    })
}

fn take(semaphore: *mut sem_t, until: Option<Time>) -> c_int {
    let Some(thread) = current() else { return 0 };
    if cancel::is_due() {
        return 0;
    }
    let count = semaphore.cast::<u32>();
    let in_time = thread.charged_to(Cause::Lock, |thread| {
        while !try_take(thread, count) {
            // SAFETY: the program's semaphore.
            if unsafe { count.read_volatile() } == 0 && !futex::wait_at_point(thread, count as usize, until) {
                return false;
            }
        }
        true
    });
    if in_time { 0 } else { fail(libc::ETIMEDOUT) }
}

fn fail(code: c_int) -> c_int {
    // SAFETY: it is the running thread's.
    unsafe { *libc::__errno_location() = code };
    -1
}

/// Makes a semaphore.
///
/// # Safety
/// As of `sem_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_sem_init(semaphore: *mut sem_t, shared: c_int, count: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if mode() == Mode::Native {
            return libc::sem_init(semaphore, shared, count);
        }
        *semaphore.cast::<u32>() = count;
    }
    0
}

/// A semaphore is no more.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_sem_destroy(_semaphore: *mut sem_t) -> c_int {
    0
}

/// Takes one, or waits for it.
///
/// # Safety
/// As of `sem_wait`.
pub unsafe extern "C" fn semaphore_wait(semaphore: *mut sem_t) -> c_int {
    if current().is_none() && !alone() {
        // SAFETY: the caller's promise.
        return unsafe { libc::sem_wait(semaphore) };
    }
    take(semaphore, None)
}

/// Takes one if there is any.
///
/// # Safety
/// As of `sem_trywait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_sem_trywait(semaphore: *mut sem_t) -> c_int {
    match current() {
        Some(thread) => {
            let taken = thread.charged_to(Cause::Lock, |thread| try_take(thread, semaphore.cast()));
            if taken { 0 } else { fail(libc::EAGAIN) }
        }
        None if alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::sem_trywait(semaphore) },
    }
}

/// Takes one, or gives up at a time.
///
/// # Safety
/// As of `sem_timedwait`.
pub unsafe extern "C" fn semaphore_timed_wait(semaphore: *mut sem_t, time: *const timespec) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { semaphore_clock_wait(semaphore, libc::CLOCK_REALTIME, time) }
}

/// The same by a clock of choice.
///
/// # Safety
/// As of `sem_clockwait`.
pub unsafe extern "C" fn semaphore_clock_wait(semaphore: *mut sem_t, clock: clockid_t, time: *const timespec) -> c_int {
    if current().is_none() && !alone() {
        // SAFETY: the caller's promise.
        return unsafe { libc::sem_timedwait(semaphore, time) };
    }
    // SAFETY: the caller's promise.
    take(semaphore, Some(unsafe { deadline(time, clock) }))
}

/// Gives one back.
///
/// # Safety
/// As of `sem_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_sem_post(semaphore: *mut sem_t) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return if alone() { 0 } else { unsafe { libc::sem_post(semaphore) } };
    };
    let count = semaphore.cast::<u32>();
    thread.charged_to(Cause::Lock, |thread| {
        thread.drain();
        // SAFETY: the program's semaphore.
        indivisible(thread, count as usize, || unsafe { count.write_volatile(count.read_volatile() + 1) });
        futex::wake(thread, count as usize, 1);
        0
    })
}

/// How many there are.
///
/// # Safety
/// As of `sem_getvalue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_sem_getvalue(semaphore: *mut sem_t, value: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if mode() == Mode::Native {
            return libc_sem_getvalue(semaphore, value);
        }
        *value = *semaphore.cast::<u32>() as c_int;
    }
    0
}

unsafe extern "C" {
    #[link_name = "sem_getvalue"]
    fn libc_sem_getvalue(semaphore: *mut sem_t, value: *mut c_int) -> c_int;
}
