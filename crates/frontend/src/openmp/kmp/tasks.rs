//! Tasks of clang: blocks that the runtime makes room for, and the compiler's code fills in.

use std::ffi::c_void;

use super::{Location, reductions};
use crate::openmp::dependences::{Dependence, Use};
use crate::openmp::detached;
use crate::openmp::gomp::portions;
use crate::openmp::platform::copies;
use crate::openmp::tasks::{Kind, Task};
use crate::openmp::team::{member, team};

const TIED: i32 = 1;
const FINAL: i32 = 1 << 1;
const HAS_DESTRUCTORS: i32 = 1 << 3;
const HAS_PRIORITY: i32 = 1 << 5;

/// Header in front of a task as the compiler knows it.
#[repr(C)]
struct Header {
    task: &'static Task,
    flags: i32,
    /// Whether it is being done.
    begun: bool,
    /// Whether it has asked, while it was done, to be done again: tasks that may change their threads come in parts.
    again: bool,
    /// Bytes of the task, what it shares included.
    bytes: usize,
    /// Bytes before what it shares.
    private: usize,
}

/// Bytes of a header, with which the task behind it stays aligned.
const HEADER: usize = 64;
const _: () = assert!(size_of::<Header>() <= HEADER);

type Routine = unsafe extern "C-unwind" fn(i32, *mut Given) -> i32;

/// A task as the compiler knows it: what follows are the compiler's own variables.
#[repr(C)]
pub struct Given {
    shared: *mut c_void,
    routine: Option<Routine>,
    part: i32,
    /// The function that destroys its variables, if they need one.
    destructors: Option<Routine>,
    /// Its priority, if it has one.
    priority: usize,
}

/// The runtime's part of a task.
///
/// # Safety
/// The task came from [`__kmpc_omp_task_alloc`].
unsafe fn header(given: *mut Given) -> *mut Header {
    // SAFETY: the caller's promise.
    unsafe { given.byte_sub(HEADER).cast() }
}

/// Does a task.
///
/// # Safety
/// It came from [`__kmpc_omp_task_alloc`].
unsafe extern "C-unwind" fn run(given: *mut c_void) {
    let given: *mut Given = given.cast();
    let number = member().region.get().number as i32;
    // SAFETY: the caller's promise.
    unsafe {
        (*header(given)).begun = true;
        if let Some(routine) = (*given).routine {
            routine(number, given);
        }
        finish(given, number);
    }
}

/// Does the other parts of a task that came in parts, and ends the lives of its variables.
///
/// # Safety
/// It came from [`__kmpc_omp_task_alloc`], and its first part is over.
unsafe fn finish(given: *mut Given, number: i32) {
    // SAFETY: the caller's promise.
    unsafe {
        while std::mem::take(&mut (*header(given)).again) {
            if let Some(routine) = (*given).routine {
                routine(number, given);
            }
        }
        let has = (*header(given)).flags & HAS_DESTRUCTORS != 0;
        if let Some(destroy) = (*given).destructors.filter(|_| has) {
            destroy(number, given);
        }
    }
}

/// A task with room for what it keeps and shares.
fn allocate(flags: i32, private: usize, shared: usize, routine: Option<Routine>) -> *mut Given {
    let private = private.next_multiple_of(16);
    let bytes = private + shared;
    let kind = Kind { is_final: flags & FINAL != 0, untied: flags & TIED == 0 };
    let task = Task::child(run, HEADER + bytes, kind);
    let room = task.room();
    let given: *mut Given = room.wrapping_byte_add(HEADER).cast();
    task.data.set(given.cast());
    task.may_be_dropped.set(flags & HAS_DESTRUCTORS == 0);
    // SAFETY: the block has room for it all.
    unsafe {
        room.cast::<Header>().write(Header { task, flags, begun: false, again: false, bytes, private });
        let shared = if shared > 0 { given.byte_add(private).cast() } else { std::ptr::null_mut() };
        given.write(Given { shared, routine, part: 0, destructors: None, priority: 0 });
    }
    given
}

/// The compiler has filled the task in: it is to be done after those that it depends on.
///
/// # Safety
/// It came from [`__kmpc_omp_task_alloc`].
unsafe fn submit(given: *mut Given, deferred: bool, depends: &[Dependence]) {
    // SAFETY: the caller's promise.
    unsafe {
        let Header { task, flags, .. } = *header(given);
        if flags & HAS_PRIORITY != 0 {
            task.prefer((*given).priority as i32);
        }
        team().submit(task, deferred, depends);
    }
}

/// Makes a task, which does nothing yet.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_omp_task_alloc(
    _location: *const Location,
    _number: i32,
    flags: i32,
    private: usize,
    shared: usize,
    routine: Option<Routine>,
) -> *mut Given {
    allocate(flags, private.max(size_of::<Given>()), shared, routine)
}

/// The same for a device: there is only the host.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_omp_target_task_alloc(
    location: *const Location,
    number: i32,
    flags: i32,
    private: usize,
    shared: usize,
    routine: Option<Routine>,
    _device: i64,
) -> *mut Given {
    __kmpc_omp_task_alloc(location, number, flags, private, shared, routine)
}

/// Has a task done.
///
/// # Safety
/// It came from [`__kmpc_omp_task_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task(_location: *const Location, _number: i32, given: *mut Given) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        let header = header(given);
        if (*header).begun {
            // The thread that does it does its next part, too.
            (*header).again = true;
        } else {
            submit(given, true, &[]);
        }
    }
    0
}

/// Gives a task that has not been submitted an event, which is told back.
///
/// # Safety
/// It came from [`__kmpc_omp_task_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_task_allow_completion_event(
    _location: *const Location,
    _number: i32,
    given: *mut Given,
) -> usize {
    // SAFETY: the caller's promise.
    detached::detach(unsafe { (*header(given)).task })
}

/// A variable that a task depends on, as the compiler tells it.
#[repr(C)]
pub struct Depends {
    address: usize,
    bytes: usize,
    flags: u8,
}

/// The flag of a variable that is only read.
const READS: u8 = 1;
/// That of one which several tasks may change at a time.
const SET: u8 = 8;

/// # Safety
/// There are so many.
unsafe fn dependences(count: i32, list: *const Depends) -> Vec<Dependence> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller's promise.
    let each = |index: usize| unsafe {
        let told = &*list.add(index);
        let does = match told.flags {
            READS => Use::Reads,
            SET => Use::ChangesWithOthers,
            _ => Use::Changes,
        };
        Dependence { address: told.address, does }
    };
    (0..count).map(each).collect()
}

/// Has a task done after those that it depends on.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task_with_deps(
    _location: *const Location,
    _number: i32,
    given: *mut Given,
    count: i32,
    list: *const Depends,
    _others: i32,
    _more: *const Depends,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { submit(given, true, &dependences(count, list)) };
    0
}

/// Waits for those tasks that one would depend on.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_wait_deps(
    _location: *const Location,
    _number: i32,
    count: i32,
    list: *const Depends,
    _others: i32,
    _more: *const Depends,
) {
    unsafe extern "C-unwind" fn nothing(_: *mut c_void) {}
    let task = Task::child(nothing, 0, Kind::default());
    // SAFETY: the caller's promise.
    team().submit(task, false, &unsafe { dependences(count, list) });
}

/// The same, as newer compilers call it.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_taskwait_deps_51(
    location: *const Location,
    number: i32,
    count: i32,
    list: *const Depends,
    others: i32,
    more: *const Depends,
    _nowait: i32,
) {
    // SAFETY: the caller's promise.
    unsafe { __kmpc_omp_wait_deps(location, number, count, list, others, more) };
}

/// Where a task would like to be done is not looked at, as in LLVM's runtime.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_omp_reg_task_with_affinity(
    _location: *const Location,
    _number: i32,
    _given: *mut Given,
    _count: i32,
    _list: *const c_void,
) -> i32 {
    0
}

/// The program does a task itself, at once: it begins.
///
/// # Safety
/// It came from [`__kmpc_omp_task_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task_begin_if0(_location: *const Location, _number: i32, given: *mut Given) {
    // SAFETY: the caller's promise.
    unsafe {
        (*header(given)).begun = true;
        team().begin_undeferred((*header(given)).task);
    }
}

/// It is over.
///
/// # Safety
/// It came from [`__kmpc_omp_task_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task_complete_if0(
    _location: *const Location,
    _number: i32,
    given: *mut Given,
) {
    // SAFETY: the caller's promise.
    unsafe {
        finish(given, member().region.get().number as i32);
        team().end_undeferred((*header(given)).task);
    }
}

/// Waits for the children of the running task.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_omp_taskwait(_location: *const Location, _number: i32) -> i32 {
    team().wait_for_children();
    0
}

/// The thread does another task, if there is one, before this one goes on.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_omp_taskyield(_location: *const Location, _number: i32, _end: i32) -> i32 {
    team().yield_to_task();
    0
}

/// A group of tasks begins.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_taskgroup(_location: *const Location, _number: i32) {
    team().begin_group();
}

/// It ends, when its tasks have.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_taskgroup(_location: *const Location, _number: i32) {
    let reduction = reductions::of_group();
    team().end_group();
    reductions::end(reduction);
}

/// Makes a copy of a task, for a part of its iterations.
type Duplicate = unsafe extern "C-unwind" fn(*mut Given, *mut Given, i32);

/// Shares the iterations of a loop out to tasks that are copies of one.
///
/// # Safety
/// As compilers call it: the bounds lie in the task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_taskloop(
    location: *const Location,
    number: i32,
    given: *mut Given,
    condition: i32,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    no_group: i32,
    schedule: i32,
    wanted: u64,
    duplicate: Option<Duplicate>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        __kmpc_taskloop_5(
            location, number, given, condition, lower, upper, step, no_group, schedule, wanted, 0, duplicate,
        );
    }
}

/// The same; `strict` is not zero if all tasks but the last have as many iterations as were asked for.
///
/// # Safety
/// As compilers call it: the bounds lie in the task.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_taskloop_5(
    _location: *const Location,
    _number: i32,
    given: *mut Given,
    condition: i32,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    no_group: i32,
    schedule: i32,
    wanted: u64,
    strict: i32,
    duplicate: Option<Duplicate>,
) {
    const GRAIN: i32 = 1;
    let team = team();
    // SAFETY: the caller's promise.
    unsafe {
        let (first, last) = (*lower, *upper);
        let total = iterations(first, last, step);
        let bound = |place: *mut u64, copy: *mut Given| copy.byte_offset(place.byte_offset_from(given)).cast::<u64>();
        if no_group == 0 {
            team.begin_group();
        }
        let mut next = 0;
        for portion in portions(total, wanted, schedule == GRAIN, strict != 0, team.threads.get().into()) {
            let copy = copied(given);
            let value = |at: u64| first.wrapping_add(at.wrapping_mul(step as u64));
            bound(lower, copy).write(value(next));
            bound(upper, copy).write(value(next + portion - 1));
            next += portion;
            if let Some(duplicate) = duplicate {
                duplicate(copy, given, (next == total).into());
            }
            submit(copy, condition != 0, &[]);
        }
        if no_group == 0 {
            team.end_group();
        }
        (*header(given)).task.discard();
    }
}

/// Iterations from `first` to `last`, both included, of whatever sign they are: the compiler has seen to it that there are some, but
/// for none in steps of one.
fn iterations(first: u64, last: u64, step: i64) -> u64 {
    match step {
        0 => 0,
        1 => last.wrapping_sub(first).wrapping_add(1),
        _ if step > 0 => last.wrapping_sub(first) / step as u64 + 1,
        _ => first.wrapping_sub(last) / step.unsigned_abs() + 1,
    }
}

/// A copy of a task that nobody has begun.
///
/// # Safety
/// It came from [`__kmpc_omp_task_alloc`].
unsafe fn copied(given: *mut Given) -> *mut Given {
    // SAFETY: the caller's promise; the copy is as long.
    unsafe {
        let Header { flags, bytes, private, .. } = *header(given);
        let copy = allocate(flags, private, bytes - private, (*given).routine);
        let shared = (*copy).shared;
        copies(given.cast(), copy.cast(), bytes);
        copy.cast::<u8>().copy_from_nonoverlapping(given.cast(), bytes);
        (*copy).shared = shared;
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_counted_whatever_their_sign() {
        assert_eq!(iterations(0, 9, 1), 10);
        assert_eq!(iterations(0, u64::MAX, 1), 0, "none: the last is the one before the first");
        assert_eq!(iterations((-5_i64) as u64, 5, 5), 3);
        assert_eq!(iterations(5, (-6_i64) as u64, -5), 3);
        assert_eq!(iterations(u64::MAX - 10, u64::MAX - 1, 3), 4);
        assert_eq!(iterations(1, u64::MAX, 1 << 62), 4);
    }
}
