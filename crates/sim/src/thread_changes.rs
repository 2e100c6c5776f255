//! Atomic changes and their cost: load-linked and store-conditional, release and acquire.
//!
//! Built-in programs and users' programs keep the values themselves: a change is a closure that is called at the
//! simulated time at which the store is done, and not before.

use crate::account::Cause;
use crate::processor::Location;
use crate::thread::Thread;

impl Thread<'_> {
    /// Performs `act` with all its time charged to `cause`, unless an enclosing operation already has a cause.
    pub fn charged_to<T>(&mut self, cause: Cause, act: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.charge(Some(cause));
        if outer.is_some() {
            self.charge(outer);
        }
        let result = act(self);
        self.charge(outer);
        result
    }

    /// Performs `act` with its time charged as the program's own work, despite any enclosing cause, as for a task that
    /// a waiting thread takes on.
    pub fn on_its_own<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.charge(None);
        let result = act(self);
        self.charge(outer);
        result
    }

    /// An atomic change by load-linked and store-conditional, whose line is fetched for writing at once, as in
    /// `lmbench-cas`. With `None`, for a word outside of simulated memory, no line is fetched. Returns the result of
    /// `change`.
    pub fn indivisible<T>(&mut self, at: Option<impl Location>, change: impl FnOnce() -> T) -> T {
        if let Some(at) = at {
            self.store(at);
            self.load(at);
        }
        self.settle(at, change)
    }

    /// A release store: performed after all earlier stores are done. Waits for the latter are not charged to the cause
    /// of the store if the caller drains first.
    pub fn release<T>(&mut self, at: Option<impl Location>, change: impl FnOnce() -> T) -> T {
        self.drain();
        if let Some(at) = at {
            self.store(at);
        }
        self.settle(at, change)
    }

    /// An acquire load: `look` is called at the thread's own time.
    pub fn acquire<T>(&mut self, at: Option<impl Location>, look: impl FnOnce() -> T) -> T {
        if let Some(at) = at {
            self.load(at);
        }
        self.drain();
        self.order();
        look()
    }

    /// A memory operation past the caches, by an uncached load. Returns the result of `look`, called when the answer
    /// arrives; no other processor accesses the word in between. The Origin's memory performs it by a read, FLASH's by
    /// a read and a write, which makes no difference to the processor.
    pub fn at_memory<T>(&mut self, at: Option<impl Location>, look: impl FnOnce() -> T) -> T {
        self.drain();
        if let Some(at) = at {
            self.load_uncached(at);
        }
        self.drain();
        self.order();
        look()
    }

    /// As [`Self::at_memory`], for an operation that changes the word.
    pub fn change_at_memory<T>(&mut self, at: Option<impl Location>, change: impl FnOnce() -> T) -> T {
        self.at_memory(at, || ());
        if let Some(at) = at {
            self.note_change(at);
        }
        self.announce_change();
        change()
    }

    /// Drains, changes a word that was stored to, and publishes the change. Other processors observe it because their
    /// copies were invalidated; a processor that took the line back meanwhile, or after the thread was descheduled,
    /// loads it again.
    fn settle<T>(&mut self, at: Option<impl Location>, change: impl FnOnce() -> T) -> T {
        self.drain();
        self.order();
        let result = change();
        if let Some(at) = at {
            self.publish(at);
        }
        result
    }
}
