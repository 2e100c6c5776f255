//! What tasks depend on: variables, by address, that earlier tasks of the same parent read or write.

use rustc_hash::FxHashMap;

use super::tasks::{State, Task};

/// A variable that a task depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependence {
    /// Its address.
    pub address: usize,
    /// Whether the task changes it.
    pub writes: bool,
}

/// Who uses a variable that tasks depend on.
#[derive(Default)]
pub struct Uses {
    writer: Option<&'static Task>,
    readers: Vec<&'static Task>,
}

/// Makes a task wait for those of its elders that use what it depends on.
pub fn depend(parent: &'static Task, task: &'static Task, depends: &[Dependence]) {
    let mut inner = parent.inner.borrow_mut();
    for dependence in depends {
        let uses = inner.uses.entry(dependence.address).or_default();
        let after = |elder: &'static Task| {
            // A task may name a variable twice.
            if !std::ptr::eq(elder, task) && !elder.is(State::Done) {
                elder.inner.borrow_mut().successors.push(task);
                task.hold();
                task.inner.borrow_mut().blockers += 1;
            }
        };
        uses.writer.into_iter().for_each(after);
        if dependence.writes {
            uses.readers.iter().for_each(|elder| after(elder));
            uses.readers.drain(..).for_each(Task::let_go);
            task.hold();
            uses.writer.replace(task).into_iter().for_each(Task::let_go);
        } else {
            task.hold();
            uses.readers.push(task);
        }
    }
}

/// What no task will ask for any more.
pub fn forget_uses(uses: FxHashMap<usize, Uses>) {
    for uses in uses.into_values() {
        uses.writer.into_iter().chain(uses.readers).for_each(Task::let_go);
    }
}
