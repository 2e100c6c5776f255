//! The functions of the C library about threads: making, joining, ending, and telling them apart.

use std::ffi::{c_int, c_void};

use sim::Cause;

use super::mode::mode;
use super::state::{Mode, current, of, run, this};
use super::threads::make;
use super::unwinding::unwind;
use super::wishes::Wishes;
use super::words::acquire;
use super::{cancel, ending, futex, libraries, measured};

/// The start function of a thread.
type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Makes a thread.
///
/// # Safety
/// As of `pthread_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_create(
    handle: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some(thread) = current() else {
        if mode() == Mode::Simulated {
            let file = libraries::file_of(start as *const () as usize);
            let problem = format!("a thread was made before main, by a constructor of {file}: it cannot be simulated");
            ending::refuse_to_begin(problem);
        }
        // SAFETY: the caller's promise; the two types of functions are called alike.
        return unsafe {
            let start = std::mem::transmute::<Start, extern "C" fn(*mut c_void) -> *mut c_void>(start);
            libc::pthread_create(handle, attributes, start, argument)
        };
    };
    // SAFETY: the caller's promise.
    let mut wishes = unsafe { Wishes::of(attributes) };
    if wishes.affinity.is_none() {
        // As on the host, a thread may run where its maker may.
        // SAFETY: threads are never freed.
        wishes.affinity = unsafe { (*this()).affinity.clone() };
    }
    // The new thread may look at its handle before its maker goes on.
    // SAFETY: the caller's promise.
    unsafe { *handle = (run().threads.len() + 1) as libc::pthread_t };
    make(thread, &wishes, Box::new(move || start(argument))).err().unwrap_or(0)
}

/// Waits for the end of a thread.
///
/// # Safety
/// As of `pthread_join`.
pub unsafe extern "C" fn join(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_join(handle, result) };
    };
    let Some(user) = of(handle) else { return libc::ESRCH };
    if user == this() {
        return libc::EDEADLK;
    }
    // SAFETY: threads are never freed.
    let user = unsafe { &mut *user };
    if user.detached || user.joined {
        return libc::EINVAL;
    }
    if cancel::is_due() {
        return 0;
    }
    user.joined = true;
    thread.charged_to(Cause::Idle, |thread| {
        loop {
            let ended = acquire(thread, user.ended as usize, || {
                // SAFETY: a word of the arena.
                unsafe { *user.ended }
            });
            if ended != 0 {
                break;
            }
            if !futex::wait_at_point(thread, user.ended as usize, None) {
                user.joined = false;
                break;
            }
        }
    });
    if !user.joined {
        return 0;
    }
    if !result.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *result = user.result };
    }
    measured::section_ends();
    0
}

/// Joins a thread if it has ended.
///
/// # Safety
/// As of `pthread_tryjoin_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_tryjoin_np(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    let (Some(_), Some(user)) = (current(), of(handle)) else { return libc::ESRCH };
    // SAFETY: threads are never freed, and `ended` is a word of the arena.
    if unsafe { *(*user).ended } == 0 {
        return libc::EBUSY;
    }
    // SAFETY: the caller's promise.
    unsafe { join(handle, result) }
}

/// Nobody will join a thread.
///
/// # Safety
/// As of `pthread_detach`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_detach(handle: libc::pthread_t) -> c_int {
    if current().is_none() {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_detach(handle) };
    }
    match of(handle) {
        None => libc::ESRCH,
        Some(user) => {
            // SAFETY: threads are never freed.
            unsafe { (*user).detached = true };
            0
        }
    }
}

/// Ends the thread that calls it, from wherever it is.
///
/// # Safety
/// As of `pthread_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_pthread_exit(result: *mut c_void) -> ! {
    if current().is_none() {
        // SAFETY: the caller's promise.
        unsafe { libc::pthread_exit(result) }
    }
    // SAFETY: threads are never freed.
    unsafe { (*this()).result = result };
    cancel::begin_end();
    unwind()
}

/// The thread that calls it.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_self() -> libc::pthread_t {
    if current().is_none() {
        // Before and after the simulation there is only the first thread.
        return match mode() {
            // SAFETY: it only looks.
            Mode::Native => unsafe { libc::pthread_self() },
            _ => 1,
        };
    }
    // SAFETY: threads are never freed.
    unsafe { (*this()).number as libc::pthread_t + 1 }
}

/// Whether two are the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_equal(one: libc::pthread_t, other: libc::pthread_t) -> c_int {
    (one == other).into()
}

/// Names are for debuggers, and nobody debugs a simulated thread.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_setname_np(_: libc::pthread_t, _: *const libc::c_char) -> c_int {
    0
}

/// Where the stack of a thread is.
///
/// # Safety
/// As of `pthread_getattr_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_getattr_np(
    handle: libc::pthread_t,
    attributes: *mut libc::pthread_attr_t,
) -> c_int {
    if current().is_none() {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes) };
    }
    let Some(user) = of(handle) else { return libc::ESRCH };
    // SAFETY: the caller's promise; threads are never freed.
    unsafe {
        libc::pthread_attr_init(attributes);
        let (start, length) = (*user).stack;
        libc::pthread_attr_setstack(attributes, start as *mut _, length)
    }
}
