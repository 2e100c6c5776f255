//! Memory that the parallel runtime keeps its own data in.

use std::ffi::c_void;

use crate::runtime::state::current;
use crate::runtime::{address, heap};

/// Bytes that words of different threads are kept apart: a line of all machines, and of those that fetch two at once.
pub const LINE: usize = 128;

/// On a line of its own.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Line<T>(pub T);

impl<T> std::ops::Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Whole pages of memory for the running thread, which is to be the first to touch them.
///
/// # Panics
/// When there is no memory left: tasks cannot be done without.
pub fn pages(bytes: usize) -> *mut c_void {
    let page = if current().is_some() { address::page() } else { LINE };
    let block = heap::memalign(page, bytes.next_multiple_of(page), 0);
    assert!(!block.is_null(), "no memory for OpenMP tasks");
    block
}

/// Memory of the program's own, for what its threads share; null if there is none left.
pub fn allocate(bytes: usize) -> *mut c_void {
    heap::memalign(LINE, bytes.next_multiple_of(LINE), 0)
}

/// Gives memory back.
///
/// # Safety
/// It came from [`allocate`], and nobody uses it any more.
pub unsafe fn free(block: *mut c_void) {
    heap::__wrap_free(block);
}

/// Keeps a value for ever, in memory of the program's own.
///
/// # Panics
/// When there is no memory left: what is kept is small and is needed to go on at all.
pub fn keep<T>(value: T) -> &'static T {
    let place: *mut T = allocate(size_of::<T>()).cast();
    assert!(!place.is_null() && align_of::<T>() <= LINE, "no memory for the parallel runtime");
    // SAFETY: the block is long enough, aligned, and nobody else's.
    unsafe {
        place.write(value);
        &*place
    }
}
