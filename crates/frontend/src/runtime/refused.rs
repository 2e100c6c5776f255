//! Calls that no simulated thread can make: the simulation ends, and its error names the call.
//!
//! Processes, and signals of others, belong to the host's kernel, which knows one thread of it all; so does what waits in it for another
//! thread by ways that are not simulated.

use std::ffi::{c_int, c_long, c_uint, c_void};

use super::state::{self, current};

/// Names with what becomes of the call: each ends the simulation.
macro_rules! refused {
    ($($name:ident $real:ident: $what:literal;)*) => {$(
        /// Ends a simulation; natively it is the C library's function of that name, whatever its arguments are.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            extern "C" fn refuse() {
                if let Some(thread) = current() {
                    super::ending::fail(thread, $what);
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
    __wrap_sigwait sigwait: "the program called sigwait: signals cannot be simulated";
    __wrap_pause pause: "the program called pause: signals cannot be simulated";
    __wrap_sigsuspend sigsuspend: "the program called sigsuspend: signals cannot be simulated";
    __wrap_sigwaitinfo sigwaitinfo: "the program called sigwaitinfo: signals cannot be simulated";
    __wrap_sigtimedwait sigtimedwait: "the program called sigtimedwait: signals cannot be simulated";
    __wrap_sigqueue sigqueue: "the program called sigqueue: signals cannot be simulated";
    __wrap_pselect pselect: "the program called pselect: signals cannot be simulated; select and ppoll can";
    __wrap_epoll_pwait epoll_pwait: "the program called epoll_pwait: signals cannot be simulated; epoll_wait can";
    __wrap_msgrcv msgrcv: "the program called msgrcv: queues of messages cannot be simulated; pipes and sockets can";
    __wrap_msgsnd msgsnd: "the program called msgsnd: queues of messages cannot be simulated; pipes and sockets can";
    __wrap_mq_receive mq_receive: "the program called mq_receive: queues of messages cannot be simulated; pipes and sockets can";
    __wrap_mq_send mq_send: "the program called mq_send: queues of messages cannot be simulated; pipes and sockets can";
    __wrap_semop semop: "the program called semop: semaphores of System V cannot be simulated; sem_wait and sem_post can";
    __wrap_flock flock: "the program called flock: locks of files cannot be simulated; mutexes can";
    __wrap_aio_read aio_read: "the program called aio_read: the C library would make threads of this computer";
    __wrap_aio_write aio_write: "the program called aio_write: the C library would make threads of this computer";
    __wrap_lio_listio lio_listio: "the program called lio_listio: the C library would make threads of this computer";
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
            libc::SYS_gettid => Some(state::number() as c_long + 1),
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
                super::ending::fail(
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
