//! Signals that the program sends to itself: its handler is called by the thread that does, as the standard has it. Signals of others
//! never come; those for another thread are refused.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr::null_mut;

use libc::{sighandler_t, siginfo_t, sigset_t};
use sim::Thread;

use super::ending;
use super::state::{Single, current, note, of, this};

/// Signals have numbers below.
const SIGNALS: usize = 65;

/// The action that the program has set for each signal, if any.
static ACTIONS: Single<[Option<libc::sigaction>; SIGNALS]> = Single::new([None; SIGNALS]);

fn action(signal: c_int) -> Option<&'static mut Option<libc::sigaction>> {
    // SAFETY: one thread of the host; nobody keeps the reference.
    let actions = unsafe { &mut *ACTIONS.get() };
    actions.get_mut(usize::try_from(signal).ok().filter(|&signal| signal > 0)?)
}

/// The action of a signal for which the program has set none.
fn usual() -> libc::sigaction {
    // SAFETY: all zero is a value of it: the default.
    unsafe { zeroed() }
}

/// A number of an error, as functions of the C library tell it.
fn failed(code: c_int) -> c_int {
    super::futex_call::failed(code) as c_int
}

/// Says what is to be done at a signal.
///
/// # Safety
/// As of `sigaction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_sigaction(
    signal: c_int,
    wanted: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    if current().is_none() {
        // SAFETY: the caller's promise.
        return unsafe { libc::sigaction(signal, wanted, before) };
    }
    let Some(action) = action(signal) else { return failed(libc::EINVAL) };
    // SAFETY: the caller's promise.
    unsafe {
        if !before.is_null() {
            *before = action.unwrap_or_else(usual);
        }
        if let Some(wanted) = wanted.as_ref() {
            *action = Some(*wanted);
            say_who_calls(wanted.sa_sigaction);
        }
    }
    0
}

/// The same in the older way.
///
/// # Safety
/// As of `signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    if current().is_none() {
        // SAFETY: the caller's promise.
        return unsafe { libc::signal(signal, handler) };
    }
    let Some(action) = action(signal) else {
        failed(libc::EINVAL);
        return libc::SIG_ERR;
    };
    let before = action.map_or(libc::SIG_DFL, |action| action.sa_sigaction);
    *action = Some(libc::sigaction { sa_sigaction: handler, ..usual() });
    say_who_calls(handler);
    before
}

fn say_who_calls(handler: sighandler_t) {
    if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
        note("handlers of signals that the program installs are called only where it raises signals itself".to_owned());
    }
}

/// Signals that do nothing where there is no handler.
const HARMLESS: [c_int; 4] = [libc::SIGCHLD, libc::SIGURG, libc::SIGWINCH, libc::SIGCONT];

/// The running thread gets a signal, here and now.
fn deliver(thread: &mut Thread<'static>, signal: c_int) -> c_int {
    let Some(slot) = action(signal) else { return failed(libc::EINVAL) };
    super::clock::system_call(thread);
    let action = slot.unwrap_or_else(usual);
    if is_blocked(signal) {
        ending::fail(
            thread,
            &format!("the program raised signal {signal}, which it blocks: signals that wait cannot be simulated"),
        );
    }
    match action.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL if HARMLESS.contains(&signal) => {}
        libc::SIG_DFL => {
            ending::fail(thread, &format!("the program raised signal {signal}, for which it has no handler"));
        }
        handler => {
            if action.sa_flags & libc::SA_RESETHAND != 0 {
                *slot = None;
            }
            // SAFETY: the program's own handler, which takes what its flags say.
            unsafe {
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    let (mut told, mut context): (siginfo_t, libc::ucontext_t) = (zeroed(), zeroed());
                    (told.si_signo, told.si_code) = (signal, libc::SI_TKILL);
                    handler(signal, &raw mut told, (&raw mut context).cast());
                } else {
                    let handler: extern "C-unwind" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }
    0
}

/// Whether the program blocks a signal.
fn is_blocked(signal: c_int) -> bool {
    // SAFETY: the mask is only looked at.
    unsafe {
        let mut mask: sigset_t = zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
        libc::sigismember(&raw const mask, signal) == 1
    }
}

/// Sends a signal to the thread that calls it.
///
/// # Safety
/// As of `raise`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_raise(signal: c_int) -> c_int {
    match current() {
        // SAFETY: the caller's promise.
        None => unsafe { libc::raise(signal) },
        Some(thread) => deliver(thread, signal),
    }
}

/// Sends a signal to a process: to this one, whose running thread gets it.
///
/// # Safety
/// As of `kill`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_kill(process: libc::pid_t, signal: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let own = unsafe { libc::getpid() };
    match current() {
        Some(thread) if process == own && signal != 0 => deliver(thread, signal),
        Some(thread) if process != own && signal != 0 => {
            ending::fail(thread, "the program called kill for other processes: a simulated process is alone")
        }
        // SAFETY: the caller's promise.
        _ => unsafe { libc::kill(process, signal) },
    }
}

/// Sends a signal to a thread: to the one that calls it, or only asks whether there is such a thread.
///
/// # Safety
/// As of `pthread_kill`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_pthread_kill(handle: libc::pthread_t, signal: c_int) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_kill(handle, signal) };
    };
    let user = of(handle).unwrap_or(null_mut());
    // SAFETY: threads are never freed.
    if user.is_null() || unsafe { (*user).thread.is_null() } {
        libc::ESRCH
    } else if signal == 0 {
        0
    } else if user == this() {
        deliver(thread, signal)
    } else {
        ending::fail(
            thread,
            "the program called pthread_kill for another thread: signals between threads cannot be simulated",
        )
    }
}
