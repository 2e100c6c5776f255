//! Queue locks: whoever waits looks at a word of its own (Mellor-Crummey and Scott, ACM TOCS 9(1), 1991, algorithm 5).
//!
//! The lock is one word, the name of the last node of its queue. A node is a line of the thread that waits with it: the name of
//! the next node, and whether its thread still has to wait. Nodes have names from one on.

use crate::thread::Thread;

/// The end of a queue.
const NOBODY: u64 = 0;
/// The words of a node: the name of the next, and whether its thread waits.
const NEXT: usize = 0;
const STATE: usize = 1;
const GO: u64 = 0;
const WAIT: u64 = 1;

/// Takes the lock at `word` of `region` with the node `name`, behind all that came before. Of each node, `node` tells the first of
/// the two words that are used of it.
pub fn acquire<T: Thread>(thread: &mut T, region: &T::Region, word: usize, node: impl Fn(u64) -> usize, name: u64) {
    let own = node(name);
    thread.store(region, own + NEXT, NOBODY);
    thread.store(region, own + STATE, WAIT);
    let before = thread.exchange(region, word, name);
    if before != NOBODY {
        thread.store_release(region, node(before) + NEXT, name);
        thread.await_change(region, own + STATE, WAIT);
    }
}

/// Takes it if nobody has it. Returns whether that is so.
pub fn try_acquire<T: Thread>(
    thread: &mut T,
    region: &T::Region,
    word: usize,
    node: impl Fn(u64) -> usize,
    name: u64,
) -> bool {
    thread.store(region, node(name) + NEXT, NOBODY);
    thread.compare_and_swap(region, word, NOBODY, name) == NOBODY
}

/// Gives it to the next in the queue, if there is one.
pub fn release<T: Thread>(thread: &mut T, region: &T::Region, word: usize, node: impl Fn(u64) -> usize, name: u64) {
    let own = node(name);
    let mut heir = thread.load_acquire(region, own + NEXT);
    if heir == NOBODY {
        if thread.compare_and_swap(region, word, name, NOBODY) == name {
            return;
        }
        // Somebody has taken the end of the queue and is about to join it.
        heir = thread.await_change(region, own + NEXT, NOBODY);
    }
    thread.store_release(region, node(heir) + STATE, GO);
}
