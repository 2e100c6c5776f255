//! Parallel regions of gcc and gfortran, alone or together with a loop or sections.

use std::ffi::{c_long, c_uint, c_void};

use super::loops::{loop_of, sections_of};
use crate::openmp::schedule::{Kind, Schedule};
use crate::openmp::settings::Bind;
use crate::openmp::sharing::Loop;
use crate::openmp::team::{Body, Team, member, runtime_schedule};

/// The part of a region's flags that tells how threads are bound.
fn bind_of(flags: c_uint) -> Option<Bind> {
    Bind::of((flags & 7) as i32)
}

/// A region, of whose team `begin` is told before others know of it.
pub fn with_team(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
    begin: impl FnOnce(&'static Team) -> bool,
) {
    member().parallel(body, data, threads, bind_of(flags), begin);
}

/// `#pragma omp parallel`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint) {
    member().parallel(body, data, threads, bind_of(flags), |_| false);
}

/// A region whose threads begin in a loop.
fn with_loop(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint, what: Loop) {
    member().parallel(body, data, threads, bind_of(flags), |team| {
        team.begin_with(what);
        true
    });
}

/// Regions whose threads begin in a loop of a schedule with a chunk.
macro_rules! with_chunk {
    ($($name:ident: $kind:ident;)*) => {$(
        #[doc = "`#pragma omp parallel for` with the schedule that the name tells."]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(
            body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint,
        ) {
            let schedule = Schedule { kind: Kind::$kind, chunk: chunk.max(0) as u64 };
            with_loop(body, data, threads, flags, loop_of(start, end, step, schedule, false));
        }
    )*};
}

with_chunk! {
    GOMP_parallel_loop_static: Static;
    GOMP_parallel_loop_dynamic: Dynamic;
    GOMP_parallel_loop_guided: Guided;
    GOMP_parallel_loop_nonmonotonic_dynamic: Dynamic;
    GOMP_parallel_loop_nonmonotonic_guided: Guided;
}

/// Regions whose threads begin in a loop of a schedule that is set at run time.
macro_rules! of_runtime {
    ($($name:ident)*) => {$(
        #[doc = "`#pragma omp parallel for schedule(runtime)`."]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(
            body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint,
        ) {
            with_loop(body, data, threads, flags, loop_of(start, end, step, runtime_schedule(), false));
        }
    )*};
}

of_runtime! {
    GOMP_parallel_loop_runtime
    GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
}

/// `#pragma omp parallel sections`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_parallel_sections(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    count: c_uint,
    flags: c_uint,
) {
    with_loop(body, data, threads, flags, sections_of(count));
}
