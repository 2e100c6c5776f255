//! Cancellation (OpenMP 5.1, 2.20): a region, a loop or sections, or a group of tasks ends before its end, if the environment has
//! said `OMP_CANCELLATION=true`. Without it the directives do nothing.
//!
//! That a region or what it shares is cancelled are bits of the word that its barriers are made of, so that whoever waits there
//! sees it; a group of tasks has a word of its own.

use std::sync::atomic::{Ordering, fence};

use super::groups::Group;
use super::tasks::Task;
use super::team::{CONSTRUCT_CANCELLED, Member, REGION_CANCELLED, TASKED, Team, globals, member};

/// The construct that is cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Construct {
    /// The parallel region.
    Region,
    /// The loop or sections that all threads of the team are in, or will come to.
    Shared,
    /// The tasks of the group that the running one is of.
    Group,
}

/// Cancels a construct. Returns whether the running thread is to go to its end.
pub fn cancel(construct: Construct) -> bool {
    if !globals().settings.cancellation {
        return false;
    }
    let team = member().region.get().team;
    match construct {
        Construct::Region => team.note(REGION_CANCELLED),
        Construct::Shared => team.note(CONSTRUCT_CANCELLED),
        Construct::Group => Task::current().group().into_iter().for_each(Group::cancel),
    }
    true
}

/// Whether the running thread is to go to the end of a construct, because that is cancelled.
pub fn is_cancelled(construct: Construct) -> bool {
    if !globals().settings.cancellation {
        return false;
    }
    let team = member().region.get().team;
    match construct {
        Construct::Region => team.has(REGION_CANCELLED),
        Construct::Shared => team.has(CONSTRUCT_CANCELLED),
        // Cancellation of a region cancels its tasks.
        Construct::Group => Task::current().group().is_some_and(Group::is_cancelled) || team.has(REGION_CANCELLED),
    }
}

impl Team {
    fn note(&self, bit: u32) {
        self.cancelled.set(true);
        let _before = self.phase.change(|phase| (phase & bit == 0).then_some(phase | bit));
        if self.phase.peek() & TASKED != 0 {
            self.call();
        }
    }

    fn has(&self, bit: u32) -> bool {
        self.phase.look() & bit != 0
    }

    /// As [`Team::barrier`], but nobody waits any longer when the region is cancelled: whether it is.
    pub fn barrier_or_cancelled(&'static self) -> bool {
        if globals().settings.cancellation {
            return self.meet(&self.early, REGION_CANCELLED);
        }
        self.barrier();
        false
    }

    /// Whether a task is not to be done any more, which has not begun.
    pub fn drops(&self, task: &Task) -> bool {
        let cancels = globals().settings.cancellation && task.may_be_dropped.get();
        cancels && (task.group().is_some_and(Group::is_cancelled) || self.has(REGION_CANCELLED))
    }

    /// Before the team does its next region: nothing of what was cancelled is left. Of a cancelled region, threads have been in
    /// different constructs.
    pub fn forget_cancellation(&self) {
        if !self.cancelled.replace(false) {
            return;
        }
        fence(Ordering::Acquire);
        let _before = self.phase.change(|phase| Some(phase & !(REGION_CANCELLED | CONSTRUCT_CANCELLED)));
        self.renew();
    }
}

impl Member {
    /// The thread goes to the end of a loop whose iterations it asks for one after another, because that is cancelled.
    pub fn leave_cancelled(&self) {
        if self.asks.replace(false) {
            self.leave();
        }
    }
}
