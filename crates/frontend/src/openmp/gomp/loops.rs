//! Loops and sections of gcc and gfortran.

use std::ffi::{c_long, c_uint, c_ulonglong};

use crate::openmp::schedule::{Kind, Schedule, trips, unsigned_trips};
use crate::openmp::sharing::Loop;
use crate::openmp::team::{member, runtime_schedule, team};

/// A loop over signed numbers.
pub fn loop_of(start: c_long, end: c_long, step: c_long, schedule: Schedule, ordered: bool) -> Loop {
    Loop { total: trips(start, end, step), schedule, ordered, first: start, step, end }
}

/// A loop over unsigned numbers.
pub fn unsigned_loop_of(up: bool, start: u64, end: u64, step: u64, schedule: Schedule, ordered: bool) -> Loop {
    let total = unsigned_trips(up, start, end, step);
    Loop { total, schedule, ordered, first: start as i64, step: step as i64, end: end as i64 }
}

/// Sections, numbered from one on.
pub fn sections_of(count: c_uint) -> Loop {
    let schedule = Schedule { kind: Kind::Dynamic, chunk: 1 };
    Loop { first: 1, end: i64::from(count) + 1, ..Loop::of(count.into(), schedule) }
}

/// The next iterations, where the compiler wants them; whether there are any.
///
/// # Safety
/// The places are the caller's to write to.
pub unsafe fn next<T>(first: *mut T, end: *mut T, of: impl Fn(i64) -> T) -> bool {
    let Some((from, to)) = member().next_values() else { return false };
    // SAFETY: the caller's promise.
    unsafe {
        first.write(of(from));
        end.write(of(to));
    }
    true
}

/// Beginnings of loops with a chunk.
macro_rules! starts {
    ($($name:ident $unsigned:ident: $kind:ident $ordered:literal;)*) => {$(
        #[doc = "A thread comes to a loop of the schedule that the name tells: whether there is something for it to do."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            start: c_long, end: c_long, step: c_long, chunk: c_long, first: *mut c_long, last: *mut c_long,
        ) -> bool {
            let schedule = Schedule { kind: Kind::$kind, chunk: chunk.max(0) as u64 };
            member().begin_loop(loop_of(start, end, step, schedule, $ordered));
            // SAFETY: the caller's promise.
            unsafe { next(first, last, |value| value) }
        }

        #[doc = "The same over unsigned numbers."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $unsigned(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, chunk: c_ulonglong, first: *mut c_ulonglong,
            last: *mut c_ulonglong,
        ) -> bool {
            let schedule = Schedule { kind: Kind::$kind, chunk };
            member().begin_loop(unsigned_loop_of(up, start, end, step, schedule, $ordered));
            // SAFETY: the caller's promise.
            unsafe { next(first, last, |value| value as u64) }
        }
    )*};
}

starts! {
    GOMP_loop_static_start GOMP_loop_ull_static_start: Static false;
    GOMP_loop_dynamic_start GOMP_loop_ull_dynamic_start: Dynamic false;
    GOMP_loop_guided_start GOMP_loop_ull_guided_start: Guided false;
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_start: Dynamic false;
    GOMP_loop_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_start: Guided false;
    GOMP_loop_ordered_static_start GOMP_loop_ull_ordered_static_start: Static true;
    GOMP_loop_ordered_dynamic_start GOMP_loop_ull_ordered_dynamic_start: Dynamic true;
    GOMP_loop_ordered_guided_start GOMP_loop_ull_ordered_guided_start: Guided true;
}

/// Beginnings of loops whose schedule is set at run time.
macro_rules! runtime_starts {
    ($($name:ident $unsigned:ident: $ordered:literal;)*) => {$(
        #[doc = "A thread comes to a loop of `schedule(runtime)`: whether there is something for it to do."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            start: c_long, end: c_long, step: c_long, first: *mut c_long, last: *mut c_long,
        ) -> bool {
            member().begin_loop(loop_of(start, end, step, runtime_schedule(), $ordered));
            // SAFETY: the caller's promise.
            unsafe { next(first, last, |value| value) }
        }

        #[doc = "The same over unsigned numbers."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $unsigned(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, first: *mut c_ulonglong, last: *mut c_ulonglong,
        ) -> bool {
            member().begin_loop(unsigned_loop_of(up, start, end, step, runtime_schedule(), $ordered));
            // SAFETY: the caller's promise.
            unsafe { next(first, last, |value| value as u64) }
        }
    )*};
}

runtime_starts! {
    GOMP_loop_runtime_start GOMP_loop_ull_runtime_start: false;
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_start: false;
    GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_start: false;
    GOMP_loop_ordered_runtime_start GOMP_loop_ull_ordered_runtime_start: true;
}

/// Functions that give a thread its next iterations of any loop.
macro_rules! nexts {
    ($($name:ident $unsigned:ident)*) => {$(
        #[doc = "The next iterations of the loop; whether there are any."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(first: *mut c_long, last: *mut c_long) -> bool {
            // SAFETY: the caller's promise.
            unsafe { next(first, last, |value| value) }
        }

        #[doc = "The same over unsigned numbers."]
        ///
        /// # Safety
        /// As compilers call it: the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $unsigned(first: *mut c_ulonglong, last: *mut c_ulonglong) -> bool {
            // SAFETY: the caller's promise.
            unsafe { next(first, last, |value| value as u64) }
        }
    )*};
}

nexts! {
    GOMP_loop_static_next GOMP_loop_ull_static_next
    GOMP_loop_dynamic_next GOMP_loop_ull_dynamic_next
    GOMP_loop_guided_next GOMP_loop_ull_guided_next
    GOMP_loop_runtime_next GOMP_loop_ull_runtime_next
    GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_dynamic_next
    GOMP_loop_nonmonotonic_guided_next GOMP_loop_ull_nonmonotonic_guided_next
    GOMP_loop_nonmonotonic_runtime_next GOMP_loop_ull_nonmonotonic_runtime_next
    GOMP_loop_maybe_nonmonotonic_runtime_next GOMP_loop_ull_maybe_nonmonotonic_runtime_next
    GOMP_loop_ordered_static_next GOMP_loop_ull_ordered_static_next
    GOMP_loop_ordered_dynamic_next GOMP_loop_ull_ordered_dynamic_next
    GOMP_loop_ordered_guided_next GOMP_loop_ull_ordered_guided_next
    GOMP_loop_ordered_runtime_next GOMP_loop_ull_ordered_runtime_next
}

/// The end of a loop, at which all wait.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_loop_end() {
    member().leave();
    team().barrier();
}

/// The end of a loop, at which nobody waits.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_loop_end_nowait() {
    member().leave();
}

/// As [`GOMP_loop_end`], but nobody waits when the region is cancelled: whether it is.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_loop_end_cancel() -> bool {
    member().leave();
    team().barrier_or_cancelled()
}

/// A thread comes to sections: the number of the one it is to do, zero for none.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_start(count: c_uint) -> c_uint {
    member().begin_loop(sections_of(count));
    GOMP_sections_next()
}

/// The number of the next section that the thread is to do, zero for none.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_next() -> c_uint {
    member().next_values().map_or(0, |(section, _)| section as c_uint)
}

/// The end of sections, at which all wait.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_end() {
    GOMP_loop_end();
}

/// The end of sections, at which nobody waits.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_end_nowait() {
    GOMP_loop_end_nowait();
}

/// As [`GOMP_sections_end`], but nobody waits when the region is cancelled: whether it is.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_end_cancel() -> bool {
    GOMP_loop_end_cancel()
}

/// The ordered part of an iteration begins: those before are through with theirs.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_ordered_start() {
    member().wait_for_turn();
}

/// The ordered part ends; the next thread's may begin when the iterations do that this one has.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_ordered_end() {}
