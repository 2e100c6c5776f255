//! Values that each thread has of its own, by key.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use libc::pthread_key_t;

use super::mode::mode;
use super::state::{Mode, Single, UserThread, this};

pub type Destructor = extern "C-unwind" fn(*mut c_void);

/// A key that is in use, and what its values are handed to when their thread ends.
type Key = Option<Option<Destructor>>;

/// The keys of a simulated program, and the values of the first thread before and after the simulation.
struct Keys {
    all: Vec<Key>,
    outside: Vec<*mut c_void>,
}

static KEYS: Single<Keys> = Single::new(Keys { all: Vec::new(), outside: Vec::new() });

/// Rounds in which destructors may set values anew (`PTHREAD_DESTRUCTOR_ITERATIONS`).
const ROUNDS: usize = 4;

fn keys() -> &'static mut Keys {
    // SAFETY: one thread of the host; nobody keeps the reference.
    unsafe { &mut *KEYS.get() }
}

/// The values of the running thread.
fn values() -> &'static mut Vec<*mut c_void> {
    let user = this();
    // SAFETY: threads are never freed.
    if user.is_null() { &mut keys().outside } else { unsafe { &mut (*user).values } }
}

/// Makes a key.
///
/// # Safety
/// As of `pthread_key_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_key_create(key: *mut pthread_key_t, destructor: Option<Destructor>) -> c_int {
    if mode() == Mode::Native {
        // SAFETY: the caller's promise; both kinds of functions are called alike.
        return unsafe { pthread_key_create(key, destructor) };
    }
    let all = &mut keys().all;
    let free = all.iter().position(Option::is_none).unwrap_or(all.len());
    if free == all.len() {
        all.push(None);
    }
    all[free] = Some(destructor);
    // SAFETY: the caller's promise.
    unsafe { *key = free as pthread_key_t };
    0
}

unsafe extern "C" {
    fn pthread_key_create(key: *mut pthread_key_t, destructor: Option<Destructor>) -> c_int;
}

/// A key is no more.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_key_delete(key: pthread_key_t) -> c_int {
    if mode() == Mode::Native {
        // SAFETY: the key is the caller's.
        return unsafe { libc::pthread_key_delete(key) };
    }
    match keys().all.get_mut(key as usize) {
        Some(slot @ Some(_)) => {
            *slot = None;
            0
        }
        _ => libc::EINVAL,
    }
}

/// The running thread's value.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_pthread_getspecific(key: pthread_key_t) -> *mut c_void {
    if mode() == Mode::Native {
        // SAFETY: the key is the caller's.
        return unsafe { libc::pthread_getspecific(key) };
    }
    values().get(key as usize).copied().unwrap_or(null_mut())
}

/// Sets the running thread's value.
///
/// # Safety
/// As of `pthread_setspecific`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int {
    if mode() == Mode::Native {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_setspecific(key, value) };
    }
    let key = key as usize;
    if !matches!(keys().all.get(key), Some(Some(_))) {
        return libc::EINVAL;
    }
    let values = values();
    if values.len() <= key {
        values.resize(key + 1, null_mut());
    }
    values[key] = value.cast_mut();
    0
}

/// A thread ends: its values are handed to the destructors of their keys.
pub fn destroy(user: *mut UserThread) {
    for _ in 0..ROUNDS {
        let mut any = false;
        for key in 0..keys().all.len() {
            // SAFETY: threads are never freed.
            let values = unsafe { &mut (*user).values };
            let value = values.get_mut(key).map_or(null_mut(), |value| std::mem::replace(value, null_mut()));
            let destructor = keys().all[key].flatten();
            if let (false, Some(destructor)) = (value.is_null(), destructor) {
                any = true;
                destructor(value);
            }
        }
        if !any {
            return;
        }
    }
}
