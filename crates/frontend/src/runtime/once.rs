//! Actions done once, by whoever comes first: `pthread_once`, and C++'s variables that are made when they are first met.

use std::ffi::c_int;

use libc::pthread_once_t;
use sim::{Cause, Thread};

use super::futex;
use super::mode::mode;
use super::mutex::alone;
use super::state::{Mode, current};
use super::words::{acquire, indivisible, release};

/// Nobody has begun, somebody has, and it is done.
const FRESH: u32 = 0;
const BEGUN: u32 = 1;
const DONE: u32 = 2;

/// Whether the caller is to do it: else it is done when this returns. `done` is what the word says then.
fn begin(thread: &mut Thread<'static>, word: *mut u32) -> bool {
    thread.charged_to(Cause::Lock, |thread| {
        loop {
            // SAFETY: the program's word.
            let look = || unsafe { word.read_volatile() };
            if acquire(thread, word as usize, look) == DONE {
                return false;
            }
            // SAFETY: as above.
            let found = indivisible(thread, word as usize, || unsafe {
                let found = word.read_volatile();
                if found == FRESH {
                    word.write_volatile(BEGUN);
                }
                found
            });
            match found {
                FRESH => return true,
                DONE => return false,
                _ if look() == BEGUN => {
                    futex::wait(thread, word as usize, None);
                }
                _ => {}
            }
        }
    })
}

/// It is done, or given up.
fn end(thread: &mut Thread<'static>, word: *mut u32, state: u32) {
    thread.charged_to(Cause::Lock, |thread| {
        // SAFETY: the program's word.
        release(thread, word as usize, || unsafe { word.write_volatile(state) });
        futex::wake(thread, word as usize, usize::MAX);
    });
}

/// Does something once.
///
/// # Safety
/// As of `pthread_once`.
pub unsafe extern "C-unwind" fn once(once: *mut pthread_once_t, act: extern "C-unwind" fn()) -> c_int {
    let word = once.cast::<u32>();
    match current() {
        None if mode() == Mode::Native => {
            // SAFETY: the caller's promise; both kinds of functions are called alike.
            return unsafe { pthread_once(once, act) };
        }
        None => {
            // SAFETY: the caller's promise; there is one thread.
            unsafe {
                if *word != DONE {
                    *word = DONE;
                    act();
                }
            }
        }
        Some(thread) => {
            if begin(thread, word) {
                act();
                if let Some(thread) = current() {
                    end(thread, word, DONE);
                }
            }
        }
    }
    0
}

unsafe extern "C" {
    fn pthread_once(once: *mut pthread_once_t, act: extern "C-unwind" fn()) -> c_int;
}

/// A guard's first byte says that its variable is made (Itanium C++ ABI, 3.3.2); the runtime keeps its own word behind it.
fn word_of(guard: *mut u8) -> *mut u32 {
    // SAFETY: guards are eight bytes.
    unsafe { guard.add(4).cast() }
}

/// Whether the caller is to make a variable of C++ that is made when it is first met. Natively the program's threads are the host's,
/// and what they wait with is the C library's mutex.
///
/// # Safety
/// As the ABI has it.
pub unsafe extern "C" fn guard_acquire(guard: *mut u8) -> c_int {
    // SAFETY: the caller's promise; of the guard's bytes each is used as one kind of word only.
    unsafe {
        if (*guard.cast::<std::sync::atomic::AtomicU8>()).load(std::sync::atomic::Ordering::Acquire) != 0 {
            return 0;
        }
        match current() {
            Some(thread) => begin(thread, word_of(guard)).into(),
            None if alone() => 1,
            None => native_begin(guard).into(),
        }
    }
}

/// Natively: the first one makes it, others look until it is made.
///
/// # Safety
/// It is a guard.
unsafe fn native_begin(guard: *mut u8) -> bool {
    use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
    // SAFETY: the caller's promise.
    let (made, state) = unsafe { (&*guard.cast::<AtomicU8>(), &*word_of(guard).cast::<AtomicU32>()) };
    loop {
        if made.load(Ordering::Acquire) != 0 {
            return false;
        }
        if state.compare_exchange(FRESH, BEGUN, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return true;
        }
        std::thread::yield_now();
    }
}

/// The variable is made.
///
/// # Safety
/// As the ABI has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap___cxa_guard_release(guard: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { (*guard.cast::<std::sync::atomic::AtomicU8>()).store(1, std::sync::atomic::Ordering::Release) };
    if let Some(thread) = current() {
        end(thread, word_of(guard), DONE);
    }
}

/// The variable could not be made: the next one may try.
///
/// # Safety
/// As the ABI has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap___cxa_guard_abort(guard: *mut u8) {
    use std::sync::atomic::{AtomicU32, Ordering};
    match current() {
        Some(thread) => end(thread, word_of(guard), FRESH),
        // SAFETY: the caller's promise.
        None => unsafe { (*word_of(guard).cast::<AtomicU32>()).store(FRESH, Ordering::Release) },
    }
}
