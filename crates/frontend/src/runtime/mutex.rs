//! Mutual exclusion: `pthread_mutex_*` and `pthread_spin_*`, of words in simulated memory.
//!
//! A mutex is taken by one indivisible change of its word; whoever finds it taken says so in the word and waits as for a futex, as
//! in the C library. The program's structure has the C library's layout, so that static initialisers mean what they say.

use std::ffi::c_int;

use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, pthread_spinlock_t, timespec};
use sim::{Cause, Thread};
use units::Time;

use super::clock::deadline;
use super::mode::mode;
use super::state::{Mode, current, this};
use super::words::{indivisible, release};
use super::{address, futex, locking};

/// The C library's layout of a mutex on 64-bit machines.
#[repr(C)]
struct Mutex {
    /// Free, taken, or taken and waited for.
    word: u32,
    /// How often its owner has taken it more than once.
    count: u32,
    /// Its owner's number, from one on.
    owner: u32,
    users: u32,
    /// Which kind it is of.
    kind: c_int,
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WAITED_FOR: u32 = 2;

/// The bits of a kind that tell it: others ask for what one thread of the host has anyway.
const KIND: c_int = 3;

/// A mutex of the program: threads come and go between any two looks at it, so that each is a look of its own.
#[derive(Clone, Copy)]
struct Handle(*mut Mutex);

impl Handle {
    fn at(mutex: *mut pthread_mutex_t) -> Self {
        Self(mutex.cast())
    }

    fn word(self) -> *mut u32 {
        // SAFETY: the program's mutex is at least as long as the layout.
        unsafe { &raw mut (*self.0).word }
    }

    fn address(self) -> usize {
        self.word() as usize
    }

    fn is_owned(self) -> bool {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).owner).read_volatile() == me() }
    }

    fn set_owner(self, owner: u32) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).owner).write_volatile(owner) };
    }

    fn is(self, kind: c_int) -> bool {
        // SAFETY: as above.
        unsafe { (*self.0).kind & KIND == kind }
    }

    /// Takes it if it is free, and marks it at least as `mark`. Returns whether it was free.
    fn try_take(self, thread: &mut Thread<'static>, mark: u32) -> bool {
        if locking::is_asked_for() {
            let taken = locking::try_acquire(thread, self.word());
            if taken {
                self.set_owner(me());
            }
            return taken;
        }
        // SAFETY: as above.
        indivisible(thread, self.address(), || unsafe {
            let before = self.word().read_volatile();
            self.word().write_volatile(before.max(mark));
            if before == FREE {
                self.set_owner(me());
            }
            before == FREE
        })
    }

    /// Takes it, or gives up at a time.
    fn take(self, thread: &mut Thread<'static>, until: Option<Time>) -> c_int {
        if !self.is(libc::PTHREAD_MUTEX_NORMAL) && self.is_owned() {
            return self.take_again();
        }
        if locking::is_asked_for() {
            if !locking::acquire(thread, self.word(), until) {
                return libc::ETIMEDOUT;
            }
            self.set_owner(me());
            return 0;
        }
        let mut mark = TAKEN;
        while !self.try_take(thread, mark) {
            mark = WAITED_FOR;
            // It waits if the word says so that somebody does: who gives the mutex back will know.
            // SAFETY: as above.
            if unsafe { self.word().read_volatile() } == WAITED_FOR && !futex::wait(thread, self.address(), until) {
                return libc::ETIMEDOUT;
            }
        }
        0
    }

    /// Its owner takes it.
    fn take_again(self) -> c_int {
        if self.is(libc::PTHREAD_MUTEX_RECURSIVE) {
            // SAFETY: as above.
            unsafe { (*self.0).count += 1 };
            0
        } else {
            libc::EDEADLK
        }
    }

    fn give(self, thread: &mut Thread<'static>) -> c_int {
        if !self.is(libc::PTHREAD_MUTEX_NORMAL) && !self.is_owned() {
            return libc::EPERM;
        }
        // SAFETY: as above.
        unsafe {
            if (*self.0).count > 0 {
                (*self.0).count -= 1;
                return 0;
            }
        }
        if locking::is_asked_for() {
            self.set_owner(0);
            locking::release(thread, self.word());
            return 0;
        }
        thread.drain();
        let before = indivisible(thread, self.address(), || {
            self.set_owner(0);
            // SAFETY: as above.
            unsafe { std::mem::replace(&mut *self.word(), FREE) }
        });
        if before == WAITED_FOR {
            futex::wake(thread, self.address(), 1);
        }
        0
    }
}

/// The running thread's number, from one on.
fn me() -> u32 {
    // SAFETY: threads are never freed.
    unsafe { (*this()).number as u32 + 1 }
}

/// Takes a mutex; used by condition variables, too.
pub fn take(thread: &mut Thread<'static>, mutex: *mut pthread_mutex_t, until: Option<Time>) -> c_int {
    thread.charged_to(Cause::Lock, |thread| Handle::at(mutex).take(thread, until))
}

/// Gives it back.
pub fn give(thread: &mut Thread<'static>, mutex: *mut pthread_mutex_t) -> c_int {
    thread.charged_to(Cause::Lock, |thread| Handle::at(mutex).give(thread))
}

/// Whether the caller is alone, after the simulation or before it: nobody waits for a lock then.
pub fn alone() -> bool {
    mode() != Mode::Native
}

/// Makes a mutex.
///
/// # Safety
/// As of `pthread_mutex_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_mutex_init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { libc::pthread_mutex_init(mutex, attributes) }
}

/// A mutex is no more.
///
/// # Safety
/// As of `pthread_mutex_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int {
    if mode() == Mode::Native {
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_mutex_destroy(mutex) };
    }
    let mutex = Handle::at(mutex);
    // SAFETY: the caller's promise.
    let held = unsafe { (&raw mut (*mutex.0).owner).read_volatile() != 0 };
    if held {
        return libc::EBUSY;
    }
    if current().is_some() {
        locking::forget(mutex.word());
    }
    0
}

/// Takes a mutex.
///
/// # Safety
/// As of `pthread_mutex_lock`.
pub unsafe extern "C" fn lock(mutex: *mut pthread_mutex_t) -> c_int {
    match current() {
        Some(thread) => take(thread, mutex, None),
        None if alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_mutex_lock(mutex) },
    }
}

/// Takes a mutex if it is free.
///
/// # Safety
/// As of `pthread_mutex_trylock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    match current() {
        Some(thread) => thread.charged_to(Cause::Lock, |thread| {
            let mutex = Handle::at(mutex);
            if mutex.is(libc::PTHREAD_MUTEX_RECURSIVE) && mutex.is_owned() {
                return mutex.take_again();
            }
            if mutex.try_take(thread, TAKEN) { 0 } else { libc::EBUSY }
        }),
        None if alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_mutex_trylock(mutex) },
    }
}

/// Takes a mutex, or gives up at a time.
///
/// # Safety
/// As of `pthread_mutex_timedlock`.
pub unsafe extern "C" fn timed_lock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { clock_lock(mutex, libc::CLOCK_REALTIME, time) }
}

/// The same by a clock of choice.
///
/// # Safety
/// As of `pthread_mutex_clocklock`.
pub unsafe extern "C" fn clock_lock(mutex: *mut pthread_mutex_t, clock: clockid_t, time: *const timespec) -> c_int {
    match current() {
        // SAFETY: the caller's promise.
        Some(thread) => take(thread, mutex, Some(unsafe { deadline(time, clock) })),
        None if alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_mutex_timedlock(mutex, time) },
    }
}

/// Gives a mutex back.
///
/// # Safety
/// As of `pthread_mutex_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    match current() {
        Some(thread) => give(thread, mutex),
        None if alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_mutex_unlock(mutex) },
    }
}

/// Makes a spin lock.
///
/// # Safety
/// As of `pthread_spin_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_spin_init(lock: *mut pthread_spinlock_t, shared: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if mode() == Mode::Native {
            return libc::pthread_spin_init(lock, shared);
        }
        lock.write_volatile(SPIN_FREE);
    }
    0
}

/// A spin lock is no more.
///
/// # Safety
/// As of `pthread_spin_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_spin_destroy(_lock: *mut pthread_spinlock_t) -> c_int {
    0
}

/// A spin lock that is free, and one that is taken. The C library has other values, but no program may look.
const SPIN_FREE: pthread_spinlock_t = 0;
const SPIN_TAKEN: pthread_spinlock_t = 1;

/// Instructions from one look at a spin lock to the next, beside the look.
const SPIN: u32 = 2;

/// Takes a spin lock: whoever finds it taken looks until it changes, and keeps its processor meanwhile.
///
/// # Safety
/// As of `pthread_spin_lock`.
pub unsafe extern "C" fn spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
    let Some(thread) = current() else {
        // SAFETY: the caller's promise.
        return if alone() { 0 } else { unsafe { libc::pthread_spin_lock(lock) } };
    };
    thread.charged_to(Cause::Lock, |thread| {
        while !spin_try(thread, lock) {
            loop {
                // SAFETY: the caller's promise.
                let taken = super::words::acquire(thread, lock as usize, || unsafe { lock.read_volatile() });
                if taken == SPIN_FREE {
                    break;
                }
                match address::locate(lock as usize) {
                    Some(at) => thread.spin(at, SPIN),
                    None => thread.instructions(SPIN),
                }
            }
        }
    });
    0
}

fn spin_try(thread: &mut Thread<'static>, lock: *mut pthread_spinlock_t) -> bool {
    indivisible(thread, lock as usize, || {
        // SAFETY: the program's lock.
        unsafe {
            let free = lock.read_volatile() == SPIN_FREE;
            if free {
                lock.write_volatile(SPIN_TAKEN);
            }
            free
        }
    })
}

/// Takes a spin lock if it is free.
///
/// # Safety
/// As of `pthread_spin_trylock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_spin_trylock(lock: *mut pthread_spinlock_t) -> c_int {
    match current() {
        Some(thread) => thread.charged_to(Cause::Lock, |thread| if spin_try(thread, lock) { 0 } else { libc::EBUSY }),
        None if alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_spin_trylock(lock) },
    }
}

/// Gives a spin lock back.
///
/// # Safety
/// As of `pthread_spin_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_spin_unlock(lock: *mut pthread_spinlock_t) -> c_int {
    match current() {
        Some(thread) => thread.charged_to(Cause::Lock, |thread| {
            // SAFETY: the program's lock.
            release(thread, lock as usize, || unsafe { lock.write_volatile(SPIN_FREE) });
            0
        }),
        None if alone() => 0,
        // SAFETY: the caller's promise.
        None => unsafe { libc::pthread_spin_unlock(lock) },
    }
}
