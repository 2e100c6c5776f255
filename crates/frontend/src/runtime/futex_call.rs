//! The system call futex, which the C++ library makes itself for what the C library has no functions for.

use std::ffi::{c_int, c_long};
use std::ptr::read_volatile;

use libc::timespec;
use sim::{Cause, Thread};
use units::Time;

use super::clock::deadline;
use super::words::acquire;
use super::{ending, futex};

/// Waits for a word or wakes those who do: what the kernel would return, or minus one with `errno` set.
///
/// # Safety
/// As of the system call.
pub unsafe fn call(
    thread: &mut Thread<'static>,
    word: *const u32,
    operation: c_int,
    value: u32,
    time: *const timespec,
) -> c_long {
    let clock = if operation & libc::FUTEX_CLOCK_REALTIME != 0 { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    let address = word as usize;
    match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => futex::wake(thread, address, value as usize) as c_long,
        wait @ (libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) => {
            // SAFETY: the caller's promise; the time of the first is relative, that of the other is not.
            let until = (!time.is_null()).then(|| unsafe {
                match wait {
                    libc::FUTEX_WAIT => Time(thread.now().0 + deadline(time, libc::CLOCK_MONOTONIC).0),
                    _ => deadline(time, clock),
                }
            });
            thread.charged_to(Cause::Lock, |thread| {
                // SAFETY: the caller's promise.
                let found = acquire(thread, address, || unsafe { read_volatile(word) });
                if found != value {
                    failed(libc::EAGAIN)
                } else if futex::wait(thread, address, until) {
                    0
                } else {
                    failed(libc::ETIMEDOUT)
                }
            })
        }
        other => ending::fail(
            thread,
            &format!("the program made the system call futex with operation {other}, which is not simulated"),
        ),
    }
}

/// Result of a system call that has failed, with the error in `errno`.
pub(super) fn failed(code: c_int) -> c_long {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = code };
    -1
}
