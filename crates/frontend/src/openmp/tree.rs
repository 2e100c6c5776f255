//! The barrier of clang's face: a tree of threads, each node of which has four, as LLVM's runtime has it where nobody says otherwise
//! (openmp/runtime/src/kmp_barrier.cpp, the hypercube-embedded tree with two branch bits). A thread's place in it is its number,
//! read with four digits: it waits until those arrive whose numbers differ from its own in a digit below its lowest that is not
//! zero, tells that it has, and is let go by the one that waited for it. Each waits at a line of its own.
//!
//! Those who wait in a tree see nothing else. LLVM's look at the team's tasks meanwhile; here, a team meets at its counter
//! ([`Team::meet`]) from its first task on, which calls those who wait in the tree there. It does so, too, where constructs can be
//! cancelled.

use std::cell::Cell;

use experiments::policies::OwnBarrier;
use sim::Cause;
use workloads::BarrierKind;

use super::platform::{LINE, Line, Word, allocate, charged};
use super::team::{Team, globals, member};
use crate::runtime::state::{current, run};

/// Bits of a number that a level of the tree is about.
const BITS: u32 = 2;
/// Threads of a node.
const BRANCHES: u32 = 1 << BITS;

/// The bit of a seat's words that calls its thread to the counter.
const CALLED: u32 = 1;
/// The increment of a seat's words at a barrier.
const PASSED: u32 = 2;

/// Trees for all barriers.
const TREE: OwnBarrier = OwnBarrier::Shared(BarrierKind::Tree);

/// Where a thread is told of others, and tells them.
#[repr(C)]
struct Seat {
    /// The last barrier to which the thread has come, with all that it waits for.
    arrived: Line<Word>,
    /// The last barrier from which it may go.
    go: Line<Word>,
}

/// The tree of a team.
pub struct Tree {
    /// One for each thread.
    seats: Cell<&'static [Seat]>,
    /// Whether the region is of clang's face.
    is_used: Cell<bool>,
    /// The last barrier that is over.
    passed: Cell<u32>,
    /// Whether the team has had tasks.
    called: Line<Word>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { seats: Cell::new(&[]), is_used: Cell::new(false), passed: Cell::new(0), called: Line::default() }
    }
}

impl Tree {
    /// The `threads` threads of the team's next region do not meet here, unless trees are asked for, or somebody says so.
    pub fn forget(&self, threads: u32) {
        self.is_used.set(false);
        if current().is_some() && run().barrier == TREE {
            self.use_for(threads);
        }
    }

    /// Those `threads` threads do, if they are several, unless they were asked to meet otherwise.
    pub fn use_for(&self, threads: u32) {
        let kind = if current().is_some() { run().barrier } else { OwnBarrier::Own };
        if !matches!(kind, OwnBarrier::Own | TREE) {
            return;
        }
        self.is_used.set(threads > 1);
        if self.seats.get().len() < threads as usize {
            let count = (threads as usize).next_power_of_two();
            let room: *mut Seat = allocate(count * size_of::<Seat>()).cast();
            if room.is_null() {
                // They meet at the counter.
                return self.is_used.set(false);
            }
            // A thread may still let others go from the barrier before this, at the seats that were: those stay.
            // SAFETY: the block is so long, aligned, nobody else's, and never given back; of zeros, words are what they are at first.
            self.seats.set(unsafe {
                room.write_bytes(0, count);
                std::slice::from_raw_parts(room, count)
            });
        }
    }
}

/// The lowest level at which a number has a digit that is not zero, or, if all are zero, the one above those that tell `threads`
/// numbers apart.
fn level_of(number: u32, threads: u32) -> u32 {
    let mut level = 0;
    while 1 << level < threads && (number >> level).is_multiple_of(BRANCHES) {
        level += BITS;
    }
    level
}

/// The threads of `threads` that number `number` waits for, or lets go, at a level.
fn children(number: u32, level: u32, threads: u32) -> impl DoubleEndedIterator<Item = usize> {
    (1..BRANCHES)
        .map(move |digit| number + (digit << level))
        .filter(move |child| *child < threads)
        .map(|child| child as usize)
}

/// Waits until a seat's word is what is wanted; false if the thread is called away before. Who is let go late may be called already
/// by a thread that went on from the same barrier before: whether it is over, `passed` tells.
fn wait_for(word: &Word, wanted: u32, passed: &Cell<u32>) -> bool {
    let mut now = word.look();
    loop {
        if now & !CALLED == wanted {
            return true;
        }
        if now & CALLED != 0 {
            // Threads of smaller teams may have been through more barriers since.
            return passed.get().wrapping_sub(wanted).cast_signed() >= 0;
        }
        now = word.wait_while(now);
    }
}

impl Team {
    /// Waits until all threads have come here, in the tree. False if they do not meet there.
    pub fn meet_in_tree(&self) -> bool {
        let tree = &self.tree;
        if !tree.is_used.get() || self.is_one() || globals().settings.cancellation {
            return false;
        }
        charged(Cause::Barrier, || {
            if tree.called.look() != 0 {
                return false;
            }
            let (seats, threads, number) = (tree.seats.get(), self.threads.get(), member().region.get().number);
            let wanted = tree.passed.get().wrapping_add(PASSED);
            let top = level_of(number, threads);
            let mut below = (0..top).step_by(BITS as usize).flat_map(|level| children(number, level, threads));
            if !below.all(|child| wait_for(&seats[child].arrived, wanted, &tree.passed)) {
                return false;
            }
            if number == 0 {
                tree.passed.set(wanted);
            } else {
                let seat = &seats[number as usize];
                seat.arrived.set(wanted);
                if !wait_for(&seat.go, wanted, &tree.passed) {
                    return false;
                }
            }
            // Those with most below them first.
            for level in (0..top).step_by(BITS as usize).rev() {
                children(number, level, threads).rev().for_each(|child| seats[child].go.set(wanted));
            }
            true
        })
    }

    /// There is a task: whoever waits in the tree comes to the counter.
    pub fn call_from_tree(&self) {
        let tree = &self.tree;
        if !tree.is_used.get() || tree.called.look() != 0 {
            return;
        }
        tree.called.set(1);
        for seat in &tree.seats.get()[..self.threads.get() as usize] {
            for word in [&seat.arrived, &seat.go] {
                let _before = word.change(|value| Some(value | CALLED));
            }
        }
    }
}

const _: () = assert!(size_of::<Seat>() == 2 * LINE);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Threads that wait for each thread: its parents in the tree.
    fn parents(threads: u32) -> Vec<Vec<u32>> {
        let mut parents = vec![Vec::new(); threads as usize];
        for number in 0..threads {
            for level in (0..level_of(number, threads)).step_by(BITS as usize) {
                children(number, level, threads).for_each(|child| parents[child].push(number));
            }
        }
        parents
    }

    #[test]
    fn threads_are_the_nodes_of_a_tree_of_four() {
        assert_eq!((level_of(0, 64), level_of(0, 65), level_of(0, 2)), (6, 8, 2));
        assert_eq!((level_of(5, 64), level_of(12, 64), level_of(16, 64)), (0, 2, 4));
        assert_eq!(children(16, 2, 64).collect::<Vec<_>>(), [20, 24, 28]);
        assert_eq!(children(16, 0, 19).collect::<Vec<_>>(), [17, 18]);
        let parents = parents(64);
        for (number, parent) in [(1, 0), (16, 0), (48, 0), (20, 16), (23, 20), (63, 60), (60, 48)] {
            assert_eq!(parents[number], [parent], "thread {number}");
        }
    }

    #[test]
    fn who_is_called_from_a_barrier_that_is_over_goes_on() {
        let (before, wanted) = (4 * PASSED, 5 * PASSED);
        let (called, passed) = (Word::new(before | CALLED), Cell::new(before));
        assert!(!wait_for(&called, wanted, &passed), "somebody has made a task before the barrier");
        passed.set(wanted);
        assert!(wait_for(&called, wanted, &passed), "a thread went on from it and made one");
        passed.set(wanted + PASSED);
        assert!(wait_for(&called, wanted, &passed), "others have met again");
        assert!(wait_for(&Word::new(wanted | CALLED), wanted, &Cell::new(before)), "it was let go, too");
    }

    proptest! {
        #[test]
        fn every_thread_but_the_first_is_waited_for_by_one(threads in 2_u32..600) {
            let parents = parents(threads);
            prop_assert!(parents[0].is_empty());
            for (number, parents) in parents.iter().enumerate().skip(1) {
                // Its own number without the lowest digit that is not zero.
                let level = level_of(number as u32, threads);
                prop_assert_eq!(parents, &[(number as u32 >> (level + BITS)) << (level + BITS)]);
            }
        }
    }
}
