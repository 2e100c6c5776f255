//! Pinning threads, and checking that they are where they should be.

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
        None => return refuse("there is no such CPU".to_owned()),
        Some(found) if !found.online => return refuse("it is offline".to_owned()),
        Some(_) => {}
    }
    if !inventory.limits.cpus.contains(&cpu) {
        return refuse("affinity or cpuset forbids it to this process".to_owned());
    }
    if let Err(error) = set_affinity(&[cpu]) {
        return refuse(format!("the kernel refuses to pin a thread to it ({error})"));
    }
    let (found, _) = current_cpu();
    if found != cpu {
        return refuse(format!("pinned to it, the thread runs on CPU {found}"));
    }
    Ok(())
}

/// Lets the calling thread run on any of these CPUs.
///
/// # Errors
/// What the kernel says, such as `EINVAL` when it may use none of them.
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
