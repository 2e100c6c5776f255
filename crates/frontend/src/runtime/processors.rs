//! Processors and nodes as the program asks for them: which it runs on, how many there are, where its pages are to be.

use std::ffi::{c_int, c_long, c_uint};

use libc::cpu_set_t;
use units::CpuId;

use super::state::{current, run};

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
            *node = (number / run().per_node) as c_uint;
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

/// Processors on a node, as far as the program can know: all of this computer's are on one.
pub fn per_node() -> usize {
    if current().is_some() { run().per_node } else { usize::MAX }
}
