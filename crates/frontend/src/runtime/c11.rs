//! Threads, locks and conditions by the names that C11 has for them. As in the C library they are those of POSIX, whose structures they
//! are laid out as, with results of their own.

use std::ffi::{c_int, c_void};

use libc::{pthread_cond_t, pthread_key_t, pthread_mutex_t, pthread_mutexattr_t, pthread_t, timespec};

use super::{clock, condition, keys, mutex, once, thread_calls};

/// Results of C11's functions (`thrd_*` of the C library).
mod result {
    use std::ffi::c_int;

    pub const SUCCESS: c_int = 0;
    pub const BUSY: c_int = 1;
    pub const ERROR: c_int = 2;
    pub const NO_MEMORY: c_int = 3;
    pub const TIMED_OUT: c_int = 4;
}

/// C11's result of what POSIX has this one for.
const fn told(code: c_int) -> c_int {
    match code {
        0 => result::SUCCESS,
        libc::EBUSY => result::BUSY,
        libc::ENOMEM | libc::EAGAIN => result::NO_MEMORY,
        libc::ETIMEDOUT => result::TIMED_OUT,
        _ => result::ERROR,
    }
}

/// Functions that do what one of POSIX does, whose number of an error becomes a result of C11's.
macro_rules! same {
    ($($name:ident($($argument:ident: $kind:ty),*): $act:path;)*) => {$(
        /// The C library's function of that name.
        ///
        /// # Safety
        /// As of the C library's own.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            #[allow(unused_unsafe, reason = "some of these functions are safe")]
            // SAFETY: the caller's promise.
            told(unsafe { $act($($argument),*) })
        }
    )*};
}

same! {
    __wrap_thrd_detach(handle: pthread_t): thread_calls::__wrap_pthread_detach;
    __wrap_mtx_trylock(lock: *mut pthread_mutex_t): mutex::__wrap_pthread_mutex_trylock;
    __wrap_mtx_unlock(lock: *mut pthread_mutex_t): mutex::__wrap_pthread_mutex_unlock;
    __wrap_cnd_signal(condition: *mut pthread_cond_t): condition::__wrap_pthread_cond_signal;
    __wrap_cnd_broadcast(condition: *mut pthread_cond_t): condition::__wrap_pthread_cond_broadcast;
    __wrap_tss_set(key: pthread_key_t, value: *const c_void): keys::__wrap_pthread_setspecific;
    __wrap_tss_create(key: *mut pthread_key_t, end: Option<keys::Destructor>): keys::__wrap_pthread_key_create;
    mtx_lock(lock: *mut pthread_mutex_t): mutex::lock;
    mtx_timedlock(lock: *mut pthread_mutex_t, time: *const timespec): mutex::timed_lock;
    cnd_wait(condition: *mut pthread_cond_t, lock: *mut pthread_mutex_t): condition::cond_wait;
    cnd_timedwait(condition: *mut pthread_cond_t, lock: *mut pthread_mutex_t, time: *const timespec):
        condition::cond_timed_wait;
}

/// The start function of a C11 thread.
type Start = extern "C-unwind" fn(*mut c_void) -> c_int;

/// The start function and the argument of a new thread.
struct Begun {
    start: Start,
    argument: *mut c_void,
}

/// The life of a thread whose result is a number.
extern "C-unwind" fn live(begun: *mut c_void) -> *mut c_void {
    // SAFETY: made by [`__wrap_thrd_create`] for this thread alone.
    let Begun { start, argument } = *unsafe { Box::from_raw(begun.cast::<Begun>()) };
    start(argument) as usize as *mut c_void
}

/// Makes a thread.
///
/// # Safety
/// As of `thrd_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_thrd_create(handle: *mut pthread_t, start: Start, argument: *mut c_void) -> c_int {
    let begun = Box::into_raw(Box::new(Begun { start, argument }));
    // SAFETY: the caller's promise.
    told(unsafe { thread_calls::__wrap_pthread_create(handle, std::ptr::null(), live, begun.cast()) })
}

/// Waits for the end of a thread.
///
/// # Safety
/// As of `thrd_join`.
pub unsafe extern "C" fn join(handle: pthread_t, ended: *mut c_int) -> c_int {
    let mut value = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe {
        let code = thread_calls::join(handle, &raw mut value);
        if code == 0 && !ended.is_null() {
            *ended = value as usize as c_int;
        }
        told(code)
    }
}

/// Ends the thread that calls it.
///
/// # Safety
/// As of `thrd_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_thrd_exit(value: c_int) -> ! {
    // SAFETY: the caller's promise.
    unsafe { thread_calls::__wrap_pthread_exit(value as usize as *mut c_void) }
}

/// The thread that calls it.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_thrd_current() -> pthread_t {
    thread_calls::__wrap_pthread_self()
}

/// Whether two are the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_thrd_equal(one: pthread_t, other: pthread_t) -> c_int {
    (one == other).into()
}

/// Lets others have the processor.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_thrd_yield() {
    clock::__wrap_sched_yield();
}

/// Sleeps.
///
/// # Safety
/// As of `thrd_sleep`.
pub unsafe extern "C" fn sleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { clock::nap(time, left) }
}

unsafe extern "C" {
    fn pthread_mutexattr_init(attributes: *mut pthread_mutexattr_t) -> c_int;
    fn pthread_mutexattr_settype(attributes: *mut pthread_mutexattr_t, kind: c_int) -> c_int;
}

/// The bit of a C11 mutex's kind that lets its owner take it again (`mtx_recursive`).
const RECURSIVE: c_int = 1;

/// Makes a mutex.
///
/// # Safety
/// As of `mtx_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_mtx_init(lock: *mut pthread_mutex_t, kind: c_int) -> c_int {
    let kind = if kind & RECURSIVE != 0 { libc::PTHREAD_MUTEX_RECURSIVE } else { libc::PTHREAD_MUTEX_NORMAL };
    // SAFETY: the caller's promise; the attributes are made before they are used.
    unsafe {
        let mut attributes: pthread_mutexattr_t = std::mem::zeroed();
        pthread_mutexattr_init(&raw mut attributes);
        pthread_mutexattr_settype(&raw mut attributes, kind);
        told(mutex::__wrap_pthread_mutex_init(lock, &raw const attributes))
    }
}

/// Ends a mutex.
///
/// # Safety
/// As of `mtx_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_mtx_destroy(lock: *mut pthread_mutex_t) {
    // SAFETY: the caller's promise.
    unsafe { mutex::__wrap_pthread_mutex_destroy(lock) };
}

/// Makes a condition variable.
///
/// # Safety
/// As of `cnd_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_cnd_init(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: the caller's promise.
    told(unsafe { condition::__wrap_pthread_cond_init(condition, std::ptr::null()) })
}

/// Ends a condition variable.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_cnd_destroy(condition: *mut pthread_cond_t) {
    condition::__wrap_pthread_cond_destroy(condition);
}

/// Has something done by the first thread that comes.
///
/// # Safety
/// As of `call_once`.
pub unsafe extern "C-unwind" fn call_once(flag: *mut c_int, act: extern "C-unwind" fn()) {
    // SAFETY: the caller's promise.
    unsafe { once::once(flag, act) };
}

/// The thread's value of a key.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_tss_get(key: pthread_key_t) -> *mut c_void {
    keys::__wrap_pthread_getspecific(key)
}

/// Gives a key up.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_tss_delete(key: pthread_key_t) {
    keys::__wrap_pthread_key_delete(key);
}
