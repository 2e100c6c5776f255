//! Loops of gcc whose iterations wait for certain earlier ones. Iterations are numbered from zero on in each dimension.

use std::ffi::{c_long, c_uint, c_ulonglong, c_void};

use super::reductions::{come_to, schedule_of};
use crate::openmp::doacross::Doacross;
use crate::openmp::schedule::{Kind, Schedule};
use crate::openmp::sharing::{Loop, Share};
use crate::openmp::team::{member, runtime_schedule};

/// Sets a loop of `depth` dimensions up.
///
/// # Safety
/// There are as many counts.
unsafe fn set_up(depth: c_uint, counts: *const u64, schedule: Schedule) -> impl FnOnce(&Share) {
    // SAFETY: the caller's promise.
    let counts = unsafe { std::slice::from_raw_parts(counts, depth as usize) };
    move |share| {
        share.set_up(Loop::of(counts.first().copied().unwrap_or(0), schedule));
        Doacross::set_up(share, counts);
    }
}

/// Begins a loop of `depth` dimensions.
///
/// # Safety
/// There are as many counts; the places are to be written to.
unsafe fn begin(depth: c_uint, counts: *const u64, schedule: Schedule, first: *mut u64, last: *mut u64) -> bool {
    let member = member();
    // SAFETY: the caller's promise.
    member.come(unsafe { set_up(depth, counts, schedule) });
    // SAFETY: the caller's promise.
    unsafe { first_values(first, last) }
}

/// The first iterations of the thread, where the compiler wants them; whether there are any.
///
/// # Safety
/// The places are to be written to.
unsafe fn first_values(first: *mut u64, last: *mut u64) -> bool {
    let Some((from, to)) = member().next_values() else { return false };
    // SAFETY: the caller's promise.
    unsafe {
        first.write(from as u64);
        last.write(to as u64);
    }
    true
}

macro_rules! starts {
    ($($name:ident $unsigned:ident: $kind:ident;)*) => {$(
        #[doc = "A thread comes to a loop of the schedule that the name tells: whether there is something for it to do."]
        ///
        /// # Safety
        /// As compilers call it: there are so many counts, and the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            depth: c_uint, counts: *const c_long, chunk: c_long, first: *mut c_long, last: *mut c_long,
        ) -> bool {
            let schedule = Schedule { kind: Kind::$kind, chunk: chunk.max(0) as u64 };
            // SAFETY: the caller's promise; counts are not negative.
            unsafe { begin(depth, counts.cast(), schedule, first.cast(), last.cast()) }
        }

        #[doc = "The same over unsigned numbers."]
        ///
        /// # Safety
        /// As compilers call it: there are so many counts, and the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $unsigned(
            depth: c_uint, counts: *const c_ulonglong, chunk: c_ulonglong, first: *mut c_ulonglong, last: *mut c_ulonglong,
        ) -> bool {
            // SAFETY: the caller's promise.
            unsafe { begin(depth, counts, Schedule { kind: Kind::$kind, chunk }, first, last) }
        }
    )*};
}

starts! {
    GOMP_loop_doacross_static_start GOMP_loop_ull_doacross_static_start: Static;
    GOMP_loop_doacross_dynamic_start GOMP_loop_ull_doacross_dynamic_start: Dynamic;
    GOMP_loop_doacross_guided_start GOMP_loop_ull_doacross_guided_start: Guided;
}

/// A thread comes to a loop of `schedule(runtime)`: whether there is something for it to do.
///
/// # Safety
/// As compilers call it: there are so many counts, and the places are to be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_loop_doacross_runtime_start(
    depth: c_uint,
    counts: *const c_long,
    first: *mut c_long,
    last: *mut c_long,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { begin(depth, counts.cast(), runtime_schedule(), first.cast(), last.cast()) }
}

/// The same over unsigned numbers.
///
/// # Safety
/// As compilers call it: there are so many counts, and the places are to be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_loop_ull_doacross_runtime_start(
    depth: c_uint,
    counts: *const c_ulonglong,
    first: *mut c_ulonglong,
    last: *mut c_ulonglong,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { begin(depth, counts, runtime_schedule(), first, last) }
}

macro_rules! starts_with_more {
    ($($name:ident $count:ty;)*) => {$(
        #[doc = "A thread comes to a loop with reductions of tasks, or with memory that all share, of the schedule of a number."]
        ///
        /// # Safety
        /// As compilers call it: there are so many counts, and the places are to be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            depth: c_uint, counts: *const $count, schedule: c_long, chunk: $count, first: *mut $count, last: *mut $count,
            reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            let schedule = schedule_of(schedule, u64::try_from(chunk).unwrap_or(0));
            // SAFETY: the caller's promise.
            unsafe {
                come_to(set_up(depth, counts.cast(), schedule), reductions, memory);
                first_values(first.cast(), last.cast())
            }
        }
    )*};
}

starts_with_more! {
    GOMP_loop_doacross_start c_long;
    GOMP_loop_ull_doacross_start c_ulonglong;
}

/// Does `act` with the loop and an iteration of it, one number a dimension.
///
/// # Safety
/// There are so many numbers.
unsafe fn with(at: *const u64, act: impl FnOnce(&Doacross, &[u64])) {
    if let Some(doacross) = Doacross::of(member().share()) {
        // SAFETY: the caller's promise.
        act(doacross, unsafe { std::slice::from_raw_parts(at, doacross.depth()) });
    }
}

/// An iteration is done as far as others wait for it.
///
/// # Safety
/// As compilers call it: with a number for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_doacross_post(at: *const c_long) {
    // SAFETY: the caller's promise.
    unsafe { with(at.cast(), |doacross, at| doacross.post(at)) };
}

/// The same over unsigned numbers.
///
/// # Safety
/// As compilers call it: with a number for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_doacross_ull_post(at: *const c_ulonglong) {
    // SAFETY: the caller's promise.
    unsafe { with(at, |doacross, at| doacross.post(at)) };
}

/// # Safety
/// There are as many numbers as dimensions, up to six of them in `registers`, all others on the `stack`.
unsafe extern "C-unwind" fn wait(registers: *const u64, stack: *const u64) {
    const IN_REGISTERS: usize = 6;
    if let Some(doacross) = Doacross::of(member().share()) {
        // SAFETY: the caller's promise.
        let at = |index: usize| unsafe {
            if index < IN_REGISTERS { *registers.add(index) } else { *stack.add(index - IN_REGISTERS) }
        };
        doacross.wait(&(0..doacross.depth()).map(at).collect::<Vec<_>>());
    }
}

macro_rules! waits {
    ($($name:ident)*) => {$(
        #[doc = "Waits for an iteration, which is told by one argument for each dimension."]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 48",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov rdi, rsp",
                "lea rsi, [rbp + 16]",
                "call {wait}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                wait = sym wait,
            )
        }
    )*};
}

waits! { GOMP_doacross_wait GOMP_doacross_ull_wait }
