//! Single and critical regions, barriers and atomic operations of gcc and gfortran.

use std::ffi::{c_int, c_void};

use sim::Cause;

use crate::openmp::cancellation::{Construct, cancel, is_cancelled};
use crate::openmp::platform::{Lock, charged};
use crate::openmp::team::{globals, member, team};

/// Whether the thread is the one that does the single region.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_single_start() -> bool {
    let member = member();
    let (first, _) = member.come(|_| ());
    member.leave();
    first
}

/// As [`GOMP_single_start`], for a region whose variables are copied to all: null for the one that does it, for all others what it
/// has left behind, when it has.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_single_copy_start() -> *mut c_void {
    let team = team();
    if GOMP_single_start() {
        return std::ptr::null_mut();
    }
    team.barrier();
    team.copied.get()
}

/// Tells all others where the variables are that they copy.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_single_copy_end(data: *mut c_void) {
    let team = team();
    team.copied.set(data);
    team.barrier();
}

/// A barrier.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_barrier() {
    team().barrier();
}

/// As [`GOMP_barrier`], unless the region is cancelled: whether it is.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_barrier_cancel() -> bool {
    team().barrier_or_cancelled()
}

/// A critical region without a name begins.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_critical_start() {
    charged(Cause::Lock, || globals().critical.acquire());
}

/// It ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_critical_end() {
    charged(Cause::Lock, || globals().critical.release());
}

/// A critical region with a name begins.
///
/// # Safety
/// As compilers call it: with a pointer of their own for each name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_critical_name_start(name: *mut *mut c_void) {
    // SAFETY: the compiler's pointer is null at first and used for nothing else.
    let lock = unsafe { Lock::at(name.cast()) };
    charged(Cause::Lock, || lock.acquire());
}

/// It ends.
///
/// # Safety
/// As of [`GOMP_critical_name_start`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_critical_name_end(name: *mut *mut c_void) {
    // SAFETY: as above.
    let lock = unsafe { Lock::at(name.cast()) };
    charged(Cause::Lock, || lock.release());
}

/// An atomic operation begins that processors have no instruction for.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_atomic_start() {
    charged(Cause::Lock, || globals().atomic.acquire());
}

/// It ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_atomic_end() {
    charged(Cause::Lock, || globals().atomic.release());
}

/// The construct of one of gcc's numbers: loops and sections have numbers of their own.
const fn construct_of(which: c_int) -> Construct {
    const SHARED: c_int = 2 | 4;
    const GROUP: c_int = 8;
    match which {
        _ if which & SHARED != 0 => Construct::Shared,
        _ if which & GROUP != 0 => Construct::Group,
        _ => Construct::Region,
    }
}

/// Cancels a construct, if `does` is set; whether the thread is to go to its end.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_cancel(which: c_int, does: bool) -> bool {
    if does { cancel(construct_of(which)) } else { is_cancelled(construct_of(which)) }
}

/// Whether the thread is to go to the end of a construct, because that is cancelled.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_cancellation_point(which: c_int) -> bool {
    is_cancelled(construct_of(which))
}
