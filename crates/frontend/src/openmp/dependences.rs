//! What tasks depend on: variables, by address, that earlier tasks of the same parent use in one way or another.

use rustc_hash::FxHashMap;

use super::tasks::{State, Task};

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
    /// What the task does with it.
    pub does: Use,
}

/// Who uses a variable that tasks depend on.
pub struct Uses {
    /// What the latest do with it.
    does: Use,
    /// The latest, which do not wait for one another.
    latest: Vec<&'static Task>,
    /// Those whom the latest wait for.
    before: Vec<&'static Task>,
}

/// Makes a task wait for those of its elders that use what it depends on.
pub fn depend(parent: &'static Task, task: &'static Task, depends: &[Dependence]) {
    let mut inner = parent.inner.borrow_mut();
    for &Dependence { address, does } in depends {
        let uses = inner.uses.entry(address).or_insert(Uses { does, latest: Vec::new(), before: Vec::new() });
        if does == Use::Changes || does != uses.does {
            let past = std::mem::replace(&mut uses.before, std::mem::take(&mut uses.latest));
            past.into_iter().for_each(Task::let_go);
            uses.does = does;
        }
        for elder in &uses.before {
            // A task may name a variable twice.
            if !std::ptr::eq(*elder, task) && !elder.is(State::Done) {
                elder.inner.borrow_mut().successors.push(task);
                task.hold();
                task.inner.borrow_mut().blockers += 1;
            }
        }
        task.hold();
        uses.latest.push(task);
    }
}

/// What no task will ask for any more.
pub fn forget_uses(uses: FxHashMap<usize, Uses>) {
    for uses in uses.into_values() {
        uses.before.into_iter().chain(uses.latest).for_each(Task::let_go);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    #[test]
    fn tasks_wait_for_those_who_use_a_variable_otherwise() {
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
        for (index, (does, blockers)) in uses.into_iter().enumerate() {
            let task = Task::child(nothing, null_mut(), null_mut(), false);
            depend(parent, task, &[Dependence { address: X, does }]);
            assert_eq!(task.inner.borrow().blockers, blockers, "use {index}");
        }
        // A task that names a variable twice does not wait for itself.
        let task = Task::child(nothing, null_mut(), null_mut(), false);
        let both = [Use::Reads, Use::Changes].map(|does| Dependence { address: X, does });
        depend(parent, task, &both);
        assert_eq!(task.inner.borrow().blockers, 2, "the change before, and the reader before");
    }
}
