//! Calls that may wait for another thread: the thread notes where the program made them, for the message if nobody ever comes. Those
//! that are cancellation points end the thread when they return, if that is due ([`super::cancel`]).

use std::arch::naked_asm;
use std::mem::offset_of;

use super::cancel::{DUE, end_here, then_end_if_due};
use super::state::{HOT, Hot};
use super::threads::UserThread;

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
    "the construction of a static variable" __wrap___cxa_guard_acquire: once guard_acquire;
}

points! {
    "pthread_join" __wrap_pthread_join: threads join;
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
}
