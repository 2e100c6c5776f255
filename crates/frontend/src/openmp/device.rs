//! Devices: there is the host alone. What is to be done on another is done there, its data are where they are, and leagues have one
//! team.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

use super::gomp::GOMP_taskwait_depend;
use super::platform::copies;
use super::team::{Body, globals, member};
use crate::runtime::heap;

/// The host: there is no other device.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_devices() -> c_int {
    0
}

/// The number of the host.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_initial_device() -> c_int {
    0
}

/// The device of regions that are to be on another: the host.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_default_device() -> c_int {
    0
}

/// There is only the host.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_default_device(_device: c_int) {}

/// Whether this is the host: it is.
#[unsafe(no_mangle)]
pub extern "C" fn omp_is_initial_device() -> c_int {
    1
}

/// Teams of a league: one.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_teams() -> c_int {
    1
}

/// The number of the team.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_team_num() -> c_int {
    0
}

/// The number of the device that this runs on: the host's.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_device_num() -> c_int {
    omp_get_initial_device()
}

/// The most teams of a league: told back, but it is one.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_num_teams(teams: c_int) {
    globals().leagues.0.store(teams.max(0), Ordering::Relaxed);
}

/// The most teams of a league, as set.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_max_teams() -> c_int {
    globals().leagues.0.load(Ordering::Relaxed)
}

/// The most threads of a league's team, where the program does not say it itself.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_teams_thread_limit(threads: c_int) {
    globals().leagues.1.store(threads.max(0), Ordering::Relaxed);
}

/// The most threads of a league's team, as set.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_teams_thread_limit() -> c_int {
    globals().leagues.1.load(Ordering::Relaxed)
}

/// Does `act`, the work of a league's team, of which there are `limit` threads at most; zero is as many as were set.
pub fn in_league(limit: u32, act: impl FnOnce()) {
    let before = member().controls.get();
    limit_league(limit);
    act();
    member().controls.set(before);
}

fn limit_league(limit: u32) {
    let set = u32::try_from(omp_get_teams_thread_limit()).unwrap_or(0);
    let limit = [limit, set].into_iter().find(|limit| *limit > 0).unwrap_or(u32::MAX);
    member().control(|controls| controls.limit = controls.limit.min(limit));
}

/// A device gives back what it has: the host has nothing to give. Zero if that can be asked here.
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource(_kind: c_int, device: c_int) -> c_int {
    let outside = member().region.get().team.levels.get().0 == 0;
    if outside && device == omp_get_initial_device() { 0 } else { -1 }
}

/// All devices do.
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource_all(kind: c_int) -> c_int {
    omp_pause_resource(kind, omp_get_initial_device())
}

/// Memory of a device; null if there is none left, or no such device.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_alloc(bytes: usize, device: c_int) -> *mut c_void {
    if device == omp_get_initial_device() && bytes > 0 { heap::memalign(16, bytes, 0) } else { std::ptr::null_mut() }
}

/// It is given back.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_free(block: *mut c_void, _device: c_int) {
    heap::__wrap_free(block);
}

/// Whether what is at an address is on the device.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_is_present(_address: *const c_void, device: c_int) -> c_int {
    (device == omp_get_initial_device()).into()
}

/// Copies from a device to a device; zero if that can be done.
///
/// # Safety
/// The caller's memory, from the offsets on, is so long.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    if to_device != omp_get_initial_device() || from_device != omp_get_initial_device() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let (to, from) = (to.byte_add(to_offset), from.byte_add(from_offset));
        copies(from, to, bytes);
        to.cast::<u8>().copy_from(from.cast(), bytes);
    }
    0
}

/// Copies a box out of an array of several dimensions into another, both of which have elements of so many bytes; or tells how many
/// dimensions there may be, if there are neither.
///
/// # Safety
/// There are so many of all numbers, and the arrays have so many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_target_memcpy_rect(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_sizes: *const usize,
    from_sizes: *const usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    if to.is_null() && from.is_null() {
        return c_int::MAX;
    }
    let (host, dimensions) = (omp_get_initial_device(), usize::try_from(dimensions).unwrap_or(0));
    if to_device != host || from_device != host || dimensions == 0 {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let slice = |place: *const usize| std::slice::from_raw_parts(place, dimensions);
        let (volume, to_offsets, from_offsets) = (slice(volume), slice(to_offsets), slice(from_offsets));
        let (to_sizes, from_sizes) = (slice(to_sizes), slice(from_sizes));
        let row = volume[dimensions - 1] * bytes;
        let rows: usize = volume[..dimensions - 1].iter().product();
        for number in 0..rows {
            let (mut rest, mut to_at, mut from_at, mut to_step, mut from_step) = (number, 0, 0, 1, 1);
            for dimension in (0..dimensions).rev() {
                let last = dimension + 1 == dimensions;
                let within = if last { 0 } else { rest % volume[dimension] };
                rest = if last { rest } else { rest / volume[dimension] };
                to_at += (to_offsets[dimension] + within) * to_step;
                from_at += (from_offsets[dimension] + within) * from_step;
                to_step *= to_sizes[dimension];
                from_step *= from_sizes[dimension];
            }
            omp_target_memcpy(to, from, row, to_at * bytes, from_at * bytes, host, host);
        }
    }
    0
}

/// Data on the host are on the device: they are one.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_associate_ptr(
    _host: *const c_void,
    _there: *const c_void,
    _bytes: usize,
    _offset: usize,
    _device: c_int,
) -> c_int {
    libc::EINVAL
}

/// Nothing was associated.
#[unsafe(no_mangle)]
pub extern "C" fn omp_target_disassociate_ptr(_host: *const c_void, _device: c_int) -> c_int {
    libc::EINVAL
}

/// Data of a region are to be on a device: they are.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_target_data_ext(
    _device: c_int,
    _count: usize,
    _addresses: *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
) {
}

/// The end of such a region.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_target_end_data() {}

/// Work that is done at once waits for tasks that the program says come before it.
///
/// # Safety
/// The list is the compiler's, or null.
unsafe fn wait_for(depends: *const usize) {
    if !depends.is_null() {
        // SAFETY: the caller's promise.
        unsafe { GOMP_taskwait_depend(depends) };
    }
}

/// Functions that move data where there is a device. They take the device, how many there are, addresses, sizes and kinds, flags,
/// and dependences.
macro_rules! nothing_moves {
    ($($name:ident: $what:literal;)*) => {$(
        #[doc = $what]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(
            _device: c_int,
            _count: usize,
            _addresses: *mut c_void,
            _sizes: *const usize,
            _kinds: *const u16,
            _flags: c_uint,
            depends: *const usize,
        ) {
            // SAFETY: the compiler's list.
            unsafe { wait_for(depends) };
        }
    )*};
}

nothing_moves! {
    GOMP_target_update_ext: "Data are to be the same on both.";
    GOMP_target_enter_exit_data: "Data come to the device, or go.";
}

/// Whether there is one more team of a league within a region of a device: after the first, no. Its limit holds until the region ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_teams4(_least: c_uint, _most: c_uint, limit: c_uint, first: bool) -> bool {
    if first {
        limit_league(limit);
    }
    first
}

/// `#pragma omp teams` on the host: a league of one team.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_teams_reg(body: Body, data: *mut c_void, _teams: c_uint, limit: c_uint, _flags: c_uint) {
    // SAFETY: the program's own outlined function, with its data.
    in_league(limit, || unsafe { body(data) });
}

/// `#pragma omp target`: there is no device, so the host does it, with copies of variables that are its own.
///
/// # Safety
/// As compilers call it: `body` takes the addresses, of which there are `count` with as many sizes and kinds.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target_ext(
    _device: i32,
    body: Body,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    _flags: c_uint,
    depends: *const usize,
    _arguments: *const c_void,
) {
    // SAFETY: the caller's promise.
    unsafe {
        wait_for(depends);
        let mut own = Vec::new();
        for index in (0..count).filter(|index| *kinds.add(*index) & KIND == OF_ITS_OWN) {
            let (bytes, alignment) = (*sizes.add(index), 1 << (*kinds.add(index) >> ALIGNMENT));
            let place = addresses.add(index);
            let copy = heap::memalign(usize::max(alignment, size_of::<usize>()), bytes.max(1), 0);
            copies(*place, copy, bytes);
            copy.cast::<u8>().copy_from_nonoverlapping((*place).cast(), bytes);
            place.write(copy);
            own.push(copy);
        }
        // Settings that the region changes hold for itself alone.
        let before = member().controls.get();
        body(addresses.cast());
        member().controls.set(before);
        own.into_iter().for_each(|copy| heap::__wrap_free(copy));
    }
}

/// The bits that tell the kind of a variable of a region of a device, and where those begin that tell the power of two that its
/// address is a multiple of.
const KIND: u16 = 0xff;
const ALIGNMENT: u16 = 8;
/// A variable of which the region has a copy of its own (`firstprivate`).
const OF_ITS_OWN: u16 = 12;
