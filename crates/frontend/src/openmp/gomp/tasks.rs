//! Tasks of gcc and gfortran.

use std::ffi::{c_int, c_long, c_uint, c_ulonglong, c_void};

use super::reductions::GOMP_taskgroup_reduction_register;
use crate::openmp::dependences::{Dependence, Use};
use crate::openmp::detached;
use crate::openmp::platform::copies;
use crate::openmp::schedule::{trips, unsigned_trips};
use crate::openmp::tasks::{Kind, Task};
use crate::openmp::team::{Body, team};

const UNTIED: c_uint = 1;
const FINAL: c_uint = 1 << 1;
const PRIORITY: c_uint = 1 << 4;
const DEPENDS: c_uint = 1 << 3;
const UP: c_uint = 1 << 8;
const GRAINSIZE: c_uint = 1 << 9;
const IF: c_uint = 1 << 10;
const NO_GROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;
const DETACH: c_uint = 1 << 13;
const STRICT: c_uint = 1 << 14;

/// The function that copies the data of a task that cannot just be copied byte by byte.
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// The data that a task is made with.
struct Data {
    from: *mut c_void,
    copy: Option<Copy>,
    bytes: usize,
    alignment: usize,
}

impl Data {
    /// A task with room for a copy of its own, and where that begins.
    fn task(&self, body: Body, flags: c_uint) -> (&'static Task, *mut c_void) {
        let kind = Kind { is_final: flags & FINAL != 0, untied: flags & UNTIED != 0 };
        let task = Task::child(body, self.bytes + self.alignment, kind);
        let place = (task.room() as usize).next_multiple_of(self.alignment) as *mut c_void;
        task.data.set(place);
        (task, place)
    }

    /// Makes the copy.
    ///
    /// # Safety
    /// The data are as long as they say, the copying function is theirs, and the room was made for them.
    unsafe fn copy_to(&self, data: *mut c_void) {
        // SAFETY: the caller's promise; the block has room for it.
        unsafe {
            match self.copy {
                Some(copy) => copy(data, self.from),
                None => {
                    copies(self.from, data, self.bytes);
                    data.cast::<u8>().copy_from_nonoverlapping(self.from.cast(), self.bytes);
                }
            }
        }
    }
}

/// Dependences of gcc's list, which has the number of all, that of those that are written, and their addresses; or, if the first
/// is zero, the numbers of all, of those written, of those written in any order, of those read, the addresses, and for the rest
/// addresses of pairs of an address and a kind.
///
/// # Safety
/// The list is whole.
pub unsafe fn dependences(list: *const usize) -> Vec<Dependence> {
    const READS: usize = 1;
    const SET: usize = 5;
    if list.is_null() {
        return Vec::new();
    }
    let one = |address, writes| Dependence { address, does: if writes { Use::Changes } else { Use::Reads } };
    // SAFETY: the caller's promise.
    let at = |index: usize| unsafe { *list.add(index) };
    if at(0) != 0 {
        return (0..at(0)).map(|index| one(at(2 + index), index < at(1))).collect();
    }
    let (all, written, any_order, read) = (at(1), at(2), at(3), at(4));
    let plain = written + any_order + read;
    let each = (0..all).map(|index| {
        let address = at(5 + index);
        if index < plain {
            return one(address, index < written + any_order);
        }
        let pair = address as *const usize;
        // SAFETY: the caller's promise.
        let (address, kind) = unsafe { (*pair, *pair.add(1)) };
        let does = match kind {
            READS => Use::Reads,
            SET => Use::ChangesWithOthers,
            _ => Use::Changes,
        };
        Dependence { address, does }
    });
    each.collect()
}

/// `#pragma omp task`.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_task(
    body: Body,
    from: *mut c_void,
    copy: Option<Copy>,
    bytes: c_long,
    alignment: c_long,
    deferred: bool,
    flags: c_uint,
    depends: *const usize,
    priority: c_int,
    detach: *mut usize,
) {
    let data = Data { from, copy, bytes: bytes.max(0) as usize, alignment: alignment.max(1) as usize };
    // SAFETY: the caller's promise.
    unsafe {
        let depends = if flags & DEPENDS != 0 { dependences(depends) } else { Vec::new() };
        let (task, place) = data.task(body, flags);
        if flags & PRIORITY != 0 {
            task.prefer(priority);
        }
        if flags & DETACH != 0 {
            // The task's own copy of the variable is the first of its data.
            let event = detached::detach(task);
            *detach = event;
            if !from.is_null() {
                *from.cast() = event;
            }
        }
        data.copy_to(place);
        // Variables that were constructed are destroyed by the task itself.
        task.may_be_dropped.set(copy.is_none());
        team().submit(task, deferred, &depends);
    }
}

/// `#pragma omp taskwait`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskwait() {
    team().wait_for_children();
}

/// `#pragma omp taskwait depend(...)`: a task that does nothing, at once.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_taskwait_depend(depends: *const usize) {
    unsafe extern "C-unwind" fn nothing(_: *mut c_void) {}
    let task = Task::child(nothing, 0, Kind::default());
    // SAFETY: the caller's promise.
    team().submit(task, false, &unsafe { dependences(depends) });
}

/// `#pragma omp taskyield`: the task goes on, as in libgomp.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskyield() {}

/// `#pragma omp taskgroup` begins.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskgroup_start() {
    team().begin_group();
}

/// It ends, when its tasks have.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskgroup_end() {
    team().end_group();
}

/// How the iterations of a taskloop are shared out: the iterations of each task.
pub fn portions(total: u64, wanted: u64, grain: bool, strict: bool, threads: u64) -> Vec<u64> {
    if total == 0 {
        return Vec::new();
    }
    if grain && strict {
        let grain = wanted.max(1);
        return (0..total.div_ceil(grain)).map(|task| grain.min(total - task * grain)).collect();
    }
    // Tasks have at least a grain size of iterations, and less than twice as many.
    let tasks = if grain {
        total / wanted.clamp(1, total)
    } else if wanted == 0 {
        threads
    } else {
        wanted
    };
    let tasks = tasks.clamp(1, total);
    (0..tasks).map(|task| total / tasks + u64::from(task < total % tasks)).collect()
}

/// A taskloop without its iterations.
struct Taskloop {
    body: Body,
    data: Data,
    flags: c_uint,
    wanted: u64,
    priority: c_int,
}

impl Taskloop {
    /// Makes the tasks of `total` iterations, whose data begin with the first value and the one after the last; `value` tells it.
    ///
    /// # Safety
    /// As compilers call it.
    unsafe fn run(&self, total: u64, value: impl Fn(u64) -> u64) {
        let team = team();
        let grouped = self.flags & NO_GROUP == 0;
        if grouped {
            team.begin_group();
            if self.flags & REDUCTION != 0 {
                // Behind the two bounds stands the block of what the tasks reduce.
                // SAFETY: the caller's promise.
                GOMP_taskgroup_reduction_register(unsafe { *self.data.from.cast::<*mut usize>().add(2) });
            }
        }
        let mut next = 0;
        let (grain, strict) = (self.flags & GRAINSIZE != 0, self.flags & STRICT != 0);
        for portion in portions(total, self.wanted, grain, strict, team.threads.get().into()) {
            // SAFETY: the caller's promise: the data begin with two numbers of eight bytes.
            unsafe {
                let (task, data) = self.data.task(self.body, self.flags);
                self.data.copy_to(data);
                data.cast::<[u64; 2]>().write([value(next), value(next + portion)]);
                task.prefer(self.priority);
                task.may_be_dropped.set(self.data.copy.is_none());
                team.submit(task, self.flags & IF != 0, &[]);
            }
            next += portion;
        }
        if grouped {
            team.end_group();
        }
    }
}

/// `#pragma omp taskloop`.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_taskloop(
    body: Body,
    from: *mut c_void,
    copy: Option<Copy>,
    bytes: c_long,
    alignment: c_long,
    flags: c_uint,
    wanted: std::ffi::c_ulong,
    priority: c_int,
    start: c_long,
    end: c_long,
    step: c_long,
) {
    let data = Data { from, copy, bytes: bytes.max(0) as usize, alignment: alignment.max(1) as usize };
    let taskloop = Taskloop { body, data, flags, wanted, priority };
    let value = |at: u64| start.wrapping_add((at as i64).wrapping_mul(step)) as u64;
    // SAFETY: the caller's promise.
    unsafe { taskloop.run(trips(start, end, step), value) };
}

/// The same over unsigned numbers.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_taskloop_ull(
    body: Body,
    from: *mut c_void,
    copy: Option<Copy>,
    bytes: c_long,
    alignment: c_long,
    flags: c_uint,
    wanted: std::ffi::c_ulong,
    priority: c_int,
    start: c_ulonglong,
    end: c_ulonglong,
    step: c_ulonglong,
) {
    let data = Data { from, copy, bytes: bytes.max(0) as usize, alignment: alignment.max(1) as usize };
    let taskloop = Taskloop { body, data, flags, wanted, priority };
    let value = |at: u64| start.wrapping_add(at.wrapping_mul(step));
    // SAFETY: the caller's promise.
    unsafe { taskloop.run(unsigned_trips(flags & UP != 0, start, end, step), value) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_dependences_are_read_in_both_forms() {
        let read = |address| Dependence { address, does: Use::Reads };
        let write = |address| Dependence { address, does: Use::Changes };
        let (pair, set) = ([77_usize, 3], [88_usize, 5]);
        // SAFETY: the lists are whole.
        unsafe {
            assert_eq!(dependences([3, 1, 10, 20, 30].as_ptr()), [write(10), read(20), read(30)]);
            let new = [0, 5, 1, 1, 1, 10, 20, 30, pair.as_ptr() as usize, set.as_ptr() as usize];
            let with_others = Dependence { address: 88, does: Use::ChangesWithOthers };
            assert_eq!(dependences(new.as_ptr()), [write(10), write(20), read(30), write(77), with_others]);
            assert!(dependences(std::ptr::null()).is_empty());
        }
    }

    #[test]
    fn iterations_are_shared_out_to_tasks() {
        assert_eq!(portions(10, 0, false, false, 4), [3, 3, 2, 2]);
        assert_eq!(portions(3, 8, false, false, 4), [1, 1, 1]);
        assert_eq!(portions(10, 4, true, false, 4), [5, 5]);
        assert_eq!(portions(10, 4, true, true, 4), [4, 4, 2]);
        assert_eq!(portions(0, 4, true, false, 4), [0u64; 0]);
        assert_eq!(portions(3, 7, true, false, 4), [3]);
    }
}
