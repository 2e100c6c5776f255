//! Programs that are started and watched: their orphans come to us, and they tell how they ended.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Makes the calling process the one that orphans among its descendants become children of (`PR_SET_CHILD_SUBREAPER`), so that
/// no process of a program that puts itself in the background is lost.
///
/// # Errors
/// When the kernel refuses, which one before Linux 3.4 does.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: the call takes numbers and changes an attribute of this process alone.
    let failed = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1_u64, 0_u64, 0_u64, 0_u64) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes note of all children that have ended: their process numbers, and how.
pub fn ended() -> Vec<(i32, ExitStatus)> {
    let mut ended = Vec::new();
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes one number to an address of this function's own.
        let child = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if child <= 0 {
            return ended;
        }
        ended.push((child, ExitStatus::from_raw(status)));
    }
}

/// The processes that threads of this one have started and that have not been waited for; none where the kernel does not list them
/// (`CONFIG_PROC_CHILDREN`).
pub fn of_this_process() -> Vec<i32> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Passes a signal on to a process. One that is no more is left in peace.
pub fn pass_on(signal: i32, process: i32) {
    // SAFETY: the call takes two numbers; the process is a child that was not waited for, so the number is still its own.
    let _gone = unsafe { libc::kill(process, signal) };
}

/// Lets this process open as many files as it may at most; how many that is.
pub fn open_many_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given one structure of this function's own.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) == 0 {
                return raised.rlim_cur;
            }
        }
    }
    limit.rlim_cur
}

/// Ticks of `/proc` in a second (`_SC_CLK_TCK`).
pub fn ticks_per_second() -> f64 {
    // SAFETY: the call takes a number and returns one.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}
