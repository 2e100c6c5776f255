//! Functions of OpenMP that programs call by name: `omp_*` of version 4.5, and those of newer versions as far as a host has them.

use std::ffi::c_int;

use super::platform::{processor, processors, seconds};
use super::schedule::{Kind, Schedule};
use super::settings::Bind;
use super::team::{Region, globals, member};

fn region() -> Region {
    member().region.get()
}

fn int(number: u32) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// Threads of the next region.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_num_threads(threads: c_int) {
    member().control(|controls| controls.threads = u32::try_from(threads).unwrap_or(1).max(1));
}

/// Threads of the team.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_threads() -> c_int {
    int(region().team.threads.get())
}

/// Threads that the next region would have.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_max_threads() -> c_int {
    int(member().controls.get().threads)
}

/// The thread's number in its team.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_thread_num() -> c_int {
    int(region().number)
}

/// Processors that the program may use.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_procs() -> c_int {
    int(processors())
}

/// Whether the thread is in a region of several threads.
#[unsafe(no_mangle)]
pub extern "C" fn omp_in_parallel() -> c_int {
    (region().team.levels.get().1 > 0).into()
}

/// Whether regions may have fewer threads than they ask for.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_dynamic(dynamic: c_int) {
    member().control(|controls| controls.dynamic = dynamic != 0);
}

/// Whether they may.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_dynamic() -> c_int {
    member().controls.get().dynamic.into()
}

/// Whether nested regions may have several threads: told back, but they have one.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_nested(nested: c_int) {
    member().control(|controls| controls.levels = if nested != 0 { c_int::MAX } else { 1 });
}

/// Whether nested regions may have several threads, as set.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_nested() -> c_int {
    (member().controls.get().levels > 1).into()
}

/// Whether constructs can be cancelled.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_cancellation() -> c_int {
    globals().settings.cancellation.into()
}

/// Sets the meaning of `schedule(runtime)`: static, dynamic, guided or auto, from one on.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_schedule(kind: c_int, chunk: c_int) {
    let chunk = u64::try_from(chunk).unwrap_or(0);
    // The highest bit says that chunks come in order, as they do.
    let schedule = match kind & 0x7fff_ffff {
        1 => Schedule { kind: Kind::Static, chunk },
        2 => Schedule { kind: Kind::Dynamic, chunk: chunk.max(1) },
        3 => Schedule { kind: Kind::Guided, chunk: chunk.max(1) },
        4 => Schedule { kind: Kind::Auto, chunk: 0 },
        _ => return,
    };
    member().control(|controls| controls.schedule = schedule);
}

/// The meaning of `schedule(runtime)`.
///
/// # Safety
/// The places are the caller's to write to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule(kind: *mut c_int, chunk: *mut c_int) {
    let schedule = member().controls.get().schedule;
    let number = match schedule.kind {
        Kind::Static => 1,
        Kind::Dynamic => 2,
        Kind::Guided => 3,
        Kind::Auto => 4,
    };
    // SAFETY: the caller's promise.
    unsafe {
        kind.write(number);
        chunk.write(c_int::try_from(schedule.chunk).unwrap_or(c_int::MAX));
    }
}

/// The most threads that the next region may have.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_thread_limit() -> c_int {
    int(member().controls.get().limit)
}

/// Levels of regions that may have several threads: told back, but one.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_max_active_levels(levels: c_int) {
    if levels >= 0 {
        member().control(|controls| controls.levels = levels);
    }
}

/// Levels of regions that may have several threads, as set.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_max_active_levels() -> c_int {
    member().controls.get().levels
}

/// Levels that can be had.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_supported_active_levels() -> c_int {
    1
}

/// Regions that the thread is in.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_level() -> c_int {
    int(region().team.levels.get().0)
}

/// Regions that the thread is in and that have several threads.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_active_level() -> c_int {
    int(region().team.levels.get().1)
}

/// The region at a level around the thread, and the number there of the thread or of the one that it descends from.
fn at_level(level: c_int) -> Option<(u32, u32)> {
    let mut region = region();
    let level = u32::try_from(level).ok().filter(|level| *level <= region.team.levels.get().0)?;
    while region.team.levels.get().0 > level {
        let (team, number) = region.team.around.get()?;
        region = Region { team, number, ..region };
    }
    Some((region.number, region.team.threads.get()))
}

/// The number of the thread's ancestor at a level.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_ancestor_thread_num(level: c_int) -> c_int {
    at_level(level).map_or(-1, |(number, _)| int(number))
}

/// Threads of the team at a level.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_team_size(level: c_int) -> c_int {
    at_level(level).map_or(-1, |(_, threads)| int(threads))
}

/// Whether tasks made here are done at once.
#[unsafe(no_mangle)]
pub extern "C" fn omp_in_final() -> c_int {
    region().task.is_some_and(|task| task.kind.is_final).into()
}

/// Seconds: simulated, or of this computer if that was asked for.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_wtime() -> f64 {
    seconds()
}

/// Seconds between two times that can be told apart.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_wtick() -> f64 {
    1e-9
}

/// How threads are bound.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_proc_bind() -> c_int {
    let settings = &globals().settings;
    if region().team.levels.get().1 > 0 { Bind::False.number() } else { settings.bind.number() }
}

/// Places.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_places() -> c_int {
    globals().settings.places.len() as c_int
}

fn place(number: c_int) -> &'static [usize] {
    let places = &globals().settings.places;
    usize::try_from(number).ok().and_then(|number| places.get(number)).map_or(&[], Vec::as_slice)
}

/// Processors of a place.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_place_num_procs(number: c_int) -> c_int {
    place(number).len() as c_int
}

/// The numbers of the processors of a place.
///
/// # Safety
/// There is room for as many as [`omp_get_place_num_procs`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids(number: c_int, ids: *mut c_int) {
    for (index, &cpu) in place(number).iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { ids.add(index).write(cpu as c_int) };
    }
}

/// The place of the thread, if it is bound to one.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_place_num() -> c_int {
    let places = &globals().settings.places;
    let bound = member().place.get().copied().flatten();
    let found = bound.or_else(|| places.iter().position(|place| place.contains(&processor())));
    found.map_or(-1, |place| place as c_int)
}

/// Places that a region's threads are spread over: all.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_partition_num_places() -> c_int {
    omp_get_num_places()
}

/// The numbers of those places.
///
/// # Safety
/// There is room for as many as [`omp_get_partition_num_places`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums(numbers: *mut c_int) {
    for number in 0..omp_get_num_places() {
        // SAFETY: the caller's promise.
        unsafe { numbers.add(number as usize).write(number) };
    }
}

/// The highest priority of tasks.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_max_task_priority() -> c_int {
    globals().settings.priority
}
