//! Dependences of tasks: variables, by address, that earlier tasks of the same parent use in one way or another.
//!
//! As in LLVM's runtime (openmp/runtime/src/kmp_taskdeps.cpp) a task that names dependences has a node, which outlives it: with
//! the number of tasks that it waits for, and, behind a lock of its own, those that wait for it. The table of a parent's variables is
//! used by the thread alone that does the parent.

use std::ptr::{drop_in_place, from_ref};

use rustc_hash::FxHashMap;

use super::platform::{Guarded, Word, free, keep, stores};
use super::tasks::{ONE_LESS, Task};
use super::team::Team;

/// How a task uses a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// It reads it, beside others that do (`in`).
    Reads,
    /// It changes it, beside others that say the same (`inoutset`).
    ChangesWithOthers,
    /// It changes it, alone (`out`, `inout`, and `mutexinoutset`, whose tasks come one after another in the order they were made).
    Changes,
}

/// A variable that a task depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependence {
    /// Its address.
    pub address: usize,
    /// Its use by the task.
    pub does: Use,
}

/// Tasks that use a variable.
pub struct Uses {
    /// The use of the variable by the latest.
    does: Use,
    /// The latest, which do not wait for one another.
    latest: Vec<&'static Node>,
    /// Those for which the latest wait.
    before: Vec<&'static Node>,
}

/// A task among those that depend on one another.
pub struct Node {
    /// The task, which may be gone once it is over.
    task: &'static Task,
    /// Whether it is not queued when it is ready: the thread that made it waits to do it.
    at_once: bool,
    /// Tasks that it waits for, and one until its maker has named them all.
    blockers: Word,
    /// References to the node.
    holds: Word,
    links: Guarded<Links>,
}

/// The part of a node behind its lock.
#[derive(Default)]
struct Links {
    /// Whether its task is over.
    is_over: bool,
    /// Tasks that wait for it.
    successors: Vec<&'static Node>,
}

impl Node {
    fn new(task: &'static Task, at_once: bool) -> &'static Self {
        let node = keep(Self { task, at_once, blockers: Word::new(1), holds: Word::new(1), links: Guarded::default() });
        stores(&node.blockers);
        node
    }

    fn hold(&'static self) -> &'static Self {
        self.holds.add(1);
        self
    }

    fn let_go(&self) {
        if self.holds.add(ONE_LESS) == 1 {
            let place = from_ref(self).cast_mut();
            // SAFETY: there is no other reference to the node.
            unsafe {
                drop_in_place(place);
                free(place.cast());
            }
        }
    }

    /// A later task waits for this one, if it is not over.
    fn precede(&self, later: &'static Self) {
        self.links.with(|links| {
            if !links.is_over {
                later.blockers.add(1);
                links.successors.push(later.hold());
            }
        });
    }

    /// One of the tasks that it waits for is over, or its maker has named them all: whether it is ready by that.
    fn is_unblocked(&self) -> bool {
        self.blockers.add(ONE_LESS) == 1
    }

    /// Its maker has named all tasks that it waits for, and has kept the node: whether its task is ready.
    pub fn is_made(&self) -> bool {
        self.is_unblocked()
    }

    /// Whether all tasks that it waits for are over.
    pub fn is_ready(&self) -> bool {
        self.blockers.look() == 0
    }
}

/// Makes a task wait for its elders that use what it depends on. Returns its node, if it depends on anything; it is not ready before
/// [`Node::is_made`].
pub fn depend(
    parent: &'static Task,
    task: &'static Task,
    depends: &[Dependence],
    at_once: bool,
) -> Option<&'static Node> {
    if depends.is_empty() {
        return None;
    }
    let node = Node::new(task, at_once);
    let mut all = parent.uses.borrow_mut();
    for &Dependence { address, does } in depends {
        let uses = all.entry(address).or_insert(Uses { does, latest: Vec::new(), before: Vec::new() });
        if does == Use::Changes || does != uses.does {
            let past = std::mem::replace(&mut uses.before, std::mem::take(&mut uses.latest));
            past.into_iter().for_each(Node::let_go);
            uses.does = does;
        }
        // A task may name a variable twice.
        uses.before.iter().filter(|elder| !std::ptr::eq(**elder, node)).for_each(|elder| elder.precede(node));
        uses.latest.push(node.hold());
    }
    Some(node)
}

/// The dependences of tasks whose parent is over, which will have no younger ones.
pub fn forget_uses(uses: FxHashMap<usize, Uses>) {
    for uses in uses.into_values() {
        uses.before.into_iter().chain(uses.latest).for_each(Node::let_go);
    }
}

impl Team {
    /// The task of a node is over: those that waited for nothing else are queued. Returns whether one is ready for which its maker
    /// waits.
    pub(super) fn release_successors(&'static self, node: &'static Node) -> bool {
        let successors = node.links.with(|links| {
            links.is_over = true;
            std::mem::take(&mut links.successors)
        });
        let mut is_awaited = false;
        for successor in successors {
            if successor.is_unblocked() {
                if successor.at_once {
                    is_awaited = true;
                } else {
                    self.push_ready(successor.task);
                }
            }
            successor.let_go();
        }
        node.let_go();
        is_awaited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openmp::tasks::Kind;

    #[test]
    fn tasks_wait_for_those_that_use_a_variable_otherwise() {
        unsafe extern "C-unwind" fn nothing(_: *mut std::ffi::c_void) {}
        const X: usize = 8;
        let parent = Task::current();
        let uses = [
            (Use::Changes, 0),
            // Those that change it together wait for the one before, and not for one another.
            (Use::ChangesWithOthers, 1),
            (Use::ChangesWithOthers, 1),
            // Readers wait for both.
            (Use::Reads, 2),
            (Use::Reads, 2),
            (Use::Changes, 2),
            (Use::Changes, 1),
            (Use::Reads, 1),
        ];
        let made = |does: &[Use]| {
            let depends: Vec<_> = does.iter().map(|&does| Dependence { address: X, does }).collect();
            let node = depend(parent, Task::child(nothing, 0, Kind::default()), &depends, false).expect("a node");
            let ready = node.is_made();
            assert_eq!(ready, node.is_ready());
            node.blockers.peek()
        };
        for (index, (does, blockers)) in uses.into_iter().enumerate() {
            assert_eq!(made(&[does]), blockers, "use {index}");
        }
        // A task that names a variable twice does not wait for itself.
        assert_eq!(made(&[Use::Reads, Use::Changes]), 2, "the change before, and the reader before");
    }
}
