//! Threads that wait for tasks, or for others at a barrier, and do tasks meanwhile.
//!
//! As in LLVM's runtime (`__kmp_execute_tasks_template` of openmp/runtime/src/kmp_tasking.cpp) such a thread looks whether its wait is
//! over and into the deque of one other thread, again and again, and sleeps when it has found nothing for a time (`KMP_BLOCKTIME`):
//! it then waits for a word of the team's, which every thread that makes a task or ends one that is waited for looks at, and changes if a
//! thread sleeps.
//!
//! Other than LLVM's, threads look the more rarely the longer they have found nothing, or nothing worth it: a stolen task that took
//! less time than stealing it does not count. Otherwise the looks of many idle threads take the lines of the few deques that have tasks
//! from their owners again and again, and those make less of them than one thread alone would do.
//!
//! A barrier is over when no task is left. Each thread that has found none counts itself, and as busy again before it takes one
//! (`tt_unfinished_threads`): there is no count of tasks that all threads change.

use sim::Cause;

use super::meeting::{self, has_processor};
use super::platform::{Word, charged, fence_host, moment, pause_for};
use super::stealing::Search;
use super::tasks::{ONE_LESS, Task};
use super::team::{Meeting, PASSED, TASKED, Team, globals};

/// Instructions from one look for a task to the next, at first: a round figure.
const PAUSE: u32 = 30;
/// Looks after which the pauses between them are twice as long: a pause is a sixteenth of the time for which a thread has found nothing,
/// and so is the time by which it may be late.
const DOUBLING: u32 = 16;
/// Looks after which a thread sleeps: after about half a million instructions, a round figure.
const LOOKS: u32 = 10 * DOUBLING;
/// The number that it goes on counting from when it is called: one new task may have called many threads.
const CALLED_AT: u32 = 6 * DOUBLING;
/// A stolen task that takes no more than so many times what it took to steal it was not worth it: its owner has lost as much time.
const WORTH: u32 = 2;
/// Looks after which it counts itself as idle at a barrier: a thread that is short of tasks only for a moment leaves the counter alone.
const IDLE: u32 = 16;

/// The bit of the team's word for news that asks to be called.
const CALL: u32 = 1;
/// A call adds this.
const CALLED: u32 = 2;

impl Team {
    /// Does tasks until the wait of the running thread's task is over.
    pub(super) fn work_until(&'static self, over: impl Fn() -> bool) {
        if over() {
            return;
        }
        let search = Search::new(self, self.threads.get(), Task::current().bound(), None);
        charged(Cause::Lock, || self.work(&search, over));
    }

    /// Does tasks at a barrier, at which the phase was `seen`, until it is over or one of the bits `end` of the phase is set.
    /// Returns whether one is.
    pub(super) fn work_at(&'static self, meeting: &Meeting, threads: u32, seen: u32, end: u32) -> bool {
        let search = Search::new(self, threads, None, Some((seen, &meeting.idle)));
        self.work(&search, || {
            let now = self.phase.look();
            (now ^ seen) >= PASSED || now & end != 0
        });
        let is_ended = !self.is_past(seen);
        if is_ended {
            search.is_busy();
        }
        is_ended
    }

    fn work(&'static self, search: &Search, over: impl Fn() -> bool) {
        let mut looks = 0;
        while !over() {
            if let Some(task) = self.find(search) {
                if self.was_worth_it(search, task) {
                    looks = 0;
                    continue;
                }
            } else if looks >= IDLE && search.is_last_idle() {
                return self.pass();
            }
            looks += 1;
            if looks < LOOKS && has_processor() {
                pause_for(PAUSE << (looks / DOUBLING));
            } else {
                self.sleep(search, &over);
                looks = CALLED_AT;
            }
        }
    }

    /// Does a task that was found. Returns whether that took longer than to steal it, if it was stolen.
    fn was_worth_it(&'static self, search: &Search, task: &'static Task) -> bool {
        let Some(theft) = search.theft.take() else {
            self.execute(task);
            return true;
        };
        let begun = moment();
        self.execute(task);
        let is_worth_it = moment() - begun > WORTH * theft;
        if !is_worth_it {
            search.turn_away();
        }
        is_worth_it
    }

    /// Waits until the thread is called, unless there is something to do.
    fn sleep(&'static self, search: &Search, over: impl Fn() -> bool) {
        let news = &self.queues.news;
        let mut seen = news.look();
        if seen & CALL == 0 {
            let before = news.change(|news| (news & CALL == 0).then_some(news | CALL));
            seen = before.unwrap_or_else(|news| news) | CALL;
        }
        // Tasks and events from here on come with a call.
        if over() {
            return;
        }
        if let Some(task) = self.find_anywhere(search) {
            return self.execute(task);
        }
        if search.is_last_idle() {
            return self.pass();
        }
        news.wait(seen, meeting::waiting());
    }

    /// There is a task, or something that a thread may wait for has happened: those that sleep look.
    pub(super) fn call(&self) {
        fence_host();
        let news = &self.queues.news;
        if news.look() & CALL != 0 {
            let _before = news.change(|news| (news & CALL != 0).then_some((news & !CALL).wrapping_add(CALLED)));
        }
    }

    /// Does one task, if there is one that the running task may be left for.
    pub fn yield_to_task(&'static self) {
        if self.phase.look() & TASKED == 0 {
            return;
        }
        let search = Search::new(self, self.threads.get(), Task::current().bound(), None);
        if let Some(task) = self.find(&search) {
            self.execute(task);
        }
    }

    /// Barriers are not over before a task is that may be ended, or queued, where no thread of the team runs.
    pub(super) fn hold_barriers(&self, task: &Task) {
        if !task.holds_barriers.replace(true) {
            self.idle_words(|idle| {
                idle.add(ONE_LESS);
            });
        }
    }

    /// Such a task is over.
    pub(super) fn release_barriers(&self) {
        let threads = self.threads.get();
        self.idle_words(|idle| {
            if idle.add(1).wrapping_add(1) == threads {
                self.pass();
            }
        });
    }

    /// The counters of idle threads at both kinds of barriers, or at the one that there is without cancellation.
    fn idle_words(&self, act: impl Fn(&Word)) {
        act(&self.meeting.idle);
        if globals().settings.cancellation {
            act(&self.early.idle);
        }
    }
}
