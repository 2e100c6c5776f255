//! Costs of the running thread: references, instructions, pauses and fences; and the time itself.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sim::Cause;

use crate::runtime::callbacks::refer_range;
use crate::runtime::clock;
use crate::runtime::state::{Reference, current};

/// Does `act`, whose time is spent on behalf of `cause`.
pub fn charged<T>(cause: Cause, act: impl FnOnce() -> T) -> T {
    match current() {
        None => act(),
        Some(thread) => thread.charged_to(cause, |_| act()),
    }
}

/// Does `act`, whose time is the program's own, whatever the thread waits for meanwhile.
pub fn uncharged<T>(act: impl FnOnce() -> T) -> T {
    match current() {
        None => act(),
        Some(thread) => thread.on_its_own(|_| act()),
    }
}

/// The thread loads what is at this place.
pub fn loads<T>(place: &T) {
    refer_range(std::ptr::from_ref(place) as usize, size_of::<T>(), Reference::Load, 0);
}

/// The thread stores what is at this place.
pub fn stores<T>(place: &T) {
    refer_range(std::ptr::from_ref(place) as usize, size_of::<T>(), Reference::Store, 0);
}

/// The thread loads `bytes` bytes at an address of the program, and stores as many at another.
pub fn copies(from: *const c_void, to: *mut c_void, bytes: usize) {
    refer_range(from as usize, bytes, Reference::Load, 0);
    refer_range(to as usize, bytes, Reference::Store, 0);
}

/// The thread executes instructions that refer to nothing.
pub fn instructions(count: u32) {
    if let Some(thread) = current() {
        thread.instructions(count);
    }
}

/// Everything before this is done.
pub fn fence() {
    match current() {
        None => std::sync::atomic::fence(Ordering::SeqCst),
        Some(thread) => {
            thread.drain();
            thread.order();
        }
    }
}

/// On this computer, what was stored before this can be seen by others before what is loaded after it. Simulated threads see each
/// other's words in the order of simulated time.
pub fn fence_host() {
    if current().is_none() {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// The pause between two looks for something to do, of so many instructions.
pub fn pause_for(instructions: u32) {
    match current() {
        None => std::hint::spin_loop(),
        Some(thread) => thread.instructions(instructions),
    }
}

/// The time of the running thread, from a counter of its processor.
pub fn moment() -> Duration {
    match current() {
        None => {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: the time is this function's own.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        }
        Some(thread) => {
            thread.instructions(1);
            Duration::from_nanos(thread.now().0 / 1000)
        }
    }
}

/// Seconds since some time that does not change.
pub fn seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is this function's own.
    unsafe { clock::__wrap_clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
