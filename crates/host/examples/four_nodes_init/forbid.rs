//! Forbids system calls to the calling thread as a container's seccomp profile does: they fail with `EPERM`.

use std::io;

/// Forbids the calls of these numbers to the calling thread and to what it starts, for good.
///
/// # Errors
/// When the kernel has no seccomp filters.
pub fn forbid(calls: &[libc::c_long]) -> io::Result<()> {
    /// Where `struct seccomp_data` has the number of the call.
    const NUMBER: u32 = 0;
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut filter = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER)];
    for &call in calls {
        let number = u32::try_from(call).expect("a small number");
        let other =
            libc::sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt: 0, jf: 1, k: number };
        filter.extend([other, statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32)]);
    }
    filter.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: takes numbers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the program and its statements live until the call returns; the kernel copies them.
    let failed = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}
