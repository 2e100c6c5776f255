//! Pinning threads, checking that they are where they should be, and putting them before all others.

use std::io;

use units::{CpuId, NodeId, ranges};

use crate::HostError;
use crate::discovery::Inventory;

/// Pins the calling thread to a CPU, and checks that it runs there.
///
/// # Errors
/// When there is no such CPU, it is offline or not ours to use, or the thread is found elsewhere afterwards.
pub fn pin(cpu: CpuId, inventory: &Inventory) -> Result<(), HostError> {
    let accepted = || format!("CPUs {}", ranges(inventory.usable_cpus().iter().map(|cpu| cpu.0)));
    let refuse = |problem: String| Err(HostError::Cpu { cpu, problem, accepted: accepted() });
    match inventory.cpu(cpu) {
        None => return refuse("no such CPU".to_owned()),
        Some(found) if !found.online => return refuse("it is offline".to_owned()),
        Some(_) => {}
    }
    if !inventory.limits.cpus.contains(&cpu) {
        return refuse("not in this process's affinity mask or cpuset".to_owned());
    }
    if let Err(error) = set_affinity(&[cpu]) {
        return refuse(format!("the kernel refuses to pin a thread to it ({error})"));
    }
    let (found, _) = current_cpu();
    if found != cpu {
        return refuse(format!("pinned, but running on CPU {found}"));
    }
    Ok(())
}

/// Lets the calling thread run on any of these CPUs.
///
/// # Errors
/// The kernel's error, such as `EINVAL` when the thread may use none of them.
pub fn set_affinity(cpus: &[CpuId]) -> io::Result<()> {
    const BITS: usize = usize::BITS as usize;
    let words = cpus.iter().map(|cpu| cpu.index() / BITS + 1).max().unwrap_or(1);
    let mut mask = vec![0_usize; words];
    for cpu in cpus {
        mask[cpu.index() / BITS] |= 1 << (cpu.index() % BITS);
    }
    // SAFETY: the kernel reads as many bytes from the mask as we say, and the mask has as many. `cpu_set_t` is such a mask
    // for the first 1024 CPUs; its size is passed beside it because there may be more.
    let failed = unsafe { libc::sched_setaffinity(0, words * size_of::<usize>(), mask.as_ptr().cast()) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The priorities of the real-time scheduler's first-in-first-out class (sched(7)).
pub const REAL_TIME: std::ops::RangeInclusive<u8> = 1..=99;

/// Puts the calling thread before all that share time, at a real-time priority (`SCHED_FIFO`); what it starts is not.
///
/// # Errors
/// When the user may not, with what would let them.
pub fn run_before_others(priority: u8) -> Result<(), HostError> {
    // Some C libraries have fields for sporadic servers in it, too.
    // SAFETY: a structure of numbers, for all of which zero is a value.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = i32::from(priority);
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // By number: musl's function of that name does nothing.
    // SAFETY: the kernel reads one structure of this function's own.
    let failed = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameter) } != 0;
    if !failed {
        return Ok(());
    }
    let source = io::Error::last_os_error();
    let advice = match source.raw_os_error() {
        Some(libc::EPERM) => format!(
            "requires CAP_SYS_NICE, or a real-time priority limit of {priority} or more (ulimit -r, RLIMIT_RTPRIO; here \
             {}); a cgroup's real-time share must not be 0",
            real_time_limit().map_or("unknown".to_owned(), |limit| limit.to_string())
        ),
        _ => format!("accepted: priorities {} to {}", REAL_TIME.start(), REAL_TIME.end()),
    };
    Err(HostError::Call { call: format!("sched_setscheduler(SCHED_FIFO, {priority})"), source, advice })
}

/// The highest real-time priority that the user may have without a privilege.
fn real_time_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one structure of this function's own.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &raw mut limit) } != 0;
    (!failed).then_some(limit.rlim_cur)
}

/// The CPU that the calling thread runs on right now, and that CPU's node.
pub fn current_cpu() -> (CpuId, NodeId) {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    // SAFETY: the kernel writes one number to each of two addresses that are ours; the third argument is unused since
    // Linux 2.6.24 and may be null.
    let status = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, std::ptr::null::<u8>()) };
    debug_assert_eq!(status, 0, "getcpu(2) fails only for bad addresses");
    // Kernels are built for at most 8192 CPUs and 1024 nodes.
    (CpuId(cpu as u16), NodeId(node as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the user may or not; a priority that there is none of is refused to everybody.
    #[test]
    fn a_thread_is_put_before_others_or_told_what_that_takes() {
        let before = scheduled();
        let at = |priority| std::thread::spawn(move || (run_before_others(priority), scheduled())).join().unwrap();
        match at(1) {
            (Ok(()), policy) => assert_eq!(policy, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK),
            (Err(error), policy) => {
                let said = error.to_string();
                assert!(said.contains("CAP_SYS_NICE") && said.contains("ulimit -r"), "{said}");
                assert_eq!(policy, before);
            }
        }
        let (refused, policy) = at(100);
        assert!(refused.unwrap_err().to_string().contains("accepted: priorities 1 to 99"));
        assert_eq!(policy, before);
    }

    fn scheduled() -> i32 {
        // SAFETY: takes a number and returns one.
        (unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }) as i32
    }
}
