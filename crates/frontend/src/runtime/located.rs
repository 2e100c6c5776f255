//! Calls that may wait for another thread: the thread notes where the program made them, for the message if nobody ever comes.

use std::arch::naked_asm;
use std::mem::offset_of;

use super::state::{HOT, Hot};
use super::threads::UserThread;

macro_rules! located {
    ($($name:literal $symbol:ident: $module:ident $act:ident;)*) => {$(
        /// The C library's function of that name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $symbol() {
            // Registers that no arguments come in, and that a function may use as it likes.
            naked_asm!(
                "lea r11, [rip + {hot}]",
                "mov r11, [r11 + {user}]",
                "test r11, r11",
                "jz 2f",
                "mov r10, [rsp]",
                "mov [r11 + {call}], r10",
                "lea r10, [rip + 3f]",
                "mov [r11 + {called}], r10",
                "2: jmp {act}",
                ".pushsection .rodata.ccnuma_names, \"a\"",
                concat!("3: .asciz \"", $name, "\""),
                ".popsection",
                hot = sym HOT,
                user = const offset_of!(Hot, user),
                call = const offset_of!(UserThread, call),
                called = const offset_of!(UserThread, called),
                act = sym super::$module::$act,
            )
        }
    )*};
}

located! {
    "pthread_join" __wrap_pthread_join: threads join;
    "pthread_mutex_lock" __wrap_pthread_mutex_lock: mutex lock;
    "pthread_mutex_timedlock" __wrap_pthread_mutex_timedlock: mutex timed_lock;
    "pthread_mutex_clocklock" __wrap_pthread_mutex_clocklock: mutex clock_lock;
    "pthread_spin_lock" __wrap_pthread_spin_lock: mutex spin_lock;
    "pthread_cond_wait" __wrap_pthread_cond_wait: condition cond_wait;
    "pthread_cond_timedwait" __wrap_pthread_cond_timedwait: condition cond_timed_wait;
    "pthread_cond_clockwait" __wrap_pthread_cond_clockwait: condition cond_clock_wait;
    "pthread_barrier_wait" __wrap_pthread_barrier_wait: barrier barrier_wait;
    "pthread_rwlock_rdlock" __wrap_pthread_rwlock_rdlock: rwlock read_lock;
    "pthread_rwlock_wrlock" __wrap_pthread_rwlock_wrlock: rwlock write_lock;
    "sem_wait" __wrap_sem_wait: semaphore semaphore_wait;
    "sem_timedwait" __wrap_sem_timedwait: semaphore semaphore_timed_wait;
    "sem_clockwait" __wrap_sem_clockwait: semaphore semaphore_clock_wait;
    "pthread_once" __wrap_pthread_once: once once;
    "the construction of a static variable" __wrap___cxa_guard_acquire: once guard_acquire;
}
