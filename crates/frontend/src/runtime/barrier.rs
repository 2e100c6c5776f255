//! Barriers: who comes last lets all go on.

use std::ffi::{c_int, c_uint};

use libc::{pthread_barrier_t, pthread_barrierattr_t};
use sim::Cause;

use super::futex;
use super::state::{Mode, acquire, current, indivisible, mode, release};

/// What the runtime keeps in the program's structure.
#[repr(C)]
struct Barrier {
    /// Threads that have come.
    arrived: u32,
    /// Counts how often all have come.
    rounds: u32,
    /// How many there are.
    threads: u32,
}

/// Makes a barrier.
///
/// # Safety
/// As of `pthread_barrier_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    threads: c_uint,
) -> c_int {
    // SAFETY: the caller's promise; the C library's structure is longer.
    unsafe {
        if mode() == Mode::Native {
            return libc::pthread_barrier_init(barrier, attributes, threads);
        }
        if threads == 0 {
            return libc::EINVAL;
        }
        *barrier.cast::<Barrier>() = Barrier { arrived: 0, rounds: 0, threads };
    }
    0
}

/// A barrier is no more.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_barrier_destroy(_barrier: *mut pthread_barrier_t) -> c_int {
    0
}

/// Waits for all threads.
///
/// # Safety
/// As of `pthread_barrier_wait`.
pub unsafe extern "C" fn barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_barrier_wait(barrier) };
    };
    // SAFETY: the caller's promise.
    let (arrived, rounds, threads) = unsafe {
        let barrier = barrier.cast::<Barrier>();
        (&raw mut (*barrier).arrived, &raw mut (*barrier).rounds, (*barrier).threads)
    };
    thread.on_behalf(Cause::Barrier, |thread| {
        // SAFETY: words of the program's barrier.
        let round = unsafe { rounds.read_volatile() };
        // SAFETY: as above.
        let count = indivisible(thread, arrived as usize, || unsafe {
            let count = arrived.read_volatile() + 1;
            arrived.write_volatile(if count == threads { 0 } else { count });
            count
        });
        if count == threads {
            // SAFETY: as above.
            release(thread, rounds as usize, || unsafe { rounds.write_volatile(round.wrapping_add(1)) });
            futex::wake(thread, rounds as usize, usize::MAX);
            return libc::PTHREAD_BARRIER_SERIAL_THREAD;
        }
        // SAFETY: as above.
        while acquire(thread, rounds as usize, || unsafe { rounds.read_volatile() }) == round {
            futex::wait(thread, rounds as usize, None);
        }
        0
    })
}
