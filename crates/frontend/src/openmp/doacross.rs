//! Loops whose iterations wait for certain earlier ones (`ordered(n)` with `depend(sink: ...)`).
//!
//! One thread does all iterations of the inner loops for one of the outermost, in their order: so for each of the outermost there is
//! one counter, of the inner ones that are done.

use std::ffi::c_void;

use sim::Cause;

use super::platform::{Counter, allocate, charged, free};
use super::sharing::Share;

/// State of such a loop beside that of any loop.
pub struct Doacross {
    /// Iterations of the inner loops.
    inner: Vec<u64>,
    /// For each iteration of the outermost, how many of the inner ones are done.
    done: *const Counter,
    outermost: u64,
}

impl Doacross {
    /// Sets up what loops of so many iterations need, the outermost first.
    pub fn set_up(share: &Share, counts: &[u64]) {
        let outermost = counts.first().copied().unwrap_or(0);
        let done = allocate(outermost as usize * size_of::<Counter>()).cast::<Counter>();
        // SAFETY: the block is so long, and nobody has seen it.
        unsafe { done.cast::<u64>().write_bytes(0, outermost as usize) };
        let doacross = Self { inner: counts.iter().skip(1).copied().collect(), done, outermost };
        share.place.set(Box::into_raw(Box::new(doacross)).cast());
    }

    /// Takes it down, if there is one.
    pub fn take_down(share: &Share) {
        let place: *mut c_void = share.place.replace(std::ptr::null_mut());
        if !place.is_null() {
            // SAFETY: made by `set_up`, and the last thread has left.
            unsafe {
                let doacross = Box::from_raw(place.cast::<Self>());
                free(doacross.done.cast_mut().cast());
            }
        }
    }

    /// That of a construct that has one.
    pub fn of(share: &Share) -> Option<&Self> {
        // SAFETY: null, or made by `set_up` and there until the last thread leaves.
        unsafe { share.place.get().cast_const().cast::<Self>().as_ref() }
    }

    /// How many loops there are.
    pub fn depth(&self) -> usize {
        self.inner.len() + 1
    }

    fn counter(&self, outermost: u64) -> Option<&Counter> {
        // SAFETY: within the block.
        (outermost < self.outermost).then(|| unsafe { &*self.done.add(outermost as usize) })
    }

    /// How many inner iterations come before this one.
    fn before(&self, inner: &[u64]) -> u64 {
        self.inner.iter().zip(inner).fold(0, |before, (count, at)| before * count + at)
    }

    /// An iteration is done as far as others wait for it.
    pub fn post(&self, at: &[u64]) {
        let Some((&outermost, inner)) = at.split_first() else { return };
        if let Some(counter) = self.counter(outermost) {
            counter.set(self.before(inner) + 1);
        }
    }

    /// Waits until an iteration is done so far; for one that there is not, it waits not.
    pub fn wait(&self, at: &[u64]) {
        let Some((&outermost, inner)) = at.split_first() else { return };
        if inner.iter().zip(&self.inner).any(|(at, count)| at >= count) {
            return;
        }
        if let Some(counter) = self.counter(outermost) {
            let before = self.before(inner);
            charged(Cause::Lock, || counter.wait_until(|done| done > before));
        }
    }
}

/// A loop as clang tells it: its first and last value, and what is added.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dimension {
    first: i64,
    last: i64,
    step: i64,
}

impl Dimension {
    /// How many iterations it has.
    pub fn count(self) -> u64 {
        let forward = if self.step > 0 { self.last >= self.first } else { self.last <= self.first };
        if forward && self.step != 0 { self.last.abs_diff(self.first) / self.step.unsigned_abs() + 1 } else { 0 }
    }

    /// The number of an iteration; of none that there is, for a value outside.
    pub fn number(self, value: i64) -> u64 {
        let outside = if self.step > 0 { value < self.first } else { value > self.first };
        if outside || self.step == 0 { u64::MAX } else { value.abs_diff(self.first) / self.step.unsigned_abs() }
    }
}
