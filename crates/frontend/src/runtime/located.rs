//! Calls that may wait for another thread: the thread notes where the program made them, for the message if nobody ever comes. Those
//! that are cancellation points end the thread when they return, if that is due ([`super::cancel`]).

use std::arch::naked_asm;
use std::mem::offset_of;

use super::cancel::{DUE, end_here, then_end_if_due};
use super::state::{HOT, Hot, UserThread};

/// Notes the name and the place of a call, if a simulated thread makes it; else goes on at 2.
macro_rules! note {
    ($name:literal) => {
        // Registers that no arguments come in, and that a function may use as it likes.
        concat!(
            "lea r11, [rip + {hot}]\n",
            "mov r11, [r11 + {user}]\n",
            "test r11, r11\n",
            "jz 2f\n",
            "mov r10, [rsp]\n",
            "mov [r11 + {call}], r10\n",
            "lea r10, [rip + 3f]\n",
            "mov [r11 + {called}], r10\n",
            ".pushsection .rodata.ccnuma_names, \"a\"\n",
            "3: .asciz \"",
            $name,
            "\"\n",
            ".popsection"
        )
    };
}

macro_rules! located {
    ($($name:literal $symbol:ident: $module:ident $act:ident;)*) => {$(
        /// The C library's function of that name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $symbol() {
            naked_asm!(
                note!($name),
                "2: jmp {act}",
                hot = sym HOT,
                user = const offset_of!(Hot, user),
                call = const offset_of!(UserThread, call),
                called = const offset_of!(UserThread, called),
                act = sym super::$module::$act,
            )
        }
    )*};
}

macro_rules! points {
    ($($name:literal $symbol:ident: $module:ident $act:ident;)*) => {$(
        /// The C library's function of that name, a cancellation point.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C-unwind" fn $symbol() {
            naked_asm!(
                note!($name),
                then_end_if_due!("call {act}"),
                "2: jmp {act}",
                hot = sym HOT,
                user = const offset_of!(Hot, user),
                call = const offset_of!(UserThread, call),
                called = const offset_of!(UserThread, called),
                due = const DUE,
                act = sym super::$module::$act,
                end = sym end_here,
            )
        }
    )*};
}

located! {
    "pthread_mutex_lock" __wrap_pthread_mutex_lock: mutex lock;
    "pthread_mutex_timedlock" __wrap_pthread_mutex_timedlock: mutex timed_lock;
    "pthread_mutex_clocklock" __wrap_pthread_mutex_clocklock: mutex clock_lock;
    "pthread_spin_lock" __wrap_pthread_spin_lock: mutex spin_lock;
    "pthread_barrier_wait" __wrap_pthread_barrier_wait: barrier barrier_wait;
    "pthread_rwlock_rdlock" __wrap_pthread_rwlock_rdlock: rwlock read_lock;
    "pthread_rwlock_wrlock" __wrap_pthread_rwlock_wrlock: rwlock write_lock;
    "pthread_once" __wrap_pthread_once: once once;
    "mtx_lock" __wrap_mtx_lock: c11 mtx_lock;
    "mtx_timedlock" __wrap_mtx_timedlock: c11 mtx_timedlock;
    "call_once" __wrap_call_once: c11 call_once;
    "the construction of a static variable" __wrap___cxa_guard_acquire: once guard_acquire;
}

points! {
    "pthread_join" __wrap_pthread_join: thread_calls join;
    "thrd_join" __wrap_thrd_join: c11 join;
    "thrd_sleep" __wrap_thrd_sleep: c11 sleep;
    "cnd_wait" __wrap_cnd_wait: c11 cnd_wait;
    "cnd_timedwait" __wrap_cnd_timedwait: c11 cnd_timedwait;
    "pthread_cond_wait" __wrap_pthread_cond_wait: condition cond_wait;
    "pthread_cond_timedwait" __wrap_pthread_cond_timedwait: condition cond_timed_wait;
    "pthread_cond_clockwait" __wrap_pthread_cond_clockwait: condition cond_clock_wait;
    "sem_wait" __wrap_sem_wait: semaphore semaphore_wait;
    "sem_timedwait" __wrap_sem_timedwait: semaphore semaphore_timed_wait;
    "sem_clockwait" __wrap_sem_clockwait: semaphore semaphore_clock_wait;
    "nanosleep" __wrap_nanosleep: clock nap;
    "clock_nanosleep" __wrap_clock_nanosleep: clock clock_nap;
    "usleep" __wrap_usleep: clock sleep_microseconds;
    "sleep" __wrap_sleep: clock sleep_seconds;
    "read" __wrap_read: descriptors read;
    "write" __wrap_write: descriptors write;
    "readv" __wrap_readv: descriptors readv;
    "writev" __wrap_writev: descriptors writev;
    "close" __wrap_close: descriptors close;
    "poll" __wrap_poll: descriptors poll;
    "ppoll" __wrap_ppoll: descriptors ppoll;
    "select" __wrap_select: descriptors select;
    "accept" __wrap_accept: descriptors accept;
    "accept4" __wrap_accept4: descriptors accept4;
    "recv" __wrap_recv: descriptors recv;
    "recvfrom" __wrap_recvfrom: descriptors recvfrom;
    "recvmsg" __wrap_recvmsg: descriptors recvmsg;
    "send" __wrap_send: descriptors send;
    "sendto" __wrap_sendto: descriptors sendto;
    "sendmsg" __wrap_sendmsg: descriptors sendmsg;
    "open" __wrap_open: files open;
    "open64" __wrap_open64: files open64;
    "openat" __wrap_openat: files openat;
    "epoll_wait" __wrap_epoll_wait: descriptors epoll_wait;
}
