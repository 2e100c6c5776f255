//! What a change that nobody may see half of costs: load-linked and store-conditional, release and acquire.
//!
//! Built-in programs and programs of the user's come here with values of their own: a change is a closure that is called at the
//! simulated time at which the store is done, and not before.

use crate::processor::{Cause, Location};
use crate::thread::Thread;

impl Thread<'_> {
    /// Does `act` with all that it costs charged to `cause`, unless it is part of something bigger that already has one.
    pub fn on_behalf<T>(&mut self, cause: Cause, act: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.charge(Some(cause));
        if outer.is_some() {
            self.charge(outer);
        }
        let result = act(self);
        self.charge(outer);
        result
    }

    /// Does `act` with what it costs charged as the program's own work, whatever it is part of: as a task that is done by a thread
    /// which waits for others.
    pub fn on_its_own<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.charge(None);
        let result = act(self);
        self.charge(outer);
        result
    }

    /// A load-linked and a store-conditional that finds the line fetched for writing at once, as `lmbench-cas` has it. Nothing is
    /// fetched for a word that is `None`, which is not in simulated memory. Returns what `change` does.
    pub fn indivisible<T>(&mut self, at: Option<impl Location>, change: impl FnOnce() -> T) -> T {
        if let Some(at) = at {
            self.store(at);
            self.load(at);
        }
        self.settle(at, change)
    }

    /// A store for others to see, after all that was stored before is done. What it waits for of the time before is not part of
    /// what the store is on behalf of, if the caller drains first.
    pub fn release<T>(&mut self, at: Option<impl Location>, change: impl FnOnce() -> T) -> T {
        self.drain();
        if let Some(at) = at {
            self.store(at);
        }
        self.settle(at, change)
    }

    /// A load of what others have stored: what `look` finds is of the thread's own time.
    pub fn acquire<T>(&mut self, at: Option<impl Location>, look: impl FnOnce() -> T) -> T {
        if let Some(at) = at {
            self.load(at);
        }
        self.drain();
        self.order();
        look()
    }

    /// Waits until all is done, and changes a word that was stored to. Others see the change because their copies are gone; who
    /// has taken the line back from here meanwhile, or after the thread was taken off its processor, is told to look again.
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
