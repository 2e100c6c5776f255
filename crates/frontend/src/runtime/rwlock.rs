//! Locks for many readers or one writer. Writers that wait keep new readers out, unless a reader asks at a time when none does.

use std::ffi::c_int;

use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use sim::{Cause, Thread};
use units::Time;

use super::clock::deadline;
use super::futex;
use super::mode::mode;
use super::mutex::alone;
use super::state::{Mode, current};
use super::words::indivisible;

/// The runtime's lock, kept in the program's structure: all zero is free, as static initialisers make it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Words {
    /// How many readers have it, or [`WRITER`].
    holders: u32,
    /// How many threads wait.
    waiting: u32,
}

/// A writer has it.
const WRITER: u32 = u32::MAX;

/// Takes it if it is free for that. Else the thread is counted among those that wait if it `waits`.
fn try_take(thread: &mut Thread<'static>, lock: *mut Words, writes: bool) -> bool {
    // SAFETY: the program's lock.
    indivisible(thread, lock as usize, || unsafe {
        let mut words = lock.read_volatile();
        let free = if writes { words.holders == 0 } else { words.holders != WRITER };
        if free {
            words.holders = if writes { WRITER } else { words.holders + 1 };
            lock.write_volatile(words);
        }
        free
    })
}

fn count_waiting(thread: &mut Thread<'static>, lock: *mut Words, change: i32) {
    // SAFETY: the program's lock.
    indivisible(thread, lock as usize, || unsafe {
        let mut words = lock.read_volatile();
        words.waiting = words.waiting.wrapping_add_signed(change);
        lock.write_volatile(words);
    });
}

fn take(lock: *mut pthread_rwlock_t, writes: bool, until: Option<Time>) -> c_int {
    let Some(thread) = current() else { return 0 };
    let lock = lock.cast::<Words>();
    thread.charged_to(Cause::Lock, |thread| {
        while !try_take(thread, lock, writes) {
            count_waiting(thread, lock, 1);
            // It may have become free since: whoever gave it back saw nobody wait.
            // SAFETY: the program's lock.
            let holders = unsafe { lock.read_volatile().holders };
            let free = if writes { holders == 0 } else { holders != WRITER };
            let in_time = free || futex::wait(thread, lock as usize, until);
            count_waiting(thread, lock, -1);
            if !in_time {
                return libc::ETIMEDOUT;
            }
        }
        0
    })
}

fn give(lock: *mut pthread_rwlock_t) -> c_int {
    let Some(thread) = current() else { return 0 };
    let lock = lock.cast::<Words>();
    thread.charged_to(Cause::Lock, |thread| {
        thread.drain();
        // SAFETY: the program's lock.
        let after = indivisible(thread, lock as usize, || unsafe {
            let mut words = lock.read_volatile();
            words.holders = if words.holders == WRITER { 0 } else { words.holders.saturating_sub(1) };
            lock.write_volatile(words);
            words
        });
        if after.holders == 0 && after.waiting > 0 {
            futex::wake(thread, lock as usize, usize::MAX);
        }
        0
    })
}

unsafe extern "C" {
    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int;
    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int;
}

/// Makes a lock.
///
/// # Safety
/// As of `pthread_rwlock_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_rwlock_init(
    lock: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if mode() == Mode::Native {
            return libc::pthread_rwlock_init(lock, attributes);
        }
        *lock.cast::<Words>() = Words { holders: 0, waiting: 0 };
    }
    0
}

/// A lock is no more.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_rwlock_destroy(_lock: *mut pthread_rwlock_t) -> c_int {
    0
}

macro_rules! takes {
    ($($name:ident $try:ident $timed:ident $clocked:ident: $writes:literal $real:ident $real_try:ident $real_timed:ident;)*) => {$(
        /// Takes a lock.
        ///
        /// # Safety
        /// As of the C library's function of that name.
        pub unsafe extern "C" fn $name(lock: *mut pthread_rwlock_t) -> c_int {
            if current().is_none() && !alone() {
                // SAFETY: the caller's promise.
                return unsafe { libc::$real(lock) };
            }
            take(lock, $writes, None)
        }

        /// Takes a lock if it is free.
        ///
        /// # Safety
        /// As of the C library's function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $try(lock: *mut pthread_rwlock_t) -> c_int {
            match current() {
                Some(thread) => thread.charged_to(Cause::Lock, |thread| {
                    if try_take(thread, lock.cast(), $writes) { 0 } else { libc::EBUSY }
                }),
                None if alone() => 0,
                // SAFETY: the caller's promise.
                None => unsafe { libc::$real_try(lock) },
            }
        }

        /// Takes a lock, or gives up at a time.
        ///
        /// # Safety
        /// As of the C library's function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $timed(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
            if current().is_none() && !alone() {
                // SAFETY: the caller's promise.
                return unsafe { $real_timed(lock, time) };
            }
            // SAFETY: the caller's promise.
            take(lock, $writes, Some(unsafe { deadline(time, libc::CLOCK_REALTIME) }))
        }

        /// Takes a lock, or gives up at a time of a clock.
        ///
        /// # Safety
        /// As of the C library's function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $clocked(
            lock: *mut pthread_rwlock_t, clock: clockid_t, time: *const timespec,
        ) -> c_int {
            if current().is_none() && !alone() {
                // SAFETY: the caller's promise.
                return unsafe { $real_timed(lock, time) };
            }
            // SAFETY: the caller's promise.
            take(lock, $writes, Some(unsafe { deadline(time, clock) }))
        }
    )*};
}

takes! {
    read_lock __wrap_pthread_rwlock_tryrdlock __wrap_pthread_rwlock_timedrdlock
        __wrap_pthread_rwlock_clockrdlock: false pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_timedrdlock;
    write_lock __wrap_pthread_rwlock_trywrlock __wrap_pthread_rwlock_timedwrlock
        __wrap_pthread_rwlock_clockwrlock: true pthread_rwlock_wrlock pthread_rwlock_trywrlock pthread_rwlock_timedwrlock;
}

/// Gives a lock back.
///
/// # Safety
/// As of `pthread_rwlock_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    if current().is_none() && !alone() {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_rwlock_unlock(lock) };
    }
    give(lock)
}
