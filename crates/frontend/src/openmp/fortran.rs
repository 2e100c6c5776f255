//! The same for Fortran: names with an underscore, arguments by address, some functions for integers of both sizes.

use std::ffi::c_int;

use super::api;

/// Functions without arguments.
macro_rules! ask {
    ($($fortran:ident $name:ident -> $result:ty;)*) => {$(
        #[doc = "As the function of C."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran() -> $result {
            api::$name()
        }
    )*};
}

ask! {
    omp_get_num_threads_ omp_get_num_threads -> c_int;
    omp_get_max_threads_ omp_get_max_threads -> c_int;
    omp_get_thread_num_ omp_get_thread_num -> c_int;
    omp_get_num_procs_ omp_get_num_procs -> c_int;
    omp_in_parallel_ omp_in_parallel -> c_int;
    omp_get_dynamic_ omp_get_dynamic -> c_int;
    omp_get_nested_ omp_get_nested -> c_int;
    omp_get_cancellation_ omp_get_cancellation -> c_int;
    omp_get_thread_limit_ omp_get_thread_limit -> c_int;
    omp_get_max_active_levels_ omp_get_max_active_levels -> c_int;
    omp_get_supported_active_levels_ omp_get_supported_active_levels -> c_int;
    omp_get_level_ omp_get_level -> c_int;
    omp_get_active_level_ omp_get_active_level -> c_int;
    omp_in_final_ omp_in_final -> c_int;
    omp_get_wtime_ omp_get_wtime -> f64;
    omp_get_wtick_ omp_get_wtick -> f64;
    omp_get_proc_bind_ omp_get_proc_bind -> c_int;
    omp_get_num_places_ omp_get_num_places -> c_int;
    omp_get_place_num_ omp_get_place_num -> c_int;
    omp_get_partition_num_places_ omp_get_partition_num_places -> c_int;
    omp_get_num_devices_ omp_get_num_devices -> c_int;
    omp_get_initial_device_ omp_get_initial_device -> c_int;
    omp_get_default_device_ omp_get_default_device -> c_int;
    omp_is_initial_device_ omp_is_initial_device -> c_int;
    omp_get_num_teams_ omp_get_num_teams -> c_int;
    omp_get_team_num_ omp_get_team_num -> c_int;
    omp_get_max_task_priority_ omp_get_max_task_priority -> c_int;
}

/// Functions of one number, which is an integer of four bytes, or of eight where the name says so.
macro_rules! tell {
    ($($fortran:ident $wide:ident $name:ident -> $result:ty;)*) => {$(
        #[doc = "As the function of C."]
        ///
        /// # Safety
        /// The place is that of a number.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran(number: *const i32) -> $result {
            // SAFETY: the caller's promise.
            api::$name(unsafe { *number })
        }

        #[doc = "The same of a number of eight bytes."]
        ///
        /// # Safety
        /// The place is that of a number.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $wide(number: *const i64) -> $result {
            // SAFETY: the caller's promise.
            let number = unsafe { *number };
            // What does not fit is as large as can be.
            api::$name(number.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
        }
    )*};
}

tell! {
    omp_set_num_threads_ omp_set_num_threads_8_ omp_set_num_threads -> ();
    omp_set_dynamic_ omp_set_dynamic_8_ omp_set_dynamic -> ();
    omp_set_nested_ omp_set_nested_8_ omp_set_nested -> ();
    omp_set_max_active_levels_ omp_set_max_active_levels_8_ omp_set_max_active_levels -> ();
    omp_set_default_device_ omp_set_default_device_8_ omp_set_default_device -> ();
    omp_get_ancestor_thread_num_ omp_get_ancestor_thread_num_8_ omp_get_ancestor_thread_num -> c_int;
    omp_get_team_size_ omp_get_team_size_8_ omp_get_team_size -> c_int;
    omp_get_place_num_procs_ omp_get_place_num_procs_8_ omp_get_place_num_procs -> c_int;
}

/// As the function of C.
///
/// # Safety
/// The places are those of numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_schedule_(kind: *const i32, chunk: *const i32) {
    // SAFETY: the caller's promise.
    unsafe { api::omp_set_schedule(*kind, *chunk) };
}

/// The same with a chunk of eight bytes.
///
/// # Safety
/// The places are those of numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_schedule_8_(kind: *const i32, chunk: *const i64) {
    // SAFETY: the caller's promise.
    unsafe { api::omp_set_schedule(*kind, (*chunk).clamp(0, i32::MAX.into()) as i32) };
}

/// As the function of C.
///
/// # Safety
/// The places are those of numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule_(kind: *mut i32, chunk: *mut i32) {
    // SAFETY: the caller's promise.
    unsafe { api::omp_get_schedule(kind, chunk) };
}

/// The same with a chunk of eight bytes.
///
/// # Safety
/// The places are those of numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule_8_(kind: *mut i32, chunk: *mut i64) {
    let mut narrow = 0;
    // SAFETY: the caller's promise; the other place is this function's own.
    unsafe {
        api::omp_get_schedule(kind, &raw mut narrow);
        chunk.write(narrow.into());
    }
}

/// As the function of C.
///
/// # Safety
/// There is room for the numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_(number: *const i32, ids: *mut i32) {
    // SAFETY: the caller's promise.
    unsafe { api::omp_get_place_proc_ids(*number, ids) };
}

/// As the function of C.
///
/// # Safety
/// There is room for the numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums_(numbers: *mut i32) {
    // SAFETY: the caller's promise.
    unsafe { api::omp_get_partition_place_nums(numbers) };
}
