//! Processors and nodes as the program asks for them: which it runs on, how many there are, where its pages are to be.

use std::ffi::{c_int, c_long, c_uint};

use libc::cpu_set_t;
use units::CpuId;

use super::state::{UserThread, current, of, run, this};
use super::threads;

/// The processors of a machine, as far as a program may use them.
#[derive(Clone, Copy, Debug)]
pub struct Processors {
    /// Hardware threads that the program may use: the first of every core, then the second of every core, and so on.
    pub number: usize,
    /// Cores of the machine, and of a node of it.
    pub cores: usize,
    pub cores_of_node: usize,
}

/// The processors of a set that the program may use; `None` if it is empty.
pub fn read_set(set: &cpu_set_t) -> Option<Vec<CpuId>> {
    // SAFETY: the set is whole.
    let within = |&cpu: &usize| unsafe { libc::CPU_ISSET(cpu, set) };
    let found: Vec<_> = (0..run().processors).filter(within).map(|cpu| CpuId(cpu as u16)).collect();
    (!found.is_empty()).then_some(found)
}

/// The number of the simulated processor that the thread runs on, counted as the program sees them.
fn number() -> Option<usize> {
    Some(current()?.cpu().index())
}

/// Which processor the thread runs on.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_sched_getcpu() -> c_int {
    match number() {
        Some(cpu) => cpu as c_int,
        // SAFETY: it only looks.
        None => unsafe { libc::sched_getcpu() },
    }
}

/// Which processor and node the thread runs on.
///
/// # Safety
/// As of `getcpu`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(number) = number() else {
            return libc::syscall(libc::SYS_getcpu, cpu, node, 0) as c_int;
        };
        if !cpu.is_null() {
            *cpu = number as c_uint;
        }
        if !node.is_null() {
            *node = run().node_of(number) as c_uint;
        }
    }
    0
}

/// How many processors the program may use, where a number of configured or working ones is asked for.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_sysconf(name: c_int) -> c_long {
    match (name, current()) {
        (libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF, Some(_)) => run().processors as c_long,
        // SAFETY: it only looks.
        _ => unsafe { libc::sysconf(name) },
    }
}

/// How many processors the program may use.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_get_nprocs() -> c_int {
    __wrap_sysconf(libc::_SC_NPROCESSORS_ONLN) as c_int
}

/// The same.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_get_nprocs_conf() -> c_int {
    __wrap_sysconf(libc::_SC_NPROCESSORS_CONF) as c_int
}

/// The processors that a thread may run on: what it runs on it keeps, and threads that it makes begin on one of the set.
///
/// # Safety
/// The set is that long.
unsafe fn set_affinity(user: *mut UserThread, bytes: usize, set: *const cpu_set_t) -> c_int {
    if bytes < size_of::<cpu_set_t>() && bytes * 8 < run().processors {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise; threads are never freed.
    unsafe {
        let mut whole: cpu_set_t = std::mem::zeroed();
        let length = bytes.min(size_of::<cpu_set_t>());
        (&raw mut whole).cast::<u8>().copy_from_nonoverlapping(set.cast(), length);
        let Some(found) = read_set(&whole) else { return libc::EINVAL };
        (*user).affinity = Some(found);
    }
    threads::go_where_allowed(user);
    0
}

/// Which processors a thread may run on.
///
/// # Safety
/// The set is that long.
unsafe fn get_affinity(user: *mut UserThread, bytes: usize, set: *mut cpu_set_t) -> c_int {
    // SAFETY: the caller's promise; threads are never freed.
    unsafe {
        set.cast::<u8>().write_bytes(0, bytes);
        let affinity = &(*user).affinity;
        for cpu in 0..run().processors.min(bytes * 8) {
            if affinity.as_ref().is_none_or(|set| set.contains(&CpuId(cpu as u16))) {
                *set.cast::<u8>().add(cpu / 8) |= 1 << (cpu % 8);
            }
        }
    }
    0
}

/// Says where a thread may run.
///
/// # Safety
/// As of `pthread_setaffinity_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_setaffinity_np(
    handle: libc::pthread_t,
    bytes: usize,
    set: *const cpu_set_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match (current(), of(handle)) {
            (None, _) => libc::pthread_setaffinity_np(handle, bytes, set),
            (Some(_), Some(user)) => set_affinity(user, bytes, set),
            (Some(_), None) => libc::ESRCH,
        }
    }
}

/// Tells where a thread may run.
///
/// # Safety
/// As of `pthread_getaffinity_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_getaffinity_np(
    handle: libc::pthread_t,
    bytes: usize,
    set: *mut cpu_set_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match (current(), of(handle)) {
            (None, _) => libc::pthread_getaffinity_np(handle, bytes, set),
            (Some(_), Some(user)) => get_affinity(user, bytes, set),
            (Some(_), None) => libc::ESRCH,
        }
    }
}

/// Says where the running thread may run; of other processes nothing is known.
///
/// # Safety
/// As of `sched_setaffinity`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_sched_setaffinity(process: c_int, bytes: usize, set: *const cpu_set_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match current() {
            None => libc::sched_setaffinity(process, bytes, set),
            Some(_) => match set_affinity(this(), bytes, set) {
                0 => 0,
                code => {
                    *libc::__errno_location() = code;
                    -1
                }
            },
        }
    }
}

/// Tells where the running thread may run.
///
/// # Safety
/// As of `sched_getaffinity`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_sched_getaffinity(process: c_int, bytes: usize, set: *mut cpu_set_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match current() {
            None => libc::sched_getaffinity(process, bytes, set),
            Some(_) => get_affinity(this(), bytes, set),
        }
    }
}

/// The `number` processors that the program may use, as far as it can know: all of this computer's are cores on one node.
pub fn of_program(number: usize) -> Processors {
    match current() {
        Some(_) => Processors { number, cores: run().cores, cores_of_node: run().per_node },
        None => Processors { number, cores: number, cores_of_node: number },
    }
}
