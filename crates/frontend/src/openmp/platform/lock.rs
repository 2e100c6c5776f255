//! Locks that threads spin on, and values that they guard.

use std::cell::{RefCell, RefMut};
use std::ffi::c_void;

use experiments::policies::OwnLocks;
use sim::Thread;

use super::{Line, Waiting, Word};
use crate::runtime::locking;
use crate::runtime::state::{current, run};

/// A lock that threads spin on.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Lock(Word);

impl Lock {
    /// A lock in a word of the program's; zero is free.
    ///
    /// # Safety
    /// As of [`Word::at`].
    pub unsafe fn at<'a>(address: *mut c_void) -> &'a Self {
        // SAFETY: the caller's promise; the layouts are the same.
        unsafe { &*address.cast() }
    }

    /// The running thread, if locks are asked for of a kind that the C library's functions have, too ([`locking`]).
    fn caller() -> Option<&'static mut Thread<'static>> {
        current().filter(|_| locking::is_asked_for())
    }

    /// How simulated threads wait for locks that are made here.
    pub fn waiting() -> Waiting {
        Waiting::asleep_if(current().is_some() && run().locks == OwnLocks::Futex)
    }

    /// The lock behind a word that tells who has it, where locks are asked for of a kind that takes its word for itself.
    pub fn behind(word: &Word) -> Option<&'static Self> {
        Self::caller()?;
        // SAFETY: lines that are used for nothing else, and stay.
        Some(unsafe { Self::at(locking::behind(word.address()).cast()) })
    }

    fn word(&self) -> *mut u32 {
        self.0.value().as_ptr()
    }

    /// Takes it, if it is free.
    pub fn try_acquire(&self) -> bool {
        match Self::caller() {
            Some(thread) => locking::try_acquire(thread, self.word()),
            None => self.0.change(|value| (value == 0).then_some(1)).is_ok(),
        }
    }

    /// Waits until it is free, and takes it.
    pub fn acquire(&self) {
        if let Some(thread) = Self::caller() {
            locking::acquire(thread, self.word(), None);
            return;
        }
        while !self.try_acquire() {
            self.0.wait(1, Self::waiting());
        }
    }

    /// Lets it go.
    pub fn release(&self) {
        match Self::caller() {
            Some(thread) => locking::release(thread, self.word()),
            None => self.0.set(0),
        }
    }

    /// It is no more.
    pub fn forget(&self) {
        if Self::caller().is_some() {
            locking::forget(self.word());
        }
    }
}

/// A value that only the holder of a lock sees.
#[derive(Debug, Default)]
pub struct Guarded<T> {
    lock: Line<Lock>,
    value: RefCell<T>,
}

// SAFETY: the value is looked at by whoever holds the lock, one thread at a time.
unsafe impl<T> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Does `act` with the value, alone.
    pub fn with<R>(&self, act: impl FnOnce(&mut RefMut<'_, T>) -> R) -> R {
        self.lock.acquire();
        let result = act(&mut self.value.borrow_mut());
        self.lock.release();
        result
    }
}
