//! Queues of tasks that can be done. Those of high priority come before others, of whichever end one takes.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::tasks::{State, Task};

/// A queue, in which tasks may be that have been done meanwhile. All of it is behind the team's lock.
#[derive(Default)]
pub struct Ready(RefCell<VecDeque<&'static Task>>);

impl Ready {
    /// Puts a task behind those of its priority. Now and then those go that have been done meanwhile.
    pub fn put(&self, task: &'static Task) {
        const MANY: usize = 256;
        let mut queue = self.0.borrow_mut();
        if queue.len() >= MANY && queue.len().is_power_of_two() {
            queue.retain(|task| {
                let stays = task.is(State::Queued);
                if !stays {
                    task.let_go();
                }
                stays
            });
        }
        task.hold();
        let behind = queue.partition_point(|elder| elder.priority.get() >= task.priority.get());
        queue.insert(behind, task);
    }

    /// Takes the first that has not been done meanwhile.
    pub fn take_first(&self) -> Option<&'static Task> {
        self.take(|_| 0)
    }

    /// Takes the latest of the highest priority that has not been done meanwhile.
    pub fn take_latest(&self) -> Option<&'static Task> {
        self.take(|queue| {
            let highest = queue.front().map_or(0, |task| task.priority.get());
            queue.partition_point(|task| task.priority.get() >= highest).saturating_sub(1)
        })
    }

    fn take(&self, which: impl Fn(&VecDeque<&'static Task>) -> usize) -> Option<&'static Task> {
        let mut queue = self.0.borrow_mut();
        loop {
            let next = which(&queue);
            let task = queue.remove(next)?;
            let ready = task.is(State::Queued);
            task.let_go();
            if ready {
                return Some(task);
            }
        }
    }

    /// Nobody will ask for what is in it.
    pub fn clear(&self) {
        // Letting a task go may let its parent go, whose queue this may be.
        let rest = std::mem::take(&mut *self.0.borrow_mut());
        rest.into_iter().for_each(Task::let_go);
    }
}
