//! Single and critical regions, barriers and reductions of clang.

use std::ffi::c_void;

use sim::Cause;

use super::Location;
use crate::openmp::cancellation::{Construct, cancel, is_cancelled};
use crate::openmp::platform::{Lock, allocate, charged, copies, fence};
use crate::openmp::team::{globals, member, team};

/// The compiler has made atomic operations for a reduction.
const ATOMIC_REDUCTION: i32 = 0x10;

/// A barrier.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_barrier(_location: *const Location, _number: i32) {
    team().barrier();
}

/// As [`__kmpc_barrier`], unless the region is cancelled: whether it is. Who cancels it comes here once more, where others do not
/// come, and then to the region's end as they do.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_cancel_barrier(_location: *const Location, _number: i32) -> i32 {
    team().barrier_or_cancelled().into()
}

/// The construct of one of clang's numbers: loops and sections have numbers of their own.
const fn construct_of(which: i32) -> Construct {
    match which {
        2 | 3 => Construct::Shared,
        4 => Construct::Group,
        _ => Construct::Region,
    }
}

/// The thread goes to the end of the construct, if `goes` says so.
fn going(construct: Construct, goes: bool) -> i32 {
    if goes && construct == Construct::Shared {
        member().leave_cancelled();
    }
    goes.into()
}

/// Cancels a construct; whether the thread is to go to its end.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_cancel(_location: *const Location, _number: i32, which: i32) -> i32 {
    going(construct_of(which), cancel(construct_of(which)))
}

/// Whether the thread is to go to the end of a construct, because that is cancelled.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_cancellationpoint(_location: *const Location, _number: i32, which: i32) -> i32 {
    going(construct_of(which), is_cancelled(construct_of(which)))
}

/// Whether the thread is the first.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_master(_location: *const Location, _number: i32) -> i32 {
    (member().region.get().number == 0).into()
}

/// The end of what the first does.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_master(_location: *const Location, _number: i32) {}

/// Whether the thread is number `filter`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_masked(_location: *const Location, _number: i32, filter: i32) -> i32 {
    (member().region.get().number as i32 == filter).into()
}

/// The end of what that thread does.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_masked(_location: *const Location, _number: i32) {}

/// Whether the thread is the one that does the single region.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_single(_location: *const Location, _number: i32) -> i32 {
    let member = member();
    let (first, _) = member.come(|_| ());
    member.leave();
    first.into()
}

/// The end of a single region.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_single(_location: *const Location, _number: i32) {}

/// Copies what the thread that did a single region has to all others.
///
/// # Safety
/// As compilers call it: the function copies the first kind of data from the second.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_copyprivate(
    _location: *const Location,
    _number: i32,
    _bytes: usize,
    data: *mut c_void,
    copy: unsafe extern "C-unwind" fn(*mut c_void, *mut c_void),
    did_it: i32,
) {
    let team = team();
    if did_it != 0 {
        team.copied.set(data);
    }
    team.barrier();
    if did_it == 0 {
        // SAFETY: the caller's promise.
        unsafe { copy(data, team.copied.get()) };
    }
    team.barrier();
}

/// A critical region begins.
///
/// # Safety
/// As compilers call it: with a variable of their own for each name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_critical(_location: *const Location, _number: i32, name: *mut c_void) {
    // SAFETY: the compiler's variable is zero at first and used for nothing else.
    let lock = unsafe { Lock::at(name) };
    charged(Cause::Lock, || lock.acquire());
}

/// As [`__kmpc_critical`]; what the lock is used for, is a hint.
///
/// # Safety
/// As of [`__kmpc_critical`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_critical_with_hint(
    location: *const Location,
    number: i32,
    name: *mut c_void,
    _hint: u32,
) {
    // SAFETY: the caller's promise.
    unsafe { __kmpc_critical(location, number, name) };
}

/// A critical region ends.
///
/// # Safety
/// As of [`__kmpc_critical`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_end_critical(_location: *const Location, _number: i32, name: *mut c_void) {
    // SAFETY: as above.
    let lock = unsafe { Lock::at(name) };
    charged(Cause::Lock, || lock.release());
}

/// The ordered part of an iteration begins: those before are through with theirs.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_ordered(_location: *const Location, _number: i32) {
    member().wait_for_turn();
}

/// It ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_ordered(_location: *const Location, _number: i32) {}

/// All that was stored before is seen by others.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_flush(_location: *const Location) {
    fence();
}

/// Whether a reduction at this place is made of atomic operations.
///
/// # Safety
/// The place is the compiler's.
unsafe fn is_atomic(location: *const Location) -> bool {
    // SAFETY: the caller's promise.
    !location.is_null() && unsafe { (*location).flags & ATOMIC_REDUCTION != 0 }
}

/// How a thread is to add its part to a reduction: one for alone, two for by atomic operations. Waits for nobody.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_reduce_nowait(
    location: *const Location,
    _number: i32,
    _count: i32,
    _bytes: usize,
    _data: *mut c_void,
    _add: *mut c_void,
    _lock: *mut c_void,
) -> i32 {
    // SAFETY: the caller's promise.
    if unsafe { is_atomic(location) } && !team().is_one() {
        return 2;
    }
    charged(Cause::Lock, || globals().reduction.acquire());
    1
}

/// The thread has added its part, alone.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_reduce_nowait(_location: *const Location, _number: i32, _lock: *mut c_void) {
    charged(Cause::Lock, || globals().reduction.release());
}

/// As [`__kmpc_reduce_nowait`], for a reduction after which all wait.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_reduce(
    location: *const Location,
    number: i32,
    count: i32,
    bytes: usize,
    data: *mut c_void,
    add: *mut c_void,
    lock: *mut c_void,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { __kmpc_reduce_nowait(location, number, count, bytes, data, add, lock) }
}

/// The thread has added its part, in whatever way.
///
/// # Safety
/// As compilers call it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_end_reduce(location: *const Location, _number: i32, _lock: *mut c_void) {
    // SAFETY: the caller's promise.
    if !unsafe { is_atomic(location) } || team().is_one() {
        charged(Cause::Lock, || globals().reduction.release());
    }
    team().barrier();
}

/// The thread's own copy of a variable, where the compiler does without thread-local storage.
///
/// # Safety
/// As compilers call it: the variable is so long.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_threadprivate_cached(
    _location: *const Location,
    _number: i32,
    variable: *mut c_void,
    bytes: usize,
    _cache: *mut *mut *mut c_void,
) -> *mut c_void {
    let member = member();
    if member.is_first {
        return variable;
    }
    let mut own = member.own.borrow_mut();
    *own.entry(variable as usize).or_insert_with(|| {
        let copy = allocate(bytes);
        copies(variable, copy, bytes);
        // SAFETY: the caller's promise; the copy is as long.
        unsafe { copy.cast::<u8>().copy_from_nonoverlapping(variable.cast(), bytes) };
        copy
    })
}

/// An atomic operation begins that processors have no instruction for.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_atomic_start() {
    charged(Cause::Lock, || globals().atomic.acquire());
}

/// It ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_atomic_end() {
    charged(Cause::Lock, || globals().atomic.release());
}
