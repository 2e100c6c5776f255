//! The same for Fortran: names with an underscore, arguments by address, some functions for integers of both sizes.

use std::ffi::c_int;

use super::memory::{self, Trait};
use super::{api, device, display};

/// Functions without arguments.
macro_rules! ask {
    ($module:ident: $($fortran:ident $name:ident -> $result:ty;)*) => {$(
        #[doc = "As the function of C."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran() -> $result {
            $module::$name()
        }
    )*};
}

ask! {
    api:
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
    omp_get_max_task_priority_ omp_get_max_task_priority -> c_int;
}

ask! {
    device:
    omp_get_num_devices_ omp_get_num_devices -> c_int;
    omp_get_initial_device_ omp_get_initial_device -> c_int;
    omp_get_default_device_ omp_get_default_device -> c_int;
    omp_is_initial_device_ omp_is_initial_device -> c_int;
    omp_get_num_teams_ omp_get_num_teams -> c_int;
    omp_get_team_num_ omp_get_team_num -> c_int;
    omp_get_device_num_ omp_get_device_num -> c_int;
    omp_get_max_teams_ omp_get_max_teams -> c_int;
    omp_get_teams_thread_limit_ omp_get_teams_thread_limit -> c_int;
}

/// Functions of one number, which is an integer of four bytes, or of eight where the name says so.
macro_rules! tell {
    ($module:ident: $($fortran:ident $wide:ident $name:ident -> $result:ty;)*) => {$(
        #[doc = "As the function of C."]
        ///
        /// # Safety
        /// The place is that of a number.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran(number: *const i32) -> $result {
            // SAFETY: the caller's promise.
            $module::$name(unsafe { *number })
        }

        #[doc = "The same of a number of eight bytes."]
        ///
        /// # Safety
        /// The place is that of a number.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $wide(number: *const i64) -> $result {
            // SAFETY: the caller's promise.
            let number = unsafe { *number };
            // A number that does not fit is clamped.
            $module::$name(number.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
        }
    )*};
}

tell! {
    api:
    omp_set_num_threads_ omp_set_num_threads_8_ omp_set_num_threads -> ();
    omp_set_dynamic_ omp_set_dynamic_8_ omp_set_dynamic -> ();
    omp_set_nested_ omp_set_nested_8_ omp_set_nested -> ();
    omp_set_max_active_levels_ omp_set_max_active_levels_8_ omp_set_max_active_levels -> ();
    omp_get_ancestor_thread_num_ omp_get_ancestor_thread_num_8_ omp_get_ancestor_thread_num -> c_int;
    omp_get_team_size_ omp_get_team_size_8_ omp_get_team_size -> c_int;
    omp_get_place_num_procs_ omp_get_place_num_procs_8_ omp_get_place_num_procs -> c_int;
}

tell! {
    device:
    omp_set_default_device_ omp_set_default_device_8_ omp_set_default_device -> ();
    omp_set_num_teams_ omp_set_num_teams_8_ omp_set_num_teams -> ();
    omp_set_teams_thread_limit_ omp_set_teams_thread_limit_8_ omp_set_teams_thread_limit -> ();
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

/// The same, for a place whose number has eight bytes, and numbers of as many.
///
/// # Safety
/// There is room for the numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_8_(number: *const i64, ids: *mut i64) {
    // SAFETY: the caller's promise.
    let place = c_int::try_from(unsafe { *number }).unwrap_or(-1);
    let mut narrow = vec![0; usize::try_from(api::omp_get_place_num_procs(place)).unwrap_or(0)];
    // SAFETY: there is room for as many as there are; the caller's promise.
    unsafe {
        api::omp_get_place_proc_ids(place, narrow.as_mut_ptr());
        widen(&narrow, ids);
    }
}

/// The same with numbers of eight bytes.
///
/// # Safety
/// There is room for the numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums_8_(numbers: *mut i64) {
    let mut narrow = vec![0; usize::try_from(api::omp_get_partition_num_places()).unwrap_or(0)];
    // SAFETY: there is room for as many as there are; the caller's promise.
    unsafe {
        api::omp_get_partition_place_nums(narrow.as_mut_ptr());
        widen(&narrow, numbers);
    }
}

/// # Safety
/// There is room for the numbers.
unsafe fn widen(narrow: &[c_int], wide: *mut i64) {
    for (index, &number) in narrow.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { wide.add(index).write(number.into()) };
    }
}

/// As the function of C.
///
/// # Safety
/// The place is that of a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_env_8_(verbose: *const i64) {
    // SAFETY: the caller's promise.
    display::omp_display_env((unsafe { *verbose } != 0).into());
}

/// As the function of C.
///
/// # Safety
/// The places are those of numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_pause_resource_(kind: *const i32, device: *const i32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { device::omp_pause_resource(*kind, *device) }
}

/// As the function of C.
///
/// # Safety
/// The place is that of a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_pause_resource_all_(kind: *const i32) -> c_int {
    // SAFETY: the caller's promise.
    device::omp_pause_resource_all(unsafe { *kind })
}

/// As the function of C.
///
/// # Safety
/// There are so many traits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_(space: *const usize, count: *const i32, traits: *const Trait) -> usize {
    // SAFETY: the caller's promise.
    unsafe { memory::omp_init_allocator(*space, *count, traits) }
}

/// The same with a number of eight bytes.
///
/// # Safety
/// There are so many traits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_init_allocator_8_(space: *const usize, count: *const i64, traits: *const Trait) -> usize {
    // SAFETY: the caller's promise.
    unsafe { memory::omp_init_allocator(*space, c_int::try_from(*count).unwrap_or(0), traits) }
}

/// As the function of C.
///
/// # Safety
/// The place is that of an allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_destroy_allocator_(allocator: *const usize) {
    // SAFETY: the caller's promise.
    memory::omp_destroy_allocator(unsafe { *allocator });
}

/// As the function of C.
///
/// # Safety
/// The place is that of an allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_default_allocator_(allocator: *const usize) {
    // SAFETY: the caller's promise.
    memory::omp_set_default_allocator(unsafe { *allocator });
}

/// As the function of C.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_allocator_() -> usize {
    memory::omp_get_default_allocator()
}
