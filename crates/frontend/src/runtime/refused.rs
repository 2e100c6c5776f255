//! What no simulated thread can do: the simulation ends, and says what the program wanted.
//!
//! Processes and signals belong to the host's kernel, which knows one thread of it all. Handlers that a program installs and that
//! nothing ever calls do no harm: those are noted, and the program goes on.

use std::ffi::{c_int, c_long, c_uint, c_void};

use super::state::current;

/// Names with what becomes of the call: each ends the simulation.
macro_rules! refused {
    ($($name:ident $real:ident: $what:literal;)*) => {$(
        /// Ends a simulation; natively it is the C library's function of that name, whatever its arguments are.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            extern "C" fn refuse() {
                if let Some(thread) = current() {
                    super::start::fail(thread, $what);
                }
            }
            unsafe extern "C" {
                fn $real();
            }
            // All registers that arguments come in are kept: the true function gets what this one was given.
            std::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "and rsp, -16",
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax", "push rax",
                "call {refuse}",
                "pop rax", "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "mov rsp, rbp",
                "pop rbp",
                "jmp {real}@PLT",
                refuse = sym refuse,
                real = sym $real,
            )
        }
    )*};
}

refused! {
    __wrap_fork fork: "the program called fork: a simulated process has no children";
    __wrap_vfork vfork: "the program called vfork: a simulated process has no children";
    __wrap_execve execve: "the program called execve: a simulated process stays the program that it is";
    __wrap_execv execv: "the program called execv: a simulated process stays the program that it is";
    __wrap_execvp execvp: "the program called execvp: a simulated process stays the program that it is";
    __wrap_execvpe execvpe: "the program called execvpe: a simulated process stays the program that it is";
    __wrap_execl execl: "the program called execl: a simulated process stays the program that it is";
    __wrap_execlp execlp: "the program called execlp: a simulated process stays the program that it is";
    __wrap_execle execle: "the program called execle: a simulated process stays the program that it is";
    __wrap_posix_spawn posix_spawn: "the program called posix_spawn: a simulated process has no children";
    __wrap_posix_spawnp posix_spawnp: "the program called posix_spawnp: a simulated process has no children";
    __wrap_system system: "the program called system: a simulated process has no children";
    __wrap_popen popen: "the program called popen: a simulated process has no children";
    __wrap_clone clone: "the program called clone: threads are simulated where they are made by pthread_create";
    __wrap_alarm alarm: "the program called alarm: signals cannot be simulated";
    __wrap_setitimer setitimer: "the program called setitimer: signals cannot be simulated";
    __wrap_timer_create timer_create: "the program called timer_create: signals cannot be simulated";
    __wrap_pthread_kill pthread_kill: "the program called pthread_kill: signals cannot be simulated";
    __wrap_sigwait sigwait: "the program called sigwait: signals cannot be simulated";
    __wrap_pause pause: "the program called pause: signals cannot be simulated";
    __wrap_epoll_wait epoll_wait: "the program called epoll_wait: what comes from outside cannot be simulated";
}

/// Natively the C library's function, else a note and success: nobody sends a simulated program signals.
macro_rules! ignored {
    ($($name:ident $real:ident $result:literal: $what:literal;)*) => {$(
        /// Noted and ignored in a simulation.
        ///
        /// # Safety
        /// As of the C library's function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(number: c_int, one: *const c_void, other: *mut c_void) -> usize {
            unsafe extern "C" {
                fn $real(number: c_int, one: *const c_void, other: *mut c_void) -> usize;
            }
            if current().is_some() {
                super::start::note($what.to_owned());
                return $result;
            }
            // SAFETY: the caller's promise.
            unsafe { $real(number, one, other) }
        }
    )*};
}

ignored! {
    __wrap_signal signal 0: "the handlers of signals that the program installs are never called";
    __wrap_sigaction sigaction 0: "the handlers of signals that the program installs are never called";
}

/// System calls by number: those that the runtime knows go where the functions of their names do; what would block the host or make
/// threads of it ends the simulation; all others are the host's.
///
/// # Safety
/// As of `syscall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_syscall(
    number: c_long,
    one: usize,
    two: usize,
    three: usize,
    four: usize,
    five: usize,
    six: usize,
) -> c_long {
    if let Some(thread) = current() {
        super::clock::system_call(thread);
        let known = match number {
            libc::SYS_gettid => Some(super::threads::number() as c_long + 1),
            libc::SYS_sched_yield => Some(super::clock::__wrap_sched_yield().into()),
            libc::SYS_getcpu => {
                // SAFETY: the caller's promise.
                Some(unsafe { super::processors::__wrap_getcpu(one as *mut c_uint, two as *mut c_uint) }.into())
            }
            libc::SYS_mbind => {
                // SAFETY: the caller's promise.
                Some(unsafe { super::numa::mbind(one, two, three as c_int, four as *const u64, five, six as u32) })
            }
            libc::SYS_move_pages => {
                let (pages, wishes, found) = (three as *const *mut c_void, four as *const c_int, five as *mut c_int);
                // SAFETY: the caller's promise.
                Some(unsafe { super::moves::__wrap_move_pages(one as c_int, two, pages, wishes, found, six as c_int) })
            }
            // SAFETY: the caller's promise.
            libc::SYS_migrate_pages => Some(unsafe {
                super::moves::__wrap_migrate_pages(one as c_int, two, three as *const u64, four as *const u64)
            }),
            // SAFETY: the caller's promise.
            libc::SYS_set_mempolicy => Some(unsafe { super::numa::set_policy(one as c_int, two as *const u64, three) }),
            // SAFETY: the caller's promise.
            libc::SYS_futex => Some(unsafe {
                super::futex_call::call(
                    thread,
                    one as *const u32,
                    two as c_int,
                    three as u32,
                    four as *const libc::timespec,
                )
            }),
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_fork | libc::SYS_vfork | libc::SYS_execve => {
                super::start::fail(
                    thread,
                    "the program made a system call that makes processes, which cannot be simulated",
                )
            }
            _ => None,
        };
        if let Some(result) = known {
            return result;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(number, one, two, three, four, five, six) }
}
