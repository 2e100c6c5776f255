//! Extensions of LLVM's runtime (`kmp_*`, and names of its own); those that allocate are with the other functions that do.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};

use crate::openmp::display;
use crate::openmp::team::globals;
use crate::runtime::heap::__wrap_free;

/// Gives back what `kmp_malloc`, `kmp_calloc` or `kmp_realloc` has returned.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn kmp_free(block: *mut c_void) {
    __wrap_free(block);
}

/// Milliseconds that threads spin before they sleep, if nobody has said otherwise.
const BLOCKTIME: c_int = 200;

thread_local! {
    /// Milliseconds that the thread has set.
    static WAITS: Cell<c_int> = const { Cell::new(BLOCKTIME) };
}

/// How long threads spin before they sleep: told back. Simulated threads have their processors for themselves, and spin.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_blocktime(milliseconds: c_int) {
    WAITS.set(milliseconds.max(0));
}

/// The milliseconds that were set.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_blocktime() -> c_int {
    WAITS.get()
}

/// Bytes of the stacks of threads: of `OMP_STACKSIZE`, or zero for those that all threads have.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_stacksize_s() -> usize {
    globals().settings.stack.unwrap_or(0)
}

/// The same, as an integer.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_get_stacksize() -> c_int {
    c_int::try_from(kmp_get_stacksize_s()).unwrap_or(c_int::MAX)
}

/// There are no warnings.
#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_warnings_on() {}

/// As [`kmp_set_warnings_on`].
#[unsafe(no_mangle)]
pub extern "C" fn kmp_set_warnings_off() {}

/// No tool is there to be controlled (OpenMP 5.0, 3.8).
#[unsafe(no_mangle)]
pub extern "C" fn omp_control_tool(_command: c_int, _modifier: c_int, _argument: *mut c_void) -> c_int {
    const NO_TOOL: c_int = -2;
    NO_TOOL
}

/// Functions of the standard under the names that clang's own `omp.h` gives them.
macro_rules! also {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $of:ident;)*) => {$(
        #[doc = "As the function of the standard."]
        ///
        /// # Safety
        /// As of that.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: the caller's promise.
            unsafe { display::$of($($argument),*) }
        }
    )*};
}

also! {
    ompc_set_affinity_format(format: *const c_char) = omp_set_affinity_format;
    ompc_get_affinity_format(buffer: *mut c_char, bytes: usize) -> usize = omp_get_affinity_format;
    ompc_display_affinity(format: *const c_char) = omp_display_affinity;
    ompc_capture_affinity(buffer: *mut c_char, bytes: usize, format: *const c_char) -> usize = omp_capture_affinity;
}
