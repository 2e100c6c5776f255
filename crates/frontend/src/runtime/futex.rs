//! Threads that wait for a word of memory to be changed by another: what all that blocks is made of, as the kernel's futexes are.
//!
//! A thread that waits gives its processor up. Who waits for a word goes on in the order of arrival.

use sim::Thread;
use units::Time;

use super::cancel;
use super::clock::{park, system_call};
use super::state::{UserThread, run, this};

/// Waits until another thread wakes those that wait for the word at `address`, or until a time. The caller has looked at the word
/// at its own time ([`super::words::acquire`]) and found that it has to wait. Returns whether it was woken.
pub fn wait(thread: &mut Thread<'static>, address: usize, until: Option<Time>) -> bool {
    wait_unless(thread, address, until, || false)
}

/// The same at a cancellation point: nor does it wait any longer when it is cancelled ([`cancel::is_due`]).
pub fn wait_at_point(thread: &mut Thread<'static>, address: usize, until: Option<Time>) -> bool {
    cancel::waiting(|| wait_unless(thread, address, until, cancel::is_due))
}

fn wait_unless(thread: &mut Thread<'static>, address: usize, until: Option<Time>, ends: impl Fn() -> bool) -> bool {
    let user = this();
    // SAFETY: threads are never freed; this one's own state.
    unsafe { (*user).woken = false };
    run().waiters.entry(address).or_default().push_back(user);
    loop {
        park(thread, until);
        // SAFETY: as above.
        if unsafe { (*user).woken } {
            super::recording::saw(address);
            return true;
        }
        if until.is_some_and(|until| thread.now() >= until) || ends() {
            forget(address, user);
            return false;
        }
    }
}

/// A thread waits no longer.
fn forget(address: usize, user: *mut UserThread) {
    if let Some(queue) = run().waiters.get_mut(&address) {
        queue.retain(|&other| other != user);
        if queue.is_empty() {
            run().waiters.remove(&address);
        }
    }
}

/// Lets up to `most` threads go on that wait for the word at `address`, by a system call if there is any. Returns how many.
pub fn wake(thread: &mut Thread<'static>, address: usize, most: usize) -> usize {
    if most > 0 && is_waited_for(address) {
        system_call(thread);
    }
    let_go(thread, address, most)
}

/// The same at no cost. Whoever comes back to wait before all have been woken is not among them.
pub fn let_go(thread: &mut Thread<'static>, address: usize, most: usize) -> usize {
    let mut woken = Vec::new();
    while woken.len() < most
        && let Some(user) = next(address)
    {
        // SAFETY: threads are never freed.
        unsafe {
            (*user).woken = true;
            woken.push((*user).id);
        }
    }
    let count = woken.len();
    woken.into_iter().for_each(|id| thread.unpark(id));
    count
}

fn next(address: usize) -> Option<*mut UserThread> {
    let waiters = &mut run().waiters;
    let queue = waiters.get_mut(&address)?;
    let user = queue.pop_front();
    if queue.is_empty() {
        waiters.remove(&address);
    }
    user
}

/// Whether anybody waits for the word at `address`.
pub fn is_waited_for(address: usize) -> bool {
    run().waiters.contains_key(&address)
}
