//! Functions of the C library that move memory: what they load and store is referred to, word by word.

use std::ffi::{c_int, c_void};

use super::callbacks::{refer_range, sited};
use super::state::Reference;

extern "C" fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize, site: usize) -> *mut c_void {
    refer_range(from as usize, bytes, Reference::Load, site);
    refer_range(to as usize, bytes, Reference::Store, site);
    // SAFETY: the caller's promise to the function of that name. What was asked to be a copy may overlap: that is done, too.
    unsafe { libc::memmove(to, from, bytes) }
}

extern "C" fn memset(to: *mut c_void, value: c_int, bytes: usize, site: usize) -> *mut c_void {
    refer_range(to as usize, bytes, Reference::Store, site);
    // SAFETY: the caller's promise to the function of that name.
    unsafe { libc::memset(to, value, bytes) }
}

extern "C" fn bzero(to: *mut c_void, bytes: usize, site: usize) {
    memset(to, 0, bytes, site);
}

sited! {
    "rcx": __wrap_memcpy memcpy __wrap_memmove memcpy __wrap_memset memset
        __tsan_memcpy memcpy __tsan_memmove memcpy __tsan_memset memset;
    "rdx": __wrap_bzero bzero;
}
