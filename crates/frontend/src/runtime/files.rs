//! Files in which the kernel tells of this computer: a program that reads them learns nothing of the simulated machine, which is said.

use std::ffi::{CStr, c_char, c_int, c_uint};

use super::cancel;
use super::futex_call::failed;
use super::state::{self, current};

/// Folders of such files.
const OF_THIS_COMPUTER: [&str; 3] = ["/proc/", "/sys/", "/dev/cpu"];

/// The program asks for a file.
///
/// # Safety
/// The path is one, or null.
unsafe fn note(path: *const c_char) {
    if current().is_none() || path.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    if OF_THIS_COMPUTER.iter().any(|folder| path.starts_with(folder)) {
        state::note(format!("{path}, read by the program, describes this computer, not the simulated machine"));
    }
}

macro_rules! opening {
    ($($name:ident($($argument:ident: $kind:ty),*) of $path:ident: $real:expr;)*) => {$(
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            if cancel::is_due() {
                return failed(libc::EINTR) as c_int;
            }
            // SAFETY: the caller's promise; the mode is heeded where a file is made.
            unsafe {
                note($path);
                $real($($argument),*)
            }
        }
    )*};
}

opening! {
    open(path: *const c_char, flags: c_int, mode: c_uint) of path: libc::open;
    open64(path: *const c_char, flags: c_int, mode: c_uint) of path: libc::open64;
    openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) of path: libc::openat;
}

macro_rules! streams {
    ($($symbol:ident $real:ident;)*) => {$(
        /// Opens a file.
        ///
        /// # Safety
        /// As of the C library's function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
            // SAFETY: the caller's promise.
            unsafe {
                note(path);
                libc::$real(path, mode)
            }
        }
    )*};
}

streams! {
    __wrap_fopen fopen;
    __wrap_fopen64 fopen64;
}

/// Opens a folder.
///
/// # Safety
/// As of `opendir`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_opendir(path: *const c_char) -> *mut libc::DIR {
    // SAFETY: the caller's promise.
    unsafe {
        note(path);
        libc::opendir(path)
    }
}
