//! Parallel regions of clang.

use std::ffi::c_void;

use super::Location;
use super::invoke::{Microtask, invoke, variadic};
use crate::openmp::device::in_league;
use crate::openmp::settings::Bind;
use crate::openmp::team::{member, team};

/// A region with its variables.
struct Fork {
    region: Microtask,
    variables: Vec<*mut c_void>,
}

/// A thread's part of a region.
///
/// # Safety
/// `fork` is a [`Fork`] whose region takes its variables.
unsafe extern "C-unwind" fn work(fork: *mut c_void) {
    let number = member().region.get().number as i32;
    // SAFETY: the caller's promise.
    unsafe {
        let fork = &*fork.cast::<Fork>();
        invoke(fork.region, &raw const number, &raw const number, fork.variables.len(), fork.variables.as_ptr());
    }
}

/// The variables of a call, of which there are `count`.
///
/// # Safety
/// Three or fewer are in `registers`, all others on the `stack`.
unsafe fn variables(count: i32, registers: *const *mut c_void, stack: *const *mut c_void) -> Vec<*mut c_void> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller's promise.
    let at = |index: usize| unsafe { if index < 3 { *registers.add(index) } else { *stack.add(index - 3) } };
    (0..count).map(at).collect()
}

/// # Safety
/// As [`variables`], and the region takes them.
unsafe extern "C-unwind" fn fork_call(
    _location: *const Location,
    count: i32,
    region: Microtask,
    registers: *const *mut c_void,
    stack: *const *mut c_void,
) {
    // SAFETY: the caller's promise.
    let mut fork = Fork { region, variables: unsafe { variables(count, registers, stack) } };
    member().parallel(work, (&raw mut fork).cast(), 0, None, |team| {
        team.tree.use_for(team.threads.get());
        false
    });
}

/// A league of one team, which begins with its first thread alone.
///
/// # Safety
/// As [`fork_call`].
unsafe extern "C-unwind" fn fork_teams(
    _location: *const Location,
    count: i32,
    region: Microtask,
    registers: *const *mut c_void,
    stack: *const *mut c_void,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut fork = Fork { region, variables: variables(count, registers, stack) };
        let limit = member().league_limit.take();
        in_league(limit, || work((&raw mut fork).cast()));
    }
}

variadic! {
    __kmpc_fork_call: fork_call;
    __kmpc_fork_teams: fork_teams;
}

/// The next region is to have so many threads.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads(_location: *const Location, _number: i32, threads: i32) {
    member().pushed.set(u32::try_from(threads).ok().filter(|&threads| threads > 0));
}

/// The threads of the next region are to be bound so.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_proc_bind(_location: *const Location, _number: i32, bind: i32) {
    member().pushed_bind.set(Bind::of(bind));
}

/// The next league is to have so many teams, each of so many threads at most: it has one.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams(_location: *const Location, _number: i32, _teams: i32, threads: i32) {
    member().league_limit.set(u32::try_from(threads).unwrap_or(0));
}

/// The same, as newer compilers call it.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams_51(
    location: *const Location,
    number: i32,
    _least: i32,
    most: i32,
    threads: i32,
) {
    __kmpc_push_num_teams(location, number, most, threads);
}

/// A region begins in which the thread is alone, and which it calls itself.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_serialized_parallel(_location: *const Location, _number: i32) {
    unsafe extern "C-unwind" fn nothing(_: *mut c_void) {}
    member().pushed.set(None);
    member().go_in(nothing, std::ptr::null_mut());
}

/// It ends, when its tasks have.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_serialized_parallel(_location: *const Location, _number: i32) {
    team().barrier();
    member().come_out();
}

/// The thread's number.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_thread_num(_location: *const Location) -> i32 {
    member().region.get().number as i32
}

/// The thread's number in its team.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_thread_num(_location: *const Location) -> i32 {
    member().region.get().number as i32
}

/// Threads of the team.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_num_threads(_location: *const Location) -> i32 {
    team().threads.get() as i32
}

/// Threads, as far as anybody can tell.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_num_threads(_location: *const Location) -> i32 {
    team().threads.get() as i32
}

/// Whether the thread is in a region of several threads.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_in_parallel(_location: *const Location) -> i32 {
    (team().levels.get().1 > 0).into()
}

/// Whether regions may be made at all: they may.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_ok_to_fork(_location: *const Location) -> i32 {
    1
}

/// The runtime begins with the first call that needs it.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_begin(_location: *const Location, _flags: i32) {}

/// Nothing is to be ended.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end(_location: *const Location) {}
