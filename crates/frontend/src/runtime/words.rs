//! Words by which the program's threads meet: looked at and changed at their simulated times, and written down if that is wanted.

use sim::Thread;

use super::state::run;
use super::{address, callbacks, recording};

/// Changes a word of the program indivisibly ([`Thread::indivisible`]). Returns what `change` does.
pub fn indivisible<T>(thread: &mut Thread<'static>, address: usize, change: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    let result = thread.indivisible(address::locate(address), || noted(address, change));
    thread.stall(run().locked);
    result
}

/// Stores to a word of the program for others to see, after all that was stored before ([`Thread::release`]).
pub fn release<T>(thread: &mut Thread<'static>, address: usize, change: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.release(address::locate(address), || noted(address, change))
}

/// A change that is written down where what threads do is.
fn noted<T>(address: usize, change: impl FnOnce() -> T) -> T {
    let result = change();
    recording::changed(address);
    result
}

/// Loads a word of the program for what others have stored there ([`Thread::acquire`]).
pub fn acquire<T>(thread: &mut Thread<'static>, address: usize, look: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.acquire(address::locate(address), || {
        recording::saw(address);
        look()
    })
}

/// Loads a word from its memory, past the caches ([`Thread::at_memory`]).
pub fn at_memory<T>(thread: &mut Thread<'static>, address: usize, look: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.at_memory(address::locate(address), || {
        recording::saw(address);
        look()
    })
}

/// Has the memory of a word change it ([`Thread::change_at_memory`]).
pub fn change_at_memory<T>(thread: &mut Thread<'static>, address: usize, change: impl FnOnce() -> T) -> T {
    callbacks::settle(thread);
    thread.change_at_memory(address::locate(address), || noted(address, change))
}
